/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher: one lock for timers, for DPC queues, and for all objects for which threads can wait. To change an
 * object, a thread calls dispatch_lock, changes the object, and calls dispatch_satisfy. Then it calls dispatch_unlock
 * with the list of threads to wake, so that no thread is woken with the lock held.
 */
#ifndef WDK_WAIT_H
#define WDK_WAIT_H

#include "ntifs.h"

#include "base/spin.h"
#include "wdk/common/link.h"
#include "wdk/ke/thread.h"

/* Values of DISPATCHER_HEADER.Type, as on Windows. */
enum {
    OBJECT_EVENT_NOTIFICATION = 0,
    OBJECT_EVENT_SYNCHRONIZATION = 1,
    OBJECT_MUTANT = 2,
    OBJECT_QUEUE = 4,
    OBJECT_SEMAPHORE = 5,
    OBJECT_THREAD = 6,
    OBJECT_TIMER_NOTIFICATION = 8,
    OBJECT_TIMER_SYNCHRONIZATION = 9,
};

/* The value of KWAIT_BLOCK.WaitType for a thread in KeRemoveQueue, as on Windows, beside WaitAll and WaitAny. */
enum { WAIT_DEQUEUE = 3 };

extern struct spin dispatch_spin;

/* Threads whose waits have ended, and which are still to be woken. */
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

/* Ends the waits that the signalled object satisfies, the oldest wait first. Requires the lock. */
void dispatch_satisfy(DISPATCHER_HEADER *h, struct wake_list *wake);

/* Ends the wait of the thread, which the caller has found in an object's list. The caller holds the lock. */
void dispatch_end_wait(struct kernel_thread *t, NTSTATUS status, struct wake_list *wake);

/*
 * Returns true if the object was initialized, or if checks are off. Otherwise reports the object, initializes it as an
 * event, and returns false.
 */
bool dispatch_check(const char *routine, DISPATCHER_HEADER *h);

/* Called for a thread that ends: signals the thread and abandons the mutexes that the thread holds. */
void dispatch_thread_end(struct kernel_thread *t);

/* Works like KeWaitForSingleObject without checks. Used by the kernel itself. */
NTSTATUS dispatch_wait(void *object, PLARGE_INTEGER timeout);
/*
 * Waits until dispatch_end_wait or the timeout ends the wait. The thread's wait block has the type WAIT_DEQUEUE.
 * Requires the lock and releases it. Wakes the threads in *wake.
 */
NTSTATUS dispatch_wait_in_queue(struct kernel_thread *t, PKQUEUE queue, const LARGE_INTEGER *timeout,
                                struct wake_list *wake);

/* Reports a wait that the IRQL does not permit. If `timeout` is NULL, the wait has no limit. */
void dispatch_check_wait(const char *routine, const LARGE_INTEGER *timeout);

#endif
