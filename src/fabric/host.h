/* SPDX-License-Identifier: MIT */
/*
 * Declares the functions that list the host's adapters and create an adapter's fabric. Each interface that has an
 * address is an adapter.
 */
#ifndef FABRIC_HOST_H
#define FABRIC_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/host.h"
#include "fabric/config.h"
#include "fabric/fabric.h"

/* Fills at most `max` entries of `info`. Returns the number of interfaces that have at least one address, or -errno. */
int host_interfaces(struct interface_info *info, int max);
/*
 * Copies at most `max` addresses of one interface to `addrs`. The ports are 0, and link-local addresses have their
 * scope. Returns the number of addresses that the interface has, or -errno.
 */
int host_interface_addresses(uint32_t if_index, struct addr *addrs, int max);
/*
 * Finds the socket that uses a local address. Returns false if there is no such socket, or if the kernel does not
 * report the socket.
 */
bool host_address_holder(const struct addr *local, struct address_holder *holder);

/*
 * Creates the fabric of an interface's adapter. Returns 0 or errno (ENODEV: no such interface; ENETDOWN: the interface
 * has no address; ENOMEM, EMFILE...). May block. The caller must destroy the fabric with fabric_ops.destroy.
 */
int host_open_fabric(uint32_t if_index, const struct fabric_config *config, struct fabric **out);
/* Returns true if the calling thread is a shard's thread. The caller then runs inside a callback of the fabric. */
bool host_is_fabric_thread(void);

#endif
