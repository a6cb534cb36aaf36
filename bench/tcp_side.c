/* SPDX-License-Identifier: MIT */
/* Opens and closes bare TCP connections in the same steps as NDK: see tcp_side.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tcp_side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORT_FIRST = 49152, PORTS = 16384, EVENTS = 64, BACKLOG = 4096 };

enum bare_state { BARE_CONNECTING, BARE_REPLY, BARE_UP, BARE_CLOSING, BARE_REQUEST, BARE_READY, BARE_SERVED };

struct tcp_conn {
    int fd, name_fd;
    unsigned slot;
    enum bare_state state;
    struct tcp_conn *free_next;
};

struct tcp_side {
    int epoll_fd, listen_fd;
    bool owns;
    struct sockaddr_in peer;
    struct tcp_conn *conns, *free_conns;
};

/* ---- sockets ---- */

static struct sockaddr_in tcp_loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int tcp_socket(int flags)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), one = 1;

    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one))
        bench_die("socket: %s", strerror(errno));
    return fd;
}

/*
 * Connects to `to` from the next free port, and stores that port in *port. Returns the socket. If `flags` has
 * SOCK_NONBLOCK, does not wait until the connection is established.
 */
static int tcp_connect_from_next(const struct sockaddr_in *to, int flags, uint16_t *port)
{
    static unsigned next;

    if (!next)
        next = (unsigned)bench_now();
    for (unsigned tries = 0; tries < PORTS; tries++) {
        struct sockaddr_in from = tcp_loopback(htons((uint16_t)(PORT_FIRST + next++ % PORTS)));
        int fd;

        *port = from.sin_port;
        if (*port == to->sin_port)
            continue;
        fd = tcp_socket(flags);
        if (!bind(fd, (struct sockaddr *)&from, sizeof from) &&
            (!connect(fd, (const struct sockaddr *)to, sizeof *to) || errno == EINPROGRESS))
            return fd;
        if (errno != EADDRINUSE && errno != EADDRNOTAVAIL)
            bench_die("connect: %s", strerror(errno));
        close(fd);
    }
    bench_die("no port is free");
}

static bool tcp_try_send(int fd, size_t size)
{
    static const char bytes[TCP_MESSAGE];

    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void tcp_send_all(int fd, size_t size)
{
    if (!tcp_try_send(fd, size))
        bench_die("send: %s", strerror(errno));
}

struct tcp_side *tcp_side_open(unsigned conns)
{
    struct tcp_side *s = bench_pages(sizeof *s);

    s->listen_fd = -1;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->conns = bench_pages(conns * sizeof *s->conns);
    for (unsigned i = conns; i-- > 0;) {
        s->conns[i].free_next = s->free_conns;
        s->free_conns = &s->conns[i];
    }
    return s;
}

static void tcp_side_watch(struct tcp_side *s, int fd, void *data, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = data };

    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event))
        bench_die("epoll_ctl: %s", strerror(errno));
}

/* ---- client ---- */

/*
 * Reserves the port as the provider reserves an address: binds a Unix socket to a name that contains the port, because
 * only one socket can be bound to a name. Returns the socket, or -1 if the name is in use.
 *
 * The kernel hashes a name by the sum of its bytes. Therefore the port's bits are scattered over the digits of the
 * name, so that successive ports have different sums.
 */
static int tcp_bind_name(uint16_t port)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0openndk/bench/" };
    size_t len = 1 + strlen(name.sun_path + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (uint32_t scatter = port * 2654435761u, i = 0; i < 8; i++)
        name.sun_path[len++] = "0123456789abcdef"[scatter >> 4 * i & 15];
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
        return fd;
    if (fd < 0 || errno != EADDRINUSE)
        bench_die("a name: %s", strerror(errno));
    close(fd);
    return -1;
}

void tcp_side_own(struct tcp_side *s)
{
    s->owns = true;
}

void tcp_side_connect_to(struct tcp_side *s, uint16_t port)
{
    s->peer = tcp_loopback(port);
}

static void tcp_client_open(struct load *l, unsigned slot)
{
    struct tcp_side *s = l->context;
    struct tcp_conn *c = &s->conns[slot];
    uint16_t port;

    c->slot = slot;
    c->state = BARE_CONNECTING;
    c->fd = tcp_connect_from_next(&s->peer, SOCK_NONBLOCK, &port);
    c->name_fd = -1;
    while (s->owns && (c->name_fd = tcp_bind_name(port)) < 0) {
        close(c->fd);
        c->fd = tcp_connect_from_next(&s->peer, SOCK_NONBLOCK, &port);
    }
    if (s->owns && tcp_try_send(c->fd, TCP_MESSAGE))
        c->state = BARE_REPLY; /* on loopback the socket is already connected, so the send has succeeded */
    tcp_side_watch(s, c->fd, c, EPOLLIN | EPOLLOUT | EPOLLET);
}

static void tcp_client_close(struct load *l, unsigned slot)
{
    struct tcp_side *s = l->context;
    struct tcp_conn *c = &s->conns[slot];

    c->state = BARE_CLOSING;
    shutdown(c->fd, SHUT_WR);
}

const struct load_backend tcp_backend = { .open = tcp_client_open, .close = tcp_client_close };

static void tcp_client_on_connected(struct tcp_conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error)
        bench_die("connect: %s", strerror(error));
    tcp_send_all(c->fd, TCP_MESSAGE);
    c->state = BARE_REPLY;
}

