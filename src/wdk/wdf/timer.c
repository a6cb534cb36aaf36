/* SPDX-License-Identifier: MIT */
/*
 * Implements the framework's timers and work items. After a timer or work item has been deleted, its callback does not
 * run. Exception: if a callback of a work item deletes the item, this callback and the item's other callbacks that have
 * already begun may return after the deletion. If the callback of a passive timer deletes the timer, this is reported,
 * and the timer's callbacks may also return after the deletion.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/timer.h"
#include "wdk/wdf/callback.h"
#include "wdk/wdf/object.h"

enum { UNITS_PER_MS = 10000 };

/* Guards the members of timers and work items whose comments name the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
/*
 * The work item and the timer whose callback this thread runs. The TLS model is initial-exec, because LeakSanitizer of
 * GCC 12 often crashes with other models if the library is loaded after the program's start.
 */
static _Thread_local struct wdf_work *running __attribute__((tls_model("initial-exec")));
static _Thread_local struct wdf_timer *running_timer __attribute__((tls_model("initial-exec")));

static void wdf_report_wait(const char *routine, struct wdf_object *o)
{
    if (check_on())
        check_failed(CHECK_WDF_CALLBACK, routine, WDF_WAITS_FOR_ITSELF, (uintptr_t)o, 0, 0,
                     "the callback of %s %p waits for its own end", wdf_kind_name(o), (void *)o);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

struct wdf_timer {
    struct wdf_object object;
    KTIMER timer;
    KDPC dpc;
    PFN_WDF_TIMER routine;
    LONGLONG period;
    struct wdf_sync *sync; /* held during the callback, or NULL */
    bool passive;          /* true: a worker thread calls the callback at PASSIVE_LEVEL */
    WORK_QUEUE_ITEM item;  /* used only by a passive timer */
    unsigned unfinished;   /* number of a passive timer's queued or running callbacks; guarded by `lock` */
    atomic_uint stopping;  /* number of stops in progress, plus 1 after a deletion; if not 0, WdfTimerStart fails */
};

static void wdf_timer_call(struct wdf_timer *t)
{
    struct wdf_call call;

    wdf_call_begin(&call, t->sync);
    t->routine((WDFTIMER)t);
    wdf_call_end(&call, "EvtTimerFunc", (const void *)(uintptr_t)t->routine);
}

static VOID wdf_timer_run_passive(PVOID context)
{
    struct wdf_timer *t = context;
    struct wdf_object *root = wdf_root_of(&t->object);

    wdf_activity_begin(root);
    running_timer = t;
    wdf_timer_call(t);
    running_timer = NULL;
    pthread_mutex_lock(&lock);
    t->unfinished--;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
    wdf_object_unref(&t->object);
    wdf_activity_end(root);
}

static VOID wdf_timer_run(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct wdf_timer *t = DeferredContext;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    if (!t->passive) {
        wdf_timer_call(t);
        return;
    }
    pthread_mutex_lock(&lock);
    if (worker_queue(&t->item, NULL, NULL)) {
        t->unfinished++;
        wdf_object_ref(&t->object); /* wdf_timer_run_passive drops this reference */
    }
    pthread_mutex_unlock(&lock);
}

/* Waits until no callback of a passive timer is queued or running. Does not wait if this thread runs the callback. */
static void wdf_timer_flush_passive(struct wdf_timer *t)
{
    pthread_mutex_lock(&lock);
    while (t->unfinished && t != running_timer)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

/*
 * Cancels the timer, and waits until its callback has returned. Does this twice, because a running callback may have
 * restarted the timer before `stopping` was set.
 */
static bool wdf_timer_stop_and_wait(struct wdf_timer *t)
{
    bool was;

    atomic_fetch_add(&t->stopping, 1);
    was = timer_cancel(&t->timer);
    dpc_flush();
    wdf_timer_flush_passive(t);
    was = timer_cancel(&t->timer) || was;
    dpc_flush();
    wdf_timer_flush_passive(t);
    atomic_fetch_sub(&t->stopping, 1);
    return was;
}

/*
 * Stops a timer that is being deleted, so that it cannot be started again. Reports the error if the callback of a
 * passive timer deletes its own timer: on Windows, this deletion waits for ever.
 */
static void wdf_timer_stop(struct wdf_object *o)
{
    struct wdf_timer *t = CONTAINING_RECORD(o, struct wdf_timer, object);

    if (t == running_timer)
        wdf_report_wait("WdfObjectDelete", o);
    atomic_fetch_add(&t->stopping, 1);
    (void)wdf_timer_stop_and_wait(t);
}

NTSTATUS WdfTimerCreate(PWDF_TIMER_CONFIG Config, PWDF_OBJECT_ATTRIBUTES Attributes, WDFTIMER *Timer)
{
    struct wdf_sync *sync = NULL;
    struct wdf_object *o;
    struct wdf_timer *t;
    NTSTATUS status;
    bool passive;

    irql_check_max("WdfTimerCreate", DISPATCH_LEVEL);
    if (!Config || !Timer || !Config->EvtTimerFunc || Config->Period > MAXLONG)
        return STATUS_INVALID_PARAMETER;
    if (Config->Size != sizeof *Config)
        return STATUS_INFO_LENGTH_MISMATCH;
    passive = Attributes && Attributes->ExecutionLevel == WdfExecutionLevelPassive;
    status = Config->AutomaticSerialization ? wdf_serialize(Attributes, passive, &sync) : STATUS_SUCCESS;
    if (!status)
        status = wdf_object_new_below_parent(WDF_TIMER, sizeof *t, Attributes, &o);
    if (status)
        return status;
    t = CONTAINING_RECORD(o, struct wdf_timer, object);
    t->sync = sync;
    t->passive = passive;
    worker_add_own_routine(wdf_timer_run_passive);
    ExInitializeWorkItem(&t->item, wdf_timer_run_passive, t);
    KeInitializeTimer(&t->timer);
    KeInitializeDpc(&t->dpc, wdf_timer_run, t);
    t->routine = Config->EvtTimerFunc;
    t->period = (LONGLONG)Config->Period * UNITS_PER_MS;
    o->stop = wdf_timer_stop;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *Timer = (WDFTIMER)t;
    return status;
}

BOOLEAN WdfTimerStart(WDFTIMER Timer, LONGLONG DueTime)
{
    struct wdf_timer *t = wdf_object_lookup("WdfTimerStart", Timer, WDF_TIMER);

    irql_check_max("WdfTimerStart", DISPATCH_LEVEL);
    return t && !atomic_load(&t->stopping) &&
           timer_set(&t->timer, DueTime, t->period, &t->dpc, __builtin_return_address(0));
}

BOOLEAN WdfTimerStop(WDFTIMER Timer, BOOLEAN Wait)
{
    struct wdf_timer *t = wdf_object_lookup("WdfTimerStop", Timer, WDF_TIMER);

    irql_check_max("WdfTimerStop", Wait ? PASSIVE_LEVEL : DISPATCH_LEVEL);
    if (!t)
        return FALSE;
    if (Wait && t == running_timer) {
        wdf_report_wait("WdfTimerStop", &t->object);
        return FALSE;
    }
    return Wait ? wdf_timer_stop_and_wait(t) : timer_cancel(&t->timer);
}

WDFOBJECT WdfTimerGetParentObject(WDFTIMER Timer)
{
    struct wdf_timer *t = wdf_object_lookup("WdfTimerGetParentObject", Timer, WDF_TIMER);

    return t ? t->object.parent : NULL;
}

/* ---- Work items -------------------------------------------------------------------------------------------------- */

struct wdf_work {
    struct wdf_object object;
    WORK_QUEUE_ITEM item;
    PFN_WDF_WORKITEM routine;
    struct wdf_sync *sync; /* held during the callback, or NULL */
    /* The lock guards the following members. */
    bool queued, stopping; /* `stopping`: the item is being deleted and cannot be queued any more */
    unsigned unfinished;   /* number of callbacks that are queued or running */
    bool orphaned;         /* a callback has deleted the item: each unfinished callback drops a reference */
};

static bool wdf_work_is_orphaned(struct wdf_work *w)
{
    bool orphaned;

    pthread_mutex_lock(&lock);
    orphaned = w->orphaned;
    pthread_mutex_unlock(&lock);
    return orphaned;
}

static VOID wdf_work_run(PVOID context)
{
    struct wdf_work *w = context;
    struct wdf_object *root = wdf_root_of(&w->object); /* exists until wdf_activity_end below */
    PFN_WDF_WORKITEM routine = w->routine;
    struct wdf_call call;
    bool orphaned;

    wdf_activity_begin(root);
    pthread_mutex_lock(&lock);
    w->queued = false; /* the item can be queued again now */
    pthread_mutex_unlock(&lock);
    running = w;
    wdf_call_begin(&call, w->sync);
    /* Another callback may have deleted the item while this thread waited for w->sync. */
    if (!wdf_work_is_orphaned(w))
        routine((WDFWORKITEM)w);
    wdf_call_end(&call, "EvtWorkItemFunc", (const void *)(uintptr_t)routine);
    running = NULL;
    pthread_mutex_lock(&lock);
    w->unfinished--;
    orphaned = w->orphaned;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
    /* If a callback has deleted the item, this thread has a reference. Otherwise the item may be freed already. */
    if (orphaned)
        wdf_object_unref(&w->object);
    wdf_activity_end(root);
}

/* Waits until no callback of the item is queued or running. */
static void wdf_work_flush(struct wdf_work *w)
{
    pthread_mutex_lock(&lock);
    while (w->unfinished)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

/*
 * Stops a work item that the item's own callback deletes. If that callback has queued the item again, removes the item
 * from the worker's queue. If a second thread has already begun to run the item, that thread may wait for w->sync,
 * which the callback holds. So the callback does not wait for the second thread. Instead, each unfinished callback gets
 * a reference on the item.
 */
static void wdf_work_orphan(struct wdf_work *w)
{
    pthread_mutex_lock(&lock);
    if (w->queued && worker_remove(&w->item)) {
        w->queued = false;
        w->unfinished--;
    }
    w->orphaned = true;
    for (unsigned i = 0; i < w->unfinished; i++)
        wdf_object_ref(&w->object); /* wdf_work_run drops this reference */
    pthread_mutex_unlock(&lock);
}

static void wdf_work_stop(struct wdf_object *o)
{
    struct wdf_work *w = CONTAINING_RECORD(o, struct wdf_work, object);

    pthread_mutex_lock(&lock);
    w->stopping = true;
    pthread_mutex_unlock(&lock);
    if (w == running)
        wdf_work_orphan(w);
    else
        wdf_work_flush(w);
}

NTSTATUS WdfWorkItemCreate(PWDF_WORKITEM_CONFIG Config, PWDF_OBJECT_ATTRIBUTES Attributes, WDFWORKITEM *WorkItem)
{
    struct wdf_sync *sync = NULL;
    struct wdf_object *o;
    struct wdf_work *w;
    NTSTATUS status;

    irql_check_max("WdfWorkItemCreate", DISPATCH_LEVEL);
    if (!Config || !WorkItem || !Config->EvtWorkItemFunc)
        return STATUS_INVALID_PARAMETER;
    if (Config->Size != sizeof *Config)
        return STATUS_INFO_LENGTH_MISMATCH;
    status = Config->AutomaticSerialization ? wdf_serialize(Attributes, true, &sync) : STATUS_SUCCESS;
    if (!status)
        status = wdf_object_new_below_parent(WDF_WORKITEM, sizeof *w, Attributes, &o);
    if (status)
        return status;
    w = CONTAINING_RECORD(o, struct wdf_work, object);
    w->sync = sync;
    worker_add_own_routine(wdf_work_run);
    ExInitializeWorkItem(&w->item, wdf_work_run, w);
    w->routine = Config->EvtWorkItemFunc;
    o->stop = wdf_work_stop;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *WorkItem = (WDFWORKITEM)w;
    return status;
}

VOID WdfWorkItemEnqueue(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_lookup("WdfWorkItemEnqueue", WorkItem, WDF_WORKITEM);

    irql_check_max("WdfWorkItemEnqueue", DISPATCH_LEVEL);
    if (!w)
        return;
    pthread_mutex_lock(&lock);
    if (!w->queued && !w->stopping) {
        w->queued = true;
        w->unfinished++;
        (void)worker_queue(&w->item, NULL, NULL);
    }
    pthread_mutex_unlock(&lock);
}

VOID WdfWorkItemFlush(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_lookup("WdfWorkItemFlush", WorkItem, WDF_WORKITEM);

    irql_check_max("WdfWorkItemFlush", PASSIVE_LEVEL);
    if (w && w == running)
        wdf_report_wait("WdfWorkItemFlush", &w->object);
    else if (w)
        wdf_work_flush(w);
}

WDFOBJECT WdfWorkItemGetParentObject(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_lookup("WdfWorkItemGetParentObject", WorkItem, WDF_WORKITEM);

    return w ? w->object.parent : NULL;
}
