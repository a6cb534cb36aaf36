/* SPDX-License-Identifier: MIT */
/*
 * Declares a slot of the STag table, for memory.c, memory_check.c, memory_pages.c and memory_request.c. The invariant:
 * a lookup first protects the slot by changing its member `word` (see memory.c). After that, the lookup reads other
 * members, but only members in the first cache line.
 */
#ifndef IWARP_MEMORY_INTERNAL_H
#define IWARP_MEMORY_INTERNAL_H

#include <stdatomic.h>

#include "iwarp/memory.h"

#define WORD_DEAD ((uint64_t)1 << 31)
#define WORD_PREPARED ((uint64_t)1 << 30)
#define WORD_COUNT (WORD_PREPARED - 1)
#define WORD_GENERATION 32

enum slot_kind { SLOT_FLAT, SLOT_PAGED, SLOT_WINDOW };

/* The alignment keeps the words of neighbouring slots in different cache lines. */
struct mem_region {
    _Alignas(64) _Atomic uint64_t word;
    union {
        uint8_t *memory; /* SLOT_FLAT: the first byte */
        uint8_t **pages; /* SLOT_PAGED: an array that the slot owns; the region begins at `offset` in the first page */
    };
    uint64_t len;
    uint64_t base_to;
    const void *domain;
    struct mem_region *parent; /* SLOT_WINDOW: the window's region, valid while its generation is parent_generation */
    uint32_t parent_generation;
    uint32_t offset;
    uint32_t index;
    uint8_t access, kind;
    bool revocable; /* a request has made the registration, so a request may end it */
    /* Lookups do not read the members from here on. */
    uint32_t generation; /* the registration's generation, set by slot_alloc and kept until the next slot_alloc */
    void (*done)(void *context);
    void *context;
    struct mem_group *group, *parent_group; /* each may be NULL */
    union {
        LIST_ENTRY(mem_region) link; /* in group->regions */
        struct mem_region *next;     /* in the table's list of free slots */
    };
    uint64_t number; /* the registration's number in its group */
};

_Static_assert(sizeof(struct mem_region) == 128, "two cache lines");
_Static_assert(offsetof(struct mem_region, generation) <= 72, "a lookup reads the first line");

uint64_t table_number(const struct mem_table *t); /* unique in the process, even among tables that were destroyed */
uint32_t slot_stag(struct mem_region *r);         /* returns the STag of generation r->generation */
/*
 * Allocates a slot and chooses its STag. The caller fills in the other members, and then publishes or abandons the
 * slot. Returns 0, ENOMEM or ENOSPC.
 */
int slot_alloc(struct mem_table *t, struct mem_region **out, uint32_t *stag);
void slot_publish(struct mem_region *r, uint64_t prepared); /* `prepared` is WORD_PREPARED, or 0 to make r alive */
void slot_abandon(struct mem_region *r);                    /* frees a slot that was not published */
/*
 * Finds and protects the slot with this STag. If with_prepared is set, also finds a prepared registration. Returns NULL
 * if no slot was found.
 */
struct mem_region *slot_find(struct mem_table *t, uint32_t stag, bool with_prepared);
/*
 * Protects the slot if it has this generation and is alive. If with_prepared is set, also protects a slot that has this
 * generation and is prepared. Returns false if the slot was not protected.
 */
bool slot_protect(struct mem_region *r, uint32_t generation, bool with_prepared);
/* Ends one protection. If the slot is dead and has no other protection, frees the slot. */
void slot_unprotect(struct mem_region *r);
/*
 * Frees a slot that is dead and not protected, and calls its `done`. The caller must be the thread that set DEAD while
 * the count was 0, or that brought the count of a dead slot to 0. The caller must not hold the lock of a group.
 */
void slot_free(struct mem_region *r);
/* Checks domain, rights and range of a protected slot. Returns what mem_lookup returns. */
enum wire_error slot_check(const struct mem_region *r, const void *domain, uint64_t to, uint64_t len, unsigned access);
/* Works like mem_lookup_local. If with_prepared is set, also finds a prepared registration. */
enum wire_error slot_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                  unsigned access, bool with_prepared, struct mem_ref *ref);

/* Functions of memory_pages.c. */
/* Returns true if the offset and the length of the pages are valid. */
bool pages_are_valid(const struct rdma_pages *p);
/*
 * Finds the memory of the pages, and sets r->memory if this memory is contiguous. Otherwise allocates r->pages and sets
 * r->kind to SLOT_PAGED. Returns 0, EFAULT or ENOMEM.
 */
int pages_resolve(struct mem_table *t, const struct rdma_pages *p, struct mem_region *r);

/* Functions of memory_request.c. */
/* Publishes the slot as a member of the group. Returns 0, or ECANCELED if the group is closed. */
int group_publish(struct mem_group *g, struct mem_region *r, uint64_t prepared);
/* The next two functions do nothing if g is NULL: a mapping belongs to no group. */
void group_unlink(struct mem_group *g, struct mem_region *r); /* removes r from the list; r keeps its reference on g */
void group_unref(struct mem_group *g); /* releases a reference; afterwards the group may be freed */

#endif
