/* SPDX-License-Identifier: MIT */
/*
 * Starts to connect a socket, and later returns the result. The invariant: a socket is added to the epoll set only
 * after the call of connect, because epoll reports a hang-up for a socket that is not connecting.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "engine/net.h"
#include "engine/net_internal.h"

static bool net_is_connected(int fd)
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

    /*
     * If both addresses are equal, the kernel would connect the socket to itself. So this function returns
     * ECONNREFUSED: no listener uses an address that is reserved for connecting.
     */
    if (addr_equal(reservation_address(from), peer))
        return ECONNREFUSED;
    err = reservation_socket(from, &fd);
    if (err)
        return err;
    socket_reset_on_close(fd, true);
    if (connect(fd, &peer->sa, addr_len(peer)) && errno != EINPROGRESS) {
        err = errno;
        descriptors_close(fd);
        return err;
    }
    /*
     * If the peer is on this host, the socket is usually connected now, although connect has returned EINPROGRESS. Then
     * send succeeds.
     */
    socket_set_up(socket, net, fd, 0);
    n = net->ops->send(socket, first, 1);
    if (n < 0 && n != -EAGAIN) {
        descriptors_close(fd);
        return (int)-n;
    }
    if (n < 0)
        socket->flags |= SOCKET_CONNECTING;
    *sent = n < 0 ? 0 : (size_t)n;
    socket_set_reservation(socket, from);
    err = socket_attach(socket, s);
    if (err)
        socket_close(socket, true);
    return err;
}

/*
 * Returns true while TCP is connecting. SO_ERROR alone does not show that TCP has failed: it also has errors after
 * which TCP repeats the SYN, for example if there was no route for a SYN.
 */
static bool net_is_connecting(int fd)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };

    return poll(&room, 1, 0) <= 0; /* poll is interrupted by a signal only if there is no event */
}

int net_connect_result(struct net_socket *socket)
{
    int err = 0;
    socklen_t err_len = sizeof err;

    if (socket->error)
        return socket->error;
    if (!(socket->flags & (SOCKET_CONNECTING | SOCKET_CONNECT_UNCERTAIN)))
        return 0; /* connected: the first send has succeeded, or epoll has reported room and no error */
    if (socket->flags & SOCKET_CONNECTING && net_is_connecting(socket->fd))
        return EINPROGRESS;
    if (net_is_connected(socket->fd))
        return 0;
    if (errno != ENOTCONN)
        return errno;
    if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &err, &err_len))
        return errno;
    socket->error = err;
    return err ? err : EINPROGRESS;
}
