/* SPDX-License-Identifier: MIT */
/*
 * Implements listening sockets: accepts peers, pauses listening, and resets the peers that wait. Several threads may
 * pause, resume or reset a listener at the same time. The invariant: when all these calls have returned, the socket
 * listens exactly if `paused` was false in the last call of net_listen_pause.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "engine/net.h"
#include "engine/net_internal.h"

enum {
    MAX_BACKLOG = 65535, /* the kernel reduces the backlog to somaxconn */
    POLL_CHUNK = 256,
};

int net_listen(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket)
{
    int fd, err = reservation_socket(at, &fd);

    if (err)
        return err;
    socket_reset_on_close(fd, true); /* accepted sockets inherit this option */
    if (listen(fd, MAX_BACKLOG)) {
        err = errno;
        descriptors_close(fd);
        return err;
    }
    socket_set_up(socket, net, fd, SOCKET_LISTENING);
    socket_set_reservation(socket, at);
    err = socket_attach(socket, s);
    if (err)
        socket_close(socket, false);
    return err;
}

/*
 * Ends listening, which resets queued peers and refuses new peers. While the socket does not listen, SO_REUSEADDR is
 * off, so that no foreign socket can bind the address. While the socket listens, SO_REUSEADDR is on, because accepted
 * sockets inherit this option and need it.
 */
static void listener_stop(int fd)
{
    int reuse = 0;

    (void)shutdown(fd, SHUT_RD);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
}

static int listener_resume(int fd)
{
    int reuse = 1;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) || listen(fd, MAX_BACKLOG))
        return errno;
    return 0;
}

/*
 * Makes the socket listen or stop listening, according to `paused`. The shard's owner and a consumer's thread may run
 * this function at the same time. After its change, each thread reads `paused` again, and repeats the change if the
 * value is different. So the last change uses the final value.
 */
static int listener_apply_pause(struct net_socket *listener)
{
    int err = 0;
    bool paused;

    do {
        paused = atomic_load(&listener->paused);
        if (paused)
            listener_stop(listener->fd);
        else
            err = listener_resume(listener->fd);
    } while (atomic_load(&listener->paused) != paused);
    return paused ? 0 : err;
}

int net_listen_pause(struct net_socket *socket, bool paused)
{
    atomic_store(&socket->paused, paused);
    return listener_apply_pause(socket);
}

/*
 * Returns true if a peer waits to be accepted. Also returns true for a paused listener, because poll reports a
 * hang-up.
 */
static bool listener_has_waiting(const struct net_socket *listener)
{
    struct pollfd waiting = { .fd = listener->fd, .events = POLLIN };

    return poll(&waiting, 1, 0) != 0;
}

/* Stops the calls of the listener's ready() until epoll reports a new event. Called if no peer waits. */
static void listener_clear_readable(struct net_socket *listener)
{
    listener->flags &= ~(unsigned)SOCKET_READABLE;
    socket_update_list(listener);
}

void net_reset_accept_queue(struct net_socket *listener)
{
    if (!atomic_load(&listener->paused)) {
        listener_stop(listener->fd);
        (void)listener_apply_pause(listener);
    }
    listener_clear_readable(listener);
}

/*
 * Handles a failed accept, and returns the errno that net_accept must return. If descriptors or memory ran out, checks
 * whether a peer waits: accept also returns these errors if no peer waits.
 */
static int listener_handle_accept_error(struct net_socket *listener, int err)
{
    bool no_descriptor = err == EMFILE || err == ENFILE;

    if (no_descriptor || err == ENOBUFS || err == ENOMEM) {
        if (!listener_has_waiting(listener) || atomic_load(&listener->paused))
            err = EAGAIN;
        else if (no_descriptor)
            return err;
        else
            net_reset_accept_queue(listener);
    } else if (err != EAGAIN && err != EINVAL) {
        return err; /* only one connection failed; others may wait, so the listener stays readable */
    }
    listener_clear_readable(listener);
    return err == EINVAL ? EAGAIN : err;
}

int net_accept(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd, err;

    if (!(listener->flags & SOCKET_READABLE))
        return EAGAIN;
    fd = descriptors_accept(listener->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK);
    if (fd < 0)
        return listener_handle_accept_error(listener, errno);
    /*
     * If no other peer waits, ready() need not be called before a new event. Without this check, the next ready() would
     * find no peer, and its accept would take ten times as long as the check.
     */
    if (!listener_has_waiting(listener))
        listener_clear_readable(listener);
    (void)addr_from(peer, &from, len);
    *local = *reservation_address(listener->reservation);
    socket_set_up(socket, listener->net, fd, 0);
    socket_set_reservation(socket, listener->reservation);
    err = socket_attach(socket, listener->shard);
    if (err)
        socket_close(socket, true);
    return err;
}

/*
 * Counts the descriptor numbers in this range that are not open. poll reports them as POLLNVAL, and needs neither /proc
 * nor a descriptor.
 */
static unsigned net_count_free_in_chunk(int first, unsigned count)
{
    struct pollfd fds[POLL_CHUNK];
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++)
        fds[i] = (struct pollfd){ .fd = first + (int)i };
    if (poll(fds, count, 0) < 0)
        return 0;
    for (unsigned i = 0; i < count; i++)
        n += (fds[i].revents & POLLNVAL) != 0;
    return n;
}

unsigned net_count_free_sockets(struct net *net, unsigned max)
{
    struct rlimit limit;
    unsigned found = 0, count;

    (void)net;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return max;
    for (rlim_t fd = 0; fd < limit.rlim_cur && fd < INT_MAX && found < max; fd += count) {
        count = limit.rlim_cur - fd < POLL_CHUNK ? (unsigned)(limit.rlim_cur - fd) : POLL_CHUNK;
        found += net_count_free_in_chunk((int)fd, count);
    }
    return found < max ? found : max;
}
