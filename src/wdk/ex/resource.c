/* SPDX-License-Identifier: MIT */
/*
 * Implements ERESOURCE. The dispatcher's lock guards the state of a resource. A thread that cannot acquire a resource
 * waits in a queue. When an exclusive owner releases the resource, all threads that wait for shared access receive it.
 * If there are none, the first thread that waits for exclusive access receives it. When the last shared owner releases
 * the resource, the first thread that waits for exclusive access receives it.
 */
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/lock.h"
#include "wdk/ke/wait.h"

static bool resource_is_released(const void *resource);
static const struct lock_kind resource_kind = { .name = "ERESOURCE", .is_released = resource_is_released };

enum kind { EXCLUSIVE, SHARED, SHARED_STARVING, SHARED_WAITING };

struct owner {
    LIST_ENTRY link; /* in the resource's list Owners */
    ERESOURCE_THREAD thread;
    ULONG count;
};

struct waiter {
    LIST_ENTRY link; /* in the resource's list Waiters */
    KEVENT granted;
    ERESOURCE_THREAD thread;
    bool exclusive;
    struct owner *owner; /* the entry that is inserted into Owners when shared access is granted */
};

static ERESOURCE_THREAD resource_self(void)
{
    return (ERESOURCE_THREAD)thread_self();
}

static struct owner *owner_from_link(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct owner, link);
}

static struct waiter *waiter_from_link(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct waiter, link);
}

static struct owner *resource_find_owner(ERESOURCE *r, ERESOURCE_THREAD thread)
{
    for (LIST_ENTRY *e = r->Owners.Flink; e != &r->Owners; e = e->Flink)
        if (owner_from_link(e)->thread == thread)
            return owner_from_link(e);
    return NULL;
}

/*
 * Adds `count` shared acquisitions to the thread's entry. If the thread has no entry, uses *fresh as its entry and sets
 * *fresh to NULL.
 */
static void resource_add_shared(ERESOURCE *r, ERESOURCE_THREAD thread, struct owner **fresh, ULONG count)
{
    struct owner *o = resource_find_owner(r, thread);

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

static bool resource_try_acquire(ERESOURCE *r, enum kind kind, ERESOURCE_THREAD thread, struct owner **fresh)
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
    if (r->NumberOfExclusiveWaiters > 0 && kind != SHARED_STARVING &&
        (kind == SHARED_WAITING || !resource_find_owner(r, thread)))
        return false;
    resource_add_shared(r, thread, fresh, 1);
    return true;
}

static void resource_grant(ERESOURCE *r, struct waiter *w, struct wake_list *wake)
{
    if (w->exclusive) {
        r->OwnerThread = w->thread;
        r->OwnerCount = 1;
        r->NumberOfExclusiveWaiters--;
    } else {
        resource_add_shared(r, w->thread, &w->owner, 1);
        r->NumberOfSharedWaiters--;
    }
    link_remove(&w->link);
    dispatch_set_state(&w->granted.Header, 1);
    dispatch_satisfy(&w->granted.Header, wake);
}

static void resource_grant_shared(ERESOURCE *r, struct wake_list *wake)
{
    LIST_ENTRY *next;

    for (LIST_ENTRY *e = r->Waiters.Flink; e != &r->Waiters; e = next) {
        next = e->Flink;
        if (!waiter_from_link(e)->exclusive)
            resource_grant(r, waiter_from_link(e), wake);
    }
}

static void resource_grant_next(ERESOURCE *r, bool was_exclusive, struct wake_list *wake)
{
    if (link_empty(&r->Waiters))
        return;
    if (was_exclusive ? r->NumberOfSharedWaiters > 0 : r->NumberOfExclusiveWaiters == 0) {
        resource_grant_shared(r, wake);
        return;
    }
    for (LIST_ENTRY *e = r->Waiters.Flink; e != &r->Waiters; e = e->Flink)
        if (waiter_from_link(e)->exclusive) {
            resource_grant(r, waiter_from_link(e), wake);
            return;
        }
}

/* Waits until the resource is granted. Requires the dispatcher's lock and releases it. */
static void resource_wait(ERESOURCE *r, enum kind kind, struct owner **fresh)
{
    struct waiter w = { .thread = resource_self(), .exclusive = kind == EXCLUSIVE, .owner = *fresh };

    dispatch_init(&w.granted.Header, OBJECT_EVENT_NOTIFICATION, 0);
    link_insert_before(&r->Waiters, &w.link);
    r->ContentionCount++;
    *(w.exclusive ? &r->NumberOfExclusiveWaiters : &r->NumberOfSharedWaiters) += 1;
    dispatch_unlock(NULL);
    (void)dispatch_wait(&w.granted, NULL);
    *fresh = w.owner;
}

