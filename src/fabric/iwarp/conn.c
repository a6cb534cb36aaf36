/* SPDX-License-Identifier: MIT */
/*
 * Drives connections. Invariant: only this file changes a connection's state (by a step in conn_table.c's table), and
 * every call from outside enters here. The other files of the list return what they found: see the column "returns".
 * An outcome is a struct conn_outcome.
 *
 *   file            members that it writes                  calls                       returns
 *   conn.c          state, home, ops and their arguments,   all below, the listener     a reason, to the provider
 *                   scheduled, posted_to, ended, active,
 *                   events, owner
 *   conn_table.c    nothing                                 nothing                     the cell of state and event
 *   conn_effects.c  short_linger; see below                 stream, passive, limit,     nothing: no effect can fail
 *                                                           consumer's events, net
 *   conn_object.c   refs, has_socket, shard_link            listener, `closed`          nothing
 *   conn_limit.c    timer, measured, progress               net                         whether a limit has passed, why
 *   active.c        local, remote, reservation, startup,    handshake, net              an outcome
 *                   result
 *   passive.c       owner                                   handshake, listener         an outcome
 *   handshake.c     startup's bytes, early                  net                         CONN_LOST or start-up's event
 *   stream.c        streams, signals, sent_all, counted,    queue pair, liveness, net   an outcome
 *                   at_start, nudge, nudges_left, end,
 *                   terminate
 *   linger.c        nothing else                            net, stream                 CONN_LOST when finished
 *   liveness.c      stall, mark                             queue pair's core           why input has stalled
 *   report.c        nothing                                 the fabric's observer       nothing
 *
 * readable, blocked, early_len, eof and shut are written by the file whose functions run in the connection's state.
 * conn.c also sets readable and clears blocked when the transport reports the socket, and sets readable before a time
 * limit ends the connection. conn_effects.c sets `ended` in DO_FORGIVE and `result` in DO_ANSWER, and frees `startup`
 * and `reservation` when they are no longer needed.
 * listener.c fills an accepted connection before it calls conn_adopted. It also writes `unanswered`, is_unfinished and
 * unfinished_link. unfinished.c writes `unfinished`. conn_trace.c and conn_trace.h write traced_by and send_began_ns.
 * conn_object.c sets the initial values and `number`. conn_move in conn.c also changes shard_link.
 *
 * In a step, state and event select a cell of the table, and the new state is set. If the connection began or ended,
 * the observer gets a report. Then the effects are carried out in their order, and the invariants are checked.
 * conn_pump runs the state's function, takes the step that the function returns, and repeats both until the state does
 * not change.
 *
 * Any thread may make requests. A request is recorded in `ops` under the connection's lock, and the connection's only
 * task is queued on its home shard. The thread that has the shard's token is the shard's owner. The owner runs the
 * task, which carries the requests out in a fixed order. The owner also runs the handlers of the socket and of the
 * timers. So the members that only the owner uses have one writer at a time.
 *
 * conn_move moves a connection to another shard: it stops the timer, detaches the socket, sets the new home under the
 * lock, and queues the task on the new shard, with the request still recorded. If the task has been queued on the old
 * shard meanwhile, it runs there and queues itself on the new shard.
 */
#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/endpoint.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/reason.h"
#include "fabric/iwarp/report.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The turns of a connection before its time limit ends it. The second turn reads the end of the stream behind data. */
enum { MAX_LIMIT_TURNS = 2 };

static void conn_task(struct task *task);
static void conn_on_socket(struct net_socket *socket, unsigned events);
static void conn_on_limit(struct shard_timer *timer);
static void conn_on_nudge(struct shard_timer *timer);
static void conn_on_stall(struct shard_timer *timer);

struct fabric_conn *conn_create(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state)
{
    struct fabric_conn *c = conn_alloc(f, home, state);

    if (!c)
        return NULL;
    c->task.run = conn_task;
    c->timer.fire = conn_on_limit;
    c->nudge.fire = conn_on_nudge;
    c->stall.fire = conn_on_stall;
    c->socket.ready = conn_on_socket;
    return c;
}

/* ---- steps ---- */

static void conn_check_invariants(const struct fabric_conn *c)
{
    bool lingers = c->state == CONN_LINGERING || c->state == CONN_LAST_WORDS;

    assert(c->has_socket == conn_state_has_socket(c->state));
    assert(c->streams ? conn_state_streams(c->state) || lingers : !conn_state_streams(c->state));
    assert(c->timer.armed == conn_state_has_limit(c->state));
    (void)c;
    (void)lingers;
}

/*
 * Updates the shard's counters for a step. Called before the step's effects, so that the counters include the step when
 * the consumer receives its event. A connection moves to another shard only before it is established, so all its counts
 * are on one shard.
 */
