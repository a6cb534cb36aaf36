/* SPDX-License-Identifier: MIT */
/*
 * The host's sockets in plain C, for the sockets of Winsock Kernel: the files that see Windows' headers cannot see the
 * host's. Calls never block. They return 0 or more, or the host's errno negated. Addresses that drivers have wired in
 * (address_map.h) and interface indexes (interface_map.h) are exchanged here, both ways.
 */
#ifndef ONDK_WDK_WSK_HOST_H
#define ONDK_WDK_WSK_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A sockaddr_in or sockaddr_in6 as Windows has it. */
enum { WSK_INET = 2, WSK_INET6 = 23, WSK_INET_SIZE = 16, WSK_INET6_SIZE = 28 };
struct wsk_address {
    _Alignas(8) uint8_t octets[WSK_INET6_SIZE];
};

static inline size_t wsk_address_size(unsigned family)
{
    return family == WSK_INET6 ? WSK_INET6_SIZE : WSK_INET_SIZE;
}

/* From and to a sockaddr of the host's; to gives its size. */
void wsk_host_from(struct wsk_address *a, const void *sockaddr);
size_t wsk_host_to(void *sockaddr, const struct wsk_address *a);
/* An address alone, without a sockaddr: 4 octets, or 16; exchanged in place. */
void wsk_host_map_address(void *address, bool v6, bool to_host);

/* ---- One socket ---- */

int wsk_host_open(unsigned family, bool stream);
/* abort: what the peer has not got yet is lost, and it gets a reset. */
void wsk_host_close(int fd, bool abort);
int wsk_host_bind(int fd, const struct wsk_address *local);
int wsk_host_listen(int fd);
int wsk_host_connect(int fd, const struct wsk_address *remote);
/* Back to a socket that is bound; where there is a connection, its peer gets a reset. */
int wsk_host_disconnect(int fd);
int wsk_host_shutdown_send(int fd);
/* After that. 0: the peer's host has got all, with the end. -EAGAIN: not yet; whoever watches is told then. */
int wsk_host_is_end_taken(int fd);
/* The new socket. */
int wsk_host_accept(int fd);
int wsk_host_local(int fd, struct wsk_address *local);
int wsk_host_remote(int fd, struct wsk_address *remote);
/* Which address of this host's is used to reach the remote one. */
int wsk_host_route(unsigned family, const struct wsk_address *remote, struct wsk_address *local);
/* The error that the host has kept for the socket, not negated, which then forgets it. */
int wsk_host_take_error(int fd);
/* Octets that could be read now; of a datagram socket, of the next datagram. */
size_t wsk_host_available(int fd);
ssize_t wsk_host_send(int fd, const struct iovec *parts, int count, bool more);
/* peek: they stay to be received. 0: the peer has sent its end. */
ssize_t wsk_host_receive(int fd, const struct iovec *parts, int count, bool peek);
/* That many at most, without looking at them. */
ssize_t wsk_host_discard(int fd, size_t most);

/* What comes with a datagram, or is to go with it: the address here, and the interface. */
struct wsk_packet_info {
    bool present, v6, truncated, broadcast, multicast;
    uint8_t address[16];
    uint32_t interface;
};
ssize_t wsk_host_send_to(int fd, const struct iovec *parts, int count, const struct wsk_address *to,
                         const struct wsk_packet_info *info);
ssize_t wsk_host_receive_from(int fd, const struct iovec *parts, int count, struct wsk_address *from,
                              struct wsk_packet_info *info);

/* ---- Options, by Windows' levels and names ---- */

/* -ENOPROTOOPT: none that is known here. */
int wsk_host_set_option(int fd, unsigned family, uint32_t level, uint32_t name, const void *value, size_t size);
/* *size: room, then how much there is. */
int wsk_host_get_option(int fd, unsigned family, uint32_t level, uint32_t name, void *value, size_t *size);
void wsk_host_set_no_delay(int fd, bool on);
bool wsk_host_has_no_delay(int fd);
/* What the host keeps ready to send. */
size_t wsk_host_send_room(int fd);

/* ---- Waiting ---- */

struct wsk_poll;
struct wsk_ready {
    void *tag;    /* NULL: wsk_host_wake */
    bool failed;  /* wsk_host_take_error tells more */
};

struct wsk_poll *wsk_host_poll_new(void);
void wsk_host_poll_free(struct wsk_poll *p);
/* Told whenever something changes at the socket, not as long as it stays so. */
int wsk_host_watch(struct wsk_poll *p, int fd, void *tag);
/* To close it is not enough: a child of this process may have a copy, which stays. */
void wsk_host_unwatch(struct wsk_poll *p, int fd);
void wsk_host_wake(struct wsk_poll *p);
/* How many are ready; 0: the time is over. -1: for ever. */
int wsk_host_wait(struct wsk_poll *p, struct wsk_ready *ready, int most, int milliseconds);

#endif
