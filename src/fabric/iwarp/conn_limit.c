/* SPDX-License-Identifier: MIT */
/*
 * Applies the time limit of a connection's state, and returns the reason with which a connection ends when the limit
 * has passed. If a disconnect makes progress, its time limit starts again. Invariant: the timer runs exactly in the
 * states for which conn_state_has_limit returns true.
 */
#include "fabric/iwarp/conn_phase.h"
#include "trace/trace.h"

enum {
    FIRST_CHECK_DIVISOR = 16, /* a disconnect's progress is first measured after a sixteenth of its limit */
    LINGER_MS = 1000,         /* the time in which the peer can read the last frame */
    SHORT_LINGER_MS = 25,     /* replaces LINGER_MS if the last frame rejects a valid request */
};

static uint32_t limit_ms(const struct fabric_conn *c)
{
    const struct fabric_config *config = &c->fabric->config;

    switch (c->state) {
    case CONN_TCP_CONNECTING:
        return config->connect_ms;
    case CONN_REQUEST_SENT:
        return config->reply_ms;
    case CONN_WAIT_REQUEST:
        return config->request_ms;
    case CONN_COMPLETING:
    case CONN_REPLYING:
    case CONN_WAIT_RTR:
        return config->establish_ms;
    case CONN_DRAINING:
    case CONN_NOTICE_SENT:
    case CONN_CLOSING:
        return config->disconnect_ms;
    default:
        return c->short_linger ? SHORT_LINGER_MS : LINGER_MS;
    }
}

enum fabric_reason limit_reason(const struct fabric_conn *c)
{
    switch (c->state) {
    case CONN_TCP_CONNECTING:
        return FABRIC_CONNECT_TIMEOUT;
    case CONN_REQUEST_SENT:
        return FABRIC_REPLY_TIMEOUT;
    case CONN_WAIT_REQUEST:
        return FABRIC_REQUEST_TIMEOUT;
    case CONN_COMPLETING:
        return FABRIC_ESTABLISH_TIMEOUT;
    case CONN_REPLYING:
    case CONN_WAIT_RTR:
        return FABRIC_ESTABLISH_TIMEOUT;
    case CONN_LINGERING:
        return c->ended;
    default:
        return FABRIC_DISCONNECT_TIMEOUT;
    }
}

/*
 * Returns the number of bytes that a disconnect has moved. Sent bytes count when the peer's TCP has acknowledged them.
 * Received bytes count only in the state DRAINING. If they counted in the other states, a peer that keeps sending could
 * delay the end of the connection.
 */
static uint64_t limit_measure_progress(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    return now.bytes_sent - c->fabric->net->ops->unacked_bytes(&c->socket) +
           (c->state == CONN_DRAINING ? now.bytes_received : 0);
}

static bool limit_is_disconnect(const struct fabric_conn *c)
{
    return c->state == CONN_DRAINING || c->state == CONN_NOTICE_SENT || c->state == CONN_CLOSING;
}

static void limit_set_timer(struct fabric_conn *c, uint32_t ms)
{
    TRACE(limit, c->number, .state = (uint8_t)c->state, .ms = ms);
    shard_timer_set(c->home->shard, &c->timer, shard_now(c->home->shard) + ms * UINT64_C(1000000));
}

/*
 * Returns true if the disconnect has made enough progress for its time limit to start again. `moved` is the number of
 * bytes that the disconnect has moved since the limit last started. At least IWARP_MIN_PROGRESS bytes are required.
 * Otherwise a peer that acknowledges a few bytes now and then could delay the disconnect for ever. If the peer's TCP
 * has acknowledged everything, one byte is enough. `moved` can be negative, because this side's half-close counts as an
 * unacknowledged byte.
 */
static bool limit_has_progressed(struct fabric_conn *c, int64_t moved)
{
    if (moved <= 0)
        return false;
    return moved >= IWARP_MIN_PROGRESS || c->fabric->net->ops->unacked_bytes(&c->socket) == 0;
}

bool limit_renew(struct fabric_conn *c)
{
    uint64_t now;

    if (!limit_is_disconnect(c))
        return false;
    now = limit_measure_progress(c);
    if (c->measured && !limit_has_progressed(c, (int64_t)(now - c->progress)))
        return false;
    c->progress = now;
    c->measured = true;
    limit_set_timer(c, limit_ms(c));
    return true;
}

void limit_stop(struct fabric_conn *c)
{
    if (c->timer.armed)
        shard_timer_stop(c->home->shard, &c->timer);
}

/*
 * Starts the time limit of the state. For a disconnect, the timer first fires after only a part of the limit, and
 * limit_renew then measures the progress for the first time. A measurement here would cost each disconnect a system
 * call, although most disconnects end before the timer fires.
 */
void limit_start(struct fabric_conn *c)
{
    bool measures = limit_is_disconnect(c);

    limit_stop(c);
    c->measured = false;
    if (conn_state_has_limit(c->state))
        limit_set_timer(c, limit_ms(c) / (measures ? FIRST_CHECK_DIVISOR : 1));
}
