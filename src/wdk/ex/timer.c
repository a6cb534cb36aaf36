/* SPDX-License-Identifier: MIT */
/*
 * Implements timers of ExAllocateTimer, and the routines that query and set the clock's interval, which affects no
 * timer. Each timer has a KTIMER, and a DPC that calls the driver's routine. A timer is freed when no DPC uses it any
 * more: by ExDeleteTimer if that call waits, otherwise by a work item. A timer that is deleted without being cancelled
 * is freed after its next expiration.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/bug_code.h"
#include "wdk/common/live.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/timer.h"

struct _EX_TIMER {
    KTIMER timer; /* first member, because a thread may wait for the EX_TIMER as for a KTIMER */
    KDPC dpc;
    PEXT_CALLBACK callback;
    PVOID context;
    bool deleted; /* guarded by the dispatcher's lock */
    EXT_DELETE_PARAMETERS last;
    WORK_QUEUE_ITEM item;
};

static void ex_timer_finish(PEX_TIMER t)
{
    EXT_DELETE_PARAMETERS last = t->last;

    dpc_flush();
    (void)live_remove(LIVE_EX_TIMER, t);
    free(t);
    if (last.DeleteCallback)
        last.DeleteCallback(last.DeleteContext);
}

static VOID ex_timer_finish_item(PVOID parameter)
{
    ex_timer_finish(parameter);
}

static VOID ex_timer_on_expire(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    PEX_TIMER t = DeferredContext;
    bool deleted;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    if (t->callback)
        t->callback(t, t->context);
    dispatch_lock();
    deleted = t->deleted;
    t->deleted = false;
    dispatch_unlock(NULL);
    if (!deleted)
        return;
    (void)timer_cancel(&t->timer);
    (void)worker_queue(&t->item, NULL, NULL);
}

PEX_TIMER ExAllocateTimer(PEXT_CALLBACK Callback, PVOID CallbackContext, ULONG Attributes)
{
    PEX_TIMER t;

    irql_check_max("ExAllocateTimer", DISPATCH_LEVEL);
    if ((Attributes & EX_TIMER_HIGH_RESOLUTION) && (Attributes & EX_TIMER_NO_WAKE))
        check_bug(TIMER_OR_DPC_INVALID, 4, Attributes, 0, 0);
    t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    KeInitializeTimerEx(&t->timer, Attributes & EX_TIMER_NOTIFICATION ? NotificationTimer : SynchronizationTimer);
    KeInitializeDpc(&t->dpc, ex_timer_on_expire, t);
    ExInitializeWorkItem(&t->item, ex_timer_finish_item, t);
    t->callback = Callback;
    t->context = CallbackContext;
    live_add(LIVE_EX_TIMER, t, "EX_TIMER");
    return t;
}

BOOLEAN ExSetTimer(PEX_TIMER Timer, LONGLONG DueTime, LONGLONG Period, PEXT_SET_PARAMETERS Parameters)
{
    UNREFERENCED_PARAMETER(Parameters);
    irql_check_max("ExSetTimer", DISPATCH_LEVEL);
    return timer_set(&Timer->timer, DueTime, Period, &Timer->dpc, __builtin_return_address(0));
}

BOOLEAN ExCancelTimer(PEX_TIMER Timer, PEXT_CANCEL_PARAMETERS Parameters)
{
    UNREFERENCED_PARAMETER(Parameters);
    irql_check_max("ExCancelTimer", DISPATCH_LEVEL);
    return timer_cancel(&Timer->timer);
}

/* If the timer is set, makes its next expiration delete it, and returns true. Otherwise returns false. */
static bool ex_timer_delete_on_expire(PEX_TIMER t)
{
    bool set;

    dispatch_lock();
    set = t->timer.Queue != 0;
    t->deleted = set;
    dispatch_unlock(NULL);
    return set;
}

BOOLEAN ExDeleteTimer(PEX_TIMER Timer, BOOLEAN Cancel, BOOLEAN Wait, PEXT_DELETE_PARAMETERS Parameters)
{
    bool cancelled;

    irql_check_max("ExDeleteTimer", Wait ? APC_LEVEL : DISPATCH_LEVEL);
    if (Wait && !Cancel)
        check_bug(TIMER_OR_DPC_INVALID, 5, (uintptr_t)Timer, 0, 0);
    if (Parameters)
        Timer->last = *Parameters;
    if (!Cancel && ex_timer_delete_on_expire(Timer))
        return FALSE;
    cancelled = timer_cancel(&Timer->timer);
    if (Wait)
        ex_timer_finish(Timer);
    else
        (void)worker_queue(&Timer->item, NULL, NULL);
    return Cancel && cancelled;
}

/* ---- The clock's interval ---------------------------------------------------------------------------------------- */

enum { SHORTEST_TICK = 5000, LONGEST_TICK = 156250 };

static pthread_mutex_t resolution_lock = PTHREAD_MUTEX_INITIALIZER;
static ULONG resolution = LONGEST_TICK;
static unsigned resolution_requests; /* number of requests that are not withdrawn yet */

VOID ExQueryTimerResolution(PULONG MaximumTime, PULONG MinimumTime, PULONG CurrentTime)
{
    *MaximumTime = LONGEST_TICK;
    *MinimumTime = SHORTEST_TICK;
    pthread_mutex_lock(&resolution_lock);
    *CurrentTime = resolution;
    pthread_mutex_unlock(&resolution_lock);
}

ULONG ExSetTimerResolution(ULONG DesiredTime, BOOLEAN SetResolution)
{
    ULONG now;

    irql_check_max("ExSetTimerResolution", APC_LEVEL);
    pthread_mutex_lock(&resolution_lock);
    if (SetResolution) {
        resolution_requests++;
        resolution = min(resolution, max(DesiredTime, (ULONG)SHORTEST_TICK));
    } else if (resolution_requests && --resolution_requests == 0) {
        resolution = LONGEST_TICK;
    }
    now = resolution;
    pthread_mutex_unlock(&resolution_lock);
    return now;
}
