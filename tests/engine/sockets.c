/* SPDX-License-Identifier: MIT */
/* The kernel's sockets on two shards: traffic in both directions, moves during traffic, ends, refusals. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/support.h"

static const struct net_ops *ops;
static struct net *net;

struct connecting {
    struct stream *stream;
    struct shard *shard;
    struct net_reservation *from;
    struct addr peer;
    uint64_t size;
    int err;
};

static void connect_on(void *arg)
{
    struct connecting *c = arg;

    c->err = stream_connect(c->stream, c->shard, c->from, &c->peer, c->size);
}

/* From a free port. Only the stream keeps the reservation. */
static int connect_stream(struct stream *st, struct shard *s, const char *host, const struct addr *peer, uint64_t size)
{
    struct connecting c = { .stream = st, .shard = s, .peer = *peer, .size = size };
    struct addr local = support_addr(host, 0);

    CHECK(ops->reserve(net, &local, peer, NET_USE_CONNECT, &c.from) == 0);
    support_on(s, connect_on, &c);
    ops->reservation_unref(c.from);
    return c.err;
}

struct closing {
    struct stream *stream;
    bool reset;
};

static void close_on(void *arg)
{
    struct closing *c = arg;

    stream_close(c->stream, c->reset);
}

static void close_stream(struct stream *st, bool reset)
{
    struct closing c = { st, reset };

    support_on(st->home, close_on, &c);
}

static bool has_accepted(void *arg)
{
    struct server *server = arg;

    return atomic_load(&server->accepted) + atomic_load(&server->refused) > 0;
}

static void detach_on(void *arg)
{
    ops->detach(&((struct stream *)arg)->socket);
}

static void attach_on(void *arg)
{
    struct stream *st = arg;

    CHECK(ops->attach(&st->socket, st->home) == 0);
}

static void move(struct stream *st, struct shard *to)
{
    support_on(st->home, detach_on, st);
    st->home = to;
    support_on(to, attach_on, st);
}

/* Both directions at once, with half-closes at the end, while the sockets move between the shards `moves` times. */
static void test_traffic(const char *host, uint64_t size, int moves)
{
    struct shard *a = support_shard(0), *b = support_shard(20000);
    struct addr at = support_addr(host, 0);
    struct server server = { .max = 1, .size = size };
    struct stream st = { .half_close = true };
    size_t segment;

    server_start(&server, b, &at);
    server.streams[0].half_close = true;
    CHECK(connect_stream(&st, a, host, &server.local, size) == 0);
    support_until(has_accepted, &server);
    for (int i = 0; i < moves; i++) {
        move(&st, i % 2 ? a : b);
        move(&server.streams[0], i % 2 ? b : a);
    }
    support_wait(&st.done);
    support_wait(&server.streams[0].done);
    CHECK(st.error == 0 && st.received == size && st.ended);
    CHECK(server.streams[0].error == 0 && server.streams[0].received == size && server.streams[0].ended);
    segment = ops->max_segment(&st.socket);
    CHECK(segment > 536 && segment < 65536);
    close_stream(&st, false);
    close_stream(&server.streams[0], false);
    server_stop(&server, b);
    shard_destroy(a);
    shard_destroy(b);
    free(server.streams);
}

/* ---- polling consumers ---- */

struct poller {
    struct shard *shard;
    struct gate *until;
    int burst; /* polls between two calls of watch; 0: never calls it */
};

static void *poll_shard(void *arg)
{
    struct poller *p = arg;

    for (int i = 1; !gate_is_open(p->until); i++) {
        shard_poll(p->shard);
        if (p->burst && i % p->burst == 0) {
            shard_watch(p->shard);
            usleep(300);
        }
    }
    return NULL;
}

