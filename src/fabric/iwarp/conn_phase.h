/* SPDX-License-Identifier: MIT */
/*
 * What conn.c drives: the parts of a connection's life. None of them calls conn.c. They return what has happened, and
 * conn.c takes the step. All are called by the owner.
 */
#ifndef FABRIC_IWARP_CONN_PHASE_H
#define FABRIC_IWARP_CONN_PHASE_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/iwarp/conn.h"

/* An event of the connection's table, and why. */
struct conn_outcome {
    enum conn_event event; /* or CONN_NOTHING */
    enum fabric_reason why;
};
static const struct conn_outcome conn_nothing = { CONN_NOTHING, FABRIC_OK };

/* conn_effects.c: what a transition does. In the order of enum conn_effect; none can fail. */
void conn_effects(struct fabric_conn *c, unsigned effects, enum fabric_reason why);

/* conn_limit.c: the time limit of the state */
void limit_start(struct fabric_conn *c); /* if the state has one; anew if it runs */
void limit_stop(struct fabric_conn *c);
bool limit_renew(struct fabric_conn *c); /* it has passed: starts it anew and returns true if a disconnect goes on */
enum fabric_reason limit_reason(const struct fabric_conn *c); /* what it means that it has passed */

/* handshake.c: frames of start-up. CONN_LOST, or nothing and *event */
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
void passive_report_request(struct fabric_conn *c); /* an effect: c gets an owner, if the listener's wants it */

/* stream.c: everything over a queue pair */
void stream_start(struct fabric_conn *c);
/* why: the reason of the requests that this completes. Does nothing without a stream. */
void stream_stop(struct fabric_conn *c, enum rdma_status status, enum fabric_reason why);
void stream_terminate(struct fabric_conn *c, enum wire_error error);
void stream_resize(struct fabric_conn *c); /* the segment size may have changed */
struct conn_outcome stream_pump(struct fabric_conn *c); /* input, then output */
struct conn_outcome stream_send(struct fabric_conn *c); /* output alone */
bool stream_is_silent(const struct fabric_conn *c);     /* the peer may need a nudge */
void stream_nudge(struct fabric_conn *c);
void stream_end_input(struct fabric_conn *c); /* the end of stream has been read */

/* linger.c: the last frame */
struct conn_outcome linger_pump(struct fabric_conn *c);
void linger_hang_up(struct fabric_conn *c); /* half-closes, and discards what has come */

/* liveness.c: input that stalls */
void liveness_watch(struct fabric_conn *c);
void liveness_stop(struct fabric_conn *c);
/* A receive turn that brought something is over. Mostly it ended between two messages. */
static inline void liveness_received(struct fabric_conn *c)
{
    if (c->streams && (c->qp->srq || iw_qp_rx_is_partial(c->qp->iw)))
        liveness_watch(c);
}
/* FABRIC_OK, or why the connection ends: input has stalled since the mark. */
enum fabric_reason liveness_check(struct fabric_conn *c, const struct iw_rx_mark *since);
bool liveness_send_stalls(struct fabric_conn *c, const struct iw_rx_mark *since);

#endif
