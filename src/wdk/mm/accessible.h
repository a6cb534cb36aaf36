/* SPDX-License-Identifier: MIT */
/* Tests whether this process can access memory, without a fault and without a change of the memory. */
#ifndef WDK_ACCESSIBLE_H
#define WDK_ACCESSIBLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true if the pages can be read and, if `write` is set, written. `start` is the start of a page, and `bytes` is
 * a multiple of the page size. On hosts without MADV_POPULATE_READ, only tests whether they can be read.
 */
bool memory_allows(void *start, size_t bytes, bool write);

#endif
