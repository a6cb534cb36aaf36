/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the kernel's own limits for peers that do not answer. Without data under way keepalive probes find a dead
 * peer; with data, TCP_USER_TIMEOUT does. The latter also replaces the number of probes. Each ends the socket with
 * ETIMEDOUT, or with what a router or the neighbour lookup reported meanwhile.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "engine/net.h"
#include "engine/net_internal.h"

enum { PROBES = 3, MS_PER_S = 1000 };

static int to_seconds(uint32_t ms)
{
    return (int)(ms / MS_PER_S + (ms % MS_PER_S != 0));
}

/* These options need no memory: none fails on a TCP socket. */
static void set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

void net_set_liveness(struct net_socket *socket, const struct net_liveness *l)
{
    if (l->unacked_ms > 0)
        set_option(socket->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)l->unacked_ms);
    if (l->idle_ms == 0)
        return;
    set_option(socket->fd, IPPROTO_TCP, TCP_KEEPIDLE, to_seconds(l->idle_ms));
    set_option(socket->fd, IPPROTO_TCP, TCP_KEEPINTVL, to_seconds(l->interval_ms));
    set_option(socket->fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    set_option(socket->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}
