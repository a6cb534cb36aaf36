/* SPDX-License-Identifier: MIT */
/*
 * Sends, cancels and finishes requests to I/O targets: see target.h. The invariant: a sent request is finished exactly
 * once, by the last of its holders, and not while its target's lock is held.
 */
#include <string.h>

#include "wdf.h"

#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/timer.h"
#include "wdk/wdf/callback.h"
#include "wdk/wdf/target.h"

/*
 * A request that this thread is finishing: the thread runs the request's completion routine, or wakes the thread that
 * has sent the request synchronously. `outer` is the request whose completion routine led to this one, or NULL.
 */
struct finish_frame {
    const struct wdf_target *target;
    const struct wdf_object *root; /* the root of the target's tree of objects */
    struct finish_frame *outer;
};

static _Thread_local struct finish_frame *finish_frames __attribute__((tls_model("initial-exec")));

pthread_mutex_t wdf_target_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wdf_target_changed = PTHREAD_COND_INITIALIZER;

/* ---- Finishing --------------------------------------------------------------------------------------------------- */

static void send_set_results(struct wdf_send *s)
{
    PIRP irp = s->request->irp;
    WDF_REQUEST_COMPLETION_PARAMS *p = &s->params;
    ULONG_PTR bytes = irp->IoStatus.Information;

    if (!s->request->created)
        irp->Tail.Overlay.DriverContext[3] = s->request; /* the driver of the target may have changed this member */
    if (s->timed_out && irp->IoStatus.Status == STATUS_CANCELLED)
        irp->IoStatus.Status = STATUS_IO_TIMEOUT;
    if (s->copies_out && !NT_ERROR(irp->IoStatus.Status))
        memcpy(s->out.address, s->system, bytes < s->out.length ? bytes : s->out.length);
    s->status = irp->IoStatus.Status;
    p->IoStatus = irp->IoStatus;
    if (p->Type == WdfRequestTypeRead)
        p->Parameters.Read.Length = bytes;
    else if (p->Type == WdfRequestTypeWrite)
        p->Parameters.Write.Length = bytes;
    else if (p->Type != WdfRequestTypeNoFormat)
        p->Parameters.Ioctl.Output.Length = bytes;
}

bool wdf_send_is_in_routine(const struct wdf_object *root)
{
    const struct finish_frame *f = finish_frames;

    while (f && f->root != root)
        f = f->outer;
    return f != NULL;
}

bool wdf_send_is_finishing(const struct wdf_target *t)
{
    const struct finish_frame *f = finish_frames;

    while (f && f->target != t)
        f = f->outer;
    return f != NULL;
}

/* Makes the request IDLE, so that the completion routine may send it again. */
static void send_begin_finish(struct wdf_send *s)
{
    pthread_mutex_lock(&wdf_target_lock);
    RemoveEntryList(&s->link);
    InitializeListHead(&s->link);
    s->sent->finishing++;
    s->target = NULL;
    atomic_store(&s->state, SEND_IDLE);
    pthread_cond_broadcast(&wdf_target_changed);
    pthread_mutex_unlock(&wdf_target_lock);
}

static void send_end_finish(struct wdf_sent *sent)
{
    pthread_mutex_lock(&wdf_target_lock);
    sent->finishing--;
    pthread_cond_broadcast(&wdf_target_changed);
    pthread_mutex_unlock(&wdf_target_lock);
}

/* The completion routine may delete or complete the request, or send it again. */
static void send_finish(struct wdf_send *s)
{
    struct wdf_request *r = s->request;
    struct wdf_target *t = s->target;
    struct wdf_object *root = wdf_root_of(&t->object);
    PFN_WDF_REQUEST_COMPLETION_ROUTINE routine = s->routine;
    struct finish_frame frame = { t, root, finish_frames };
    struct wdf_sent *sent = s->sent;
    WDF_REQUEST_COMPLETION_PARAMS params;
    bool synchronous = s->synchronous;
    WDFCONTEXT context = s->context;
    struct wdf_call call;

    wdf_activity_begin(root);
    send_set_results(s);
    params = s->params;
    s->routine = NULL; /* the routine was for the send that has completed */
    s->context = NULL;
    send_begin_finish(s);
    finish_frames = &frame;
    if (synchronous) {
        KeSetEvent(&s->done, IO_NO_INCREMENT, FALSE);
    } else if (routine) {
        wdf_call_begin(&call, NULL);
        routine((WDFREQUEST)r, (WDFIOTARGET)t, &params, context);
        wdf_call_end(&call, "a completion routine", (const void *)(uintptr_t)routine);
    }
    finish_frames = frame.outer;
    send_end_finish(sent);
    wdf_object_unref(&r->object);
    wdf_object_unref(&t->object);
    wdf_activity_end(root);
}

