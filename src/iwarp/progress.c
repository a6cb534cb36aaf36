/* SPDX-License-Identifier: MIT */
/*
 * Detects a peer that has begun an FPDU or a message and does not continue it. A mark is the position of the input at
 * some time. The owner makes two marks, one after the other, and compares them. The invariant: a mark is computed from
 * positions that the receiver stores anyway. So marks do not slow down receiving.
 */
#include "iwarp/qp_internal.h"

enum { CONTROL_TAGGED = 0x80 }; /* the first bit of a DDP segment */

static bool progress_is_in_fpdu(const struct iw_qp *qp)
{
    return qp->rx.partial_len > 0 || qp->rx.direct;
}

bool iw_qp_has_partial_shared(const struct iw_qp *qp)
{
    return qp->srq && queue_head(&qp->rq) != queue_tail(&qp->rq);
}

static bool progress_is_in_send(const struct iw_qp *qp)
{
    return qp->rx.mo > 0 || iw_qp_has_partial_shared(qp);
}

/* Returns the read whose response has begun to arrive, or NULL if there is no such read. */
static const struct entry *progress_read(const struct iw_qp *qp)
{
    const struct entry *read = reads_oldest(qp);

    return read && read->received > 0 ? read : NULL;
}

bool iw_qp_rx_is_partial(const struct iw_qp *qp)
{
    if (!qp->rx.open)
        return false;
    return progress_is_in_fpdu(qp) || progress_is_in_send(qp) || qp->rx.write_open ||
           (qp->tx.reads > 0 && progress_read(qp));
}

/* Returns the number of received bytes of an incomplete FPDU if its segment's T bit equals `tagged`, otherwise 0. */
static uint32_t progress_fpdu_bytes(const struct iw_qp *qp, bool tagged)
{
    const uint8_t *partial = qp->rx.partial_buffer ? qp->rx.partial_buffer : qp->rx.partial_small;

    if (qp->rx.direct)
        return qp->rx.segment.header.tagged == tagged ? qp->rx.segment.placed : 0;
    if (qp->rx.partial_len <= MPA_FPDU_LENGTH)
        return 0;
    return ((partial[MPA_FPDU_LENGTH] & CONTROL_TAGGED) != 0) == tagged ? qp->rx.partial_len : 0;
}

void iw_qp_rx_mark(const struct iw_qp *qp, struct iw_rx_mark *mark)
{
    const struct entry *read = progress_read(qp);

    *mark = (struct iw_rx_mark){ .fpdus = atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed),
                                 .bytes = atomic_load_explicit(&qp->bytes_received, memory_order_relaxed) };
    if (!qp->rx.open)
        return;
    mark->in_fpdu = progress_is_in_fpdu(qp);
    mark->in_send = progress_is_in_send(qp);
    mark->in_read = read != NULL;
    mark->in_write = qp->rx.write_open;
    mark->send = ((uint64_t)qp->rx.send_msn << 32) + qp->rx.mo + progress_fpdu_bytes(qp, false);
    mark->read = ((uint64_t)queue_head(&qp->sq) << 32) + (read ? read->received : 0) + progress_fpdu_bytes(qp, true);
}

/*
 * Returns true if `now` - `before` is less than `min`. The difference is signed, because `now` can be less than
 * `before`: the header of an incomplete FPDU counts in `before`, but only placed payload counts in `now`.
 */
static bool progress_is_less(uint64_t before, uint64_t now, uint32_t min)
{
    return (int64_t)(now - before) < (int64_t)min;
}

bool iw_rx_send_stalls(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t min)
{
    return before->in_send && now->in_send && progress_is_less(before->send, now->send, min);
}

enum iw_rx_stall iw_rx_compare(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t min)
{
    if (before->in_fpdu && now->in_fpdu && before->fpdus == now->fpdus)
        return IW_RX_FPDU_STALLS;
    if (iw_rx_send_stalls(before, now, min) ||
        (before->in_read && now->in_read && progress_is_less(before->read, now->read, min)) ||
        (before->in_write && now->in_write && progress_is_less(before->bytes, now->bytes, min)))
        return IW_RX_MESSAGE_STALLS;
    return IW_RX_GOES_ON;
}
