/* SPDX-License-Identifier: MIT */
/*
 * Makes and ends registrations for requests, and manages the groups to which registrations belong.
 *
 *   a post          mem_prepare_pages or mem_prepare_window fills a slot, chooses its STag, and makes it PREPARED
 *   activation      mem_activate kills the group's registration that is alive, and makes the prepared one alive. If the
 *                   request was flushed, mem_discard kills the prepared registration instead. If the post failed,
 *                   mem_group_unprepare undoes the preparation.
 *   the end         mem_revoke (an invalidation by this side or the peer), the next activation, or mem_group_kill
 *
 * After the post, the consumer has the STag, and may use the STag in further requests. A post checks the SGEs of such
 * requests with mem_check, which also finds a prepared registration. Lookups find only alive ones. A window has a
 * reference on its region's group until the window is freed.
 *
 * A thread protects a registration while it uses the memory (memory.c). A thread that ends a registration waits until
 * no other thread protects the registration. The invariant has two parts. While a thread waits, it protects no other
 * registration. A thread that does not wait protects a registration only during one system call, which does not block.
 * So the wait is short and ends.
 */
#include "iwarp/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/range.h"
#include "iwarp/memory_internal.h"

/* Groups */

void mem_group_init(struct mem_group *g)
{
    *g = (struct mem_group){ .refs = 0 };
    spin_init(&g->lock);
    LIST_INIT(&g->regions);
}

/* Returns the newest region that is prepared or alive, or NULL. Requires the lock. */
static struct mem_region *group_current(const struct mem_group *g)
{
    struct mem_region *r;

    LIST_FOREACH (r, &g->regions, link) {
        if (!(atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_DEAD))
            break;
    }
    return r;
}

/* Works like mem_group_current_stag. Requires the lock. */
static uint32_t group_current_stag(const struct mem_group *g)
{
    struct mem_region *r = group_current(g);

    return r ? slot_stag(r) : g->activated_stag;
}

uint32_t mem_group_current_stag(struct mem_group *g)
{
    uint32_t stag;

    spin_lock(&g->lock);
    stag = group_current_stag(g);
    spin_unlock(&g->lock);
    return stag;
}

/*
 * Describes the newest registration: see memory.h. Reads members of the region without protecting the region. This is
 * safe, because the region cannot leave the list while the lock is held, and these members do not change while the
 * region is in the list.
 */
bool mem_group_describe(struct mem_group *g, struct mem_description *d)
{
    struct mem_region *r;

    spin_lock(&g->lock);
    r = group_current(g);
    *d = (struct mem_description){ .stag = r ? slot_stag(r) : g->activated_stag };
    if (r) {
        d->base_to = r->base_to;
        d->len = r->len;
        d->access = r->access;
        d->is_prepared = (atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_PREPARED) != 0;
    }
    spin_unlock(&g->lock);
    return r != NULL;
}

uint32_t mem_group_newest_stag(struct mem_group *g)
{
    uint32_t stag;

    spin_lock(&g->lock);
    stag = g->newest_stag;
    spin_unlock(&g->lock);
    return stag;
}

static bool group_can_reserve(const struct mem_group *g)
{
    return !g->closed && !g->newest_number && !g->reserved;
}

/* Reserves the slot r for the group's first registration. Frees r if the group can no longer reserve a slot. */
static void group_set_reserved(struct mem_group *g, struct mem_region *r)
{
    spin_lock(&g->lock);
    if (group_can_reserve(g)) {
        g->reserved = r;
        g->newest_stag = slot_stag(r);
        r = NULL;
    }
    spin_unlock(&g->lock);
    if (r)
        slot_abandon(r);
}

int mem_group_reserve(struct mem_table *t, struct mem_group *g)
{
    struct mem_region *r;
    uint32_t stag;
    bool can_reserve;
    int error;

    spin_lock(&g->lock);
    can_reserve = group_can_reserve(g);
    spin_unlock(&g->lock);
    if (!can_reserve)
        return 0;
    error = slot_alloc(t, &r, &stag);
    if (!error)
        group_set_reserved(g, r);
    return error;
}

/* Removes and returns the reserved slot, or NULL. If `close` is set, also closes the group to new registrations. */
static struct mem_region *group_pop_reserved(struct mem_group *g, bool close)
{
    struct mem_region *r;

