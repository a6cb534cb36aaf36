/* SPDX-License-Identifier: MIT */
/*
 * Abstract: registrations that requests make and end, and the objects that these belong to.
 *
 *   post            mem_prepare_pages, mem_prepare_window: a slot with its STag, PREPARED
 *   its turn        mem_activate: what was alive dies, then it is alive          (flushed instead: mem_discard;
 *                                                                                 never posted: mem_group_refused)
 *   its end         mem_revoke: an invalidation, here or by the peer; or the next activation; or mem_group_kill
 *
 * Between post and turn the consumer and its own requests know the STag already, and may post requests that name it;
 * mem_check finds it then, no lookup does. A window keeps its region's group from emptying until the window is gone.
 *
 * Whoever has to know that nobody touches the memory any more waits for that on the spot: protection is only held
 * around one system call that does not block, by a thread that waits for nothing meanwhile, so the wait is short and
 * ends.
 */
#include "iwarp/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/range.h"
#include "iwarp/memory_internal.h"

/* Groups */

void mem_group_init(struct mem_group *g)
{
    *g = (struct mem_group){ .refs = 0 };
    spin_init(&g->lock);
    LIST_INIT(&g->regions);
}

/* Under the lock. */
static uint32_t newest_left(const struct mem_group *g)
{
    struct mem_region *r;

    LIST_FOREACH(r, &g->regions, link) {
        if (!(atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_DEAD))
            break;
    }
    return r ? slot_stag(r) : g->stag;
}

uint32_t mem_group_stag(struct mem_group *g)
{
    uint32_t stag;

    spin_lock(&g->lock);
    stag = newest_left(g);
    spin_unlock(&g->lock);
    return stag;
}

uint32_t mem_group_newest(struct mem_group *g)
{
    uint32_t stag;

    spin_lock(&g->lock);
    stag = g->newest;
    spin_unlock(&g->lock);
    return stag;
}

static bool group_wants(const struct mem_group *g)
{
    return !g->closed && !g->made && !g->reserved;
}

