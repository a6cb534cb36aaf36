/* SPDX-License-Identifier: MIT */
/* The simulated sockets of engine/net.h: see sim_net.h. */
#include "sim/sim_net.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/shard.h"
#include "sim/sim.h"
#include "sim/sim_net_internal.h"

enum { PORT_FIRST = 49152, MAX_READY = 512 };

static LIST_HEAD(, net_reservation) reservations = LIST_HEAD_INITIALIZER(reservations);
static void (*on_interrupt)(const void *memory);
static unsigned rounds, turns;
static void (*in_order)(void);

/* ---- pollers ---- */

static int poller_create(struct net *net, struct shard *s, void **poller)
{
    (void)net;
    (void)s;
    *poller = malloc(1); /* only its address is used */
    return *poller ? 0 : ENOMEM;
}

static void poller_destroy(struct net *net, void *poller)
{
    (void)net;
    free(poller);
}

static unsigned reportable(const struct net_socket *s)
{
    unsigned events = s->flags & WRITABLE ? NET_WRITE : 0;

    if ((s->flags & (READABLE | HELD | CONNECTING | PAUSED)) == READABLE)
        events |= NET_READ;
    return events;
}

static bool is_ready(const struct endpoint *e, const void *poller)
{
    return e->socket && e->socket->shard && shard_poller(e->socket->shard) == poller && reportable(e->socket);
}

bool sim_net_is_ready(void *poller)
{
    const struct endpoint *e;

    TAILQ_FOREACH (e, wire_all(), link)
        if (is_ready(e, poller))
            return true;
    return false;
}

void sim_net_in_order(void (*reported)(void))
{
    in_order = reported;
}

static struct endpoint *pick_first(const void *poller, unsigned round)
{
    struct endpoint *first = NULL, *e;

    TAILQ_FOREACH (e, wire_all(), link) {
        if (!is_ready(e, poller))
            continue;
        if (!e->turn)
            e->turn = ++turns;
        if (e->round != round && (!first || e->turn < first->turn))
            first = e;
    }
    return first;
}

/* Returns an endpoint that was not reported in this round. */
static struct endpoint *pick_ready(const void *poller, unsigned round)
{
    struct endpoint *ready[MAX_READY], *e;
    unsigned count = 0;

    TAILQ_FOREACH (e, wire_all(), link)
        if (e->round != round && count < MAX_READY && is_ready(e, poller))
            ready[count++] = e;
    return count ? ready[sim_below(count)] : NULL;
}

static void report(struct endpoint *e)
{
    struct net_socket *s = e->socket;
    unsigned events = reportable(s);

    if (s->flags & WRITABLE)
        s->flags &= ~(unsigned)(WRITABLE | CONNECTING);
    s->ready(s, events);
}

static int net_poll(struct net *net, void *poller, unsigned max, bool leased, bool *more)
{
    unsigned round = ++rounds;
    struct endpoint *e;
    int served = 0;

    (void)net, (void)leased;
    sim_net_advance();
    while ((unsigned)served < max && (e = in_order ? pick_first(poller, round) : pick_ready(poller, round))) {
        e->round = round;
        e->turn = 0;
        report(e);
        if (in_order)
            in_order();
        served++;
    }
    if (in_order)
        (void)pick_first(poller, round); /* those that are ready now precede later ones */
    *more = sim_net_is_ready(poller);
    return served;
}

/* Sockets are always watched here. */
static void net_watch(struct net *net, void *poller)
{
    (void)net, (void)poller;
}

static void net_wait(struct net *net, void *poller, uint64_t now, uint64_t deadline)
{
    (void)net, (void)poller, (void)now, (void)deadline;
    sim_fail("somebody sleeps in a simulation");
}

static void net_wake(struct net *net, void *poller)
{
    (void)net, (void)poller;
}

void sim_net_on_interrupt(void (*hook)(const void *memory))
{
    on_interrupt = hook;
}

static struct endpoint *enter(struct net_socket *socket)
{
    sim_check(socket->backend, "a socket is used that is not open");
    sim_check(!socket->shard || shard_is_owner(socket->shard), "a socket is used without its shard");
    return socket->backend;
}

/* Called where another thread of the consumer could call. That call may end this connection, but not free it. */
static void interrupted(const struct iovec *iov, int iovcnt)
{
    if (on_interrupt)
        on_interrupt(iovcnt ? iov[sim_below((uint64_t)iovcnt)].iov_base : NULL);
}