static struct owner *owner_create(void)
{
    struct owner *o = malloc(sizeof *o);

    if (!o)
        abort(); /* out of memory, which the routine cannot report */
    return o;
}

/*
 * Detects a deadlock: the calling thread has shared access to the resource and is about to wait for exclusive access,
 * so it would wait for itself for ever, as on Windows. Reports the deadlock and returns true. Otherwise, and while
 * checks are off, returns false.
 */
static bool resource_is_deadlock(const char *routine, ERESOURCE *r, enum kind kind, BOOLEAN wait)
{
    bool held;

    if (!check_on() || kind != EXCLUSIVE || !wait)
        return false;
    dispatch_lock();
    held = resource_find_owner(r, resource_self()) != NULL;
    dispatch_unlock(NULL);
    if (held)
        check_failed(CHECK_LOCK_RECURSIVE, routine, (uintptr_t)r, 0, 0, 0,
                     "this thread holds ERESOURCE %p shared: exclusive access would wait for itself", (void *)r);
    return held;
}

static BOOLEAN resource_acquire(const char *routine, ERESOURCE *r, enum kind kind, BOOLEAN wait, const void *by)
{
    struct owner *fresh;
    bool owned;

    irql_check_max(routine, APC_LEVEL);
    if (resource_is_deadlock(routine, r, kind, wait))
        return FALSE;
    fresh = kind == EXCLUSIVE ? NULL : owner_create();
    dispatch_lock();
    owned = resource_try_acquire(r, kind, resource_self(), &fresh);
    if (owned || !wait)
        dispatch_unlock(NULL);
    else
        resource_wait(r, kind, &fresh);
    free(fresh);
    if (!owned && !wait)
        return FALSE;
    if (check_on())
        thread_add_lock(r, &resource_kind, by);
    return TRUE;
}

/*
 * Drops one acquisition by the thread. Returns false if the thread is not an owner. If this removes the thread's entry,
 * sets *removed to the entry, which the caller must free.
 */
static bool resource_remove_owner(ERESOURCE *r, ERESOURCE_THREAD thread, struct owner **removed, struct wake_list *wake)
{
    struct owner *o;

    if (r->OwnerCount > 0) {
        if (r->OwnerThread != thread)
            return false;
        if (--r->OwnerCount == 0)
            resource_grant_next(r, true, wake);
        return true;
    }
    o = resource_find_owner(r, thread);
    if (!o)
        return false;
    if (--o->count == 0) {
        link_remove(&o->link);
        *removed = o;
        if (link_empty(&r->Owners))
            resource_grant_next(r, false, wake);
    }
    return true;
}

static void resource_release(const char *routine, ERESOURCE *r, ERESOURCE_THREAD thread)
{
    struct wake_list wake = { NULL };
    struct owner *removed = NULL;
    bool owned;

    irql_check_max(routine, DISPATCH_LEVEL);
    dispatch_lock();
    owned = resource_remove_owner(r, thread, &removed, &wake);
    dispatch_unlock(&wake);
    free(removed);
    if (!owned && check_on())
        lock_report_not_held(routine, resource_kind.name, r, NULL);
    else if (owned && thread == resource_self())
        thread_remove_lock(r);
}

static atomic_uint resources; /* number of initialized resources; if it is 0, resource_find_in_use does not search */

/* For inuse.h: finds a resource that is not deleted. */
static bool resource_find_in_use(const void *start, size_t size, struct inuse_found *out)
{
    if (atomic_load_explicit(&resources, memory_order_relaxed) == 0)
        return false;
    out->object = live_inside(LIVE_RESOURCE, start, size, NULL);
    out->what = "ERESOURCE that was not deleted";
    return out->object != NULL;
}

__attribute__((constructor)) static void resource_register(void)
{
    inuse_add_source(resource_find_in_use);
}

/*
 * Implements is_released of struct lock_kind. Returns true if the calling thread no longer owns the resource, or if
 * the resource was deleted. Another thread may have released the resource for this thread.
 */
static bool resource_is_released(const void *resource)
{
    ERESOURCE *r = (ERESOURCE *)(uintptr_t)resource;
    bool released;

    if (!live_has(LIVE_RESOURCE, resource))
        return true;
    dispatch_lock();
    released = !resource_find_owner(r, resource_self()) && (r->OwnerCount == 0 || r->OwnerThread != resource_self());
    dispatch_unlock(NULL);
    return released;
}

