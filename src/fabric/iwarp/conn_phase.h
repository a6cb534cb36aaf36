/* SPDX-License-Identifier: MIT */
/*
 * Declares the functions that conn.c calls in the different parts of a connection's life. Invariant: these functions do
 * not call conn.c. They return an outcome, and conn.c then changes the connection's state. The caller must have the
 * shard's token.
 */
#ifndef FABRIC_IWARP_CONN_PHASE_H
#define FABRIC_IWARP_CONN_PHASE_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/iwarp/conn.h"

/* An event for the state table (conn_table.c), and the reason of the event. */
struct conn_outcome {
    enum conn_event event; /* or CONN_NOTHING */
    enum fabric_reason why;
};
static const struct conn_outcome conn_nothing = { CONN_NOTHING, FABRIC_OK };

/* Carries out the effects of a step. `effects` is a set of enum conn_effect (conn_effects.c). */
void conn_effects(struct fabric_conn *c, unsigned effects, enum fabric_reason why);

/* conn_limit.c: the time limit of the state */
void limit_start(struct fabric_conn *c); /* stops the old limit; starts the state's limit, if there is one */
void limit_stop(struct fabric_conn *c);
/* If a disconnect has made progress, starts the limit again and returns true. Called when the limit has passed. */
bool limit_renew(struct fabric_conn *c);
enum fabric_reason limit_reason(const struct fabric_conn *c); /* why the connection ends when the limit has passed */

/*
 * handshake.c: send or receive start-up frames. Each function returns CONN_LOST, or sets *event and returns
 * CONN_NOTHING.
 */
struct conn_outcome handshake_send(struct fabric_conn *c, enum iw_startup_event *event);
struct conn_outcome handshake_receive(struct fabric_conn *c, enum iw_startup_event *event);

/* active.c: from connect to complete */
struct conn_outcome active_connect(struct fabric_conn *c);
struct conn_outcome active_tcp(struct fabric_conn *c);
struct conn_outcome active_request(struct fabric_conn *c);
struct conn_outcome active_wait(struct fabric_conn *c);

/* passive.c: from accept to the reply */
struct conn_outcome passive_request(struct fabric_conn *c);
struct conn_outcome passive_wait(struct fabric_conn *c);
struct conn_outcome passive_reply(struct fabric_conn *c);
/*
 * Reports the request to the listener's owner (the effect REPORT_REQUEST). Sets c->owner, or leaves c->owner NULL if
 * the listener's owner refuses the request.
 */
void passive_report_request(struct fabric_conn *c);

/* stream.c: the connection's bytes while a queue pair owns the stream */
void stream_start(struct fabric_conn *c);
/* Completes all requests of the queue pair with `status` and the reason `why`. Does nothing if no stream runs. */
void stream_stop(struct fabric_conn *c, enum rdma_status status, enum fabric_reason why);
void stream_terminate(struct fabric_conn *c, enum wire_error error);
void stream_resize(struct fabric_conn *c);              /* updates the segment size, which may have changed */
struct conn_outcome stream_pump(struct fabric_conn *c); /* receives, then sends */
struct conn_outcome stream_send(struct fabric_conn *c); /* only sends */
bool stream_is_silent(const struct fabric_conn *c);     /* true: the peer has sent nothing yet, so a nudge may help */
void stream_nudge(struct fabric_conn *c);     /* queues a zero-length RDMA write, so that the peer reads its socket */
void stream_end_input(struct fabric_conn *c); /* stops reading, because the end of stream has been read */
/* Returns CONN_LOST if the peer has half-closed and later reset the connection. No read reports such a reset. */
struct conn_outcome stream_check_reset(struct fabric_conn *c);

/* linger.c: sends the last frame of a connection that has ended */
struct conn_outcome linger_pump(struct fabric_conn *c);
void linger_hang_up(struct fabric_conn *c); /* half-closes, and discards input */

/* liveness.c: ends connections whose input stalls */
void liveness_watch(struct fabric_conn *c);
void liveness_stop(struct fabric_conn *c);
/*
 * Watches for stalled input if an FPDU or a message may be incomplete. Must be called after a receive turn with input.
 * Inline, because most turns end between messages and need no watch.
 */
static inline void liveness_received(struct fabric_conn *c)
{
    if (c->streams && (c->qp->srq || iw_qp_rx_is_partial(c->qp->iw)))
        liveness_watch(c);
}
/* Returns the reason to end the connection if the input has stalled since the mark. Otherwise returns FABRIC_OK. */
enum fabric_reason liveness_check(struct fabric_conn *c, const struct iw_rx_mark *since);
/*
 * Returns true if the peer's send was incomplete at the mark `since`, and too few of the send's bytes have arrived
 * since that mark.
 */
bool liveness_send_stalls(struct fabric_conn *c, const struct iw_rx_mark *since);

#endif
