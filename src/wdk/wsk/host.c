/* SPDX-License-Identifier: MIT */
/* Calls the host's sockets: see host.h. Every address and interface index that passes through this file is mapped. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wdk/wsk/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wdk/common/address_map.h"
#include "wdk/common/interface_map.h"
#include "wdk/common/tally.h"

enum { LISTEN_BACKLOG = 200, MAX_READY = 32 };

static int wsk_host_result(int answer)
{
    return answer < 0 ? -errno : answer;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

union host_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t wsk_host_encode_address(union host_address *host, const struct wsk_address *a)
{
    uint16_t family;

    memset(host, 0, sizeof *host);
    memcpy(&family, a->bytes, sizeof family);
    memcpy(host, a->bytes, wsk_address_size(family));
    address_map_to_host(host, wsk_address_size(family));
    if (family != WSK_INET6)
        return sizeof host->v4;
    host->v6.sin6_family = AF_INET6;
    host->v6.sin6_scope_id = host->v6.sin6_scope_id ? interface_map_host(host->v6.sin6_scope_id) : 0;
    return sizeof host->v6;
}

static void wsk_host_decode_address(struct wsk_address *a, const union host_address *host)
{
    union host_address mapped = *host;
    uint16_t family = host->any.sa_family == AF_INET6 ? WSK_INET6 : WSK_INET;

    memset(a, 0, sizeof *a);
    address_map_to_driver(&mapped, family == WSK_INET6 ? sizeof mapped.v6 : sizeof mapped.v4);
    if (family == WSK_INET6 && mapped.v6.sin6_scope_id)
        mapped.v6.sin6_scope_id = interface_map_driver(mapped.v6.sin6_scope_id);
    memcpy(a->bytes, &mapped, wsk_address_size(family));
    memcpy(a->bytes, &family, sizeof family);
}

void wsk_address_from_host(struct wsk_address *a, const void *sockaddr)
{
    union host_address host = { .any = { .sa_family = AF_UNSPEC } };
    sa_family_t family = ((const struct sockaddr *)sockaddr)->sa_family;

    memcpy(&host, sockaddr, family == AF_INET6 ? sizeof host.v6 : sizeof host.v4);
    wsk_host_decode_address(a, &host);
}

size_t wsk_address_to_host(void *sockaddr, const struct wsk_address *a)
{
    union host_address host;
    socklen_t size = wsk_host_encode_address(&host, a);

    memcpy(sockaddr, &host, size);
    return size;
}

void wsk_host_map_address(void *address, bool v6, bool to_host)
{
    union host_address host = { .v6 = { .sin6_family = v6 ? AF_INET6 : AF_INET } };
    void *at = v6 ? (void *)&host.v6.sin6_addr : (void *)&host.v4.sin_addr;
    const size_t size = v6 ? sizeof host.v6.sin6_addr : sizeof host.v4.sin_addr;

    memcpy(at, address, size);
    if (to_host)
        address_map_to_host(&host, sizeof host);
    else
        address_map_to_driver(&host, sizeof host);
    memcpy(address, at, size);
}

/* ---- One socket -------------------------------------------------------------------------------------------------- */

static void wsk_host_set_int(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value); /* every host supports the options that are set here */
}

/*
 * Opens a socket. As on Windows, an IPv6 socket does not accept IPv4. Datagram sockets always request packet
 * information, because the destination shows whether a datagram was a broadcast or multicast.
 */
int wsk_host_open(unsigned family, bool stream)
{
    int fd = socket(family == WSK_INET6 ? AF_INET6 : AF_INET,
                    (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (family == WSK_INET6)
        wsk_host_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (stream)
        wsk_host_set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1); /* urgent bytes are received like other bytes */
    if (!stream && family == WSK_INET6)
        wsk_host_set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    else if (!stream)
        wsk_host_set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
    return fd;
}

int wsk_host_bind(int fd, const struct wsk_address *local)
{
    union host_address host;
    socklen_t size = wsk_host_encode_address(&host, local);

    return wsk_host_result(bind(fd, &host.any, size));
}

int wsk_host_listen(int fd)
{
    return wsk_host_result(listen(fd, LISTEN_BACKLOG));
}

int wsk_host_connect(int fd, const struct wsk_address *remote)
{
    union host_address host;
    socklen_t size = wsk_host_encode_address(&host, remote);

    return wsk_host_result(connect(fd, &host.any, size));
}

int wsk_host_disconnect(int fd)
{
    const struct sockaddr none = { .sa_family = AF_UNSPEC };

    return wsk_host_result(connect(fd, &none, sizeof none));
}

int wsk_host_shutdown_send(int fd)
{
    return wsk_host_result(shutdown(fd, SHUT_WR));
}

int wsk_host_check_fin_acked(int fd)
{
    struct tcp_info info = { .tcpi_state = 0 };
    socklen_t size = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return -errno;
    if (info.tcpi_state == TCP_FIN_WAIT1 || info.tcpi_state == TCP_CLOSING || info.tcpi_state == TCP_LAST_ACK)
        return -EAGAIN;
    return info.tcpi_state == TCP_CLOSE ? -wsk_host_pop_error(fd) : 0;
}

/*
 * Disconnects or shuts down the socket before it closes `fd`, because close() does not end the connection while a child
 * process has a copy of `fd`.
 */
void wsk_host_close(int fd, bool abort)
{
    if (abort)
        (void)wsk_host_disconnect(fd);
    else
        (void)shutdown(fd, SHUT_RDWR);
    close(fd);
}

int wsk_host_accept(int fd)
{
    int accepted = wsk_host_result(accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));

    if (accepted >= 0)
        tally_add(TALLY_WSK, TALLY_WSK_ACCEPT, 0, 0);
    return accepted;
}

