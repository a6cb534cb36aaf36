/* SPDX-License-Identifier: MIT */
/*
 * Ends a connection if its peer has begun an FPDU or a message and does not continue it.
 *
 * If a receive turn ends inside an FPDU or a message, the turn arms the timer, and stores the input's position as a
 * mark. If the timer is armed already, timer and mark do not change. When the timer fires, the new position is compared
 * with the mark. The connection ends if the same FPDU is still incomplete, or if fewer than 16 KiB of the same message
 * have arrived since the mark. If an FPDU or message begins while the timer is armed, its mark is stored when the timer
 * fires. So the peer has at least stall_ms, and less than twice stall_ms, to send the rest of an FPDU or 16 KiB of a
 * message. This check adds no cost to the receipt of bytes.
 *
 * Invariant: no connection ends because this side is slow. Before the comparison, conn.c reads the input that waits in
 * the socket.
 */
#include "fabric/iwarp/conn_phase.h"

#include <stddef.h>

#include "trace/trace.h"

enum {
    MIN_SHARED_PROGRESS = 4 * 1024, /* bytes; smaller than IWARP_MIN_PROGRESS, because srq_stall_ms is a short time */
};

static void liveness_arm(struct fabric_conn *c)
{
    struct shard *s = c->home->shard;

    TRACE(stall_limit, c->number, .ms = c->fabric->config.stall_ms);
    iw_qp_rx_mark(c->qp->iw, &c->mark);
    shard_timer_set(s, &c->stall, shard_now(s) + c->fabric->config.stall_ms * UINT64_C(1000000));
}

void liveness_watch(struct fabric_conn *c)
{
    if (c->qp->srq)
        iwarp_srq_update(c->qp);
    if (!c->stall.armed && iw_qp_rx_is_partial(c->qp->iw) && c->fabric->config.stall_ms)
        liveness_arm(c);
}

void liveness_stop(struct fabric_conn *c)
{
    if (c->stall.armed)
        shard_timer_stop(c->home->shard, &c->stall);
}

enum fabric_reason liveness_check(struct fabric_conn *c, const struct iw_rx_mark *since)
{
    struct iw_rx_mark now;

    if (!c->streams || !conn_state_checks_input(c->state))
        return FABRIC_OK;
    iw_qp_rx_mark(c->qp->iw, &now);
    switch (iw_rx_compare(since, &now, IWARP_MIN_PROGRESS)) {
    case IW_RX_FPDU_STALLS:
        return FABRIC_FRAME_STALLED;
    case IW_RX_MESSAGE_STALLS:
        return FABRIC_MESSAGE_STALLED;
    case IW_RX_GOES_ON:
        break;
    }
    return FABRIC_OK;
}

bool liveness_send_stalls(struct fabric_conn *c, const struct iw_rx_mark *since)
{
    struct iw_rx_mark now;

    iw_qp_rx_mark(c->qp->iw, &now);
    return iw_rx_send_stalls(since, &now, MIN_SHARED_PROGRESS);
}
