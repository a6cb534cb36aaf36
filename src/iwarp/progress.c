/* SPDX-License-Identifier: MIT */
/*
 * Abstract: what a peer has begun and not finished, and whether it goes on. The owner takes a mark, takes another one
 * later, and compares the two. The time between them is the owner's. Marks cost nothing while bytes come: they are made
 * of the positions that receiving keeps anyway.
 */
#include "iwarp/qp_internal.h"

enum { CONTROL_TAGGED = 0x80 }; /* the first bit of a DDP segment */

static bool is_inside_fpdu(const struct iw_qp *qp)
{
    return qp->rx.kept > 0 || qp->rx.direct;
}

bool iw_qp_has_partial_shared(const struct iw_qp *qp)
{
    return qp->srq && queue_head(&qp->rq) != queue_tail(&qp->rq);
}

static bool is_inside_send(const struct iw_qp *qp)
{
    return qp->rx.mo > 0 || iw_qp_has_partial_shared(qp);
}

/* The read whose response has begun, or NULL. */
static const struct entry *read_begun(const struct iw_qp *qp)
{
    const struct entry *read = reads_oldest(qp);

    return read && read->received > 0 ? read : NULL;
}

bool iw_qp_rx_is_partial(const struct iw_qp *qp)
{
    if (!qp->rx.open)
        return false;
    return is_inside_fpdu(qp) || is_inside_send(qp) || qp->rx.write_open || (qp->tx.reads > 0 && read_begun(qp));
}

/* Bytes of the incomplete FPDU, if its segment is of this kind: a large FPDU counts while it comes. */
static uint32_t fpdu_bytes(const struct iw_qp *qp, bool tagged)
{
    const uint8_t *kept = qp->rx.buffer ? qp->rx.buffer : qp->rx.keep;

    if (qp->rx.direct)
        return qp->rx.segment.header.tagged == tagged ? qp->rx.segment.placed : 0;
    if (qp->rx.kept <= MPA_FPDU_LENGTH)
        return 0;
    return ((kept[MPA_FPDU_LENGTH] & CONTROL_TAGGED) != 0) == tagged ? qp->rx.kept : 0;
}

void iw_qp_rx_mark(const struct iw_qp *qp, struct iw_rx_mark *mark)
{
    const struct entry *read = read_begun(qp);

    *mark = (struct iw_rx_mark){ .fpdus = atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed),
                                 .bytes = atomic_load_explicit(&qp->octets_received, memory_order_relaxed) };
    if (!qp->rx.open)
        return;
    mark->in_fpdu = is_inside_fpdu(qp);
    mark->in_send = is_inside_send(qp);
    mark->in_read = read != NULL;
    mark->in_write = qp->rx.write_open;
    mark->send = ((uint64_t)qp->rx.send_msn << 32) + qp->rx.mo + fpdu_bytes(qp, false);
    mark->read = ((uint64_t)queue_head(&qp->sq) << 32) + (read ? read->received : 0) + fpdu_bytes(qp, true);
}

/* Signed: an FPDU that was nearly complete counts a header more than the payload that it leaves behind. */
static bool is_less(uint64_t before, uint64_t now, uint32_t least)
{
    return (int64_t)(now - before) < (int64_t)least;
}

bool iw_rx_send_stalls(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t least)
{
    return before->in_send && now->in_send && is_less(before->send, now->send, least);
}

enum iw_rx_stall iw_rx_compare(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t least)
{
    if (before->in_fpdu && now->in_fpdu && before->fpdus == now->fpdus)
        return IW_RX_FPDU_STALLS;
    if (iw_rx_send_stalls(before, now, least) ||
        (before->in_read && now->in_read && is_less(before->read, now->read, least)) ||
        (before->in_write && now->in_write && is_less(before->bytes, now->bytes, least)))
        return IW_RX_MESSAGE_STALLS;
    return IW_RX_GOES_ON;
}
