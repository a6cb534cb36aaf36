/* SPDX-License-Identifier: MIT */
/* The RAM disk's actions by timers, work items, DPCs and threads. */
#include "ramdisk_disk.h"

VOID ramdisk_complete(struct disk *d, PSCSI_REQUEST_BLOCK srb, UCHAR status)
{
    srb->SrbStatus = status;
    StorPortNotification(RequestComplete, d, srb);
}

static VOID complete_later(struct disk *d)
{
    PSCSI_REQUEST_BLOCK srb = InterlockedExchangePointer((PVOID *)&d->later, NULL);

    if (srb)
        ramdisk_complete(d, srb, SRB_STATUS_SUCCESS);
}

static HW_TIMER_EX by_timer;
static VOID by_timer(PVOID DeviceExtension, PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    complete_later(DeviceExtension);
}

static HW_TIMER_EX free_it;
static VOID free_it(PVOID DeviceExtension, PVOID Context)
{
    struct disk *d = DeviceExtension;

    (void)StorPortFreeTimer(d, d->timer);
    d->told.timer_gone = StorPortRequestTimer(d, d->timer, by_timer, Context, 1, 0) == STOR_STATUS_INVALID_PARAMETER;
    d->timer = NULL;
    complete_later(d);
}

VOID ramdisk_link_is_back(PVOID DeviceExtension)
{
    StorPortNotification(LinkUp, DeviceExtension);
}

static LONG removed(struct disk *d)
{
    return InterlockedCompareExchange(&d->removed, 0, 0);
}

/* During the removal of the adapter it blocks until that waits for it, and still sets itself again. */
static HW_TIMER tick;
static VOID tick(PVOID DeviceExtension)
{
    struct disk *d = DeviceExtension;

    if (removed(d) >= 2)
        DbgPrint("ramdisk: a tick after the stop\n");
    InterlockedExchange(&d->ticking, 1);
    for (int i = 0; i < 1000 && !removed(d); i++)
        StorPortStallExecution(1000);
    for (int i = 0; i < 20; i++)
        StorPortStallExecution(1000);
    StorPortNotification(RequestTimerCall, d, tick, 1);
}

VOID ramdisk_start_ticking(struct disk *d)
{
    StorPortNotification(RequestTimerCall, d, tick, 1);
    while (!InterlockedCompareExchange(&d->ticking, 0, 0))
        StorPortStallExecution(1000);
}

static HW_WORKITEM by_work;
static VOID by_work(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Worker);
    PAGED_CODE();
    complete_later(HwDeviceExtension);
}

/* Its device extension still exists when it ends. */
static HW_DPC_ROUTINE last_dpc;
static VOID last_dpc(PSTOR_DPC Dpc, PVOID HwDeviceExtension, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct disk *d = HwDeviceExtension;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    for (int i = 0; i < 100; i++)
        StorPortStallExecution(1000);
    DbgPrint("ramdisk: the last DPC at %d\n", InterlockedIncrement(&d->removed));
}

/*
 * When it is refused it blocks until the resources are free. Its device extension still exists then, and it queues a
 * DPC.
 */
static HW_WORKITEM work_on;
static VOID work_on(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    struct disk *d = HwDeviceExtension;
    BOOLEAN late;
    ULONG status;

    StorPortStallExecution(1000);
    late = removed(d) == 3;
    status = StorPortQueueWorkItem(d, late ? by_work : work_on, Worker, Context);
    if (status == STOR_STATUS_SUCCESS && !late)
        return;
    while (removed(d) < 3)
        StorPortStallExecution(1000);
    for (int i = 0; i < 20; i++)
        StorPortStallExecution(1000);
    (void)StorPortFreeWorker(d, Worker);
    DbgPrint("ramdisk: work refused with 0x%08X at %d, a freed worker with 0x%08X\n", status, removed(d),
             StorPortFreeWorker(d, Worker));
    (void)StorPortIssueDpc(d, &d->last_dpc, NULL, NULL);
}

static HW_DPC_ROUTINE by_dpc;
static VOID by_dpc(PSTOR_DPC Dpc, PVOID HwDeviceExtension, PVOID SystemArgument1, PVOID SystemArgument2)
{
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    complete_later(HwDeviceExtension);
}

/* Twice at the same time, as far as two threads can. */
static VOID complete_unit(struct disk *d)
{
    InterlockedIncrement(&d->ready);
    for (int i = 0; i < 1000000 && InterlockedCompareExchange(&d->ready, 0, 0) < 2; i++)
        ;
    StorPortCompleteRequest(d, 0, 0, 0, SRB_STATUS_SUCCESS);
    InterlockedIncrement(&d->calls);
}

static HW_WORKITEM unit_by_work;
static VOID unit_by_work(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Worker);
    complete_unit(HwDeviceExtension);
}

static HW_DPC_ROUTINE unit_by_dpc;
static VOID unit_by_dpc(PSTOR_DPC Dpc, PVOID HwDeviceExtension, PVOID SystemArgument1, PVOID SystemArgument2)
{
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    complete_unit(HwDeviceExtension);
}

/* A thread that reports the link as up after it was down, so that the miniport's routines are called. */
static PVOID thread;

