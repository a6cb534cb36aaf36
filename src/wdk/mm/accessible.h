/* SPDX-License-Identifier: MIT */
/*
 * Tests whether this process can access memory, without a fault and without a change of the memory. Also declares the
 * advice MADV_POPULATE_READ and MADV_POPULATE_WRITE.
 */
#ifndef WDK_ACCESSIBLE_H
#define WDK_ACCESSIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* These values exist since Linux 5.14; the host's headers may be older. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Returns true if the pages can be read and, if `write` is set, written. `start` is the start of a page, and `bytes` is
 * a multiple of the page size. On hosts without MADV_POPULATE_READ, only tests whether they can be read.
 */
bool memory_allows(void *start, size_t bytes, bool write);

#endif
