/* SPDX-License-Identifier: MIT */
/*
 * Abstract: when a socket of the kernel's acknowledges at once, as the kernel tells it of itself (TCP_QUICKACK). The
 * peer is a plain socket.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/support.h"

enum { WORD = 64, LONG = 512 * 1024, SHORT = 64 * 1024, MOST_TURNS = 1000 };

static const struct net_ops *ops;

struct end {
    struct net_socket socket;
    struct shard *shard;
    struct net_reservation *from;
    struct addr peer;
    size_t octets;
    ssize_t moved;
    int err;
};

static uint8_t bytes[LONG];

/* What comes is read when the test says so. */
static void ready(struct net_socket *socket, unsigned events)
{
    (void)socket;
    (void)events;
}

static void connect_on(void *arg)
{
    struct end *e = arg;
    struct iovec first = { bytes, WORD };
    size_t sent;

    e->socket.ready = ready;
    e->err = ops->connect(net_kernel(), e->shard, e->from, &e->peer, &first, &sent, &e->socket);
    e->moved = e->err ? 0 : (ssize_t)sent;
    if (!e->err)
        ops->pause_read(&e->socket, true);
}

static void result_on(void *arg)
{
    struct end *e = arg;

    e->err = ops->connect_result(&e->socket);
}

static bool has_ended(void *arg)
{
    struct end *e = arg;

    support_on(e->shard, result_on, e);
    return e->err != EINPROGRESS;
}

static void send_on(void *arg)
{
    struct end *e = arg;
    struct iovec iov = { bytes, e->octets };

    e->moved = ops->send(&e->socket, &iov, 1);
}

static void recv_on(void *arg)
{
    struct end *e = arg;
    struct iovec iov = { bytes, e->octets };

    e->moved = ops->recv(&e->socket, &iov, 1);
}

static void close_on(void *arg)
{
    ops->close(&((struct end *)arg)->socket, true);
}

static void say(struct end *e, size_t octets)
{
    e->octets = octets;
    support_on(e->shard, send_on, e);
    CHECK(e->moved == (ssize_t)octets);
}

static bool has_heard(void *arg)
{
    struct end *e = arg;

    support_on(e->shard, recv_on, e);
    CHECK(e->moved > 0 || e->moved == -EAGAIN);
    e->octets -= e->moved > 0 ? (size_t)e->moved : 0;
    return e->octets == 0;
}

static void hear(struct end *e, size_t octets)
{
    e->octets = octets;
    support_until(has_heard, e);
}

/* The peer, a plain socket that blocks: no more than its and our buffers hold. */
static void peer_says(int peer, size_t octets)
{
    CHECK(send(peer, bytes, octets, MSG_NOSIGNAL) == (ssize_t)octets);
}

static void peer_hears(int peer, size_t octets)
{
    CHECK(recv(peer, bytes, octets, MSG_WAITALL) == (ssize_t)octets);
}

static bool acknowledges_at_once(const struct end *e)
{
    int on;
    socklen_t len = sizeof on;

    CHECK(getsockopt(e->socket.fd, IPPROTO_TCP, TCP_QUICKACK, &on, &len) == 0);
    return on != 0;
}

/* Words there and back until the kernel takes it for a dialogue; a slow machine needs more of them. */
static void talk(struct end *e, int peer)
{
    int turns = 0;

    do {
        peer_says(peer, WORD);
        hear(e, WORD);
        say(e, WORD);
        peer_hears(peer, WORD);
    } while (acknowledges_at_once(e) && ++turns < MOST_TURNS);
    CHECK(!acknowledges_at_once(e));
}

static void say_first(struct end *e)
{
    ssize_t sent;

    support_on(e->shard, connect_on, e);
    CHECK(e->err == 0);
    sent = e->moved; /* all, where it was connected at once */
    support_until(has_ended, e);
    CHECK(e->err == 0);
    if (!sent)
        say(e, WORD);
}

static void answer(struct end *e, int peer, size_t octets)
{
    for (size_t done = 0; done < octets; done += SHORT) {
        peer_says(peer, SHORT);
        hear(e, SHORT);
    }
}

int main(void)
{
    struct addr local = support_addr("127.0.0.1", 0);
    struct end e = { .shard = support_shard(0), .peer = support_addr("127.0.0.1", 0) };
    socklen_t len = sizeof e.peer;
    int listener = socket(AF_INET, SOCK_STREAM, 0), peer;

    ops = net_kernel()->ops;
    CHECK(bind(listener, &e.peer.sa, addr_len(&e.peer)) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, &e.peer.sa, &len) == 0);
    CHECK(ops->reserve(net_kernel(), &local, &e.peer, NET_USE_CONNECT, &e.from) == 0);
    say_first(&e);
    CHECK((peer = accept(listener, NULL, NULL)) >= 0);
    peer_hears(peer, WORD);
    for (int i = 0; i < 3; i++) {
        bool held_back = false;

        /* It may go with what is said next. Where the peer had to send again, the kernel hurries by itself. */
        for (int turn = 0; turn < 20 && !held_back; turn++) {
            talk(&e, peer);
            answer(&e, peer, SHORT);
            held_back = !acknowledges_at_once(&e);
        }
        CHECK(held_back);
        answer(&e, peer, LONG);
        CHECK(acknowledges_at_once(&e));
    }
    support_on(e.shard, close_on, &e);
    ops->reservation_unref(e.from);
    shard_destroy(e.shard);
    close(peer);
    close(listener);
    return 0;
}
