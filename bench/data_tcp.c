/* SPDX-License-Identifier: MIT */
/*
 * Bare TCP doing the work of the measurements in drive.c by itself: poll (non-blocking, both ends looking on), wait
 * (blocking), and sends one way (blocking, which is the faster way here, too), each message by one call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "tcp_side.h"

enum { CHUNK = 1 << 20, LOOK_AT_CLOCK = 16 };

static const double WARM_UP = 0.1;

/* All of it, looking on where the socket is non-blocking; false at the end of the stream. */
static bool get(int fd, uint8_t *to, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = recv(fd, to + have, size - have, 0);

        if (n == 0)
            return false;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("recv: %s", strerror(errno));
        have += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void put(int fd, const uint8_t *from, size_t size)
{
    while (size) {
        ssize_t n = send(fd, from, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("send: %s", strerror(errno));
        from += n > 0 ? (size_t)n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

static bool one_way(const struct job *j)
{
    return !strcmp(j->test, "sends");
}

static void look_on(int fd, const struct job *j)
{
    if (!strcmp(j->test, "poll") && fcntl(fd, F_SETFL, O_NONBLOCK))
        bench_die("fcntl: %s", strerror(errno));
}

static void serve(const struct job *j, int control)
{
    struct tcp_side *s = tcp_side_open(1);
    uint8_t *memory = bench_pages(CHUNK);
    uint16_t port;
    int fd;

    tcp_side_listen(s, &port);
    bench_tell(control, &port, sizeof port);
    fd = tcp_accept_blocking(s);
    look_on(fd, j);
    if (one_way(j)) {
        ssize_t n;

        while ((n = recv(fd, memory, CHUNK, 0)) > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
            continue;
        put(fd, memory, 1); /* everything has come */
    } else {
        while (get(fd, memory, j->size))
            put(fd, memory, j->size);
    }
    close(fd);
}

static void messages(const struct job *j, int fd, uint8_t *memory, struct outcome *o)
{
    uint64_t deadline = bench_now() + (uint64_t)((WARM_UP + j->seconds) * NS_PER_S);

    o->from = bench_now();
    for (; o->ops % LOOK_AT_CLOCK || bench_now() < deadline; o->ops++)
        put(fd, memory, j->size);
    shutdown(fd, SHUT_WR);
    (void)get(fd, memory, 1);
    o->ended = bench_now();
}

static void trips(const struct job *j, int fd, uint8_t *memory, struct outcome *o)
{
    uint64_t now = bench_now(), warm = now + (uint64_t)(WARM_UP * NS_PER_S);
    uint64_t deadline = warm + (uint64_t)(j->seconds * NS_PER_S), from;

    for (from = now; now < deadline; from = now) {
        put(fd, memory, j->size);
        (void)get(fd, memory, j->size);
        now = bench_now();
        if (now >= warm)
            samples_add(&o->trips, (double)(now - from) / 2);
    }
}

static void client(const struct job *j, int control, struct outcome *o)
{
    uint8_t *memory = bench_pages(CHUNK);
    uint16_t port;
    int fd;

    if (!bench_hear(control, &port, sizeof port))
        bench_die("the second process does not serve");
    fd = tcp_connect_blocking(port);
    memset(memory, 0xa5, CHUNK);
    o->sockets = bench_sockets();
    look_on(fd, j);
    (one_way(j) ? messages : trips)(j, fd, memory, o);
    close(fd);
}

int drive_tcp(const struct job *j)
{
    struct outcome o;
    int control;
    bool pinned;
    pid_t child;

    if (!one_way(j) && strcmp(j->test, "poll") && strcmp(j->test, "wait"))
        bench_die("bare TCP has no %s", j->test);
    child = bench_fork(&control, (unsigned)j->seconds + 1);
    pinned = bench_pin(child ? 0 : 1);
    if (!child) {
        serve(j, control);
        return 0;
    }
    outcome_init(&o);
    client(j, control, &o);
    close(control);
    bench_join(child);
    outcome_print(j, &o, pinned);
    return 0;
}
