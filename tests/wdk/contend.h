/* SPDX-License-Identifier: MIT */
/*
 * Threads that all want one lock. What it guards is two counters that are equal whenever nobody writes: a thread that
 * comes in beside a writer sees them differ, or leaves them so.
 */
#ifndef TESTS_WDK_CONTEND_H
#define TESTS_WDK_CONTEND_H

#include <sched.h>
#include <stdatomic.h>

#include "threads.h"

enum { CONTENDERS = 3, TURNS = 1200 };

struct contest {
    KEVENT go; /* all begin together */
    int counter, twin;
    atomic_int broken;
};

/* Others get a chance to come in, which the lock has to deny them. */
static inline void contest_linger(void)
{
    KeStallExecutionProcessor(3);
    sched_yield();
}

static inline void contest_write(struct contest *c)
{
    c->counter++;
    if (c->counter % 8 == 0)
        contest_linger();
    c->twin++;
    if (c->counter != c->twin)
        atomic_fetch_add(&c->broken, 1);
}

static inline void contest_read(struct contest *c)
{
    int counter = c->counter, broken = counter != c->twin;

    if (counter % 8 == 0)
        contest_linger();
    if (broken || counter != c->counter || counter != c->twin)
        atomic_fetch_add(&c->broken, 1);
}

/* The routine waits for c->go and takes TURNS turns. How often somebody wrote. */
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
