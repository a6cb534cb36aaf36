/* SPDX-License-Identifier: MIT */
/*
 * Implements the STag table. Slots are in chunks, which are allocated on demand and freed only with the table, so that
 * a lookup may read any slot at any time. Each slot has one atomic word:
 *
 *   bits 63..32  generation: counts the slot's registrations; the STag contains its lower GENERATION_BITS
 *   bit  31      DEAD: no new lookup succeeds
 *   bit  30      PREPARED: only a queued request uses the registration (memory_request.c)
 *   bits 29..0   the number of protections: lookups that have not been released
 *
 * The registrations of one region or window are a group (struct mem_group).
 *
 *   state      word             what ends the state
 *   free       DEAD, 0          slot_publish stores the next generation, with or without PREPARED
 *   prepared   PREPARED, 0..n   mem_activate clears PREPARED; mem_discard, mem_revoke, mem_group_kill or
 *                               mem_group_unprepare sets DEAD; mem_activate sets DEAD if a newer registration of the
 *                               group was activated before, or if the region of a window has ended
 *   alive      0..n             mem_invalidate, mem_revoke or mem_group_kill sets DEAD; mem_activate of another
 *                               registration of the group sets DEAD
 *   draining   DEAD, n > 0      the thread that brings the count to 0 frees the slot
 *
 * A lookup protects the slot by one compare-exchange, which requires the right generation and neither DEAD nor
 * PREPARED. Only then does the lookup read the slot's other members. They are written while the slot is free, and
 * published by the store of the word. The invariant: exactly one thread frees the slot. That thread sets DEAD while the
 * count is 0, or brings the count to 0 after DEAD was set.
 *
 * A window has no memory of its own. It is bound to one generation of a region. A lookup through the window also
 * protects the region, and fails if that generation has ended. So the window ends with the region.
 *
 * An STag is the slot's index and generation, permuted by a Feistel network of 32 bits that is keyed with the table's
 * secret. So STags follow each other in no visible order. A slot uses its oldest STag again after it has used all its
 * generations. The slot that was freed first is reused first. So between two uses of an STag there are about (free
 * slots) * (generations of a slot) registrations.
 */
#include "iwarp/memory.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/range.h"
#include "base/spin.h"
#include "iwarp/memory_internal.h"

enum {
    CHUNK_SHIFT = 10,
    CHUNK_SLOTS = 1 << CHUNK_SHIFT,
    MAX_CHUNKS = 1024,
    INDEX_BITS = 20,
    GENERATION_BITS = 32 - INDEX_BITS,
    FEISTEL_ROUNDS = 4,
    BOX_SIZE = 256,
};

_Static_assert(MAX_CHUNKS << CHUNK_SHIFT == 1 << INDEX_BITS, "every slot has an index");

#define GENERATION_MASK ((1u << GENERATION_BITS) - 1)

struct chunk;

struct mem_table {
    uint64_t number; /* unique in the process; never 0 */
    uint16_t keys[FEISTEL_ROUNDS];
    uint16_t high_box[BOX_SIZE], low_box[BOX_SIZE];
    struct chunk *_Atomic chunks[MAX_CHUNKS];
    struct spin lock; /* guards everything below; no other lock is taken while it is held */
    struct mem_region *first_free, **last_free;
    uint32_t chunk_count;
    uint64_t registered;
};

/* A chunk is aligned to its size. So slot_table finds the chunk from the address of a slot. */
struct chunk {
    struct mem_table *table;
    _Alignas(sizeof(struct mem_region)) struct mem_region slots[CHUNK_SLOTS - 1]; /* `table` is in place of slot 0 */
};

_Static_assert(sizeof(struct chunk) == sizeof(struct mem_region) << CHUNK_SHIFT, "a power of two");

uint64_t table_number(const struct mem_table *t)
{
    return t->number;
}

static struct mem_table *slot_table(struct mem_region *r)
{
    struct chunk *c = (struct chunk *)((uintptr_t)r & ~(uintptr_t)(sizeof(struct chunk) - 1));
    return c->table;
}

static uint64_t table_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/*
 * Computes one round of the Feistel network. The tables high_box and low_box have random values. A lookup computes four
 * rounds; multiplications would mix the bits equally well, but take 1.5 times as long.
 */
static uint16_t stag_feistel_round(const struct mem_table *t, int round, uint16_t half)
{
    unsigned v = half ^ t->keys[round];

    return t->high_box[v >> 8] ^ t->low_box[v & 0xff];
}

static uint32_t stag_encode(const struct mem_table *t, uint32_t index, uint32_t generation)
{
    uint32_t plain = index << GENERATION_BITS | generation;
    uint16_t left = (uint16_t)(plain >> 16), right = (uint16_t)plain;

    for (int i = 0; i < FEISTEL_ROUNDS; i++) {
        uint16_t next = left ^ stag_feistel_round(t, i, right);
        left = right;
        right = next;
    }
    return (uint32_t)left << 16 | right;
}