/* What is not wanted (any more) is nobody's again. */
static void group_reserve(struct mem_group *g, struct mem_region *r)
{
    spin_lock(&g->lock);
    if (group_wants(g)) {
        g->reserved = r;
        g->newest = slot_stag(r);
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
    bool wanted;
    int error;

    spin_lock(&g->lock);
    wanted = group_wants(g);
    spin_unlock(&g->lock);
    if (!wanted)
        return 0;
    error = slot_take(t, &r, &stag);
    if (!error)
        group_reserve(g, r);
    return error;
}

/* NULL: there is none. */
static struct mem_region *take_reserved(struct mem_group *g, bool for_good)
{
    struct mem_region *r;

    spin_lock(&g->lock);
    r = g->reserved;
    g->reserved = NULL;
    g->closed = g->closed || for_good;
    spin_unlock(&g->lock);
    return r;
}

/* Under the lock. */
static void now_latest(struct mem_group *g, struct mem_region *r)
{
    g->latest = r->number;
    g->stag = slot_stag(r);
}

int group_ref(struct mem_group *g)
{
    int error = 0;

    if (!g)
        return 0;
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

    if (!g) {
        slot_publish(r, prepared);
        return 0;
    }
    spin_lock(&g->lock);
    error = g->closed ? ECANCELED : 0;
    if (!error) {
        g->refs++;
        r->group = g;
        r->number = ++g->made;
        LIST_INSERT_HEAD(&g->regions, r, link);
        g->newest = slot_stag(r);
        if (!prepared)
            now_latest(g, r);
        slot_publish(r, prepared); /* under the lock: whoever kills the group meets it either here or not at all */
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
    spin_unlock(&g->lock); /* from here on the group may be gone */
    if (empty)
        empty(context);
}

/* One region that is not dead yet is dead now. False: there is none. *last: nobody else puts it back. */
static bool kill_one(struct mem_group *g, struct mem_region **last)
{
    bool found = false;
    struct mem_region *r;

    *last = NULL;
    spin_lock(&g->lock);
    g->closed = true;
    LIST_FOREACH(r, &g->regions, link) {
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

    while (kill_one(g, &last))
        if (last)
            slot_put_back(last);
}

bool mem_group_close(struct mem_group *g, void (*empty)(void *context), void *context)
{
    struct mem_region *unused = take_reserved(g, true);
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

/* Ends */

/* The caller holds one protection, and gives it back. False: somebody else has ended it. */
static bool end_protected(struct mem_region *r, bool wait)
{
    uint64_t before = atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel);
    bool first = !(before & WORD_DEAD);

    /* Of several that end it at once only the first waits: they hold protection, and would wait for one another. */
    if (!first)
        wait = false;
    while (wait && (atomic_load_explicit(&r->word, memory_order_acquire) & WORD_COUNT) > 1)
        sched_yield();
    slot_unprotect(r);
    return first;
}

static enum wire_error may_revoke(const struct mem_region *r, const void *domain, bool peer)
{
    if (r->domain != domain)
        return WIRE_RDMAP_STAG_NOT_ASSOCIATED;
    if (!r->revocable)
        return WIRE_RDMAP_CANNOT_INVALIDATE;
    if (peer && !(r->access & (RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE)))
        return WIRE_RDMAP_CANNOT_INVALIDATE;
    return WIRE_OK;
}

enum wire_error mem_revocable(struct mem_table *t, const void *domain, uint32_t stag, bool peer)
{
    struct mem_region *r = slot_find(t, stag, !peer);
    enum wire_error error;

    if (!r)
        return WIRE_RDMAP_INVALID_STAG;
    error = may_revoke(r, domain, peer);
    slot_unprotect(r);
    return error;
}

enum wire_error mem_revoke(struct mem_table *t, const void *domain, uint32_t stag, bool peer)
{
    struct mem_region *r = slot_find(t, stag, !peer);
    enum wire_error error;

    if (!r)
        return WIRE_RDMAP_INVALID_STAG;
    error = may_revoke(r, domain, peer);
    if (error != WIRE_OK) {
        slot_unprotect(r);
        return error;
    }
    return end_protected(r, true) ? WIRE_OK : WIRE_RDMAP_INVALID_STAG;
}

/* r is protected, and is not any more. */
static void discard(struct mem_region *r, const void *domain)
{
    if (r->domain == domain && atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_PREPARED)
        (void)end_protected(r, false);
    else
        slot_unprotect(r);
}

void mem_discard(struct mem_table *t, const void *domain, uint32_t stag)
{
    struct mem_region *r = slot_find(t, stag, true);

    if (r)
        discard(r, domain);
}

/*
 * The first that was made, which nobody else protects and no window is bound to, is nobody's again, and reserved. The
 * STag then names what is prepared next, and whoever was told it before cannot tell the difference.
 */
static bool reserve_again(struct mem_group *g, struct mem_region *r)
{
    uint64_t free_slot = (uint64_t)r->generation << WORD_GENERATION | WORD_DEAD;
    uint64_t mine = (free_slot & ~WORD_DEAD) | WORD_PREPARED | 1;
    uint8_t **pages = NULL;
    bool again;

    spin_lock(&g->lock);
    again = g->made == 1 && g->refs == 1 && !g->closed && r->kind != SLOT_WINDOW &&
            atomic_compare_exchange_strong_explicit(&r->word, &mine, free_slot, memory_order_acq_rel,
                                                    memory_order_relaxed);
    if (again) {
        LIST_REMOVE(r, link);
        g->made = g->refs = 0;
        g->reserved = r;
        pages = r->kind == SLOT_PAGED ? r->pages : NULL;
        r->kind = SLOT_FLAT;
    }
    spin_unlock(&g->lock);
    free(pages);
    return again;
}

void mem_group_refused(struct mem_table *t, struct mem_group *g, const void *domain, uint32_t stag)
{
    struct mem_region *r = slot_find(t, stag, true);

    if (r && reserve_again(g, r))
        return;
    if (r)
        discard(r, domain);
    spin_lock(&g->lock);
    if (g->newest == stag)
        g->newest = newest_left(g);
    spin_unlock(&g->lock);
}

/* Preparing */

static uint64_t pages_used(const struct rdma_pages *p)
{
    return (p->offset + p->len + MEM_PAGE - 1) >> MEM_PAGE_SHIFT;
}

static bool pages_valid(const struct rdma_pages *p)
{
    uint64_t room = (uint64_t)p->count << MEM_PAGE_SHIFT;

    if (p->count == 0 || p->len == 0 || p->offset >= MEM_PAGE)
        return false;
    return p->len <= room - p->offset;
}

/*
 * Finds the pages [first, used) that follow one another from `first` on, and where their part of the range is. *at: of
 * the first page's beginning, which need not be mapped itself. Returns how many; 0: not all of it is mapped.
 */
static uint64_t pages_run(struct mem_table *t, const struct rdma_pages *p, uint64_t first, uint64_t used, uint8_t **at)
{
    uint64_t n = 1, from = first == 0 ? p->offset : 0;
    uint64_t before = first == 0 ? 0 : (first << MEM_PAGE_SHIFT) - p->offset; /* octets in earlier pages */
    struct mem_ref ref;

    while (first + n < used && p->logical[first + n] == p->logical[first + n - 1] + MEM_PAGE)
        n++;
    uint64_t len = (n << MEM_PAGE_SHIFT) - from;
    if (len > p->len - before)
        len = p->len - before;
    if (p->logical[first] & (MEM_PAGE - 1) ||
        mem_lookup_local(t, NULL, 0, p->logical[first] + from, len, RDMA_ACCESS_LOCAL_READ, &ref) != WIRE_OK)
        return 0;
    *at = ref.at - from;
    mem_release(&ref);
    return n;
}

/* Either flat or with a list of pages. */
static int pages_resolve(struct mem_table *t, const struct rdma_pages *p, struct mem_region *r)
{
    uint64_t used = pages_used(p), n;
    uint8_t *at;

    n = pages_run(t, p, 0, used, &at);
    if (n == used) {
        r->memory = at + p->offset;
        return 0;
    }
    if (n == 0)
        return EFAULT;
    r->pages = calloc(used, sizeof *r->pages);
    if (!r->pages)
        return ENOMEM;
    for (uint64_t first = 0; first < used; first += n) {
        n = pages_run(t, p, first, used, &at);
        if (n == 0) {
            free(r->pages);
            return EFAULT;
        }
        for (uint64_t i = 0; i < n; i++)
            r->pages[first + i] = at + (i << MEM_PAGE_SHIFT);
    }
    r->kind = SLOT_PAGED;
    r->offset = p->offset;
    return 0;
}

static int join_prepared(struct mem_group *g, struct mem_region *r)
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

    if (!pages_valid(p))
        return EINVAL;
    r = take_reserved(g, false);
    error = r ? 0 : slot_take(t, &r, stag);
    if (error)
        return error;
    *stag = slot_stag(r);
    r->kind = SLOT_FLAT; /* until its pages are resolved; an earlier try may have failed */
    r->len = p->len;
    r->base_to = p->base_address;
    r->domain = domain;
    r->access = (uint8_t)p->access;
    r->revocable = true;
    error = pages_resolve(t, p, r);
    if (error) {
        group_reserve(g, r); /* still the first's, if it was */
        return error;
    }
    return join_prepared(g, r);
}

/* `whole` is protected. */
static int window_valid(const struct mem_region *whole, const void *domain, uint64_t to, uint64_t len, unsigned access)
{
    if (whole->domain != domain || whole->kind == SLOT_WINDOW)
        return ENOENT;
    if (access & RDMA_ACCESS_REMOTE_WRITE && !(whole->access & RDMA_ACCESS_LOCAL_WRITE))
        return EACCES;
    return len > 0 && range_within(whole->base_to, whole->len, to, len) ? 0 : ERANGE;
}

static int window_make(struct mem_table *t, struct mem_group *g, struct mem_region *whole, uint64_t to, uint64_t len,
                       unsigned access, uint32_t *stag)
{
    struct mem_region *r;
    int error = slot_take(t, &r, stag);

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
    error = join_prepared(g, r);
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
    error = window_valid(whole, domain, to, len, access);
    if (!error)
        error = window_make(t, g, whole, to, len, access, stag);
    slot_unprotect(whole);
    return error;
}

/* Its turn */

/* Under the lock of the group: a member that is alive, protected; NULL. */
static struct mem_region *alive_member(struct mem_group *g)
{
    struct mem_region *s;

    LIST_FOREACH(s, &g->regions, link) {
        uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
        if (slot_protect(s, (uint32_t)(word >> WORD_GENERATION), false))
            break;
    }
    return s;
}

/*
 * r is protected, so it is a member still; whole: so is the region that it is a part of. MEM_BUSY: *other has to die
 * first, and is protected. One lock around the look and the step, so that of two whose turns come at once one meets the
 * other.
 */
static enum mem_turn take_turn(struct mem_region *r, bool whole, struct mem_region **other)
{
    struct mem_group *g = r->group;
    enum mem_turn turn = MEM_GONE;

    spin_lock(&g->lock);
    bool late = r->number < g->latest;
    bool mine = atomic_load_explicit(&r->word, memory_order_relaxed) & WORD_PREPARED;
    *other = mine && !late ? alive_member(g) : NULL;
    if (*other) {
        turn = MEM_BUSY;
    } else if (mine) {
        bool dies = late || !whole;
        uint64_t before = dies ? atomic_fetch_or_explicit(&r->word, WORD_DEAD, memory_order_acq_rel)
                               : atomic_fetch_and_explicit(&r->word, ~WORD_PREPARED, memory_order_acq_rel);
        turn = before & WORD_DEAD || !whole ? MEM_GONE : MEM_DONE;
        if (turn == MEM_DONE && !late)
            now_latest(g, r);
    }
    spin_unlock(&g->lock);
    return turn;
}

enum mem_turn mem_activate(struct mem_table *t, uint32_t stag, bool wait)
{
    struct mem_region *r, *other;
    enum mem_turn turn;

    while ((r = slot_find(t, stag, true)) != NULL) {
        bool whole = r->kind != SLOT_WINDOW || slot_protect(r->parent, r->parent_generation, false);

        turn = take_turn(r, whole, &other);
        if (whole && r->kind == SLOT_WINDOW)
            slot_unprotect(r->parent);
        slot_unprotect(r); /* nothing else is held while waiting */
        if (turn != MEM_BUSY)
            return turn;
        if (!wait) {
            slot_unprotect(other);
            return MEM_BUSY;
        }
        (void)end_protected(other, true);
    }
    return MEM_GONE;
}
