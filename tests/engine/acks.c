/* SPDX-License-Identifier: MIT */
/*
 * When the kernel's socket acknowledges at once, according to TCP_QUICKACK. The peer is a plain socket.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/support.h"

enum { WORD = 64, LONG = 512 * 1024, SHORT = 64 * 1024, MAX_TURNS = 1000 };

static const struct net_ops *ops;

struct end {
    struct net_socket socket;
    struct shard *shard;
    struct net_reservation *from;
    struct addr peer;
    size_t n;
    ssize_t moved;
    int err;
};

static uint8_t bytes[LONG];

/* The test reads the input itself. */
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
    struct iovec iov = { bytes, e->n };

    e->moved = ops->send(&e->socket, &iov, 1);
}

static void recv_on(void *arg)
{
    struct end *e = arg;
    struct iovec iov = { bytes, e->n };

    e->moved = ops->recv(&e->socket, &iov, 1);
}

static void close_on(void *arg)
{
    ops->close(&((struct end *)arg)->socket, true);
}

static void send_bytes(struct end *e, size_t n)
{
    e->n = n;
    support_on(e->shard, send_on, e);
    CHECK(e->moved == (ssize_t)n);
}

static bool has_received(void *arg)
{
    struct end *e = arg;

    support_on(e->shard, recv_on, e);
    CHECK(e->moved > 0 || e->moved == -EAGAIN);
    e->n -= e->moved > 0 ? (size_t)e->moved : 0;
    return e->n == 0;
}

static void receive_bytes(struct end *e, size_t n)
{
    e->n = n;
    support_until(has_received, e);
}

/* The peer is a blocking socket, so it sends no more than both buffers hold. */
static void peer_sends(int peer, size_t n)
{
    CHECK(send(peer, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void peer_receives(int peer, size_t n)
{
    CHECK(recv(peer, bytes, n, MSG_WAITALL) == (ssize_t)n);
}

static bool acknowledges_at_once(const struct end *e)
{
    int on;
    socklen_t len = sizeof on;

    CHECK(getsockopt(e->socket.fd, IPPROTO_TCP, TCP_QUICKACK, &on, &len) == 0);
    return on != 0;
}

/* Exchanges words until the kernel takes the connection for a dialogue. A slow machine needs more of them. */
static void exchange_words(struct end *e, int peer)
{
    int turns = 0;

    do {
        peer_sends(peer, WORD);
        receive_bytes(e, WORD);
        send_bytes(e, WORD);
        peer_receives(peer, WORD);
    } while (acknowledges_at_once(e) && ++turns < MAX_TURNS);
    CHECK(!acknowledges_at_once(e));
}

static void send_first(struct end *e)
{
    ssize_t sent;

    support_on(e->shard, connect_on, e);
    CHECK(e->err == 0);
    sent = e->moved; /* all, if it connected at once */
    support_until(has_ended, e);
    CHECK(e->err == 0);
    if (!sent)
        send_bytes(e, WORD);
}

static void answer(struct end *e, int peer, size_t n)
{
    for (size_t done = 0; done < n; done += SHORT) {
        peer_sends(peer, SHORT);
        receive_bytes(e, SHORT);
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
    send_first(&e);
    CHECK((peer = accept(listener, NULL, NULL)) >= 0);
    peer_receives(peer, WORD);
    for (int i = 0; i < 3; i++) {
        bool held_back = false;

        /*
         * The acknowledgement may wait for the next data. If the peer retransmitted, the kernel acknowledges at once.
         */
        for (int turn = 0; turn < 20 && !held_back; turn++) {
            exchange_words(&e, peer);
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
