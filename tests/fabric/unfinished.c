/* SPDX-License-Identifier: MIT */
/* Unfinished connections of listeners: beyond their common limit, and without descriptors. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/gate.h"
#include "engine/shard.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/listener.h"
#include "fabric/raw.h"
#include "fabric/world.h"

static const struct mpa_frame request = { .revision = 2, .enhanced = true, .has_limits = true, .ird = 4, .ord = 4 };

/* Two listeners: on two shards, or on two adapters. */
struct pair {
    struct world w;
    struct fabric *other;
    struct acceptor acceptor;
};

static void pair_open(struct pair *p, uint32_t max_unfinished, bool own_adapter)
{
    struct addr at = loopback(AF_INET, 0);

    memset(&p->acceptor, 0, sizeof p->acceptor);
    world_defaults(&p->w);
    p->w.config_b.max_unfinished = max_unfinished;
    p->w.config_b.shards = 2;
    world_open(&p->w, AF_INET);
    p->other = p->w.b;
    if (own_adapter)
        world_open_fabric(&p->other, &p->w.config_b);
    acceptor_open(&p->acceptor, p->other, &at);
}

static void pair_close(struct pair *p)
{
    acceptor_close(&p->acceptor);
    if (p->other != p->w.b)
        p->other->ops->destroy(p->other);
    world_close(&p->w);
}

struct count {
    struct task task;
    struct gate done;
    const struct fabric_listener *l;
    unsigned count;
};

static void count_run(struct task *task)
{
    struct count *count = (struct count *)task;
    const struct fabric_conn *c;

    TAILQ_FOREACH (c, &count->l->unfinished, unfinished_link)
        count->count++;
    gate_open(&count->done);
}

/* Counts the listener's unfinished connections on the listener's shard. */
static unsigned count_one(struct fabric_listener *l)
{
    struct count count = { .task.run = count_run, .l = l };

    shard_post(iwarp_listener_shard(l), &count.task);
    CHECK(gate_wait(&count.done, UINT64_MAX));
    return count.count;
}

static unsigned unfinished_count(const struct acceptor *a, const struct acceptor *b)
{
    return count_one(a->l) + count_one(b->l);
}

static bool table_is_empty(void)
{
    return !unfinished_pop_victim(0);
}

