/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_MDL_CHAIN_H
#define VERIFY_MDL_CHAIN_H

#include <ndk/ndkpi.h>

#include "verify/proxy.h"

/*
 * Reports an MDL chain that has less than `length` bytes, or whose first `length` bytes are not virtually contiguous.
 * Makes at most one report. `routine` is the routine that the consumer has called with p.
 */
void mdl_check_chain(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length);

#endif
