/* SPDX-License-Identifier: MIT */
/*
 * Implements the TCP sockets of net.h by the kernel's sockets: their life, sending, receiving and options. net_epoll.c
 * finds the sockets that are ready. The invariant: SOCKET_READABLE is cleared only if the next input is certain to
 * cause a new edge in the epoll set.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "engine/net.h"
#include "engine/net_internal.h"
#include "engine/shard.h"

enum {
    LONG_ANSWER = 192 * 1024, /* after this many bytes are received without a send, TCP_QUICKACK is set */
    MIN_PATH_SEGMENT = 536,   /* a segment that every path carries (RFC 9293) */
};

/* ---- life ---- */

void socket_set_up(struct net_socket *socket, struct net *net, int fd, unsigned flags)
{
    socket->net = net;
    socket->shard = NULL;
    socket->reservation = NULL;
    socket->fd = fd;
    socket->error = 0;
    socket->flags = flags;
    socket->received_since_send = 0;
    atomic_init(&socket->paused, false);
}

void socket_set_reservation(struct net_socket *socket, struct net_reservation *r)
{
    reservation_ref(r);
    socket->reservation = r;
}

void socket_reset_on_close(int fd, bool reset)
{
    struct linger linger = { .l_onoff = reset, .l_linger = 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

void socket_close(struct net_socket *socket, bool reset)
{
    struct net_reservation *r = socket->reservation;

    if (socket->shard)
        socket_detach(socket);
    if (!reset)
        socket_reset_on_close(socket->fd, false);
    descriptors_close(socket->fd);
    socket->fd = -1;
    socket->reservation = NULL;
    if (r)
        reservation_unref(r); /* after the close, so that the next owner of the address can bind */
}

/* ---- sending and receiving ---- */

static size_t iov_total_size(const struct iovec *iov, int iovcnt)
{
    size_t sum = 0;

    for (int i = 0; i < iovcnt; i++)
        sum += iov[i].iov_len;
    return sum;
}

/*
 * Reads or writes one byte of each page of the consumer's memory, after a system call has returned EFAULT because
 * memory was not mapped. The access raises the fault that a copy by the program would have raised. So a handler of the
 * program or of a sanitizer can report the fault or map the memory. If `write` is true, writes each byte back
 * unchanged, so that the memory stays the same if the data never arrives.
 */
static void socket_touch_memory(const struct iovec *iov, int iovcnt, bool write)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (int i = 0; i < iovcnt; i++) {
        uintptr_t at = (uintptr_t)iov[i].iov_base, end = at + iov[i].iov_len;

        for (; at < end; at = (at / page + 1) * page) {
            volatile char *byte = (volatile char *)at;
            char value = *byte;

            if (write)
                *byte = value;
        }
    }
}

/*
 * Returns true if a failed system call can be repeated: after each EINTR, and after the first EFAULT. After that
 * EFAULT, touches the memory (see socket_touch_memory) and sets *touched. The caller clears *touched before the first
 * try.
 */
static bool socket_may_repeat(const struct iovec *iov, int iovcnt, bool write, bool *touched)
{
    if (errno == EINTR)
        return true;
    if (errno != EFAULT || *touched)
        return false;
    socket_touch_memory(iov, iovcnt, write);
    *touched = true;
    return true;
}

static ssize_t socket_send(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)iovcnt };
    bool touched = false;
    ssize_t n;

    do
        n = iovcnt == 1 ? send(socket->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                        : sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && socket_may_repeat(iov, iovcnt, false, &touched));
    if (n < 0 && errno != EAGAIN)
        return -errno;
    if (n > 0)
        socket->received_since_send = 0;
    if (n < 0 || (size_t)n < iov_total_size(iov, iovcnt))
        socket_wait_for_room(socket);
    return n < 0 ? -EAGAIN : n;
}

/*
 * Counts the bytes that were received since the last send, and sets TCP_QUICKACK once after LONG_ANSWER bytes. Linux
 * assumes that a socket which has answered will answer again, and delays acknowledgements until that answer. If much
 * data arrives instead, the peer waits for the acknowledgements, and BBR underestimates the path.
 */
