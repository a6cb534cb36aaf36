/* SPDX-License-Identifier: MIT */
/*
 * Declares the STag table, which stores the memory that a peer or a request may access. Each adapter has one table. A
 * lookup takes no lock. A successful lookup protects the region until mem_release ends the protection. An invalidation
 * of the region is complete only when all protections have ended, so the memory stays valid while it is accessed. The
 * invariant: after an invalidation no new lookup of the region succeeds.
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

/* Creates a table. Returns NULL if out of memory. `secret` is a random number, so that a peer cannot guess STags. */
struct mem_table *mem_table_create(uint64_t secret);
/* Frees the table. All its regions must have been freed. */
void mem_table_destroy(struct mem_table *t);

/*
 * The registrations of one memory region or window of the consumer. A memory region has one registration at a time. A
 * fast-register region or a window has at most one alive registration, which lookups find, and may have others that are
 * prepared for queued requests. A registration that was prepared later has priority, even if an earlier one is
 * activated last.
 */
struct mem_group {
    struct spin lock;                /* guards all members; no other lock is taken while it is held */
    LIST_HEAD(, mem_region) regions; /* the newest is first */
    uint64_t newest_number;          /* the number of the newest registration, counted from 1 */
    uint64_t activated_number;       /* the highest number of all registrations that are or were alive */
    uint32_t activated_stag;         /* the STag of the registration whose number is activated_number; 0: none yet */
    uint32_t newest_stag;            /* the STag of the newest registration, or the reserved STag; 0: neither exists */
    struct mem_region *reserved;     /* the slot of the first registration, see mem_group_reserve; or NULL */
    unsigned refs; /* the number of registrations, plus the number of windows that are bound to one of them */
    bool closed;
    void (*empty)(void *context);
    void *context;
};
void mem_group_init(struct mem_group *g);
/*
 * Chooses the STag of the first registration that mem_prepare_pages will make. From now on mem_group_newest_stag
 * returns this STag. Does nothing if the STag is chosen already, or if the group has had a registration. Returns 0,
 * ENOMEM or ENOSPC.
 */
int mem_group_reserve(struct mem_table *t, struct mem_group *g);
/*
 * Returns the STag of the newest registration that is prepared or alive. If there is none, returns the STag of the
 * newest registration that was ever alive, or 0.
 */
uint32_t mem_group_current_stag(struct mem_group *g);
struct mem_description {
    uint32_t stag;
    uint64_t base_to, len;
    unsigned access;
    bool is_prepared;
};
/*
 * Describes the newest registration that is prepared or alive. If there is no such registration, returns false and sets
 * only d->stag, to the STag that mem_group_current_stag returns.
 */
bool mem_group_describe(struct mem_group *g, struct mem_description *d);
/*
 * Returns the STag of the newest registration, even if it has ended. Before the first registration, returns the
 * reserved STag or 0.
 */
uint32_t mem_group_newest_stag(struct mem_group *g);
/*
 * Undoes the preparation of `stag`, because its request was not posted. If the group has had no other registration,
 * reserves the STag again: the consumer may already have sent it to the peer.
 */
void mem_group_unprepare(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t stag);
/*
 * Ends (kills) all registrations of the group, so that no new lookup finds them. Refuses new registrations. Any thread
 * may call this function, even repeatedly.
 */
void mem_group_kill(struct mem_group *g);
/*
 * Ends the group. Returns true if all registrations of the group, and all windows that are bound to them, have been
 * freed. Otherwise returns false, and the caller must not free the group yet. The thread that later frees the last
 * registration or window calls empty(context), and does not access the group afterwards. Must be called once, after
 * mem_group_kill.
 */
bool mem_group_close(struct mem_group *g, void (*empty)(void *context), void *context);

/*
 * Registers `len` bytes at `memory` as a member of the group. Peers and requests address the first byte as base_to.
 * Only lookups with the same domain (a protection domain) find the region. The STag is never 0 and cannot be predicted.
 * The table uses it again only after some million registrations. Returns 0, ENOMEM, ENOSPC if the table is full (about
 * a million regions), or ECANCELED if the group is closed. Any thread may call this function.
 */
int mem_register(struct mem_table *t, struct mem_group *g, const void *domain, void *memory, uint64_t len,
                 uint64_t base_to, unsigned access, struct mem_region **out, uint32_t *stag);
/*
 * Ends (kills) the region, so that no new lookup finds it. Returns true if nothing protects the region; the region has
 * then been freed. Otherwise returns false. The thread that releases the last protection then frees the region and
 * calls done(context), unless `done` is NULL. Requires that the region was not invalidated earlier. Any thread may call
 * this function.
 */
bool mem_invalidate(struct mem_region *r, void (*done)(void *context), void *context);

/*
 * Maps memory to logical addresses. A request uses a logical address with the privileged token, or names the pages of
 * a fast registration by logical addresses. The upper half of a logical address is the mapping's STag. So a mapping is
 * looked up and protected like any region, and an address outside of all mappings is never accessed. `len` is at most
 * 4 GiB - MEM_PAGE. Sets *logical to the logical address of the first byte. *logical and `memory` have the same offset
 * in their pages. Returns 0, ENOMEM or ENOSPC.
 */
int mem_map(struct mem_table *t, void *memory, uint64_t len, struct mem_region **out, uint64_t *logical);
/*
 * Ends the mapping, and waits until nothing protects it. The wait is short: a thread protects memory only during one
 * system call that does not block, and while it processes the data of that call. The calling thread must not protect
 * any memory itself.
 */
void mem_unmap(struct mem_region *r);

