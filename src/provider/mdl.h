/* SPDX-License-Identifier: MIT */
/* What a chain of memory descriptors says. The provider reads it during the call alone, and never writes it. */
#ifndef PROVIDER_MDL_H
#define PROVIDER_MDL_H

#include <stdbool.h>

#include "ndk/nt.h"

/*
 * Where the memory begins. To the contract a descriptor's virtual address is no more than an index; here it is the
 * address in the one process that consumer and provider share, which is how the provider gets at the memory.
 */
unsigned char *mdl_address(const MDL *mdl);

/* Is there an address, and one range of length (not 0) octets from there, whatever the chain's cuts? */
bool mdl_is_range(const MDL *mdl, SIZE_T length);

#endif
