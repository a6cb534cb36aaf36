/* SPDX-License-Identifier: MIT */
/*
 * Abstract: a connection's strand, its life, and its steps.
 *
 * Requests may come from any thread. Each is recorded in `ops` under the connection's lock, and the connection's one
 * task is queued on its home shard; there, with the token held, the task carries them out in a fixed order. Readiness
 * of the socket and timers run with the same token. So everything marked "owner" has one writer at a time, also while
 * the connection moves: it leaves its old shard (timers, socket), names the new home under the lock, and queues the
 * task there with the request still recorded; a task that was queued on the old shard meanwhile goes on to the new one.
 *
 * References: the handle (until close), a queued task, the socket, a drop that another shard requested. Entry points
 * stand on it for as long as they run: a count that the owner alone writes. Who gives back the last reference or,
 * where somebody stands on it, is the last to leave, always on the home shard, frees the address, then tells
 * `closed`, then frees the memory.
 */
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/endpoint.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/reason.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEASURE = 16,     /* part of the time limit */
    LINGER_MS = 1000, /* a last frame may take this long to be read by the peer */
    BRIEF_MS = 25,    /* the same for a reject */
};

static void conn_task(struct task *task);
static void conn_timeout(struct shard_timer *timer);

struct fabric_conn *conn_alloc(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state)
{
    struct fabric_conn *c = malloc(sizeof *c);

    if (!c)
        return NULL;
    memset(c, 0, offsetof(struct fabric_conn, early));
    c->fabric = f;
    c->home = home;
    c->state = state;
    c->ended = FABRIC_NOT_CONNECTING;
    c->terminate = FABRIC_NO_TERMINATE;
    spin_init(&c->lock);
    atomic_init(&c->refs, 1);
    c->task.run = conn_task;
    c->timer.fire = conn_timeout;
    c->nudge.fire = stream_nudge;
    c->stall.fire = conn_stalled;
    c->socket.ready = conn_socket_ready;
    return c;
}

void conn_ref(struct fabric_conn *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

/* How many of the owner's functions stand on it: they have entered and not left. */
static unsigned stands(struct fabric_conn *c)
{
    return atomic_load_explicit(&c->standing, memory_order_acquire);
}

static void end(struct fabric_conn *c)
{
    assert(shard_is_owner(c->home->shard));
    assert(c->state == CONN_CLOSED && !c->has_socket && !c->timer.armed && !c->nudge.armed &&
           !c->stall.armed);
    if (c->reservation)
        c->fabric->net->ops->reservation_unref(c->reservation);
    if (c->owner)
        c->events->closed(c->owner);
    if (c->listener) {
        listener_finished(c->listener, c);
        listener_unref(c->listener);
    }
    iw_startup_free(c->startup);
    free(c);
}

void conn_unref(struct fabric_conn *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1 && !stands(c))
        end(c);
}

/* Stores alone: two references for each message, taken and given back by locked instructions, cost it a hundredth. */
void conn_enter(struct fabric_conn *c)
{
    atomic_store_explicit(&c->standing, stands(c) + 1, memory_order_relaxed);
}

void conn_leave(struct fabric_conn *c)
{
    unsigned standing = stands(c) - 1;
    bool last = standing == 0 && atomic_load_explicit(&c->refs, memory_order_acquire) == 0;

    assert(shard_is_owner(c->home->shard));
    atomic_store_explicit(&c->standing, standing, memory_order_release); /* from here on another shard may have it */
    if (last)
        end(c);
}

/* ---- the socket ---- */

void conn_socket_opened(struct fabric_conn *c)
{
    c->has_socket = true;
    TAILQ_INSERT_TAIL(&c->home->conns, c, shard_link);
}

void conn_socket_closed(struct fabric_conn *c)
{
    c->has_socket = false;
    TAILQ_REMOVE(&c->home->conns, c, shard_link);
}

/* ---- steps ---- */

static uint32_t limit_of(const struct fabric_conn *c)
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
        return c->brief ? BRIEF_MS : LINGER_MS;
    }
}

static enum fabric_reason limit_reason(const struct fabric_conn *c)
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
static uint64_t disconnect_progress(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    return now.octets_sent - c->fabric->net->ops->unacked_bytes(&c->socket) +
           (c->state == CONN_DRAINING ? now.octets_received : 0);
}

static bool is_disconnecting(const struct fabric_conn *c)
{
    return c->state == CONN_DRAINING || c->state == CONN_NOTICE_SENT || c->state == CONN_CLOSING;
}

static void set_timer(struct fabric_conn *c, uint32_t ms)
{
    shard_timer_set(c->home->shard, &c->timer, shard_now(c->home->shard) + ms * UINT64_C(1000000));
}

