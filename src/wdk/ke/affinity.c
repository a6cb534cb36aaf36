/* SPDX-License-Identifier: MIT */
/*
 * Which processors the calling thread runs on. The driver's choice is kept in the thread: an empty mask is "as the
 * process runs", which is what the routines give back for the first choice and take to undo it.
 */
#include <stdatomic.h>
#include <time.h>

#include "wdm.h"

#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

static bool is_active(const GROUP_AFFINITY *a)
{
    return a->Mask != 0 && (a->Mask & ~processor_group(a->Group)) == 0;
}

/*
 * Who woke the thread may be about to let it go wherever the process may: see wait.c. That would undo the choice.
 * To yield might not do: under a real-time policy it lets none of a lower priority run.
 */
static void until_let_go(struct kernel_thread *t)
{
    while (atomic_load_explicit(&t->called, memory_order_acquire))
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/* Processors that do not exist make the whole choice void. Returns the choice before. */
static GROUP_AFFINITY choose(const GROUP_AFFINITY *to)
{
    struct kernel_thread *t = thread_self();
    GROUP_AFFINITY before = t->affinity;

    if (to->Mask != 0 && !is_active(to))
        return before;
    t->affinity = *to;
    until_let_go(t);
    processor_bind(to->Group, to->Mask);
    return before;
}

KAFFINITY KeSetSystemAffinityThreadEx(KAFFINITY Affinity)
{
    GROUP_AFFINITY to = { .Mask = Affinity };

    irql_check_max("KeSetSystemAffinityThreadEx", DISPATCH_LEVEL);
    return is_active(&to) ? choose(&to).Mask : thread_self()->affinity.Mask;
}

VOID KeRevertToUserAffinityThreadEx(KAFFINITY Affinity)
{
    irql_check_max("KeRevertToUserAffinityThreadEx", DISPATCH_LEVEL);
    (void)choose(&(GROUP_AFFINITY){ .Mask = Affinity });
}

VOID KeSetSystemAffinityThread(KAFFINITY Affinity)
{
    irql_check_max("KeSetSystemAffinityThread", DISPATCH_LEVEL);
    (void)KeSetSystemAffinityThreadEx(Affinity);
}

VOID KeRevertToUserAffinityThread(VOID)
{
    irql_check_max("KeRevertToUserAffinityThread", DISPATCH_LEVEL);
    (void)choose(&(GROUP_AFFINITY){ 0 });
}

VOID KeSetSystemGroupAffinityThread(PGROUP_AFFINITY Affinity, PGROUP_AFFINITY PreviousAffinity)
{
    GROUP_AFFINITY before;

    irql_check_max("KeSetSystemGroupAffinityThread", DISPATCH_LEVEL);
    before = is_active(Affinity) ? choose(Affinity) : (GROUP_AFFINITY){ 0 };
    if (PreviousAffinity)
        *PreviousAffinity = before;
}

VOID KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY PreviousAffinity)
{
    irql_check_max("KeRevertToUserGroupAffinityThread", DISPATCH_LEVEL);
    (void)choose(PreviousAffinity);
}