static void resource_reset(ERESOURCE *r)
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
    resource_reset(Resource);
    if (!live_has(LIVE_RESOURCE, Resource)) {
        live_add(LIVE_RESOURCE, Resource, resource_kind.name);
        atomic_fetch_add(&resources, 1);
    }
    return STATUS_SUCCESS;
}

/* Returns true if no thread owns the resource or waits for it. Otherwise reports the resource. */
static bool resource_check_unused(const char *routine, ERESOURCE *r)
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
    if (resource_check_unused("ExReinitializeResourceLite", Resource))
        resource_reset(Resource);
    return STATUS_SUCCESS;
}

NTSTATUS ExDeleteResourceLite(PERESOURCE Resource)
{
    irql_check_max("ExDeleteResourceLite", APC_LEVEL);
    if (live_has(LIVE_RESOURCE, Resource))
        (void)resource_check_unused("ExDeleteResourceLite", Resource);
    if (live_remove(LIVE_RESOURCE, Resource))
        atomic_fetch_sub(&resources, 1);
    else if (check_on())
        check_failed(CHECK_OBJECT_NOT_INITIALIZED, "ExDeleteResourceLite", (uintptr_t)Resource, 0, 0, 0, "%p",
                     (void *)Resource);
    return STATUS_SUCCESS;
}

BOOLEAN ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return resource_acquire("ExAcquireResourceExclusiveLite", Resource, EXCLUSIVE, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return resource_acquire("ExAcquireResourceSharedLite", Resource, SHARED, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
    return resource_acquire("ExAcquireSharedStarveExclusive", Resource, SHARED_STARVING, Wait, LOCK_CALLER);
}

BOOLEAN ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait)
{
    return resource_acquire("ExAcquireSharedWaitForExclusive", Resource, SHARED_WAITING, Wait, LOCK_CALLER);
}

VOID ExReleaseResourceLite(PERESOURCE Resource)
{
    resource_release("ExReleaseResourceLite", Resource, resource_self());
}

VOID ExReleaseResourceForThreadLite(PERESOURCE Resource, ERESOURCE_THREAD ResourceThreadId)
{
    resource_release("ExReleaseResourceForThreadLite", Resource, ResourceThreadId);
}

/* Makes the exclusive owner a shared owner, and grants the resource to all threads that wait for shared access. */
VOID ExConvertExclusiveToSharedLite(PERESOURCE Resource)
{
    struct owner *fresh = owner_create();
    struct wake_list wake = { NULL };
    bool owned;

    irql_check_max("ExConvertExclusiveToSharedLite", APC_LEVEL);
    dispatch_lock();
    owned = Resource->OwnerCount > 0 && Resource->OwnerThread == resource_self();
    if (owned) {
        resource_add_shared(Resource, resource_self(), &fresh, Resource->OwnerCount);
        Resource->OwnerCount = 0;
        resource_grant_shared(Resource, &wake);
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
    owned = Resource->OwnerCount > 0 && Resource->OwnerThread == resource_self();
    dispatch_unlock(NULL);
    return owned;
}

/* Returns how many times this thread has acquired the resource, exclusively or shared. */
ULONG ExIsResourceAcquiredSharedLite(PERESOURCE Resource)
{
    ERESOURCE_THREAD self = resource_self();
    struct owner *o;
    ULONG count;

    irql_check_max("ExIsResourceAcquiredSharedLite", DISPATCH_LEVEL);
    dispatch_lock();
    o = resource_find_owner(Resource, self);
    count = o ? o->count : Resource->OwnerCount > 0 && Resource->OwnerThread == self ? Resource->OwnerCount : 0;
    dispatch_unlock(NULL);
    return count;
}

static ULONG resource_read_count(const ULONG *counter)
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
    return resource_read_count(&Resource->NumberOfExclusiveWaiters);
}

ULONG ExGetSharedWaiterCount(PERESOURCE Resource)
{
    irql_check_max("ExGetSharedWaiterCount", DISPATCH_LEVEL);
    return resource_read_count(&Resource->NumberOfSharedWaiters);
}

PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource)
{
    thread_self()->critical++;
    (void)resource_acquire("ExEnterCriticalRegionAndAcquireResourceExclusive", Resource, EXCLUSIVE, TRUE, LOCK_CALLER);
    return thread_self();
}

PVOID ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource)
{
    thread_self()->critical++;
    (void)resource_acquire("ExEnterCriticalRegionAndAcquireResourceShared", Resource, SHARED, TRUE, LOCK_CALLER);
    return thread_self();
}

VOID ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource)
{
    resource_release("ExReleaseResourceAndLeaveCriticalRegion", Resource, resource_self());
    KeLeaveCriticalRegion();
}
