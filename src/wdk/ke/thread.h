/* SPDX-License-Identifier: MIT */
/*
 * The kernel's state of each thread: its IRQL, its wait, the locks that it holds. A driver's thread
 * (PsCreateSystemThread) has the state from its start. Any other thread receives the state when it first calls a
 * routine. Its IRQL is then DISPATCH_LEVEL if it is a thread of the provider, which calls completion callbacks, and
 * PASSIVE_LEVEL otherwise.
 */
#ifndef WDK_THREAD_H
#define WDK_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"

#include "base/private_export.h"
#include "wdk/common/check.h"

enum { THREAD_MAX_LOCKS = 64 };
enum { WOKEN_NOT, WOKEN_YES, WOKEN_NOT_AND_ASLEEP };

struct lock_kind {
    const char *name; /* the name in reports, for example "KSPIN_LOCK" */
    /*
     * NULL if only the thread that acquired a lock of this kind may release it. Otherwise another thread may release
     * the lock; the lock then remains in `held` of the thread that acquired it. The function returns true if the
     * calling thread no longer holds the lock, or if the lock was deleted.
     */
    bool (*is_released)(const void *lock);
};

/*
 * A lock that a thread holds. The thread stores the lock while checks are on. Other threads read the members to find
 * locks in use.
 */
struct held_lock {
    _Atomic(const void *) lock;
    _Atomic(const struct lock_kind *) kind;
    _Atomic(const struct stack *) by; /* the stack of the routine that acquired the lock */
};

/*
 * THREAD_DRIVERS: a thread that PsCreateSystemThread or driver_call starts for a driver's routine.
 * THREAD_WORKER: a thread that runs work items. THREAD_OTHER: any other thread.
 */
enum thread_kind { THREAD_OTHER, THREAD_DRIVERS, THREAD_WORKER };

struct kernel_thread {
    DISPATCHER_HEADER header; /* first: a PKTHREAD points at it; signalled when the thread has ended */
    KIRQL irql;
    /*
     * The state of the thread's current wait. While the thread waits, the dispatcher's lock guards the members from
     * `wait_ended` to `mutants`. Before and after the wait, the thread itself accesses these members without the lock.
     * Only `all`, `waiting` and `mutants` always require the lock.
     */
    atomic_uint woken; /* WOKEN_...; the futex that the thread sleeps on */
    bool wait_ended, wait_all;
    NTSTATUS wait_status;
    ULONG wait_count;
    KWAIT_BLOCK *wait_blocks;
    KWAIT_BLOCK own_blocks[THREAD_WAIT_OBJECTS];
    const struct stack *wait_by; /* the stack of the routine that waits */
    LIST_ENTRY all;              /* in the list of all threads; other threads use it to read `held` */
    LIST_ENTRY waiting;          /* in the list of threads that wait */
    LIST_ENTRY mutants;          /* mutexes that the thread holds */
    struct kernel_thread *wake_next;
    /* The queue to which the thread belongs (queue.c), or NULL. The dispatcher's lock guards these members. */
    struct _KQUEUE *queue;
    LIST_ENTRY in_queue, in_any_queue; /* in the queue's ThreadListHead; in the list of the threads of all queues */
    PLIST_ENTRY queue_entry;           /* the entry with which the thread's wait has ended */
    const struct stack *queue_by;      /* the stack of the last KeRemoveQueue */
    /*
     * Only the thread itself writes the members below. Before the thread begins, its creator writes them. Other
     * threads may write `priority` and `pulls`.
     */
    int critical, guarded; /* numbers of critical and guarded regions entered; an owned KMUTEX is a critical region */
    KPRIORITY priority;
    enum thread_kind kind;   /* set when the thread begins */
    bool system;             /* made by PsCreateSystemThread */
    unsigned queue_joins;    /* how often the thread has become a member of a queue (queue.c) */
    GROUP_AFFINITY affinity; /* the driver's choice; Mask 0 means none */
    atomic_uint pulls;       /* number of threads in wait_wake (wait.c) that bind this thread to their processor */
    atomic_uint id;          /* the host's ID of the thread; 0: the thread has not begun */
    PKSTART_ROUTINE start;
    PVOID context;
    NTSTATUS exit_status;
    unsigned held_count, unwatched; /* number of locks in `held`; number of held locks that did not fit into it */
    struct held_lock held[THREAD_MAX_LOCKS];
};

