/* SPDX-License-Identifier: MIT */
/* Implements the routines of queues: creation, states and notices. See queue.h. */
#include <limits.h>

#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

void wdf_report_queue(const char *routine, struct wdf_queue *q, const char *what)
{
    if (check_on())
        check_failed(CHECK_WDF_QUEUE, routine, WDF_QUEUE_ERROR, (uintptr_t)q, 0, 0, "WDFQUEUE %p: %s", (void *)q, what);
}

struct wdf_queue *wdf_queue_of(const char *routine, WDFQUEUE queue)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    return wdf_object_lookup(routine, queue, WDF_QUEUE);
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static NTSTATUS wdf_queue_check_config(const WDF_IO_QUEUE_CONFIG *c)
{
    bool has_handler = c->EvtIoDefault || c->EvtIoRead || c->EvtIoWrite || c->EvtIoDeviceControl ||
                       c->EvtIoInternalDeviceControl;
    bool manual = c->DispatchType == WdfIoQueueDispatchManual, parallel = c->DispatchType == WdfIoQueueDispatchParallel;

    if (c->Size != sizeof *c)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (c->DispatchType <= WdfIoQueueDispatchInvalid || c->DispatchType >= WdfIoQueueDispatchMax)
        return STATUS_INVALID_PARAMETER;
    if (parallel != (c->Settings.Parallel.NumberOfPresentedRequests != 0) || (manual && has_handler))
        return STATUS_INVALID_PARAMETER;
    return !has_handler && !manual ? STATUS_WDF_NO_CALLBACK : STATUS_SUCCESS;
}

static void wdf_queue_destroy(struct wdf_object *o)
{
    struct wdf_queue *q = CONTAINING_RECORD(o, struct wdf_queue, object);

    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->done);
}

/* Returns how many requests the driver may own before the queue delivers no more. */
static ULONG queue_limit(const WDF_IO_QUEUE_CONFIG *c)
{
    switch (c->DispatchType) {
    case WdfIoQueueDispatchSequential:
        return 1;
    case WdfIoQueueDispatchParallel:
        return c->Settings.Parallel.NumberOfPresentedRequests;
    default:
        return UINT_MAX;
    }
}

static void wdf_queue_init(struct wdf_queue *q, struct wdf_device *d, const WDF_IO_QUEUE_CONFIG *config)
{
    struct wdf_object *o = &q->object;

    q->device = d;
    q->config = *config;
    q->max_owned = queue_limit(config);
    wdf_sync_init(&q->sync, o->passive);
    o->sync = o->scope == WdfSynchronizationScopeDevice ? &d->sync : &q->sync;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->done, NULL);
    InitializeListHead(&q->waiting);
    InitializeListHead(&q->owned);
    InitializeListHead(&q->link);
    q->accepts = q->delivers = true;
    q->power_managed = d->pnp.physical && config->PowerManaged != WdfFalse;
    o->stop = wdf_queue_stop_for_delete;
    o->destroy = wdf_queue_destroy;
}

/*
 * Adds the queue to the device, which sets q->powered from then on. Returns false if `q` is a default queue and the
 * device already has one.
 */
static bool wdf_device_add_queue(struct wdf_device *d, struct wdf_queue *q)
{
    bool added;

    pthread_mutex_lock(&d->lock);
    added = !q->config.DefaultQueue || !d->default_queue;
    if (added) {
        q->powered = !q->power_managed || d->pnp.powered;
        InsertTailList(&d->queues, &q->link);
        if (q->config.DefaultQueue)
            d->default_queue = q;
        q->object.framework = q->config.DefaultQueue;
    }
    pthread_mutex_unlock(&d->lock);
    return added;
}

/*
 * Sets the queue's execution level and scope from its attributes or its device. If the scope is the device's, the
 * queue's callbacks hold the device's lock. Returns STATUS_INVALID_PARAMETER if the queue's execution level then
 * differs from the device's.
 */
static NTSTATUS wdf_queue_set_constraints(struct wdf_object *o, PWDF_OBJECT_ATTRIBUTES attributes,
                                          const struct wdf_device *d)
{
    wdf_object_set_constraints(o, attributes, &d->object);
    return o->scope == WdfSynchronizationScopeDevice && o->passive != d->object.passive ? STATUS_INVALID_PARAMETER
                                                                                        : STATUS_SUCCESS;
}

