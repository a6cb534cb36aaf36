/* SPDX-License-Identifier: MIT */
/*
 * Implements listeners. The consumer's calls are recorded, and one task on the listener's shard carries them out, as
 * for a connection. TCP connections are accepted as they arrive, independently of the consumer. A connection is
 * unfinished until the consumer has received its request. Unfinished connections are also in the process's table
 * (unfinished.c). The table limits their number and selects the connection that is dropped to make room for another
 * connection.
 *
 * Requests that the consumer has not answered are counted in two groups. A request is live while its peer waits, and
 * abandoned after its peer has left. Each group has as many places as the backlog. If the abandoned group has no free
 * place, a further abandoned request takes a place of the live group. So a listener has at most twice as many
 * unanswered requests as its backlog. Peers that leave do not use places of the live group until the abandoned group is
 * full.
 *
 * Invariant: `closed` is reported only when no unfinished connection remains and no other shard is about to resume the
 * listener. The unfinished connections and the other shard use the listener's shard, which may be freed after `closed`.
 */
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/reason.h"
#include "fabric/iwarp/report.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

enum listener_op { OP_LISTEN = 1, OP_END = 2, OP_RESUME = 4 };

enum { MAX_ACCEPT_BATCH = 64, MAX_AUTOMATIC = 1024 };

static void listener_run(struct task *task);
static void listener_on_socket(struct net_socket *socket, unsigned events);
static void listener_request(struct fabric_listener *l, unsigned op, const struct addr *requested);
static void listener_try_end(struct fabric_listener *l);

int iwarp_listener_create(struct fabric *f, const struct fabric_listener_events *events,
                          const struct fabric_conn_events *conn_events, void *owner, struct fabric_listener **out)
{
    struct fabric_listener *l = calloc(1, sizeof *l);

    if (!l)
        return ENOMEM;
    l->fabric = (struct iwarp_fabric *)f;
    l->home = iwarp_pick_shard(l->fabric, &l->fabric->next_listener);
    l->events = events;
    l->conn_events = conn_events;
    l->owner = owner;
    l->task.run = listener_run;
    l->socket.ready = listener_on_socket;
    spin_init(&l->lock);
    atomic_init(&l->refs, 1);
    TAILQ_INIT(&l->unfinished);
    *out = l;
    return 0;
}

void listener_unref(struct fabric_listener *l)
{
    if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1)
        free(l);
}

/* ---- requests that the consumer has not answered ---- */

enum fabric_reason listener_refusal(const struct fabric_listener *l)
{
    unsigned backlog = l->fabric->config.backlog, abandoned = atomic_load(&l->abandoned);
    unsigned beyond = abandoned > backlog ? abandoned - backlog : 0;

    if (l->closed)
        return FABRIC_LISTENER_CLOSED;
    if (atomic_load(&l->paused))
        return FABRIC_LISTENER_PAUSED;
    return atomic_load(&l->live) + beyond < backlog ? FABRIC_OK : FABRIC_BACKLOG_FULL;
}

void listener_count_request(struct fabric_conn *c)
{
    atomic_fetch_add(&c->listener->live, 1);
    atomic_store(&c->unanswered, UNANSWERED_LIVE);
}

/*
 * Counts the request of c as abandoned, if it is live. Another thread may call listener_count_answer at the same time.
 * Only the thread that changes c->unanswered from LIVE decrements `live`.
 */
void listener_count_abandoned(struct fabric_conn *c)
{
    int expected = UNANSWERED_LIVE;

    /* Incremented before the exchange, because after the exchange listener_count_answer may decrement the counter. */
    atomic_fetch_add(&c->listener->abandoned, 1);
    if (atomic_compare_exchange_strong(&c->unanswered, &expected, UNANSWERED_ABANDONED))
        atomic_fetch_sub(&c->listener->live, 1);
    else
        atomic_fetch_sub(&c->listener->abandoned, 1);
}

