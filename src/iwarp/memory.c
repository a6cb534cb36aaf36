/* SPDX-License-Identifier: MIT */
/*
 * The STag table. Slots live in chunks that are made on demand and freed with the table only, so that a lookup may
 * look at any slot at any time. One atomic word a slot decides everything:
 *
 *   bits 63..32  generation: which registration of this slot it is; the STag has the lower GENERATION_BITS of it
 *   bit  31      DEAD: no new lookup succeeds
 *   bit  30      PREPARED: only a request that is queued knows it (memory_request.c)
 *   bits 29..0   how many lookups hold protection
 *
 *   state      word             who leaves it
 *   free       DEAD, 0          slot_publish: next generation, with or without PREPARED, 0
 *   prepared   PREPARED, 0..n   mem_activate clears PREPARED; who ends it sets DEAD
 *   alive      0..n             who ends it sets DEAD
 *   draining   DEAD, n > 0      who brings the count to 0: free
 *
 * A lookup takes protection by one compare-exchange that finds the right generation and neither DEAD nor PREPARED, and
 * only then reads the slot's other members; these are written while the slot is free, and published by the store of
 * the word. The one who finds DEAD and brings the count to 0, or sets DEAD at 0, is unique and puts the slot back.
 *
 * A window has no memory of its own: a lookup through it protects the region that it is a part of as well, in the very
 * generation that it was bound to, so that it ends with that region.
 *
 * An STag is slot index and generation, put through a permutation of 32 bits keyed with the table's secret (a Feistel
 * network, whose function looks up both octets in random boxes): every registration has a value of its own, without
 * order, until the generations of a slot have been used up. Free slots
 * queue, the longest free first, so that this takes at least as many registrations as there are free slots times
 * generations.
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
    CHUNKS = 1024,
    INDEX_BITS = 20,
    GENERATION_BITS = 32 - INDEX_BITS,
    FEISTEL_ROUNDS = 4,
    BOX_SIZE = 256,
};

_Static_assert(CHUNKS << CHUNK_SHIFT == 1 << INDEX_BITS, "every slot has an index");

#define GENERATION_MASK ((1u << GENERATION_BITS) - 1)

struct chunk;

struct mem_table {
    uint64_t number; /* of all that there have been: from 1 on */
    uint16_t keys[FEISTEL_ROUNDS];
    uint16_t high_box[BOX_SIZE], low_box[BOX_SIZE];
    struct chunk *_Atomic chunks[CHUNKS];
    struct spin lock; /* guards what follows; a leaf */
    struct mem_region *first_free, **last_free;
    uint32_t chunk_count;
    uint64_t registered;
};

/* A slot finds its table through the head of its chunk, which is aligned to its own size. */
struct chunk {
    struct mem_table *table;
    _Alignas(sizeof(struct mem_region)) struct mem_region slots[CHUNK_SLOTS - 1]; /* the head takes slot 0 */
};

_Static_assert(sizeof(struct chunk) == sizeof(struct mem_region) << CHUNK_SHIFT, "a power of two");

uint64_t table_number(const struct mem_table *t)
{
    return t->number;
}

