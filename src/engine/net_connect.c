/* SPDX-License-Identifier: MIT */
/* Abstract: the kernel's connecting sockets, and how it is found out what became of them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "base/mutant.h"
#include "engine/net.h"
#include "engine/net_internal.h"

static bool is_connected(int fd)
{
    struct addr peer;
    socklen_t len = sizeof peer;

    return getpeername(fd, &peer.sa, &len) == 0;
}

int net_connect(struct net *net, struct shard *s, struct net_reservation *from, const struct addr *peer,
                const struct iovec *first, size_t *sent, struct net_socket *socket)
{
    ssize_t n;
    int fd, err;

    /* Nobody listens at an address that we hold for connecting; the kernel would connect the socket to itself. */
    if (addr_equal(reservation_address(from), peer))
        return ECONNREFUSED;
    err = reservation_socket(from, &fd);
    if (err)
        return err;
    socket_reset_on_close(fd, !MUTANT(qpr_20_death_as_notice));
    if (connect(fd, &peer->sa, addr_len(peer)) && errno != EINPROGRESS) {
        err = errno;
        descriptors_close(fd);
        return err;
    }
    /* Within a host it mostly is by now, although connect says that it goes on: sending tells, even nothing. */
    socket_set_up(socket, net, fd, 0);
    n = net->ops->send(socket, first, 1);
    if (n < 0 && n != -EAGAIN) {
        descriptors_close(fd);
        return (int)-n;
    }
    if (n < 0)
        socket->flags |= CONNECTING;
    *sent = n < 0 ? 0 : (size_t)n;
    socket_set_reservation(socket, from);
    /* Only now: before it is connecting, epoll would call it hung up. */
    err = socket_attach(socket, s);
    if (err)
        socket_close(socket, true);
    return err;
}

int net_connect_result(struct net_socket *socket)
{
    int err = 0;
    socklen_t err_len = sizeof err;

    if (socket->error)
        return socket->error;
    if (socket->flags & CONNECTING)
        return EINPROGRESS;
    if (!(socket->flags & DOUBTFUL))
        return 0; /* connected at once, or room for output and nothing else was reported */
    if (is_connected(socket->fd))
        return 0;
    if (errno != ENOTCONN)
        return errno;
    if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &err, &err_len))
        return errno;
    socket->error = err;
    return err ? err : EINPROGRESS;
}
