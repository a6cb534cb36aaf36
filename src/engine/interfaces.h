/* SPDX-License-Identifier: MIT */
/* Network interfaces and their addresses, as an adapter sees them: the host's, or a simulation's. */
#ifndef ENGINE_INTERFACES_H
#define ENGINE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/host.h"

struct interfaces {
    /* Fills at most max, returns how many there are; -errno. Interfaces that have at least one address. */
    int (*list)(struct interfaces *self, struct interface_info *info, int max);
    /* The addresses of one interface (port 0), link-local ones with their scope; returns how many; -errno. */
    int (*addresses)(struct interfaces *self, uint32_t index, struct addr *addrs, int max);
    /*
     * Is it an address of this interface? On loopback all of 127.0.0.0/8 is. 0: it is; EADDRNOTAVAIL: it is not; any
     * other errno: that could not be found out, for lack of descriptors or memory.
     */
    int (*owns)(struct interfaces *self, uint32_t index, const struct addr *a);
};

struct interfaces *interfaces_kernel(void);

#endif