    spin_lock(&g->lock);
    r = g->reserved;
    g->reserved = NULL;
    g->closed = g->closed || close;
    spin_unlock(&g->lock);
    return r;
}

/* Records r as the newest registration that has been activated. Requires the lock. */
static void group_set_activated(struct mem_group *g, struct mem_region *r)
{
    g->activated_number = r->number;
    g->activated_stag = slot_stag(r);
}

/* Acquires a reference on the group. Returns 0, or ECANCELED if the group is closed. */
static int group_ref(struct mem_group *g)
{
    int error = 0;

    spin_lock(&g->lock);
    if (g->closed)
        error = ECANCELED;
    else
        g->refs++;
    spin_unlock(&g->lock);
    return error;
}

int group_publish(struct mem_group *g, struct mem_region *r, uint64_t prepared)
{
    int error;

    spin_lock(&g->lock);
    error = g->closed ? ECANCELED : 0;
    if (!error) {
        g->refs++;
        r->group = g;
        r->number = ++g->newest_number;
        LIST_INSERT_HEAD(&g->regions, r, link);
        g->newest_stag = slot_stag(r);
        if (!prepared)
            group_set_activated(g, r);
        slot_publish(r, prepared); /* under the lock, so that mem_group_kill finds every published slot */
    }
    spin_unlock(&g->lock);
    return error;
}

void group_unlink(struct mem_group *g, struct mem_region *r)
{
    if (!g)
        return;
    spin_lock(&g->lock);
    LIST_REMOVE(r, link);
    spin_unlock(&g->lock);
}

void group_unref(struct mem_group *g)
{
    void (*empty)(void *context) = NULL;
    void *context = NULL;

    if (!g)
        return;
    spin_lock(&g->lock);
    if (--g->refs == 0) {
        empty = g->empty;
        context = g->context;
    }
    spin_unlock(&g->lock); /* from here on the group may be freed */
    if (empty)
        empty(context);
}

/*
 * Closes the group, and kills one of its regions. Returns false if all its regions were already dead. Sets *last to the
 * killed region if no thread protects it; the caller must then free it. Otherwise sets *last to NULL.
 */
static bool group_kill_one(struct mem_group *g, struct mem_region **last)
{
    bool found = false;
    struct mem_region *r;

    *last = NULL;
    spin_lock(&g->lock);
    g->closed = true;
    LIST_FOREACH (r, &g->regions, link) {
        uint64_t before = atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel);
        if (before & WORD_DEAD)
            continue;
        found = true;
        if ((before & WORD_COUNT) == 0)
            *last = r;
        break;
    }
    spin_unlock(&g->lock);
    return found;
}

void mem_group_kill(struct mem_group *g)
{
    struct mem_region *last;

    while (group_kill_one(g, &last))
        if (last)
            slot_free(last);
}

bool mem_group_close(struct mem_group *g, void (*empty)(void *context), void *context)
{
    struct mem_region *unused = group_pop_reserved(g, true);
    bool now;

    if (unused)
        slot_abandon(unused);
    spin_lock(&g->lock);
    g->closed = true;
    now = g->refs == 0;
    if (!now) {
        g->empty = empty;
        g->context = context;
    }
    spin_unlock(&g->lock);
    return now;
}

/* The end of a registration */

/*
 * Kills r. If `wait` is set, waits until no other thread protects r. Then releases the caller's protection. If r was
 * already dead, does not wait, and returns false.
 */
static bool slot_kill_protected(struct mem_region *r, bool wait)
{
    uint64_t before = atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel);
    bool first = !(before & WORD_DEAD);

    /*
     * Only the thread that killed r waits. Each caller has a protection of r, so two waiting callers would wait for
     * each other for ever.
     */
    if (!first)
        wait = false;
    while (wait && (atomic_load_explicit(&r->word, memory_order_acquire) & WORD_COUNT) > 1)
        sched_yield();
    slot_unprotect(r);
    return first;
}

static enum wire_error slot_check_revocable(const struct mem_region *r, const void *domain, bool peer)
{
    if (r->domain != domain)
        return WIRE_RDMAP_STAG_NOT_ASSOCIATED;
    if (!r->revocable)
        return WIRE_RDMAP_CANNOT_INVALIDATE;
    if (peer && !(r->access & (RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE)))
        return WIRE_RDMAP_CANNOT_INVALIDATE;
    return WIRE_OK;
}

