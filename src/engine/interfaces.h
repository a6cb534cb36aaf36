/* SPDX-License-Identifier: MIT */
/*
 * Network interfaces and their addresses: the host's, or a simulation's. The invariant: nothing is cached that changes
 * while an adapter is open, except as `owns` documents.
 */
#ifndef ENGINE_INTERFACES_H
#define ENGINE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/host.h"

struct interfaces {
    /*
     * Fills at most max entries with the interfaces that have an address. Returns the number of such interfaces, or
     * -errno.
     */
    int (*list)(struct interfaces *self, struct interface_info *info, int max);
    /*
     * Fills at most max entries with an interface's addresses (port 0). Returns the number of its addresses, or -errno.
     */
    int (*addresses)(struct interfaces *self, uint32_t index, struct addr *addrs, int max);
    /*
     * Is this an address of the interface? On loopback, all of 127.0.0.0/8 is. Returns 0 if it is, EADDRNOTAVAIL if
     * not, or another errno if there were not enough descriptors or memory to find out. A result of 0 may be up to two
     * seconds old.
     */
    int (*owns)(struct interfaces *self, uint32_t index, const struct addr *a);
};

struct interfaces *interfaces_kernel(void);

#endif
