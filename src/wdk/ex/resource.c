/* SPDX-License-Identifier: MIT */
/*
 * ERESOURCE. Its state belongs to the dispatcher's lock. Who cannot have it waits in a queue and is given it by whoever
 * lets it go: after an exclusive owner all who wait for shared access, if any, else the first for exclusive access;
 * after the last shared owner the first for exclusive access.
 */
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/lock.h"
#include "wdk/ke/wait.h"

static bool is_released(const void *resource);
static const struct lock_kind resource_kind = { .name = "ERESOURCE", .is_released = is_released };

enum kind { EXCLUSIVE, SHARED, SHARED_STARVING, SHARED_WAITING };

struct owner {
    LIST_ENTRY link; /* in Owners */
    ERESOURCE_THREAD thread;
    ULONG count;
};

struct waiter {
    LIST_ENTRY link; /* in Waiters */
    KEVENT granted;
    ERESOURCE_THREAD thread;
    bool exclusive;
    struct owner *owner; /* to be used when shared access is given */
};

static ERESOURCE_THREAD self(void)
{
    return (ERESOURCE_THREAD)thread_self();
}

static struct owner *owner_at(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct owner, link);
}

static struct waiter *waiter_at(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct waiter, link);
}

static struct owner *find_owner(ERESOURCE *r, ERESOURCE_THREAD thread)
{
    for (LIST_ENTRY *e = r->Owners.Flink; e != &r->Owners; e = e->Flink)
        if (owner_at(e)->thread == thread)
            return owner_at(e);
    return NULL;
}

/* *fresh becomes the owner's entry, and NULL, if the thread has none yet. */
static void own_shared(ERESOURCE *r, ERESOURCE_THREAD thread, struct owner **fresh, ULONG count)
{
    struct owner *o = find_owner(r, thread);

    if (o) {
        o->count += count;
        return;
    }
    o = *fresh;
    *fresh = NULL;
    o->thread = thread;
    o->count = count;
    link_insert_before(&r->Owners, &o->link);
}

static bool try_own(ERESOURCE *r, enum kind kind, ERESOURCE_THREAD thread, struct owner **fresh)
{
    if (r->OwnerCount > 0) {
        if (r->OwnerThread != thread)
            return false;
        r->OwnerCount++;
        return true;
    }
    if (kind == EXCLUSIVE) {
        if (!link_empty(&r->Owners))
            return false;
        r->OwnerThread = thread;
        r->OwnerCount = 1;
        return true;
    }
    if (r->NumberOfExclusiveWaiters > 0 &&
        kind != SHARED_STARVING &&
        (kind == SHARED_WAITING || !find_owner(r, thread)))
        return false;
    own_shared(r, thread, fresh, 1);
    return true;
}

static void grant(ERESOURCE *r, struct waiter *w, struct wake_list *wake)
{
    if (w->exclusive) {
        r->OwnerThread = w->thread;
        r->OwnerCount = 1;
        r->NumberOfExclusiveWaiters--;
    } else {
        own_shared(r, w->thread, &w->owner, 1);
        r->NumberOfSharedWaiters--;
    }
    link_remove(&w->link);
    dispatch_set_state(&w->granted.Header, 1);
    dispatch_satisfy(&w->granted.Header, wake);
}

static void grant_shared(ERESOURCE *r, struct wake_list *wake)
{
    LIST_ENTRY *next;

    for (LIST_ENTRY *e = r->Waiters.Flink; e != &r->Waiters; e = next) {
        next = e->Flink;
        if (!waiter_at(e)->exclusive)
            grant(r, waiter_at(e), wake);
    }
}

static void grant_next(ERESOURCE *r, bool was_exclusive, struct wake_list *wake)
{
    if (link_empty(&r->Waiters))
        return;
    if (was_exclusive ? r->NumberOfSharedWaiters > 0 : r->NumberOfExclusiveWaiters == 0) {
        grant_shared(r, wake);
        return;
    }
    for (LIST_ENTRY *e = r->Waiters.Flink; e != &r->Waiters; e = e->Flink)
        if (waiter_at(e)->exclusive) {
            grant(r, waiter_at(e), wake);
            return;
        }
}

/* The lock is held on entry and free afterwards. */
static void wait_for(ERESOURCE *r, enum kind kind, struct owner **fresh)
{
    struct waiter w = { .thread = self(), .exclusive = kind == EXCLUSIVE, .owner = *fresh };

    dispatch_init(&w.granted.Header, OBJECT_EVENT_NOTIFICATION, 0);
    link_insert_before(&r->Waiters, &w.link);
    r->ContentionCount++;
    *(w.exclusive ? &r->NumberOfExclusiveWaiters : &r->NumberOfSharedWaiters) += 1;
    dispatch_unlock(NULL);
    (void)dispatch_wait(&w.granted, NULL);
    *fresh = w.owner;
}

