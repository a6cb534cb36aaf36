/* SPDX-License-Identifier: MIT */
/*
 * Implements events, semaphores and mutexes. Each routine changes the state and ends waits under the dispatcher's lock.
 */
#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/ke/seh.h"
#include "wdk/ke/wait.h"

/* Checks the object and the IRQL. If `wait` is TRUE, the driver waits next, so the IRQL must allow waits. */
static void event_check_call(const char *routine, DISPATCHER_HEADER *h, BOOLEAN wait)
{
    if (!check_on())
        return;
    irql_check_max(routine, wait ? APC_LEVEL : DISPATCH_LEVEL);
    (void)dispatch_check(routine, h);
}

VOID KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State)
{
    inuse_check_init("KeInitializeEvent", Event, sizeof *Event);
    dispatch_init(&Event->Header,
                  Type == SynchronizationEvent ? OBJECT_EVENT_SYNCHRONIZATION : OBJECT_EVENT_NOTIFICATION,
                  State != FALSE);
}

LONG KeSetEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
    struct wake_list wake = { NULL };
    LONG before;

    UNREFERENCED_PARAMETER(Increment);
    event_check_call("KeSetEvent", &Event->Header, Wait);
    dispatch_lock();
    before = dispatch_state(&Event->Header);
    dispatch_set_state(&Event->Header, 1);
    if (!before)
        dispatch_satisfy(&Event->Header, &wake);
    dispatch_unlock(&wake);
    return before;
}

LONG KeResetEvent(PRKEVENT Event)
{
    LONG before;

    event_check_call("KeResetEvent", &Event->Header, FALSE);
    dispatch_lock();
    before = dispatch_state(&Event->Header);
    dispatch_set_state(&Event->Header, 0);
    dispatch_unlock(NULL);
    return before;
}

VOID KeClearEvent(PRKEVENT Event)
{
    (void)KeResetEvent(Event);
}

LONG KePulseEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
    struct wake_list wake = { NULL };
    LONG before;

    UNREFERENCED_PARAMETER(Increment);
    event_check_call("KePulseEvent", &Event->Header, Wait);
    dispatch_lock();
    before = dispatch_state(&Event->Header);
    dispatch_set_state(&Event->Header, 1);
    if (!before)
        dispatch_satisfy(&Event->Header, &wake);
    dispatch_set_state(&Event->Header, 0);
    dispatch_unlock(&wake);
    return before;
}

LONG KeReadStateEvent(PRKEVENT Event)
{
    return dispatch_state(&Event->Header);
}

VOID KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit)
{
    inuse_check_init("KeInitializeSemaphore", Semaphore, sizeof *Semaphore);
    dispatch_init(&Semaphore->Header, OBJECT_SEMAPHORE, Count);
    Semaphore->Limit = Limit;
}

static void semaphore_raise_exceeded(const KSEMAPHORE *s, LONG before, LONG more)
{
    seh_raise(STATUS_SEMAPHORE_LIMIT_EXCEEDED);
    check_failed(CHECK_EXCEPTION, "KeReleaseSemaphore", (ULONG)STATUS_SEMAPHORE_LIMIT_EXCEEDED, (uintptr_t)s,
                 (uint64_t)more, (uint64_t)s->Limit, "STATUS_SEMAPHORE_LIMIT_EXCEEDED: %d more than %d, at most %d",
                 more, before, s->Limit);
}

LONG KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY Increment, LONG Adjustment, BOOLEAN Wait)
{
    struct wake_list wake = { NULL };
    LONG before;
    bool fits;

    UNREFERENCED_PARAMETER(Increment);
    event_check_call("KeReleaseSemaphore", &Semaphore->Header, Wait);
    dispatch_lock();
    before = dispatch_state(&Semaphore->Header);
    fits = Adjustment > 0 && Adjustment <= Semaphore->Limit - before;
    if (fits) {
        dispatch_set_state(&Semaphore->Header, before + Adjustment);
        if (!before)
            dispatch_satisfy(&Semaphore->Header, &wake);
    }
    dispatch_unlock(&wake);
    if (!fits)
        semaphore_raise_exceeded(Semaphore, before, Adjustment);
    return before;
}

LONG KeReadStateSemaphore(PRKSEMAPHORE Semaphore)
{
    return dispatch_state(&Semaphore->Header);
}

VOID KeInitializeMutex(PRKMUTEX Mutex, ULONG Level)
{
    UNREFERENCED_PARAMETER(Level);
    inuse_check_init("KeInitializeMutex", Mutex, sizeof *Mutex);
    dispatch_init(&Mutex->Header, OBJECT_MUTANT, 1);
    link_init(&Mutex->MutantListEntry);
    Mutex->OwnerThread = NULL;
    Mutex->Abandoned = FALSE;
    Mutex->ApcDisable = 1;
}

LONG KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN Wait)
{
    struct kernel_thread *t = thread_self(), *owner;
    struct wake_list wake = { NULL };
    LONG before;

    event_check_call("KeReleaseMutex", &Mutex->Header, Wait);
    dispatch_lock();
    before = dispatch_state(&Mutex->Header);
    owner = (struct kernel_thread *)Mutex->OwnerThread;
    if (owner == t) {
        dispatch_set_state(&Mutex->Header, before + 1);
        if (dispatch_state(&Mutex->Header) == 1) {
            Mutex->OwnerThread = NULL;
            link_remove(&Mutex->MutantListEntry);
            dispatch_satisfy(&Mutex->Header, &wake);
        }
    }
    dispatch_unlock(&wake);
    if (owner == t) {
        t->critical--;
        thread_remove_lock(Mutex);
    } else {
        seh_raise(STATUS_MUTANT_NOT_OWNED);
        check_failed(CHECK_LOCK_NOT_HELD, "KeReleaseMutex", (uintptr_t)Mutex, (uintptr_t)owner, 0, 0,
                     "mutex %p is not held by this thread (STATUS_MUTANT_NOT_OWNED)", (void *)Mutex);
    }
    return before;
}

LONG KeReadStateMutex(PRKMUTEX Mutex)
{
    return dispatch_state(&Mutex->Header);
}