struct mem_table *slot_table(struct mem_region *r)
{
    struct chunk *c = (struct chunk *)((uintptr_t)r & ~(uintptr_t)(sizeof(struct chunk) - 1));
    return c->table;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Lookups go through it: boxes take two thirds of the time that multiplications of like quality do. */
static uint16_t feistel_round(const struct mem_table *t, int round, uint16_t half)
{
    unsigned v = half ^ t->keys[round];

    return t->high_box[v >> 8] ^ t->low_box[v & 0xff];
}

static uint32_t stag_of(const struct mem_table *t, uint32_t index, uint32_t generation)
{
    uint32_t plain = index << GENERATION_BITS | generation;
    uint16_t left = (uint16_t)(plain >> 16), right = (uint16_t)plain;

    for (int i = 0; i < FEISTEL_ROUNDS; i++) {
        uint16_t next = left ^ feistel_round(t, i, right);
        left = right;
        right = next;
    }
    return (uint32_t)left << 16 | right;
}

static uint32_t unpermute(const struct mem_table *t, uint32_t stag)
{
    uint16_t left = (uint16_t)(stag >> 16), right = (uint16_t)stag;

    for (int i = FEISTEL_ROUNDS - 1; i >= 0; i--) {
        uint16_t before = right ^ feistel_round(t, i, left);
        right = left;
        left = before;
    }
    return (uint32_t)left << 16 | right;
}

static void fill_random(uint16_t *values, int count, uint64_t *secret)
{
    for (int i = 0; i < count; i++)
        values[i] = (uint16_t)(mix(*secret += 0x9e3779b97f4a7c15u) >> 24);
}

struct mem_table *mem_table_create(uint64_t secret)
{
    static _Atomic uint64_t tables;
    struct mem_table *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->number = atomic_fetch_add_explicit(&tables, 1, memory_order_relaxed) + 1;
    fill_random(t->keys, FEISTEL_ROUNDS, &secret);
    fill_random(t->high_box, BOX_SIZE, &secret);
    fill_random(t->low_box, BOX_SIZE, &secret);
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

static struct mem_region *free_list_take(struct mem_table *t)
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

static void free_list_return(struct mem_table *t, struct mem_region *r)
{
    spin_lock(&t->lock);
    free_list_append(t, r);
    t->registered--;
    spin_unlock(&t->lock);
}

/* Allocates outside the lock; of several threads that find the table empty at once, each may add a chunk. */
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
    full = t->chunk_count == CHUNKS;
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

/* The next generation of a free slot whose STag is not 0, which no registration ever has. */
static uint32_t next_generation(const struct mem_table *t, const struct mem_region *r, uint32_t *stag)
{
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);
    uint32_t generation = (uint32_t)(word >> WORD_GENERATION);

    do {
        generation++;
        *stag = stag_of(t, r->index, generation & GENERATION_MASK);
    } while (*stag == 0);
    return generation;
}

uint32_t slot_stag(struct mem_region *r)
{
    return stag_of(slot_table(r), r->index, r->generation & GENERATION_MASK);
}

int slot_take(struct mem_table *t, struct mem_region **out, uint32_t *stag)
{
    struct mem_region *r;

    while (!(r = free_list_take(t))) {
        int error = table_grow(t);
        if (error)
            return error;
    }
    r->generation = next_generation(t, r, stag);
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
    free_list_return(slot_table(r), r);
}

void slot_put_back(struct mem_region *r)
{
    struct mem_group *group = r->group, *parent_group = r->parent_group;
    void (*done)(void *context) = r->done;
    void *context = r->context;

    if (r->kind == SLOT_PAGED)
        free(r->pages);
    group_unlink(group, r);
    free_list_return(slot_table(r), r);
    if (done)
        done(context);
    group_unref(group); /* either may be the last that was waited for */
    group_unref(parent_group);
}

int mem_register_in(struct mem_table *t, struct mem_group *g, const void *domain, void *memory, uint64_t len,
                    uint64_t base_to, unsigned access, struct mem_region **out, uint32_t *stag)
{
    struct mem_region *r;
    int error = slot_take(t, &r, stag);

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

int mem_register(struct mem_table *t, const void *domain, void *memory, uint64_t len, uint64_t base_to,
                 unsigned access, struct mem_region **out, uint32_t *stag)
{
    return mem_register_in(t, NULL, domain, memory, len, base_to, access, out, stag);
}

bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context)
{
    uint64_t before;

    /* Before DEAD: whoever sees DEAD and lets go last reads them. */
    r->done = done;
    r->context = context;
    before = atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel);
    assert(!(before & WORD_DEAD));
    if (before & WORD_COUNT)
        return false;
    r->done = NULL; /* told by the answer */
    slot_put_back(r);
    return true;
}

/* Logical addresses */

