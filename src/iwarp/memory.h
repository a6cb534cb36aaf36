/* SPDX-License-Identifier: MIT */
/*
 * STags: which memory a peer or a request may touch. One table for an adapter. Lookups are lock-free and hold rundown
 * protection for as long as the memory is touched, or what was read or is sent at once is, so that a region can be
 * invalidated while data for it arrives: invalidation takes effect for the next lookup and is complete when the last
 * protection is gone.
 */
#ifndef IWARP_MEMORY_H
#define IWARP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/rdma.h"
#include "base/spin.h"
#include "wire/terminate.h"

struct mem_table;
struct mem_region;

enum { MEM_PAGE_SHIFT = 12, MEM_PAGE = 1 << MEM_PAGE_SHIFT };

/* What a successful lookup gives: memory from at on, run octets in one piece; protected until mem_release. */
struct mem_ref {
    struct mem_region *region;
    uint8_t *at;
    uint64_t run; /* at most what was looked up; less where pages lie apart */
};

struct mem_table *mem_table_create(uint64_t secret); /* secret: makes STags unguessable; NULL without memory */
void mem_table_destroy(struct mem_table *t);         /* no region is left */

/*
 * The registrations of one object of the consumer's. A memory region has one at a time; a fast-register region or a
 * window one after the other: at most one is alive, several more may be prepared for requests that are queued. They
 * replace each other in the order in which they were made, in whatever order their turns come.
 */
struct mem_group {
    struct spin lock; /* guards everything; a leaf */
    LIST_HEAD(, mem_region) regions; /* the newest first */
    uint64_t made;    /* registrations are numbered from 1 */
    uint64_t latest;  /* the highest number that was ever alive, */
    uint32_t stag;    /* and its STag; 0: none was */
    uint32_t newest;  /* the STag of the last that was made, whatever became of it since; 0: none was */
    struct mem_region *reserved; /* for the first that is prepared: mem_group_reserve */
    unsigned refs;    /* these, and windows bound to one of them */
    bool closed;
    void (*empty)(void *context);
    void *context;
};
void mem_group_init(struct mem_group *g);
/*
 * Fixes the STag of the first registration that mem_prepare_pages makes: mem_group_newest tells it from now on. Nothing
 * happens if one was made or the STag is fixed already. 0, or slot_take's error.
 */
int mem_group_reserve(struct mem_table *t, struct mem_group *g);
/* The STag of the newest, prepared or alive; where there is none of either, of the last that was alive, or 0. */
uint32_t mem_group_stag(struct mem_group *g);
/*
 * The STag of the last that was made: its own turn may be over already, by a flush too, and still it is the one that
 * its post is told.
 */
uint32_t mem_group_newest(struct mem_group *g);
/*
 * The request was not posted: as if it had not been made. The first's STag is fixed again, for consumers may have told
 * the peer of it before they post.
 */
void mem_group_refused(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t stag);
/* From now on nothing joins, and no lookup finds what is there. Any thread; may be called again. */
void mem_group_kill(struct mem_group *g);
/*
 * After kill, once. True: nothing is left, and no window is bound to it. False: empty(context) is called once, as the
 * last act of the thread that lets go last. Only then the group's memory may go.
 */
bool mem_group_close(struct mem_group *g, void (*empty)(void *context), void *context);

/*
 * Registers len bytes at memory, which peers and requests address from base_to on. domain: regions are reachable only
 * for lookups of the same domain (a protection domain). The STag is never 0, has no order, and no value comes again
 * before a few million registrations. 0, ENOMEM, or ENOSPC where the table is full (about a million). Any thread.
 */
int mem_register(struct mem_table *t, const void *domain, void *memory, uint64_t len, uint64_t base_to,
                 unsigned access, struct mem_region **out, uint32_t *stag);
/* The same in a group (ECANCELED: it is closed). */
int mem_register_in(struct mem_table *t, struct mem_group *g, const void *domain, void *memory, uint64_t len,
                    uint64_t base_to, unsigned access, struct mem_region **out, uint32_t *stag);
/*
 * After this no new lookup succeeds. True: nobody touches the memory any more, the region is gone. False: somebody
 * does; done(context) is called once, as the last act of the thread that lets go last, when the region is already gone
 * (done may be NULL). The region must not have been invalidated before. Any thread.
 */
bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context);

