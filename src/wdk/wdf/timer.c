/* SPDX-License-Identifier: MIT */
/* The framework's timers and work items. */
#include <pthread.h>
#include <stdatomic.h>

#include "wdf.h"

#include "wdk/ex/worker.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/timer.h"
#include "wdk/wdf/object.h"

enum { UNITS_IN_MS = 10000 };

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

struct wdf_timer {
    struct wdf_object object;
    KTIMER timer;
    KDPC dpc;
    PFN_WDF_TIMER routine;
    LONGLONG period;
    atomic_uint stopping; /* who stops it and waits; meanwhile it is not started */
};

static VOID expired(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct wdf_timer *t = DeferredContext;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    t->routine((WDFTIMER)t);
}

static void wait_for_callback(void)
{
    dpc_flush();
}

/* Twice: the callback that the first time has waited for may have started it just before that. */
static bool stop_and_wait(struct wdf_timer *t)
{
    bool was;

    atomic_fetch_add(&t->stopping, 1);
    was = timer_cancel(&t->timer);
    wait_for_callback();
    was = timer_cancel(&t->timer) || was;
    wait_for_callback();
    atomic_fetch_sub(&t->stopping, 1);
    return was;
}

static void stop_timer(struct wdf_object *o)
{
    (void)stop_and_wait(CONTAINING_RECORD(o, struct wdf_timer, object));
}

/* Of the objects whose attributes have to name a parent, which is a device or below one. */
static NTSTATUS new_below_parent(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes,
                                 struct wdf_object **o)
{
    struct wdf_object *parent;

    if (!attributes || !attributes->ParentObject)
        return STATUS_WDF_PARENT_NOT_SPECIFIED;
    parent = wdf_parent_of(attributes);
    if (!parent)
        return STATUS_INVALID_PARAMETER;
    return wdf_is_below_device(parent)
               ? wdf_object_new(kind, size, attributes, parent, o)
               : STATUS_INVALID_DEVICE_REQUEST;
}

NTSTATUS WdfTimerCreate(PWDF_TIMER_CONFIG Config, PWDF_OBJECT_ATTRIBUTES Attributes, WDFTIMER *Timer)
{
    struct wdf_object *o;
    struct wdf_timer *t;
    NTSTATUS status;

    irql_check_max("WdfTimerCreate", DISPATCH_LEVEL);
    if (!Config || !Timer || !Config->EvtTimerFunc || Config->Period > MAXLONG)
        return STATUS_INVALID_PARAMETER;
    if (Config->Size != sizeof *Config)
        return STATUS_INFO_LENGTH_MISMATCH;
    status = new_below_parent(WDF_TIMER, sizeof *t, Attributes, &o);
    if (status)
        return status;
    t = CONTAINING_RECORD(o, struct wdf_timer, object);
    KeInitializeTimer(&t->timer);
    KeInitializeDpc(&t->dpc, expired, t);
    t->routine = Config->EvtTimerFunc;
    t->period = (LONGLONG)Config->Period * UNITS_IN_MS;
    o->stop = stop_timer;
    *Timer = (WDFTIMER)t;
    return STATUS_SUCCESS;
}

BOOLEAN WdfTimerStart(WDFTIMER Timer, LONGLONG DueTime)
{
    struct wdf_timer *t = wdf_object_of("WdfTimerStart", Timer, WDF_TIMER);

    irql_check_max("WdfTimerStart", DISPATCH_LEVEL);
    return t && (!atomic_load(&t->stopping)) &&
           timer_set(&t->timer, DueTime, t->period, &t->dpc, __builtin_return_address(0));
}

BOOLEAN WdfTimerStop(WDFTIMER Timer, BOOLEAN Wait)
{
    struct wdf_timer *t = wdf_object_of("WdfTimerStop", Timer, WDF_TIMER);

    irql_check_max("WdfTimerStop", Wait ? PASSIVE_LEVEL : DISPATCH_LEVEL);
    if (!t)
        return FALSE;
    return Wait ? stop_and_wait(t) : timer_cancel(&t->timer);
}