/* ---- reservations ---- */

static const struct net_reservation *holder(const struct addr *local)
{
    const struct net_reservation *r;

    LIST_FOREACH (r, &reservations, link)
        if (addr_equal(&r->local, local))
            return r;
    return NULL;
}

static bool is_connected(const struct addr *local, const struct addr *remote)
{
    const struct endpoint *e;

    TAILQ_FOREACH (e, wire_all(), link)
        if (e->socket && !(e->socket->flags & LISTENING) && addr_equal(&e->local, local) &&
            addr_equal(&e->remote, remote))
            return true;
    return false;
}

static int reserve_port(struct addr *local)
{
    unsigned start = (unsigned)sim_below(sim_scenario.ports);

    for (unsigned i = 0; i < sim_scenario.ports; i++) {
        addr_set_port(local, (uint16_t)(PORT_FIRST + (start + i) % sim_scenario.ports));
        if (!holder(local))
            return 0;
    }
    addr_set_port(local, 0);
    return ENOSPC;
}

static int reserve(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                   struct net_reservation **out)
{
    struct net_reservation *r;
    int err = net_shortage();

    (void)net;
    if (err)
        return err;
    if (addr_is_any(local) || !net_is_host(local))
        return EADDRNOTAVAIL;
    if (addr_port(local) && holder(local))
        return use == NET_USE_CONNECT && peer && is_connected(local, peer) ? EEXIST : EADDRINUSE;
    if (!addr_port(local) && (err = reserve_port(local)))
        return err;
    r = calloc(1, sizeof *r);
    sim_check(r, "no memory");
    r->local = *local;
    r->use = use;
    r->refs = 1;
    LIST_INSERT_HEAD(&reservations, r, link);
    *out = r;
    return 0;
}

static void reservation_ref(struct net_reservation *r)
{
    r->refs++;
}

static void reservation_unref(struct net_reservation *r)
{
    sim_check(r->refs > 0, "a reservation has been let go of too often");
    if (--r->refs)
        return;
    LIST_REMOVE(r, link);
    free(r);
}

/* ---- opening ---- */

static void set_up(struct net_socket *socket, struct net *net, struct shard *s, struct endpoint *e,
                   struct net_reservation *r, unsigned flags)
{
    sim_check(socket->ready, "a socket without ready()");
    sim_check(shard_is_owner(s), "a socket is opened without its shard");
    socket->net = net;
    socket->shard = s;
    socket->reservation = r;
    socket->backend = e;
    socket->fd = (int)e->id;
    socket->error = 0;
    socket->flags = flags;
    e->socket = socket;
    r->refs++;
}

static int net_connect(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                       const struct iovec *first, size_t *sent, struct net_socket *socket)
{
    struct addr silent = sim_net_nobody(0), unrouted = sim_net_nobody(2);
    bool tell_later = sim_chance(500);
    struct endpoint *e;
    int err = net_shortage();

    (void)first;
    *sent = 0; /* a connect never completes at once */
    if (err)
        return err;
    if (addr_equal(&from->local, peer))
        return ECONNREFUSED;
    if (is_connected(&from->local, peer))
        return EADDRNOTAVAIL;
    if (addr_same_host(peer, &unrouted) && !tell_later)
        return ENETUNREACH;
    e = wire_endpoint(&from->local, peer);
    set_up(socket, net, s, e, from, CONNECTING | BLOCKED);
    sim_trace("net: #%u connects", e->id);
    if (addr_same_host(peer, &unrouted))
        wire_connect_fails(e, ENETUNREACH, SIM_MS);
    else if (!net_is_host(peer) && !addr_same_host(peer, &silent))
        wire_connect_fails(e, EHOSTUNREACH, 3 * SIM_SECOND);
    else if (!addr_same_host(peer, &silent))
        wire_connect(e);
    return 0;
}

static int connect_result(struct net_socket *socket)
{
    const struct endpoint *e = enter(socket);

    if (socket->error)
        return socket->error;
    return e->connected || e->dead ? 0 : EINPROGRESS;
}

static int net_listen(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket)
{
    int err = net_shortage();

    if (err)
        return err;
    set_up(socket, net, s, wire_endpoint(&at->local, NULL), at, LISTENING);
    return 0;
}

struct endpoint *net_listener_at(const struct addr *a)
{
    struct endpoint *e;