extern _Thread_local struct kernel_thread *thread_current PRIVATE_EXPORT(thread_current)
    __attribute__((tls_model("initial-exec")));

/*
 * A kernel_thread lies in an object of the object manager, which is a layer above this file. A constructor of
 * ps/thread.c registers the functions that create and release such an object, before any other function is called.
 */
struct thread_objects {
    struct kernel_thread *(*create)(void);    /* returns an initialized thread with one reference, or NULL */
    void (*release)(struct kernel_thread *t); /* drops a reference; after the last, calls thread_fini and frees t */
};
void thread_set_objects(const struct thread_objects *objects);
void thread_init(struct kernel_thread *t); /* t must be zeroed */
void thread_fini(struct kernel_thread *t);

/* Creates the state of the calling thread, which has none yet. Aborts if out of memory. */
struct kernel_thread *thread_adopt(void) PRIVATE_EXPORT(thread_adopt);
/* Makes t the state of the calling thread. Takes over one reference, which is dropped when the thread ends. */
void thread_begin(struct kernel_thread *t);
/* Works like pthread_create, with the signal mask of base/library_thread.h. Used for all threads of this kernel. */
int thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *argument);

static inline struct kernel_thread *thread_self(void)
{
    struct kernel_thread *t = thread_current;

    return __builtin_expect(t != NULL, 1) ? t : thread_adopt();
}

static inline KIRQL irql_now(void)
{
    return thread_self()->irql;
}

/* Sets the calling thread's IRQL and returns the previous IRQL. */
static inline KIRQL irql_set(KIRQL to)
{
    struct kernel_thread *t = thread_self();
    KIRQL from = t->irql;

    t->irql = to;
    return from;
}

void irql_report(const char *routine, KIRQL now, KIRQL min, KIRQL max) PRIVATE_EXPORT(irql_report);

/* Reports the caller if its IRQL is above `max`, the limit that Windows documents for the routine. */
static inline void irql_check_max(const char *routine, KIRQL max)
{
    if (check_on() && irql_now() > max)
        irql_report(routine, irql_now(), PASSIVE_LEVEL, max);
}

static inline void irql_check_min(const char *routine, KIRQL min)
{
    if (check_on() && irql_now() < min)
        irql_report(routine, irql_now(), min, HIGH_LEVEL);
}

/*
 * These functions change and search the thread's list of held locks, which is used while checks are on. `by` is the
 * return address of the routine that acquires the lock. Locks beyond THREAD_MAX_LOCKS are only counted. While a thread
 * holds such locks, thread_may_have_lock returns true for every lock.
 */
void thread_add_lock(const void *lock, const struct lock_kind *kind, const void *by);
void thread_remove_lock(const void *lock);
bool thread_has_lock(const void *lock);
bool thread_may_have_lock(const void *lock);

/*
 * Each call into the driver (callback, work item, DPC, thread) is between thread_mark_get and thread_mark_check.
 * thread_mark_check reports and restores a changed IRQL, and reports locks that the driver has acquired in between and
 * not released. If the thread is not the driver's own, and has joined a queue in between, the thread leaves the queue.
 */
struct thread_mark {
    KIRQL irql;
    unsigned held, queue_joins;
};
struct thread_mark thread_mark_get(void) PRIVATE_EXPORT(thread_mark_get);
void thread_mark_check(const struct thread_mark *mark, const char *routine, const void *called)
    PRIVATE_EXPORT(thread_mark_check);

#endif
