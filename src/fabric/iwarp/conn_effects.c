/* SPDX-License-Identifier: MIT */
/*
 * Carries out the effects of the steps of the connection's state machine. An effect is an action of a step, for example
 * a report or a half-close. The effects of a step run in the order of enum conn_effect. Invariant: no effect can fail,
 * so that a step is never only half done.
 */
#include "fabric/iwarp/conn_phase.h"

static void effect_free_address(struct fabric_conn *c)
{
    if (c->reservation)
        c->fabric->net->ops->reservation_unref(c->reservation);
    c->reservation = NULL;
}

static void effect_close_socket(struct fabric_conn *c, bool reset)
{
    if (!c->has_socket)
        return;
    if (c->is_unfinished)
        unfinished_remove(c);
    c->fabric->net->ops->close(&c->socket, reset);
    conn_socket_closed(c);
    conn_unref(c);
}

static void effect_answer(struct fabric_conn *c)
{
    iw_startup_accept(c->startup, c->limits.inbound, c->limits.outbound, c->private_data, c->private_len);
    iw_startup_result(c->startup, &c->result);
}

/*
 * Makes the MPA reply that rejects a valid request. If the request is malformed, iw_startup has already made the reply,
 * and this function makes none.
 */
static void effect_refuse(struct fabric_conn *c)
{
    const uint8_t *at;

    c->short_linger = iw_startup_tx_want(c->startup, &at) == 0;
    limit_start(c);
    if (c->short_linger)
        iw_startup_reject(c->startup, c->private_data, c->private_len);
}

static void effect_report_connected(struct fabric_conn *c, enum fabric_reason why)
{
    struct fabric_peer peer = { .local = c->local, .remote = c->remote };

    if (why != FABRIC_OK)
        iwarp_count(c->home, COUNT_FAILURES, 1);
    if (why != FABRIC_OK && why != FABRIC_REJECTED) {
        c->events->connected(c->owner, why, NULL);
        return;
    }
    peer.limits.inbound = c->result.ird;
    peer.limits.outbound = c->result.ord;
    peer.private_data = iw_startup_private(c->startup, &peer.private_len);
    c->events->connected(c->owner, why, &peer);
}

static void effect_report_established(struct fabric_conn *c, enum fabric_reason why)
{
    struct fabric_limits limits = { c->result.ird, c->result.ord };
    struct fabric_agreement agreed = conn_agreement(c);

    if (why == FABRIC_OK)
        iwarp_count(c->home, c->active ? COUNT_CONNECTS : COUNT_ACCEPTS, 1);
    else
        iwarp_count(c->home, COUNT_FAILURES, 1);
    c->events->established(c->owner, why, c->terminate, &limits, &agreed);
}

/*
 * Reports `disconnected`. First flushes the queue pair again, because receives may have been posted after the stream
 * ended.
 */
static void effect_report_disconnected(struct fabric_conn *c, enum fabric_reason why)
{
    if (c->qp)
        iwarp_qp_flush_now(c->qp, why == FABRIC_OK ? FABRIC_LOCAL_DISCONNECT : why, c->terminate);
    c->events->disconnected(c->owner, why, c->terminate);
}

static void effects_before_reports(struct fabric_conn *c, unsigned effects, enum fabric_reason why)
{
    if (effects & DO_ANSWER)
        effect_answer(c);
    if (effects & DO_REFUSE)
        effect_refuse(c);
    if (effects & DO_STREAM)
        stream_start(c);
    if (effects & DO_TERMINATE)
        stream_terminate(c, why == FABRIC_READ_LIMITS ? WIRE_MPA_INSUFFICIENT_IRD : WIRE_MPA_NO_RTR);
    if (effects & DO_SHUT)
        c->fabric->net->ops->shut_write(&c->socket);
    if (effects & DO_STOP_FLUSHED)
        stream_stop(c, RDMA_STATUS_FLUSHED, why == FABRIC_OK ? FABRIC_LOCAL_DISCONNECT : why);
    if (effects & DO_STOP_LOST)
        stream_stop(c, RDMA_STATUS_LOST, why == FABRIC_OK ? FABRIC_PEER_CLOSED : why);
    if (effects & DO_CLOSE_TCP)
        effect_close_socket(c, false);
    if (effects & DO_RESET_TCP)
        effect_close_socket(c, true);
    if (effects & DO_FREE_ADDRESS)
        effect_free_address(c);
    if (effects & DO_FORGIVE)
        c->ended = FABRIC_OK;
}

void conn_effects(struct fabric_conn *c, unsigned effects, enum fabric_reason why)
{
    struct iw_startup *startup;

    effects_before_reports(c, effects, why);
    if (effects & REPORT_CONNECTED)
        effect_report_connected(c, why);
    if (effects & REPORT_REQUEST)
        passive_report_request(c);
    if (effects & REPORT_ESTABLISHED)
        effect_report_established(c, why);
    if (effects & REPORT_PEER_ENDED)
        c->events->peer_ended(c->owner, why, c->terminate);
    if (effects & REPORT_DISCONNECTED)
        effect_report_disconnected(c, why);
    /* If the stream runs or the socket is closed, start-up is over and its results have been reported. */
    if (c->streams || !c->has_socket) {
        startup = c->startup;
        c->startup = NULL;
        iw_startup_free(startup);
    }
    if (effects & DO_DROP_HANDLE)
        conn_unref(c);
}
