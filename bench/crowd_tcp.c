/* SPDX-License-Identifier: MIT */
/* Implements the connections of crowd.c over bare TCP. One thread polls non-blocking sockets by epoll. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "crowd.h"
#include "tcp_side.h"

enum { EVENTS = 64 };

static void crowd_tcp_send(int fd)
{
    static const char message[CROWD_MESSAGE];

    if (send(fd, message, sizeof message, MSG_NOSIGNAL) != sizeof message)
        bench_die("send: %s", strerror(errno));
}

/*
 * Receives one message and returns true. Returns false if no message has arrived, or if the peer has closed the
 * connection.
 */
static bool crowd_tcp_receive(int fd)
{
    char message[CROWD_MESSAGE];
    ssize_t n = recv(fd, message, sizeof message, 0);

    if (n > 0 && n != sizeof message)
        bench_die("a message arrived in parts");
    return n > 0;
}

static void crowd_tcp_watch(int epoll_fd, int fd, void *data)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

    if (fcntl(fd, F_SETFL, O_NONBLOCK) || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
        bench_die("epoll_ctl: %s", strerror(errno));
}

void crowd_serve_tcp(unsigned connections, int control)
{
    struct tcp_side *s = tcp_side_open(1);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), *fds = bench_pages((connections + 1) * sizeof *fds);
    struct epoll_event events[EVENTS];
    bool is_open = true;
    uint16_t port;

    tcp_side_listen(s, &port);
    bench_send(control, &port, sizeof port);
    for (unsigned i = 0; i < connections; i++) {
        fds[i] = tcp_accept_blocking(s);
        crowd_tcp_watch(epoll_fd, fds[i], &fds[i]);
    }
    crowd_tcp_watch(epoll_fd, control, NULL);
    while (is_open) {
        int n = epoll_wait(epoll_fd, events, EVENTS, 0);

        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr)
                is_open = bench_answer_usage_once(control);
            else if (crowd_tcp_receive(*(int *)events[i].data.ptr))
                crowd_tcp_send(*(int *)events[i].data.ptr);
        }
    }
}

static void crowd_tcp_client_send(struct member *m)
{
    crowd_tcp_send(m->fd);
}

void crowd_open_tcp(struct crowd *c, int control)
{
    static int epoll_fd;
    uint16_t port;

    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    c->carrier = &epoll_fd;
    c->send = crowd_tcp_client_send;
    for (unsigned i = 0; i < c->connections; i++) {
        c->members[i].fd = tcp_connect_blocking(port);
        crowd_tcp_watch(epoll_fd, c->members[i].fd, &c->members[i]);
    }
}

void crowd_run_tcp(struct crowd *c)
{
    struct epoll_event events[EVENTS];
    int epoll_fd = *(int *)c->carrier;

    crowd_begin(c);
    while (!crowd_is_over(c)) {
        int n = epoll_wait(epoll_fd, events, EVENTS, 0);

        for (int i = 0; i < n; i++) {
            struct member *m = events[i].data.ptr;

            if (crowd_tcp_receive(m->fd))
                crowd_answered(m);
        }
    }
}
