/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the time limit of a connection's state, and what it means that it has passed. A disconnect has its limit
 * anew as long as it goes on.
 */
#include "fabric/iwarp/conn_phase.h"

enum {
    CHECKS = 16,     /* part of the time limit */
    LINGER_MS = 1000, /* a last frame may take this long to be read by the peer */
    SHORT_LINGER_MS = 25,    /* the same for a reject */
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
 * How far a disconnect has come: what the peer's TCP has taken of the stream, and while reads may be answered, what has
 * come from it. After our notice the latter does not count: a peer that goes on sending must end sometime.
 */
static uint64_t limit_measure_progress(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    return now.octets_sent - c->fabric->net->ops->unacked_bytes(&c->socket) +
           (c->state == CONN_DRAINING ? now.octets_received : 0);
}

static bool limit_is_of_disconnect(const struct fabric_conn *c)
{
    return c->state == CONN_DRAINING || c->state == CONN_NOTICE_SENT || c->state == CONN_CLOSING;
}

static void limit_set_timer(struct fabric_conn *c, uint32_t ms)
{
    shard_timer_set(c->home->shard, &c->timer, shard_now(c->home->shard) + ms * UINT64_C(1000000));
}

/*
 * Has the disconnect come far enough to go on? By IWARP_MIN_PROGRESS, or less if the peer's TCP has taken all that there
 * is: a peer that takes a few bytes now and then must not keep the disconnect pending. moved can be negative, because
 * our notice counts among the unsent.
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

    if (!limit_is_of_disconnect(c))
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
 * Most disconnects are over in no time, a thousand at once in some 50 ms: how far one has come is not asked for until
 * it takes its time.
 */
void limit_start(struct fabric_conn *c)
{
    bool measures = limit_is_of_disconnect(c);

    limit_stop(c);
    c->measured = false;
    if (conn_state_has_limit(c->state))
        limit_set_timer(c, limit_ms(c) / (measures ? CHECKS : 1));
}