static struct owner *new_owner(void)
{
    struct owner *o = malloc(sizeof *o);

    if (!o)
        abort(); /* the routine cannot fail */
    return o;
}

/* Windows waits for ever then. */
static bool is_deadlock(const char *routine, ERESOURCE *r, enum kind kind, BOOLEAN wait)
{
    bool held;

    if (!check_on() || kind != EXCLUSIVE || !wait)
        return false;
    dispatch_lock();
    held = find_owner(r, self()) != NULL;
    dispatch_unlock(NULL);
    if (held)
        check_failed(CHECK_LOCK_RECURSIVE, routine, (uintptr_t)r, 0, 0, 0,
                     "this thread holds ERESOURCE %p shared: exclusive access would wait for itself", (void *)r);
    return held;
}

static BOOLEAN acquire(const char *routine, ERESOURCE *r, enum kind kind, BOOLEAN wait, const void *by)
{
    struct owner *fresh;
    bool owned;

    irql_check_max(routine, APC_LEVEL);
    if (is_deadlock(routine, r, kind, wait))
        return FALSE;
    fresh = kind == EXCLUSIVE ? NULL : new_owner();
    dispatch_lock();
    owned = try_own(r, kind, self(), &fresh);
    if (owned || !wait)
        dispatch_unlock(NULL);
    else
        wait_for(r, kind, &fresh);
    free(fresh);
    if (!owned && !wait)
        return FALSE;
    if (check_on())
        thread_add_lock(r, &resource_kind, by);
    return TRUE;
}

/* False: the thread does not own it. *gone: an owner's entry to free. */
static bool release_one(ERESOURCE *r, ERESOURCE_THREAD thread, struct owner **gone, struct wake_list *wake)
{
    struct owner *o;

    if (r->OwnerCount > 0) {
        if (r->OwnerThread != thread)
            return false;
        if (--r->OwnerCount == 0)
            grant_next(r, true, wake);
        return true;
    }
    o = find_owner(r, thread);
    if (!o)
        return false;
    if (--o->count == 0) {
        link_remove(&o->link);
        *gone = o;
        if (link_empty(&r->Owners))
            grant_next(r, false, wake);
    }
    return true;
}

static void release(const char *routine, ERESOURCE *r, ERESOURCE_THREAD thread)
{
    struct wake_list wake = { NULL };
    struct owner *gone = NULL;
    bool owned;

    irql_check_max(routine, DISPATCH_LEVEL);
    dispatch_lock();
    owned = release_one(r, thread, &gone, &wake);
    dispatch_unlock(&wake);
    free(gone);
    if (!owned && check_on())
        lock_report_not_held(routine, resource_kind.name, r, NULL);
    else if (owned && thread == self())
        thread_remove_lock(r);
}

static atomic_uint resources; /* so that nothing is looked for where there is none */

/* For inuse.h: one that was not deleted. */
static bool find_resource(const void *start, size_t size, struct inuse_found *out)
{
    if (atomic_load_explicit(&resources, memory_order_relaxed) == 0)
        return false;
    out->object = live_inside(LIVE_RESOURCE, start, size, NULL);
    out->what = "ERESOURCE that was not deleted";
    return out->object != NULL;
}

__attribute__((constructor)) static void start(void)
{
    inuse_add_source(find_resource);
}

/* See struct lock_kind: of all locks, only an ERESOURCE can be released by another thread than its owner. */
static bool is_released(const void *resource)
{
    ERESOURCE *r = (ERESOURCE *)(uintptr_t)resource;
    bool released;

    if (!live_has(LIVE_RESOURCE, resource))
        return true;
    dispatch_lock();
    released = !find_owner(r, self()) && (r->OwnerCount == 0 || r->OwnerThread != self());
    dispatch_unlock(NULL);
    return released;
}

static void reset(ERESOURCE *r)
{
    link_init(&r->Owners);
    link_init(&r->Waiters);
    r->OwnerThread = r->OwnerCount = r->ContentionCount = 0;
    r->NumberOfSharedWaiters = r->NumberOfExclusiveWaiters = 0;
}

NTSTATUS ExInitializeResourceLite(PERESOURCE Resource)
{
    irql_check_max("ExInitializeResourceLite", DISPATCH_LEVEL);
    inuse_check_init("ExInitializeResourceLite", Resource, sizeof *Resource);
    reset(Resource);
    if (!live_has(LIVE_RESOURCE, Resource)) {
        live_add(LIVE_RESOURCE, Resource, resource_kind.name);
        atomic_fetch_add(&resources, 1);
    }
    return STATUS_SUCCESS;
}

static bool check_free(const char *routine, ERESOURCE *r)
{
    bool in_use;

    dispatch_lock();
    in_use = r->OwnerCount > 0 || !link_empty(&r->Owners) || !link_empty(&r->Waiters);
    dispatch_unlock(NULL);
    if (in_use && check_on())
        check_failed(CHECK_OBJECT_FREED_IN_USE, routine, (uintptr_t)r, (uintptr_t)r, 0, 0, "ERESOURCE %p is held",
                     (void *)r);
    return !in_use;
}

