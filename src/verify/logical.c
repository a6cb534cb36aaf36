/* SPDX-License-Identifier: MIT */
/*
 * Records the pages of logical address mappings: see logical.h. Two mappings of the same memory may have the same
 * logical addresses. So each mapping has entries of its own, and the release of one mapping keeps the entries of the
 * other.
 */
#include <stdlib.h>

#include "verify/logical.h"

enum { FIRST_BUCKETS = 64 };

struct logical_page {
    LIST_ENTRY(logical_page) link; /* in the list of its bucket */
    uint64_t number;               /* logical address divided by PAGE_SIZE */
};

struct logical_mapping {
    LIST_ENTRY(logical_mapping) link;
    const NDK_LOGICAL_ADDRESS_MAPPING *lam;
    ULONG count;
    struct logical_page pages[];
};

static struct spin adapters_lock; /* guards `adapters`; acquired before the lock of an adapter's struct logical_pages */
static LIST_HEAD(, logical_pages) adapters = LIST_HEAD_INITIALIZER(adapters);

void logical_init(struct logical_pages *l)
{
    spin_init(&l->lock);
    LIST_INIT(&l->mappings);
    spin_lock(&adapters_lock);
    LIST_INSERT_HEAD(&adapters, l, link);
    spin_unlock(&adapters_lock);
}

void logical_fini(struct logical_pages *l)
{
    struct logical_mapping *m;

    spin_lock(&adapters_lock);
    LIST_REMOVE(l, link);
    spin_unlock(&adapters_lock);
    while ((m = LIST_FIRST(&l->mappings))) {
        LIST_REMOVE(m, link);
        free(m);
    }
    free(l->buckets);
}

static struct logical_bucket *logical_bucket(const struct logical_pages *l, uint64_t number)
{
    return &l->buckets[(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (l->bucket_count - 1)];
}

void logical_set_incomplete(struct logical_pages *l)
{
    spin_lock(&l->lock);
    l->is_incomplete = true;
    spin_unlock(&l->lock);
}

/* Moves all pages to the new buckets. Returns the old buckets, which the caller frees. Requires the lock of *l. */
static struct logical_bucket *logical_rehash(struct logical_pages *l, struct logical_bucket *buckets, unsigned count)
{
    struct logical_bucket *old = l->buckets;
    struct logical_mapping *m;

    l->buckets = buckets;
    l->bucket_count = count;
    LIST_FOREACH (m, &l->mappings, link)
        for (ULONG i = 0; i < m->count; i++) /* overwrites the links of the old buckets */
            LIST_INSERT_HEAD(logical_bucket(l, m->pages[i].number), &m->pages[i], link);
    return old;
}

/*
 * Enlarges the hash table for `count` more pages. If memory runs out, keeps the present table. Returns false if memory
 * ran out and there was no table.
 */
static bool logical_reserve(struct logical_pages *l, ULONG count)
{
    struct logical_bucket *buckets;
    unsigned wanted, had;

    spin_lock(&l->lock);
    had = l->bucket_count;
    wanted = had ? had : FIRST_BUCKETS;
    while (wanted < 1U << 30 && wanted < l->page_count + count)
        wanted *= 2;
    spin_unlock(&l->lock);
    if (wanted == had)
        return true;
    buckets = calloc(wanted, sizeof *buckets);
    if (!buckets)
        return had > 0;
    spin_lock(&l->lock);
    if (l->bucket_count < wanted)
        buckets = logical_rehash(l, buckets, wanted);
    spin_unlock(&l->lock);
    free(buckets);
    return true;
}

void logical_add(struct logical_pages *l, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct logical_mapping *m = malloc(sizeof *m + lam->AdapterPageCount * sizeof m->pages[0]);

    if (!m || !logical_reserve(l, lam->AdapterPageCount)) {
        free(m);
        logical_set_incomplete(l);
        return;
    }
    m->lam = lam;
    m->count = lam->AdapterPageCount;
    spin_lock(&l->lock);
    LIST_INSERT_HEAD(&l->mappings, m, link);
    l->page_count += m->count;
    for (ULONG i = 0; i < m->count; i++) {
        m->pages[i].number = (uint64_t)lam->AdapterPageArray[i].QuadPart / PAGE_SIZE;
        LIST_INSERT_HEAD(logical_bucket(l, m->pages[i].number), &m->pages[i], link);
    }
    spin_unlock(&l->lock);
}

void logical_remove(struct logical_pages *l, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct logical_mapping *m;

    spin_lock(&l->lock);
    LIST_FOREACH (m, &l->mappings, link)
        if (m->lam == lam)
            break;
    if (m) {
        LIST_REMOVE(m, link);
        l->page_count -= m->count;
        for (ULONG i = 0; i < m->count; i++)
            LIST_REMOVE(&m->pages[i], link);
    }
    spin_unlock(&l->lock);
    free(m);
}

static bool logical_has_page(struct logical_pages *l, uint64_t number)
{
    const struct logical_page *page;
    bool has;

    spin_lock(&l->lock);
    has = l->is_incomplete;
    if (!has && l->buckets)
        LIST_FOREACH (page, logical_bucket(l, number), link)
            if (page->number == number) {
                has = true;
                break;
            }
    spin_unlock(&l->lock);
    return has;
}

/* Returns true if any adapter has a mapping with this page number. Searches the adapter l first. */
static bool logical_is_mapped(struct logical_pages *l, uint64_t number)
{
    bool mapped = logical_has_page(l, number);

    if (mapped)
        return true;
    spin_lock(&adapters_lock);
    LIST_FOREACH (l, &adapters, link)
        mapped = mapped || logical_has_page(l, number);
    spin_unlock(&adapters_lock);
    return mapped;
}

ULONG logical_find_foreign(struct logical_pages *l, const NDK_LOGICAL_ADDRESS *pages, ULONG count)
{
    ULONG i = 0;

    while (i < count && (uint64_t)pages[i].QuadPart % PAGE_SIZE == 0 &&
           logical_is_mapped(l, (uint64_t)pages[i].QuadPart / PAGE_SIZE))
        i++;
    return i;
}

bool logical_contains(struct logical_pages *l, uint64_t address, uint64_t length)
{
    uint64_t first = address / PAGE_SIZE, last = (address + length - 1) / PAGE_SIZE;

    return logical_is_mapped(l, first) && (first == last || logical_is_mapped(l, last));
}