enum wire_error mem_check_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer)
{
    struct mem_region *r = slot_find(t, stag, !peer);
    enum wire_error error;

    if (!r)
        return WIRE_RDMAP_INVALID_STAG;
    error = slot_check_revocable(r, domain, peer);
    slot_unprotect(r);
    return error;
}

enum wire_error mem_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer)
{
    struct mem_region *r = slot_find(t, stag, !peer);
    enum wire_error error;

    if (!r)
        return WIRE_RDMAP_INVALID_STAG;
    error = slot_check_revocable(r, domain, peer);
    if (error != WIRE_OK) {
        slot_unprotect(r);
        return error;
    }
    return slot_kill_protected(r, true) ? WIRE_OK : WIRE_RDMAP_INVALID_STAG;
}

/* Kills r if it is prepared and belongs to this domain. Releases the caller's protection of r. */
static void slot_discard(struct mem_region *r, const void *domain)
{
    if (r->domain == domain && atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_PREPARED)
        (void)slot_kill_protected(r, false);
    else
        slot_unprotect(r);
}

void mem_discard(struct mem_table *t, const void *domain, uint32_t stag)
{
    struct mem_region *r = slot_find(t, stag, true);

    if (r)
        slot_discard(r, domain);
}

/*
 * Reserves r again for the next registration, and releases the caller's protection of r. r keeps its STag, so that an
 * STag that was sent to a peer stays valid. Changes nothing and returns false if the group has had another
 * registration, another thread protects r, or a window is bound to r.
 */
static bool group_reserve_again(struct mem_group *g, struct mem_region *r)
{
    uint64_t free_slot = (uint64_t)r->generation << WORD_GENERATION | WORD_DEAD;
    uint64_t mine = (free_slot & ~WORD_DEAD) | WORD_PREPARED | 1;
    uint8_t **pages = NULL;
    bool again;

    spin_lock(&g->lock);
    again = g->newest_number == 1 && g->refs == 1 && !g->closed && r->kind != SLOT_WINDOW &&
            atomic_compare_exchange_strong_explicit(&r->word, &mine, free_slot, memory_order_acq_rel,
                                                    memory_order_relaxed);
    if (again) {
        LIST_REMOVE(r, link);
        g->newest_number = g->refs = 0;
        g->reserved = r;
        pages = r->kind == SLOT_PAGED ? r->pages : NULL;
        r->kind = SLOT_FLAT;
    }
    spin_unlock(&g->lock);
    free(pages);
    return again;
}

void mem_group_unprepare(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t stag)
{
    struct mem_region *r = slot_find(t, stag, true);

    if (r && group_reserve_again(g, r))
        return;
    if (r)
        slot_discard(r, domain);
    spin_lock(&g->lock);
    if (g->newest_stag == stag)
        g->newest_stag = group_current_stag(g);
    spin_unlock(&g->lock);
}

/* Preparation */

static int group_publish_prepared(struct mem_group *g, struct mem_region *r)
{
    int error = group_publish(g, r, WORD_PREPARED);

    if (error) {
        if (r->kind == SLOT_PAGED)
            free(r->pages);
        slot_abandon(r);
    }
    return error;
}

int mem_prepare_pages(struct mem_table *t, struct mem_group *g, const void *domain, const struct rdma_pages *p,
                      uint32_t *stag)
{
    struct mem_region *r;
    int error;

    if (!pages_are_valid(p))
        return EINVAL;
    r = group_pop_reserved(g, false);
    error = r ? 0 : slot_alloc(t, &r, stag);
    if (error)
        return error;
    *stag = slot_stag(r);
    r->kind = SLOT_FLAT; /* pages_resolve may change the kind */
    r->len = p->len;
    r->base_to = p->base_address;
    r->domain = domain;
    r->access = (uint8_t)p->access;
    r->revocable = true;
    error = pages_resolve(t, p, r);
    if (error) {
        group_set_reserved(g, r); /* reserves the STag for the group's first registration, or frees the slot */
        return error;
    }
    return group_publish_prepared(g, r);
}

/*
 * Checks whether a window with these values may be bound to the region `whole`, which the caller must protect. Returns
 * 0, or the error of mem_prepare_window.
 */
