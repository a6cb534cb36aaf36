/* SPDX-License-Identifier: MIT */
/*
 * Threads that contend for one lock. It guards two counters, which differ only while a thread writes: a thread that
 * enters beside a writer observes or causes a difference.
 */
#ifndef TESTS_WDK_CONTEND_H
#define TESTS_WDK_CONTEND_H

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "threads.h"

enum { CONTENDERS = 3, TURNS = 1200 };

struct contest {
    KEVENT go; /* all threads start together */
    int counter, twin;
    atomic_int came, broken;
};

/* Lets other threads run, on this processor or others, for a longer time, too. The lock must exclude them. */
static inline void contest_linger(int turn)
{
    static const struct timespec while_ = { 0, 100000 };

    if (turn % 8 != 0)
        return;
    KeStallExecutionProcessor(3);
    sched_yield();
    if (turn % 32 == 0)
        nanosleep(&while_, NULL);
}

static inline void contest_write(struct contest *c)
{
    c->counter++;
    contest_linger(c->counter);
    c->twin++;
    if (c->counter != c->twin)
        atomic_fetch_add(&c->broken, 1);
}

static inline void contest_read(struct contest *c)
{
    int counter = c->counter, broken = counter != c->twin;

    contest_linger(counter);
    if (broken || counter != c->counter || counter != c->twin)
        atomic_fetch_add(&c->broken, 1);
}

/* Runs the routine in all threads, each TURNS times after c->go. Returns the number of writes. */
static inline int contest_run(struct contest *c, PKSTART_ROUTINE routine, PVOID context)
{
    PVOID threads[CONTENDERS];

    KeInitializeEvent(&c->go, NotificationEvent, FALSE);
    for (int i = 0; i < CONTENDERS; i++)
        threads[i] = thread_start(routine, context);
    KeDelayExecutionThread(KernelMode, FALSE, &ms);
    KeSetEvent(&c->go, 0, FALSE);
    for (int i = 0; i < CONTENDERS; i++)
        thread_join(threads[i]);
    assert_int_equal(c->broken, 0);
    assert_int_equal(c->counter, c->twin);
    return c->counter;
}

#endif
