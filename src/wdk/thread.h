/* SPDX-License-Identifier: MIT */
/*
 * What the kernel keeps for each thread: its IRQL, what it waits for, the locks that it holds. A thread of the driver's
 * (PsCreateSystemThread) has it from the start, every other gets it with its first call: at DISPATCH_LEVEL if it is one
 * of the provider's, which calls completion callbacks, else at PASSIVE_LEVEL.
 */
#ifndef WDK_THREAD_H
#define WDK_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"

#include "wdk/check.h"

enum { THREAD_HELD_MOST = 64 };

/* A lock that the thread holds; kept while checks are on. Others read it when they look for what is in use. */
struct thread_held {
    _Atomic(const void *) lock;
    _Atomic(const char *) what; /* "KSPIN_LOCK" */
    _Atomic(const void *) by;   /* where it was acquired */
};

struct kernel_thread {
    DISPATCHER_HEADER header;  /* first: a PKTHREAD points at it; signalled when the thread has ended */
    KIRQL irql;
    unsigned held_count;
    struct thread_held held[THREAD_HELD_MOST];
};

extern _Thread_local struct kernel_thread *thread_current __attribute__((tls_model("initial-exec")));

struct kernel_thread *thread_adopt(void);

static inline struct kernel_thread *thread_self(void)
{
    struct kernel_thread *t = thread_current;

    return __builtin_expect(t != NULL, 1) ? t : thread_adopt();
}

static inline KIRQL irql_now(void)
{
    return thread_self()->irql;
}

/* Returns the one before. */
static inline KIRQL irql_set(KIRQL to)
{
    struct kernel_thread *t = thread_self();
    KIRQL from = t->irql;

    t->irql = to;
    return from;
}

void irql_report(const char *routine, KIRQL now, KIRQL min, KIRQL max);

/* Reports the caller if it is above `max`, as the routine's reference says. */
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

/* Locks, while checks are on: `by` is the caller of the routine that acquires. */
void thread_hold(const void *lock, const char *what, const void *by);
void thread_release(const void *lock);
bool thread_holds(const void *lock);

/*
 * Around every call into the driver (callback, work item, DPC, thread): what it came back with. The mark is taken before
 * the call; after it a changed IRQL is reported and restored, and locks that were acquired and not released are reported.
 */
struct thread_mark {
    KIRQL irql;
    unsigned held;
};
struct thread_mark thread_mark_take(void);
void thread_mark_check(const struct thread_mark *mark, const char *routine, const void *called);

#endif
