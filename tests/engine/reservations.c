/* SPDX-License-Identifier: MIT */
/*
 * Reserved addresses: uses against each other, against other processes and foreign sockets, and the port range.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/support.h"

enum { FIRST_PORT = 49152, N_PORTS = 16384, N_RECONNECTS = 1000 };

static const struct net_ops *ops;
static struct net *net;

static int reserve(struct addr *local, enum net_use use, struct net_reservation **out)
{
    return ops->reserve(net, local, NULL, use, out);
}

static int reserve_errno(const struct addr *at, enum net_use use)
{
    struct addr local = *at;
    struct net_reservation *r;
    int err = reserve(&local, use, &r);

    if (!err)
        ops->reservation_unref(r);
    return err;
}

/* The same in another process. */
static int reserve_errno_elsewhere(const struct addr *at, enum net_use use)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        _exit(reserve_errno(at, use));
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* covers: CON-12, LSN-02, CSE-01, CSE-05 (the transport's part) */
static void test_uses(const char *host)
{
    static const enum net_use uses[] = { NET_USE_CONNECT, NET_USE_SHARED, NET_USE_LISTEN };

    for (int i = 0; i < 3; i++) {
        struct addr at = support_addr(host, 0);
        struct net_reservation *r;

        CHECK(reserve(&at, uses[i], &r) == 0);
        CHECK(addr_port(&at) >= FIRST_PORT);
        for (int k = 0; k < 3; k++) {
            CHECK(reserve_errno(&at, uses[k]) == EADDRINUSE);
            CHECK(reserve_errno_elsewhere(&at, uses[k]) == EADDRINUSE);
        }
        ops->reservation_ref(r);
        ops->reservation_unref(r);
        CHECK(reserve_errno(&at, uses[i]) == EADDRINUSE);
        ops->reservation_unref(r);
        for (int k = 0; k < 3; k++)
            CHECK(reserve_errno(&at, uses[k]) == 0);
    }
}

/* Reserved by another process, which is killed: free at once. */
static void test_other_process(void)
{
    struct addr at = support_addr("127.0.0.1", 0);
    struct net_reservation *r;
    int to_parent[2], status;
    char byte;
    pid_t pid;

    CHECK(reserve(&at, NET_USE_SHARED, &r) == 0);
    ops->reservation_unref(r);
    CHECK(pipe(to_parent) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        byte = (char)reserve(&at, NET_USE_SHARED, &r);
        CHECK(write(to_parent[1], &byte, 1) == 1);
        pause();
        _exit(0);
    }
    CHECK(read(to_parent[0], &byte, 1) == 1 && byte == 0);
    CHECK(reserve_errno(&at, NET_USE_CONNECT) == EADDRINUSE);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == EADDRINUSE);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == 0);
    close(to_parent[0]);
    close(to_parent[1]);
}

static int foreign_socket(struct addr *at, int reuse, bool listening)
{
    socklen_t len = addr_len(at);
    int fd = socket(at->sa.sa_family, SOCK_STREAM, 0);

    CHECK(fd >= 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) == 0);
    CHECK(bind(fd, &at->sa, len) == 0);
    CHECK(getsockname(fd, &at->sa, &len) == 0);
    CHECK(!listening || listen(fd, 1) == 0);
    return fd;
}

/* covers: CON-12 (foreign sockets) */
static void test_foreign(void)
{
    for (int reuse = 0; reuse < 2; reuse++) {
        struct addr at = support_addr("127.0.0.1", 0), bound = at;
        int listener = foreign_socket(&at, reuse, true);
        struct addr from = support_addr("127.0.0.1", 0);
        int client = foreign_socket(&from, reuse, false);
        int server, idle = foreign_socket(&bound, reuse, false);

        CHECK(reserve_errno(&bound, NET_USE_CONNECT) == EADDRINUSE);
        CHECK(reserve_errno(&bound, NET_USE_LISTEN) == EADDRINUSE);
        close(idle);
        CHECK(reserve_errno(&bound, NET_USE_CONNECT) == 0);
        CHECK(reserve_errno(&at, NET_USE_CONNECT) == EADDRINUSE);
        CHECK(reserve_errno(&at, NET_USE_LISTEN) == EADDRINUSE);
        CHECK(reserve_errno(&at, NET_USE_SHARED) == EADDRINUSE);
        CHECK(connect(client, &at.sa, addr_len(&at)) == 0);
        server = accept(listener, NULL, NULL);
        CHECK(server >= 0);
        CHECK(reserve_errno(&from, NET_USE_LISTEN) == EADDRINUSE);
        CHECK(reserve_errno(&from, NET_USE_SHARED) == EADDRINUSE);
        CHECK(reserve_errno(&from, NET_USE_CONNECT) == EADDRINUSE);
        close(listener);
        CHECK(reserve_errno(&at, NET_USE_CONNECT) == EADDRINUSE); /* its connection remains */
        /* The client closes first, so only remains are at its address. */
        close(client);
        close(server);
        CHECK(!reuse || reserve_errno(&from, NET_USE_CONNECT) == 0);
    }
}

