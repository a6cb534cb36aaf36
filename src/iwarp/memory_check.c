/* SPDX-License-Identifier: MIT */
/*
 * Checks SGEs, and the sources of Read Requests. Each thread caches the last regions that its checks have found, so
 * that most checks need no lookup. The invariant: a cached result is valid exactly while the slot's word has the same
 * generation and is not DEAD. The other members need no comparison: an alive registration does not change, and the
 * table never frees a slot's memory. So a check from the cache needs no protection.
 */
#include "iwarp/memory.h"

#include "base/range.h"
#include "iwarp/memory_internal.h"

enum { CHECK_CACHE_SIZE = 4 };

struct check_cache_entry {
    uint64_t table; /* the table_number of the region's table; 0: the entry is empty */
    struct mem_region *region;
    const void *domain;
    uint64_t to, len;
    uint32_t stag, generation;
    unsigned access;
};

static _Thread_local struct check_cache_entry check_cache[CHECK_CACHE_SIZE];

static bool check_cache_covers(const struct check_cache_entry *e, const struct mem_table *t, const void *domain,
                               uint32_t stag, uint64_t to, uint64_t len, unsigned access)
{
    uint64_t word;

    if (e->table != table_number(t) || e->stag != stag || e->domain != domain || access & ~e->access ||
        !range_within(e->to, e->len, to, len))
        return false;
    word = atomic_load_explicit(&e->region->word, memory_order_relaxed);
    return word >> WORD_GENERATION == e->generation && !(word & WORD_DEAD);
}

/*
 * Caches r in *e. Does not cache a window, because it ends with its region, and the window's word does not show that
 * end. Does not cache a prepared registration. After mem_group_unprepare, another registration may use the slot with
 * the same generation, and the slot's word would not show the change.
 */
static void check_cache_store(struct check_cache_entry *e, const struct mem_table *t, uint32_t stag,
                              struct mem_region *r)
{
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);

    if (r->kind == SLOT_WINDOW || word & WORD_PREPARED)
        return;
    *e = (struct check_cache_entry){ .table = table_number(t),
                                     .region = r,
                                     .domain = r->domain,
                                     .to = r->base_to,
                                     .len = r->len,
                                     .stag = stag,
                                     .generation = (uint32_t)(word >> WORD_GENERATION),
                                     .access = r->access };
}

static struct check_cache_entry *check_cache_at(uint32_t stag)
{
    return &check_cache[stag % CHECK_CACHE_SIZE];
}

/* Ends a check that needed a lookup. If the lookup succeeded, caches the region. Releases *ref and returns `error`. */
static enum wire_error check_cache_finish(const struct mem_table *t, uint32_t stag, enum wire_error error,
                                          struct mem_ref *ref)
{
    if (error == WIRE_OK)
        check_cache_store(check_cache_at(stag), t, stag, ref->region);
    mem_release(ref);
    return error;
}

static enum wire_error check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                   unsigned access, bool with_prepared)
{
    bool logical = stag == 0;
    uint32_t named = logical ? (uint32_t)(to >> 32) : stag;
    struct mem_ref ref;

    if (check_cache_covers(check_cache_at(named), t, logical ? t : domain, named, to, len, access))
        return WIRE_OK;
    return check_cache_finish(t, named, slot_lookup_local(t, domain, stag, to, len, access, with_prepared, &ref), &ref);
}

enum wire_error mem_check(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                          unsigned access)
{
    return check_local(t, domain, stag, to, len, access, true);
}

enum wire_error mem_check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                unsigned access)
{
    return check_local(t, domain, stag, to, len, access, false);
}

enum wire_error mem_check_peer(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access)
{
    struct mem_ref ref;

    if (check_cache_covers(check_cache_at(stag), t, domain, stag, to, len, access))
        return WIRE_OK;
    return check_cache_finish(t, stag, mem_lookup(t, domain, stag, to, len, access, &ref), &ref);
}

bool mem_cached_covers(const struct mem_cached *c, uint32_t stag, uint64_t to, uint64_t len, unsigned access,
                       uint8_t **at)
{
    const struct mem_region *r = c->ref.region;

    if (!r || r->kind != SLOT_FLAT || !range_within(r->base_to, r->len, to, len))
        return false;
    if (c->stag != stag || c->access != access)
        return false;
    *at = r->memory + (to - r->base_to);
    return true;
}
