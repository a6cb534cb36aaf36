/* SPDX-License-Identifier: MIT */
/* The pages that MmProbeAndLockPages has locked. Paged pool in these pages is resident. */
#ifndef WDK_LOCKED_PAGES_H
#define WDK_LOCKED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Adds the pages of [start, start + size), which the MDL has locked. Each call needs a locked_pages_remove. The MDL
 * itself is not accessed.
 */
void locked_pages_add(const void *mdl, const void *start, size_t size);
void locked_pages_remove(const void *mdl);
/* Returns true if the address may be in a locked page. */
bool locked_pages_may_contain(const void *address);
/* Returns the number of ranges that contain the address's page. May return a larger number, never a smaller one. */
unsigned locked_pages_count(const void *address);

#endif
