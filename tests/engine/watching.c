/* SPDX-License-Identifier: MIT */
/*
 * A socket leaves the epoll set while a consumer polls, and is in it whenever the thread may sleep: input, output and
 * the end are reported in both states, and in every change between them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/support.h"

enum { POLLS = 200, CHUNK = 65536 };

static const struct net_ops *ops;
static struct net *net;
static struct shard *shard;

/* Replaces the system call, to simulate a full epoll set: the machine's limit is shared with all processes. */
static _Atomic bool full;

int epoll_ctl(int set, int how, int fd, struct epoll_event *event)
{
    if (how == EPOLL_CTL_ADD && full) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, set, how, fd, event);
}

/* ---- both ends ---- */

struct end {
    struct net_socket socket;
    struct net_reservation *from;
    struct addr peer;
    _Atomic size_t received, sent;
    _Atomic bool ended, has_room;
    bool connected;
    bool floods;                /* sends while there is room */
    struct end *other, *victim; /* closes at the next input */
};

static void flood(struct end *e)
{
    static char bytes[CHUNK];
    struct iovec iov = { bytes, sizeof bytes };
    ssize_t n;

    while ((n = ops->send(&e->socket, &iov, 1)) > 0)
        e->sent += (size_t)n;
    CHECK(n == -EAGAIN);
}

static void ready(struct net_socket *socket, unsigned events)
{
    struct end *e = (struct end *)socket;
    char bytes[64];
    struct iovec iov = { bytes, sizeof bytes };
    ssize_t n;

    if (events & NET_WRITE) {
        e->has_room = true;
        if (e->floods)
            flood(e);
    }
    if (!(events & NET_READ))
        return;
    n = ops->recv(socket, &iov, 1);
    if (n > 0)
        e->received += (size_t)n;
    if (n > 0 && e->victim) {
        ops->close(&e->victim->socket, false);
        memset(e->victim, 0xff, sizeof *e->victim); /* as the owner may free it */
        e->victim = NULL;
    }
    if (n == 0) {
        e->ended = true;
        ops->pause_read(socket, true);
    }
}

static void connect_on(void *arg)
{
    struct end *e = arg;
    struct iovec nothing = { NULL, 0 };
    size_t sent;

    e->socket.ready = ready;
    CHECK(ops->connect(net, shard, e->from, &e->peer, &nothing, &sent, &e->socket) == 0);
    ops->reservation_unref(e->from);
}

static void close_on(void *arg)
{
    ops->close(&((struct end *)arg)->socket, false);
}

static void aim_on(void *arg)
{
    struct end *e = arg;

    e->victim = e->other;
}

static void flood_on(void *arg)
{
    struct end *e = arg;

    e->floods = true;
    flood(e);
}

/* Runs with the shard's token, because only the owner may access the socket. */
static void read_connect_result(void *arg)
{
    struct end *e = arg;

    e->connected = ops->connect_result(&e->socket) == 0;
}

static bool is_connected(void *arg)
{
    support_on(shard, read_connect_result, arg);
    return ((struct end *)arg)->connected;
}

/* Returns the peer's descriptor. */
static int open_end(struct end *e)
{
    struct addr local = support_addr("127.0.0.1", 0), at = support_addr("127.0.0.1", 0);
    socklen_t len = sizeof at;
    int fd, listener = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(listener >= 0 && bind(listener, &at.sa, addr_len(&at)) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, &at.sa, &len) == 0);
    memset(e, 0, sizeof *e);
    e->peer = at;
    CHECK(ops->reserve(net, &local, &at, NET_USE_CONNECT, &e->from) == 0);
    support_on(shard, connect_on, e);
    support_until(is_connected, e);
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    close(listener);
    return fd;
}

/* ---- the kernel's state ---- */

static bool names(const char *path, int fd)
{
    FILE *f = fopen(path, "r");
    char line[256];
    int target;
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "tfd: %d", &target) == 1 && target == fd;
    if (f)
        fclose(f);
    return found;
}

/* Does an epoll set of this process have the socket? */
static bool is_watched(void *arg)
{
    int fd = ((struct end *)arg)->socket.fd;
    DIR *dir = opendir("/proc/self/fdinfo");
    char path[300];
    bool found = false;

    CHECK(dir);
    for (struct dirent *d = readdir(dir); d && !found; d = readdir(dir)) {
        snprintf(path, sizeof path, "/proc/self/fdinfo/%s", d->d_name);
        found = names(path, fd);
    }
    closedir(dir);
    return found;
}

/* A lease can expire if the machine is busy; then it begins again. */
static void poll_until_unwatched(struct end *e)
{
    do {
        for (int k = 0; k < POLLS; k++)
            shard_poll(shard);
    } while (is_watched(e));
}

static bool has_received(void *arg)
{
    struct end *e = arg;

    return e->received == e->sent;
}

