/* SPDX-License-Identifier: MIT */
/*
 * Records MDLs in use: see mdl_use.h. A record has copies of the MDLs' addresses and buffers, because the driver may
 * free an MDL in use by mistake. Only mdl_use_add reads an MDL.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/common/link.h"
#include "wdk/mm/locked_pages.h"
#include "wdk/mm/mdl_use.h"

struct mdl_in_use {
    const MDL *mdl;
    const char *start;
    SIZE_T size;
    bool partial;        /* the pages belong to another MDL */
    bool shares_mapping; /* the mapping belongs to another MDL, too */
};

struct mdl_use {
    LIST_ENTRY link;
    struct mdl_user user;
    struct stack by;
    unsigned count;
    struct mdl_in_use mdls[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static LIST_ENTRY uses = { &uses, &uses };

/* ---- Record ------------------------------------------------------------------------------------------------------ */

/* Returns the number of MDLs that have the first `bytes` bytes of the chain. */
static unsigned mdl_use_count(const MDL *chain, SIZE_T bytes)
{
    SIZE_T found = 0;
    unsigned n = 0;

    for (; chain && found < bytes; chain = chain->Next) {
        found += MmGetMdlByteCount(chain);
        n++;
    }
    return n;
}

static bool mdl_is_partial(const MDL *mdl)
{
    const unsigned flags = (USHORT)mdl->MdlFlags;

    return flags & MDL_PARTIAL && !(flags & MDL_SOURCE_IS_NONPAGED_POOL);
}

/* Returns true if the partial MDL was built from a mapped MDL. */
static bool mdl_shares_mapping(const MDL *mdl)
{
    const unsigned flags = (USHORT)mdl->MdlFlags;

    return flags & MDL_MAPPED_TO_SYSTEM_VA && !(flags & MDL_PARTIAL_HAS_BEEN_MAPPED);
}

void mdl_use_add(struct mdl_use **use, const MDL *chain, SIZE_T bytes)
{
    unsigned before = *use ? (*use)->count : 0, count = mdl_use_count(chain, bytes);
    struct mdl_use *u = count ? realloc(*use, sizeof *u + (before + count) * sizeof u->mdls[0]) : NULL;

    if (!u)
        return;
    u->count = before + count;
    for (unsigned i = before; i < u->count; i++, chain = chain->Next)
        u->mdls[i] = (struct mdl_in_use){ chain, (const char *)MmGetMdlVirtualAddress(chain), MmGetMdlByteCount(chain),
                                          mdl_is_partial(chain), mdl_is_partial(chain) && mdl_shares_mapping(chain) };
    *use = u;
}

/*
 * Returns true if the memory [start, start + size) contains one of the MDLs that `u` records, or overlaps the buffer of
 * one. Describes the first such MDL or buffer in *out.
 */
static bool mdl_use_find_in(const struct mdl_use *u, const void *start, size_t size, struct inuse_found *out)
{
    for (unsigned i = 0; i < u->count; i++) {
        const struct mdl_in_use *m = &u->mdls[i];
        bool has_mdl = (uintptr_t)m->mdl - (uintptr_t)start < size;
        bool begins_inside = (uintptr_t)m->start - (uintptr_t)start < size;

        if (!has_mdl && !begins_inside && (uintptr_t)start - (uintptr_t)m->start >= m->size)
            continue;
        out->rule = has_mdl ? &check_rules[CHECK_MDL_MISUSED] : out->rule;
        out->object = has_mdl ? (const void *)m->mdl : begins_inside ? m->start : start;
        out->what = has_mdl ? "MDL of a pending request" : "buffer of a pending request";
        out->may_begin_anew = true; /* the request may use another part of the buffer */
        out->routine = u->user.routine;
        out->owner_type = u->user.type;
        out->owner = u->user.object;
        out->by = u->by;
        return true;
    }
    return false;
}

static bool mdl_use_find(const void *start, size_t size, struct inuse_found *out)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *at = uses.Flink; at != &uses && !found; at = at->Flink)
        found = mdl_use_find_in(CONTAINING_RECORD(at, struct mdl_use, link), start, size, out);
    pthread_mutex_unlock(&lock);
    return found;
}

static void mdl_use_add_source(void)
{
    inuse_add_source(mdl_use_find);
}

void mdl_use_begin(struct mdl_use *use, const struct mdl_user *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!use)
        return;
    (void)pthread_once(&once, mdl_use_add_source);
    use->user = *user;
    stack_capture(&use->by, __builtin_return_address(0));
    pthread_mutex_lock(&lock);
    link_insert_before(&uses, &use->link);
    pthread_mutex_unlock(&lock);
}

void mdl_use_end(struct mdl_use *use)
{
    if (!use)
        return;
    pthread_mutex_lock(&lock);
    link_remove(&use->link);
    pthread_mutex_unlock(&lock);
    free(use);
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* A change of an MDL by a driver, of which a report may be made. */
struct mdl_change {
    const char *name; /* for the report */
    bool only_unmaps;
};

static bool mdl_in_use_is_of(const struct mdl_in_use *m, const MDL *mdl, const struct mdl_change *change)
{
    if (m->mdl == mdl)
        return true;
    if ((uintptr_t)m->start - (uintptr_t)MmGetMdlVirtualAddress(mdl) >= MmGetMdlByteCount(mdl))
        return false;
    if (change->only_unmaps)
        return m->shares_mapping && !mapped_pages_may_contain(m->start);
    return m->partial && !locked_pages_may_contain(m->start);
}

/* Finds a pending request that uses the MDL, and copies its description and stack. Returns false if there is none. */
static bool mdl_use_find_mdl(const MDL *mdl, const struct mdl_change *change, struct mdl_user *user, struct stack *by)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *at = uses.Flink; at != &uses && !found; at = at->Flink) {
        const struct mdl_use *u = CONTAINING_RECORD(at, struct mdl_use, link);

        for (unsigned i = 0; i < u->count && !found; i++)
            found = mdl_in_use_is_of(&u->mdls[i], mdl, change);
        if (found) {
            *user = u->user;
            *by = u->by;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void mdl_use_check(const char *routine, const MDL *mdl, const struct mdl_change *change)
{
    struct mdl_user user;
    struct stack by;

    if (!mdl_use_find_mdl(mdl, change, &user, &by))
        return;
    report_add_stack("in use since", &by);
    report_set_object(&(struct report_object){ user.object, user.type, NULL, { NULL } });
    check_failed(CHECK_MDL_MISUSED, routine, (uintptr_t)mdl, (USHORT)mdl->MdlFlags,
                 (uintptr_t)MmGetMdlVirtualAddress(mdl), mdl->ByteCount,
                 "MDL %p: %s, but the pending %s of %s %p uses it", (const void *)mdl, change->name, user.routine,
                 user.type, user.object);
}

void mdl_use_check_unlocked(const char *routine, const MDL *mdl)
{
    const struct mdl_change change = { "unlocked", false };

    if (check_on())
        mdl_use_check(routine, mdl, &change);
}

void mdl_use_check_unmapped(const char *routine, const MDL *mdl)
{
    const struct mdl_change change = { "unmapped", true };

    if (check_on())
        mdl_use_check(routine, mdl, &change);
}
