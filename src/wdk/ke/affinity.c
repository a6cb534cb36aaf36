/* SPDX-License-Identifier: MIT */
/*
 * The processors on which the calling thread may run. kernel_thread.affinity stores the driver's choice. An empty mask
 * means that the driver has made no choice: the thread may run on all processors of the process. The routines return
 * the previous choice. A driver passes an empty mask to undo its choice.
 */
#include <stdatomic.h>
#include <time.h>

#include "wdm.h"

#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

static bool affinity_is_valid(const GROUP_AFFINITY *a)
{
    return a->Mask != 0 && (a->Mask & ~processor_group(a->Group)) == 0;
}

/*
 * Waits until no thread is waking `t` (wait_wake in wait.c). A waking thread finally binds `t` to all processors, which
 * would undo the driver's choice. Sleeps between the checks, because a thread of a real-time policy does not yield to
 * threads of lower priority.
 */
static void affinity_wait_for_pulls(struct kernel_thread *t)
{
    while (atomic_load_explicit(&t->pulls, memory_order_acquire))
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/*
 * Sets the processors of the calling thread. Ignores a mask that has a processor which does not exist. Returns the
 * previous choice.
 */
static GROUP_AFFINITY affinity_set(const GROUP_AFFINITY *to)
{
    struct kernel_thread *t = thread_self();
    GROUP_AFFINITY before = t->affinity;

    if (to->Mask != 0 && !affinity_is_valid(to))
        return before;
    t->affinity = *to;
    affinity_wait_for_pulls(t);
    processor_bind(to->Group, to->Mask);
    return before;
}

KAFFINITY KeSetSystemAffinityThreadEx(KAFFINITY Affinity)
{
    GROUP_AFFINITY to = { .Mask = Affinity };

    irql_check_max("KeSetSystemAffinityThreadEx", DISPATCH_LEVEL);
    return affinity_is_valid(&to) ? affinity_set(&to).Mask : thread_self()->affinity.Mask;
}

VOID KeRevertToUserAffinityThreadEx(KAFFINITY Affinity)
{
    irql_check_max("KeRevertToUserAffinityThreadEx", DISPATCH_LEVEL);
    (void)affinity_set(&(GROUP_AFFINITY){ .Mask = Affinity });
}

VOID KeSetSystemAffinityThread(KAFFINITY Affinity)
{
    irql_check_max("KeSetSystemAffinityThread", DISPATCH_LEVEL);
    (void)KeSetSystemAffinityThreadEx(Affinity);
}

VOID KeRevertToUserAffinityThread(VOID)
{
    irql_check_max("KeRevertToUserAffinityThread", DISPATCH_LEVEL);
    (void)affinity_set(&(GROUP_AFFINITY){ 0 });
}

VOID KeSetSystemGroupAffinityThread(PGROUP_AFFINITY Affinity, PGROUP_AFFINITY PreviousAffinity)
{
    GROUP_AFFINITY before;

    irql_check_max("KeSetSystemGroupAffinityThread", DISPATCH_LEVEL);
    before = affinity_is_valid(Affinity) ? affinity_set(Affinity) : (GROUP_AFFINITY){ 0 };
    if (PreviousAffinity)
        *PreviousAffinity = before;
}

VOID KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY PreviousAffinity)
{
    irql_check_max("KeRevertToUserGroupAffinityThread", DISPATCH_LEVEL);
    (void)affinity_set(PreviousAffinity);
}
