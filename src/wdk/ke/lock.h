/* SPDX-License-Identifier: MIT */
/*
 * The checks that all kinds of locks share. They use the thread's list of held locks, which exists while checks are on.
 * If a thread acquires a lock that it already holds, the check reports this and adds the lock to the list once more.
 * The lock itself is not acquired again, because the thread would wait for itself for ever.
 */
#ifndef WDK_LOCK_H
#define WDK_LOCK_H

#include <sched.h>

#include "base/private_export.h"
#include "wdk/ke/thread.h"

static inline void lock_pause(unsigned *tries)
{
    if (++*tries % 128 == 0)
        sched_yield(); /* the holder may have lost its processor */
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void lock_report_recursive(const char *routine, const char *what, const void *lock)
    PRIVATE_EXPORT(lock_report_recursive);
void lock_report_not_held(const char *routine, const char *what, const void *lock, const void *owner)
    PRIVATE_EXPORT(lock_report_not_held);

/*
 * If the calling thread already holds the lock, reports this, adds the lock once more to the thread's list of held
 * locks, and returns true. The caller must then not acquire the lock. Called only while checks are on.
 */
bool lock_check_recursive(const char *routine, const struct lock_kind *kind, const void *lock, const void *by);

/*
 * Removes the lock once from the calling thread's list of held locks. Returns true if the caller must release the lock.
 * Returns false if the list still contains the lock, because the thread has acquired it twice. If the thread does not
 * hold the lock, reports this and returns false. Called only while checks are on.
 */
bool lock_check_release(const char *routine, const struct lock_kind *kind, const void *lock, const void *owner);

#define LOCK_CALLER __builtin_return_address(0)

#endif
