/* SPDX-License-Identifier: MIT */
/* The adapters of this host: its interfaces and their addresses, and the one place that selects an adapter's fabric. */
#ifndef FABRIC_HOST_H
#define FABRIC_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/host.h"
#include "fabric/config.h"
#include "fabric/fabric.h"

/* Fills at most max, returns how many there are; -errno. Interfaces that have at least one address. */
int host_interfaces(struct interface_info *info, int max);
/* The addresses of one interface (port 0), link-local ones with their scope; returns how many there are; -errno. */
int host_interface_addresses(uint32_t if_index, struct addr *addrs, int max);
/* Returns false if nobody has the address, or the kernel does not report it. */
bool host_address_holder(const struct addr *local, struct address_holder *holder);

/*
 * Creates the fabric of an interface's adapter. 0 or errno (ENODEV: no such interface; ENETDOWN: it has no address;
 * ENOMEM, EMFILE...). May block. The caller destroys it by fabric_ops.destroy.
 */
int host_open_fabric(uint32_t if_index, const struct fabric_config *config, struct fabric **out);
/* Is the caller a thread of a fabric's, so in a callback? */
bool host_is_fabric_thread(void);

#endif
