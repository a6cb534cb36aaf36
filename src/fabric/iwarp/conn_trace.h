/* SPDX-License-Identifier: MIT */
/*
 * Declares functions that record events of connections and listeners in the trace (src/trace). If an event needs only
 * one TRACE line in the caller, it has no function here. The invariant: while tracing is off, each call costs one
 * branch. The caller must be the owner of the connection's or the listener's shard.
 */
#ifndef FABRIC_IWARP_CONN_TRACE_H
#define FABRIC_IWARP_CONN_TRACE_H

#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/listener.h"
#include "trace/trace.h"

void conn_trace_listening_now(const struct fabric_listener *l, const struct addr *local, enum fabric_reason why);
void conn_trace_refused_now(const struct addr *local, const struct addr *remote, enum fabric_reason why);
void conn_trace_begin_now(struct fabric_conn *c);
void conn_trace_follow_now(struct fabric_conn *c);
void conn_trace_frame_now(const struct fabric_conn *c, bool is_sent, const uint8_t *bytes, size_t len);
void conn_trace_terminate_now(const struct fabric_conn *c, bool is_sent, uint16_t code);

static inline void conn_trace_listening(const struct fabric_listener *l, const struct addr *local,
                                        enum fabric_reason why)
{
    if (trace_is_on())
        conn_trace_listening_now(l, local, why);
}

/* Records that a peer was refused. `remote` is NULL if the peer's address is not known. */
static inline void conn_trace_refused(const struct addr *local, const struct addr *remote, enum fabric_reason why)
{
    if (trace_is_on())
        conn_trace_refused_now(local, remote, why);
}

/*
 * Records the beginning of a connection. Must be called for each attempt to connect, after c->local and c->remote are
 * set.
 */
static inline void conn_trace_begin(struct fabric_conn *c)
{
    if (trace_is_on())
        conn_trace_begin_now(c);
}

/* If a recorder was started after the connection began, records the connection, and begins to record its frames. */
static inline void conn_trace_follow(struct fabric_conn *c)
{
    if (trace_is_on() && c->traced_by != trace_recorders())
        conn_trace_follow_now(c);
}

/*
 * Records a step of the state machine with the reason `why`. Must be called before c->state changes. If `why` is
 * FABRIC_NOT_CONNECTING, the connection has not ended, and the recorded reason is FABRIC_OK.
 */
static inline void conn_trace_step(struct fabric_conn *c, enum conn_event event, enum conn_state next,
                                   enum fabric_reason why)
{
    conn_trace_follow(c);
    TRACE(state, c->number, .from = (uint8_t)c->state, .event = (uint8_t)event, .to = (uint8_t)next,
          .why = why == FABRIC_NOT_CONNECTING ? FABRIC_OK : (uint16_t)why);
}

/*
 * Stores the present time as the send time of frames. Must be called before bytes are passed to TCP. The events of all
 * frames in these bytes get this time. So a frame's send time is earlier than its receive time at the peer, even if
 * this thread is interrupted before it records the event.
 */
static inline void conn_trace_begin_send(struct fabric_conn *c)
{
    if (!trace_is_on())
        return;
    conn_trace_follow(c);
    c->send_began_ns = trace_now_ns();
}

/* Records `bytes` as a start-up frame, even if they are not a valid frame. Does nothing for a part of a frame. */
static inline void conn_trace_frame(const struct fabric_conn *c, bool is_sent, const uint8_t *bytes, size_t len)
{
    if (trace_is_on())
        conn_trace_frame_now(c, is_sent, bytes, len);
}

/* Records an FPDU. A sent FPDU gets the time of the last conn_trace_begin_send. */
void conn_trace_fpdu(const struct fabric_conn *c, const struct iw_frame *f);
/* Records the Terminate of a connection without a queue pair. */
void conn_trace_lone_terminate_now(const struct fabric_conn *c, const uint8_t *fpdu);
static inline void conn_trace_lone_terminate(const struct fabric_conn *c, const uint8_t *fpdu)
{
    if (trace_is_on())
        conn_trace_lone_terminate_now(c, fpdu);
}

static inline void conn_trace_terminate(const struct fabric_conn *c, bool is_sent, uint16_t code)
{
    if (trace_is_on())
        conn_trace_terminate_now(c, is_sent, code);
}

#endif