/*
 * Has the disconnect come far enough to go on? By IWARP_LEAST_MOVED, or less if the peer's TCP has taken all that there
 * is: a peer that takes a few bytes now and then must not keep the disconnect pending. moved can be negative, because
 * our notice counts among the unsent.
 */
static bool disconnect_goes_on(struct fabric_conn *c, int64_t moved)
{
    if (moved <= 0)
        return false;
    return moved >= IWARP_LEAST_MOVED || c->fabric->net->ops->unacked_bytes(&c->socket) == 0;
}

/* Starts the limit of a disconnect anew and returns true if the disconnect goes on. */
static bool renewed(struct fabric_conn *c)
{
    uint64_t now;

    if (!is_disconnecting(c))
        return false;
    now = disconnect_progress(c);
    if (c->measured && !disconnect_goes_on(c, (int64_t)(now - c->progress)))
        return false;
    c->progress = now;
    c->measured = true;
    set_timer(c, limit_of(c));
    return true;
}

/*
 * Most disconnects are over in no time, a thousand at once in some 50 ms: how far one has come is not asked for until
 * it takes its time.
 */
void conn_limit(struct fabric_conn *c)
{
    bool measures = is_disconnecting(c);

    if (c->timer.armed)
        shard_timer_stop(c->home->shard, &c->timer);
    c->measured = false;
    if (conn_state_has_limit(c->state))
        set_timer(c, limit_of(c) / (measures ? MEASURE : 1));
}

static void check(const struct fabric_conn *c)
{
    bool lingers = c->state == CONN_LINGERING || c->state == CONN_LAST_WORDS;

    assert(c->has_socket == conn_state_has_socket(c->state));
    assert(c->streams ? conn_state_streams(c->state) || lingers : !conn_state_streams(c->state));
    assert(c->timer.armed == conn_state_has_limit(c->state));
    (void)c;
    (void)lingers;
}

/* Counted before the step's effects tell anybody. A move changes the shard before a connection is established only. */
static void count_step(struct fabric_conn *c, enum conn_state from, enum conn_state next)
{
    bool was = conn_state_is_active(from), is = conn_state_is_active(next);

    if (is && !was)
        iwarp_count(c->home, COUNT_ACTIVE, 1);
    if (was && !is)
        iwarp_count(c->home, COUNT_ACTIVE, (uint64_t)-1);
    if (from == CONN_ESTABLISHED && (next == CONN_DEAD || next == CONN_LINGERING))
        iwarp_count(c->home, COUNT_CONNECTION_ERRORS, 1);
}

/* The one writer of the state. */
static void set_state(struct fabric_conn *c, enum conn_state next, enum fabric_reason why)
{
    enum conn_state from = c->state;
    bool over = next == CONN_DEAD || next == CONN_LINGERING;

    spin_lock(&c->lock);
    c->state = next;
    if (over && next != from && from != CONN_LINGERING)
        c->ended = why;
    spin_unlock(&c->lock);
    count_step(c, from, next);
    if (next != from)
        conn_limit(c);
    if (from == CONN_REQUESTED && next == CONN_DEAD)
        listener_count_gone(c);
    else if (from == CONN_REQUESTED && next != from)
        listener_count_answer(c);
}

void conn_step(struct fabric_conn *c, enum conn_event event, enum fabric_reason why)
{
    const struct conn_cell *cell = conn_table_cell(c->state, event);

    assert(shard_is_owner(c->home->shard));
    assert(cell->kind == CELL_STEP || cell->kind == CELL_IGNORE);
    if (cell->kind != CELL_STEP)
        return;
    if (c->streams && why != FABRIC_OK && (event == CONN_LOST || event == CONN_FAULT || event == CONN_NOTICE))
        why = iwarp_qp_first_cause(c->qp, why);
    set_state(c, cell->next, why);
    conn_effects(c, cell->effects, why);
    check(c);
}

static void pump_nothing(struct fabric_conn *c)
{
    (void)c;
}

static void (*const pumps[CONN_STATES])(struct fabric_conn *c) = {
    [CONN_IDLE] = pump_nothing,
    [CONN_TCP_CONNECTING] = active_tcp,
    [CONN_REQUEST_SENT] = active_request,
    [CONN_REPLIED] = active_wait,
    [CONN_COMPLETING] = stream_pump,
    [CONN_WAIT_REQUEST] = passive_request,
    [CONN_REQUESTED] = passive_wait,
    [CONN_REPLYING] = passive_reply,
    [CONN_WAIT_RTR] = stream_pump,
    [CONN_ESTABLISHED] = stream_pump,
    [CONN_DRAINING] = stream_pump,
    [CONN_NOTICE_SENT] = stream_pump,
    [CONN_PEER_CLOSED] = stream_pump,
    [CONN_CLOSING] = stream_pump,
    [CONN_LINGERING] = stream_linger,
    [CONN_DEAD] = pump_nothing,
    [CONN_LAST_WORDS] = stream_linger,
    [CONN_CLOSED] = pump_nothing,
};

