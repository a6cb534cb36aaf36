/* SPDX-License-Identifier: MIT */
/*
 * The checks that all kinds of locks share. They use the thread's list of held locks, which exists while checks are on.
 * A lock that its holder acquires again is reported and only counted, so that a driver that continues does not hang.
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
 * Returns true if the calling thread holds the lock already. The function has then reported that and counted the lock
 * once more, and the caller must not acquire the lock. Called only while checks are on.
 */
bool lock_check_recursive(const char *routine, const struct lock_kind *kind, const void *lock, const void *by);

/*
 * Returns true if the caller must release the lock. Returns false if the calling thread does not hold it, which is
 * reported, or if the thread has acquired it more often than released. Called only while checks are on.
 */
bool lock_check_release(const char *routine, const struct lock_kind *kind, const void *lock, const void *owner);

#define LOCK_CALLER __builtin_return_address(0)

#endif
