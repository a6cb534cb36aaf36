/* SPDX-License-Identifier: MIT */
/*
 * Second hosts and second processes for contract cases. A second host is a network namespace that a child process of
 * the case keeps alive. A wire (a socket pair) connects the case and the child. A case must fork its children before it
 * creates threads. The children are killed when the case ends. Functions that need the programs ip or nft skip the case
 * if the program is not installed.
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
/* Calls run(wire) in a child process. If own_net is true, the child gets its own network namespace, whose lo is up. */
void kit_fork(struct kit_child *child, void (*run)(int wire), bool own_net);
/*
 * Waits until all other threads of this process sleep. To be called before a fork whose child allocates memory: the
 * allocator of GCC's AddressSanitizer stays locked in the child if another thread holds its lock during the fork.
 */
void kit_wait_threads_asleep(void);
/* Closes the wire and waits until the child exits. The child's run must return without a failed check. */
void kit_join(struct kit_child *child);
/* These functions send and receive one message. kit_wire_receive fails the case if the other side has exited. */
void kit_wire_send(int wire, const void *bytes, size_t len);
void kit_wire_receive(int wire, void *bytes, size_t len);
/* A `run` function for kit_fork: only keeps the child's namespace alive until kit_join. */
void kit_wait_join(int wire);

/*
 * These functions run ip or nft with the formatted arguments, which are separated by spaces. The program must succeed.
 * kit_ip_at runs ip in the child's namespace.
 */
void kit_ip(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kit_ip_at(const struct kit_child *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kit_nft(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Connects the case's host with the child's host by a virtual cable. The case's interface is `near`, with 10.9.0.1/24,
 * fd09::1/64 and fe80::9:1. The child's interface is `far`, which is up but has no address, so that the child's host
 * does not answer.
 */
void kit_cable(const struct kit_child *other);
/* Adds 10.9.0.2/24, fd09::2/64 and fe80::9:2 to the child's interface `far`, so that the child's host answers. */
void kit_add_far_address(const struct kit_child *other);
/* Waits until an address of this host is usable. The kernel activates an IPv6 address some time after it was added. */
void kit_wait_address(const char *address);
/* Adds an address to lo, and waits until a socket that is bound to *from can reach it. The port of *from must be 0. */
void kit_add_address(const char *address, const struct sockaddr_storage *from);
/*
 * Returns the address of a host on the cable that kit_cable has made. `number` is 1 for the case's host, and 2 for the
 * child's host. The address is of the case's address family.
 */
struct sockaddr_storage kit_cable_host(int number, unsigned short port);

/* Binds a socket to every port of kit_host() from 49152 to 65535. Skips the case if the descriptor limit is too low. */
enum { KIT_PORT_FIRST = 49152, KIT_PORTS = 65536 - KIT_PORT_FIRST };
void kit_bind_ports(int sockets[KIT_PORTS]);
bool kit_port_is_dynamic(unsigned short port);

/* Returns the number of open descriptors below 1024. */
int kit_count_descriptors(void);
/* Lets the process open only `room` more descriptors. Returns the old limit, for kit_restore_descriptors. */
unsigned long long kit_limit_descriptors(int room);
void kit_restore_descriptors(unsigned long long old);

NDK_ADAPTER *kit_open_interface(const char *interface);

#endif