static int client(const char *from)
{
    struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
    struct addr source = world_address(from);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    addr_set_port(&source, 0);
    CHECK(fd >= 0 && bind(fd, &source.sa, addr_len(&source)) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    return fd;
}

static void client_connect(int fd, const struct acceptor *to)
{
    CHECK(connect(fd, &to->local.sa, addr_len(&to->local)) == 0);
}

static bool is_open(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Both listeners have one limit: a connection that one accepts drops one of the other. covers: LSN-08 */
static void shared_limit(bool own_adapter)
{
    static struct pair p;
    int fd[6];

    pair_open(&p, 4, own_adapter);
    for (int i = 0; i < 6; i++) {
        fd[i] = client(i < 3 ? "127.0.0.2" : "127.0.0.3");
        client_connect(fd[i], i < 3 ? &p.w.acceptor : &p.acceptor);
        AWAIT(unfinished_count(&p.w.acceptor, &p.acceptor) == (unsigned)(i < 4 ? i + 1 : 4));
    }
    CHECK(raw_read_to_end(fd[0], NULL, 0) <= 0); /* .2 had three of five */
    CHECK(raw_read_to_end(fd[3], NULL, 0) <= 0); /* .3 had three of five */
    CHECK(is_open(fd[1]) && is_open(fd[2]) && is_open(fd[4]) && is_open(fd[5]));
    pair_close(&p); /* with unfinished connections */
    CHECK(table_is_empty());
    for (int i = 0; i < 6; i++)
        close(fd[i]);
}

static void shared_by_shards(void)
{
    shared_limit(false);
}

static void shared_by_adapters(void)
{
    shared_limit(true);
}

static rlim_t set_descriptors(rlim_t most)
{
    struct rlimit limit;
    rlim_t old;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    old = limit.rlim_cur;
    limit.rlim_cur = most;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return old;
}

static int first_free(void)
{
    int fd = dup(STDERR_FILENO);

    CHECK(fd >= 0);
    close(fd);
    return fd;
}

/* Waits until one of the open clients' connections has ended. Returns its index, or -1 if none is open. */
static int ended_one(const int *fd, bool *ended, int count)
{
    for (uint64_t until = now_ms() + WAIT_MS; now_ms() < until; world_pause())
        for (int i = 0; i < count; i++)
            if (!ended[i] && !is_open(fd[i])) {
                ended[i] = true;
                return i;
            }
    return -1;
}

/*
 * Without descriptors each request replaces an unfinished connection, on the same shard and on another one. If none
 * remains, requests are refused. The clients' sockets are opened before, and closed after.
 */
/* covers: LSN-08 */
static void without_descriptors(void)
{
    enum { SILENT = 4, ASKING = 6 };
    static const int victims[SILENT] = { 0, 1, 2, 3 };
    static struct pair p;
    bool ended[SILENT] = { false };
    int silent[SILENT], asking[ASKING], first;

    pair_open(&p, 100, false);
    for (int i = 0; i < SILENT; i++)
        silent[i] = client(i < 3 ? "127.0.0.2" : "127.0.0.3");
    for (int i = 0; i < ASKING; i++)
        asking[i] = client("127.0.0.4");
    for (int i = 0; i < SILENT; i++) {
        client_connect(silent[i], &p.w.acceptor);
        AWAIT(unfinished_count(&p.w.acceptor, &p.acceptor) == (unsigned)i + 1);
    }
    first = first_free();
    set_descriptors((rlim_t)first);
    CHECK(dup(STDERR_FILENO) < 0 && errno == EMFILE);
    for (int i = 0; i < SILENT; i++) {
        struct acceptor *to = i % 2 ? &p.w.acceptor : &p.acceptor;
        int before = atomic_load(&to->requests);

        client_connect(asking[i], to);
        CHECK(ended_one(silent, ended, SILENT) == victims[i]);
        raw_send_frame(asking[i], &request);
        AWAIT(atomic_load(&to->requests) == before + 1);
    }
    AWAIT(unfinished_count(&p.w.acceptor, &p.acceptor) == 0); /* a connection leaves the table after its event */
    CHECK(table_is_empty());
    for (int i = SILENT; i < ASKING; i++) {
        client_connect(asking[i], i % 2 ? &p.w.acceptor : &p.acceptor);
        CHECK(raw_read_to_end(asking[i], NULL, 0) < 0);
    }
    set_descriptors(1024);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    for (int i = 0; i < ASKING; i++)
        close(asking[i]);
    for (int i = 0; i < 2; i++) {
        link_close(&p.w.acceptor.link[i]);
        link_close(&p.acceptor.link[i]);
    }
    pair_close(&p);
}

/* max_unfinished 0. covers: LSN-08 */
static void half_of_the_descriptors(void)
{
    enum { ROOM = 41, CLIENTS = 30 };
    static struct world w;
    struct addr at = loopback(AF_INET, 0);
    int fd[CLIENTS], first;
    struct acceptor acceptor = { 0 };

    world_defaults(&w);
    CHECK(w.config_b.max_unfinished == 0);
    w.config_b.request_ms = 3600000; /* only the limit ends a connection */
    world_open(&w, AF_INET);
    for (int i = 0; i < CLIENTS; i++)
        fd[i] = client("127.0.0.2");
    first = first_free();
    set_descriptors((rlim_t)first + ROOM);
    acceptor_open(&acceptor, w.b, &at); /* needs one descriptor for the reservation, one for the socket */
    CHECK(net_kernel()->ops->count_free_sockets(net_kernel(), 1000) <= ROOM - 1);
    CHECK(net_kernel()->ops->count_free_sockets(net_kernel(), 7) == 7);
    unsigned expected = net_kernel()->ops->count_free_sockets(net_kernel(), 1000) / 2;
    for (int i = 0; i < CLIENTS; i++)
        client_connect(fd[i], &acceptor);
    for (int i = 0; i < CLIENTS - (int)expected; i++)
        CHECK(raw_read_to_end(fd[i], NULL, 0) <= 0);
    AWAIT(unfinished_count(&w.acceptor, &acceptor) == expected);
    for (int i = CLIENTS - (int)expected; i < CLIENTS; i++)
        CHECK(is_open(fd[i]));
    for (int i = 0; i < CLIENTS; i++)
        close(fd[i]);
    AWAIT(unfinished_count(&w.acceptor, &acceptor) == 0);
    acceptor_close(&acceptor);
    world_close(&w);
}

enum { CROWD = 40, CROWD_ROUNDS = 20, CROWD_DROPS = 60 };

/* Connects from another address, because otherwise the kernel could choose a closed listener's port as the source. */
static int crowd_connect(const struct addr *to)
{
    int fd = client("127.0.0.2");

    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    (void)connect(fd, &to->sa, addr_len(to));
    return fd;
}

/* Connects to both listeners, and again if a connection has ended, until the other end of the pipe is closed. */
static void crowd(int pipe_fd)
{
    struct pollfd over = { .fd = pipe_fd, .events = POLLIN };
    struct addr to[2];
    int fd[CROWD];

    CHECK(read(pipe_fd, to, sizeof to) == (ssize_t)sizeof to);
    for (int i = 0; i < CROWD; i++)
        fd[i] = crowd_connect(&to[i % 2]);
    for (; poll(&over, 1, 0) == 0; world_pause())
        for (int i = 0; i < CROWD; i++)
            if (!is_open(fd[i])) {
                close(fd[i]);
                fd[i] = crowd_connect(&to[i % 2]);
            }
}

static uint64_t drops(const struct pair *p)
{
    struct fabric_counters a, b;

    p->w.b->ops->counters(p->w.b, &a);
    p->other->ops->counters(p->other, &b);
    return a.dropped + b.dropped;
}

/*
 * A listener and its adapter end while its shard and another listener's drop each other's connections. The cause is a
 * lack of descriptors in every other round, and the limit in the rest.
 */
static void ends_under_attack(void)
{
    static struct pair p;
    struct addr at[2];
    int fds[2], first = 0;
    pid_t pid;

    CHECK(pipe(fds) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(fds[1]);
        crowd(fds[0]);
        exit(0);
    }
    close(fds[0]);
    pair_open(&p, 4, true);
    for (int round = 0; round < CROWD_ROUNDS; round++) {
        uint64_t until;

        if (round == 0) {
            first = first_free();
            at[0] = p.w.acceptor.local;
            at[1] = p.acceptor.local;
            CHECK(write(fds[1], at, sizeof at) == (ssize_t)sizeof at);
        } else {
            world_open_fabric(&p.other, &p.w.config_b);
            memset(&p.acceptor, 0, sizeof p.acceptor);
            acceptor_open(&p.acceptor, p.other, &at[1]);
        }
        if (round % 2 == 0)
            set_descriptors((rlim_t)first + 3);
        until = drops(&p) + CROWD_DROPS;
        AWAIT(drops(&p) >= until);
        acceptor_close(&p.acceptor);
        p.other->ops->destroy(p.other);
        set_descriptors(1024);
    }
    close(fds[1]);
    CHECK(waitpid(pid, NULL, 0) == pid);
    world_close(&p.w);
    CHECK(table_is_empty());
}

/* Runs the test in a child process, whose resource limits end with it. */
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

static void end_under_attack(void)
{
    in_child(ends_under_attack);
}

static void no_descriptors(void)
{
    in_child(without_descriptors);
}

static void automatic_limit(void)
{
    in_child(half_of_the_descriptors);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        { "no_descriptors", no_descriptors }, /* forks, so it must run before any thread */
        { "automatic_limit", automatic_limit },   { "end_under_attack", end_under_attack },
        { "shared_by_shards", shared_by_shards }, { "shared_by_adapters", shared_by_adapters },
    };

    return run_tests(tests, sizeof tests / sizeof tests[0], argc, argv);
}