int wsk_host_local(int fd, struct wsk_address *local)
{
    union host_address host;
    socklen_t size = sizeof host;
    int error = wsk_host_result(getsockname(fd, &host.any, &size));

    if (!error)
        wsk_host_decode_address(local, &host);
    return error;
}

int wsk_host_remote(int fd, struct wsk_address *remote)
{
    union host_address host;
    socklen_t size = sizeof host;
    int error = wsk_host_result(getpeername(fd, &host.any, &size));

    if (!error)
        wsk_host_decode_address(remote, &host);
    return error;
}

int wsk_host_route(unsigned family, const struct wsk_address *remote, struct wsk_address *local)
{
    int fd = wsk_host_open(family, false);
    int error = fd < 0 ? fd : wsk_host_connect(fd, remote);

    if (!error)
        error = wsk_host_local(fd, local);
    if (fd >= 0)
        close(fd);
    return error;
}

int wsk_host_pop_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno : error;
}

size_t wsk_host_available(int fd)
{
    int bytes = 0;

    return ioctl(fd, FIONREAD, &bytes) || bytes < 0 ? 0 : (size_t)bytes;
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static ssize_t wsk_host_io_result(ssize_t answer)
{
    return answer < 0 ? -errno : answer;
}

/* Works like wsk_host_io_result, but also counts the bytes that were sent or received. */
static ssize_t wsk_host_count(enum tally_wsk what, ssize_t answer)
{
    if (answer > 0)
        tally_add(TALLY_WSK, (uint8_t)what, 0, (uint64_t)answer);
    return wsk_host_io_result(answer);
}

static struct msghdr wsk_host_message(const struct iovec *parts, int count)
{
    return (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count };
}

ssize_t wsk_host_send(int fd, const struct iovec *parts, int count, bool more)
{
    struct msghdr m = wsk_host_message(parts, count);

    return wsk_host_count(TALLY_WSK_SEND, sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0)));
}

ssize_t wsk_host_receive(int fd, const struct iovec *parts, int count, bool peek)
{
    struct msghdr m = wsk_host_message(parts, count);

    if (peek)
        return wsk_host_io_result(recvmsg(fd, &m, MSG_DONTWAIT | MSG_PEEK));
    return wsk_host_count(TALLY_WSK_RECEIVE, recvmsg(fd, &m, MSG_DONTWAIT));
}

ssize_t wsk_host_discard(int fd, size_t max)
{
    return wsk_host_count(TALLY_WSK_RECEIVE, recv(fd, NULL, max, MSG_DONTWAIT | MSG_TRUNC));
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static void wsk_host_encode_info(struct msghdr *m, union control *control, const struct wsk_packet_info *info)
{
    struct in6_pktinfo v6 = { .ipi6_ifindex = info->interface ? interface_map_host(info->interface) : 0 };
    struct in_pktinfo v4 = { .ipi_ifindex = (int)v6.ipi6_ifindex };
    size_t size = info->v6 ? sizeof v6 : sizeof v4;

    memset(control, 0, sizeof *control);
    memcpy(&v6.ipi6_addr, info->address, sizeof v6.ipi6_addr);
    memcpy(&v4.ipi_spec_dst, info->address, sizeof v4.ipi_spec_dst);
    wsk_host_map_address(info->v6 ? (void *)&v6.ipi6_addr : (void *)&v4.ipi_spec_dst, info->v6, true);
    m->msg_control = control->bytes;
    m->msg_controllen = CMSG_SPACE(size);
    control->header.cmsg_len = CMSG_LEN(size);
    control->header.cmsg_level = info->v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    control->header.cmsg_type = info->v6 ? IPV6_PKTINFO : IP_PKTINFO;
    memcpy(CMSG_DATA(&control->header), info->v6 ? (const void *)&v6 : (const void *)&v4, size);
}

static void wsk_host_decode_info(struct wsk_packet_info *info, struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    struct in_pktinfo v4;
    struct in6_pktinfo v6;

    *info = (struct wsk_packet_info){ .truncated = m->msg_flags & MSG_TRUNC };
    if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
        memcpy(&v4, CMSG_DATA(c), sizeof v4);
        info->present = true;
        info->multicast = IN_MULTICAST(ntohl(v4.ipi_addr.s_addr));
        info->broadcast = !info->multicast && v4.ipi_addr.s_addr != v4.ipi_spec_dst.s_addr;
        info->interface = interface_map_driver((uint32_t)v4.ipi_ifindex);
        memcpy(info->address, &v4.ipi_addr, sizeof v4.ipi_addr);
    } else if (c && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
        memcpy(&v6, CMSG_DATA(c), sizeof v6);
        info->present = info->v6 = true;
        info->multicast = v6.ipi6_addr.s6_addr[0] == 0xff;
        info->interface = interface_map_driver(v6.ipi6_ifindex);
        memcpy(info->address, &v6.ipi6_addr, sizeof v6.ipi6_addr);
    }
    if (info->present)
        wsk_host_map_address(info->address, info->v6, false);
}