static void conn_count_step(struct fabric_conn *c, enum conn_state from, enum conn_state next)
{
    bool was = conn_state_is_active(from), is = conn_state_is_active(next);

    if (is && !was)
        iwarp_count(c->home, COUNT_ACTIVE, 1);
    if (was && !is)
        iwarp_count(c->home, COUNT_ACTIVE, (uint64_t)-1);
    if (from == CONN_ESTABLISHED && (next == CONN_DEAD || next == CONN_LINGERING))
        iwarp_count(c->home, COUNT_CONNECTION_ERRORS, 1);
}

/*
 * Sets the state, and the members that depend on the state: the reason of the end, the counts and the time limit. No
 * other function changes the state.
 */
static void conn_set_state(struct fabric_conn *c, enum conn_state next, enum fabric_reason why)
{
    enum conn_state from = c->state;
    bool over = next == CONN_DEAD || next == CONN_LINGERING;

    spin_lock(&c->lock);
    c->state = next;
    if (over && next != from && from != CONN_LINGERING)
        c->ended = why;
    spin_unlock(&c->lock);
    conn_count_step(c, from, next);
    if (next != from)
        limit_start(c);
    if (from == CONN_REQUESTED && next == CONN_DEAD)
        listener_count_abandoned(c);
    else if (from == CONN_REQUESTED && next != from)
        listener_count_answer(c);
}

static void conn_step(struct fabric_conn *c, enum conn_event event, enum fabric_reason why)
{
    enum conn_state from = c->state;
    const struct conn_cell *cell = conn_table_cell(from, event);

    assert(shard_is_owner(c->home->shard));
    assert(cell->kind == CELL_STEP || cell->kind == CELL_IGNORE);
    if (cell->kind != CELL_STEP)
        return;
    if (c->streams && why != FABRIC_OK && (event == CONN_LOST || event == CONN_FAULT || event == CONN_NOTICE))
        why = iwarp_qp_first_cause(c->qp, why);
    conn_trace_step(c, event, cell->next, why);
    conn_set_state(c, cell->next, why);
    report_step(c, from, event, why);
    conn_effects(c, cell->effects, why);
    conn_check_invariants(c);
}

static void conn_apply(struct fabric_conn *c, struct conn_outcome out)
{
    if (out.event != CONN_NOTHING)
        conn_step(c, out.event, out.why);
}

static struct conn_outcome conn_pump_nothing(struct fabric_conn *c)
{
    (void)c;
    return conn_nothing;
}

/* clang-format off */
static struct conn_outcome (*const conn_pumps[CONN_STATES])(struct fabric_conn *c) = {
    [CONN_IDLE] = conn_pump_nothing,
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
    [CONN_LINGERING] = linger_pump,
    [CONN_DEAD] = conn_pump_nothing,
    [CONN_LAST_WORDS] = linger_pump,
    [CONN_CLOSED] = conn_pump_nothing,
};
/* clang-format on */

/*
 * Runs the function of the present state and takes the step that it returns. Repeats both until the state does not
 * change. The loop ends: without an event from outside, a connection returns to no earlier state except CONN_IDLE, and
 * the function of CONN_IDLE returns no step.
 */
static void conn_pump(struct fabric_conn *c)
{
    enum conn_state before;

    do {
        before = c->state;
        conn_apply(c, conn_pumps[before](c));
    } while (c->state != before);
}

/* ---- events of the socket and the timers ---- */

static void conn_on_socket(struct net_socket *socket, unsigned events)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)socket - offsetof(struct fabric_conn, socket));

    conn_ref(c);
    conn_trace_follow(c);
    if (events & NET_READ)
        c->readable = true;
    if (events & NET_WRITE) {
        if (c->blocked)
            TRACE(unblocked, c->number, .state = (uint8_t)c->state);
        c->blocked = false;
        stream_resize(c);
    }
    conn_pump(c);
    conn_unref(c);
}

/*
 * Runs a turn of the connection as if its socket were readable. Called before it is decided that the peer is too slow,
 * so that a connection does not end because this side is slow: the peer's answer may have arrived while the shard's
 * thread was not running, or while it served other sockets.
 */
static void conn_read_pending(struct fabric_conn *c)
{
    c->readable = true;
    conn_pump(c);
}

static void conn_expire(struct fabric_conn *c)
{
    if (c->state == CONN_WAIT_REQUEST)
        iwarp_count(c->home, COUNT_DROPPED, 1);
    if (c->short_linger)
        linger_hang_up(c);
    TRACE(limit_expired, c->number, .state = (uint8_t)c->state, .why = (uint16_t)limit_reason(c));
    conn_step(c, CONN_LOST, limit_reason(c));
}

