/* SPDX-License-Identifier: MIT */
/*
 * Compiled in front of a sample's sources: some of its steps are delayed at random, so that callbacks, work
 * items and the unload meet in orders that are rare otherwise. Nothing else changes.
 */
#ifndef TESTS_WDK_SAMPLES_SHAKE_H
#define TESTS_WDK_SAMPLES_SHAKE_H

#include <ntddk.h>

extern int usleep(unsigned us); /* the host's: nothing is waited for, as if the processor had been away */

/*
 * No variable of the thread: LeakSanitizer takes the memory of a loaded module's thread variables for another kind of
 * block where that lies 16 bytes behind a page's start, and dies.
 */
static inline void shake(void)
{
    static unsigned calls;
    unsigned x = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) * 0x9e3779b9u;

    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    if (x % 4 == 0)
        usleep(x / 4 % 1000);
}

static inline VOID shaken_acquire(PKSPIN_LOCK lock, PKIRQL irql)
{
    shake();
    KeAcquireSpinLock(lock, irql);
}

static inline LONG shaken_decrement(LONG volatile *value)
{
    shake();
    return InterlockedDecrement(value);
}

#undef KeAcquireSpinLock
#define KeAcquireSpinLock shaken_acquire
#undef InterlockedDecrement
#define InterlockedDecrement shaken_decrement

#endif