static uint32_t stag_decode(const struct mem_table *t, uint32_t stag)
{
    uint16_t left = (uint16_t)(stag >> 16), right = (uint16_t)stag;

    for (int i = FEISTEL_ROUNDS - 1; i >= 0; i--) {
        uint16_t before = right ^ stag_feistel_round(t, i, left);
        right = left;
        left = before;
    }
    return (uint32_t)left << 16 | right;
}

static void table_fill_random(uint16_t *values, int count, uint64_t *secret)
{
    for (int i = 0; i < count; i++)
        values[i] = (uint16_t)(table_mix(*secret += 0x9e3779b97f4a7c15u) >> 24);
}

struct mem_table *mem_table_create(uint64_t secret)
{
    static _Atomic uint64_t tables;
    struct mem_table *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->number = atomic_fetch_add_explicit(&tables, 1, memory_order_relaxed) + 1;
    table_fill_random(t->keys, FEISTEL_ROUNDS, &secret);
    table_fill_random(t->high_box, BOX_SIZE, &secret);
    table_fill_random(t->low_box, BOX_SIZE, &secret);
    spin_init(&t->lock);
    t->last_free = &t->first_free;
    return t;
}

void mem_table_destroy(struct mem_table *t)
{
    if (!t)
        return;
    assert(t->registered == 0);
    for (uint32_t i = 0; i < t->chunk_count; i++)
        free(atomic_load_explicit(&t->chunks[i], memory_order_relaxed));
    free(t);
}

static void free_list_append(struct mem_table *t, struct mem_region *r)
{
    r->next = NULL;
    *t->last_free = r;
    t->last_free = &r->next;
}

static struct mem_region *free_list_pop(struct mem_table *t)
{
    struct mem_region *r;

    spin_lock(&t->lock);
    r = t->first_free;
    if (r) {
        t->first_free = r->next;
        if (!r->next)
            t->last_free = &t->first_free;
        t->registered++;
    }
    spin_unlock(&t->lock);
    return r;
}

static void free_list_push(struct mem_table *t, struct mem_region *r)
{
    spin_lock(&t->lock);
    free_list_append(t, r);
    t->registered--;
    spin_unlock(&t->lock);
}

/*
 * Adds a chunk of free slots. Returns 0, ENOMEM, or ENOSPC if the table is full. The chunk is allocated without the
 * lock. So if several threads find no free slot at the same time, each may add a chunk.
 */
static int table_grow(struct mem_table *t)
{
    struct chunk *c = aligned_alloc(sizeof *c, sizeof *c);
    bool full;

    if (!c)
        return ENOMEM;
    c->table = t;
    for (uint32_t i = 0; i < CHUNK_SLOTS - 1; i++)
        atomic_init(&c->slots[i].word, WORD_DEAD);
    spin_lock(&t->lock);
    full = t->chunk_count == MAX_CHUNKS;
    if (!full) {
        for (uint32_t i = 0; i < CHUNK_SLOTS - 1; i++) {
            c->slots[i].index = t->chunk_count << CHUNK_SHIFT | (i + 1);
            free_list_append(t, &c->slots[i]);
        }
        atomic_store_explicit(&t->chunks[t->chunk_count++], c, memory_order_release);
    }
    spin_unlock(&t->lock);
    if (full)
        free(c);
    return full ? ENOSPC : 0;
}

/* Returns the next generation of a free slot, and sets *stag to its STag. Skips a generation whose STag would be 0. */
static uint32_t slot_next_generation(const struct mem_table *t, const struct mem_region *r, uint32_t *stag)
{
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);
    uint32_t generation = (uint32_t)(word >> WORD_GENERATION);

    do {
        generation++;
        *stag = stag_encode(t, r->index, generation & GENERATION_MASK);
    } while (*stag == 0);
    return generation;
}

uint32_t slot_stag(struct mem_region *r)
{
    return stag_encode(slot_table(r), r->index, r->generation & GENERATION_MASK);
}

int slot_alloc(struct mem_table *t, struct mem_region **out, uint32_t *stag)
{
    struct mem_region *r;

    while (!(r = free_list_pop(t))) {
        int error = table_grow(t);
        if (error)
            return error;
    }
    r->generation = slot_next_generation(t, r, stag);
    r->parent = NULL;
    r->offset = 0;
    r->kind = SLOT_FLAT;
    r->revocable = false;
    r->done = NULL;
    r->context = NULL;
    r->group = r->parent_group = NULL;
    *out = r;
    return 0;
}

