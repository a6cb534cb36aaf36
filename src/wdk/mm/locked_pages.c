/* SPDX-License-Identifier: MIT */
/*
 * Records the pages of locked and of mapped MDLs: see locked_pages.h. Each table has room for the pages of a limited
 * number of MDLs. While an MDL has no place in its table, that table may contain every address.
 */
#include <stdint.h>

#include "base/spin.h"
#include "wdk/mm/locked_pages.h"

enum { MAX_LOCKED = 64, MAX_MAPPED = 1024, PAGE_BYTES = 4096 };

struct page_range {
    const void *mdl;
    uintptr_t first, count; /* number of the first page; count of pages */
};

struct page_table {
    struct spin lock;
    struct page_range *ranges;
    unsigned room, count;
    unsigned unrecorded; /* number of MDLs for which the table had no room */
};

static struct page_range locked_ranges[MAX_LOCKED], mapped_ranges[MAX_MAPPED];
static struct page_table locked = { .ranges = locked_ranges, .room = MAX_LOCKED };
static struct page_table mapped = { .ranges = mapped_ranges, .room = MAX_MAPPED };

static void page_table_add(struct page_table *t, const void *mdl, const void *start, size_t size)
{
    uintptr_t first = (uintptr_t)start / PAGE_BYTES, end = ((uintptr_t)start + size + PAGE_BYTES - 1) / PAGE_BYTES;

    spin_lock(&t->lock);
    if (t->count < t->room)
        t->ranges[t->count++] = (struct page_range){ mdl, first, end - first };
    else
        t->unrecorded++;
    spin_unlock(&t->lock);
}

/* Removes the newest entry of the MDL. */
static void page_table_remove(struct page_table *t, const void *mdl)
{
    unsigned i;

    spin_lock(&t->lock);
    i = t->count;
    while (i > 0 && t->ranges[i - 1].mdl != mdl)
        i--;
    if (i > 0)
        t->ranges[i - 1] = t->ranges[--t->count];
    else if (t->unrecorded > 0)
        t->unrecorded--;
    spin_unlock(&t->lock);
}

static bool page_table_may_contain(struct page_table *t, const void *address)
{
    uintptr_t page = (uintptr_t)address / PAGE_BYTES;
    bool found;

    spin_lock(&t->lock);
    found = t->unrecorded > 0;
    for (unsigned i = 0; i < t->count && !found; i++)
        found = page - t->ranges[i].first < t->ranges[i].count;
    spin_unlock(&t->lock);
    return found;
}

void locked_pages_add(const void *mdl, const void *start, size_t size)
{
    page_table_add(&locked, mdl, start, size);
}

void locked_pages_remove(const void *mdl)
{
    page_table_remove(&locked, mdl);
}

bool locked_pages_may_contain(const void *address)
{
    return page_table_may_contain(&locked, address);
}

void mapped_pages_add(const void *mdl, const void *start, size_t size)
{
    page_table_add(&mapped, mdl, start, size);
}

void mapped_pages_remove(const void *mdl)
{
    page_table_remove(&mapped, mdl);
}

bool mapped_pages_may_contain(const void *address)
{
    return page_table_may_contain(&mapped, address);
}
