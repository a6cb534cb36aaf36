/* SPDX-License-Identifier: MIT */
/*
 * Abstract: listeners. Requests of the consumer's are recorded and carried out by one task on the listener's shard, as
 * a connection's are. TCP connections are accepted as they come, whatever the consumer does; those whose MPA request is
 * not complete are kept in order of age, the oldest makes room for a new one beyond the limit.
 *
 * Requests that the consumer has not answered are counted in two groups: living ones, and those whose peer is gone.
 * Each group may be as large as the backlog; more of the second group count as living. So a listener never has more
 * than twice the backlog of unanswered requests, and peers that leave do not take the places of those that wait.
 */
#include "fabric/iwarp/internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mutant.h"

enum listener_op { OP_LISTEN = 1, OP_END = 2 };

enum { ACCEPT_BATCH = 64 };

static void run(struct shard_task *task);
static void ready(struct net_socket *socket, unsigned events);

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
    l->task.run = run;
    l->socket.ready = ready;
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

bool listener_has_room(struct fabric_listener *l)
{
    unsigned backlog = l->fabric->config.backlog, gone = atomic_load(&l->gone);
    unsigned beyond = gone > backlog ? gone - backlog : 0;

    return !l->closed && !atomic_load(&l->paused) &&
           (atomic_load(&l->living) + beyond < backlog || MUTANT(lsn_09_no_backlog));
}

void listener_count_request(struct fabric_conn *c)
{
    atomic_fetch_add(&c->listener->living, 1);
    atomic_store(&c->unanswered, UNANSWERED_LIVING);
}

/* The consumer may answer meanwhile, in another thread: whoever changes c->unanswered counts. */
void listener_count_gone(struct fabric_conn *c)
{
    int expected = UNANSWERED_LIVING;

    if (MUTANT(lsn_09_gone_count_as_living))
        return;
    atomic_fetch_add(&c->listener->gone, 1); /* first: an answer that finds it gone subtracts */
    if (atomic_compare_exchange_strong(&c->unanswered, &expected, UNANSWERED_GONE))
        atomic_fetch_sub(&c->listener->living, 1);
    else
        atomic_fetch_sub(&c->listener->gone, 1);
}

void listener_count_answer(struct fabric_conn *c)
{
    switch (atomic_exchange(&c->unanswered, UNANSWERED_NOT)) {
    case UNANSWERED_LIVING:
        atomic_fetch_sub(&c->listener->living, 1);
        break;
    case UNANSWERED_GONE:
        atomic_fetch_sub(&c->listener->gone, 1);
        break;
    default:
        break;
    }
}

/* ---- unfinished connections ---- */

void listener_finished(struct fabric_listener *l, struct fabric_conn *c)
{
    if (!c->unfinished)
        return;
    c->unfinished = false;
    TAILQ_REMOVE(&l->unfinished, c, unfinished_link);
    l->unfinished_count--;
}

/* ---- accepting ---- */

static void drop_oldest(struct fabric_listener *l)
{
    iwarp_count(l->home, COUNT_DROPPED, 1);
    conn_drop(TAILQ_FIRST(&l->unfinished));
}

static struct iw_startup *responder(const struct iwarp_config *config)
{
    struct iw_startup_config s = {
        .crc = config->crc,
        .rtr = config->rtr,
        .max_ird = config->max_inbound_reads,
        .max_ord = config->max_outbound_reads,
        .max_private = config->max_private,
    };
    return iw_startup_responder(&s);
}

/* Whoever waits there is turned away: there is no memory for him. False: nobody waits. */
static bool turn_away(struct fabric_listener *l)
{
    const struct net_ops *net = l->fabric->net->ops;
    struct net_socket socket = { .ready = ready };
    struct addr local, remote;
    int error = net->accept(&l->socket, &socket, &local, &remote);

    if (error == 0)
        net->close(&socket, true);
    return error == 0;
}

static void adopt(struct fabric_listener *l, struct fabric_conn *c)
{
    conn_socket_opened(c);
    c->readable = true;
    c->listener = l;
    c->events = l->conn_events;
    if (!MUTANT(lsn_07_not_held)) {
        c->reservation = l->reservation;
        l->fabric->net->ops->reservation_ref(c->reservation);
    }
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    c->unfinished = true;
    TAILQ_INSERT_TAIL(&l->unfinished, c, unfinished_link);
    l->unfinished_count++;
    conn_limit(c);
}

