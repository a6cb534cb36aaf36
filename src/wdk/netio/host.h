/* SPDX-License-Identifier: MIT */
/*
 * Queries the host's interfaces, addresses and routes. The types are plain C, because a file cannot include both the
 * host's socket headers and Windows' headers (include/wdk). Interface indexes and addresses in this file are the
 * host's; the callers map them to the driver's.
 */
#ifndef ONDK_WDK_NETIO_HOST_H
#define ONDK_WDK_NETIO_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netio_interface {
    uint32_t index, mtu;
    char name[16];
    uint8_t hardware[32];
    uint32_t hardware_length;
    bool up, running, loopback, point_to_point;
    uint64_t bits_per_second; /* 0: unknown */
    uint64_t in_bytes, in_packets, in_errors, in_dropped, out_bytes, out_packets, out_errors, out_dropped;
};

/* An address of an interface. `bytes` has the address in network byte order; an IPv4 address uses the first 4 bytes. */
struct netio_address {
    uint32_t index, scope;
    bool v6;
    uint8_t prefix, bytes[16];
};

/*
 * netio_host_interfaces and netio_host_addresses set *all to an array that the caller frees, or to NULL if there are no
 * entries. They return false if the host's call fails or memory runs out.
 */
bool netio_host_interfaces(struct netio_interface **all, size_t *count);
bool netio_host_addresses(struct netio_address **all, size_t *count);

/*
 * The host's route to the address `to`. netio_host_route sets `via`, `index` and `metric`. It also chooses the source
 * address if all bytes of `source` are 0. `via` is the gateway, or all 0 if `to` is on link.
 */
struct netio_route {
    struct netio_address to, source;
    uint8_t via[16];
    uint32_t index; /* in: the interface to use, or 0 for any */
    uint32_t metric;
};
/* Finds the route. Returns 0 or the host's errno. */
int netio_host_route(struct netio_route *route);

enum netio_change { NETIO_CHANGED, NETIO_ADDED, NETIO_REMOVED };

struct netio_event {
    bool of_address; /* true: an address has changed; false: an interface has changed */
    enum netio_change change;
    struct netio_address address; /* for an interface only the index is set */
};

struct netio_watch;
/* Starts to watch the host's interfaces and addresses. Returns NULL if out of memory or file descriptors. */
struct netio_watch *netio_host_watch(void);
/* Waits for the next change. Returns false after netio_host_watch_stop, or if the wait fails. */
bool netio_host_watch_next(struct netio_watch *watch, struct netio_event *event);
/* Makes netio_host_watch_next return false. Can be called on any thread. */
void netio_host_watch_stop(struct netio_watch *watch);
void netio_host_watch_free(struct netio_watch *watch);

#endif