static void conn_on_limit(struct shard_timer *timer)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)timer - offsetof(struct fabric_conn, timer));
    enum conn_state expired = c->state;

    conn_ref(c);
    conn_trace_follow(c);
    for (int turns = 0; turns < MAX_LIMIT_TURNS && c->state == expired; turns++)
        conn_read_pending(c);
    if (c->state == expired && !limit_renew(c))
        conn_expire(c);
    conn_unref(c);
}

static void conn_on_nudge(struct shard_timer *timer)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)timer - offsetof(struct fabric_conn, nudge));

    if (!stream_is_silent(c))
        return;
    conn_ref(c);
    stream_nudge(c);
    conn_pump(c);
    conn_unref(c);
}

static void conn_on_stall(struct shard_timer *timer)
{
    struct fabric_conn *c = (struct fabric_conn *)((char *)timer - offsetof(struct fabric_conn, stall));
    struct iw_rx_mark since = c->mark;
    enum fabric_reason why;

    conn_ref(c);
    conn_read_pending(c);
    why = liveness_check(c, &since);
    if (why != FABRIC_OK) {
        TRACE(stall_expired, c->number, .why = (uint16_t)why);
        conn_step(c, CONN_LOST, why);
    }
    liveness_received(c);
    conn_unref(c);
}

/* ---- called by other objects, for example the listener ---- */

void conn_adopted(struct fabric_conn *c)
{
    conn_set_number(c);
    conn_trace_begin(c);
    conn_socket_opened(c);
    c->readable = true;
    limit_start(c);
}

void conn_read(struct fabric_conn *c)
{
    conn_on_socket(&c->socket, NET_READ);
}

void conn_lose(struct fabric_conn *c, enum fabric_reason why)
{
    conn_ref(c);
    conn_step(c, CONN_LOST, why);
    conn_unref(c);
}

void conn_abort(struct fabric_conn *c, enum fabric_reason why)
{
    if (conn_state_streams(c->state))
        conn_lose(c, why);
}

/* Drops c if c is unfinished. First reads the socket: if the peer's request has arrived, c is not dropped. */
void conn_drop_victim(struct fabric_conn *c)
{
    conn_ref(c);
    if (c->is_unfinished && c->state == CONN_WAIT_REQUEST)
        conn_read(c);
    if (c->is_unfinished && c->state != CONN_CLOSED) {
        iwarp_count(c->home, COUNT_DROPPED, 1);
        conn_lose(c, FABRIC_CROWDED_OUT);
    }
    conn_unref(c);
}

void conn_transmit(struct fabric_conn *c)
{
    enum conn_state before = c->state;

    conn_ref(c);
    conn_apply(c, stream_send(c));
    if (c->state != before)
        conn_pump(c);
    conn_unref(c);
}

void conn_check_send(struct fabric_conn *c, const struct iw_rx_mark *since)
{
    conn_ref(c);
    conn_read_pending(c);
    if (c->streams && conn_state_streams(c->state) && liveness_send_stalls(c, since))
        conn_step(c, CONN_LOST, FABRIC_SRQ_SHARE);
    conn_unref(c);
}

/* ---- recorded requests ---- */

/*
 * Adds `ops` to the recorded requests. Returns true if the caller must post the task to c->posted_to after releasing
 * the lock. Requires the lock.
 */
static bool conn_record(struct fabric_conn *c, unsigned ops)
{
    c->ops |= ops;
    if (c->scheduled)
        return false;
    c->scheduled = true;
    c->posted_to = c->home;
    conn_ref(c);
    return true;
}

/*
 * Releases the lock, then posts the task if `post` is true. When this function returns, the connection may have been
 * freed.
 */
static void conn_unlock_and_post(struct fabric_conn *c, bool post)
{
    struct shard *s = c->posted_to ? c->posted_to->shard : NULL;

    spin_unlock(&c->lock);
    if (post)
        shard_post(s, &c->task);
}

static void conn_request(struct fabric_conn *c, unsigned op)
{
    spin_lock(&c->lock);
    conn_unlock_and_post(c, conn_record(c, op));
}

void conn_request_drop(struct fabric_conn *c, struct fabric_listener *waiting)
{
    spin_lock(&c->lock);
    c->drop_for = waiting;
    conn_unlock_and_post(c, conn_record(c, OP_DROP));
}

/*
 * Moves the connection to another shard, whose owner will carry out `ops`. Takes over the reference of the running
 * task.
 */
static void conn_move(struct fabric_conn *c, struct iwarp_shard *to, unsigned ops)
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
        conn_unref(c); /* not the last reference: the task is queued on this shard again, and has one */
}

/*
 * Connect and accept are carried out on the shard of the queue pair. If one of them is due and c is on another shard,
 * this function starts a move to the queue pair's shard and returns false. The caller must then not access c any more.
 * Otherwise returns true, after it has attached the socket if an earlier move had detached it.
 */