void listener_count_answer(struct fabric_conn *c)
{
    switch (atomic_exchange(&c->unanswered, UNANSWERED_NOT)) {
    case UNANSWERED_LIVE:
        atomic_fetch_sub(&c->listener->live, 1);
        break;
    case UNANSWERED_ABANDONED:
        atomic_fetch_sub(&c->listener->abandoned, 1);
        break;
    default:
        break;
    }
}

/* ---- unfinished connections ---- */

void listener_finished(struct fabric_listener *l, struct fabric_conn *c)
{
    if (!c->is_unfinished)
        return;
    c->is_unfinished = false;
    unfinished_remove(c);
    TAILQ_REMOVE(&l->unfinished, c, unfinished_link);
    listener_try_end(l);
}

void listener_resume(struct fabric_listener *l)
{
    listener_request(l, OP_RESUME, NULL);
    listener_unref(l);
}

/*
 * Drops the connection that unfinished_pop_victim returned. If the connection is on this shard, drops it at once.
 * Otherwise posts a task to the connection's shard, which drops it.
 */
static void listener_drop_victim(struct fabric_listener *l, struct fabric_conn *victim, struct fabric_listener *waiting)
{
    if (victim->listener->home == l->home) {
        conn_drop_victim(victim);
        conn_unref(victim);
    } else {
        conn_request_drop(victim, waiting);
    }
}

/* Drops one unfinished connection if the process has more than l->limit unfinished connections. */
static void listener_enforce_limit(struct fabric_listener *l)
{
    struct fabric_conn *victim = unfinished_pop_victim(l->limit);

    if (victim)
        listener_drop_victim(l, victim, NULL);
}

/*
 * Called if a peer waits and the process has no free descriptor. Drops an unfinished connection to free a descriptor.
 * If no connection is unfinished, refuses the waiting peers. If the dropped connection is on another shard, pauses the
 * listener's socket until listener_resume runs; otherwise the socket would be reported as readable again and again.
 * Returns true if the caller can accept again.
 */
static bool listener_make_room(struct fabric_listener *l)
{
    struct fabric_conn *victim = unfinished_pop_victim(0);

    if (!victim) {
        l->fabric->net->ops->reset_accept_queue(&l->socket);
        report_refused(l->fabric, &l->local, NULL, FABRIC_DESCRIPTORS);
        return false;
    }
    if (victim->listener->home == l->home) {
        listener_drop_victim(l, victim, NULL);
        return true;
    }
    l->waits_for_drop = true;
    l->fabric->net->ops->pause_read(&l->socket, true);
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    listener_drop_victim(l, victim, l);
    return false;
}

/* ---- accepting ---- */

static struct iw_startup *listener_create_startup(const struct fabric_config *config)
{
    struct iw_startup_config s = {
        .crc = config->iwarp.crc,
        .rtr = config->iwarp.rtr,
        .max_ird = config->max_inbound_reads,
        .max_ord = config->max_outbound_reads,
        .max_private = config->max_private,
    };
    return iw_startup_responder(&s);
}

/* Accepts and resets the next peer, for which there is no memory. Returns false if accept failed. */
static bool listener_reset_next(struct fabric_listener *l)
{
    const struct net_ops *net = l->fabric->net->ops;
    struct net_socket socket = { .ready = listener_on_socket };
    struct addr local, remote;
    int error = net->accept(&l->socket, &socket, &local, &remote);

    if (error == 0) {
        net->close(&socket, true);
        report_refused(l->fabric, &local, &remote, FABRIC_RESOURCES);
    } else if (error == EMFILE || error == ENFILE) {
        net->reset_accept_queue(&l->socket);
        report_refused(l->fabric, &l->local, NULL, FABRIC_DESCRIPTORS);
    }
    return error == 0;
}

static void listener_free_new(struct fabric_conn *c)
{
    if (c)
        iw_startup_free(c->startup);
    free(c);
}

