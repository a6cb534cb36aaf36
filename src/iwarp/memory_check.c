/* SPDX-License-Identifier: MIT */
/* Abstract: what was found of a region a moment ago and still holds, so that it need not be looked up again. */
#include "iwarp/memory.h"

#include "base/range.h"
#include "iwarp/memory_internal.h"

enum { FINDINGS = 4 };

/*
 * What a thread's checks have found. A registration that is alive does not change, and its slot stays where it is as
 * long as the table, so the slot's word alone tells whether it is still the same one: nothing has to be protected for
 * a yes.
 */
struct finding {
    uint64_t table; /* its number, never used again; 0: none */
    struct mem_region *region;
    const void *domain;
    uint64_t to, len;
    uint32_t stag, generation;
    unsigned access;
};

static _Thread_local struct finding findings[FINDINGS];

static bool holds(const struct finding *f, const struct mem_table *t, const void *domain, uint32_t stag, uint64_t to,
                  uint64_t len, unsigned access)
{
    uint64_t word;

    if (f->table != table_number(t) || f->stag != stag || f->domain != domain ||
        access & ~f->access || !range_within(f->to, f->len, to, len))
        return false;
    word = atomic_load_explicit(&f->region->word, memory_order_relaxed);
    return word >> WORD_GENERATION == f->generation && !(word & WORD_DEAD);
}

/* No window, which ends with its region too, and nothing prepared, which another may be in the same generation. */
static void remember(struct finding *f, const struct mem_table *t, uint32_t stag, struct mem_region *r)
{
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);

    if (r->kind == SLOT_WINDOW ||
        (word & WORD_PREPARED))
        return;
    *f = (struct finding){ .table = table_number(t), .region = r, .domain = r->domain, .to = r->base_to, .len = r->len,
                           .stag = stag, .generation = (uint32_t)(word >> WORD_GENERATION), .access = r->access };
}

static struct finding *finding_of(uint32_t stag)
{
    return &findings[stag % FINDINGS];
}

static enum wire_error remember_found(const struct mem_table *t, uint32_t stag, enum wire_error error,
                                      struct mem_ref *ref)
{
    if (error == WIRE_OK)
        remember(finding_of(stag), t, stag, ref->region);
    mem_release(ref);
    return error;
}

static enum wire_error check_own(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, bool prepared)
{
    bool logical = stag == 0;
    uint32_t named = logical ? (uint32_t)(to >> 32) : stag;
    struct mem_ref ref;

    if (holds(finding_of(named), t, logical ? t : domain, named, to, len, access))
        return WIRE_OK;
    return remember_found(t, named, slot_look_up_local(t, domain, stag, to, len, access, prepared, &ref), &ref);
}

enum wire_error mem_check(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                          unsigned access)
{
    return check_own(t, domain, stag, to, len, access, true);
}

enum wire_error mem_check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                unsigned access)
{
    return check_own(t, domain, stag, to, len, access, false);
}

enum wire_error mem_check_peer(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access)
{
    struct mem_ref ref;

    if (holds(finding_of(stag), t, domain, stag, to, len, access))
        return WIRE_OK;
    return remember_found(t, stag, mem_lookup(t, domain, stag, to, len, access, &ref), &ref);
}

bool mem_hold_covers(const struct mem_hold *h, uint32_t stag, uint64_t to, uint64_t len, unsigned access, uint8_t **at)
{
    const struct mem_region *r = h->ref.region;

    if (!r || r->kind != SLOT_FLAT || !range_within(r->base_to, r->len, to, len))
        return false;
    if (h->stag != stag || h->access != access)
        return false;
    *at = r->memory + (to - r->base_to);
    return true;
}