/* covers: CON-13 (the transport's part) */
static void test_wrong_address(void)
{
    struct addr not_ours = support_addr("198.51.100.77", 0), any = support_addr("0.0.0.0", 0);

    CHECK(reserve_errno(&not_ours, NET_USE_LISTEN) == EADDRNOTAVAIL);
    CHECK(reserve_errno(&any, NET_USE_LISTEN) == EADDRNOTAVAIL);
    addr_set_port(&not_ours, 50000);
    CHECK(reserve_errno(&not_ours, NET_USE_CONNECT) == EADDRNOTAVAIL);
}

/* ---- a connection's four-tuple ---- */

struct connecting {
    struct stream *stream;
    struct shard *shard;
    struct net_reservation *from;
    struct addr peer;
    int err;
};

static void connect_on(void *arg)
{
    struct connecting *c = arg;

    c->err = stream_connect(c->stream, c->shard, c->from, &c->peer, 64);
}

static void close_on(void *arg)
{
    stream_close(arg, false);
}

static void reset_on(void *arg)
{
    stream_close(arg, true);
}

static int reserve_pair(const struct addr *at, const struct addr *peer, struct net_reservation **out)
{
    struct addr local = *at;

    return ops->reserve(net, &local, peer, NET_USE_CONNECT, out);
}

static int reserve_pair_elsewhere(const struct addr *at, const struct addr *peer)
{
    struct net_reservation *r;
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        _exit(reserve_pair(at, peer, &r));
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool accepted_all(void *arg)
{
    struct server *server = arg;

    return atomic_load(&server->accepted) == server->max;
}

/* covers: CON-15, CSE-03 (the transport's part) */
static void test_same_tuple(void)
{
    struct shard *s = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0), from = at, other = support_addr("127.0.0.2", 1);
    struct server server = { .max = 1, .size = 64 };
    struct stream first = { 0 }, second = { 0 };
    struct connecting c = { .stream = &first, .shard = s };
    struct net_reservation *r;

    server_start(&server, s, &at);
    c.peer = server.local;
    CHECK(reserve(&from, NET_USE_SHARED, &c.from) == 0);
    support_on(s, connect_on, &c);
    CHECK(c.err == 0);
    support_wait(&first.done);
    CHECK(first.error == 0);
    support_until(accepted_all, &server);

    CHECK(reserve_pair(&from, &server.local, &r) == EEXIST);
    CHECK(reserve_pair_elsewhere(&from, &server.local) == EEXIST);
    CHECK(reserve_pair(&server.local, &from, &r) == EEXIST); /* its accepted end */
    CHECK(reserve_pair(&from, &other, &r) == EADDRINUSE);
    CHECK(reserve_pair(&server.local, &other, &r) == EADDRINUSE);
    c.stream = &second;
    support_on(s, connect_on, &c);
    CHECK(c.err == EADDRNOTAVAIL); /* a second one from the shared address */

    /* The shared address stays reserved, although the kernel has only remains of a connection there. */
    support_on(s, close_on, &first);
    support_on(s, close_on, &server.streams[0]);
    CHECK(reserve_errno(&from, NET_USE_SHARED) == EADDRINUSE);
    CHECK(reserve_errno_elsewhere(&from, NET_USE_LISTEN) == EADDRINUSE);
    server_stop(&server, s);
    ops->reservation_unref(c.from);
    CHECK(reserve_errno(&from, NET_USE_SHARED) == 0);
    free(server.streams);
    shard_destroy(s);
}

/* One connection. The side that closes first, client or server, has the remains. */
static void connect_once(struct shard *s, const struct addr *from, struct server *server, bool server_first)
{
    struct stream *end = &server->streams[atomic_load(&server->accepted)];
    struct stream st = { .half_close = server_first };
    struct connecting c = { .stream = &st, .shard = s, .peer = server->local };

    end->half_close = server_first;
    CHECK(reserve_pair(from, &server->local, &c.from) == 0);
    support_on(s, connect_on, &c);
    CHECK(c.err == 0);
    ops->reservation_unref(c.from);
    support_wait(&st.done);
    CHECK(st.error == 0);
    support_wait(&end->done);
    CHECK(reserve_errno(from, NET_USE_CONNECT) == EADDRINUSE);
    support_on(s, close_on, &st);
    support_on(s, close_on, end);
}

/*
 * covers: CON-20, LSN-07 (the transport's part): four-tuple and address are free at once, each time. The same side
 * always closes a tuple first. If the sides alternated within a millisecond, a reconnect would sometimes take a second,
 * because sequence numbers go back while timestamps do not advance.
 */
static void test_again(void)
{
    struct shard *s = support_shard(0);
    struct addr at = support_addr("127.0.0.1", 0), from[2] = { at, at };
    struct server server = { .max = N_RECONNECTS, .size = 64 };
    struct net_reservation *r;

    server_start(&server, s, &at);
    for (int i = 0; i < 2; i++) {
        CHECK(reserve(&from[i], NET_USE_CONNECT, &r) == 0);
        ops->reservation_unref(r);
    }
    for (int i = 0; i < N_RECONNECTS; i++)
        connect_once(s, &from[i % 2], &server, i % 2);
    at = server.local;
    server_stop(&server, s);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == 0);
    free(server.streams);
    shard_destroy(s);
}