/* A consumer that polls, one that polls and arms, and one that stops polling without arming. */
static void test_polling(void)
{
    struct shard *a = support_shard(0), *b = support_shard(20000);
    struct addr at = support_addr("127.0.0.1", 0);
    struct server server = { .max = 1, .size = 8 << 20 };
    struct stream st = { .half_close = true };
    struct poller pollers[2] = { { a, &st.done, 0 }, { b, &st.done, 50 } };
    pthread_t threads[2];

    server_start(&server, b, &at);
    server.streams[0].half_close = true;
    for (int i = 0; i < 20; i++)
        shard_poll(a);
    CHECK(connect_stream(&st, a, "127.0.0.1", &server.local, server.size) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, poll_shard, &pollers[i]) == 0);
    support_wait(&st.done);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    support_wait(&server.streams[0].done);
    CHECK(st.error == 0 && server.streams[0].error == 0);
    close_stream(&st, false);
    close_stream(&server.streams[0], false);
    server_stop(&server, b);
    shard_destroy(a);
    shard_destroy(b);
    free(server.streams);
}

/* While reading is paused, input is neither reported nor lost. */
static void read_off(void *arg)
{
    ops->pause_read(&((struct stream *)arg)->socket, true);
}

static void read_on(void *arg)
{
    ops->pause_read(&((struct stream *)arg)->socket, false);
}

static uint64_t received_now;

static void read_received(void *arg)
{
    received_now = ((struct stream *)arg)->received;
}

static void test_hold(void)
{
    struct shard *a = support_shard(0), *b = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0);
    struct server server = { .max = 1, .size = 1 << 20 };
    struct stream st = { 0 };
    uint64_t before;

    server_start(&server, b, &at);
    CHECK(connect_stream(&st, a, "127.0.0.1", &server.local, server.size) == 0);
    support_until(has_accepted, &server);
    support_on(b, read_off, &server.streams[0]);
    support_on(b, read_received, &server.streams[0]);
    before = received_now;
    for (int i = 0; i < 100; i++)
        shard_poll(b);
    support_on(b, read_received, &server.streams[0]);
    CHECK(received_now == before);
    support_on(b, read_on, &server.streams[0]);
    support_wait(&st.done);
    support_wait(&server.streams[0].done);
    CHECK(st.error == 0 && server.streams[0].received == server.size);
    close_stream(&st, false);
    close_stream(&server.streams[0], false);
    server_stop(&server, b);
    shard_destroy(a);
    shard_destroy(b);
    free(server.streams);
}

/* Nobody listens at the peer's address, nor at our own. */
static void test_refused(void)
{
    struct shard *a = support_shard(0);
    struct addr free_at = support_addr("127.0.0.1", 0), self = support_addr("127.0.0.1", 0);
    struct net_reservation *unused, *own;
    struct stream st = { 0 };
    struct connecting c = { .stream = &st, .shard = a };
    int err;

    CHECK(ops->reserve(net, &free_at, NULL, NET_USE_SHARED, &unused) == 0);
    err = connect_stream(&st, a, "127.0.0.1", &free_at, 1);
    if (!err) {
        support_wait(&st.done);
        err = st.error;
        close_stream(&st, false);
    }
    CHECK(err == ECONNREFUSED);
    ops->reservation_unref(unused);

    CHECK(ops->reserve(net, &self, NULL, NET_USE_CONNECT, &own) == 0);
    c.from = own;
    c.peer = self;
    support_on(a, connect_on, &c);
    CHECK(c.err == ECONNREFUSED);
    ops->reservation_unref(own);
    shard_destroy(a);
}

/* ---- a connection that comes up while the shard's owner does not poll ---- */

struct late {
    struct net_socket socket;
    struct shard *shard;
    struct net_reservation *from;
    struct addr peer;
    int listener; /* its accept queue is full */
    _Atomic bool has_input;
};

static void late_ready(struct net_socket *socket, unsigned events)
{
    struct late *l = (struct late *)socket;

    if (events & NET_READ)
        l->has_input = true;
}

/* The owner keeps the token from connect until TCP is connected, so the poller cannot report that. */
static void late_connect(void *arg)
{
    struct late *l = arg;
    struct iovec nothing = { NULL, 0 };
    struct pollfd room;
    size_t sent;
    int queued;

    l->socket.ready = late_ready;
    CHECK(ops->connect(net, l->shard, l->from, &l->peer, &nothing, &sent, &l->socket) == 0);
    CHECK(ops->connect_result(&l->socket) == EINPROGRESS);
    queued = accept(l->listener, NULL, NULL);
    CHECK(queued >= 0);
    close(queued);
    room = (struct pollfd){ .fd = l->socket.fd, .events = POLLOUT };
    CHECK(poll(&room, 1, -1) == 1 && room.revents == POLLOUT); /* TCP repeats its SYN after a second */
    CHECK(ops->connect_result(&l->socket) == 0);
}

