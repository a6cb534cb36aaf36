/* SPDX-License-Identifier: MIT */
/*
 * Implements the StorPort routines for pool, MDLs, timers, work items, DPCs and locks. The handle of a timer or work
 * item is looked up before its use, so that a freed handle is refused.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "storport.h"

#include "wdk/common/live.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/timer.h"
#include "wdk/storport/port.h"

/* Checks the IRQL and that all required arguments are given. */
static ULONG port_extension_check(bool has_all)
{
    if (irql_now() > DISPATCH_LEVEL)
        return STOR_STATUS_INVALID_IRQL;
    return has_all ? STOR_STATUS_SUCCESS : STOR_STATUS_INVALID_PARAMETER;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

ULONG StorPortAllocatePool(PVOID HwDeviceExtension, ULONG NumberOfBytes, ULONG Tag, PVOID *BufferPointer)
{
    ULONG status = port_extension_check(HwDeviceExtension && NumberOfBytes && BufferPointer);

    if (status)
        return status;
    *BufferPointer = ExAllocatePoolWithTag(NonPagedPoolNx, NumberOfBytes, Tag);
    return *BufferPointer ? STOR_STATUS_SUCCESS : STOR_STATUS_INSUFFICIENT_RESOURCES;
}

ULONG StorPortFreePool(PVOID HwDeviceExtension, PVOID BufferPointer)
{
    ULONG status = port_extension_check(HwDeviceExtension && BufferPointer);

    if (!status)
        ExFreePool(BufferPointer);
    return status;
}

ULONG StorPortAllocateMdl(PVOID HwDeviceExtension, PVOID BufferPointer, ULONG NumberOfBytes, PVOID *Mdl)
{
    ULONG status = port_extension_check(HwDeviceExtension && BufferPointer && NumberOfBytes && Mdl);

    if (status)
        return status;
    *Mdl = IoAllocateMdl(BufferPointer, NumberOfBytes, FALSE, FALSE, NULL);
    return *Mdl ? STOR_STATUS_SUCCESS : STOR_STATUS_INSUFFICIENT_RESOURCES;
}

ULONG StorPortFreeMdl(PVOID HwDeviceExtension, PVOID Mdl)
{
    ULONG status = port_extension_check(HwDeviceExtension && Mdl);

    if (!status)
        IoFreeMdl(Mdl);
    return status;
}

ULONG StorPortBuildMdlForNonPagedPool(PVOID HwDeviceExtension, PVOID Mdl)
{
    ULONG status = port_extension_check(HwDeviceExtension && Mdl);

    if (!status)
        MmBuildMdlForNonPagedPool(Mdl);
    return status;
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

struct port_timer {
    KTIMER timer;
    KDPC dpc;
    void *extension;
    atomic_int references; /* one for the miniport, and one for each callback that is due or running */
    atomic_bool due;
    PHW_TIMER_EX callback;
    void *context;
};

static void port_timer_unref(struct port_timer *t)
{
    if (atomic_fetch_sub(&t->references, 1) == 1)
        free(t);
}

static VOID port_timer_run(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct port_timer *t = DeferredContext;
    PHW_TIMER_EX callback = t->callback;
    void *context = t->context;
    struct port_inside inside;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    atomic_store(&t->due, false); /* the callback may set the timer again */
    inside = port_enter(DISPATCH_LEVEL);
    callback(t->extension, context);
    port_exit(&inside, "HwTimerEx", (const void *)(uintptr_t)callback);
    port_timer_unref(t);
}

/* Cancels the timer, or its callback if the callback is due and has not begun. */
static void port_timer_cancel(struct port_timer *t)
{
    if (!timer_cancel(&t->timer) && !KeRemoveQueueDpc(&t->dpc))
        return;
    atomic_store(&t->due, false);
    port_timer_unref(t);
}

ULONG StorPortInitializeTimer(PVOID HwDeviceExtension, PVOID *TimerHandle)
{
    ULONG status = port_extension_check(HwDeviceExtension && TimerHandle);
    struct port_timer *t;

    if (status)
        return status;
    t = calloc(1, sizeof *t);
    if (!t)
        return STOR_STATUS_INSUFFICIENT_RESOURCES;
    KeInitializeTimer(&t->timer);
    KeInitializeDpc(&t->dpc, port_timer_run, t);
    t->extension = HwDeviceExtension;
    atomic_init(&t->references, 1);
    live_add(LIVE_STORPORT_TIMER, t, "StorPortInitializeTimer");
    *TimerHandle = t;
    return STOR_STATUS_SUCCESS;
}

/*
 * Sets the timer, or cancels the timer if `microseconds` is 0. Requires the adapter's lock, because a callback may set
 * the timer while another thread frees the timer.
 */
static ULONG port_timer_request(struct port_timer *t, PHW_TIMER_EX callback, void *context, ULONGLONG microseconds,
                                const void *by)
{
    if (!live_has(LIVE_STORPORT_TIMER, t))
        return STOR_STATUS_INVALID_PARAMETER;
    if (!microseconds) {
        port_timer_cancel(t);
        return STOR_STATUS_SUCCESS;
    }
    if (atomic_exchange(&t->due, true))
        return STOR_STATUS_BUSY;
    t->callback = callback;
    t->context = context;
    atomic_fetch_add(&t->references, 1);
    (void)timer_set(&t->timer, -(LONGLONG)microseconds * 10, 0, &t->dpc, by);
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortRequestTimer(PVOID HwDeviceExtension, PVOID TimerHandle, PHW_TIMER_EX TimerCallback,
                           PVOID CallbackContext, ULONGLONG TimerValue, ULONGLONG TolerableDelay)
{
    ULONG status;

    UNREFERENCED_PARAMETER(TolerableDelay);
    if (!HwDeviceExtension || !TimerHandle || (TimerValue && !TimerCallback))
        return STOR_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&port_of(HwDeviceExtension)->lock);
    status = port_timer_request(TimerHandle, TimerCallback, CallbackContext, TimerValue, __builtin_return_address(0));
    pthread_mutex_unlock(&port_of(HwDeviceExtension)->lock);
    return status;
}

ULONG StorPortFreeTimer(PVOID HwDeviceExtension, PVOID TimerHandle)
{
    ULONG status = port_extension_check(HwDeviceExtension && TimerHandle);
    bool was;

    if (status)
        return status;
    pthread_mutex_lock(&port_of(HwDeviceExtension)->lock);
    was = live_remove(LIVE_STORPORT_TIMER, TimerHandle);
    pthread_mutex_unlock(&port_of(HwDeviceExtension)->lock);
    if (!was)
        return STOR_STATUS_UNSUCCESSFUL;
    port_timer_cancel(TimerHandle);
    port_timer_unref(TimerHandle);
    return STOR_STATUS_SUCCESS;
}

/* ---- Work items -------------------------------------------------------------------------------------------------- */

struct port_worker {
    WORK_QUEUE_ITEM item;
    void *extension;
    bool queued; /* the adapter's lock guards `queued`, `callback` and `context` */
    PHW_WORKITEM callback;
    void *context;
};

/*
 * Calls the miniport's callback. Copies the worker's members first: once `queued` is false, the miniport may queue the
 * worker again or free it.
 */
static VOID port_worker_run(PVOID parameter)
{
    struct port_worker *w = parameter;
    void *extension = w->extension, *context;
    struct port_adapter *a = port_of(extension);
    struct port_inside inside;
    PHW_WORKITEM callback;

    pthread_mutex_lock(&a->lock);
    callback = w->callback;
    context = w->context;
    w->queued = false;
    pthread_mutex_unlock(&a->lock);
    inside = port_enter(PASSIVE_LEVEL);
    callback(extension, context, w);
    port_exit(&inside, "HwWorkItem", (const void *)(uintptr_t)callback);
    pthread_mutex_lock(&a->lock);
    port_unref(a);
    pthread_mutex_unlock(&a->lock);
}

ULONG StorPortInitializeWorker(PVOID HwDeviceExtension, PVOID *Worker)
{
    ULONG status = port_extension_check(HwDeviceExtension && Worker);
    struct port_worker *w;

    if (status)
        return status;
    w = calloc(1, sizeof *w);
    if (!w)
        return STOR_STATUS_INSUFFICIENT_RESOURCES;
    worker_add_own_routine(port_worker_run);
    ExInitializeWorkItem(&w->item, port_worker_run, w);
    w->extension = HwDeviceExtension;
    live_add(LIVE_STORPORT_WORKER, w, "StorPortInitializeWorker");
    *Worker = w;
    return STOR_STATUS_SUCCESS;
}

/*
 * Queues the work item. Requires the adapter's lock, so that the adapter's removal either waits for the work item or
 * prevents it.
 */
static ULONG port_worker_queue(struct port_adapter *a, struct port_worker *w, PHW_WORKITEM callback, void *context)
{
    if (!live_has(LIVE_STORPORT_WORKER, w))
        return STOR_STATUS_INVALID_PARAMETER;
    if (a->removing)
        return STOR_STATUS_INVALID_DEVICE_STATE;
    if (w->queued)
        return STOR_STATUS_BUSY;
    w->queued = true;
    w->callback = callback;
    w->context = context;
    a->users++;
    (void)worker_queue(&w->item, NULL, NULL);
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortQueueWorkItem(PVOID HwDeviceExtension, PHW_WORKITEM WorkItemCallback, PVOID Worker, PVOID Context)
{
    ULONG status = port_extension_check(HwDeviceExtension && WorkItemCallback && Worker);
    struct port_adapter *a;

    if (status)
        return status;
    a = port_of(HwDeviceExtension);
    pthread_mutex_lock(&a->lock);
    status = port_worker_queue(a, Worker, WorkItemCallback, Context);
    pthread_mutex_unlock(&a->lock);
    return status;
}

/* Unregisters a worker that is not queued; the caller frees it. Requires the adapter's lock. */
static ULONG port_worker_remove(struct port_worker *w)
{
    if (!live_has(LIVE_STORPORT_WORKER, w))
        return STOR_STATUS_UNSUCCESSFUL;
    if (w->queued)
        return STOR_STATUS_BUSY;
    (void)live_remove(LIVE_STORPORT_WORKER, w);
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortFreeWorker(PVOID HwDeviceExtension, PVOID Worker)
{
    ULONG status = port_extension_check(HwDeviceExtension && Worker);

    if (status)
        return status;
    pthread_mutex_lock(&port_of(HwDeviceExtension)->lock);
    status = port_worker_remove(Worker);
    pthread_mutex_unlock(&port_of(HwDeviceExtension)->lock);
    if (!status)
        free(Worker);
    return status;
}

/* ---- DPCs and locks ---------------------------------------------------------------------------------------------- */

VOID StorPortInitializeDpc(PVOID DeviceExtension, PSTOR_DPC Dpc, PHW_DPC_ROUTINE HwDpcRoutine)
{
    /*
     * The routine's first argument is the address of the KDPC. This address is also the PSTOR_DPC, because the KDPC
     * is the first member of a STOR_DPC.
     */
    KeInitializeDpc(&Dpc->Dpc, (PKDEFERRED_ROUTINE)(uintptr_t)HwDpcRoutine, DeviceExtension);
    KeInitializeSpinLock(&Dpc->Lock);
}

BOOLEAN StorPortIssueDpc(PVOID DeviceExtension, PSTOR_DPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2)
{
    UNREFERENCED_PARAMETER(DeviceExtension);
    return KeInsertQueueDpc(&Dpc->Dpc, SystemArgument1, SystemArgument2);
}

ULONG StorPortCancelDpc(PVOID HwDeviceExtension, PSTOR_DPC Dpc, PBOOLEAN ReturnValue)
{
    if (!HwDeviceExtension || !Dpc || !ReturnValue)
        return STOR_STATUS_INVALID_PARAMETER;
    *ReturnValue = KeRemoveQueueDpc(&Dpc->Dpc);
    return STOR_STATUS_SUCCESS;
}

VOID StorPortAcquireSpinLock(PVOID DeviceExtension, STOR_SPINLOCK SpinLock, PVOID LockContext,
                             PSTOR_LOCK_HANDLE LockHandle)
{
    struct port_adapter *a = port_of(DeviceExtension);
    PKSPIN_LOCK lock = SpinLock == DpcLock       ? &((PSTOR_DPC)LockContext)->Lock
                       : SpinLock == StartIoLock ? &a->start_io_lock
                                                 : &a->interrupt_lock;

    LockHandle->Lock = SpinLock;
    KeAcquireSpinLock(lock, &LockHandle->Context.OldIrql);
    LockHandle->Context.LockQueue.Lock = lock;
}

VOID StorPortReleaseSpinLock(PVOID DeviceExtension, PSTOR_LOCK_HANDLE LockHandle)
{
    UNREFERENCED_PARAMETER(DeviceExtension);
    KeReleaseSpinLock(LockHandle->Context.LockQueue.Lock, LockHandle->Context.OldIrql);
}

BOOLEAN StorPortSynchronizeAccess(PVOID HwDeviceExtension, PSTOR_SYNCHRONIZED_ACCESS SynchronizedAccessRoutine,
                                  PVOID Context)
{
    struct port_adapter *a = port_of(HwDeviceExtension);
    BOOLEAN result;
    KIRQL irql;

    KeAcquireSpinLock(&a->interrupt_lock, &irql);
    result = SynchronizedAccessRoutine(HwDeviceExtension, Context);
    KeReleaseSpinLock(&a->interrupt_lock, irql);
    return result;
}