int mem_map(struct mem_table *t, void *memory, uint64_t len, struct mem_region **out, uint64_t *logical)
{
    struct mem_region *r;
    uint32_t stag;
    int error = slot_take(t, &r, &stag);

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

static void unmapped(void *context)
{
    atomic_store_explicit((atomic_bool *)context, true, memory_order_release);
}

void mem_unmap(struct mem_region *r)
{
    atomic_bool done = false;

    if (mem_invalidate(r, unmapped, &done))
        return;
    while (!atomic_load_explicit(&done, memory_order_acquire))
        sched_yield();
}

static struct mem_region *slot_at(struct mem_table *t, uint32_t index)
{
    struct chunk *c = atomic_load_explicit(&t->chunks[index >> CHUNK_SHIFT], memory_order_acquire);
    uint32_t position = index & (CHUNK_SLOTS - 1);

    return c && position ? &c->slots[position - 1] : NULL;
}

/* Where the bits of the generation that `mask` has are these. */
static bool protect(struct mem_region *r, uint32_t generation, uint32_t mask, bool known)
{
    uint64_t hidden = known ? WORD_DEAD : WORD_DEAD | WORD_PREPARED;
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);

    do {
        if (((uint32_t)(word >> WORD_GENERATION) & mask) != generation || word & hidden)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&r->word, &word, word + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    return true;
}

bool slot_protect(struct mem_region *r, uint32_t generation, bool known)
{
    return protect(r, generation, UINT32_MAX, known);
}

/* Lookups are in every message several times: they have these inside. */
static inline void unprotect(struct mem_region *r)
{
    uint64_t before = atomic_fetch_sub_explicit(&r->word, 1, memory_order_acq_rel);

    assert(before & WORD_COUNT);
    if (before & WORD_DEAD && (before & WORD_COUNT) == 1)
        slot_put_back(r);
}

static inline struct mem_region *find(struct mem_table *t, uint32_t stag, bool known)
{
    uint32_t plain = unpermute(t, stag);
    struct mem_region *r = slot_at(t, plain >> GENERATION_BITS);

    return r && protect(r, plain & GENERATION_MASK, GENERATION_MASK, known) ? r : NULL;
}

void slot_unprotect(struct mem_region *r)
{
    unprotect(r);
}

struct mem_region *slot_find(struct mem_table *t, uint32_t stag, bool known)
{
    return find(t, stag, known);
}

static inline bool wraps(uint64_t to, uint64_t len)
{
    return len > 0 && len - 1 > UINT64_MAX - to;
}

static inline enum wire_error check(const struct mem_region *r, const void *domain, uint64_t to, uint64_t len,
                                    unsigned access)
{
    if (r->domain != domain)
        return WIRE_DDP_TAGGED_STREAM;
    if (access & ~(unsigned)r->access)
        return WIRE_RDMAP_ACCESS;
    if (wraps(to, len))
        return WIRE_DDP_TAGGED_WRAP;
    if (!range_within(r->base_to, r->len, to, len))
        return WIRE_DDP_TAGGED_BOUNDS;
    return WIRE_OK;
}

enum wire_error slot_check(const struct mem_region *r, const void *domain, uint64_t to, uint64_t len, unsigned access)
{
    return check(r, domain, to, len, access);
}

/* Where octet `to` is, and how much of len follows it in one piece. */
static void locate(const struct mem_region *r, uint64_t to, uint64_t len, struct mem_ref *ref)
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

static enum wire_error look_up(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access, bool known, struct mem_ref *ref)
{
    struct mem_region *r = find(t, stag, known);
    const struct mem_region *whole = r;
    enum wire_error error;

    *ref = (struct mem_ref){ NULL, NULL, 0 };
    if (!r)
        return WIRE_DDP_TAGGED_STAG;
    error = check(r, domain, to, len, access);
    if (error == WIRE_OK && r->kind == SLOT_WINDOW) {
        whole = r->parent;
        if (!slot_protect(r->parent, r->parent_generation, known))
            error = WIRE_DDP_TAGGED_STAG;
    }
    if (error != WIRE_OK) {
        unprotect(r);
        return error;
    }
    ref->region = r;
    locate(whole, to, len, ref);
    return WIRE_OK;
}

enum wire_error mem_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                           unsigned access, struct mem_ref *ref)
{
    return look_up(t, domain, stag, to, len, access, false, ref);
}

/* Logical addresses are regions of the table's own domain, and carry their STag. */
enum wire_error slot_look_up_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                   unsigned access, bool known, struct mem_ref *ref)
{
    if (stag == 0)
        return look_up(t, t, (uint32_t)(to >> 32), to, len, access, false, ref);
    return look_up(t, domain, stag, to, len, access, known, ref);
}

enum wire_error mem_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, struct mem_ref *ref)
{
    return slot_look_up_local(t, domain, stag, to, len, access, false, ref);
}

void mem_release(struct mem_ref *ref)
{
    struct mem_region *r = ref->region;

    *ref = (struct mem_ref){ NULL, NULL, 0 };
    if (!r)
        return;
    if (r->kind == SLOT_WINDOW)
        unprotect(r->parent);
    unprotect(r);
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
