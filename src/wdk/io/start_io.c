/* SPDX-License-Identifier: MIT */
/*
 * Implements StartIo: see wdm/startio.h. If a device has DeferredStartIo and its StartIo is running, IoStartNextPacket
 * does not call StartIo. Instead, the thread that runs StartIo calls StartIo again after the running call has returned.
 */
#include "wdm.h"

#include "wdk/io/device.h"
#include "wdk/ke/thread.h"

enum { CANCELABLE = 1, BY_KEY = 2 };

VOID IoSetStartIoAttributes(PDEVICE_OBJECT DeviceObject, BOOLEAN DeferredStartIo, BOOLEAN NonCancelable)
{
    struct device_start_io *s = device_start_io(DeviceObject);

    irql_check_max("IoSetStartIoAttributes", DISPATCH_LEVEL);
    s->deferred = DeferredStartIo;
    s->not_cancelable = NonCancelable;
}

static void start_io_call(PDEVICE_OBJECT device, PIRP irp)
{
    struct thread_mark mark = thread_mark_get();
    PDRIVER_STARTIO routine = device->DriverObject->DriverStartIo;

    routine(device, irp);
    thread_mark_check(&mark, "a StartIo routine", (const void *)(uintptr_t)routine);
}

static void start_io_next_packet(PDEVICE_OBJECT device, unsigned flags, ULONG key)
{
    PKDEVICE_QUEUE_ENTRY entry;
    KIRQL irql = DISPATCH_LEVEL;
    PIRP irp;

    if (flags & CANCELABLE)
        IoAcquireCancelSpinLock(&irql);
    entry = flags & BY_KEY ? KeRemoveByKeyDeviceQueue(&device->DeviceQueue, key)
                           : KeRemoveDeviceQueue(&device->DeviceQueue);
    irp = entry ? CONTAINING_RECORD(entry, IRP, Tail.Overlay.DeviceQueueEntry) : NULL;
    device->CurrentIrp = irp;
    if (irp && flags & CANCELABLE && device_start_io(device)->not_cancelable)
        (void)IoSetCancelRoutine(irp, NULL);
    if (flags & CANCELABLE)
        IoReleaseCancelSpinLock(irql);
    if (irp)
        start_io_call(device, irp);
}

/* Called after StartIo has returned. Makes the deferred calls if no other StartIo runs. Then decrements `running`. */
static void start_io_return(PDEVICE_OBJECT device, struct device_start_io *s)
{
    spin_lock(&s->lock);
    while (s->n_requested && s->running == 1) {
        unsigned flags = s->flags;
        ULONG key = s->key;

        s->n_requested--;
        spin_unlock(&s->lock);
        start_io_next_packet(device, flags, key);
        spin_lock(&s->lock);
    }
    s->running--;
    spin_unlock(&s->lock);
}

static void start_io_first(PDEVICE_OBJECT device, PIRP irp)
{
    struct device_start_io *s = device_start_io(device);

    spin_lock(&s->lock);
    s->running++;
    spin_unlock(&s->lock);
    start_io_call(device, irp);
    start_io_return(device, s);
}

static void start_io_next(PDEVICE_OBJECT device, unsigned flags, ULONG key)
{
    struct device_start_io *s = device_start_io(device);
    bool later;

    spin_lock(&s->lock);
    later = s->deferred && s->running;
    s->running += !later;
    if (later) {
        s->n_requested++;
        s->flags = flags;
        s->key = key;
    }
    spin_unlock(&s->lock);
    if (later)
        return;
    start_io_next_packet(device, flags, key);
    start_io_return(device, s);
}

/*
 * Called when the IRP was queued. If the IRP is already cancelled, calls its cancel routine. Requires the cancel spin
 * lock and releases it.
 */
static void start_io_finish_queued(PDEVICE_OBJECT device, PIRP irp, KIRQL irql)
{
    bool cancelled = irp_is_cancelled(irp);
    PDRIVER_CANCEL routine = cancelled ? IoSetCancelRoutine(irp, NULL) : NULL;

    irp->CancelIrql = irql;
    if (routine)
        routine(device, irp);
    else
        IoReleaseCancelSpinLock(irql);
}

VOID IoStartPacket(PDEVICE_OBJECT DeviceObject, PIRP Irp, PULONG Key, PDRIVER_CANCEL CancelFunction)
{
    PKDEVICE_QUEUE_ENTRY entry = &Irp->Tail.Overlay.DeviceQueueEntry;
    KIRQL before, irql = DISPATCH_LEVEL;
    BOOLEAN queued;

    irql_check_max("IoStartPacket", DISPATCH_LEVEL);
    before = irql_set(DISPATCH_LEVEL);
    if (CancelFunction) {
        IoAcquireCancelSpinLock(&irql);
        (void)IoSetCancelRoutine(Irp, CancelFunction);
    }
    queued = Key ? KeInsertByKeyDeviceQueue(&DeviceObject->DeviceQueue, entry, *Key)
                 : KeInsertDeviceQueue(&DeviceObject->DeviceQueue, entry);
    if (!queued) {
        DeviceObject->CurrentIrp = Irp;
        if (CancelFunction && device_start_io(DeviceObject)->not_cancelable)
            (void)IoSetCancelRoutine(Irp, NULL);
    }
    if (CancelFunction && queued)
        start_io_finish_queued(DeviceObject, Irp, irql);
    else if (CancelFunction)
        IoReleaseCancelSpinLock(irql);
    if (!queued)
        start_io_first(DeviceObject, Irp);
    (void)irql_set(before);
}

/* Calls start_io_next at DISPATCH_LEVEL, because KeRemoveDeviceQueue reports calls at a lower IRQL. */
static void start_io_next_raised(PDEVICE_OBJECT device, unsigned flags, ULONG key)
{
    KIRQL before = irql_set(DISPATCH_LEVEL);

    start_io_next(device, flags, key);
    (void)irql_set(before);
}

VOID IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable)
{
    irql_check_max("IoStartNextPacket", DISPATCH_LEVEL);
    irql_check_min("IoStartNextPacket", DISPATCH_LEVEL);
    start_io_next_raised(DeviceObject, Cancelable ? CANCELABLE : 0, 0);
}

VOID IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key)
{
    irql_check_max("IoStartNextPacketByKey", DISPATCH_LEVEL);
    start_io_next_raised(DeviceObject, (Cancelable ? CANCELABLE : 0) | BY_KEY, Key);
}
