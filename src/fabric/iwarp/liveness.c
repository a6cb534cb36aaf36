/* SPDX-License-Identifier: MIT */
/*
 * Abstract: ends connections whose peer has begun an FPDU or a message and does not go on.
 *
 * Input costs nothing for this: where a receive turn ends inside an FPDU or a message, and the timer is not armed, it is
 * armed, with a mark of how far the input has come. When it fires, the input is compared with the mark. So a peer has
 * between once and twice the limit for each FPDU, and for each 16 KiB of a message.
 *
 * No peer ends because this side was slow: input that waits in the socket is read before anything is decided.
 */
#include "fabric/iwarp/conn.h"

#include <stddef.h>

enum {
    LEAST_SHARED = 4 * 1024, /* as IWARP_LEAST_MOVED, of a send in a much shorter time: shared receives are scarce */
};

static void conn_arm_stall(struct fabric_conn *c)
{
    struct shard *s = c->home->shard;

    iw_qp_rx_mark(c->qp->iw, &c->mark);
    shard_timer_set(s, &c->stall, shard_now(s) + c->fabric->config.stall_ms * UINT64_C(1000000));
}

void conn_watch_input(struct fabric_conn *c)
{
    if (c->qp->srq)
        iwarp_srq_update(c->qp);
    if (!c->stall.armed && iw_qp_rx_is_partial(c->qp->iw) && c->fabric->config.stall_ms)
        conn_arm_stall(c);
}

void conn_stop_watching(struct fabric_conn *c)
{
    if (c->stall.armed)
        shard_timer_stop(c->home->shard, &c->stall);
}

/* What this side has not read yet is no fault of the peer's. */
static void conn_read_pending(struct fabric_conn *c)
{
    c->readable = true;
    conn_pump(c);
}

static enum fabric_reason stall_reason(struct fabric_conn *c, const struct iw_rx_mark *since)
{
    struct iw_rx_mark now;

    iw_qp_rx_mark(c->qp->iw, &now);
    switch (iw_rx_compare(since, &now, IWARP_LEAST_MOVED)) {
    case IW_RX_FPDU_STALLS:
        return FABRIC_FRAME_STALLED;
    case IW_RX_MESSAGE_STALLS:
        return FABRIC_MESSAGE_STALLED;
    case IW_RX_GOES_ON:
        break;
    }
    return FABRIC_OK;
}

/* A state with a limit of its own for what it waits for keeps that one. */
void conn_stalled(struct shard_timer *timer)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)timer - offsetof(struct fabric_conn, stall));
    struct iw_rx_mark since = c->mark;
    enum fabric_reason why = FABRIC_OK;

    conn_enter(c);
    conn_read_pending(c);
    if (c->streams && conn_state_judges_input(c->state))
        why = stall_reason(c, &since);
    if (why != FABRIC_OK)
        conn_step(c, CONN_LOST, why);
    conn_received(c);
    conn_leave(c);
}

void conn_check_send(struct fabric_conn *c, const struct iw_rx_mark *since)
{
    struct iw_rx_mark now;

    conn_enter(c);
    conn_read_pending(c);
    if (c->streams && conn_state_streams(c->state)) {
        iw_qp_rx_mark(c->qp->iw, &now);
        if (iw_rx_send_stalls(since, &now, LEAST_SHARED))
            conn_step(c, CONN_LOST, FABRIC_SRQ_SHARE);
    }
    conn_leave(c);
}
