/* SPDX-License-Identifier: MIT */
/*
 * Inserts, delivers and cancels requests. See queue.h. A thread that calls the driver holds no lock of the framework,
 * except the lock that serializes callbacks (wdf_callback_sync). wdf_queue_dispatch returns only after it has found,
 * while it held the queue's lock, that nothing can be delivered, or that another call or a worker will deliver it. Each
 * insertion is followed by a call of wdf_queue_dispatch, so no request that can be delivered stays in the queue.
 */
#include <limits.h>

#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

/* A request handler or a notice that this thread runs. */
struct frame {
    struct wdf_queue *queue;
    bool is_handler;
    struct frame *outer;
};

static _Thread_local struct frame *frames __attribute__((tls_model("initial-exec")));

bool wdf_in_request_handler(struct wdf_object *o)
{
    struct frame *f = frames;

    while (f && !(f->is_handler && wdf_root_of(&f->queue->object) == wdf_root_of(o)))
        f = f->outer;
    return f != NULL;
}

bool wdf_queue_is_in_handler(const struct wdf_queue *q)
{
    struct frame *f = frames;

    while (f && !(f->is_handler && f->queue == q))
        f = f->outer;
    return f != NULL;
}

bool wdf_queue_has_frame(const struct wdf_queue *q)
{
    struct frame *f = frames;

    while (f && f->queue != q)
        f = f->outer;
    return f != NULL;
}

static struct wdf_request *queue_request_of(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct wdf_request, link);
}

/* ---- Taking requests --------------------------------------------------------------------------------------------- */

/*
 * Moves a waiting request from the list `waiting` to the list `owned`. Requires the lock. The request's cancel routine
 * must have been removed.
 */
static void queue_move_to_driver(struct wdf_queue *q, struct wdf_request *r)
{
    RemoveEntryList(&r->link);
    q->n_waiting--;
    InsertTailList(&q->owned, &r->link);
    q->n_owned++;
    atomic_store(&r->owner, OWNER_DRIVER);
}

/* Returns true if a cancellation of the request calls EvtIoCanceledOnQueue. */
static bool queue_calls_cancel(const struct wdf_queue *q, const struct wdf_request *r)
{
    return r->by_driver && q->config.EvtIoCanceledOnQueue;
}

/*
 * Prepares the cancellation of a request that was moved to the list `owned` and not delivered. The caller must then
 * call queue_cancel. Adds a reference on the queue and, if queue_cancel calls EvtIoCanceledOnQueue, on the request.
 * Also begins an activity, which queue_cancel_now ends. A thread that deletes the queue may call EvtIoCanceledOnQueue
 * before queue_cancel_now does; without the activity the driver could then be unloaded before queue_cancel_now ends.
 * Requires the lock.
 */
static void queue_set_cancelled(struct wdf_queue *q, struct wdf_request *r)
{
    wdf_object_ref(&q->object);
    wdf_activity_begin(wdf_root_of(&q->object));
    r->stop = STOP_CANCELLED;
    r->unbegun = queue_calls_cancel(q, r);
    if (r->unbegun)
        wdf_object_ref(&r->object);
    pthread_cond_broadcast(&q->done);
}

/* Works like queue_move_to_driver, for a request that is cancelled before it is delivered. Requires the lock. */
static void queue_move_cancelled(struct wdf_queue *q, struct wdf_request *r)
{
    queue_move_to_driver(q, r);
    queue_set_cancelled(q, r);
}

bool wdf_queue_retrieve_this(struct wdf_queue *q, struct wdf_request *r)
{
    if (!IoSetCancelRoutine(r->irp, NULL))
        return false;
    queue_move_to_driver(q, r);
    return true;
}

bool wdf_queue_has_waiting(const struct wdf_queue *q, const struct wdf_request *r)
{
    const LIST_ENTRY *e = q->waiting.Flink;

    while (e != &q->waiting && e != &r->link)
        e = e->Flink;
    return e != &q->waiting;
}

bool wdf_queue_is_of_file(const struct wdf_request *r, PFILE_OBJECT file)
{
    return !file || IoGetCurrentIrpStackLocation(r->irp)->FileObject == file;
}

