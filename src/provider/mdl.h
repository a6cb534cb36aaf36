/* SPDX-License-Identifier: MIT */
/*
 * Chains of memory descriptors. The invariant: the provider reads a chain only during the call that passes it, and
 * never writes it.
 */
#ifndef PROVIDER_MDL_H
#define PROVIDER_MDL_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/nt.h"

/* The address that requests name the memory by. It is an index: the provider does not access memory through it. */
uint64_t mdl_virtual_address(const MDL *mdl);

/*
 * The memory itself: the system mapping, if the descriptor has one. Otherwise the virtual address, as consumer and
 * provider share one process.
 */
unsigned char *mdl_memory(const MDL *mdl);

/* Does the chain describe length (not 0) bytes that are contiguous by virtual address and in memory? */
bool mdl_is_range(const MDL *mdl, SIZE_T length);

#endif
