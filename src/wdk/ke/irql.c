/* SPDX-License-Identifier: MIT */
/* Implements the IRQL, critical regions and guarded regions. Their state is in fields of the calling thread. */
#include "wdm.h"

#include "wdk/ke/thread.h"

KIRQL KeGetCurrentIrql(VOID)
{
    return irql_now();
}

static void irql_check_change(const char *routine, KIRQL from, KIRQL to, bool wrong)
{
    if (check_on() && (wrong || to > HIGH_LEVEL))
        check_failed(CHECK_IRQL_LOWERED_WRONG, routine, from, to, 0, 0, "from IRQL %d to %d", from, to);
}

static KIRQL irql_raise(const char *routine, KIRQL to)
{
    struct kernel_thread *t = thread_self();
    KIRQL from = t->irql;

    irql_check_change(routine, from, to, to < from);
    t->irql = to;
    return from;
}

KIRQL KfRaiseIrql(KIRQL NewIrql)
{
    return irql_raise("KeRaiseIrql", NewIrql);
}

KIRQL KeRaiseIrqlToDpcLevel(VOID)
{
    return irql_raise("KeRaiseIrqlToDpcLevel", DISPATCH_LEVEL);
}

KIRQL KeRaiseIrqlToSynchLevel(VOID)
{
    return irql_raise("KeRaiseIrqlToSynchLevel", SYNCH_LEVEL);
}

VOID KeLowerIrql(KIRQL NewIrql)
{
    struct kernel_thread *t = thread_self();

    irql_check_change("KeLowerIrql", t->irql, NewIrql, NewIrql > t->irql);
    t->irql = NewIrql;
}

void ondk_wdk_paged_code(const char *function, const char *file, int line)
{
    if (check_on() && irql_now() > APC_LEVEL)
        check_failed(CHECK_PAGED_CODE, "PAGED_CODE", irql_now(), APC_LEVEL, 0, 0, "%s (%s:%d) runs at IRQL %d",
                     function, file, line, irql_now());
}

/* Decrements the count. If the thread has not entered a region, reports this and leaves the count at zero. */
static void region_exit(const char *routine, int *entered)
{
    irql_check_max(routine, APC_LEVEL);
    if (*entered > 0)
        --*entered;
    else if (check_on())
        check_failed(CHECK_LOCK_NOT_HELD, routine, 0, 0, 0, 0, "the thread is not in such a region");
}

VOID KeEnterCriticalRegion(VOID)
{
    irql_check_max("KeEnterCriticalRegion", APC_LEVEL);
    thread_self()->critical++;
}

VOID KeLeaveCriticalRegion(VOID)
{
    region_exit("KeLeaveCriticalRegion", &thread_self()->critical);
}

VOID KeEnterGuardedRegion(VOID)
{
    irql_check_max("KeEnterGuardedRegion", APC_LEVEL);
    thread_self()->guarded++;
}

VOID KeLeaveGuardedRegion(VOID)
{
    region_exit("KeLeaveGuardedRegion", &thread_self()->guarded);
}

BOOLEAN KeAreApcsDisabled(VOID)
{
    return thread_self()->critical > 0 || KeAreAllApcsDisabled();
}

BOOLEAN KeAreAllApcsDisabled(VOID)
{
    return thread_self()->guarded > 0 || irql_now() >= APC_LEVEL;
}
