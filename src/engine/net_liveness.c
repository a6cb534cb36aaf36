/* SPDX-License-Identifier: MIT */
/*
 * Sets TCP's own limits for peers that do not answer. While all data is acknowledged, keepalive probes find a dead
 * peer. While data is unacknowledged, TCP_USER_TIMEOUT finds it. If TCP_USER_TIMEOUT is set, it also limits the probes,
 * instead of TCP_KEEPCNT. Both end the connection with ETIMEDOUT, or with the error that a router or the neighbour
 * lookup has reported meanwhile. The invariant: the kernel accepts all values that are set, so setting them cannot
 * fail.
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

static int liveness_seconds(uint32_t ms)
{
    return (int)(ms / MS_PER_S + (ms % MS_PER_S != 0));
}

/* Sets an option of a TCP socket. The kernel needs no memory for this, so the call does not fail. */
static void liveness_set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

void net_set_liveness(struct net_socket *socket, const struct net_liveness *l)
{
    if (l->unacked_ms > 0)
        liveness_set_option(socket->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)l->unacked_ms);
    if (l->idle_ms == 0)
        return;
    liveness_set_option(socket->fd, IPPROTO_TCP, TCP_KEEPIDLE, liveness_seconds(l->idle_ms));
    liveness_set_option(socket->fd, IPPROTO_TCP, TCP_KEEPINTVL, liveness_seconds(l->interval_ms));
    liveness_set_option(socket->fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    liveness_set_option(socket->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}
