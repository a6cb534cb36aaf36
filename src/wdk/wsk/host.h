/* SPDX-License-Identifier: MIT */
/*
 * The host's sockets in plain C, for the sockets of Winsock Kernel, because a file that includes Windows' headers
 * cannot include the host's. No function blocks, except wsk_host_wait. Unless its comment states another result, a
 * function returns 0 or more, or the host's errno negated. Addresses (address_map.h) and interface indexes
 * (interface_map.h) are mapped here in both directions.
 */
#ifndef ONDK_WDK_WSK_HOST_H
#define ONDK_WDK_WSK_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A sockaddr_in or sockaddr_in6 in Windows' layout. */
enum { WSK_INET = 2, WSK_INET6 = 23, WSK_INET_SIZE = 16, WSK_INET6_SIZE = 28 };
struct wsk_address {
    _Alignas(8) uint8_t bytes[WSK_INET6_SIZE];
};

static inline size_t wsk_address_size(unsigned family)
{
    return family == WSK_INET6 ? WSK_INET6_SIZE : WSK_INET_SIZE;
}

/*
 * These two functions convert between Windows' sockaddr and the host's. wsk_address_to_host returns the size of the
 * host's sockaddr.
 */
void wsk_address_from_host(struct wsk_address *a, const void *sockaddr);
size_t wsk_address_to_host(void *sockaddr, const struct wsk_address *a);
/*
 * Replaces a driver's address by the host's address if to_host is true. Otherwise does the reverse. The address has 16
 * bytes if v6 is true, else 4 bytes.
 */
void wsk_host_map_address(void *address, bool v6, bool to_host);

/* ---- One socket ---- */

int wsk_host_open(unsigned family, bool stream);
/* Closes fd. If `abort` is true, resets the connection and drops the data that the peer has not received. */
void wsk_host_close(int fd, bool abort);
int wsk_host_bind(int fd, const struct wsk_address *local);
int wsk_host_listen(int fd);
int wsk_host_connect(int fd, const struct wsk_address *remote);
/* Makes the socket unconnected. Resets its connection, if it has one. */
int wsk_host_disconnect(int fd);
int wsk_host_shutdown_send(int fd);
/*
 * Checks whether the peer's host has acknowledged all data and the FIN. Requires wsk_host_shutdown_send. Returns 0 if
 * everything is acknowledged, -EAGAIN if not yet, or the connection's error negated. A watched socket becomes ready
 * when the result changes.
 */
int wsk_host_check_fin_acked(int fd);
/* Accepts a connection. Returns the connection's file descriptor. */
int wsk_host_accept(int fd);
int wsk_host_local(int fd, struct wsk_address *local);
int wsk_host_remote(int fd, struct wsk_address *remote);
/* Sets *local to the address from which the host would send to the remote address. */
int wsk_host_route(unsigned family, const struct wsk_address *remote, struct wsk_address *local);
/* Returns the host's pending error of the socket (SO_ERROR), not negated, and clears it. */
int wsk_host_pop_error(int fd);
/*
 * Returns the number of bytes that can be received now. For a datagram socket, this is the size of the next datagram.
 */
size_t wsk_host_available(int fd);
/* Returns the number of bytes sent. `more` is true if a further call sends another part of the same send. */
ssize_t wsk_host_send(int fd, const struct iovec *parts, int count, bool more);
/*
 * Returns the number of bytes received. Returns 0 if the peer has sent its FIN and no data is left to receive. If
 * `peek` is true, the bytes stay in the host's buffer.
 */
ssize_t wsk_host_receive(int fd, const struct iovec *parts, int count, bool peek);
/* Drops up to max bytes of the received data. */
ssize_t wsk_host_discard(int fd, size_t max);

/*
 * The packet information of a datagram. For a received datagram it has the destination and the receiving interface. For
 * a datagram to send it has the source address and the interface to use. `truncated` is valid even if `present` is
 * false.
 */
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

/* wsk_host_set_option and wsk_host_get_option return -ENOPROTOOPT if the option is not supported. */
int wsk_host_set_option(int fd, unsigned family, uint32_t level, uint32_t name, const void *value, size_t size);
/* Requires that the caller has set *size to the size of the buffer. Sets *size to the size of the value. */
int wsk_host_get_option(int fd, unsigned family, uint32_t level, uint32_t name, void *value, size_t *size);
void wsk_host_set_no_delay(int fd, bool on);
bool wsk_host_has_no_delay(int fd);
/* Returns the size of the host's send buffer. */
size_t wsk_host_send_room(int fd);

/* ---- Waiting ---- */

struct wsk_poll;
struct wsk_ready {
    void *tag;   /* the tag passed to wsk_host_watch; NULL if wsk_host_wake was called */
    bool failed; /* the socket may have an error: see wsk_host_pop_error */
};

struct wsk_poll *wsk_host_poll_new(void);
void wsk_host_poll_free(struct wsk_poll *p);
/* Starts to watch `fd`: wsk_host_wait then reports `tag` once for each change of fd's state (edge-triggered). */
int wsk_host_watch(struct wsk_poll *p, int fd, void *tag);
/* Stops watching `fd`. Must be called before `fd` is closed, because a child's copy of `fd` would stay watched. */
void wsk_host_unwatch(struct wsk_poll *p, int fd);
void wsk_host_wake(struct wsk_poll *p);
/* Waits at most timeout_ms (-1: without limit). Returns the number of entries written to `ready`. */
int wsk_host_wait(struct wsk_poll *p, struct wsk_ready *ready, int max, int timeout_ms);

#endif
