/* SPDX-License-Identifier: MIT */
/*
 * Implements RDMA reads of this side and of the peer.
 *
 * As requester: each read of the consumer becomes one Read Request. Its sink STag is valid only for this read and has
 * no entry in the memory table. Invariant: only the oldest read in flight accepts a response, and each segment must
 * begin at the byte after the previous segment. As responder: the peer's requests wait in a ring and are answered in
 * order. The ring has at least as many slots as the limit of inbound reads.
 */
#include "iwarp/qp_internal.h"

/*
 * Returns the sink STag of the n-th read. A permutation of 32 bits, keyed by the secret, computes it from n. So each n
 * has its own STag, and a peer cannot predict the next one. The value 0 is replaced by 1, because an STag is never 0.
 */
uint32_t reads_sink(const struct iw_qp *qp, uint32_t n)
{
    uint32_t v = n + qp->sink_base + (uint32_t)qp->secret;

    for (int round = 0; round < 3; round++) {
        v ^= v >> 16;
        v *= 0x7feb352du;
        v ^= v >> 15;
        v *= 0x846ca68bu;
        v ^= (uint32_t)(qp->secret >> 32) + (uint32_t)round;
    }
    return v ? v : 1;
}

struct entry *reads_oldest(const struct iw_qp *qp)
{
    if (qp->tx.rtr_read || queue_head(&qp->sq) == qp->tx.next)
        return NULL;
    return queue_at(&qp->sq, queue_head(&qp->sq));
}

enum wire_error reads_check_response(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    const struct entry *e = reads_oldest(qp);
    uint32_t sink = e ? e->sink_stag : qp->rtr_sink;
    uint32_t remaining = e ? e->length - e->received : 0;
    uint32_t at = e ? e->received : 0;

    if ((!e && !qp->tx.rtr_read) || h->stag != sink)
        return WIRE_DDP_TAGGED_STAG;
    if (h->to != at || payload > remaining)
        return WIRE_DDP_TAGGED_BOUNDS;
    if (h->last != (payload == remaining))
        return WIRE_RDMAP_STREAM_CATASTROPHIC; /* the flag L (last) is too early, or is missing at the end */
    return WIRE_OK;
}

/*
 * Invalidates the token of the read's sink if the read has RDMA_FLAG_READ_INVALIDATE. The caller has placed the
 * response and released its protections of memory, because the invalidation waits until no thread protects the sink.
 */
static enum wire_error reads_invalidate_sink(const struct iw_qp *qp, const struct entry *e)
{
    if (!(e->flags & RDMA_FLAG_READ_INVALIDATE))
        return WIRE_OK;
    return mem_revoke(qp->memory, qp->domain, e->sges[0].token, false);
}

void reads_finish_response(struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    struct entry *e = reads_oldest(qp);

    if (!e) {
        qp->tx.rtr_read = false;
        qp->tx.reads--;
        qp->events->rtr_answered(qp);
        return;
    }
    e->received += payload;
    if (h->last) {
        enum wire_error error = reads_invalidate_sink(qp, e);

        e->state = ENTRY_DONE;
        if (error != WIRE_OK)
            entry_fail(e, RDMA_STATUS_LOCAL_ACCESS, error);
        qp->tx.reads--;
        requests_complete(qp);
    }
}

enum wire_error reads_check_request(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    uint32_t outstanding = qp->inbound_tail - qp->tx.response;
    uint32_t limit = qp->ird;

    if (h->msn != qp->rx.read_msn)
        return WIRE_DDP_UNTAGGED_MSN_RANGE;
    if (h->mo != 0)
        return WIRE_DDP_UNTAGGED_MO;
    if (payload > RDMAP_READ_REQUEST)
        return WIRE_DDP_UNTAGGED_TOO_LONG;
    if (payload < RDMAP_READ_REQUEST || !h->last)
        return WIRE_RDMAP_STREAM_CATASTROPHIC;
    /* A ready-to-receive read is answered even with a limit of 0. reads_accept checks that the read is empty. */
    if (!qp->rx.has_begun && limit == 0)
        limit = 1;
    return outstanding < limit ? WIRE_OK : WIRE_DDP_UNTAGGED_NO_BUFFER;
}

/*
 * Checks whether the peer may read the source now. Accepts any source for an empty read, because such a read accesses
 * no memory.
 */
static enum wire_error reads_check_source(const struct iw_qp *qp, const struct rdmap_read_request *r)
{
    if (r->length == 0)
        return WIRE_OK;
    return mem_error_for_read(
        mem_check_peer(qp->memory, qp->domain, r->source_stag, r->source_to, r->length, RDMA_ACCESS_REMOTE_READ));
}

enum wire_error reads_accept(struct iw_qp *qp, const uint8_t *payload)
{
    struct rdmap_read_request *r = &qp->inbound[qp->inbound_tail & qp->inbound_mask];
    enum wire_error error;

    if (!rdmap_read_decode(r, payload, RDMAP_READ_REQUEST))
        return WIRE_RDMAP_STREAM_CATASTROPHIC;
    if (qp->ird == 0 && r->length > 0)
        return WIRE_DDP_UNTAGGED_NO_BUFFER;
    error = reads_check_source(qp, r);
    if (error != WIRE_OK)
        return error;
    message_count(qp, IW_IN_READ);
    qp->rx.read_msn++;
    qp->inbound_tail++;
    return WIRE_OK;
}

/*
 * Ends the stream with a Terminate that contains the headers of the Read Request. The headers are encoded again, so
 * their reserved bits may differ from the received bits.
 */
void reads_refuse(struct iw_qp *qp, uint32_t response, enum wire_error error)
{
    struct ddp_header h = {
        .last = true,
        .opcode = RDMAP_READ_REQ,
        .queue = DDP_QUEUE_READ,
        .msn = qp->rx.read_msn - (qp->inbound_tail - response),
    };
    uint8_t ulpdu[DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST];
    size_t size = ddp_header_encode(&h, ulpdu, sizeof ulpdu);

    size += rdmap_read_encode(&qp->inbound[response & qp->inbound_mask], ulpdu + size, sizeof ulpdu - size);
    terminate_queue(qp, error, ulpdu, size, (uint32_t)size);
    stream_end(qp, IW_END_LOCAL_ERROR, error);
}