struct wdf_request *wdf_queue_retrieve(struct wdf_queue *q, PFILE_OBJECT file)
{
    for (LIST_ENTRY *e = q->waiting.Flink; e != &q->waiting; e = e->Flink)
        if (wdf_queue_is_of_file(queue_request_of(e), file) && wdf_queue_retrieve_this(q, queue_request_of(e)))
            return queue_request_of(e);
    return NULL;
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

/* Begins the callback that the request waits for. Returns false if another thread has begun it. */
static bool queue_begin(struct wdf_queue *q, struct wdf_request *r)
{
    bool begun;

    pthread_mutex_lock(&q->lock);
    begun = r->unbegun;
    r->unbegun = false;
    pthread_mutex_unlock(&q->lock);
    return begun;
}

/*
 * Cancels a request that was moved to the list `owned`: calls EvtIoCanceledOnQueue if the driver has put the request
 * into the queue, otherwise completes it. The callback holds `sync`. If there is a callback, drops a reference on the
 * request before it, so that the completion destroys the request. Called with no lock of the framework held.
 */
static void queue_cancel_retrieved(struct wdf_queue *q, struct wdf_request *r, struct wdf_sync *sync)
{
    PFN_WDF_IO_QUEUE_IO_CANCELED_ON_QUEUE routine = q->config.EvtIoCanceledOnQueue;
    struct wdf_call call;
    bool begun;

    if (!queue_calls_cancel(q, r)) {
        atomic_store(&r->owner, OWNER_NONE);
        wdf_request_finish(r, STATUS_CANCELLED, 0, IO_NO_INCREMENT);
        return;
    }
    wdf_call_begin(&call, sync);
    begun = queue_begin(q, r);
    wdf_object_unref(&r->object);
    if (begun) {
        atomic_store(&r->in_cancel, true);
        routine((WDFQUEUE)q, (WDFREQUEST)r);
    }
    wdf_call_end(&call, "EvtIoCanceledOnQueue", (const void *)(uintptr_t)routine);
}

/* Also ends the activity and drops the reference on the queue that queue_set_cancelled has added. */
static void queue_cancel_now(struct wdf_queue *q, struct wdf_request *r)
{
    struct wdf_object *root = wdf_root_of(&q->object);

    queue_cancel_retrieved(q, r, wdf_callback_sync(&q->object));
    wdf_object_unref(&q->object);
    wdf_activity_end(root);
}

static void queue_cancel_deferred(void *context)
{
    struct wdf_request *r = context;

    queue_cancel_now(r->queue, r);
}

/* Works like queue_cancel_now, but uses a worker if this thread cannot call the driver now. */
static void queue_cancel(struct wdf_queue *q, struct wdf_request *r)
{
    if (queue_calls_cancel(q, r) && !wdf_can_call(&q->object, wdf_callback_sync(&q->object)))
        wdf_defer(&r->deferred_on_queue, &q->object, queue_cancel_deferred, r);
    else
        queue_cancel_now(q, r);
}

/* The cancel routine of an IRP that waits in a queue. */
static VOID queue_cancel_irp(PDEVICE_OBJECT device, PIRP irp)
{
    struct wdf_request *r = irp->Tail.Overlay.DriverContext[3];
    struct wdf_queue *q = r->queue; /* valid: only this routine may remove the request from the list `waiting` */

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    pthread_mutex_lock(&q->lock);
    queue_move_cancelled(q, r);
    pthread_mutex_unlock(&q->lock);
    queue_cancel(q, r);
}

void wdf_queue_cancel_waiting(struct wdf_queue *q, PFILE_OBJECT file)
{
    struct wdf_request *r;
    ULONG left;

    pthread_mutex_lock(&q->lock);
    for (left = q->n_waiting; left && (r = wdf_queue_retrieve(q, file)); left--) {
        queue_set_cancelled(q, r);
        pthread_mutex_unlock(&q->lock);
        atomic_store(&r->purged, true);
        queue_cancel(q, r);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
}

struct wdf_request *wdf_queue_find_unbegun(struct wdf_queue *q)
{
    for (LIST_ENTRY *e = q->owned.Flink; e != &q->owned; e = e->Flink) {
        struct wdf_request *r = queue_request_of(e);

        if (r->unbegun || atomic_load(&r->cancel_state) == CANCEL_CLAIMED) {
            wdf_object_ref(&r->object);
            r->unbegun = r->unbegun && queue_calls_cancel(q, r); /* otherwise the request is completed */
            return r;
        }
    }
    return NULL;
}

void wdf_queue_cancel_unbegun(struct wdf_queue *q, struct wdf_request *r)
{
    if (atomic_load(&r->cancel_state) == CANCEL_CLAIMED) {
        wdf_request_call_cancel(r, NULL);
        wdf_object_unref(&r->object);
        return;
    }
    if (!queue_calls_cancel(q, r))
        wdf_object_unref(&r->object); /* this thread completes the request, which exists until then */
    queue_cancel_retrieved(q, r, NULL);
}

/* ---- Insertion --------------------------------------------------------------------------------------------------- */

/*
 * Sets the cancel routine of a request that was inserted. If the request is cancelled already, moves it to the list
 * `owned` and returns false; the caller must then cancel it. Requires the lock.
 */
static bool queue_arm_cancel(struct wdf_queue *q, struct wdf_request *r)
{
    r->irp->Tail.Overlay.DriverContext[3] = r; /* the driver may have changed this member */
    (void)IoSetCancelRoutine(r->irp, queue_cancel_irp);
    if (!__atomic_load_n(&r->irp->Cancel, __ATOMIC_SEQ_CST) || !IoSetCancelRoutine(r->irp, NULL))
        return true;
    queue_move_cancelled(q, r);
    return false;
}

/* Requires that the request is no longer in the list `owned`. It may be in a list of another queue, or in no list. */
static void queue_count_one_less(struct wdf_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->n_owned--;
    pthread_cond_broadcast(&q->done);
    pthread_mutex_unlock(&q->lock);
}

/*
 * Works like wdf_queue_insert. If `from` is not NULL, the request comes from this queue. This queue stops counting it
 * before the driver is called, because a thread that has the lock of callbacks may wait for this.
 */
static NTSTATUS queue_insert(struct wdf_queue *q, struct wdf_request *r, struct wdf_queue *from, bool at_front,
                             bool by_driver)
{
    bool armed;

    pthread_mutex_lock(&q->lock);
    if (!q->accepts && !at_front) {
        pthread_mutex_unlock(&q->lock);
        return STATUS_WDF_BUSY;
    }
    wdf_object_ref(&q->object); /* the request's reference, which wdf_queue_finish_one drops */
    wdf_object_ref(&q->object); /* this function's reference, which it drops below */
    r->queue = q;
    r->by_driver = by_driver;
    atomic_store(&r->owner, OWNER_FRAMEWORK);
    if (!q->n_waiting || q->missed)
        q->ready_due = q->on_ready.routine != NULL;
    q->missed = false;
    if (at_front)
        InsertHeadList(&q->waiting, &r->link);
    else
        InsertTailList(&q->waiting, &r->link);
    q->n_waiting++;
    armed = queue_arm_cancel(q, r);
    if (armed && at_front && q->purged && wdf_queue_retrieve_this(q, r)) {
        queue_set_cancelled(q, r);
        atomic_store(&r->purged, true);
        armed = false;
    }
    pthread_mutex_unlock(&q->lock);
    if (from)
        queue_count_one_less(from);
    if (!armed)
        queue_cancel(q, r);
    else
        wdf_queue_dispatch(q, true);
    wdf_object_unref(&q->object);
    return STATUS_SUCCESS;
}

NTSTATUS wdf_queue_insert(struct wdf_queue *q, struct wdf_request *r, bool at_front, bool by_driver)
{
    return queue_insert(q, r, NULL, at_front, by_driver);
}

/* ---- Delivery ---------------------------------------------------------------------------------------------------- */

/* Calls the request handler, and returns its address for reports. Completes the request if there is no handler. */
static const void *queue_call_handler(struct wdf_queue *q, struct wdf_request *r)
{
    const IO_STACK_LOCATION s = *IoGetCurrentIrpStackLocation(r->irp);
    const WDF_IO_QUEUE_CONFIG *c = &q->config;
    PFN_WDF_IO_QUEUE_IO_DEVICE_CONTROL control = s.MajorFunction == IRP_MJ_DEVICE_CONTROL ? c->EvtIoDeviceControl
                                                 : s.MajorFunction == IRP_MJ_INTERNAL_DEVICE_CONTROL
                                                     ? c->EvtIoInternalDeviceControl
                                                     : NULL;
    WDFREQUEST request = (WDFREQUEST)r;
    WDFQUEUE queue = (WDFQUEUE)q;

    if (s.MajorFunction == IRP_MJ_READ && c->EvtIoRead) {
        c->EvtIoRead(queue, request, s.Parameters.Read.Length);
        return (const void *)(uintptr_t)c->EvtIoRead;
    }
    if (s.MajorFunction == IRP_MJ_WRITE && c->EvtIoWrite) {
        c->EvtIoWrite(queue, request, s.Parameters.Write.Length);
        return (const void *)(uintptr_t)c->EvtIoWrite;
    }
    if (control) {
        control(queue, request, s.Parameters.DeviceIoControl.OutputBufferLength,
                s.Parameters.DeviceIoControl.InputBufferLength, s.Parameters.DeviceIoControl.IoControlCode);
        return (const void *)(uintptr_t)control;
    }
    if (c->EvtIoDefault) {
        c->EvtIoDefault(queue, request);
        return (const void *)(uintptr_t)c->EvtIoDefault;
    }
    atomic_store(&r->owner, OWNER_NONE);
    wdf_request_finish(r, STATUS_INVALID_DEVICE_REQUEST, 0, IO_NO_INCREMENT);
    return NULL;
}

static bool queue_is_orphaned(struct wdf_queue *q)
{
    bool orphaned;

    pthread_mutex_lock(&q->lock);
    orphaned = q->orphaned;
    pthread_mutex_unlock(&q->lock);
    return orphaned;
}

/*
 * Another callback may have deleted the queue while this thread waited for `sync`. Then it has also completed the
 * request.
 */
static void queue_deliver(struct wdf_queue *q, struct wdf_request *r, struct wdf_sync *sync)
{
    struct frame frame = { q, true, frames };
    const void *handler = NULL;
    struct wdf_call call;

    frames = &frame;
    wdf_call_begin(&call, sync);
    if (!sync || (!queue_is_orphaned(q) && queue_begin(q, r)))
        handler = queue_call_handler(q, r);
    wdf_call_end(&call, "a request handler", handler);
    frames = frame.outer;
}

static void queue_notify(struct wdf_queue *q, const struct wdf_notice *n, struct wdf_sync *sync)
{
    struct frame frame = { q, false, frames };
    struct wdf_call call;

    frames = &frame;
    wdf_call_begin(&call, sync);
    /* Another callback may have deleted the queue while this thread waited for `sync`. */
    if (!queue_is_orphaned(q))
        n->routine((WDFQUEUE)q, n->context);
    wdf_call_end(&call, "EvtIoQueueState", (const void *)(uintptr_t)n->routine);
    frames = frame.outer;
}

bool wdf_queue_has_reached(const struct wdf_queue *q, enum wdf_goal goal)
{
    return !q->n_owned && (goal == GOAL_STOPPED || !q->n_waiting);
}

/*
 * Returns the notice of a goal that is reached, or NULL. Also returns NULL while there are dispatchers besides the
 * caller, because one of these may be in a handler. `own` is 1 if q->dispatchers counts the caller, otherwise 0.
 * Requires the lock.
 */
static struct wdf_notice *queue_due_notice(struct wdf_queue *q, unsigned own)
{
    for (enum wdf_goal goal = 0; goal < GOALS && q->dispatchers == own; goal++)
        if (q->waits[goal].notice.routine && wdf_queue_has_reached(q, goal))
            return &q->waits[goal].notice;
    return NULL;
}

/* The next work of a dispatcher. Exactly one of the two members is set. */
struct step {
    struct wdf_request *request;
    struct wdf_notice notice;
};

/*
 * Sets *step to the next work of the caller, a dispatcher that q->dispatchers counts. Returns false if there is no
 * work. Requires the lock.
 */
static bool queue_next_step(struct wdf_queue *q, struct step *step)
{
    struct wdf_notice *due = queue_due_notice(q, 1);

    *step = (struct step){ NULL, { NULL, NULL } };
    if (due) {
        step->notice = *due;
        due->routine = NULL;
        return true;
    }
    if (!q->delivers || !q->powered || !q->n_waiting)
        return false;
    if (q->config.DispatchType == WdfIoQueueDispatchManual) {
        if (q->ready_due)
            step->notice = q->on_ready;
        q->ready_due = false;
        return step->notice.routine != NULL;
    }
    if (q->n_owned < q->max_owned)
        step->request = wdf_queue_retrieve(q, NULL);
    return step->request != NULL;
}

static void queue_dispatch_deferred(void *context)
{
    struct wdf_queue *q = context;

    pthread_mutex_lock(&q->lock);
    q->is_deferred = false;
    pthread_mutex_unlock(&q->lock);
    wdf_queue_dispatch(q, false);
    wdf_object_unref(&q->object);
}

/*
 * Makes a worker call wdf_queue_dispatch, unless there is nothing to deliver or a worker will call it anyway. Requires
 * the lock.
 */
static void queue_defer(struct wdf_queue *q)
{
    if (q->is_deferred || !(queue_due_notice(q, 0) || (q->delivers && q->powered && q->n_waiting)))
        return;
    q->is_deferred = true;
    wdf_object_ref(&q->object);
    wdf_defer(&q->deferred, &q->object, queue_dispatch_deferred, q);
}

/*
 * Returns true if another call of wdf_queue_dispatch delivers what this call would deliver. There are two cases:
 * - Callbacks are serialized (`sync` is not NULL), and another call delivers now.
 * - This thread is in a handler of the queue. The outer call, which has called the handler, delivers the next request.
 *   Exception: if the queue has no limit, this call delivers a request that has just arrived.
 * Requires the lock.
 */
static bool queue_has_dispatcher(const struct wdf_queue *q, const struct wdf_sync *sync, bool arrival)
{
    if (sync && q->dispatchers)
        return true;
    return wdf_queue_is_in_handler(q) && (q->max_owned != UINT_MAX || !arrival);
}

void wdf_queue_dispatch(struct wdf_queue *q, bool arrival)
{
    struct wdf_sync *sync = wdf_callback_sync(&q->object);
    struct step step;

    pthread_mutex_lock(&q->lock);
    if (queue_has_dispatcher(q, sync, arrival)) {
        pthread_mutex_unlock(&q->lock);
        return;
    }
    if (!wdf_can_call(&q->object, sync)) {
        queue_defer(q);
        pthread_mutex_unlock(&q->lock);
        return;
    }
    q->dispatchers++;
    while (queue_next_step(q, &step)) {
        q->handlers += step.request != NULL;
        q->notices += step.request == NULL;
        q->notices_begun += step.request == NULL;
        if (step.request)
            step.request->unbegun = sync != NULL;
        pthread_mutex_unlock(&q->lock);
        if (step.request)
            queue_deliver(q, step.request, sync);
        else
            queue_notify(q, &step.notice, sync);
        pthread_mutex_lock(&q->lock);
        q->handlers -= step.request != NULL;
        q->notices -= step.request == NULL;
        pthread_cond_broadcast(&q->done);
    }
    q->dispatchers--;
    pthread_mutex_unlock(&q->lock);
}

void wdf_queue_unlink(struct wdf_queue *q, struct wdf_request *r)
{
    pthread_mutex_lock(&q->lock);
    RemoveEntryList(&r->link);
    q->n_acknowledged -= r->stop == STOP_ACKNOWLEDGED;
    r->stop = STOP_NONE;
    pthread_mutex_unlock(&q->lock);
}

void wdf_queue_finish_one(struct wdf_queue *q)
{
    queue_count_one_less(q);
    wdf_queue_dispatch(q, false);
    wdf_object_unref(&q->object);
}

/*
 * The request leaves the list `owned` of its queue first. If the other queue accepts no requests, the request returns
 * to this list, so the driver owns it as before.
 */
NTSTATUS wdf_queue_move(struct wdf_queue *from, struct wdf_queue *to, struct wdf_request *r, bool at_front)
{
    NTSTATUS status;

    wdf_queue_unlink(from, r);
    status = queue_insert(to, r, from, at_front, true);
    if (NT_SUCCESS(status)) {
        wdf_queue_dispatch(from, false);
        wdf_object_unref(&from->object);
        return status;
    }
    pthread_mutex_lock(&from->lock);
    InsertTailList(&from->owned, &r->link);
    pthread_mutex_unlock(&from->lock);
    return status;
}