/* Here `sent` is what the peer has sent. */
static void peer_sends(struct end *e, int peer)
{
    CHECK(write(peer, "x", 1) == 1);
    e->sent++;
}

static void poll_until_received(struct end *e)
{
    while (!has_received(e))
        shard_poll(shard);
}

/* ---- tests ---- */

static void test_input(void)
{
    struct end e;
    int peer = open_end(&e);

    CHECK(is_watched(&e));
    poll_until_unwatched(&e);
    peer_sends(&e, peer);
    poll_until_received(&e); /* by polls only, or by the thread after a lease that expired */
    poll_until_unwatched(&e);
    shard_watch(shard);
    support_until(is_watched, &e);
    peer_sends(&e, peer);
    support_until(has_received, &e); /* by the thread, after arming */
    poll_until_unwatched(&e);
    peer_sends(&e, peer);
    support_until(has_received, &e); /* by the thread, after the lease has expired */
    support_until(is_watched, &e);
    poll_until_unwatched(&e);
    support_on(shard, close_on, &e);
    close(peer);
}

static bool has_ended(void *arg)
{
    return ((struct end *)arg)->ended;
}

static void test_end(void)
{
    struct end e;
    int peer = open_end(&e);

    poll_until_unwatched(&e);
    peer_sends(&e, peer);
    close(peer);
    support_until(has_ended, &e);
    CHECK(has_received(&e));
    support_on(shard, close_on, &e);
}

struct draining {
    struct end *end;
    int peer;
};

static bool finds_room(void *arg)
{
    static char bytes[CHUNK];
    struct draining *d = arg;

    while (recv(d->peer, bytes, sizeof bytes, MSG_DONTWAIT) > 0 && !d->end->has_room)
        ;
    return d->end->has_room;
}

/* Output that finds no room while the socket is not in the epoll set. */
static void test_room(void)
{
    struct end e;
    struct draining draining = { &e, open_end(&e) };

    poll_until_unwatched(&e);
    support_on(shard, flood_on, &e);
    e.has_room = false;
    support_until(finds_room, &draining); /* the thread reports epoll's event, and the socket sends more */
    support_on(shard, close_on, &e);
    close(draining.peer);
}

/* A second connection, and a third, after which connections are not read directly. */
static void test_more(void)
{
    struct end e[3];
    int peer[3];

    for (int i = 0; i < 2; i++)
        peer[i] = open_end(&e[i]);
    for (int i = 0; i < 2; i++)
        poll_until_unwatched(&e[i]);
    peer[2] = open_end(&e[2]);
    while (!(is_watched(&e[0]) && is_watched(&e[1])))
        shard_poll(shard);
    for (int i = 0; i < 3; i++) {
        CHECK(is_watched(&e[i]));
        peer_sends(&e[i], peer[i]);
        poll_until_received(&e[i]);
    }
    for (int i = 0; i < 3; i++) {
        support_on(shard, close_on, &e[i]);
        close(peer[i]);
    }
}

/* One of two connections that are read directly closes the other. */
static void test_close_in_a_guess(void)
{
    for (int closer = 0; closer < 2; closer++) {
        struct end e[2];
        int peer[2] = { open_end(&e[0]), open_end(&e[1]) };
        char byte;

        for (int i = 0; i < 2; i++)
            poll_until_unwatched(&e[i]);
        e[closer].other = &e[!closer];
        support_on(shard, aim_on, &e[closer]);
        poll_until_unwatched(&e[closer]);
        peer_sends(&e[closer], peer[closer]);
        poll_until_received(&e[closer]);
        CHECK(read(peer[!closer], &byte, 1) == 0);
        peer_sends(&e[closer], peer[closer]);
        poll_until_received(&e[closer]);
        poll_until_unwatched(&e[closer]);
        support_on(shard, close_on, &e[closer]);
        close(peer[0]);
        close(peer[1]);
    }
}

/* The socket cannot be added to the epoll set again: the thread retries now and then. */
static void test_full(void)
{
    struct end e;
    int peer = open_end(&e);

    /* The lease may expire before the set is full. */
    while (!full || is_watched(&e)) {
        full = false;
        poll_until_unwatched(&e);
        full = true;
    }
    CHECK(!is_watched(&e));
    shard_watch(shard);
    peer_sends(&e, peer);
    support_until(has_received, &e);
    peer_sends(&e, peer);
    support_until(has_received, &e);
    CHECK(!is_watched(&e));
    full = false;
    support_until(is_watched, &e);
    support_on(shard, close_on, &e);
    close(peer);
}

int main(void)
{
    net = net_kernel();
    ops = net->ops;
    shard = support_shard(0);
    test_input();
    test_end();
    test_room();
    test_more();
    test_close_in_a_guess();
    test_full();
    shard_destroy(shard);
    return 0;
}
