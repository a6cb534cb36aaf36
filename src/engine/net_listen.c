/* SPDX-License-Identifier: MIT */
/* Abstract: the kernel's listening sockets: accepting, pausing, and refusing all who wait. */
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
#include "base/mutant.h"
#include "engine/net.h"
#include "engine/net_internal.h"

enum {
    BACKLOG = 65535, /* the system cuts it down to what it allows */
    POLL_CHUNK = 256,
};

int net_listen(struct net *net, struct shard *s, struct net_reservation *at, struct net_socket *socket)
{
    int fd, err = reservation_socket(at, &fd);

    if (err)
        return err;
    socket_reset_on_close(fd, !MUTANT(qpr_20_death_as_notice)); /* what it accepts inherits it */
    if (listen(fd, BACKLOG)) {
        err = errno;
        descriptors_close(fd);
        return err;
    }
    socket_set_up(socket, net, fd, LISTENING);
    socket_set_reservation(socket, at);
    err = socket_attach(socket, s);
    if (err)
        socket_close(socket, false);
    return err;
}

/*
 * Out of the listening state: what is queued is reset, what comes is refused. Between the two SO_REUSEADDR is off,
 * which keeps foreign sockets off the address; it is on while listening, as accepted sockets inherit it and need it.
 */
static void stop_listening(int fd)
{
    int reuse = 0;

    (void)shutdown(fd, SHUT_RD);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
}

static int resume_listening(int fd)
{
    int reuse = 1;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) || listen(fd, BACKLOG))
        return errno;
    return 0;
}

/*
 * Makes the socket what the listener was told last. The owner, who refuses peers, and a consumer, who pauses, may be in
 * here at once: each looks again at what it was told after it has acted, so the last to act has acted on the last word.
 */
static int follow_pause(struct net_socket *listener)
{
    int err = 0;
    bool paused;

    do {
        paused = atomic_load(&listener->paused);
        if (paused)
            stop_listening(listener->fd);
        else
            err = resume_listening(listener->fd);
    } while (atomic_load(&listener->paused) != paused);
    return paused ? 0 : err;
}

int net_listen_pause(struct net_socket *socket, bool paused)
{
    if (MUTANT(lsn_04_goes_on))
        return 0;
    atomic_store(&socket->paused, paused);
    return follow_pause(socket);
}

/* A paused one counts, too, as hung up. */
static bool somebody_waits(const struct net_socket *listener)
{
    struct pollfd waiting = { .fd = listener->fd, .events = POLLIN };

    return poll(&waiting, 1, 0) != 0;
}

static void nobody_waits(struct net_socket *listener)
{
    listener->flags &= ~(unsigned)READABLE;
    socket_update_list(listener);
}

void net_reset_accept_queue(struct net_socket *listener)
{
    if (!atomic_load(&listener->paused) && !MUTANT(lsn_08_left_waiting)) {
        stop_listening(listener->fd);
        (void)follow_pause(listener);
    }
    nobody_waits(listener);
}

/* accept fails for lack of descriptors or memory even if no peer waits. */
static int accept_error(struct net_socket *listener, int err)
{
    bool no_descriptor = err == EMFILE || err == ENFILE;

    if (no_descriptor || err == ENOBUFS || err == ENOMEM) {
        if (!somebody_waits(listener) || atomic_load(&listener->paused))
            err = EAGAIN;
        else if (no_descriptor)
            return err;
        else
            net_reset_accept_queue(listener);
    } else if (err != EAGAIN && err != EINVAL) {
        return err; /* that one connection's trouble; others may wait */
    }
    nobody_waits(listener);
    return err == EINVAL ? EAGAIN : err;
}

int net_accept(struct net_socket *listener, struct net_socket *socket, struct addr *local, struct addr *peer)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd, err;

    if (!(listener->flags & READABLE))
        return EAGAIN;
    fd = descriptors_accept(listener->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK);
    if (fd < 0)
        return accept_error(listener, errno);
    /* An accept in vain makes a socket, and drops it: ten times the cost of asking. Who comes now is an event. */
    if (!somebody_waits(listener))
        nobody_waits(listener);
    (void)addr_from(peer, &from, len);
    *local = *reservation_address(listener->reservation);
    socket_set_up(socket, listener->net, fd, 0);
    if (!MUTANT(lsn_07_listener_alone))
        socket_set_reservation(socket, listener->reservation);
    err = socket_attach(socket, listener->shard);
    if (err)
        socket_close(socket, true);
    return err;
}

/* poll reports the numbers that are no open descriptor, and needs neither /proc nor a descriptor. */
static unsigned free_in_chunk(int first, unsigned count)
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

unsigned net_count_free_sockets(struct net *net, unsigned most)
{
    struct rlimit limit;
    unsigned found = 0, count;

    (void)net;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return most;
    for (rlim_t fd = 0; fd < limit.rlim_cur && fd < INT_MAX && found < most; fd += count) {
        count = limit.rlim_cur - fd < POLL_CHUNK ? (unsigned)(limit.rlim_cur - fd) : POLL_CHUNK;
        found += free_in_chunk((int)fd, count);
    }
    return found < most ? found : most;
}