static int window_check(const struct mem_region *whole, const void *domain, uint64_t to, uint64_t len, unsigned access)
{
    if (whole->domain != domain || whole->kind == SLOT_WINDOW)
        return ENOENT;
    if (access & RDMA_ACCESS_REMOTE_WRITE && !(whole->access & RDMA_ACCESS_LOCAL_WRITE))
        return EACCES;
    return len > 0 && range_within(whole->base_to, whole->len, to, len) ? 0 : ERANGE;
}

static int window_create(struct mem_table *t, struct mem_group *g, struct mem_region *whole, uint64_t to, uint64_t len,
                         unsigned access, uint32_t *stag)
{
    struct mem_region *r;
    int error = slot_alloc(t, &r, stag);

    if (error)
        return error;
    error = group_ref(whole->group);
    if (error) {
        slot_abandon(r);
        return error;
    }
    r->kind = SLOT_WINDOW;
    r->memory = NULL;
    r->len = len;
    r->base_to = to;
    r->domain = whole->domain;
    r->access = (uint8_t)access;
    r->revocable = true;
    r->parent = whole;
    r->parent_generation = (uint32_t)(atomic_load_explicit(&whole->word, memory_order_relaxed) >> WORD_GENERATION);
    r->parent_group = whole->group;
    error = group_publish_prepared(g, r);
    if (error)
        group_unref(whole->group);
    return error;
}

int mem_prepare_window(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t of, uint64_t to,
                       uint64_t len, unsigned access, uint32_t *stag)
{
    struct mem_region *whole = slot_find(t, of, true);
    int error;

    if (!whole)
        return ENOENT;
    error = window_check(whole, domain, to, len, access);
    if (!error)
        error = window_create(t, g, whole, to, len, access, stag);
    slot_unprotect(whole);
    return error;
}

/* Activation */

/*
 * Finds and protects a registration of the group that is alive. Returns NULL if none is alive. Requires the group's
 * lock.
 */
static struct mem_region *group_find_alive(struct mem_group *g)
{
    struct mem_region *s;

    LIST_FOREACH (s, &g->regions, link) {
        uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
        if (slot_protect(s, (uint32_t)(word >> WORD_GENERATION), false))
            break;
    }
    return s;
}

/*
 * Activates r and returns MEM_DONE. The caller must protect r, so that r stays a member of its group. Exceptions:
 *   - If r is no longer prepared, returns MEM_GONE.
 *   - If an older member is alive, protects it, stores it in *other for the caller to kill, and returns MEM_BUSY.
 *   - If r is a window whose region has died (`whole` is false), kills r and returns MEM_GONE.
 *   - If a newer member was activated already, kills r and returns MEM_DONE.
 * The lock is held from the check to the change. So if two activations are concurrent, the second one finds that the
 * registration of the first one is alive.
 */
static enum mem_activation group_try_activate(struct mem_region *r, bool whole, struct mem_region **other)
{
    struct mem_group *g = r->group;
    enum mem_activation result = MEM_GONE;

    spin_lock(&g->lock);
    bool late = r->number < g->activated_number;
    bool mine = atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_PREPARED;
    *other = mine && !late ? group_find_alive(g) : NULL;
    if (*other) {
        result = MEM_BUSY;
    } else if (mine) {
        bool dies = late || !whole;
        uint64_t before = dies ? atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel)
                               : atomic_fetch_and_explicit(&r->word, ~WORD_PREPARED, memory_order_acq_rel);
        result = before & WORD_DEAD || !whole ? MEM_GONE : MEM_DONE;
        if (result == MEM_DONE && !late)
            group_set_activated(g, r);
    }
    spin_unlock(&g->lock);
    return result;
}

enum mem_activation mem_activate(struct mem_table *t, uint32_t stag, bool wait)
{
    struct mem_region *r, *other;
    enum mem_activation result;

    while ((r = slot_find(t, stag, true)) != NULL) {
        bool whole = r->kind != SLOT_WINDOW || slot_protect(r->parent, r->parent_generation, false);

        result = group_try_activate(r, whole, &other);
        if (whole && r->kind == SLOT_WINDOW)
            slot_unprotect(r->parent);
        slot_unprotect(r); /* so that this thread protects only `other` while it waits below */
        if (result != MEM_BUSY)
            return result;
        if (!wait) {
            slot_unprotect(other);
            return MEM_BUSY;
        }
        (void)slot_kill_protected(other, true);
    }
    return MEM_GONE;
}
