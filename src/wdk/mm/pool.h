/* SPDX-License-Identifier: MIT */
/*
 * Pool: ExAllocatePool... and ExFreePool... for drivers, and the functions below for the kernel's own use.
 *
 * While checks are off, a block comes from malloc or pool_pages.h, has a header of 16 bytes and is counted for its tag.
 * A free checks nothing. While checks are on, or under AddressSanitizer, checked_pool.h records every block. A block
 * that was allocated with checks off may be freed with checks on, and the reverse.
 */
#ifndef WDK_POOL_H
#define WDK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/private_export.h"

/*
 * Allocates an object that the kernel creates for the driver, for example an MDL. The memory is zeroed, checked like
 * the driver's own, and not counted for a tag. Returns NULL if out of memory.
 */
void *pool_alloc(size_t size) PRIVATE_EXPORT(pool_alloc);
void pool_free(const char *routine, void *object) PRIVATE_EXPORT(pool_free);
/*
 * Allocates memory that begins at the start of a page, even if it is smaller than a page. The memory is counted for the
 * tag and not zeroed. pool_free frees it.
 */
void *pool_alloc_pages(size_t size, uint32_t tag);

/*
 * Returns the number of blocks that the driver has not freed. The number is exact only if no thread allocates or frees
 * meanwhile.
 */
uint64_t pool_block_count(void);
/*
 * Prints a line for each tag that has blocks. While checks are on, also prints the stacks that have allocated them, and
 * reports freed blocks that were written to. Returns the number of blocks.
 */
uint32_t pool_report(FILE *out);
/*
 * Prints the blocks that code in [start, start + size) has allocated while checks were on. Returns the number of
 * blocks.
 */
uint32_t pool_report_of(FILE *out, const void *start, uint64_t size);

enum pool_state { POOL_UNKNOWN, POOL_ALLOCATED, POOL_ALLOCATED_PAGED, POOL_FREED };
/*
 * Returns the state of the block that contains the address. Returns POOL_UNKNOWN while checks are off, and for a block
 * that was freed long ago. A block that was not placed in special pool is found only by its start.
 */
enum pool_state pool_state_at(const void *address);
/* Returns true if the address lies in a block of paged pool. Always returns false while checks are off. */
bool pool_is_paged(const void *address);

#endif