void slot_publish(struct mem_region *r, uint64_t prepared)
{
    atomic_store_explicit(&r->word, (uint64_t)r->generation << WORD_GENERATION | prepared, memory_order_release);
}

void slot_abandon(struct mem_region *r)
{
    free_list_push(slot_table(r), r);
}

void slot_free(struct mem_region *r)
{
    struct mem_group *group = r->group, *parent_group = r->parent_group;
    void (*done)(void *context) = r->done;
    void *context = r->context;

    if (r->kind == SLOT_PAGED)
        free(r->pages);
    group_unlink(group, r);
    free_list_push(slot_table(r), r);
    if (done)
        done(context);
    group_unref(group); /* calls the group's `empty` if this was the last reference */
    group_unref(parent_group);
}

int mem_register(struct mem_table *t, struct mem_group *g, const void *domain, void *memory, uint64_t len,
                 uint64_t base_to, unsigned access, struct mem_region **out, uint32_t *stag)
{
    struct mem_region *r;
    int error = slot_alloc(t, &r, stag);

    if (error)
        return error;
    r->memory = memory;
    r->len = len;
    r->base_to = base_to;
    r->domain = domain;
    r->access = (uint8_t)access;
    *out = r;
    error = group_publish(g, r, 0);
    if (error)
        slot_abandon(r);
    return error;
}

bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context)
{
    uint64_t before;

    /* `done` and `context` are set before DEAD, because the thread that brings the count to 0 reads both. */
    r->done = done;
    r->context = context;
    before = atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel);
    assert(!(before & WORD_DEAD));
    if (before & WORD_COUNT)
        return false;
    r->done = NULL; /* `done` is not called, because the return value reports the end */
    slot_free(r);
    return true;
}

/* Logical addresses */

int mem_map(struct mem_table *t, void *memory, uint64_t len, struct mem_region **out, uint64_t *logical)
{
    struct mem_region *r;
    uint32_t stag;
    int error = slot_alloc(t, &r, &stag);

    if (error)
        return error;
    r->memory = memory;
    r->len = len;
    r->base_to = (uint64_t)stag << 32 | ((uintptr_t)memory & (MEM_PAGE - 1));
    r->domain = t;
    r->access = RDMA_ACCESS_LOCAL_WRITE;
    *logical = r->base_to;
    *out = r;
    slot_publish(r, 0);
    return 0;
}

static void mem_on_unmapped(void *context)
{
    atomic_store_explicit((atomic_bool *)context, true, memory_order_release);
}

void mem_unmap(struct mem_region *r)
{
    atomic_bool done = false;

    if (mem_invalidate(r, mem_on_unmapped, &done))
        return;
    while (!atomic_load_explicit(&done, memory_order_acquire))
        sched_yield();
}

/* Returns the slot with this index, or NULL if there is no such slot. */
static struct mem_region *table_slot(struct mem_table *t, uint32_t index)
{
    struct chunk *c = atomic_load_explicit(&t->chunks[index >> CHUNK_SHIFT], memory_order_acquire);
    uint32_t position = index & (CHUNK_SLOTS - 1);

    return c && position ? &c->slots[position - 1] : NULL;
}

/*
 * If r is alive, and its generation equals `generation` in the bits of `mask`, protects r and returns true. Otherwise
 * returns false. If with_prepared is set, r may also be prepared.
 */
static bool slot_protect_masked(struct mem_region *r, uint32_t generation, uint32_t mask, bool with_prepared)
{
    uint64_t hidden = with_prepared ? WORD_DEAD : WORD_DEAD | WORD_PREPARED;
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);

    do {
        if (((uint32_t)(word >> WORD_GENERATION) & mask) != generation || word & hidden)
            return false;
    } while (
        !atomic_compare_exchange_weak_explicit(&r->word, &word, word + 1, memory_order_acquire, memory_order_relaxed));
    return true;
}

bool slot_protect(struct mem_region *r, uint32_t generation, bool with_prepared)
{
    return slot_protect_masked(r, generation, UINT32_MAX, with_prepared);
}

/*
 * Works like slot_unprotect. This function is inline, because the lookups in this file call it several times for each
 * message.
 */
static inline void slot_unprotect_inline(struct mem_region *r)
{
    uint64_t before = atomic_fetch_sub_explicit(&r->word, 1, memory_order_acq_rel);

    assert(before & WORD_COUNT);
    if (before & WORD_DEAD && (before & WORD_COUNT) == 1)
        slot_free(r);
}

static inline struct mem_region *slot_find_inline(struct mem_table *t, uint32_t stag, bool with_prepared)
{
    uint32_t plain = stag_decode(t, stag);
    struct mem_region *r = table_slot(t, plain >> GENERATION_BITS);

    return r && slot_protect_masked(r, plain & GENERATION_MASK, GENERATION_MASK, with_prepared) ? r : NULL;
}