static NTSTATUS wdf_queue_new(struct wdf_device *d, const WDF_IO_QUEUE_CONFIG *config,
                              PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent, struct wdf_queue **out)
{
    struct wdf_object *o;
    NTSTATUS status = wdf_queue_check_config(config);

    if (NT_SUCCESS(status))
        status = wdf_object_new(WDF_QUEUE, sizeof **out, attributes, parent, &o);
    if (!NT_SUCCESS(status))
        return status;
    status = wdf_queue_set_constraints(o, attributes, d);
    if (!NT_SUCCESS(status)) {
        wdf_object_discard(o);
        return status;
    }
    *out = CONTAINING_RECORD(o, struct wdf_queue, object);
    wdf_queue_init(*out, d, config);
    if (!wdf_device_add_queue(d, *out)) {
        wdf_object_discard(o);
        return STATUS_UNSUCCESSFUL;
    }
    if (wdf_object_insert(o))
        return STATUS_SUCCESS;
    wdf_queue_stop_for_delete(o);
    wdf_object_discard(o);
    return STATUS_DELETE_PENDING;
}

NTSTATUS WdfIoQueueCreate(WDFDEVICE Device, PWDF_IO_QUEUE_CONFIG Config, PWDF_OBJECT_ATTRIBUTES QueueAttributes,
                          WDFQUEUE *Queue)
{
    struct wdf_device *d = wdf_object_lookup("WdfIoQueueCreate", Device, WDF_DEVICE);
    struct wdf_object *parent = wdf_parent_of(QueueAttributes);
    struct wdf_queue *q;
    NTSTATUS status;

    irql_check_max("WdfIoQueueCreate", DISPATCH_LEVEL);
    if (!d || !wdf_check_pointer("WdfIoQueueCreate", Config, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (QueueAttributes && QueueAttributes->ParentObject && !parent)
        return STATUS_INVALID_PARAMETER;
    if (d->miniport || (parent && !wdf_is_below_device(parent)))
        return STATUS_INVALID_DEVICE_REQUEST;
    status = wdf_queue_new(d, Config, QueueAttributes, parent ? parent : &d->object, &q);
    if (NT_SUCCESS(status) && Queue)
        *Queue = (WDFQUEUE)q;
    return status;
}

NTSTATUS WdfDeviceConfigureRequestDispatching(WDFDEVICE Device, WDFQUEUE Queue, WDF_REQUEST_TYPE RequestType)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceConfigureRequestDispatching", Device, WDF_DEVICE);
    struct wdf_queue *q = wdf_queue_of("WdfDeviceConfigureRequestDispatching", Queue);
    NTSTATUS status = STATUS_WDF_BUSY;

    if (!d || !q || q->device != d)
        return STATUS_INVALID_PARAMETER;
    switch (RequestType) {
    case WdfRequestTypeCreate:
        if (q->config.DefaultQueue)
            return STATUS_INVALID_PARAMETER;
        break;
    case WdfRequestTypeRead:
    case WdfRequestTypeWrite:
    case WdfRequestTypeDeviceControl:
    case WdfRequestTypeDeviceControlInternal:
        break;
    default:
        return STATUS_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&d->lock);
    if (!d->queue_of[RequestType]) {
        d->queue_of[RequestType] = q;
        q->object.framework = true;
        status = STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

WDFDEVICE WdfIoQueueGetDevice(WDFQUEUE Queue)
{
    struct wdf_queue *q = wdf_queue_of("WdfIoQueueGetDevice", Queue);

    return q ? (WDFDEVICE)q->device : NULL;
}

WDF_IO_QUEUE_STATE WdfIoQueueGetState(WDFQUEUE Queue, PULONG QueueRequests, PULONG DriverRequests)
{
    struct wdf_queue *q = wdf_queue_of("WdfIoQueueGetState", Queue);
    int state;

    if (!q)
        return 0;
    pthread_mutex_lock(&q->lock);
    state = (q->accepts ? WdfIoQueueAcceptRequests : 0) | (q->delivers ? WdfIoQueueDispatchRequests : 0) |
            (q->n_waiting ? 0 : WdfIoQueueNoRequests) | (q->n_owned ? 0 : WdfIoQueueDriverNoRequests);
    if (QueueRequests)
        *QueueRequests = q->n_waiting;
    if (DriverRequests)
        *DriverRequests = q->n_owned;
    pthread_mutex_unlock(&q->lock);
    return (WDF_IO_QUEUE_STATE)state;
}

/*
 * Delivers what can be delivered now. Holds a reference, because the driver may delete the queue as soon as the last
 * handler has returned.
 */
static void queue_dispatch(struct wdf_queue *q)
{
    wdf_object_ref(&q->object);
    wdf_queue_dispatch(q, false);
    wdf_object_unref(&q->object);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

/* Calls the cancel callbacks of the requests that the driver owns now and has marked cancelable. */
static void queue_cancel_owned(struct wdf_queue *q)
{
    struct wdf_request *r;

    do {
        r = NULL;
        pthread_mutex_lock(&q->lock);
        for (LIST_ENTRY *e = q->owned.Flink; e != &q->owned && !r; e = e->Flink) {
            struct wdf_request *candidate = CONTAINING_RECORD(e, struct wdf_request, link);

            if (wdf_request_claim(candidate))
                r = candidate; /* stays valid: nobody completes a claimed request before its cancel callback runs */
        }
        if (r)
            atomic_store(&r->purged, true);
        pthread_mutex_unlock(&q->lock);
        if (r)
            wdf_request_cancel_claimed(r);
    } while (r);
}

enum kind_of_change { CHANGE_START, CHANGE_STOP, CHANGE_DRAIN, CHANGE_PURGE };

struct change {
    const char *routine;
    enum kind_of_change kind;
    bool cancels, synchronous;
    struct wdf_notice notice;
};

static enum wdf_goal change_goal(const struct change *c)
{
    return c->kind == CHANGE_STOP ? GOAL_STOPPED : GOAL_EMPTIED;
}

/* Returns which rule the change breaks, or NULL. Requires the lock. */
static const char *queue_refusal(const struct wdf_queue *q, const struct change *c)
{
    const struct wdf_goal_wait *emptied = &q->waits[GOAL_EMPTIED], *wait = &q->waits[change_goal(c)];

    if (emptied->drains && emptied->notice.routine)
        return "the callback of the drain before has not been called yet";
    if ((c->notice.routine || c->synchronous) && (wait->notice.routine || wait->synchronous))
        return c->kind == CHANGE_STOP ? "the callback of the stop before has not been called yet"
                                      : "the callback of the drain or purge before has not been called yet";
    if (c->kind == CHANGE_DRAIN && !q->delivers)
        return "it is stopped, so its requests would never be delivered";
    return NULL;
}

/*
 * Sets the queue's flags for the change. Unless the change is a start, also stores in q->waits the notice, if there is
 * one, and whether a thread waits for the goal. Requires the lock.
 */
static void queue_apply_change(struct wdf_queue *q, const struct change *c)
{
    struct wdf_goal_wait *wait = &q->waits[change_goal(c)];

    q->accepts = !q->shut_down && (c->kind == CHANGE_START || c->kind == CHANGE_STOP);
    if (c->kind == CHANGE_START || c->kind == CHANGE_STOP)
        q->delivers = c->kind == CHANGE_START;
    q->purged = c->cancels || q->shut_down;
    if (c->kind == CHANGE_START) {
        q->ready_due = q->n_waiting && q->on_ready.routine;
        return;
    }
    if (c->notice.routine)
        wait->notice = c->notice;
    wait->synchronous = wait->synchronous || c->synchronous;
    wait->drains = c->kind == CHANGE_DRAIN;
}

/* Makes the change. Returns false, and changes nothing, if the change breaks a rule. */
static bool queue_change(struct wdf_queue *q, const struct change *c)
{
    const char *refusal;

    pthread_mutex_lock(&q->lock);
    refusal = queue_refusal(q, c);
    if (!refusal)
        queue_apply_change(q, c);
    pthread_mutex_unlock(&q->lock);
    if (refusal) {
        wdf_report_queue(c->routine, q, refusal);
        return false;
    }
    if (c->cancels) {
        wdf_queue_cancel_waiting(q, NULL);
        queue_cancel_owned(q);
    }
    queue_dispatch(q);
    return true;
}

static void queue_change_asynchronously(WDFQUEUE queue, const struct change *c)
{
    struct wdf_queue *q = wdf_queue_of(c->routine, queue);

    if (q)
        (void)queue_change(q, c);
}

/*
 * Waits until the goal is reached and no handler runs. A handler may still run after it has completed its request, and
 * the driver may free what the handler uses as soon as this function returns.
 */
static void queue_wait(struct wdf_queue *q, enum wdf_goal goal)
{
    pthread_mutex_lock(&q->lock);
    while (!wdf_queue_has_reached(q, goal) || q->handlers)
        pthread_cond_wait(&q->done, &q->lock);
    q->waits[goal].synchronous = false;
    pthread_mutex_unlock(&q->lock);
}

static void queue_change_synchronously(WDFQUEUE queue, const struct change *c)
{
    struct wdf_queue *q;

    irql_check_max(c->routine, PASSIVE_LEVEL);
    q = wdf_queue_of(c->routine, queue);
    if (q && wdf_in_request_handler(&q->object))
        wdf_report_queue(c->routine, q, "a request handler must not wait for a queue");
    else if (q && queue_change(q, c))
        queue_wait(q, change_goal(c));
}

#define CHANGE(name, what, ...) (&(struct change){ .routine = #name, .kind = (what), __VA_ARGS__ })
#define STOP(name, ...) CHANGE(name, CHANGE_STOP, __VA_ARGS__)
#define DRAIN(name, ...) CHANGE(name, CHANGE_DRAIN, __VA_ARGS__)
#define PURGE(name, ...) CHANGE(name, CHANGE_PURGE, .cancels = true, __VA_ARGS__)
#define STOP_AND_PURGE(name, ...) CHANGE(name, CHANGE_STOP, .cancels = true, __VA_ARGS__)

VOID WdfIoQueueStart(WDFQUEUE Queue)
{
    queue_change_asynchronously(Queue, CHANGE(WdfIoQueueStart, CHANGE_START));
}

VOID WdfIoQueueStop(WDFQUEUE Queue, PFN_WDF_IO_QUEUE_STATE StopComplete, WDFCONTEXT Context)
{
    queue_change_asynchronously(Queue, STOP(WdfIoQueueStop, .notice = { StopComplete, Context }));
}

VOID WdfIoQueueDrain(WDFQUEUE Queue, PFN_WDF_IO_QUEUE_STATE DrainComplete, WDFCONTEXT Context)
{
    queue_change_asynchronously(Queue, DRAIN(WdfIoQueueDrain, .notice = { DrainComplete, Context }));
}

VOID WdfIoQueuePurge(WDFQUEUE Queue, PFN_WDF_IO_QUEUE_STATE PurgeComplete, WDFCONTEXT Context)
{
    queue_change_asynchronously(Queue, PURGE(WdfIoQueuePurge, .notice = { PurgeComplete, Context }));
}

VOID WdfIoQueueStopAndPurge(WDFQUEUE Queue, PFN_WDF_IO_QUEUE_STATE StopAndPurgeComplete, WDFCONTEXT Context)
{
    queue_change_asynchronously(Queue,
                                STOP_AND_PURGE(WdfIoQueueStopAndPurge, .notice = { StopAndPurgeComplete, Context }));
}

VOID WdfIoQueueStopSynchronously(WDFQUEUE Queue)
{
    queue_change_synchronously(Queue, STOP(WdfIoQueueStopSynchronously, .synchronous = true));
}

VOID WdfIoQueueDrainSynchronously(WDFQUEUE Queue)
{
    queue_change_synchronously(Queue, DRAIN(WdfIoQueueDrainSynchronously, .synchronous = true));
}

VOID WdfIoQueuePurgeSynchronously(WDFQUEUE Queue)
{
    queue_change_synchronously(Queue, PURGE(WdfIoQueuePurgeSynchronously, .synchronous = true));
}

VOID WdfIoQueueStopAndPurgeSynchronously(WDFQUEUE Queue)
{
    queue_change_synchronously(Queue, STOP_AND_PURGE(WdfIoQueueStopAndPurgeSynchronously, .synchronous = true));
}

/* Removes the queue from its device, so that no more requests find it. */
static void queue_detach(struct wdf_queue *q)
{
    struct wdf_device *d = q->device;

    pthread_mutex_lock(&d->lock);
    RemoveEntryList(&q->link);
    InitializeListHead(&q->link);
    if (d->default_queue == q)
        d->default_queue = NULL;
    for (int i = 0; i < WDF_QUEUED_TYPES; i++)
        if (d->queue_of[i] == q)
            d->queue_of[i] = NULL;
    pthread_mutex_unlock(&d->lock);
}

/* Returns true if no EvtIoQueueState runs and none will be called for a stop, drain or purge. Requires the lock. */
static bool queue_has_no_notice(const struct wdf_queue *q)
{
    return !q->notices && !q->waits[GOAL_STOPPED].notice.routine && !q->waits[GOAL_EMPTIED].notice.routine;
}

static void queue_wait_for_notices(struct wdf_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!queue_has_no_notice(q))
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

static void queue_shut_down(struct wdf_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->accepts = false;
    q->shut_down = q->purged = true;
    pthread_mutex_unlock(&q->lock);
    wdf_queue_cancel_waiting(q, NULL);
    queue_cancel_owned(q);
    queue_dispatch(q);
}

void wdf_device_shut_down_queues(struct wdf_device *d, bool power_managed)
{
    for (struct wdf_queue *q = wdf_device_next_queue(d, NULL); q; q = wdf_device_next_queue(d, q)) {
        if (q->power_managed != power_managed)
            continue;
        queue_shut_down(q);
        queue_wait(q, GOAL_EMPTIED);
        queue_wait_for_notices(q);
    }
}

/* Returns true if this thread has the lock that the queue's callbacks hold. */
static bool queue_has_lock(const struct wdf_queue *q)
{
    struct wdf_sync *sync = wdf_callback_sync(&q->object);

    return sync && wdf_sync_is_mine(sync);
}

/*
 * Other threads may wait for the lock that this thread has, to begin a callback of a deleted queue. They do not begin
 * it any more: this function cancels the requests of these callbacks. If `waits` is true, also waits until the driver
 * owns no request.
 */
static void queue_cancel_unbegun(struct wdf_queue *q, bool waits)
{
    struct wdf_request *r;

    pthread_mutex_lock(&q->lock);
    /* A thread in a handler or notice of the queue is its only dispatcher. */
    q->orphaned = q->orphaned || !wdf_queue_has_frame(q);
    while ((r = wdf_queue_find_unbegun(q)) || (waits && !wdf_queue_has_reached(q, GOAL_EMPTIED))) {
        if (!r) {
            pthread_cond_wait(&q->done, &q->lock);
            continue;
        }
        pthread_mutex_unlock(&q->lock);
        wdf_queue_cancel_unbegun(q, r);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
}

/* Returns why the deletion must not wait for the driver's requests, or NULL. */
static const char *queue_why_not_wait(struct wdf_queue *q)
{
    bool emptied;

    pthread_mutex_lock(&q->lock);
    emptied = wdf_queue_has_reached(q, GOAL_EMPTIED);
    pthread_mutex_unlock(&q->lock);
    if (emptied)
        return NULL;
    if (wdf_in_request_handler(&q->object))
        return "a request handler must not wait for the requests of a queue";
    return wdf_queue_has_frame(q) ? "its EvtIoQueueState must not wait for its requests" : NULL;
}

/*
 * Also waits for the EvtIoQueueState callbacks of earlier stops, drains and purges, unless this thread is in one of
 * these callbacks or has the lock that the queue's callbacks hold. Waits for nothing if this thread is in a request
 * handler of the queue, or if queue_why_not_wait returns a reason.
 */
void wdf_queue_stop_for_delete(struct wdf_object *o)
{
    struct wdf_queue *q = CONTAINING_RECORD(o, struct wdf_queue, object);
    bool has_lock = queue_has_lock(q);
    const char *why;

    queue_detach(q);
    pthread_mutex_lock(&q->lock);
    q->delivers = false;
    pthread_mutex_unlock(&q->lock);
    queue_shut_down(q);
    if (has_lock)
        queue_cancel_unbegun(q, false);
    why = queue_why_not_wait(q);
    if (why)
        wdf_report_queue("WdfObjectDelete", q, why);
    if (why || wdf_queue_is_in_handler(q))
        return;
    if (has_lock) {
        queue_cancel_unbegun(q, true);
        return;
    }
    queue_wait(q, GOAL_EMPTIED);
    if (!wdf_queue_has_frame(q))
        queue_wait_for_notices(q);
}

NTSTATUS WdfIoQueueReadyNotify(WDFQUEUE Queue, PFN_WDF_IO_QUEUE_STATE QueueReady, WDFCONTEXT Context)
{
    struct wdf_queue *q = wdf_queue_of("WdfIoQueueReadyNotify", Queue);
    NTSTATUS status = STATUS_SUCCESS;

    if (!q)
        return STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&q->lock);
    if (q->config.DispatchType != WdfIoQueueDispatchManual || (QueueReady && q->on_ready.routine) ||
        (!QueueReady && (!q->on_ready.routine || q->delivers))) {
        status = STATUS_INVALID_DEVICE_REQUEST;
    } else {
        q->on_ready = (struct wdf_notice){ QueueReady, Context };
        q->ready_due = QueueReady && q->n_waiting;
    }
    pthread_mutex_unlock(&q->lock);
    if (NT_SUCCESS(status))
        queue_dispatch(q);
    return status;
}