/* Drops a holder of a sent request, and finishes the request after the last one. */
static void send_drop(struct wdf_send *s)
{
    bool last;

    pthread_mutex_lock(&wdf_target_lock);
    last = !--s->holders;
    pthread_mutex_unlock(&wdf_target_lock);
    if (last)
        send_finish(s);
}

/*
 * Called when the target's driver has completed the request, or when a waiting request is refused. Drops the target as
 * a holder. Also drops the timer as a holder, unless the timer has expired: then send_expire does this.
 */
static void send_return(struct wdf_send *s)
{
    if (s->dpc.DeferredRoutine && timer_cancel(&s->timer))
        send_drop(s);
    send_drop(s);
}

static NTSTATUS send_completed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    UNREFERENCED_PARAMETER(device);
    UNREFERENCED_PARAMETER(irp);
    send_return(context);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

bool wdf_send_try_ref(struct wdf_send *s)
{
    bool sent = atomic_load(&s->state) != SEND_IDLE && s->holders;

    s->holders += sent;
    return sent;
}

bool wdf_send_cancel_and_unref(struct wdf_send *s)
{
    bool cancelled = IoCancelIrp(s->request->irp);

    send_drop(s);
    return cancelled;
}

bool wdf_send_is_sent(const struct wdf_request *r)
{
    return r->send && atomic_load(&r->send->state) != SEND_IDLE;
}

bool wdf_send_cancel(struct wdf_request *r)
{
    bool sent;

    pthread_mutex_lock(&wdf_target_lock);
    sent = r->send && wdf_send_try_ref(r->send);
    pthread_mutex_unlock(&wdf_target_lock);
    return sent && wdf_send_cancel_and_unref(r->send);
}

/* The routine of the timer's DPC. Cancels a request that has timed out, and drops the timer as a holder. */
static VOID send_expire(PKDPC dpc, PVOID context, PVOID a, PVOID b)
{
    struct wdf_send *s = context;

    UNREFERENCED_PARAMETER(dpc);
    UNREFERENCED_PARAMETER(a);
    UNREFERENCED_PARAMETER(b);
    s->timed_out = true;
    (void)IoCancelIrp(s->request->irp);
    send_drop(s);
}

/* ---- Waiting in a stopped target --------------------------------------------------------------------------------- */

/* Makes a waiting request SENT. The caller has removed the IRP's cancel routine. Requires the lock. */
static void send_remove_waiting(struct wdf_send *s)
{
    RemoveEntryList(&s->link);
    InsertTailList(&s->sent->requests, &s->link);
    IoSkipCurrentIrpStackLocation(s->request->irp);
    atomic_store(&s->state, SEND_SENT);
    pthread_cond_broadcast(&wdf_target_changed);
}

/* The cancel routine of a waiting request's IRP. */
static VOID send_cancel_waiting(PDEVICE_OBJECT device, PIRP irp)
{
    struct wdf_request *r = irp->Tail.Overlay.DriverContext[3];
    struct wdf_send *s = r->send; /* valid, because only this routine may remove the request from the list */

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    pthread_mutex_lock(&wdf_target_lock);
    send_remove_waiting(s);
    pthread_mutex_unlock(&wdf_target_lock);
    wdf_send_refuse(s, STATUS_CANCELLED);
}

struct wdf_send *wdf_send_pop_waiting(struct wdf_target *t)
{
    for (LIST_ENTRY *e = t->waiting.Flink; e != &t->waiting; e = e->Flink) {
        struct wdf_send *s = CONTAINING_RECORD(e, struct wdf_send, link);

        if (IoSetCancelRoutine(s->request->irp, NULL)) {
            send_remove_waiting(s);
            return s;
        }
    }
    return NULL;
}

void wdf_send_refuse(struct wdf_send *s, NTSTATUS status)
{
    s->request->irp->IoStatus.Status = status;
    s->request->irp->IoStatus.Information = 0;
    send_return(s);
}

/*
 * Puts a SENT request into the list `waiting` if its target is stopped. Its IRP gets a valid current stack location,
 * which IoCancelIrp needs. Returns false if the request has to be sent.
 */
