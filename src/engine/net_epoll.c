/* SPDX-License-Identifier: MIT */
/*
 * Implements the poller, which finds out which of a shard's sockets are ready. Each shard has one epoll set,
 * edge-triggered. A socket is registered for input. When a send finds no room for the first time, the socket is
 * registered for output too. Most sockets always find room, and events for output would cost time. The events that
 * epoll reports are stored in the socket's flags.
 *
 * The invariant: a socket is in its poller's ready list exactly while it has something to report. So if an owner stops
 * reading early, ready() is called again without another event of epoll.
 *
 * The sleeping thread never takes events from epoll. It waits until the epoll set itself is readable (ppoll, together
 * with an eventfd), and then competes for the token. So only the owner sees an event, and a socket that the owner
 * closes cannot be in another thread's array of events.
 *
 * With at most MAX_DIRECT connections, epoll_wait costs more than a read. Then most turns read these connections
 * directly, as if they were readable. The poller calls epoll_wait only every few turns, and after the thread has slept.
 * While a consumer has the polling lease, no thread waits for the epoll set. Then these connections are removed from
 * the epoll set, because each message of a connection in the set costs some hundred nanoseconds more. They are added
 * again before the thread may sleep.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "engine/net.h"
#include "engine/net_internal.h"
#include "engine/shard.h"

enum {
    MAX_EVENTS = 64,
    NS_PER_S = 1000000000,
    MAX_DIRECT = 2,       /* maximum number of connections that are read directly */
    MAX_DIRECT_TURNS = 8, /* maximum number of turns with direct reads between two calls of epoll_wait */
    /*
     * After this many turns with direct reads under a polling lease, the connections leave the epoll set. While they
     * are not in the set, this number replaces MAX_DIRECT_TURNS.
     */
    LEASED_TURNS = 64,
    WATCH_RETRY_NS = 1000000, /* longest sleep while a direct connection may be outside of the epoll set */
};

struct poller {
    int epoll_fd;
    int wake_fd;
    TAILQ_HEAD(, net_socket) ready;
    unsigned n_ready;
    struct net_socket *direct[MAX_DIRECT]; /* connections to read directly */
    unsigned n_direct, n_connections;
    unsigned direct_turns;      /* number of turns that may still read directly before the next epoll_wait */
    unsigned leased_turns;      /* turns that have read directly under the present polling lease */
    unsigned n_reads;           /* reads that returned data or the end of the stream */
    atomic_bool some_unwatched; /* true: a direct connection may be outside of the epoll set */
    atomic_bool has_slept;      /* net_wait has been called since the last call of epoll_wait */
};

/* ---- the poller ---- */

int net_poller_create(struct net *net, struct shard *s, void **out)
{
    struct poller *p = calloc(1, sizeof *p);
    int err;

    (void)net;
    (void)s;
    if (!p)
        return ENOMEM;
    TAILQ_INIT(&p->ready);
    p->epoll_fd = descriptors_epoll();
    err = errno;
    p->wake_fd = p->epoll_fd < 0 ? -1 : descriptors_eventfd(EFD_NONBLOCK);
    if (p->wake_fd >= 0) {
        *out = p;
        return 0;
    }
    if (p->epoll_fd >= 0) {
        err = errno;
        descriptors_close(p->epoll_fd);
    }
    free(p);
    return err;
}

void net_poller_destroy(struct net *net, void *poller)
{
    struct poller *p = poller;

    (void)net;
    assert(TAILQ_EMPTY(&p->ready));
    descriptors_close(p->wake_fd);
    descriptors_close(p->epoll_fd);
    free(p);
}

/* Returns what the socket has to report: a set of enum net_ready. */
static unsigned socket_events(const struct net_socket *socket)
{
    unsigned events = socket->flags & SOCKET_WRITABLE ? NET_WRITE : 0;

    if ((socket->flags & (SOCKET_READABLE | SOCKET_READ_PAUSED | SOCKET_CONNECTING)) == SOCKET_READABLE)
        events |= NET_READ;
    return events;
}

void socket_update_list(struct net_socket *socket)
{
    bool listed = (socket->flags & SOCKET_LISTED) != 0;
    struct poller *p;

    if (!socket->shard || listed == (socket_events(socket) != 0))
        return;
    p = shard_poller(socket->shard);
    socket->flags ^= SOCKET_LISTED;
    if (listed) {
        TAILQ_REMOVE(&p->ready, socket, link);
        p->n_ready--;
    } else {
        TAILQ_INSERT_TAIL(&p->ready, socket, link);
        p->n_ready++;
    }
}

