/* SPDX-License-Identifier: MIT */
/*
 * The host's interfaces, addresses and routes in plain C: the host's socket headers and Windows' (include/wdk) cannot
 * be seen by one file, and netio.c sees the latter.
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
    uint64_t bits_per_second; /* 0: not known */
    uint64_t in_octets, in_packets, in_errors, in_dropped, out_octets, out_packets, out_errors, out_dropped;
};

/* Octets are in network order; an IPv4 address has the first four. */
struct netio_address {
    uint32_t index, scope;
    bool v6;
    uint8_t prefix, octets[16];
};

/* Both give out an array to be freed, NULL if it is empty; false: there is no memory or the host refused. */
bool netio_host_interfaces(struct netio_interface **all, size_t *count);
bool netio_host_addresses(struct netio_address **all, size_t *count);

/*
 * What the host would do with a packet to `to`. A source of all zeros lets it choose; via is zeros where `to` is on
 * link.
 */
struct netio_route {
    struct netio_address to, source;
    uint8_t via[16];
    uint32_t index; /* in: 0, or through this interface; out: the interface */
    uint32_t metric;
};
/* 0, or the host's errno. */
int netio_host_route(struct netio_route *route);

enum netio_change { NETIO_CHANGED, NETIO_ADDED, NETIO_REMOVED };

struct netio_event {
    bool of_address; /* or of an interface */
    enum netio_change change;
    struct netio_address address; /* of an interface: its index alone */
};

struct netio_watch;
struct netio_watch *netio_host_watch(void);
/* Waits for the next change. False: netio_host_watch_stop was called. */
bool netio_host_watch_next(struct netio_watch *watch, struct netio_event *event);
void netio_host_watch_stop(struct netio_watch *watch);
void netio_host_watch_free(struct netio_watch *watch);

#endif
