/* SPDX-License-Identifier: MIT */
/*
 * What the kinds of locks have in common. While checks are on, the thread's list of held locks says who holds what: a
 * lock that is acquired again by its holder is reported and only counted, so that a driver that goes on does not hang.
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
 * Checks are on. True: the caller holds it already, which has been reported and noted; it must not be acquired again.
 */
bool lock_check_recursive(const char *routine, const struct lock_kind *kind, const void *lock, const void *by);

/* Checks are on. False: the caller does not hold it, or holds it once more; it must not be let go. */
bool lock_check_release(const char *routine, const struct lock_kind *kind, const void *lock, const void *owner);

#define LOCK_CALLER __builtin_return_address(0)

#endif
