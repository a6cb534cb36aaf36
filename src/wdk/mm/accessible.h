/* SPDX-License-Identifier: MIT */
/* Tests whether this process can access memory, without a fault and without a change of the memory. */
#ifndef WDK_ACCESSIBLE_H
#define WDK_ACCESSIBLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether the pages can be read, and written if `write` is set. `start` is the start of a page, and `bytes` a
 * number of whole pages. On hosts without MADV_POPULATE_READ, tests only whether they can be read.
 */
bool memory_allows(void *start, size_t bytes, bool write);

#endif
