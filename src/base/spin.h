/* SPDX-License-Identifier: MIT */
/*
 * A spin lock for sections of a few dozen instructions. Any thread may use it, even at DISPATCH_LEVEL. The invariant:
 * the holder calls nothing that waits or acquires another lock; docs/threads.md lists the exceptions. A thread that
 * waits for the lock yields after a while, in case the holder is not running.
 */
#ifndef BASE_SPIN_H
#define BASE_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct spin {
    atomic_bool held;
};

static inline void spin_init(struct spin *s)
{
    atomic_init(&s->held, false);
}

/* Reduces the cost of a loop that waits for another processor. Must be called in each round. */
static inline void spin_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void spin_lock(struct spin *s)
{
    for (unsigned tries = 0; atomic_exchange_explicit(&s->held, true, memory_order_acquire); tries++) {
        while (atomic_load_explicit(&s->held, memory_order_relaxed)) {
            if (++tries % 128 == 0)
                sched_yield();
            spin_relax();
        }
    }
}

static inline void spin_unlock(struct spin *s)
{
    atomic_store_explicit(&s->held, false, memory_order_release);
}

#endif