static void listener_adopt(struct fabric_listener *l, struct fabric_conn *c)
{
    c->events = l->conn_events;
    c->reservation = l->reservation;
    l->fabric->net->ops->reservation_ref(c->reservation);
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    c->is_unfinished = true;
    TAILQ_INSERT_TAIL(&l->unfinished, c, unfinished_link);
    conn_adopted(c);
}

/* Accepts the next peer, if there is one. Returns true if more peers may be waiting. */
static bool listener_accept_one(struct fabric_listener *l)
{
    struct fabric_conn *c = conn_create(l->fabric, l->home, CONN_WAIT_REQUEST);
    int error;

    if (c)
        c->startup = listener_create_startup(&l->fabric->config);
    if (!c || !c->startup) {
        listener_free_new(c);
        return listener_reset_next(l);
    }
    error = l->fabric->net->ops->accept(&l->socket, &c->socket, &c->local, &c->remote);
    if (error) {
        listener_free_new(c);
        return error == EMFILE || error == ENFILE ? listener_make_room(l) : error != EAGAIN;
    }
    c->listener = l; /* set before another shard can find c in the table */
    if (!unfinished_insert(c)) {
        l->fabric->net->ops->close(&c->socket, true);
        report_refused(l->fabric, &c->local, &c->remote, FABRIC_RESOURCES);
        listener_free_new(c);
        return true;
    }
    listener_adopt(l, c);
    conn_read(c); /* usually the request has already arrived */
    listener_enforce_limit(l);
    return true;
}

static void listener_on_socket(struct net_socket *socket, unsigned events)
{
    struct fabric_listener *l = (struct fabric_listener *)((char *)socket - offsetof(struct fabric_listener, socket));

    (void)events;
    for (int i = 0; i < MAX_ACCEPT_BATCH && l->listening && listener_accept_one(l); i++)
        ;
}

/* ---- the consumer's calls ---- */

/*
 * Returns the maximum number of unfinished connections. By default this is half of the number of free descriptors, but
 * at most MAX_AUTOMATIC. The other half is for connections that the consumer has received, and for the program's files.
 */
static unsigned listener_max_unfinished(const struct iwarp_fabric *f)
{
    unsigned room;

    if (f->config.max_unfinished)
        return f->config.max_unfinished;
    room = f->net->ops->count_free_sockets(f->net, 2 * MAX_AUTOMATIC) / 2;
    return room ? room : 1;
}

static enum fabric_reason listener_start(struct fabric_listener *l, struct addr *local)
{
    struct iwarp_fabric *f = l->fabric;
    enum fabric_reason owned = iwarp_check_address(f, local);
    int error;

    if (owned != FABRIC_OK)
        return owned;
    error = f->net->ops->reserve(f->net, local, NULL, NET_USE_LISTEN, &l->reservation);
    if (error)
        return iwarp_reason_reserve(error);
    l->socket = (struct net_socket){ .ready = listener_on_socket };
    error = f->net->ops->listen(f->net, l->home->shard, l->reservation, &l->socket);
    if (error) {
        f->net->ops->reservation_unref(l->reservation);
        l->reservation = NULL;
        return iwarp_reason_listen(error);
    }
    f->net->ops->set_liveness(&l->socket, &f->liveness);
    unfinished_watch_forks();
    l->local = *local;
    l->limit = listener_max_unfinished(f);
    spin_lock(&l->lock);
    l->listening = true;
    if (atomic_load(&l->paused))
        f->net->ops->listen_pause(&l->socket, true);
    spin_unlock(&l->lock);
    return FABRIC_OK;
}

static void listener_listen_now(struct fabric_listener *l)
{
    enum fabric_reason why = FABRIC_NOT_CONNECTING;
    struct addr local;

    spin_lock(&l->lock);
    local = l->requested;
    spin_unlock(&l->lock);
    if (!l->listening)
        why = listener_start(l, &local);
    conn_trace_listening(l, &local, why);
    l->events->listening(l->owner, why, &local);
}

