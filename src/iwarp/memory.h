/* SPDX-License-Identifier: MIT */
/*
 * The STag table: which memory a peer or a request may access. Each adapter has one table. A lookup takes no lock. It
 * protects the region until the caller releases it, so that a region can be invalidated while data for it arrives. The
 * invariant: after an invalidation no new lookup succeeds, and the invalidation is complete only when nothing protects
 * the region.
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

/* The result of a successful lookup: `run` contiguous bytes at `at`, protected until mem_release. */
struct mem_ref {
    struct mem_region *region;
    uint8_t *at;
    uint64_t run; /* the length of the lookup, or less if the region's pages are not contiguous */
};

/* Returns NULL if out of memory. secret: a random number, so that a peer cannot guess STags. */
struct mem_table *mem_table_create(uint64_t secret);
/* The caller must have released all regions. */
void mem_table_destroy(struct mem_table *t);

/*
 * The registrations of one memory region or window of the consumer. A memory region has one at a time. A fast-register
 * region or a window has at most one that is alive, and others that are prepared for queued requests. Registrations
 * replace each other in the order in which they were made, even if they are activated in another order.
 */
struct mem_group {
    struct spin lock;                /* guards everything; no other lock is taken while it is held */
    LIST_HEAD(, mem_region) regions; /* the newest is first */
    uint64_t newest_number;          /* of the newest registration; they are numbered from 1 */
    uint64_t activated_number;       /* the highest number that was ever alive */
    uint32_t activated_stag;         /* its STag; 0: none yet */
    uint32_t newest_stag;        /* of the newest registration, even if it has ended, or of `reserved`; 0: none yet */
    struct mem_region *reserved; /* the slot of the first registration, see mem_group_reserve; or NULL */
    unsigned refs;               /* registrations, and windows that are bound to one of them */
    bool closed;
    void (*empty)(void *context);
    void *context;
};
void mem_group_init(struct mem_group *g);
/*
 * Fixes the STag of the first registration that mem_prepare_pages will make. From now on mem_group_newest_stag returns
 * it. Does nothing if it is fixed already, or the registration exists. Returns 0, ENOMEM or ENOSPC.
 */
int mem_group_reserve(struct mem_table *t, struct mem_group *g);
/* Returns the STag of the newest that is prepared or alive. If none is, that of the last that was alive, or 0. */
uint32_t mem_group_current_stag(struct mem_group *g);
/* Describes the registration whose STag mem_group_current_stag returns. Returns false if it has ended. */
struct mem_description {
    uint64_t base_to, len;
    unsigned access;
    bool is_prepared;
};
bool mem_group_describe(struct mem_group *g, struct mem_description *d);
/* Returns the STag of the newest, even if it was discarded or has ended. Returns 0 if there was none. */
uint32_t mem_group_newest_stag(struct mem_group *g);
/*
 * Undoes the preparation of stag, because its request was not posted. If it is the group's only registration so far,
 * its STag is reserved again, because the consumer may have sent the STag to the peer already.
 */
void mem_group_unprepare(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t stag);
/* Kills all registrations of the group and refuses new ones. Any thread. Idempotent. */
void mem_group_kill(struct mem_group *g);
/*
 * To be called once, after mem_group_kill. Returns true if the group has no registration, and no window is bound to
 * one. Otherwise returns false, and the thread that ends the last of them calls empty(context) as its last action. The
 * caller must not free the group before that.
 */
bool mem_group_close(struct mem_group *g, void (*empty)(void *context), void *context);

/*
 * Registers len bytes at memory, which peers and requests address from base_to on. Only lookups with the same domain (a
 * protection domain) find the region. The STag is never 0 and unpredictable, and its value is used again only after
 * some million registrations. Returns 0, ENOMEM, or ENOSPC if the table is full (about a million regions). Any thread.
 */
int mem_register(struct mem_table *t, const void *domain, void *memory, uint64_t len, uint64_t base_to, unsigned access,
                 struct mem_region **out, uint32_t *stag);
/* Registers as a member of the group. Returns as mem_register, or ECANCELED if the group is closed. */
int mem_register_in(struct mem_table *t, struct mem_group *g, const void *domain, void *memory, uint64_t len,
                    uint64_t base_to, unsigned access, struct mem_region **out, uint32_t *stag);
/*
 * Kills the region: no new lookup finds it. Returns true if nothing protects it: the region has been freed. Otherwise
 * returns false. Then the thread that releases the last protection frees the region and calls done(context), unless
 * done is NULL, as its last action. The region must not have been invalidated before. Any thread.
 */
bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context);

/*
 * Maps memory to logical addresses, which requests use with the privileged token, and of which the pages of a fast
 * registration consist. The address has the mapping's STag in its upper half. So it is looked up and protected like any
 * region, and an address outside of all mappings is never accessed. len: at most 4 GiB less a page. *logical: the
 * address of the first byte, with memory's own offset in its page. Returns 0, ENOMEM or ENOSPC.
 */