static void tcp_client_on_event(struct load *l, struct tcp_conn *c, uint32_t events)
{
    char bytes[TCP_MESSAGE];

    if (c->state == BARE_CONNECTING && events & EPOLLOUT) {
        tcp_client_on_connected(c);
    } else if (c->state == BARE_REPLY && events & EPOLLIN) {
        if (recv(c->fd, bytes, sizeof bytes, 0) != sizeof bytes)
            bench_die("no reply: %s", strerror(errno));
        tcp_send_all(c->fd, 1);
        c->state = BARE_UP;
        load_established(l, c->slot);
    } else if (c->state == BARE_CLOSING && events & EPOLLIN) {
        if (recv(c->fd, bytes, sizeof bytes, 0) != 0)
            bench_die("no end of stream: %s", strerror(errno));
        close(c->fd);
        if (c->name_fd >= 0)
            close(c->name_fd);
        load_closed(l, c->slot);
    }
}

void tcp_side_run(struct tcp_side *s, struct load *l)
{
    struct epoll_event events[EVENTS];

    while (!atomic_load(&l->over)) {
        int n = epoll_wait(s->epoll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++)
            tcp_client_on_event(l, events[i].data.ptr, events[i].events);
    }
    while (sem_wait(&l->end))
        continue;
}

/* ---- server ---- */

void tcp_side_listen(struct tcp_side *s, uint16_t *port)
{
    struct sockaddr_in at = tcp_loopback(0);
    socklen_t len = sizeof at;

    s->listen_fd = tcp_socket(0);
    if (bind(s->listen_fd, (struct sockaddr *)&at, sizeof at) || listen(s->listen_fd, BACKLOG) ||
        getsockname(s->listen_fd, (struct sockaddr *)&at, &len))
        bench_die("listen: %s", strerror(errno));
    *port = at.sin_port;
}

static void tcp_side_accept(struct tcp_side *s)
{
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct tcp_conn *c = s->free_conns;

    if (fd < 0)
        return;
    if (!c)
        bench_die("more connections than expected");
    s->free_conns = c->free_next;
    c->fd = fd;
    c->state = BARE_REQUEST;
    tcp_side_watch(s, fd, c, EPOLLIN);
}

static void tcp_server_on_event(struct tcp_side *s, struct tcp_conn *c)
{
    char bytes[TCP_MESSAGE];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);

    if (c->state == BARE_REQUEST && n == TCP_MESSAGE) {
        tcp_send_all(c->fd, TCP_MESSAGE);
        c->state = BARE_READY;
    } else if (c->state == BARE_READY && n == 1) {
        c->state = BARE_SERVED;
    } else if (c->state == BARE_SERVED && n == 0) {
        shutdown(c->fd, SHUT_WR);
        close(c->fd);
        c->free_next = s->free_conns;
        s->free_conns = c;
    } else if (n >= 0 || errno != EAGAIN) {
        bench_die("a peer ended the connection: state %d, %zd bytes", (int)c->state, n);
    }
}

void tcp_side_serve(struct tcp_side *s, int control)
{
    struct epoll_event events[EVENTS];
    bool is_open = true;

    if (fcntl(s->listen_fd, F_SETFL, O_NONBLOCK))
        bench_die("fcntl: %s", strerror(errno));
    tcp_side_watch(s, s->listen_fd, NULL, EPOLLIN);
    tcp_side_watch(s, control, s, EPOLLIN);
    while (is_open) {
        int n = epoll_wait(s->epoll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr)
                tcp_side_accept(s);
            else if (events[i].data.ptr == s)
                is_open = bench_answer_usage_once(control);
            else
                tcp_server_on_event(s, events[i].data.ptr);
        }
    }
}

/* ---- one at a time ---- */

int tcp_connect_blocking(uint16_t port)
{
    struct sockaddr_in to = tcp_loopback(port);
    uint16_t ours;

    return tcp_connect_from_next(&to, 0, &ours);
}

int tcp_accept_blocking(struct tcp_side *s)
{
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC), one = 1;

    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

void tcp_blocking_churn(struct load *l, uint16_t port, double seconds)
{
    uint64_t deadline = bench_now() + (uint64_t)(seconds * NS_PER_S), from = bench_now();
    char bytes[TCP_MESSAGE];

    samples_clear(&l->latencies);
    atomic_store(&l->done, 0);
    for (; from < deadline; from = bench_now()) {
        int fd = tcp_connect_blocking(port);

        tcp_send_all(fd, TCP_MESSAGE);
        if (recv(fd, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
            bench_die("no reply: %s", strerror(errno));
        tcp_send_all(fd, 1);
        samples_add(&l->latencies, (double)(bench_now() - from));
        shutdown(fd, SHUT_WR);
        if (recv(fd, bytes, sizeof bytes, 0) != 0)
            bench_die("no end of stream: %s", strerror(errno));
        close(fd);
        atomic_fetch_add(&l->done, 1);
    }
    l->ended = bench_now();
}

static void tcp_serve_connection(int fd)
{
    char bytes[TCP_MESSAGE];

    if (recv(fd, bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes) {
        tcp_send_all(fd, TCP_MESSAGE);
        if (recv(fd, bytes, 1, 0) != 1 || recv(fd, bytes, 1, 0) != 0)
            bench_die("a peer ended the connection");
        shutdown(fd, SHUT_WR);
    }
    close(fd);
}

struct ending {
    int control, listen_fd;
};

/* Makes accept return when the other process has closed the control socket. */
static void *tcp_stop_listening(void *context)
{
    struct ending *e = context;

    bench_answer_usage(e->control);
    shutdown(e->listen_fd, SHUT_RD);
    return NULL;
}

void tcp_blocking_serve(struct tcp_side *s, int control)
{
    struct ending e = { control, s->listen_fd };
    pthread_t thread;
    int fd;

    if (pthread_create(&thread, NULL, tcp_stop_listening, &e))
        bench_die("no thread");
    while ((fd = tcp_accept_blocking(s)) >= 0)
        tcp_serve_connection(fd);
    pthread_join(thread, NULL);
}
