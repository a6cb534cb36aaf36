/* SPDX-License-Identifier: MIT */
/*
 * Chooses the next message, plans its FPDUs, and advances the state of sending. The invariant: requests begin in order.
 * So while a read or a fenced request must wait, the requests after it wait too.
 */
#include "iwarp/tx_plan.h"

static bool plan_request_is_ready(const struct iw_qp *qp, const struct tx_state *t, uint32_t tail)
{
    const struct entry *e;

    if (t->next == tail)
        return false;
    e = queue_at(&qp->sq, t->next);
    if ((e->flags & RDMA_FLAG_READ_FENCE) && t->reads > 0)
        return false;
    return e->opcode != RDMA_OP_READ || t->reads < qp->ord;
}

enum tx_kind tx_plan_choose(const struct iw_qp *qp, const struct tx_state *t, uint32_t tail)
{
    bool request = plan_request_is_ready(qp, t, tail);
    bool response = t->response != qp->inbound_tail;

    if (t->rtr != MPA_RTR_NONE)
        return TX_RTR;
    if (response && (t->response_turn || !request))
        return TX_RESPONSE;
    return request ? TX_REQUEST : TX_NONE;
}

static struct ddp_header plan_untagged_header(enum rdmap_opcode opcode, enum ddp_queue queue, uint32_t msn, uint32_t mo)
{
    return (struct ddp_header){ .opcode = (uint8_t)opcode, .queue = queue, .msn = msn, .mo = mo };
}

static struct ddp_header plan_tagged_header(enum rdmap_opcode opcode, uint32_t stag, uint64_t to)
{
    return (struct ddp_header){ .tagged = true, .opcode = (uint8_t)opcode, .stag = stag, .to = to };
}

/*
 * Plans the ready-to-receive message. The message accesses no memory, but some peers refuse an STag of 0, so its STag
 * is 1.
 */
static void plan_rtr(struct iw_qp *qp, const struct tx_state *t, struct tx_plan *p)
{
    switch (t->rtr) {
    case MPA_RTR_WRITE:
        p->h = plan_tagged_header(RDMAP_WRITE, 1, 0);
        p->header = DDP_TAGGED_HEADER;
        return;
    case MPA_RTR_READ:
        qp->rtr_sink = reads_sink(qp, t->sinks);
        p->h = plan_untagged_header(RDMAP_READ_REQ, DDP_QUEUE_READ, t->read_msn, 0);
        p->header = DDP_UNTAGGED_HEADER;
        p->read = true;
        p->sink = qp->rtr_sink;
        p->length = 0;
        p->stag = 1;
        p->to = 0;
        return;
    default:
        p->header = 0; /* the empty FPDU */
        return;
    }
}

static enum rdmap_opcode plan_send_opcode(unsigned flags)
{
    bool solicit = flags & RDMA_FLAG_SOLICIT;

    if (flags & RDMA_FLAG_SEND_INVALIDATE)
        return solicit ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
    return solicit ? RDMAP_SEND_SE : RDMAP_SEND;
}

static void plan_request(struct iw_qp *qp, const struct tx_state *t, struct tx_plan *p)
{
    struct entry *e = queue_at(&qp->sq, t->next);

    p->header = DDP_UNTAGGED_HEADER;
    p->bytes_left = e->length - t->offset;
    switch (e->opcode) {
    case RDMA_OP_WRITE:
        p->h = plan_tagged_header(RDMAP_WRITE, e->remote_stag, e->remote_to + t->offset);
        p->header = DDP_TAGGED_HEADER;
        return;
    case RDMA_OP_READ:
        e->sink_stag = reads_sink(qp, t->sinks);
        p->h = plan_untagged_header(RDMAP_READ_REQ, DDP_QUEUE_READ, t->read_msn, 0);
        p->bytes_left = 0;
        p->read = true;
        p->sink = e->sink_stag;
        p->length = e->length;
        p->stag = e->remote_stag;
        p->to = e->remote_to;
        return;
    default:
        p->h = plan_untagged_header(plan_send_opcode(e->flags), DDP_QUEUE_SEND, t->send_msn, t->offset);
        if (e->flags & RDMA_FLAG_SEND_INVALIDATE)
            p->h.stag = e->remote_stag;
        return;
    }
}

static void plan_response(const struct iw_qp *qp, const struct tx_state *t, struct tx_plan *p)
{
    const struct rdmap_read_request *r = &qp->inbound[t->response & qp->inbound_mask];

    p->h = plan_tagged_header(RDMAP_READ_RESP, r->sink_stag, r->sink_to + t->offset);
    p->header = DDP_TAGGED_HEADER;
    p->bytes_left = r->length - t->offset;
}

void tx_plan_fpdu(struct iw_qp *qp, const struct tx_state *t, struct tx_plan *p)
{
    p->bytes_left = 0;
    p->read = false;
    switch (t->kind) {
    case TX_RTR:
        plan_rtr(qp, t, p);
        return;
    case TX_RESPONSE:
        plan_response(qp, t, p);
        return;
    default:
        plan_request(qp, t, p);
        return;
    }
}

static void plan_note_read(struct tx_state *t)
{
    t->read_msn++;
    t->sinks++;
    t->reads++;
}

void tx_plan_advance(const struct iw_qp *qp, struct tx_state *t, uint32_t bytes, bool last)
{
    t->offset += bytes;
    if (!last)
        return;
    switch (t->kind) {
    case TX_RTR:
        if (t->rtr == MPA_RTR_READ) {
            plan_note_read(t);
            t->rtr_read = true;
        }
        t->rtr = MPA_RTR_NONE;
        break;
    case TX_RESPONSE:
        t->response++;
        t->response_turn = false;
        break;
    case TX_REQUEST: {
        const struct entry *e = queue_at(&qp->sq, t->next);
        if (e->opcode == RDMA_OP_READ)
            plan_note_read(t);
        else if (e->opcode == RDMA_OP_SEND)
            t->send_msn++;
        t->next++;
        t->response_turn = true;
        break;
    }
    }
    t->kind = TX_NONE;
    t->offset = 0;
}