NTSTATUS ExReinitializeResourceLite(PERESOURCE Resource)
{
    irql_check_max("ExReinitializeResourceLite", DISPATCH_LEVEL);
    if (check_free("ExReinitializeResourceLite", Resource))
        reset(Resource);
    return STATUS_SUCCESS;
}

NTSTATUS ExDeleteResourceLite(PERESOURCE Resource)
{
    irql_check_max("ExDeleteResourceLite", APC_LEVEL);
    if (live_has(LIVE_RESOURCE, Resource))
        (void)check_free("ExDeleteResourceLite", Resource);
    if (live_remove(LIVE_RESOURCE, Resource))
        atomic_fetch_sub(&resources, 1);
    else if (check_on())
        check_failed(CHECK_OBJECT_NOT_INITIALIZED, "ExDeleteResourceLite", (uintptr_t)Resource, 0, 0, 0, "%p",
                     (void *)Resource);
    return STATUS_SUCCESS;
}

BOOLEAN ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireResourceExclusiveLite", Resource, EXCLUSIVE, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireResourceSharedLite", Resource, SHARED, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireSharedStarveExclusive", Resource, SHARED_STARVING, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireSharedWaitForExclusive", Resource, SHARED_WAITING, Wait, LOCK_CALLER);
}

VOID ExReleaseResourceLite(PERESOURCE Resource)
{
    release("ExReleaseResourceLite", Resource, self());
}

VOID ExReleaseResourceForThreadLite(PERESOURCE Resource, ERESOURCE_THREAD ResourceThreadId)
{
    release("ExReleaseResourceForThreadLite", Resource, ResourceThreadId);
}

/* All who wait for shared access get it too. */
VOID ExConvertExclusiveToSharedLite(PERESOURCE Resource)
{
    struct owner *fresh = new_owner();
    struct wake_list wake = { NULL };
    bool owned;

    irql_check_max("ExConvertExclusiveToSharedLite", APC_LEVEL);
    dispatch_lock();
    owned = Resource->OwnerCount > 0 && Resource->OwnerThread == self();
    if (owned) {
        own_shared(Resource, self(), &fresh, Resource->OwnerCount);
        Resource->OwnerCount = 0;
        grant_shared(Resource, &wake);
    }
    dispatch_unlock(&wake);
    free(fresh);
    if (!owned && check_on())
        lock_report_not_held("ExConvertExclusiveToSharedLite", "(exclusively) ERESOURCE", Resource, NULL);
}

BOOLEAN ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource)
{
    bool owned;

    irql_check_max("ExIsResourceAcquiredExclusiveLite", DISPATCH_LEVEL);
    dispatch_lock();
    owned = Resource->OwnerCount > 0 && Resource->OwnerThread == self();
    dispatch_unlock(NULL);
    return owned;
}

/* How often this thread has it, exclusively or shared. */
ULONG ExIsResourceAcquiredSharedLite(PERESOURCE Resource)
{
    struct owner *o;
    ULONG count;

    irql_check_max("ExIsResourceAcquiredSharedLite", DISPATCH_LEVEL);
    dispatch_lock();
    o = find_owner(Resource, self());
    count = o ? o->count : Resource->OwnerCount > 0 && Resource->OwnerThread == self() ? Resource->OwnerCount : 0;
    dispatch_unlock(NULL);
    return count;
}

static ULONG read_count(const ULONG *counter)
{
    ULONG n;

    dispatch_lock();
    n = *counter;
    dispatch_unlock(NULL);
    return n;
}

ULONG ExGetExclusiveWaiterCount(PERESOURCE Resource)
{
    irql_check_max("ExGetExclusiveWaiterCount", DISPATCH_LEVEL);
    return read_count(&Resource->NumberOfExclusiveWaiters);
}

ULONG ExGetSharedWaiterCount(PERESOURCE Resource)
{
    irql_check_max("ExGetSharedWaiterCount", DISPATCH_LEVEL);
    return read_count(&Resource->NumberOfSharedWaiters);
}

PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource)
{
    thread_self()->critical++;
    (void)acquire("ExEnterCriticalRegionAndAcquireResourceExclusive", Resource, EXCLUSIVE, TRUE, LOCK_CALLER);
    return thread_self();
}

PVOID ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource)
{
    thread_self()->critical++;
    (void)acquire("ExEnterCriticalRegionAndAcquireResourceShared", Resource, SHARED, TRUE, LOCK_CALLER);
    return thread_self();
}

VOID ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource)
{
    release("ExReleaseResourceAndLeaveCriticalRegion", Resource, self());
    KeLeaveCriticalRegion();
}
