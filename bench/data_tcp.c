/* SPDX-License-Identifier: MIT */
/*
 * Bare TCP for three tests of drive.c: `poll` (both ends poll with non-blocking calls), `wait` (blocking calls) and
 * `sends` (one way, with blocking calls, which are faster than polling). Each message is sent by one call.
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

enum { CHUNK = 1 << 20, POSTS_PER_CLOCK = 16 };

static const double WARM_UP = 0.1;

/*
 * Receives `size` bytes and returns true. Polls if the socket is non-blocking. Returns false if the peer has closed the
 * connection.
 */
static bool tcp_receive(int fd, uint8_t *to, size_t size)
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

static void tcp_send(int fd, const uint8_t *from, size_t size)
{
    while (size) {
        ssize_t n = send(fd, from, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("send: %s", strerror(errno));
        from += n > 0 ? (size_t)n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

static bool tcp_is_one_way(const struct job *j)
{
    return !strcmp(j->test, "sends");
}

static void tcp_set_polling(int fd, const struct job *j)
{
    if (!strcmp(j->test, "poll") && fcntl(fd, F_SETFL, O_NONBLOCK))
        bench_die("fcntl: %s", strerror(errno));
}

static void tcp_serve(const struct job *j, int control)
{
    struct tcp_side *s = tcp_side_open(1);
    uint8_t *memory = bench_pages(CHUNK);
    uint16_t port;
    int fd;

    tcp_side_listen(s, &port);
    bench_send(control, &port, sizeof port);
    fd = tcp_accept_blocking(s);
    tcp_set_polling(fd, j);
    if (tcp_is_one_way(j)) {
        ssize_t n;

        while ((n = recv(fd, memory, CHUNK, 0)) > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
            continue;
        tcp_send(fd, memory, 1); /* confirms that everything was received */
    } else {
        while (tcp_receive(fd, memory, j->size))
            tcp_send(fd, memory, j->size);
    }
    close(fd);
}

static void tcp_measure_sends(const struct job *j, int fd, uint8_t *memory, struct outcome *o)
{
    uint64_t deadline = bench_now() + (uint64_t)((WARM_UP + j->seconds) * NS_PER_S);

    o->from = bench_now();
    for (; o->ops % POSTS_PER_CLOCK || bench_now() < deadline; o->ops++)
        tcp_send(fd, memory, j->size);
    shutdown(fd, SHUT_WR);
    (void)tcp_receive(fd, memory, 1);
    o->ended = bench_now();
}

static void tcp_measure_trips(const struct job *j, int fd, uint8_t *memory, struct outcome *o)
{
    uint64_t now = bench_now(), warm = now + (uint64_t)(WARM_UP * NS_PER_S);
    uint64_t deadline = warm + (uint64_t)(j->seconds * NS_PER_S), from;

    for (from = now; now < deadline; from = now) {
        tcp_send(fd, memory, j->size);
        (void)tcp_receive(fd, memory, j->size);
        now = bench_now();
        if (now >= warm)
            samples_add(&o->trips, (double)(now - from) / 2);
    }
}

static void tcp_client(const struct job *j, int control, struct outcome *o)
{
    uint8_t *memory = bench_pages(CHUNK);
    uint16_t port;
    int fd;

    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    fd = tcp_connect_blocking(port);
    memset(memory, 0xa5, CHUNK);
    o->sockets = bench_sockets();
    tcp_set_polling(fd, j);
    (tcp_is_one_way(j) ? tcp_measure_sends : tcp_measure_trips)(j, fd, memory, o);
    close(fd);
}

int drive_tcp(const struct job *j)
{
    struct outcome o;
    int control;
    bool pinned;
    pid_t child;

    if (!tcp_is_one_way(j) && strcmp(j->test, "poll") && strcmp(j->test, "wait"))
        bench_die("bare TCP has no %s", j->test);
    child = bench_fork(&control, (unsigned)j->seconds + 1);
    pinned = bench_pin(child ? 0 : 1);
    if (!child) {
        tcp_serve(j, control);
        return 0;
    }
    outcome_init(&o);
    tcp_client(j, control, &o);
    close(control);
    bench_join(child);
    outcome_print(j, &o, pinned);
    return 0;
}
