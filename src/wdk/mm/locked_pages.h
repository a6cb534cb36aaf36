/* SPDX-License-Identifier: MIT */
/*
 * The pages that MmProbeAndLockPages has locked, and the pages of MDLs that have a mapping of their own. Paged pool in
 * locked pages is resident. The functions do not access the MDLs.
 */
#ifndef WDK_LOCKED_PAGES_H
#define WDK_LOCKED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Adds the pages of [start, start + size), which the MDL has locked. Each call needs a locked_pages_remove. */
void locked_pages_add(const void *mdl, const void *start, size_t size);
void locked_pages_remove(const void *mdl);
/* Returns true if the address may be in a locked page. */
bool locked_pages_may_contain(const void *address);

/* Adds the pages of [start, start + size), for which the MDL has a mapping. Each call needs a mapped_pages_remove. */
void mapped_pages_add(const void *mdl, const void *start, size_t size);
void mapped_pages_remove(const void *mdl);
/* Returns true if an MDL may have a mapping of the address's page. */
bool mapped_pages_may_contain(const void *address);

#endif
