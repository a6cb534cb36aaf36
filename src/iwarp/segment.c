/* SPDX-License-Identifier: MIT */
/*
 * Validates the header of a received segment. The invariant: validation changes nothing, and accesses no memory of the
 * consumer, so that a segment that is not valid has no effect except the end of the stream.
 */
#include "iwarp/qp_internal.h"

static enum wire_error segment_validate_send(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    const struct entry *e = queue_at(&qp->rq, queue_head(&qp->rq));

    if (h->msn != qp->rx.send_msn)
        return WIRE_DDP_UNTAGGED_MSN_RANGE;
    if (queue_head(&qp->rq) == queue_tail(&qp->rq))
        return WIRE_DDP_UNTAGGED_NO_BUFFER;
    if (h->mo != qp->rx.mo)
        return WIRE_DDP_UNTAGGED_MO;
    if (payload > e->length - qp->rx.mo)
        return WIRE_DDP_UNTAGGED_TOO_LONG;
    return WIRE_OK;
}

/*
 * Validates the STag that the send invalidates. Each segment has this STag and is checked, although only the STag of
 * the last segment is used.
 */
static enum wire_error segment_validate_invalidate(const struct iw_qp *qp, const struct ddp_header *h)
{
    if (!segment_has_invalidate(h))
        return WIRE_OK;
    return mem_check_revoke(qp->memory, qp->domain, h->stag, true);
}

static enum wire_error segment_validate_terminate(const struct ddp_header *h, uint32_t payload)
{
    if (h->msn != 1)
        return WIRE_DDP_UNTAGGED_MSN_RANGE;
    if (h->mo != 0)
        return WIRE_DDP_UNTAGGED_MO;
    return payload > TERMINATE_MAX_PAYLOAD ? WIRE_DDP_UNTAGGED_TOO_LONG : WIRE_OK;
}

static enum wire_error segment_validate_untagged(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    enum wire_error error;

    switch (h->queue) {
    case DDP_QUEUE_SEND:
        if (h->opcode < RDMAP_SEND || h->opcode > RDMAP_SEND_SE_INV)
            return WIRE_RDMAP_OPCODE;
        error = segment_validate_send(qp, h, payload);
        return error == WIRE_OK ? segment_validate_invalidate(qp, h) : error;
    case DDP_QUEUE_READ:
        return h->opcode == RDMAP_READ_REQ ? reads_check_request(qp, h, payload) : WIRE_RDMAP_OPCODE;
    default:
        return h->opcode == RDMAP_TERMINATE ? segment_validate_terminate(h, payload) : WIRE_RDMAP_OPCODE;
    }
}

enum wire_error segment_validate(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    if (h->ddp_version != DDP_VERSION)
        return h->tagged ? WIRE_DDP_TAGGED_VERSION : WIRE_DDP_UNTAGGED_VERSION;
    if (!h->tagged && h->queue > DDP_QUEUE_TERMINATE)
        return WIRE_DDP_UNTAGGED_QN;
    if (h->rdmap_version != RDMAP_VERSION)
        return WIRE_RDMAP_VERSION;
    if (!h->tagged)
        return segment_validate_untagged(qp, h, payload);
    if (h->opcode == RDMAP_WRITE)
        return WIRE_OK;
    return h->opcode == RDMAP_READ_RESP ? reads_check_response(qp, h, payload) : WIRE_RDMAP_OPCODE;
}