static void socket_handle_epoll_events(struct net_socket *socket, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        socket->flags |= SOCKET_READABLE;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        socket->flags |= SOCKET_ENDED | (socket->flags & SOCKET_CONNECTING ? SOCKET_CONNECT_UNCERTAIN : 0);
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR) && socket->flags & SOCKET_BLOCKED) {
        socket->flags &= ~(unsigned)SOCKET_BLOCKED;
        socket->flags |= SOCKET_WRITABLE;
    }
    socket_update_list(socket);
}

/* Stores the events of the epoll set in the sockets' flags. */
static void poller_collect(struct poller *p)
{
    struct epoll_event events[MAX_EVENTS];
    int n = epoll_wait(p->epoll_fd, events, MAX_EVENTS, 0);

    for (int i = 0; i < n; i++)
        socket_handle_epoll_events(events[i].data.ptr, events[i].events);
}

static int poller_watch_socket(const struct poller *p, struct net_socket *socket)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = socket };
    int how = socket->flags & SOCKET_WATCHED ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (!(socket->flags & SOCKET_LISTENING))
        event.events |= EPOLLRDHUP;
    if (socket->flags & SOCKET_OUTPUT_WATCHED)
        event.events |= EPOLLOUT;
    if (epoll_ctl(p->epoll_fd, how, socket->fd, &event))
        return errno;
    socket->flags |= SOCKET_WATCHED;
    return 0;
}

static void poller_unwatch_socket(const struct poller *p, struct net_socket *socket)
{
    if (socket->flags & SOCKET_WATCHED)
        (void)epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
    socket->flags &= ~(unsigned)SOCKET_WATCHED;
}

/* Adds the direct connections to the epoll set, which then reports the connections that are ready already. */
static void poller_watch_direct(struct poller *p)
{
    bool failed = false;

    p->leased_turns = 0;
    if (!atomic_load_explicit(&p->some_unwatched, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < p->n_direct; i++)
        if (!(p->direct[i]->flags & SOCKET_WATCHED) && poller_watch_socket(p, p->direct[i]))
            failed = true;
    atomic_store_explicit(&p->some_unwatched, failed, memory_order_relaxed);
}

static void poller_unwatch_direct(struct poller *p)
{
    for (unsigned i = 0; i < p->n_direct; i++)
        poller_unwatch_socket(p, p->direct[i]);
    atomic_store_explicit(&p->some_unwatched, true, memory_order_relaxed);
}

/*
 * Returns true if a turn may read the direct connections without epoll_wait. All connections of the poller must be
 * direct, and none may be connecting or waiting for room to send.
 */
static bool poller_can_read_directly(const struct poller *p)
{
    if (p->n_connections != p->n_direct)
        return false;
    for (unsigned i = 0; i < p->n_direct; i++)
        if (p->direct[i]->flags & (SOCKET_BLOCKED | SOCKET_CONNECTING))
            return false;
    return true;
}

/*
 * Calls ready(READ) of each direct connection, but not if the connection is connecting, paused or in the ready list.
 * Returns the number of calls.
 */
static unsigned poller_read_directly(struct poller *p)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_direct; i++) {
        struct net_socket *socket = p->direct[i];

        socket->flags |= SOCKET_READABLE;
        if (socket->flags & (SOCKET_LISTED | SOCKET_READ_PAUSED | SOCKET_CONNECTING))
            continue;
        n++;
        socket->ready(socket, NET_READ);
    }
    /*
     * The ready list is updated only after the calls, because ready() may have closed any of the connections. Closed
     * connections are no longer in `direct`.
     */
    for (unsigned i = 0; i < p->n_direct; i++)
        socket_update_list(p->direct[i]);
    return n;
}

/* Fills the ready list, reads the direct connections, or both. Returns how many connections were read directly. */
static unsigned poller_find_ready(struct poller *p, bool leased)
{
    bool direct = poller_can_read_directly(p), unwatched;

    if (!direct || !leased)
        poller_watch_direct(p);
    if (direct && p->direct_turns > 0 && !atomic_load_explicit(&p->has_slept, memory_order_relaxed)) {
        p->direct_turns--;
        if (leased && ++p->leased_turns == LEASED_TURNS)
            poller_unwatch_direct(p);
        return poller_read_directly(p);
    }
    atomic_store_explicit(&p->has_slept, false, memory_order_relaxed);
    unwatched = atomic_load_explicit(&p->some_unwatched, memory_order_relaxed);
    p->direct_turns = unwatched ? LEASED_TURNS : p->n_direct ? MAX_DIRECT_TURNS : 0;
    poller_collect(p);
    return unwatched ? poller_read_directly(p) : 0;
}

static void poller_report(struct poller *p, struct net_socket *socket)
{
    unsigned events = socket_events(socket);

    if (socket->flags & SOCKET_WRITABLE)
        socket->flags &= ~(unsigned)(SOCKET_WRITABLE | SOCKET_CONNECTING);
    /*
     * The socket moves to the list's end or leaves the list before ready() is called, because ready() may close the
     * socket.
     */
    TAILQ_REMOVE(&p->ready, socket, link);
    p->n_ready--;
    socket->flags &= ~(unsigned)SOCKET_LISTED;
    socket_update_list(socket);
    socket->ready(socket, events);
}

