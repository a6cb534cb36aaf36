/* SPDX-License-Identifier: MIT */
/*
 * A lock for sections of some microseconds: longer than a spin lock's, shorter than it takes to go to sleep and to be
 * woken. Threads have it in the order in which they came, as with the queued spin locks that Windows' pool has, so
 * that of two which do the same none falls behind. Who waits for one that has lost its processor lets others run;
 * after a while, in its sleep, also those of a lower priority, which a thread of a real-time policy never yields to.
 */
#ifndef WDK_TURNS_H
#define WDK_TURNS_H

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

struct turns {
    atomic_uint next, now;
};

static inline void turns_enter(struct turns *t)
{
    unsigned mine = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);

    for (unsigned looks = 1; atomic_load_explicit(&t->now, memory_order_acquire) != mine; looks++) {
        if (looks % (128 * 64) == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
        else if (looks % 128 == 0)
            sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static inline void turns_leave(struct turns *t)
{
    atomic_fetch_add_explicit(&t->now, 1, memory_order_release);
}

#endif