static void late_close(void *arg)
{
    ops->close(&((struct late *)arg)->socket, false);
}

static bool late_has_input(void *arg)
{
    return ((struct late *)arg)->has_input;
}

/* The result is the kernel's, also before the poller has reported it. The socket's input is reported afterwards. */
static void test_result_before_poll(void)
{
    struct addr local = support_addr("127.0.0.1", 0);
    struct late l = { .shard = support_shard(0), .peer = local };
    socklen_t len = sizeof l.peer;
    int queued = socket(AF_INET, SOCK_STREAM, 0), peer;
    struct pollfd arrived;

    l.listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(l.listener, &l.peer.sa, addr_len(&l.peer)) == 0 && listen(l.listener, 0) == 0);
    CHECK(getsockname(l.listener, &l.peer.sa, &len) == 0);
    CHECK(connect(queued, &l.peer.sa, len) == 0);
    arrived = (struct pollfd){ .fd = l.listener, .events = POLLIN };
    CHECK(poll(&arrived, 1, -1) == 1);
    CHECK(ops->reserve(net, &local, &l.peer, NET_USE_CONNECT, &l.from) == 0);
    support_on(l.shard, late_connect, &l);
    peer = accept(l.listener, NULL, NULL);
    CHECK(peer >= 0 && send(peer, "x", 1, 0) == 1);
    support_until(late_has_input, &l);
    support_on(l.shard, late_close, &l);
    ops->reservation_unref(l.from);
    close(peer);
    close(queued);
    close(l.listener);
    shard_destroy(l.shard);
}

/* A reset is an error, not an end of stream. */
static void test_reset(void)
{
    struct shard *a = support_shard(0), *b = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0);
    struct server server = { .max = 1, .size = 1 << 30 };
    struct stream st = { 0 };

    server_start(&server, b, &at);
    CHECK(connect_stream(&st, a, "127.0.0.1", &server.local, server.size) == 0);
    support_until(has_accepted, &server);
    close_stream(&server.streams[0], true);
    support_wait(&st.done);
    CHECK(st.error == ECONNRESET);
    close_stream(&st, false);
    server_stop(&server, b);
    shard_destroy(a);
    shard_destroy(b);
    free(server.streams);
}

struct pausing {
    struct server *server;
    bool on;
    int err;
};

static void pause_on(void *arg)
{
    struct pausing *p = arg;

    p->err = ops->listen_pause(&p->server->socket, p->on);
}

/* covers: LSN-04 (the transport's part) */
static void test_pause(void)
{
    struct shard *a = support_shard(0), *b = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0), same;
    struct server server = { .max = 2, .size = 100 };
    struct pausing pausing = { &server, true, -1 };
    struct net_reservation *other;
    struct stream st = { 0 }, again = { 0 };
    int err;

    server_start(&server, b, &at);
    support_on(b, pause_on, &pausing);
    CHECK(pausing.err == 0);
    err = connect_stream(&st, a, "127.0.0.1", &server.local, 100);
    if (!err) {
        support_wait(&st.done);
        err = st.error;
        close_stream(&st, false);
    }
    CHECK(err == ECONNREFUSED);
    CHECK(atomic_load(&server.accepted) == 0);
    same = server.local;
    CHECK(ops->reserve(net, &same, NULL, NET_USE_LISTEN, &other) == EADDRINUSE);

    pausing.on = false;
    support_on(b, pause_on, &pausing);
    CHECK(pausing.err == 0);
    CHECK(connect_stream(&again, a, "127.0.0.1", &server.local, 100) == 0);
    support_wait(&again.done);
    CHECK(again.error == 0);
    support_wait(&server.streams[0].done);
    close_stream(&again, false);
    close_stream(&server.streams[0], false);
    server_stop(&server, b);
    shard_destroy(a);
    shard_destroy(b);
    free(server.streams);
}

/* ---- out of descriptors ---- */