ssize_t wsk_host_send_to(int fd, const struct iovec *parts, int count, const struct wsk_address *to,
                         const struct wsk_packet_info *info)
{
    struct msghdr m = wsk_host_message(parts, count);
    union host_address host;
    union control control;

    m.msg_name = &host;
    m.msg_namelen = wsk_host_encode_address(&host, to);
    if (info->present)
        wsk_host_encode_info(&m, &control, info);
    return wsk_host_count(TALLY_WSK_SEND, sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT));
}

ssize_t wsk_host_receive_from(int fd, const struct iovec *parts, int count, struct wsk_address *from,
                              struct wsk_packet_info *info)
{
    struct msghdr m = wsk_host_message(parts, count);
    union host_address host = { .any = { .sa_family = AF_UNSPEC } };
    union control control;
    ssize_t n;

    m.msg_name = &host;
    m.msg_namelen = sizeof host;
    m.msg_control = control.bytes;
    m.msg_controllen = sizeof control;
    n = wsk_host_count(TALLY_WSK_RECEIVE, recvmsg(fd, &m, MSG_DONTWAIT));
    if (n >= 0) {
        wsk_host_decode_address(from, &host);
        wsk_host_decode_info(info, &m);
    }
    return n;
}

/* ---- Options that OpenNDK reads and sets without a call of the driver -------------------------------------------- */

void wsk_host_set_no_delay(int fd, bool on)
{
    wsk_host_set_int(fd, IPPROTO_TCP, TCP_NODELAY, on);
}

bool wsk_host_has_no_delay(int fd)
{
    int on = 0;
    socklen_t size = sizeof on;

    return !getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size) && on;
}

size_t wsk_host_send_room(int fd)
{
    int bytes = 0;
    socklen_t size = sizeof bytes;

    return getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size) || bytes < 0 ? 0 : (size_t)bytes;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

struct wsk_poll {
    int epoll, wake;
};

struct wsk_poll *wsk_host_poll_new(void)
{
    struct wsk_poll *p = malloc(sizeof *p);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

    if (!p)
        return NULL;
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->epoll >= 0 && p->wake >= 0 && !epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->wake, &event))
        return p;
    wsk_host_poll_free(p);
    return NULL;
}

void wsk_host_poll_free(struct wsk_poll *p)
{
    if (p->epoll >= 0)
        close(p->epoll);
    if (p->wake >= 0)
        close(p->wake);
    free(p);
}

int wsk_host_watch(struct wsk_poll *p, int fd, void *tag)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = tag };

    return wsk_host_result(epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event));
}

void wsk_host_unwatch(struct wsk_poll *p, int fd)
{
    (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL); /* fails only if fd is not watched */
}

void wsk_host_wake(struct wsk_poll *p)
{
    const uint64_t one = 1;

    (void)!write(p->wake, &one, sizeof one); /* fails only if a wake is already pending */
}

int wsk_host_wait(struct wsk_poll *p, struct wsk_ready *ready, int max, int timeout_ms)
{
    struct epoll_event events[MAX_READY];
    uint64_t count;
    int n = epoll_wait(p->epoll, events, max < MAX_READY ? max : MAX_READY, timeout_ms);

    for (int i = 0; i < n; i++) {
        ready[i].tag = events[i].data.ptr;
        ready[i].failed = events[i].events & EPOLLERR;
        if (!ready[i].tag)
            (void)!read(p->wake, &count, sizeof count);
    }
    return n < 0 ? 0 : n;
}