static KSTART_ROUTINE bring_link_back;
static VOID bring_link_back(PVOID StartContext)
{
    struct disk *d = StartContext;

    while (!InterlockedCompareExchange(&d->link_down, 0, 0))
        StorPortStallExecution(1000);
    for (int i = 0; i < 50; i++)
        StorPortStallExecution(1000);
    StorPortNotification(LinkUp, d);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static HW_WORKITEM start_thread;
static VOID start_thread(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    HANDLE handle;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Worker);
    if (NT_SUCCESS(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, bring_link_back,
                                        HwDeviceExtension))) {
        (void)ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode, &thread, NULL);
        ZwClose(handle);
    }
    complete_later(HwDeviceExtension);
}

VOID ramdisk_linger(struct disk *d)
{
    if (PsGetCurrentThread() != thread)
        return;
    while (removed(d) < 3)
        StorPortStallExecution(1000);
    for (int i = 0; i < 20; i++)
        StorPortStallExecution(1000);
    DbgPrint("ramdisk: lingered at %d\n", removed(d));
}

VOID ramdisk_end_thread(VOID)
{
    if (!thread)
        return;
    (void)KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(thread);
    thread = NULL;
}

static HW_TIMER left;
static VOID left(PVOID DeviceExtension)
{
    complete_later(DeviceExtension);
}

VOID ramdisk_leave_late(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    (void)InterlockedExchangePointer((PVOID *)&d->later, srb);
    (void)StorPortPause(d, 100);
    StorPortNotification(RequestTimerCall, d, left, 5700000); /* the port waits for five seconds */
}

static VOID by_work_and_dpc(struct disk *d)
{
    InterlockedExchange(&d->ready, 0);
    (void)StorPortQueueWorkItem(d, unit_by_work, d->worker, NULL);
    (void)StorPortIssueDpc(d, &d->unit_dpc, NULL, NULL);
}

/* A set timer is busy, and free again after it was cancelled. */
static VOID by_the_second_timer(struct disk *d)
{
    ULONG first = StorPortRequestTimer(d, d->timer, by_timer, NULL, 100000000, 0);

    d->told.timer_busy = first == STOR_STATUS_SUCCESS &&
                         StorPortRequestTimer(d, d->timer, by_timer, NULL, 10000, 0) == STOR_STATUS_BUSY;
    (void)StorPortRequestTimer(d, d->timer, by_timer, NULL, 0, 0);
    (void)StorPortRequestTimer(d, d->timer, by_timer, NULL, 10000, 0);
}

VOID ramdisk_later(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    UCHAR command = srb->Cdb[0];

    d->lingers = command == RAMDISK_LINGERS;
    if (command != RAMDISK_BY_WORK_AND_DPC)
        (void)InterlockedExchangePointer((PVOID *)&d->later, srb);
    if (command == RAMDISK_LATER_BY_WORK)
        (void)StorPortQueueWorkItem(d, by_work, d->worker, NULL);
    else if (command == RAMDISK_LINGERS)
        (void)StorPortQueueWorkItem(d, start_thread, d->worker, NULL);
    else if (command == RAMDISK_BY_WORK_AND_DPC)
        by_work_and_dpc(d);
    else if (command == RAMDISK_LATER_BY_DPC)
        (void)StorPortIssueDpc(d, &d->dpc, NULL, NULL);
    else if (command == RAMDISK_FREES_TIMER)
        (void)StorPortRequestTimer(d, d->timer, free_it, NULL, 1, 0);
    else
        by_the_second_timer(d);
}

BOOLEAN ramdisk_start_working(struct disk *d)
{
    d->works = TRUE;
    return StorPortQueueWorkItem(d, work_on, d->worker, NULL) == STOR_STATUS_SUCCESS;
}

static HW_WORKITEM all_busy;
static VOID all_busy(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Worker);
    ramdisk_complete_service(HwDeviceExtension); /* process_service completes later requests */
    for (int i = 0; i < 500; i++)
        StorPortStallExecution(1000);
    StorPortCompleteRequest(HwDeviceExtension, 0, 0, 0, SRB_STATUS_BUSY);
}

UCHAR ramdisk_busy_with_all(struct disk *d)
{
    if (ReadAcquire(&d->busy_tries)) {
        InterlockedIncrement(&d->busy_tries);
        return SRB_STATUS_SUCCESS;
    }
    (void)StorPortBusy(d, 1);
    InterlockedIncrement(&d->busy_tries);
    (void)StorPortQueueWorkItem(d, all_busy, d->worker, NULL);
    return SRB_STATUS_PENDING;
}

VOID ramdisk_stay(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    LONG held = InterlockedCompareExchange(&d->busy_tries, 0, 0);

    ramdisk_complete(d, srb, held ? SRB_STATUS_SUCCESS : SRB_STATUS_ERROR);
    for (int i = 0; held && i < 700; i++)
        StorPortStallExecution(1000);
}

BOOLEAN ramdisk_refuses_others(struct disk *d)
{
    return StorPortQueueWorkItem(d, by_work, d->timer, NULL) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortRequestTimer(d, d->worker, by_timer, NULL, 1000, 0) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortFreeWorker(d, d->timer) == STOR_STATUS_UNSUCCESSFUL &&
           StorPortFreeTimer(d, d->worker) == STOR_STATUS_UNSUCCESSFUL;
}

VOID ramdisk_init_later(struct disk *d)
{
    StorPortInitializeDpc(d, &d->dpc, by_dpc);
    StorPortInitializeDpc(d, &d->unit_dpc, unit_by_dpc);
    StorPortInitializeDpc(d, &d->last_dpc, last_dpc);
}