int net_poll(struct net *net, void *poller, unsigned max, bool leased, bool *more)
{
    struct poller *p = poller;
    unsigned n, served = 0, before = p->n_reads;
    unsigned direct = poller_find_ready(p, leased);

    (void)net;
    if (p->n_reads == before) /* no direct read returned data or the end of the stream */
        direct = 0;
    n = p->n_ready < max ? p->n_ready : max;
    for (; served < n && !TAILQ_EMPTY(&p->ready); served++)
        poller_report(p, TAILQ_FIRST(&p->ready));
    *more = !TAILQ_EMPTY(&p->ready);
    return (int)(direct + served);
}

void net_watch(struct net *net, void *poller)
{
    (void)net;
    poller_watch_direct(poller);
}

void net_wait(struct net *net, void *poller, uint64_t now, uint64_t deadline)
{
    struct poller *p = poller;
    struct pollfd fds[2] = { { .fd = p->epoll_fd, .events = POLLIN }, { .fd = p->wake_fd, .events = POLLIN } };
    struct timespec timeout;
    eventfd_t count;
    uint64_t ns;

    (void)net;
    if (atomic_load_explicit(&p->some_unwatched, memory_order_relaxed) && deadline > now + WATCH_RETRY_NS)
        deadline = now + WATCH_RETRY_NS;
    ns = deadline > now ? deadline - now : 0;
    timeout = (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
    atomic_store_explicit(&p->has_slept, true, memory_order_relaxed);
    if (ppoll(fds, 2, deadline == UINT64_MAX ? NULL : &timeout, NULL) > 0 && fds[1].revents)
        (void)eventfd_read(p->wake_fd, &count);
}

void net_wake(struct net *net, void *poller)
{
    struct poller *p = poller;

    (void)net;
    (void)eventfd_write(p->wake_fd, 1);
}

/* ---- the sockets of a poller ---- */

static void poller_add_connection(struct poller *p, struct net_socket *socket)
{
    p->n_connections++;
    p->leased_turns = 0;
    if (p->n_direct < MAX_DIRECT)
        p->direct[p->n_direct++] = socket;
}

static void poller_remove_connection(struct poller *p, const struct net_socket *socket)
{
    p->n_connections--;
    for (unsigned i = 0; i < p->n_direct; i++)
        if (p->direct[i] == socket)
            p->direct[i--] = p->direct[--p->n_direct];
}

int socket_attach(struct net_socket *socket, struct shard *s)
{
    struct poller *p = shard_poller(s);
    int err;

    assert(shard_is_owner(s));
    if (socket->flags & SOCKET_BLOCKED)
        socket->flags |= SOCKET_OUTPUT_WATCHED;
    err = poller_watch_socket(p, socket);
    if (err)
        return err;
    socket->shard = s;
    if (!(socket->flags & SOCKET_LISTENING))
        poller_add_connection(p, socket);
    return 0;
}

void socket_detach(struct net_socket *socket)
{
    struct poller *p = shard_poller(socket->shard);

    assert(shard_is_owner(socket->shard));
    poller_unwatch_socket(p, socket);
    /* The next shard's epoll set reports again whether the socket is ready. */
    socket->flags &= ~(unsigned)(SOCKET_READABLE | SOCKET_ENDED);
    if (socket->flags & SOCKET_WRITABLE)
        socket->flags = (socket->flags & ~(unsigned)SOCKET_WRITABLE) | SOCKET_BLOCKED;
    socket_update_list(socket);
    socket->shard = NULL;
    if (!(socket->flags & SOCKET_LISTENING))
        poller_remove_connection(p, socket);
}

void socket_wait_for_room(struct net_socket *socket)
{
    socket->flags |= SOCKET_BLOCKED;
    if (!socket->shard || socket->flags & SOCKET_OUTPUT_WATCHED)
        return; /* socket_attach will register a detached socket; a socket with the flag is registered already */
    socket->flags |= SOCKET_OUTPUT_WATCHED;
    /*
     * After a change of the registration, epoll also reports room that already exists. The change cannot fail, because
     * it needs no memory. A socket that is not in the epoll set is added by the next turn, because a turn adds all
     * direct connections while one of them is blocked.
     */
    if (socket->flags & SOCKET_WATCHED)
        (void)poller_watch_socket(shard_poller(socket->shard), socket);
}

void socket_count_read(struct net_socket *socket)
{
    if (socket->shard)
        ((struct poller *)shard_poller(socket->shard))->n_reads++;
}
