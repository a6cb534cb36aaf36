/* SPDX-License-Identifier: MIT */
/*
 * STags: which memory a peer or a request may touch. One table for an adapter. Lookups are lock-free and hold rundown
 * protection for exactly as long as the memory is touched, so that a region can be invalidated while data for it
 * arrives: invalidation takes effect for the next lookup and is complete when the last protection is gone.
 */
#ifndef IWARP_MEMORY_H
#define IWARP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/terminate.h"

enum mem_access {
    MEM_LOCAL_READ = 0,
    MEM_LOCAL_WRITE = 1,
    MEM_REMOTE_READ = 2,
    MEM_REMOTE_WRITE = 4,
};

struct mem_table;
struct mem_region;

/* What a successful lookup gives: protected until mem_release. */
struct mem_ref {
    struct mem_region *region;
    uint8_t *at;
};

struct mem_table *mem_table_create(uint64_t secret); /* secret: makes STags unguessable; NULL without memory */
void mem_table_destroy(struct mem_table *t);         /* no region is left */

/*
 * Registers len bytes at memory, which peers and requests address from base_to on. domain: regions are reachable only
 * for lookups of the same domain (a protection domain). The STag is never 0, has no order, and no value comes again
 * before a few million registrations. 0, ENOMEM, or ENOSPC where the table is full (about a million). Any thread.
 */
int mem_register(struct mem_table *t, const void *domain, void *memory, uint64_t len, uint64_t base_to,
                 unsigned access, struct mem_region **out, uint32_t *stag);
/*
 * After this no new lookup succeeds. True: nobody touches the memory any more, the region is gone. False: somebody
 * does; done(context) is called once, as the last act of the thread that lets go last, when the region is already gone
 * (done may be NULL). The region must not have been invalidated before. Any thread.
 */
bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context);

/*
 * Protects [to, to + len) of the region. access: the rights needed (MEM_LOCAL_READ is always there). WIRE_OK, or the
 * first of these that holds:
 *   WIRE_DDP_TAGGED_STAG    no such STag, or no longer
 *   WIRE_DDP_TAGGED_STREAM  a region of another domain
 *   WIRE_RDMAP_ACCESS       a right is missing
 *   WIRE_DDP_TAGGED_WRAP    to + len leaves 64 bits
 *   WIRE_DDP_TAGGED_BOUNDS  not inside the region
 * len 0 is checked likewise, `to` being in the region or at its end. A lookup that fails may have been the last to let
 * go of a region that was just invalidated, and then calls `done` of the invalidation.
 */
enum wire_error mem_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                           unsigned access, struct mem_ref *ref);
void mem_release(struct mem_ref *ref); /* harmless on an empty one; empties it */

/* What a lookup that failed for the source of a Read Request is called: RDMAP's remote protection errors. */
enum wire_error mem_error_for_read(enum wire_error e);

#endif