WDFOBJECT WdfTimerGetParentObject(WDFTIMER Timer)
{
    struct wdf_timer *t = wdf_object_of("WdfTimerGetParentObject", Timer, WDF_TIMER);

    return t ? t->object.parent : NULL;
}

/* ---- Work items -------------------------------------------------------------------------------------------------- */

struct wdf_work {
    struct wdf_object object;
    WORK_QUEUE_ITEM item;
    PFN_WDF_WORKITEM routine;
    bool queued; /* under the lock, with what follows */
    unsigned unfinished;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static _Thread_local struct wdf_work *inside; /* whose callback runs here; NULL also when that has deleted it */

static struct wdf_object *root_of(struct wdf_object *o)
{
    while (o->parent)
        o = o->parent;
    return o;
}

/* The callback may delete its item, which then goes when the callback has come back. */
static VOID run(PVOID context)
{
    struct wdf_work *w = context;
    struct wdf_object *root = root_of(&w->object); /* there until the callback is counted out */
    bool left;

    pthread_mutex_lock(&lock);
    w->queued = false; /* from here on it can be queued again */
    root->callbacks++;
    pthread_mutex_unlock(&lock);
    inside = w;
    w->routine((WDFWORKITEM)w);
    left = !inside;
    inside = NULL;
    pthread_mutex_lock(&lock);
    w->unfinished--;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
    if (left) /* else it may be gone */
        wdf_object_put(&w->object);
    pthread_mutex_lock(&lock);
    root->callbacks--;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
}

/* Until no more than `own` callbacks are under way or to come. */
static void flush(struct wdf_work *w, unsigned own)
{
    pthread_mutex_lock(&lock);
    while (w->unfinished > own)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

static void stop_work(struct wdf_object *o)
{
    struct wdf_work *w = CONTAINING_RECORD(o, struct wdf_work, object);
    bool own = w == inside;

    flush(w, own);
    if (!own)
        return;
    inside = NULL;
    wdf_object_get(o); /* run()'s */
}

void wdf_work_wait(struct wdf_object *root)
{
    pthread_mutex_lock(&lock);
    while (root->callbacks)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

NTSTATUS WdfWorkItemCreate(PWDF_WORKITEM_CONFIG Config, PWDF_OBJECT_ATTRIBUTES Attributes, WDFWORKITEM *WorkItem)
{
    struct wdf_object *o;
    struct wdf_work *w;
    NTSTATUS status;

    irql_check_max("WdfWorkItemCreate", DISPATCH_LEVEL);
    if (!Config || !WorkItem || !Config->EvtWorkItemFunc)
        return STATUS_INVALID_PARAMETER;
    if (Config->Size != sizeof *Config)
        return STATUS_INFO_LENGTH_MISMATCH;
    status = new_below_parent(WDF_WORKITEM, sizeof *w, Attributes, &o);
    if (status)
        return status;
    w = CONTAINING_RECORD(o, struct wdf_work, object);
    worker_add_own_routine(run);
    ExInitializeWorkItem(&w->item, run, w);
    w->routine = Config->EvtWorkItemFunc;
    o->stop = stop_work;
    *WorkItem = (WDFWORKITEM)w;
    return STATUS_SUCCESS;
}

VOID WdfWorkItemEnqueue(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_of("WdfWorkItemEnqueue", WorkItem, WDF_WORKITEM);

    irql_check_max("WdfWorkItemEnqueue", DISPATCH_LEVEL);
    if (!w)
        return;
    pthread_mutex_lock(&lock);
    if (!w->queued) {
        w->queued = true;
        w->unfinished++;
        (void)worker_queue(&w->item, NULL, NULL);
    }
    pthread_mutex_unlock(&lock);
}

VOID WdfWorkItemFlush(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_of("WdfWorkItemFlush", WorkItem, WDF_WORKITEM);

    irql_check_max("WdfWorkItemFlush", PASSIVE_LEVEL);
    if (w)
        flush(w, 0);
}

WDFOBJECT WdfWorkItemGetParentObject(WDFWORKITEM WorkItem)
{
    struct wdf_work *w = wdf_object_of("WdfWorkItemGetParentObject", WorkItem, WDF_WORKITEM);

    return w ? w->object.parent : NULL;
}