static bool send_wait_if_stopped(struct wdf_send *s)
{
    struct wdf_target *t = s->target;
    PIRP irp = s->request->irp;
    bool waits, cancelled = false;

    pthread_mutex_lock(&wdf_target_lock);
    waits = s->sent == &t->sent && t->state == WdfIoTargetStopped;
    if (waits) {
        RemoveEntryList(&s->link);
        InsertTailList(&t->waiting, &s->link);
        atomic_store(&s->state, SEND_WAITING);
        irp->Tail.Overlay.DriverContext[3] = s->request;
        IoSetNextIrpStackLocation(irp);
        (void)IoSetCancelRoutine(irp, send_cancel_waiting);
        cancelled = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) && IoSetCancelRoutine(irp, NULL);
        if (cancelled)
            send_remove_waiting(s);
        pthread_cond_broadcast(&wdf_target_changed); /* a thread that stops the target may wait for this request */
    }
    pthread_mutex_unlock(&wdf_target_lock);
    if (cancelled)
        wdf_send_refuse(s, STATUS_CANCELLED);
    return waits;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/*
 * Returns STATUS_SUCCESS if the request can be sent: the target is open and either started or stopped, and the IRP has
 * enough stack locations. If `ignores` is true, an open target accepts the request in any state. Requires the lock.
 */
static NTSTATUS send_check(const struct wdf_target *t, const struct wdf_send *s, bool ignores)
{
    bool accepts = t->state == WdfIoTargetStarted || t->state == WdfIoTargetStopped;

    if (!t->open.device || !(accepts || ignores))
        return STATUS_INVALID_DEVICE_STATE;
    return s->request->irp->CurrentLocation <= t->open.device->StackSize ? STATUS_REQUEST_NOT_ACCEPTED : STATUS_SUCCESS;
}

/*
 * Makes the request SENT, inserts it into the target's list, and starts its timer. Returns false if the target does not
 * accept the request, or needs more stack locations than the IRP has left.
 */
static bool send_begin(struct wdf_target *t, struct wdf_send *s, const WDF_REQUEST_SEND_OPTIONS *options)
{
    ULONG flags = options ? options->Flags : 0;
    bool timed = flags & WDF_REQUEST_SEND_OPTION_TIMEOUT && options->Timeout;
    bool ignores = flags & WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE;
    NTSTATUS status;

    pthread_mutex_lock(&wdf_target_lock);
    status = send_check(t, s, ignores);
    if (NT_SUCCESS(status)) {
        s->target = t;
        s->sent = ignores ? &t->ignoring : &t->sent;
        s->holders = 1 + timed;
        s->timed_out = false;
        s->synchronous = flags & WDF_REQUEST_SEND_OPTION_SYNCHRONOUS;
        KeClearEvent(&s->done);
        atomic_store(&s->state, SEND_SENT);
        InsertTailList(&s->sent->requests, &s->link);
    }
    pthread_mutex_unlock(&wdf_target_lock);
    if (!NT_SUCCESS(status)) {
        s->status = status;
        return false;
    }
    wdf_object_ref(&t->object);
    wdf_object_ref(&s->request->object);
    s->dpc.DeferredRoutine = NULL;
    if (timed) {
        KeInitializeTimer(&s->timer);
        KeInitializeDpc(&s->dpc, send_expire, s);
        (void)timer_set(&s->timer, options->Timeout, 0, &s->dpc, __builtin_return_address(0));
    }
    return true;
}

/* open.device stays valid, because the target is not closed while one of its requests is SENT. */
void wdf_send_resume(struct wdf_send *s)
{
    PIRP irp = s->request->irp;

    IoSetCompletionRoutine(irp, send_completed, s, TRUE, TRUE, TRUE);
    (void)IoCallDriver(s->target->open.device, irp);
}

bool wdf_send(struct wdf_target *t, struct wdf_request *r, const WDF_REQUEST_SEND_OPTIONS *options)
{
    struct wdf_send *s = r->send;
    bool synchronous = options && options->Flags & WDF_REQUEST_SEND_OPTION_SYNCHRONOUS;

    s->failed = true;
    s->status = STATUS_INVALID_DEVICE_REQUEST;
    if (r->irp && !r->own_irp && r->irp->CurrentLocation <= 1)
        s->status = STATUS_REQUEST_NOT_ACCEPTED;
    if (!s->ready || !send_begin(t, s, options))
        return false;
    s->failed = false;
    s->ready = false;
    if (synchronous)
        wdf_object_ref(&r->object);
    if (!send_wait_if_stopped(s))
        wdf_send_resume(s);
    if (synchronous) {
        (void)KeWaitForSingleObject(&s->done, Executive, KernelMode, FALSE, NULL);
        wdf_object_unref(&r->object);
    }
    return true;
}