int mem_map(struct mem_table *t, void *memory, uint64_t len, struct mem_region **out, uint64_t *logical);
/*
 * Waits until nothing protects the mapping. Other threads protect memory for the length of one system call that does
 * not block, and of the processing of its data. The caller must not protect memory.
 */
void mem_unmap(struct mem_region *r);

/*
 * Registrations that requests make. A post prepares one, which fixes its STag; processing the request activates it.
 * Only mem_check finds a prepared registration. mem_revoke, mem_discard and mem_group_kill end prepared and alive ones.
 */
/*
 * Prepares a registration of logical pages of MEM_PAGE bytes. Returns 0; EFAULT if a part of the range is not mapped;
 * EINVAL if len does not fit into the pages; ENOMEM; ENOSPC; or ECANCELED if the group is closed. Allocates an array of
 * the pages only if they are not contiguous.
 */
int mem_prepare_pages(struct mem_table *t, struct mem_group *g, const void *domain, const struct rdma_pages *p,
                      uint32_t *stag);
/*
 * Prepares a window over [to, to + len) of the region with the STag `of`, which is alive or prepared. The window is
 * addressed as that region is, and has a reference on that region's group until it is freed. Returns 0; ENOENT if there
 * is no such region in this domain, or it is a window; ERANGE if the range is not inside it; EACCES if it lacks the
 * right (remote write requires local write); ENOMEM; ENOSPC; or ECANCELED if a group is closed.
 */
int mem_prepare_window(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t of, uint64_t to,
                       uint64_t len, unsigned access, uint32_t *stag);
/* Ends a prepared registration, because its request was flushed. */
void mem_discard(struct mem_table *t, const void *domain, uint32_t stag);
/*
 * Activates the prepared registration stag, and kills the one that is alive in its group. If a newer registration has
 * been activated already, stag itself dies.
 * wait: waits like mem_unmap until nothing protects what dies; the caller must not protect memory. Without wait,
 * nothing changes if another registration would have to die.
 */
enum mem_activation {
    MEM_DONE,
    MEM_GONE, /* stag is not prepared. Or it is a window whose region is not alive, and the group has none alive now. */
    MEM_BUSY, /* only without wait: another registration would have to die */
};
enum mem_activation mem_activate(struct mem_table *t, uint32_t stag, bool wait);
/*
 * Ends a registration that a request made. Waits like mem_unmap; the caller must not protect memory. peer: the peer
 * requests it, so the registration must be alive and have a remote right. Returns WIRE_OK or:
 *   WIRE_RDMAP_INVALID_STAG          no such STag, or it has ended (for a peer: or it is only prepared)
 *   WIRE_RDMAP_STAG_NOT_ASSOCIATED   it is of another domain
 *   WIRE_RDMAP_CANNOT_INVALIDATE     no request made it; or a peer requests it and it has no remote right
 */
enum wire_error mem_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer);
/* Returns what mem_revoke would return, and changes nothing. */
enum wire_error mem_check_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer);

/*
 * Protects [to, to + len) of the region. access: the rights that the caller needs (local read is always granted).
 * Returns WIRE_OK, or the first of these that applies:
 *   WIRE_DDP_TAGGED_STAG    no such STag, or it has ended
 *   WIRE_DDP_TAGGED_STREAM  the region is of another domain
 *   WIRE_RDMAP_ACCESS       a right is missing
 *   WIRE_DDP_TAGGED_WRAP    to + len exceeds 64 bits
 *   WIRE_DDP_TAGGED_BOUNDS  the range is not inside the region
 * If len is 0, `to` must be inside the region or at its end. A lookup that fails may have protected, for a moment, a
 * region that another thread invalidates, and then calls that invalidation's `done`.
 */
enum wire_error mem_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                           unsigned access, struct mem_ref *ref);
/* Ends the protection and clears *ref. Does nothing if it is clear already. */
void mem_release(struct mem_ref *ref);
/*
 * The region of the last lookup, which stays protected because the next lookup usually finds the same one. A thread
 * that caches a region must not wait for another thread to end its protection.
 */
struct mem_cached {
    struct mem_ref ref;
    uint32_t stag;   /* with which it was looked up */
    unsigned access; /* the rights that the lookup required */
};
/*
 * Returns true if the same lookup, by the same domain, would find [to, to + len) in the cached region in one piece, and
 * sets *at to it. Returns false also if only a lookup can decide.
 */
bool mem_cached_covers(const struct mem_cached *c, uint32_t stag, uint64_t to, uint64_t len, unsigned access,
                       uint8_t **at);
/* mem_lookup for a request's own SGE. STag 0 is the privileged token, and `to` then a logical address. */
enum wire_error mem_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, struct mem_ref *ref);
/* Returns what mem_lookup_local would return if all prepared registrations were alive. */
enum wire_error mem_check(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                          unsigned access);
/* Returns what mem_lookup_local would return. */
enum wire_error mem_check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                unsigned access);
/* Returns what mem_lookup would return. */
enum wire_error mem_check_peer(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access);

/* Converts a lookup's error to the one that RDMAP uses if the lookup was for the source of a Read Request. */
enum wire_error mem_error_for_read(enum wire_error e);

#endif