/*
 * Registrations that requests make. The post of a request prepares the registration and chooses its STag. When the
 * request is processed, mem_activate makes the registration alive. mem_check finds a prepared registration; lookups do
 * not. mem_revoke and mem_group_kill end prepared and alive registrations. mem_discard ends a prepared one.
 */
/*
 * Prepares a registration of logical pages of MEM_PAGE bytes. Allocates an array of the pages only if they are not
 * contiguous. Returns 0, ENOMEM, ENOSPC, or:
 *   EFAULT     a part of the range is not mapped
 *   EINVAL     len does not fit into the pages
 *   ECANCELED  the group is closed
 */
int mem_prepare_pages(struct mem_table *t, struct mem_group *g, const void *domain, const struct rdma_pages *p,
                      uint32_t *stag);
/*
 * Prepares a window over [to, to + len) of the region with the STag `of`. This region must be alive or prepared. The
 * window uses the region's addresses, and has a reference on the region's group until the window is freed. Returns 0,
 * ENOMEM, ENOSPC, or:
 *   ENOENT     this domain has no such region, or `of` names a window
 *   ERANGE     the range is not inside the region
 *   EACCES     the region lacks the right (remote write requires local write)
 *   ECANCELED  g or the region's group is closed
 */
int mem_prepare_window(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t of, uint64_t to,
                       uint64_t len, unsigned access, uint32_t *stag);
/* Ends a prepared registration whose request was flushed. */
void mem_discard(struct mem_table *t, const void *domain, uint32_t stag);
/* The results of mem_activate. */
enum mem_activation {
    MEM_DONE, /* `stag` is alive now, or was killed because a newer registration had been activated already */
    MEM_GONE, /* `stag` was not prepared, or was a window whose region is not alive; nothing was activated */
    MEM_BUSY, /* returned only if `wait` is false: an alive registration would have to be killed; nothing has changed */
};
/*
 * Activates the prepared registration `stag`, and kills the registration that is alive in its group. If a newer
 * registration has been activated already, kills `stag` instead.
 * If `wait` is true, waits like mem_unmap until nothing protects the killed registration. The calling thread must then
 * have no protection of its own. If `wait` is false and another registration would have to be killed, changes nothing
 * and returns MEM_BUSY.
 */
enum mem_activation mem_activate(struct mem_table *t, uint32_t stag, bool wait);
/*
 * Ends a registration that a request made. Waits like mem_unmap, so the calling thread must have no protection of its
 * own. If `peer` is true, the peer requests the end, so the registration must be alive, with a remote right. Returns
 * WIRE_OK or:
 *   WIRE_RDMAP_INVALID_STAG          no such STag; the registration has ended; or, if `peer`, it is only prepared
 *   WIRE_RDMAP_STAG_NOT_ASSOCIATED   the registration is of another domain
 *   WIRE_RDMAP_CANNOT_INVALIDATE     no request made the registration; or, if `peer`, it has no remote right
 */
enum wire_error mem_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer);
/* Returns the result that mem_revoke would return, but changes nothing. */
enum wire_error mem_check_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer);

/*
 * Protects [to, to + len) of the region. `access` has the rights that the caller needs (the right of local read always
 * exists). Returns WIRE_OK, or the first of these that applies:
 *   WIRE_DDP_TAGGED_STAG    no such STag, or its registration has ended or is only prepared
 *   WIRE_DDP_TAGGED_STREAM  the region is of another domain
 *   WIRE_RDMAP_ACCESS       a right is missing
 *   WIRE_DDP_TAGGED_WRAP    to + len exceeds 64 bits
 *   WIRE_DDP_TAGGED_BOUNDS  the range is not inside the region
 * If len is 0, `to` must be inside the region or just behind it. A lookup that fails may protect the region briefly. If
 * another thread invalidates the region during that time, the failing lookup calls that invalidation's `done`.
 */
enum wire_error mem_lookup(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                           unsigned access, struct mem_ref *ref);
/* Ends the protection and clears *ref. Does nothing if *ref is clear. */
void mem_release(struct mem_ref *ref);
/*
 * The region of the last lookup. The region stays protected, because the next lookup usually finds the same region. A
 * thread that has a cached region must not wait for the end of other threads' protections.
 */
struct mem_cached {
    struct mem_ref ref;
    uint32_t stag;   /* the STag that the lookup was for */
    unsigned access; /* the rights that the lookup required */
};
/*
 * Returns true and sets *at to the address of `to` if the cached region is contiguous and contains [to, to + len), and
 * the cached lookup had the same `stag` and `access`. Otherwise returns false, and the caller must make a lookup. Does
 * not check the domain, which must be the domain of the cached lookup.
 */
bool mem_cached_covers(const struct mem_cached *c, uint32_t stag, uint64_t to, uint64_t len, unsigned access,
                       uint8_t **at);
/*
 * Works like mem_lookup, for a request's own SGE. STag 0 is the privileged token, with which `to` is a logical address.
 */
enum wire_error mem_lookup_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                 unsigned access, struct mem_ref *ref);
/* Returns the result that mem_lookup_local would return if all prepared registrations were alive. */
enum wire_error mem_check(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                          unsigned access);
/*
 * Returns the result that mem_lookup_local would return. Does not protect the memory, which may be invalidated at any
 * time.
 */
enum wire_error mem_check_local(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                                unsigned access);
/* Returns the result that mem_lookup would return. Does not protect the memory. */
enum wire_error mem_check_peer(struct mem_table *t, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                               unsigned access);

/* Returns the RDMAP error for a Read Request whose source could not be looked up. `e` is the error of the lookup. */
enum wire_error mem_error_for_read(enum wire_error e);

#endif
