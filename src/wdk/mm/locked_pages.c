/* SPDX-License-Identifier: MIT */
/*
 * Records locked pages: see locked_pages.h. The table has room for the ranges of MAX_RANGES MDLs. While a locked MDL
 * has no place in the table, locked_pages_count counts that MDL for every address.
 */
#include <stdint.h>

#include "base/spin.h"
#include "wdk/mm/locked_pages.h"

enum { MAX_RANGES = 64, PAGE_BYTES = 4096 };

struct page_range {
    const void *mdl;
    uintptr_t first, count; /* number of the first page; count of pages */
};

static struct spin lock;
static struct page_range ranges[MAX_RANGES];
static unsigned range_count;
static unsigned unrecorded; /* number of locked MDLs for which the table had no room */

static struct page_range page_range_of(const void *mdl, const void *start, size_t size)
{
    uintptr_t first = (uintptr_t)start / PAGE_BYTES;

    return (struct page_range){ mdl, first, ((uintptr_t)start + size + PAGE_BYTES - 1) / PAGE_BYTES - first };
}

void locked_pages_add(const void *mdl, const void *start, size_t size)
{
    spin_lock(&lock);
    if (range_count < MAX_RANGES)
        ranges[range_count++] = page_range_of(mdl, start, size);
    else
        unrecorded++;
    spin_unlock(&lock);
}

void locked_pages_remove(const void *mdl)
{
    unsigned i = 0;

    spin_lock(&lock);
    while (i < range_count && ranges[i].mdl != mdl)
        i++;
    if (i < range_count)
        ranges[i] = ranges[--range_count];
    else if (unrecorded > 0)
        unrecorded--;
    spin_unlock(&lock);
}

unsigned locked_pages_count(const void *address)
{
    uintptr_t page = (uintptr_t)address / PAGE_BYTES;
    unsigned count;

    spin_lock(&lock);
    count = unrecorded;
    for (unsigned i = 0; i < range_count; i++)
        count += page - ranges[i].first < ranges[i].count;
    spin_unlock(&lock);
    return count;
}

bool locked_pages_may_contain(const void *address)
{
    return locked_pages_count(address) > 0;
}