/* Reports `closed` if the consumer has closed the listener and the invariant at the top of the file permits it. */
static void listener_try_end(struct fabric_listener *l)
{
    if (!l->ending || l->waits_for_drop || !TAILQ_EMPTY(&l->unfinished))
        return;
    l->ending = false;
    if (l->reservation)
        l->fabric->net->ops->reservation_unref(l->reservation);
    l->reservation = NULL;
    l->events->closed(l->owner);
    listener_unref(l); /* releases the handle's reference */
}

/*
 * Stops listening, and ends the unfinished connections. The consumer has received the other connections, and closes
 * them.
 */
static void listener_end_now(struct fabric_listener *l)
{
    bool listening = l->listening;
    struct fabric_conn *next;

    l->closed = true;
    spin_lock(&l->lock);
    l->listening = false;
    spin_unlock(&l->lock);
    if (listening)
        l->fabric->net->ops->close(&l->socket, false);
    for (struct fabric_conn *c = TAILQ_FIRST(&l->unfinished); c; c = next) {
        next = TAILQ_NEXT(c, unfinished_link);
        if (c->state != CONN_CLOSED)
            conn_lose(c, FABRIC_LISTENER_CLOSED);
    }
    l->ending = true;
    listener_try_end(l);
}

static void listener_resume_now(struct fabric_listener *l)
{
    l->waits_for_drop = false;
    if (l->listening)
        l->fabric->net->ops->pause_read(&l->socket, false);
    listener_try_end(l);
}

static void listener_run(struct task *task)
{
    struct fabric_listener *l = (struct fabric_listener *)((char *)task - offsetof(struct fabric_listener, task));
    unsigned ops;

    spin_lock(&l->lock);
    ops = l->ops;
    l->ops = 0;
    l->scheduled = false;
    spin_unlock(&l->lock);
    if (ops & OP_LISTEN)
        listener_listen_now(l);
    if (ops & OP_RESUME)
        listener_resume_now(l);
    if (ops & OP_END)
        listener_end_now(l);
    listener_unref(l);
}

static void listener_request(struct fabric_listener *l, unsigned op, const struct addr *requested)
{
    bool post;

    spin_lock(&l->lock);
    l->ops |= op;
    if (requested)
        l->requested = *requested;
    post = !l->scheduled;
    l->scheduled = true;
    if (post)
        atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    spin_unlock(&l->lock);
    if (post)
        shard_post(l->home->shard, &l->task);
}

void iwarp_listener_listen(struct fabric_listener *l, const struct addr *local)
{
    listener_request(l, OP_LISTEN, local);
}

/* Pauses or resumes listening. When this function returns, the change must be complete, because no event follows. */
void iwarp_listener_pause(struct fabric_listener *l, bool paused)
{
    spin_lock(&l->lock);
    if (paused != atomic_exchange(&l->paused, paused) && l->listening)
        l->fabric->net->ops->listen_pause(&l->socket, paused);
    spin_unlock(&l->lock);
}

void iwarp_listener_close(struct fabric_listener *l)
{
    listener_request(l, OP_END, NULL);
}

void iwarp_listener_info(struct fabric_listener *l, struct fabric_listener_info *info)
{
    spin_lock(&l->lock);
    *info = (struct fabric_listener_info){
        .backlog = l->fabric->config.backlog,
        .waiting = atomic_load(&l->live),
        .abandoned = atomic_load(&l->abandoned),
        .max_unfinished = l->listening ? l->limit : 0, /* the owner sets `limit` before it sets `listening` */
        .is_paused = atomic_load(&l->paused),
    };
    spin_unlock(&l->lock);
}

struct shard *iwarp_listener_shard(struct fabric_listener *l)
{
    return l->home->shard;
}
