/* SPDX-License-Identifier: MIT */
/* Abstract: a slot of the STag table, for the files that make it up (memory.c, memory_check.c, memory_request.c). */
#ifndef IWARP_MEMORY_INTERNAL_H
#define IWARP_MEMORY_INTERNAL_H

#include <stdatomic.h>

#include "iwarp/memory.h"

#define WORD_DEAD       ((uint64_t)1 << 31)
#define WORD_PREPARED   ((uint64_t)1 << 30)
#define WORD_COUNT      (WORD_PREPARED - 1)
#define WORD_GENERATION 32

enum slot_kind { SLOT_FLAT, SLOT_PAGED, SLOT_WINDOW };

/*
 * What a lookup reads is in the first cache line; slots are aligned to that, so that protection on one region does not
 * slow down its neighbours.
 */
struct mem_region {
    _Alignas(64) _Atomic uint64_t word;
    union {
        uint8_t *memory;  /* flat */
        uint8_t **pages;  /* paged: of its own; the first octet is `offset` octets into the first */
    };
    uint64_t len;
    uint64_t base_to;
    const void *domain;
    struct mem_region *parent;  /* window: the region that it is a part of, in that generation */
    uint32_t parent_generation;
    uint32_t offset;
    uint32_t index;
    uint8_t access, kind;
    bool revocable;             /* made by a request, so that requests end it */
    /* Not for lookups: */
    uint32_t generation;        /* of the registration being made */
    void (*done)(void *context);
    void *context;
    struct mem_group *group, *parent_group; /* or NULL */
    union {
        LIST_ENTRY(mem_region) link; /* group->regions */
        struct mem_region *next;     /* while free */
    };
    uint64_t number;                 /* in its group */
};

_Static_assert(sizeof(struct mem_region) == 128, "two cache lines");
_Static_assert(offsetof(struct mem_region, generation) <= 72, "a lookup reads the first line");

uint64_t table_number(const struct mem_table *t); /* no other has had it, or will */
struct mem_table *slot_table(struct mem_region *r);
uint32_t slot_stag(struct mem_region *r); /* of the registration that it is, or was last */
/* A free slot whose STag is decided; the caller fills it in, then publishes or abandons it. 0, ENOMEM, ENOSPC. */
int slot_take(struct mem_table *t, struct mem_region **out, uint32_t *stag);
void slot_publish(struct mem_region *r, uint64_t prepared); /* WORD_PREPARED, or 0: alive */
void slot_abandon(struct mem_region *r);
/* The slot that an STag names, in the generation that it names, protected; NULL. known: a prepared one too. */
struct mem_region *slot_find(struct mem_table *t, uint32_t stag, bool known);
bool slot_protect(struct mem_region *r, uint32_t generation, bool known);
void slot_unprotect(struct mem_region *r);
/* By the one who has set DEAD: the slot is free, its groups know. */
void slot_put_back(struct mem_region *r);
/* Range and rights, as mem_lookup's, of a protected slot. */
enum wire_error slot_check(const struct mem_region *r, const void *domain, uint64_t to, uint64_t len, unsigned access);
/* mem_lookup_local. known: what is prepared counts as alive. */
enum wire_error slot_look_up_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                   unsigned access, bool known, struct mem_ref *ref);

/* memory_request.c. NULL groups are none. */
/* slot_publish as a member of the group: 0 or ECANCELED. */
int group_publish(struct mem_group *g, struct mem_region *r, uint64_t prepared);
void group_unlink(struct mem_group *g, struct mem_region *r); /* its reference remains */
int group_ref(struct mem_group *g);
void group_unref(struct mem_group *g);

#endif