/* True: there may be more. */
static bool accept_one(struct fabric_listener *l)
{
    struct fabric_conn *c = conn_alloc(l->fabric, l->home, CONN_WAIT_REQUEST);
    int error;

    if (c)
        c->startup = responder(&l->fabric->config);
    if (!c || !c->startup) {
        free(c);
        return turn_away(l);
    }
    error = l->fabric->net->ops->accept(&l->socket, &c->socket, &c->local, &c->remote);
    if (error) {
        iw_startup_free(c->startup);
        free(c);
        return error != EAGAIN;
    }
    adopt(l, c);
    if (l->unfinished_count > l->fabric->config.max_unfinished && !MUTANT(lsn_08_no_limit))
        drop_oldest(l);
    conn_socket_ready(&c->socket, NET_READ); /* the request mostly is there already */
    return true;
}

static void ready(struct net_socket *socket, unsigned events)
{
    struct fabric_listener *l = (struct fabric_listener *)((char *)socket - offsetof(struct fabric_listener, socket));

    (void)events;
    for (int i = 0; i < ACCEPT_BATCH && l->listening && accept_one(l); i++)
        ;
}

/* ---- the consumer's requests ---- */

static enum fabric_reason start(struct fabric_listener *l, struct addr *local)
{
    struct iwarp_fabric *f = l->fabric;
    enum fabric_reason owned = iwarp_owns(f, local);
    int error;

    if (owned != FABRIC_OK && !MUTANT(lsn_02_any_address))
        return owned;
    error = f->net->ops->reserve(f->net, local, NULL, NET_USE_LISTEN, &l->reservation);
    if (error)
        return iwarp_reason_reserve(error);
    l->socket = (struct net_socket){ .ready = ready };
    error = f->net->ops->listen(f->net, l->home->shard, l->reservation, &l->socket);
    if (error) {
        f->net->ops->reservation_unref(l->reservation);
        l->reservation = NULL;
        return iwarp_reason_listen(error);
    }
    f->net->ops->set_liveness(&l->socket, &f->config.liveness);
    spin_lock(&l->lock);
    l->listening = true;
    if (atomic_load(&l->paused))
        f->net->ops->listen_pause(&l->socket, true);
    spin_unlock(&l->lock);
    return FABRIC_OK;
}

static void listen_now(struct fabric_listener *l)
{
    enum fabric_reason why = FABRIC_NOT_CONNECTING;
    struct addr local;

    spin_lock(&l->lock);
    local = l->wanted;
    spin_unlock(&l->lock);
    if (!l->listening)
        why = start(l, &local);
    l->events->listening(l->owner, why, &local);
}

/* Those who have no request yet are dropped; those whom the consumer knows are his. */
static void end_now(struct fabric_listener *l)
{
    const struct net_ops *net = l->fabric->net->ops;
    bool listening = l->listening;

    l->closed = true;
    spin_lock(&l->lock);
    l->listening = false;
    spin_unlock(&l->lock);
    if (listening)
        net->close(&l->socket, false);
    while (!TAILQ_EMPTY(&l->unfinished))
        conn_drop(TAILQ_FIRST(&l->unfinished));
    if (l->reservation)
        net->reservation_unref(l->reservation);
    l->reservation = NULL;
    l->events->closed(l->owner);
    listener_unref(l); /* the handle */
}

static void run(struct shard_task *task)
{
    struct fabric_listener *l = (struct fabric_listener *)((char *)task - offsetof(struct fabric_listener, task));
    unsigned ops;

    spin_lock(&l->lock);
    ops = l->ops;
    l->ops = 0;
    l->scheduled = false;
    spin_unlock(&l->lock);
    if (ops & OP_LISTEN)
        listen_now(l);
    if (ops & OP_END)
        end_now(l);
    listener_unref(l);
}

static void request(struct fabric_listener *l, unsigned op, const struct addr *wanted)
{
    bool post;

    spin_lock(&l->lock);
    l->ops |= op;
    if (wanted)
        l->wanted = *wanted;
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
    request(l, OP_LISTEN, local);
}

/* In the caller's thread: he is not told when it is done, so it is when this returns. */
void iwarp_listener_pause(struct fabric_listener *l, bool paused)
{
    if (MUTANT(lsn_04_never_pauses))
        return;
    spin_lock(&l->lock);
    if (paused != atomic_exchange(&l->paused, paused) && l->listening)
        l->fabric->net->ops->listen_pause(&l->socket, paused);
    spin_unlock(&l->lock);
}

void iwarp_listener_close(struct fabric_listener *l)
{
    request(l, OP_END, NULL);
}

struct shard *iwarp_listener_shard(struct fabric_listener *l)
{
    return l->home->shard;
}
