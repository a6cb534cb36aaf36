/* SPDX-License-Identifier: MIT */
/*
 * Reads chains of memory descriptors. The invariant: the provider reads a chain only during the call that passes the
 * chain, and never writes to the chain.
 */
#ifndef PROVIDER_MDL_H
#define PROVIDER_MDL_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/nt.h"

/* Returns the address by which SGEs refer to the memory. The provider accesses the memory at mdl_memory instead. */
uint64_t mdl_virtual_address(const MDL *mdl);

/*
 * Returns the address at which the provider accesses the memory. This is the system mapping if the descriptor has one.
 * Otherwise it is the virtual address, because consumer and provider share one process.
 */
unsigned char *mdl_memory(const MDL *mdl);

/*
 * Returns true if the chain describes `length` bytes that are contiguous both by mdl_virtual_address and by mdl_memory.
 * Returns false if `length` is 0.
 */
bool mdl_is_range(const MDL *mdl, SIZE_T length);

#endif
