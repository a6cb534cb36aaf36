/* SPDX-License-Identifier: MIT */
/* The kit of the engine's tests, see support.h. */
#include "engine/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 8192 };

struct shard *support_shard(uint64_t spin_ns)
{
    struct shard_config config = { .spin_ns = spin_ns, .cpu = -1 };
    struct shard *s = NULL;

    CHECK(shard_create(executor_threads(), net_kernel(), &config, &s) == 0);
    return s;
}

struct request {
    struct task task;
    struct gate gate;
    void (*fn)(void *);
    void *arg;
};

static void run_request(struct task *task)
{
    struct request *r = (struct request *)task;

    r->fn(r->arg);
    gate_open(&r->gate);
}

void support_on(struct shard *s, void (*fn)(void *), void *arg)
{
    struct request r = { .task.run = run_request, .fn = fn, .arg = arg };

    shard_post(s, &r.task);
    support_wait(&r.gate);
}

void support_wait(struct gate *g)
{
    executor_wait(executor_threads(), g);
}

void support_until(bool (*holds)(void *), void *arg)
{
    const struct timespec nap = { .tv_nsec = 1000000 };

    while (!holds(arg))
        nanosleep(&nap, NULL);
}

struct addr support_addr(const char *host, uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct addr a;

    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        CHECK(addr_from(&a, &v4, sizeof v4));
    } else {
        CHECK(inet_pton(AF_INET6, host, &v6.sin6_addr) == 1);
        CHECK(addr_from(&a, &v6, sizeof v6));
    }
    return a;
}

/* ---- streams ---- */

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

static void finish(struct stream *st)
{
    if (!atomic_exchange(&st->finished, 1))
        gate_open(&st->done);
}

static void check_finished(struct stream *st)
{
    if (st->sent == st->size && st->received == st->size && (!st->half_close || st->ended))
        finish(st);
}

static void fail(struct stream *st, int error)
{
    st->error = error;
    net_kernel()->ops->pause_read(&st->socket, true);
    finish(st);
}

static void send_more(struct stream *st)
{
    uint8_t bytes[CHUNK];

    while (st->sent < st->size) {
        size_t n = st->size - st->sent < CHUNK ? (size_t)(st->size - st->sent) : CHUNK;
        struct iovec iov[2] = { { bytes, n / 3 }, { bytes + n / 3, n - n / 3 } };
        ssize_t moved;

        for (size_t i = 0; i < n; i++)
            bytes[i] = pattern(st->sent + i);
        moved = net_kernel()->ops->send(&st->socket, iov, 2);
        if (moved == -EAGAIN)
            return;
        if (moved < 0) {
            fail(st, (int)-moved);
            return;
        }
        st->sent += (uint64_t)moved;
        if (st->sent == st->size && st->half_close)
            net_kernel()->ops->shut_write(&st->socket);
    }
    check_finished(st);
}

/* Reads only once. If more bytes are available, the poller must report the socket again. */
static void receive_some(struct stream *st)
{
    uint8_t bytes[CHUNK];
    struct iovec iov = { bytes, sizeof bytes };
    ssize_t n = net_kernel()->ops->recv(&st->socket, &iov, 1);

    if (n == -EAGAIN)
        return;
    if (n < 0) {
        fail(st, (int)-n);
        return;
    }
    if (n == 0) {
        /* Without this call, the end of the stream would be reported again whenever epoll reports the socket. */
        net_kernel()->ops->pause_read(&st->socket, true);
        st->ended = st->received == st->size;
        if (!st->ended)
            fail(st, -1);
        check_finished(st);
        return;
    }
    for (ssize_t i = 0; i < n; i++)
        CHECK(bytes[i] == pattern(st->received + (uint64_t)i));
    st->received += (uint64_t)n;
    CHECK(st->received <= st->size);
    check_finished(st);
}

static void stream_ready(struct net_socket *socket, unsigned events)
{
    struct stream *st = (struct stream *)socket;

    CHECK(shard_is_owner(socket->shard));
    if (st->error)
        return; /* only the first error counts; after it a socket may return other errors */
    if (!st->connected) {
        int err;

        CHECK(events == NET_WRITE);
        err = net_kernel()->ops->connect_result(socket);
        CHECK(err != EINPROGRESS);
        if (err) {
            fail(st, err);
            return;
        }
        st->connected = true;
    }
    if (events & NET_WRITE)
        send_more(st);
    if (events & NET_READ && !st->error)
        receive_some(st);
}

int stream_connect(struct stream *st, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   uint64_t size)
{
    struct iovec nothing = { NULL, 0 };
    size_t sent;
    int err;

    st->socket.ready = stream_ready;
    st->home = s;
    st->size = size;
    err = net_kernel()->ops->connect(net_kernel(), s, from, peer, &nothing, &sent, &st->socket);
    if (!err && net_kernel()->ops->connect_result(&st->socket) == 0) {
        st->connected = true; /* at once */
        send_more(st);
    }
    return err;
}

void stream_close(struct stream *st, bool reset)
{
    net_kernel()->ops->close(&st->socket, reset);
}

/* ---- a server ---- */

static void server_ready(struct net_socket *socket, unsigned events)
{
    struct server *server = (struct server *)socket;
    struct addr local, peer;

    CHECK(events == NET_READ);
    atomic_fetch_add(&server->ready_calls, 1);
    for (;;) {
        int n = atomic_load(&server->accepted);
        struct stream *st;
        int err;

        CHECK(n <= server->max);
        st = &server->streams[n];
        st->socket.ready = stream_ready;
        st->home = socket->shard;
        st->size = server->size;
        st->connected = true;
        err = net_kernel()->ops->accept(socket, &st->socket, &local, &peer);
        if (err == EAGAIN)
            return;
        if (err) {
            if (err == EMFILE || err == ENFILE)
                net_kernel()->ops->reset_accept_queue(socket);
            atomic_fetch_add(&server->refused, 1);
            continue;
        }
        CHECK(addr_equal(&local, &server->local));
        atomic_fetch_add(&server->accepted, 1);
        send_more(st);
    }
}

struct start {
    struct server *server;
    struct shard *shard;
    int err;
};

static void start_listening(void *arg)
{
    struct start *start = arg;
    struct server *server = start->server;

    server->socket.ready = server_ready;
    start->err = net_kernel()->ops->listen(net_kernel(), start->shard, server->reservation, &server->socket);
}

void server_start(struct server *server, struct shard *s, const struct addr *at)
{
    struct start start = { .server = server, .shard = s };

    server->local = *at;
    /* One more than is used, because accept needs a place even if no peer waits. */
    server->streams = calloc((size_t)server->max + 1, sizeof *server->streams);
    CHECK(server->streams);
    CHECK(net_kernel()->ops->reserve(net_kernel(), &server->local, NULL, NET_USE_LISTEN, &server->reservation) == 0);
    support_on(s, start_listening, &start);
    CHECK(start.err == 0);
}

static void stop_listening(void *arg)
{
    struct server *server = arg;

    net_kernel()->ops->close(&server->socket, false);
}

void server_stop(struct server *server, struct shard *s)
{
    support_on(s, stop_listening, server);
    net_kernel()->ops->reservation_unref(server->reservation);
}
