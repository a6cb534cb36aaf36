/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_MDL_CHAIN_H
#define VERIFY_MDL_CHAIN_H

#include <ndk/ndkpi.h>

#include "verify/proxy.h"

/*
 * Reports a chain that has less than `length` bytes, or whose first `length` bytes are not virtually contiguous. Makes
 * one report at most. `routine` is the consumer's call on p.
 */
void mdl_check_chain(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length);

#endif