/* No state comes twice without an event from outside, so that this ends. */
void conn_pump(struct fabric_conn *c)
{
    enum conn_state before;

    do {
        before = c->state;
        pumps[before](c);
    } while (c->state != before);
}

void conn_socket_ready(struct net_socket *socket, unsigned events)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)socket - offsetof(struct fabric_conn, socket));

    conn_enter(c);
    if (events & NET_READ)
        c->readable = true;
    if (events & NET_WRITE) {
        c->blocked = false;
        stream_resize(c);
    }
    conn_pump(c);
    conn_leave(c);
}

static void conn_timeout(struct shard_timer *timer)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)timer - offsetof(struct fabric_conn, timer));

    if (renewed(c))
        return;
    conn_enter(c);
    if (c->state == CONN_WAIT_REQUEST)
        iwarp_count(c->home, COUNT_DROPPED, 1);
    if (c->brief) {
        c->readable = true; /* nothing unread is left behind */
        stream_hang_up(c);
    }
    conn_step(c, CONN_LOST, limit_reason(c));
    conn_leave(c);
}

void conn_drop(struct fabric_conn *c)
{
    conn_enter(c);
    conn_step(c, CONN_LOST, FABRIC_LOCAL_CLOSE);
    conn_leave(c);
}

void conn_abort(struct fabric_conn *c, enum fabric_reason why)
{
    if (!conn_state_streams(c->state))
        return;
    conn_enter(c);
    conn_step(c, CONN_LOST, why);
    conn_leave(c);
}

/* ---- the strand ---- */

/* Under the lock: records ops; true: the caller posts the task to c->posted_to after unlocking. */
static bool record(struct fabric_conn *c, unsigned ops)
{
    c->ops |= ops;
    if (c->scheduled)
        return false;
    c->scheduled = true;
    c->posted_to = c->home;
    conn_ref(c);
    return true;
}

/* Ends a section under the lock that recorded ops. The connection may be gone when this returns. */
static void unlock_and_post(struct fabric_conn *c, bool post)
{
    struct shard *s = c->posted_to ? c->posted_to->shard : NULL;

    spin_unlock(&c->lock);
    if (post)
        shard_post(s, &c->task);
}

static void request(struct fabric_conn *c, unsigned op)
{
    spin_lock(&c->lock);
    unlock_and_post(c, record(c, op));
}

void conn_request_drop(struct fabric_conn *c, struct fabric_listener *waiting)
{
    spin_lock(&c->lock);
    c->drop_for = waiting;
    unlock_and_post(c, record(c, OP_DROP));
}

/* Leaves for another shard, with ops still to be carried out there. The task's reference goes along. */
static void move(struct fabric_conn *c, struct iwarp_shard *to, unsigned ops)
{
    bool post;

    if (c->timer.armed)
        shard_timer_stop(c->home->shard, &c->timer);
    if (c->has_socket) {
        c->fabric->net->ops->detach(&c->socket);
        TAILQ_REMOVE(&c->home->conns, c, shard_link);
    }
    spin_lock(&c->lock);
    c->home = to;
    c->ops |= ops;
    post = !c->scheduled;
    if (post) {
        c->scheduled = true;
        c->posted_to = to;
    }
    spin_unlock(&c->lock);
    if (post)
        shard_post(to->shard, &c->task);
    else
        conn_unref(c); /* not the last one: the task is queued here once more, and goes on from here */
}

/* True: the connection is on its queue pair's shard, with its socket. False: it is leaving for there. */
static bool settle(struct fabric_conn *c, unsigned ops)
{
    bool wants = (ops & OP_CONNECT && c->state == CONN_IDLE) || (ops & OP_ACCEPT && c->state == CONN_REQUESTED);
    int error;

    if (!wants)
        return true;
    if (c->qp->home != c->home) {
        move(c, c->qp->home, ops);
        return false;
    }
    if (c->has_socket && !c->socket.shard) {
        TAILQ_INSERT_TAIL(&c->home->conns, c, shard_link);
        error = c->fabric->net->ops->attach(&c->socket, c->home->shard);
        c->readable = true;
        if (error)
            conn_step(c, CONN_LOST, iwarp_reason_stream(error));
    }
    return true;
}

static void drop_now(struct fabric_conn *c)
{
    struct fabric_listener *waiting;

    passive_drop(c);
    spin_lock(&c->lock);
    waiting = c->drop_for;
    c->drop_for = NULL;
    spin_unlock(&c->lock);
    if (waiting)
        listener_resume(waiting);
    conn_unref(c); /* not the last one: the task has one */
}

