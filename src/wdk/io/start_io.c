/* SPDX-License-Identifier: MIT */
/* StartIo: see wdm/startio.h. */
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

static void start(PDEVICE_OBJECT device, PIRP irp)
{
    struct thread_mark mark = thread_mark_get();
    PDRIVER_STARTIO routine = device->DriverObject->DriverStartIo;

    routine(device, irp);
    thread_mark_check(&mark, "a StartIo routine", (const void *)(uintptr_t)routine);
}

static void start_next(PDEVICE_OBJECT device, unsigned how, ULONG key)
{
    PKDEVICE_QUEUE_ENTRY entry;
    KIRQL irql = DISPATCH_LEVEL;
    PIRP irp;

    if (how & CANCELABLE)
        IoAcquireCancelSpinLock(&irql);
    entry = how & BY_KEY ? KeRemoveByKeyDeviceQueue(&device->DeviceQueue, key)
                         : KeRemoveDeviceQueue(&device->DeviceQueue);
    irp = entry ? CONTAINING_RECORD(entry, IRP, Tail.Overlay.DeviceQueueEntry) : NULL;
    device->CurrentIrp = irp;
    if (irp && how & CANCELABLE && device_start_io(device)->not_cancelable)
        (void)IoSetCancelRoutine(irp, NULL);
    if (how & CANCELABLE)
        IoReleaseCancelSpinLock(irql);
    if (irp)
        start(device, irp);
}

/* Of those that are asked for while StartIo runs, each comes after its return, on the thread that returns last. */
static void leave(PDEVICE_OBJECT device, struct device_start_io *s)
{
    spin_lock(&s->lock);
    while (s->asked && s->inside == 1) {
        unsigned how = s->how;
        ULONG key = s->key;

        s->asked--;
        spin_unlock(&s->lock);
        start_next(device, how, key);
        spin_lock(&s->lock);
    }
    s->inside--;
    spin_unlock(&s->lock);
}

static void start_first(PDEVICE_OBJECT device, PIRP irp)
{
    struct device_start_io *s = device_start_io(device);

    spin_lock(&s->lock);
    s->inside++;
    spin_unlock(&s->lock);
    start(device, irp);
    leave(device, s);
}

static void next(PDEVICE_OBJECT device, unsigned how, ULONG key)
{
    struct device_start_io *s = device_start_io(device);
    bool later;

    spin_lock(&s->lock);
    later = s->deferred && s->inside;
    s->inside += !later;
    if (later) {
        s->asked++;
        s->how = how;
        s->key = key;
    }
    spin_unlock(&s->lock);
    if (later)
        return;
    start_next(device, how, key);
    leave(device, s);
}

/* Under the cancel spin lock, which it gives back: one that was cancelled before it got here ends at once. */
static void leave_queued(PDEVICE_OBJECT device, PIRP irp, KIRQL irql)
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
        leave_queued(DeviceObject, Irp, irql);
    else if (CancelFunction)
        IoReleaseCancelSpinLock(irql);
    if (!queued)
        start_first(DeviceObject, Irp);
    (void)irql_set(before);
}

/* One report is enough for a caller that is too low. */
static void next_raised(PDEVICE_OBJECT device, unsigned how, ULONG key)
{
    KIRQL before = irql_set(DISPATCH_LEVEL);

    next(device, how, key);
    (void)irql_set(before);
}

VOID IoStartNextPacket(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable)
{
    irql_check_max("IoStartNextPacket", DISPATCH_LEVEL);
    irql_check_min("IoStartNextPacket", DISPATCH_LEVEL);
    next_raised(DeviceObject, Cancelable ? CANCELABLE : 0, 0);
}

VOID IoStartNextPacketByKey(PDEVICE_OBJECT DeviceObject, BOOLEAN Cancelable, ULONG Key)
{
    irql_check_max("IoStartNextPacketByKey", DISPATCH_LEVEL);
    next_raised(DeviceObject, (Cancelable ? CANCELABLE : 0) | BY_KEY, Key);
}
