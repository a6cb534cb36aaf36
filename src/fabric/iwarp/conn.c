/* SPDX-License-Identifier: MIT */
/*
 * Abstract: a connection's strand, its life, and its steps.
 *
 * Requests may come from any thread. Each is recorded in `ops` under the connection's lock, and the connection's one
 * task is queued on its home shard; there, with the token held, the task carries them out in a fixed order. Readiness
 * of the socket and timers run with the same token. So everything marked "owner" has one writer at a time, also while
 * the connection moves: it leaves its old shard (timers, socket), names the new home under the lock, and queues the
 * task there with the request still recorded; a task that was queued on the old shard meanwhile goes on to the new one.
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

static void conn_task(struct task *task);
static void conn_timeout(struct shard_timer *timer);

struct fabric_conn *conn_create(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state)
{
    struct fabric_conn *c = conn_alloc(f, home, state);

    if (!c)
        return NULL;
    c->task.run = conn_task;
    c->timer.fire = conn_timeout;
    c->nudge.fire = stream_nudge;
    c->stall.fire = conn_stalled;
    c->socket.ready = conn_socket_ready;
    return c;
}

/* ---- steps ---- */

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
        limit_start(c);
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

    if (limit_renew(c))
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

    limit_stop(c);
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
    struct fabric_conn *c = conn_create(fabric, &fabric->shards[0], CONN_IDLE); /* till connect says where it lives */

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
    if (c->state == CONN_IDLE && (!conn_is_entered(c)) &&
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