enum { CLIENTS = 8, CALM_LOOKS = 4 * CLIENTS };

struct clients {
    int fds[CLIENTS];
    bool refused[CLIENTS];
};

/* Nothing is closed here, because a free descriptor would admit a peer. */
static bool all_refused(void *arg)
{
    struct clients *clients = arg;
    bool all = true;

    for (int i = 0; i < CLIENTS; i++) {
        char byte;

        if (!clients->refused[i] && recv(clients->fds[i], &byte, 1, MSG_DONTWAIT) < 0)
            clients->refused[i] = errno == ECONNRESET || errno == ECONNREFUSED;
        all = all && clients->refused[i];
    }
    return all;
}

static void fill_descriptors(void)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(0) >= 0)
        ;
    CHECK(errno == EMFILE);
}

/* covers: LSN-08 (without descriptors requests are refused and nothing spins) */
static void starve(void)
{
    const struct timespec while_idle = { .tv_nsec = 200000000 };
    struct shard *a = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0);
    struct server server = { .max = 1, .size = 100 };
    struct stream st = { 0 };
    struct clients clients = { 0 };

    server_start(&server, a, &at);
    for (int i = 0; i < CLIENTS; i++) {
        clients.fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK(clients.fds[i] >= 0);
    }
    fill_descriptors();
    for (int i = 0; i < CLIENTS; i++)
        CHECK(connect(clients.fds[i], &server.local.sa, addr_len(&server.local)) == 0 || errno == EINPROGRESS ||
              errno == ECONNREFUSED);
    support_until(all_refused, &clients);
    /* Nothing happens now; a listener that spins would be called again and again. */
    nanosleep(&while_idle, NULL);
    CHECK(atomic_load(&server.ready_calls) <= CALM_LOOKS);
    CHECK(atomic_load(&server.accepted) == 0 && atomic_load(&server.refused) > 0);

    /* With free descriptors it accepts again. */
    for (int i = 0; i < CLIENTS; i++)
        close(clients.fds[i]);
    CHECK(connect_stream(&st, a, "127.0.0.1", &server.local, 100) == 0);
    support_wait(&st.done);
    support_wait(&server.streams[0].done);
    CHECK(st.error == 0);
    close_stream(&st, false);
    close_stream(&server.streams[0], false);
    server_stop(&server, a);
    shard_destroy(a);
    free(server.streams);
}

struct ready_count {
    struct server *server;
    int before;
};

static bool was_called_again(void *arg)
{
    struct ready_count *ready_count = arg;

    return atomic_load(&ready_count->server->ready_calls) > ready_count->before;
}

static void nothing_on(void *arg)
{
    (void)arg;
}

/* covers: LSN-04 (the transport's part: a paused listener stays paused when there are no descriptors) */
static void pause_starving(void)
{
    struct shard *a = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0);
    struct server server = { .max = 1, .size = 100 };
    struct pausing pausing = { &server, true, -1 };
    struct ready_count ready_count = { .server = &server };
    int client = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(client >= 0);
    server_start(&server, a, &at);
    fill_descriptors();
    ready_count.before = atomic_load(&server.ready_calls);
    support_on(a, pause_on, &pausing);
    CHECK(pausing.err == 0);
    /* Leaving the listening state is reported, and accepting then fails for lack of descriptors. */
    support_until(was_called_again, &ready_count);
    support_on(a, nothing_on, NULL); /* after that accept */
    CHECK(connect(client, &server.local.sa, addr_len(&server.local)) < 0 && errno == ECONNREFUSED);
    close(client);
    server_stop(&server, a);
    shard_destroy(a);
    free(server.streams);
}

/* In a child, so that limits and exhausted tables stay there. */
static void in_child(void (*test)(void))
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        test();
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    net = net_kernel();
    ops = net->ops;
    in_child(starve);
    in_child(pause_starving);
    test_traffic("127.0.0.1", 4 << 20, 0);
    test_traffic("::1", 1 << 20, 0);
    test_traffic("127.0.0.1", 32 << 20, 200);
    for (int i = 0; i < 3; i++)
        test_polling();
    test_hold();
    test_refused();
    test_result_before_poll();
    test_reset();
    test_pause();
    return 0;
}