void slot_unprotect(struct mem_region *r)
{
    slot_unprotect_inline(r);
}

struct mem_region *slot_find(struct mem_table *t, uint32_t stag, bool with_prepared)
{
    return slot_find_inline(t, stag, with_prepared);
}

static inline bool range_wraps(uint64_t to, uint64_t len)
{
    return len > 0 && len - 1 > UINT64_MAX - to;
}

static inline enum wire_error slot_check_inline(const struct mem_region *r, const void *domain, uint64_t to,
                                                uint64_t len, unsigned access)
{
    if (r->domain != domain)
        return WIRE_DDP_TAGGED_STREAM;
    if (access & ~(unsigned)r->access)
        return WIRE_RDMAP_ACCESS;
    if (range_wraps(to, len))
        return WIRE_DDP_TAGGED_WRAP;
    if (!range_within(r->base_to, r->len, to, len))
        return WIRE_DDP_TAGGED_BOUNDS;
    return WIRE_OK;
}

enum wire_error slot_check(const struct mem_region *r, const void *domain, uint64_t to, uint64_t len, unsigned access)
{
    return slot_check_inline(r, domain, to, len, access);
}

/* Sets ref->at to the memory at `to`. Sets ref->run to the number of contiguous bytes there, at most `len`. */
static void slot_locate(const struct mem_region *r, uint64_t to, uint64_t len, struct mem_ref *ref)
{
    uint64_t at = to - r->base_to + r->offset;
    uint64_t page = at >> MEM_PAGE_SHIFT, run = MEM_PAGE - (at & (MEM_PAGE - 1));

    if (r->kind == SLOT_FLAT) {
        ref->at = r->memory + (to - r->base_to);
        ref->run = len;
        return;
    }
    if (len == 0)
        return;
    ref->at = r->pages[page] + (at & (MEM_PAGE - 1));
    for (; run < len && r->pages[page + 1] == r->pages[page] + MEM_PAGE; page++)
        run += MEM_PAGE;
    ref->run = run < len ? run : len;
}

static enum wire_error slot_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                   unsigned access, bool with_prepared, struct mem_ref *ref)
{
    struct mem_region *r = slot_find_inline(t, stag, with_prepared);
    const struct mem_region *whole = r;
    enum wire_error error;

    *ref = (struct mem_ref){ NULL, NULL, 0 };
    if (!r)
        return WIRE_DDP_TAGGED_STAG;
    error = slot_check_inline(r, domain, to, len, access);
    if (error == WIRE_OK && r->kind == SLOT_WINDOW) {
        whole = r->parent;
        if (!slot_protect(r->parent, r->parent_generation, with_prepared))
            error = WIRE_DDP_TAGGED_STAG;
    }
    if (error != WIRE_OK) {
        slot_unprotect_inline(r);
        return error;
    }
    ref->region = r;
    slot_locate(whole, to, len, ref);
    return WIRE_OK;
}

enum wire_error mem_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                           unsigned access, struct mem_ref *ref)
{
    return slot_lookup(t, domain, stag, to, len, access, false, ref);
}

/*
 * Looks up the memory of a request's own SGE. If `stag` is 0, `to` is a logical address: its upper half is the STag of
 * a mapping (mem_map). A mapping belongs to no protection domain; its `domain` is the table.
 */
enum wire_error slot_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                  unsigned access, bool with_prepared, struct mem_ref *ref)
{
    if (stag == 0)
        return slot_lookup(t, t, (uint32_t)(to >> 32), to, len, access, false, ref);
    return slot_lookup(t, domain, stag, to, len, access, with_prepared, ref);
}

enum wire_error mem_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, struct mem_ref *ref)
{
    return slot_lookup_local(t, domain, stag, to, len, access, false, ref);
}

void mem_release(struct mem_ref *ref)
{
    struct mem_region *r = ref->region;

    *ref = (struct mem_ref){ NULL, NULL, 0 };
    if (!r)
        return;
    if (r->kind == SLOT_WINDOW)
        slot_unprotect_inline(r->parent);
    slot_unprotect_inline(r);
}

enum wire_error mem_error_for_read(enum wire_error e)
{
    if (e == WIRE_DDP_TAGGED_STAG)
        return WIRE_RDMAP_INVALID_STAG;
    if (e == WIRE_DDP_TAGGED_STREAM)
        return WIRE_RDMAP_STAG_NOT_ASSOCIATED;
    if (e == WIRE_DDP_TAGGED_BOUNDS)
        return WIRE_RDMAP_BOUNDS;
    return e == WIRE_DDP_TAGGED_WRAP ? WIRE_RDMAP_TO_WRAP : e;
}
