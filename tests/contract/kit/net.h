/* SPDX-License-Identifier: MIT */
/*
 * Second hosts and second processes for contract cases. A second host is a network namespace that a child of the case
 * holds; a wire (a socket pair) joins the case and the child. Children are forked before the case has any thread, and
 * end with it, whatever happens. What needs ip or nft skips the case, with the reason, where they are missing.
 */
#ifndef TESTS_CONTRACT_KIT_NET_H
#define TESTS_CONTRACT_KIT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "ndk/ndkpi.h"

struct kit_child {
    pid_t pid;
    int wire;
};
/* Runs run(wire) in a child, in a network namespace of its own if wanted (its lo is up). */
void kit_fork(struct kit_child *child, void (*run)(int wire), bool own_net);
/* Ends a child's wait on the wire; its run must then return without a failed check. */
void kit_join(struct kit_child *child);
/* Whole messages; kit_hear fails the case where the other side has ended. */
void kit_say(int wire, const void *bytes, size_t len);
void kit_hear(int wire, void *bytes, size_t len);
/* A child that does nothing but hold its namespace until kit_join. */
void kit_hold(int wire);

/* One command of ip or nft, words parted by one space; it must succeed. */
void kit_ip(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kit_ip_at(const struct kit_child *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kit_nft(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * A cable: interface `near` here, with 10.9.0.1/24, fd09::1/64 and fe80::9:1, and `far` in the child's
 * namespace, up and without any address: nobody answers there.
 */
void kit_cable(const struct kit_child *other);
/* Gives `far` 10.9.0.2/24, fd09::2/64 and fe80::9:2: from now on the other host answers. */
void kit_far_address(const struct kit_child *other);
/* Waits until one of this host's addresses can be used: an IPv6 address cannot at once. */
void kit_await_address(const char *address);
/* Gives this host one more address on lo, to which there is a way from `from` (port 0) when this returns. */
void kit_host_address(const char *address, const struct sockaddr_storage *from);
/* The host number (1 or 2) on the cable, of the case's family, with a port. */
struct sockaddr_storage kit_cable_host(int number, unsigned short port);

/* Binds sockets of the case's own to every port from 49152 to 65535 of kit_host(); skips where the limits forbid it. */
enum { KIT_PORT_FIRST = 49152, KIT_PORTS = 65536 - KIT_PORT_FIRST };
void kit_take_ports(int sockets[KIT_PORTS]);
bool kit_port_is_dynamic(unsigned short port);

/* How many descriptors below 1024 are open; no case of this kind opens more. */
int kit_descriptors(void);
/* Leaves room for so many new ones. Returns what kit_restore_descriptors takes. */
unsigned long long kit_leave_descriptors(int room);
void kit_restore_descriptors(unsigned long long old);

NDK_ADAPTER *kit_open_on(const char *interface);

#endif