/* covers: LSN-07: an accepted connection keeps the address after its listener is closed */
static void test_accepted_keeps(void)
{
    struct shard *s = support_shard(0);
    struct addr at = support_addr("::1", 0), from = at;
    struct server server = { .max = 1, .size = 64 };
    struct stream st = { 0 };
    struct connecting c = { .stream = &st, .shard = s };

    server_start(&server, s, &at);
    c.peer = at = server.local;
    CHECK(reserve(&from, NET_USE_CONNECT, &c.from) == 0);
    support_on(s, connect_on, &c);
    CHECK(c.err == 0);
    ops->reservation_unref(c.from);
    support_wait(&st.done);
    support_until(accepted_all, &server);
    server_stop(&server, s);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == EADDRINUSE);
    CHECK(reserve_errno_elsewhere(&at, NET_USE_LISTEN) == EADDRINUSE);
    /* For the kernel, connection and address are free; for the owner they are not yet. */
    support_on(s, reset_on, &st);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == EADDRINUSE);
    CHECK(reserve_errno_elsewhere(&at, NET_USE_LISTEN) == EADDRINUSE);
    support_on(s, close_on, &server.streams[0]);
    CHECK(reserve_errno(&at, NET_USE_LISTEN) == 0);
    CHECK(reserve_errno(&from, NET_USE_CONNECT) == 0);
    free(server.streams);
    shard_destroy(s);
}

/* ---- the range ---- */

/*
 * covers: CON-14 (the transport's part): every port of the range, none outside it, then ENOSPC, and one that was
 * released
 */
static void test_exhaustion(void)
{
    static struct net_reservation *taken[N_PORTS];
    static bool seen[N_PORTS];
    struct addr at;
    struct net_reservation *r;
    int own = 0, foreign = 0, last = -1;

    for (; foreign < 64; foreign++) {
        at = support_addr("127.0.0.9", (uint16_t)(FIRST_PORT + foreign * 100));
        (void)foreign_socket(&at, 0, false);
        seen[foreign * 100] = true;
    }
    /*
     * A reservation needs two descriptors. If the limit is too low, foreign sockets, which need one, use the other
     * ports.
     */
    for (; own + foreign < N_PORTS; own++) {
        at = support_addr("127.0.0.9", 0);
        if (own == 2000)
            break;
        CHECK(reserve(&at, NET_USE_SHARED, &taken[own]) == 0);
        CHECK(addr_port(&at) >= FIRST_PORT && !seen[addr_port(&at) - FIRST_PORT]);
        seen[addr_port(&at) - FIRST_PORT] = true;
    }
    for (int i = 0; i < N_PORTS; i++) {
        if (seen[i])
            continue;
        at = support_addr("127.0.0.9", (uint16_t)(FIRST_PORT + i));
        last = foreign_socket(&at, 0, false);
    }
    CHECK(last >= 0);
    at = support_addr("127.0.0.9", 0);
    CHECK(reserve(&at, NET_USE_CONNECT, &r) == ENOSPC);
    CHECK(reserve(&at, NET_USE_LISTEN, &r) == ENOSPC);

    /* One port becomes free, a foreign one, then one of ours: it is found at once. */
    close(last);
    at = support_addr("127.0.0.9", 0);
    CHECK(reserve(&at, NET_USE_CONNECT, &r) == 0);
    CHECK(reserve_errno(&(struct addr){ .v4 = at.v4 }, NET_USE_CONNECT) == EADDRINUSE);
    at = support_addr("127.0.0.9", 0);
    CHECK(reserve_errno(&at, NET_USE_CONNECT) == ENOSPC);
    ops->reservation_unref(taken[0]);
    for (int i = 0; i < 100; i++)
        CHECK(reserve_errno(&at, NET_USE_CONNECT) == 0);
    for (int i = 1; i < own; i++)
        ops->reservation_unref(taken[i]);
    ops->reservation_unref(r);
    /* Another host address has a range of its own. */
    at = support_addr("127.0.0.10", 0);
    CHECK(reserve_errno(&at, NET_USE_CONNECT) == 0);
}

static void exhaust_in_child(void)
{
    struct rlimit limit;
    int status;
    pid_t pid;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max < N_PORTS + 2000 + 100) {
        printf("exhaustion: skipped: it needs %d descriptors, the limit is %llu\n", N_PORTS + 2100,
               (unsigned long long)limit.rlim_max);
        return;
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        test_exhaustion();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    net = net_kernel();
    ops = net->ops;
    /* First the tests that fork, while there are no threads. */
    test_uses("127.0.0.1");
    test_uses("::1");
    test_other_process();
    exhaust_in_child();
    test_foreign();
    test_wrong_address();
    test_same_tuple();
    test_again();
    test_accepted_keeps();
    return 0;
}
