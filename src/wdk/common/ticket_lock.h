/* SPDX-License-Identifier: MIT */
/*
 * A lock for critical sections of some microseconds, which are too long for spinning alone and too short for sleeping.
 * Threads acquire the lock in the order of their calls, so that none starves. A waiting thread yields at every 128th
 * try, because the owner may have lost its processor. At every 8192nd try it sleeps instead, because a thread of a
 * real-time policy does not yield to threads of lower priority.
 */
#ifndef WDK_TICKET_LOCK_H
#define WDK_TICKET_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

struct ticket_lock {
    atomic_uint next, now;
};

static inline void ticket_lock_acquire(struct ticket_lock *t)
{
    unsigned mine = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);

    for (unsigned tries = 1; atomic_load_explicit(&t->now, memory_order_acquire) != mine; tries++) {
        if (tries % (128 * 64) == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
        else if (tries % 128 == 0)
            sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static inline void ticket_lock_release(struct ticket_lock *t)
{
    atomic_fetch_add_explicit(&t->now, 1, memory_order_release);
}

#endif