static void socket_count_received(struct net_socket *socket, size_t n)
{
    int on = 1;

    if (socket->received_since_send >= LONG_ANSWER)
        return;
    socket->received_since_send = n < LONG_ANSWER - socket->received_since_send
                                      ? socket->received_since_send + (uint32_t)n
                                      : LONG_ANSWER;
    if (socket->received_since_send >= LONG_ANSWER)
        (void)setsockopt(socket->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

static ssize_t socket_recv(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    bool touched = false;
    ssize_t n;

    do
        n = iovcnt == 1 ? recv(socket->fd, iov->iov_base, iov->iov_len, 0) : readv(socket->fd, iov, iovcnt);
    while (n < 0 && socket_may_repeat(iov, iovcnt, true, &touched));
    if (n < 0)
        n = -errno;
    else
        socket_count_read(socket);
    if (n > 0)
        socket_count_received(socket, (size_t)n);
    /*
     * After an error, the end of the stream or a short read, the socket is empty, and later input makes a new edge. But
     * if epoll has already reported the end of the stream, no new edge follows. Then the socket stays readable after a
     * short read, so that the next recv returns the end of the stream.
     */
    if (n <= 0 || (!(socket->flags & SOCKET_ENDED) && (size_t)n < iov_total_size(iov, iovcnt))) {
        socket->flags &= ~(unsigned)SOCKET_READABLE;
        socket_update_list(socket);
    }
    return n;
}

static void socket_set_readable(struct net_socket *socket)
{
    socket->flags |= SOCKET_READABLE;
    socket_update_list(socket);
    shard_set_sockets_ready(socket->shard);
}

static void socket_pause_read(struct net_socket *socket, bool on)
{
    if (on)
        socket->flags |= SOCKET_READ_PAUSED;
    else
        socket->flags &= ~(unsigned)SOCKET_READ_PAUSED;
    socket_update_list(socket);
    if (!on && socket->flags & SOCKET_LISTED)
        shard_set_sockets_ready(socket->shard);
}

static size_t socket_max_segment(struct net_socket *socket)
{
    int size = 0;
    socklen_t len = sizeof size;

    if (getsockopt(socket->fd, IPPROTO_TCP, TCP_MAXSEG, &size, &len) || size <= 0)
        return MIN_PATH_SEGMENT;
    return (size_t)size;
}

static size_t socket_unacked_bytes(struct net_socket *socket)
{
    int n = 0;

    return ioctl(socket->fd, SIOCOUTQ, &n) || n < 0 ? 0 : (size_t)n;
}

static int socket_get_error(struct net_socket *socket)
{
    int error = 0;
    socklen_t len = sizeof error;

    return getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
}

static void socket_shut_write(struct net_socket *socket)
{
    (void)shutdown(socket->fd, SHUT_WR);
}

/* ---- the backend ---- */

struct net *net_kernel(void)
{
    static const struct net_ops ops = {
        .poller_create = net_poller_create,
        .poller_destroy = net_poller_destroy,
        .poll = net_poll,
        .watch = net_watch,
        .wait = net_wait,
        .wake = net_wake,
        .reserve = reservation_create,
        .reservation_ref = reservation_ref,
        .reservation_unref = reservation_unref,
        .connect = net_connect,
        .connect_result = net_connect_result,
        .listen = net_listen,
        .listen_pause = net_listen_pause,
        .accept = net_accept,
        .reset_accept_queue = net_reset_accept_queue,
        .count_free_sockets = net_count_free_sockets,
        .send = socket_send,
        .recv = socket_recv,
        .set_readable = socket_set_readable,
        .pause_read = socket_pause_read,
        .max_segment = socket_max_segment,
        .set_liveness = net_set_liveness,
        .unacked_bytes = socket_unacked_bytes,
        .get_error = socket_get_error,
        .shut_write = socket_shut_write,
        .detach = socket_detach,
        .attach = socket_attach,
        .interface_watch = net_interface_watch,
        .interface_is_removed = net_interface_is_removed,
        .close = socket_close,
    };
    static struct net kernel = { .ops = &ops };

    reservation_install_fork_handlers();
    return &kernel;
}