static bool conn_join_qp_shard(struct fabric_conn *c, unsigned ops)
{
    bool needs_qp_shard = (ops & OP_CONNECT && c->state == CONN_IDLE) ||
                          (ops & OP_ACCEPT && c->state == CONN_REQUESTED);
    int error;

    if (!needs_qp_shard)
        return true;
    if (c->qp->home != c->home) {
        conn_move(c, c->qp->home, ops);
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

static void conn_drop_now(struct fabric_conn *c)
{
    struct fabric_listener *waiting;

    conn_drop_victim(c);
    spin_lock(&c->lock);
    waiting = c->drop_for;
    c->drop_for = NULL;
    spin_unlock(&c->lock);
    if (waiting)
        listener_resume(waiting);
    conn_unref(c); /* not the last reference: the task has one */
}

static void conn_run_ops(struct fabric_conn *c, unsigned ops)
{
    if (ops & OP_DROP)
        conn_drop_now(c);
    if (ops & OP_CONNECT)
        conn_apply(c, active_connect(c));
    if (ops & OP_ACCEPT) {
        if (c->accept_events)
            c->events = c->accept_events;
        if (c->state == CONN_REQUESTED) {
            c->readable = true; /* makes passive_wait detect a close or reset by the peer */
            conn_apply(c, passive_wait(c));
        }
        conn_step(c, CONN_ACCEPT, c->ended);
    }
    if (ops & OP_REJECT)
        conn_step(c, CONN_REJECT, FABRIC_LOCAL_REJECT);
    if (ops & OP_COMPLETE)
        conn_step(c, CONN_COMPLETE, c->ended);
    if (ops & (OP_DISCONNECT | OP_CLOSE))
        conn_apply(c, stream_check_reset(c)); /* otherwise a broken connection would be reported as a normal end */
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
        conn_unlock_and_post(c, true);
        return;
    }
    ops = c->ops;
    c->ops = 0;
    c->scheduled = false;
    spin_unlock(&c->lock);
    assert(shard_is_owner(c->home->shard));
    if (!conn_join_qp_shard(c, ops))
        return;
    conn_run_ops(c, ops);
    conn_unref(c);
}

/* ---- calls of the provider ---- */

int iwarp_conn_create(struct fabric *f, const struct fabric_conn_events *events, void *owner, struct fabric_conn **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    struct fabric_conn *c = conn_create(fabric, &fabric->shards[0], CONN_IDLE); /* conn_connect changes the shard */

    if (!c)
        return ENOMEM;
    conn_set_number(c);
    c->active = true;
    c->events = events;
    c->owner = owner;
    *out = c;
    return 0;
}

static void conn_copy_private(struct fabric_conn *c, const void *data, size_t len)
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
    /* If only the handle has a reference, no other thread uses c. So c->home can change without conn_move. */
    if (c->state == CONN_IDLE && atomic_load_explicit(&c->refs, memory_order_acquire) == 1)
        c->home = p->qp->home;
    c->qp = p->qp;
    c->endpoint = p->endpoint;
    c->connect_local = p->endpoint ? p->endpoint->local : p->local;
    c->connect_remote = p->remote;
    c->limits = p->limits;
    conn_copy_private(c, p->private_data, p->private_len);
    conn_unlock_and_post(c, conn_record(c, OP_CONNECT));
    return 0;
}

void iwarp_conn_complete(struct fabric_conn *c)
{
    conn_request(c, OP_COMPLETE);
}

int iwarp_conn_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p)
{
    listener_count_answer(c);
    spin_lock(&c->lock);
    c->qp = p->qp;
    c->accept_events = events;
    c->limits = p->limits;
    conn_copy_private(c, p->private_data, p->private_len);
    conn_unlock_and_post(c, conn_record(c, OP_ACCEPT));
    return 0;
}

enum fabric_reason iwarp_conn_reject(struct fabric_conn *c, const void *private_data, size_t len)
{
    enum fabric_reason answer = FABRIC_NOT_CONNECTING;
    bool post = false;

    listener_count_answer(c);
    spin_lock(&c->lock);
    if (c->state == CONN_REQUESTED || c->state == CONN_REPLIED) {
        conn_copy_private(c, private_data, len);
        post = conn_record(c, OP_REJECT);
        answer = FABRIC_OK;
    } else if (c->state == CONN_DEAD) {
        answer = c->ended;
    }
    conn_unlock_and_post(c, post);
    return answer;
}

void iwarp_conn_disconnect(struct fabric_conn *c)
{
    conn_request(c, OP_DISCONNECT);
}

void iwarp_conn_close(struct fabric_conn *c)
{
    listener_count_answer(c);
    conn_request(c, OP_CLOSE);
}