    TAILQ_FOREACH (e, wire_all(), link)
        if (e->socket && (e->socket->flags & (LISTENING | PAUSED)) == LISTENING && addr_equal(&e->local, a))
            return e;
    return NULL;
}

static void reset_accept_queue(struct endpoint *listener)
{
    struct endpoint *e;

    while ((e = TAILQ_FIRST(&listener->queue))) {
        TAILQ_REMOVE(&listener->queue, e, queue_link);
        e->queued = false;
        e->closed = true;
        wire_reset(e);
    }
}

static int listen_pause(struct net_socket *socket, bool paused)
{
    struct endpoint *e = socket->backend;

    sim_check(e, "a listener is paused that is not open"); /* called by any thread */
    if (paused)
        reset_accept_queue(e);
    socket->flags = paused ? socket->flags | PAUSED : socket->flags & ~(unsigned)PAUSED;
    return 0;
}

static void net_reset_accept_queue(struct net_socket *listener)
{
    reset_accept_queue(enter(listener));
    listener->flags &= ~(unsigned)READABLE;
}

static unsigned net_count_free_sockets(struct net *net, unsigned most)
{
    (void)net;
    return sim_scenario.shortage ? (unsigned)sim_below(8) : most;
}

static int net_accept(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer)
{
    struct endpoint *l = enter(listener), *e = TAILQ_FIRST(&l->queue);
    int err = e ? net_shortage() : EAGAIN;

    if (err == EMFILE || err == ENFILE)
        return err;
    if (err) {
        net_reset_accept_queue(listener);
        return err;
    }
    TAILQ_REMOVE(&l->queue, e, queue_link);
    e->queued = false;
    set_up(socket, listener->net, listener->shard, e, listener->reservation, 0);
    *local = e->local;
    *peer = e->remote;
    wire_update(e);
    return 0;
}

/* ---- moving bytes ---- */

static size_t gather(const struct iovec *iov, int iovcnt, uint8_t *out, size_t max)
{
    size_t n = 0;

    for (int i = 0; i < iovcnt && n < max; i++) {
        size_t piece = iov[i].iov_len < max - n ? iov[i].iov_len : max - n;

        if (piece)
            memcpy(out + n, iov[i].iov_base, piece);
        n += piece;
    }
    return n;
}

static size_t total(const struct iovec *iov, int iovcnt)
{
    size_t sum = 0;

    for (int i = 0; i < iovcnt; i++)
        sum += iov[i].iov_len;
    return sum;
}

static ssize_t net_send(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    struct endpoint *e = enter(socket);
    size_t all = total(iov, iovcnt), n = all, room;
    uint8_t *bytes;

    interrupted(iov, iovcnt);
    if (e->connected && !e->dead)
        wire_faults(e);
    if (e->dead || e->fin_sent)
        return e->error ? -ECONNRESET : -EPIPE;
    room = e->connected ? wire_window(e) : 0;
    if (n > room)
        n = room;
    if (n > 1 && sim_chance(sim_scenario.split))
        n = 1 + sim_below(n);
    if (n < all) {
        socket->flags |= BLOCKED;
        wire_room(e, 1 + sim_below(SIM_MS));
    }
    if (n == 0 && all)
        return -EAGAIN;
    bytes = malloc(n + 1);
    sim_check(bytes, "no memory");
    (void)gather(iov, iovcnt, bytes, n);
    wire_data(e, bytes, n);
    free(bytes);
    return (ssize_t)n;
}

static size_t scatter(struct endpoint *e, const struct iovec *iov, int iovcnt, size_t max)
{
    size_t n = 0;

    for (int i = 0; i < iovcnt && n < max; i++) {
        size_t piece = iov[i].iov_len < max - n ? iov[i].iov_len : max - n;

        if (piece)
            memcpy(iov[i].iov_base, e->in + n, piece);
        n += piece;
    }
    e->in_len -= n;
    memmove(e->in, e->in + n, e->in_len);
    return n;
}

static ssize_t recv_nothing(struct net_socket *socket, struct endpoint *e)
{
    int err = e->error;

    socket->flags &= ~(unsigned)READABLE;
    if (!err)
        return e->fin_here || e->dead ? 0 : -EAGAIN;
    e->error = 0;
    e->fin_here = true;
    return -err;
}