/*
 * Logical addresses: memory that requests name by the privileged token, and that pages of a fast registration lie in.
 * The address carries the mapping's STag in its upper half, so it is found, protected and released like any region,
 * and an address that belongs to no mapping touches nothing. At most 4 GiB less a page. 0, ENOMEM, ENOSPC.
 * logical: of the first byte; its offset in the page is memory's own. Released by mem_unmap, which waits for whoever
 * touches it at that moment: for one system call that does not block, and what it brought.
 */
int mem_map(struct mem_table *t, void *memory, uint64_t len, struct mem_region **out, uint64_t *logical);
void mem_unmap(struct mem_region *r);

/*
 * Requests that register: a post prepares the registration, which fixes its STag; when its turn comes it is activated.
 * A prepared one is found by mem_check alone. Prepared and alive ones die by mem_revoke, mem_discard or with the group.
 */
/*
 * Logical pages of MEM_PAGE bytes. The pages' part of the range must be mapped (EFAULT); len has to fit into the pages
 * (EINVAL). Also ENOMEM, ENOSPC, ECANCELED. Nothing is allocated if the pages follow one another.
 */
int mem_prepare_pages(struct mem_table *t, struct mem_group *g, const void *domain, const struct rdma_pages *p,
                      uint32_t *stag);
/*
 * A window over [to, to + len) of the region that `of` names, alive or prepared, addressed as that region is. It holds
 * that region's group until it is gone. ENOENT: no such region in this domain, or it is a window itself; ERANGE: not
 * inside of it; EACCES: it lacks the right (remote write needs local write). Also ENOMEM, ENOSPC, ECANCELED.
 */
int mem_prepare_window(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t of, uint64_t to,
                       uint64_t len, unsigned access, uint32_t *stag);
/* The request was flushed. */
void mem_discard(struct mem_table *t, const void *domain, uint32_t stag);
/*
 * Its turn has come: what is alive in the group dies, and stag is alive. Where one that was made later has been alive
 * already, stag has been replaced by that, and dies itself. wait: for what dies, like mem_unmap; the caller then holds
 * no protection. Otherwise nothing is done where something else would have to die.
 */
enum mem_turn {
    MEM_DONE,
    MEM_GONE, /* stag is not prepared any more, or a window's region is not alive (then what was alive has died) */
    MEM_BUSY, /* without wait: something else would have to die */
};
enum mem_turn mem_activate(struct mem_table *t, uint32_t stag, bool wait);
/*
 * Ends what a fast registration or a bind made; returns when nobody touches it any more (waits like mem_unmap; the
 * caller holds no protection). peer: a peer asks, so it must be alive with some remote right.
 *   WIRE_RDMAP_INVALID_STAG          no such STag, or no longer (or only prepared, and peer)
 *   WIRE_RDMAP_STAG_NOT_ASSOCIATED   of another domain
 *   WIRE_RDMAP_CANNOT_INVALIDATE     not made by such a request; or a peer asks and there is no remote right
 */
enum wire_error mem_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer);
/* What mem_revoke would answer, without doing it. */
enum wire_error mem_revocable(struct mem_table *t, const void *domain, uint32_t stag, bool peer);

/*
 * Protects [to, to + len) of the region. access: the rights needed (local read is always there). WIRE_OK, or the first
 * of these that holds:
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
/*
 * What was looked up last, protected until something else is: what follows is mostly from the same region. Whoever has
 * one may not wait for others to let go.
 */
struct mem_hold {
    struct mem_ref ref;
    uint32_t stag;   /* what it was looked up by, */
    unsigned access; /* and with what rights needed */
};
/*
 * The same lookup, by the same domain, would protect the same region and find [to, to + len) in one piece, at *at.
 * False also where only a lookup can tell.
 */
bool mem_hold_covers(const struct mem_hold *h, uint32_t stag, uint64_t to, uint64_t len, unsigned access, uint8_t **at);
/* The same for a request's own SGE: STag 0 is the privileged token, and `to` then a logical address. */
enum wire_error mem_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, struct mem_ref *ref);
/* What mem_lookup_local would answer when everything that is prepared is alive. */
enum wire_error mem_check(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                          unsigned access);
/* What mem_lookup_local would answer, and mem_lookup. */
enum wire_error mem_check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                unsigned access);
enum wire_error mem_check_peer(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access);

/* What a lookup that failed for the source of a Read Request is called: RDMAP's remote protection errors. */
enum wire_error mem_error_for_read(enum wire_error e);

#endif
