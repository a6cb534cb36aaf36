/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher: one lock over all objects that threads wait for, timers and DPC queues. Whoever changes an object
 * takes the lock, changes it, lets the waits that it satisfies end, and wakes their threads after the lock is free.
 */
#ifndef WDK_WAIT_H
#define WDK_WAIT_H

#include "base/spin.h"
#include "wdk/common/link.h"
#include "wdk/ke/thread.h"

/* DISPATCHER_HEADER.Type, Windows' numbers. */
enum {
    OBJECT_EVENT_NOTIFICATION = 0,
    OBJECT_EVENT_SYNCHRONIZATION = 1,
    OBJECT_MUTANT = 2,
    OBJECT_SEMAPHORE = 5,
    OBJECT_THREAD = 6,
    OBJECT_TIMER_NOTIFICATION = 8,
    OBJECT_TIMER_SYNCHRONIZATION = 9,
};

extern struct spin dispatch_spin;

/* Threads whose waits have ended and that are still to be woken. */
struct wake_list {
    struct kernel_thread *first;
};

void dispatch_wake(struct kernel_thread *first);

static inline void dispatch_lock(void)
{
    spin_lock(&dispatch_spin);
}

static inline void dispatch_unlock(struct wake_list *wake)
{
    spin_unlock(&dispatch_spin);
    if (wake && wake->first)
        dispatch_wake(wake->first);
}

static inline LONG dispatch_state(const DISPATCHER_HEADER *h)
{
    return __atomic_load_n(&h->SignalState, __ATOMIC_RELAXED);
}

static inline void dispatch_set_state(DISPATCHER_HEADER *h, LONG state)
{
    __atomic_store_n(&h->SignalState, state, __ATOMIC_RELAXED);
}

void dispatch_init(DISPATCHER_HEADER *h, UCHAR type, LONG state);

/* Lock held, the object has become signalled: ends the waits that it satisfies, the oldest first. */
void dispatch_satisfy(DISPATCHER_HEADER *h, struct wake_list *wake);

/*
 * False: it was never initialized, which has been reported; the object is an event now, unless the caller knows better.
 */
bool dispatch_check(const char *routine, DISPATCHER_HEADER *h);

/* The thread ends: it is signalled, and the mutexes that it holds are abandoned. */
void dispatch_thread_end(struct kernel_thread *t);

/* Waiting without checks, for the kernel itself. */
NTSTATUS dispatch_wait(void *object, PLARGE_INTEGER timeout);

#endif