static ssize_t net_recv(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    struct endpoint *e = enter(socket);
    size_t wanted = total(iov, iovcnt), n;

    interrupted(iov, iovcnt);
    if (!e->in_len)
        return recv_nothing(socket, e);
    n = wanted < e->in_len ? wanted : e->in_len;
    if (n > 1 && sim_chance(sim_scenario.split))
        n = 1 + sim_below(n);
    n = scatter(e, iov, iovcnt, n);
    if (n < wanted && !e->in_len && !e->error && !e->fin_here)
        socket->flags &= ~(unsigned)READABLE;
    if (e->peer && !e->cut)
        wire_room(e->peer, 1 + sim_below(sim_scenario.delay));
    return (ssize_t)n;
}

static void set_readable(struct net_socket *socket)
{
    (void)enter(socket);
    socket->flags |= READABLE;
    shard_set_sockets_ready(socket->shard);
}

static void pause_read(struct net_socket *socket, bool on)
{
    (void)enter(socket);
    socket->flags = on ? socket->flags | HELD : socket->flags & ~(unsigned)HELD;
    if (reportable(socket))
        shard_set_sockets_ready(socket->shard);
}

static size_t max_segment(struct net_socket *socket)
{
    return ((struct endpoint *)enter(socket))->mss;
}

static size_t unsent(struct net_socket *socket)
{
    const struct endpoint *e = enter(socket);

    return e->peer ? e->peer->under_way : 0;
}

/* sim_wire.c reports vanished peers after a random time, which no setting changes. */
static void set_liveness(struct net_socket *socket, const struct net_liveness *l)
{
    (void)enter(socket);
    (void)l;
}

static int get_error(struct net_socket *socket)
{
    struct endpoint *e = enter(socket);
    int error = e->error;

    e->error = 0;
    return error;
}

static void shut_write(struct net_socket *socket)
{
    struct endpoint *e = enter(socket);

    interrupted(NULL, 0);
    if (!e->fin_sent && e->connected && !e->dead)
        wire_fin(e);
}

/* ---- moving and closing ---- */

static void detach(struct net_socket *socket)
{
    (void)enter(socket);
    socket->shard = NULL;
}

static int attach(struct net_socket *socket, struct shard *s)
{
    struct endpoint *e = enter(socket);

    sim_check(!socket->shard && shard_is_owner(s), "a socket is attached that is attached, or without its shard");
    socket->shard = s;
    wire_update(e);
    return 0;
}

/* As in Linux, closing a socket with unread data sends a reset. */
static void net_close(struct net_socket *socket, bool reset)
{
    struct endpoint *e = enter(socket);
    struct net_reservation *r = socket->reservation;

    sim_trace("net: #%u closed%s", e->id, reset ? ", by a reset" : "");
    reset_accept_queue(e);
    e->closed = true;
    e->socket = NULL;
    socket->shard = NULL;
    socket->backend = NULL;
    socket->reservation = NULL;
    if (e->connected && !e->dead) {
        if (reset || e->in_len)
            wire_reset(e);
        else if (!e->fin_sent)
            wire_fin(e);
    }
    reservation_unref(r);
}

struct net *sim_net(void)
{
    static const struct net_ops ops = {
        .poller_create = poller_create,
        .poller_destroy = poller_destroy,
        .poll = net_poll,
        .watch = net_watch,
        .wait = net_wait,
        .wake = net_wake,
        .reserve = reserve,
        .reservation_ref = reservation_ref,
        .reservation_unref = reservation_unref,
        .connect = net_connect,
        .connect_result = connect_result,
        .listen = net_listen,
        .listen_pause = listen_pause,
        .accept = net_accept,
        .reset_accept_queue = net_reset_accept_queue,
        .count_free_sockets = net_count_free_sockets,
        .send = net_send,
        .recv = net_recv,
        .set_readable = set_readable,
        .pause_read = pause_read,
        .max_segment = max_segment,
        .set_liveness = set_liveness,
        .unacked_bytes = unsent,
        .get_error = get_error,
        .shut_write = shut_write,
        .detach = detach,
        .attach = attach,
        .close = net_close,
    };
    static struct net net = { .ops = &ops };

    return &net;
}

void sim_net_end(void)
{
    const struct endpoint *e;

    TAILQ_FOREACH (e, wire_all(), link)
        sim_check(!e->socket, "the socket #%u is left open", e->id);
    sim_check(LIST_EMPTY(&reservations), "a local address is left reserved");
    wire_end();
}
