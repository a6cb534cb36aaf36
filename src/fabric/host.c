/* SPDX-License-Identifier: MIT */
/*
 * Lists the host's adapters and creates their fabrics. Every interface that has an address is an adapter. The fabric of
 * every adapter is iWARP over the kernel's TCP. The invariant: only this file selects an adapter's fabric.
 */
#include "fabric/host.h"

#include <errno.h>

#include "engine/interfaces.h"
#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/iwarp/iwarp_fabric.h"

int host_interfaces(struct interface_info *info, int max)
{
    struct interfaces *interfaces = interfaces_kernel();

    return interfaces->list(interfaces, info, max);
}

int host_interface_addresses(uint32_t if_index, struct addr *addrs, int max)
{
    struct interfaces *interfaces = interfaces_kernel();

    return interfaces->addresses(interfaces, if_index, addrs, max);
}

bool host_address_holder(const struct addr *local, struct address_holder *holder)
{
    return net_address_holder(local, holder);
}

int host_open_fabric(uint32_t if_index, const struct fabric_config *config, struct fabric **out)
{
    struct executor *executor = executor_threads();

    if (!executor)
        return ENOMEM;
    return iwarp_fabric_create(executor, net_kernel(), interfaces_kernel(), if_index, config, out);
}

bool host_is_fabric_thread(void)
{
    return executor_on_worker();
}
