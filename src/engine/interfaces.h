/* SPDX-License-Identifier: MIT */
/*
 * Declares access to network interfaces and their addresses, of the host or of a simulation. Invariant: what can change
 * while an adapter is open is not cached. The only exception is described at `owns`.
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
     * Fills at most `max` entries with the interfaces that have an address. Returns the number of all interfaces that
     * have an address, or -errno.
     */
    int (*list)(struct interfaces *self, struct interface_info *info, int max);
    /*
     * Fills at most `max` entries with the addresses of one interface (port 0). Returns the number of all its
     * addresses, or -errno.
     */
    int (*addresses)(struct interfaces *self, uint32_t index, struct addr *addrs, int max);
    /*
     * Returns 0 if the interface has the address, otherwise EADDRNOTAVAIL. Returns another errno if there are not
     * enough descriptors or memory for the check. A loopback interface has all addresses of 127.0.0.0/8. A result of 0
     * may be up to two seconds old.
     */
    int (*owns)(struct interfaces *self, uint32_t index, const struct addr *a);
};

struct interfaces *interfaces_kernel(void);

#endif