static void run_ops(struct fabric_conn *c, unsigned ops)
{
    if (ops & OP_DROP)
        drop_now(c);
    if (ops & OP_CONNECT)
        active_connect(c);
    if (ops & OP_ACCEPT) {
        if (c->accept_events)
            c->events = c->accept_events;
        if (c->state == CONN_REQUESTED) {
            c->readable = true; /* a peer that has given up by now is noticed before anything is sent */
            passive_wait(c);
        }
        conn_step(c, CONN_ACCEPT, c->ended);
    }
    if (ops & OP_REJECT)
        conn_step(c, CONN_REJECT, FABRIC_LOCAL_CLOSE);
    if (ops & OP_COMPLETE)
        conn_step(c, CONN_COMPLETE, c->ended);
    if (ops & OP_DISCONNECT)
        conn_step(c, CONN_DISCONNECT, c->ended);
    if (ops & OP_CLOSE)
        conn_step(c, CONN_CLOSE, FABRIC_LOCAL_CLOSE);
    conn_pump(c);
}

static void conn_task(struct task *task)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)task - offsetof(struct fabric_conn, task));
    unsigned ops;

    spin_lock(&c->lock);
    if (c->posted_to != c->home) {
        c->posted_to = c->home;
        unlock_and_post(c, true);
        return;
    }
    ops = c->ops;
    c->ops = 0;
    c->scheduled = false;
    spin_unlock(&c->lock);
    assert(shard_is_owner(c->home->shard));
    if (!settle(c, ops))
        return;
    run_ops(c, ops);
    conn_unref(c);
}

/* ---- what the provider calls ---- */

int iwarp_conn_create(struct fabric *f, const struct fabric_conn_events *events, void *owner, struct fabric_conn **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    struct fabric_conn *c = conn_alloc(fabric, &fabric->shards[0], CONN_IDLE); /* till connect says where it lives */

    if (!c)
        return ENOMEM;
    c->active = true;
    c->events = events;
    c->owner = owner;
    *out = c;
    return 0;
}

static void keep_private(struct fabric_conn *c, const void *data, size_t len)
{
    if (len > MPA_MAX_PRIVATE_DATA - MPA_LIMITS)
        len = MPA_MAX_PRIVATE_DATA - MPA_LIMITS;
    if (len)
        memcpy(c->private_data, data, len);
    c->private_len = len;
}

int iwarp_conn_connect(struct fabric_conn *c, const struct fabric_connect *p)
{
    spin_lock(&c->lock);
    /* With the handle alone referring to it, no owner has it: it begins where it will live, instead of moving there. */
    if (c->state == CONN_IDLE && (!stands(c)) &&
        atomic_load_explicit(&c->refs, memory_order_acquire) == 1)
        c->home = p->qp->home;
    c->qp = p->qp;
    c->endpoint = p->endpoint;
    c->wanted_local = p->endpoint ? p->endpoint->local : p->local;
    c->wanted_remote = p->remote;
    c->limits = p->limits;
    keep_private(c, p->private_data, p->private_len);
    unlock_and_post(c, record(c, OP_CONNECT));
    return 0;
}

void iwarp_conn_complete(struct fabric_conn *c)
{
    request(c, OP_COMPLETE);
}

int iwarp_conn_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p)
{
    listener_count_answer(c);
    spin_lock(&c->lock);
    c->qp = p->qp;
    c->accept_events = events;
    c->limits = p->limits;
    keep_private(c, p->private_data, p->private_len);
    unlock_and_post(c, record(c, OP_ACCEPT));
    return 0;
}

enum fabric_reason iwarp_conn_reject(struct fabric_conn *c, const void *private_data, size_t len)
{
    enum fabric_reason answer = FABRIC_NOT_CONNECTING;
    bool post = false;

    listener_count_answer(c);
    spin_lock(&c->lock);
    if (c->state == CONN_REQUESTED || c->state == CONN_REPLIED) {
        keep_private(c, private_data, len);
        post = record(c, OP_REJECT);
        answer = FABRIC_OK;
    } else if (c->state == CONN_DEAD) {
        answer = c->ended;
    }
    unlock_and_post(c, post);
    return answer;
}

void iwarp_conn_disconnect(struct fabric_conn *c)
{
    request(c, OP_DISCONNECT);
}

void iwarp_conn_close(struct fabric_conn *c)
{
    listener_count_answer(c);
    request(c, OP_CLOSE);
}

struct shard *iwarp_conn_shard(struct fabric_conn *c)
{
    struct shard *s;

    spin_lock(&c->lock);
    s = c->home->shard;
    spin_unlock(&c->lock);
    return s;
}
