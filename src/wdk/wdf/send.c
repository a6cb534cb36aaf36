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

/* A completion routine that this thread runs, or the wake-up of a thread that waits. */
struct finish_frame {
    const struct wdf_target *target;
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
        irp->Tail.Overlay.DriverContext[3] = s->request; /* the target's driver may have used it */
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
    s->target->finishing++;
    s->target = NULL;
    atomic_store(&s->state, SEND_IDLE);
    pthread_cond_broadcast(&wdf_target_changed);
    pthread_mutex_unlock(&wdf_target_lock);
}

static void send_end_finish(struct wdf_target *t)
{
    pthread_mutex_lock(&wdf_target_lock);
    t->finishing--;
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
    struct finish_frame frame = { t, finish_frames };
    WDF_REQUEST_COMPLETION_PARAMS params;
    bool synchronous = s->synchronous;
    WDFCONTEXT context = s->context;
    struct wdf_call call;

    wdf_activity_begin(root);
    send_set_results(s);
    params = s->params;
    s->routine = NULL; /* only for this send */
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
    send_end_finish(t);
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

static NTSTATUS send_completed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct wdf_send *s = context;

    UNREFERENCED_PARAMETER(device);
    UNREFERENCED_PARAMETER(irp);
    if (s->dpc.DeferredRoutine && timer_cancel(&s->timer))
        send_drop(s); /* the timer's */
    send_drop(s);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

/* Adds a holder if the request is sent. */
static bool send_try_ref(struct wdf_send *s)
{
    bool sent;

    pthread_mutex_lock(&wdf_target_lock);
    sent = atomic_load(&s->state) == SEND_SENT && s->holders;
    s->holders += sent;
    pthread_mutex_unlock(&wdf_target_lock);
    return sent;
}

bool wdf_send_is_sent(const struct wdf_request *r)
{
    return r->send && atomic_load(&r->send->state) == SEND_SENT;
}

bool wdf_send_cancel(struct wdf_request *r)
{
    bool cancelled;

    if (!r->send || !send_try_ref(r->send))
        return false;
    cancelled = IoCancelIrp(r->irp);
    send_drop(r->send);
    return cancelled;
}

/* The timer is a holder. */
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

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/*
 * Makes the request the target's. Returns false if the target is closed, or needs more stack locations than the IRP has
 * left.
 */
static bool send_begin(struct wdf_target *t, struct wdf_send *s, const WDF_REQUEST_SEND_OPTIONS *options)
{
    bool timed = options && options->Flags & WDF_REQUEST_SEND_OPTION_TIMEOUT && options->Timeout;
    bool begun;

    pthread_mutex_lock(&wdf_target_lock);
    begun = t->state == WdfIoTargetStarted;
    if (begun && s->request->irp->CurrentLocation <= t->open.device->StackSize) {
        s->status = STATUS_REQUEST_NOT_ACCEPTED;
        begun = false;
    }
    if (begun) {
        s->target = t;
        s->holders = 1 + timed;
        s->timed_out = false;
        s->synchronous = options && options->Flags & WDF_REQUEST_SEND_OPTION_SYNCHRONOUS;
        KeClearEvent(&s->done);
        atomic_store(&s->state, SEND_SENT);
        InsertTailList(&t->sent, &s->link);
    }
    pthread_mutex_unlock(&wdf_target_lock);
    if (!begun)
        return false;
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

bool wdf_send(struct wdf_target *t, struct wdf_request *r, const WDF_REQUEST_SEND_OPTIONS *options)
{
    struct wdf_send *s = r->send;
    bool synchronous = options && options->Flags & WDF_REQUEST_SEND_OPTION_SYNCHRONOUS;

    s->failed = true;
    s->status = !s->ready ? STATUS_INVALID_DEVICE_REQUEST : STATUS_INVALID_DEVICE_STATE;
    if (!r->created && r->irp->CurrentLocation <= 1)
        s->status = STATUS_REQUEST_NOT_ACCEPTED;
    if (!s->ready || !send_begin(t, s, options))
        return false;
    s->failed = false;
    s->ready = false;
    if (synchronous)
        wdf_object_ref(&r->object);
    IoSetCompletionRoutine(r->irp, send_completed, s, TRUE, TRUE, TRUE);
    (void)IoCallDriver(t->open.device, r->irp); /* the target stays open while the request is sent */
    if (synchronous) {
        (void)KeWaitForSingleObject(&s->done, Executive, KernelMode, FALSE, NULL);
        wdf_object_unref(&r->object);
    }
    return true;
}
