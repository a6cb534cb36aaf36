/* SPDX-License-Identifier: MIT */
/* Reports about locks: see lock.h. */
#include "wdm.h"

#include "wdk/ke/lock.h"

void lock_report_recursive(const char *routine, const char *what, const void *lock)
{
    check_failed(CHECK_LOCK_RECURSIVE, routine, (uintptr_t)lock, 0, 0, 0, "this thread holds %s %p already", what,
                 lock);
}

void lock_report_not_held(const char *routine, const char *what, const void *lock, const void *owner)
{
    check_failed(CHECK_LOCK_NOT_HELD, routine, (uintptr_t)lock, (uintptr_t)owner, 0, 0,
                 owner ? "%s %p is held by another thread" : "%s %p is not held by this thread", what, lock);
}

bool lock_check_recursive(const char *routine, const struct lock_kind *kind, const void *lock, const void *by)
{
    if (!thread_has_lock(lock))
        return false;
    lock_report_recursive(routine, kind->name, lock);
    thread_add_lock(lock, kind, by);
    return true;
}

bool lock_check_release(const char *routine, const struct lock_kind *kind, const void *lock, const void *owner)
{
    if (!thread_may_have_lock(lock)) {
        lock_report_not_held(routine, kind->name, lock, owner);
        return false;
    }
    thread_remove_lock(lock);
    return !thread_has_lock(lock);
}
