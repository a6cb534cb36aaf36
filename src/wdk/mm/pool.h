/* SPDX-License-Identifier: MIT */
/*
 * Pool as the kernel itself uses and accounts for it.
 *
 * With checks off a block comes from malloc or pool_pages.h, with a header of 16 octets, and its tag's numbers are
 * kept; a free asks nothing. With checks on (or under AddressSanitizer) every block is on record, with the stacks that
 * allocated and freed it: checked_pool.h. Both kinds may be freed in either mode.
 */
#ifndef WDK_POOL_H
#define WDK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"

/*
 * Memory of an object that the kernel makes for the driver (an MDL): zeroed, checked like the driver's own, not
 * counted.
 */
void *pool_alloc(size_t size) PRIVATE_EXPORT(pool_alloc);
void pool_free(const char *routine, void *object) PRIVATE_EXPORT(pool_free);
/* Counted, not zeroed, and at a page's start whatever the size. pool_free frees it. */
void *pool_alloc_pages(size_t size, uint32_t tag);

/* Blocks that the driver has not freed. Exact while no thread allocates or frees. */
uint64_t pool_outstanding(void);
/*
 * A line for each tag that has blocks; with checks on where they were allocated, and freed blocks are looked at once
 * more. Returns how many blocks there are.
 */
uint32_t pool_report(FILE *out);
/* The blocks that code in [start, start + size) has allocated with checks on. */
uint32_t pool_report_of(FILE *out, const void *start, uint64_t size);

/* Is it in a block of paged pool? Known while checks are on. */
bool pool_is_paged(const void *address);

#endif
