/* SPDX-License-Identifier: MIT */
/* Checks that the caller may read the memory of inline data at its IRQL. */
#ifndef VERIFY_INLINE_DATA_H
#define VERIFY_INLINE_DATA_H

#include "verify/posted.h"
#include "verify/proxy.h"

/*
 * Reports a post whose inline data is in paged memory, if the caller runs at DISPATCH_LEVEL or above. Runs before the
 * provider's function.
 */
void inline_data_check(const struct proxy *queue, const struct post *post);

#endif
