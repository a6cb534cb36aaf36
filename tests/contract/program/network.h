/* SPDX-License-Identifier: MIT */
/*
 * The networks in which cases run. Usually these are network namespaces, so that no other program binds the ports that
 * a case has found free. With --interface, cases use an interface of this machine.
 */
#ifndef TESTS_CONTRACT_NETWORK_H
#define TESTS_CONTRACT_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Moves the process into a new network namespace whose lo is up. A user without privileges gets a user namespace, too,
 * and becomes its root, who may run ip and nft. Returns NULL, or what failed, with errno.
 */
const char *network_unshare(void);
/*
 * Moves the process into a new network namespace whose lo is up, but creates no user namespace. Returns false without
 * privileges. Ends the program if lo cannot be set up.
 */
bool network_try_unshare(void);
/*
 * Creates `count` namespaces and stores a descriptor for each, for setns. Returns NULL, or what failed, with errno. The
 * process is in the last of the namespaces afterwards.
 */
const char *network_create(unsigned count, int *namespaces);

/* The interface that --interface names. Without this option, `index` is 0, and the cases use lo. */
struct network_interface {
    uint32_t index;
    bool has_address[2];                  /* of IPv4, IPv6 */
    struct sockaddr_storage addresses[2]; /* with port 0 */
};
extern struct network_interface network_interface;

/* Sets network_interface from an interface's name or index, or one of its addresses. Returns NULL, or what is wrong. */
const char *network_set_interface(const char *text);

#endif
