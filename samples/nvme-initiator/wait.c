/* SPDX-License-Identifier: MIT */
/*
 * Waits for NDK calls to complete, and for a controller's first attempt to connect. The callbacks run at up to
 * DISPATCH_LEVEL; a wait requires PASSIVE_LEVEL.
 */
#include "nvmendk.h"

VOID NvmeWaitInitialize(NVME_WAIT *Wait)
{
    KeInitializeEvent(&Wait->Done, SynchronizationEvent, FALSE);
    Wait->Status = STATUS_SUCCESS;
    Wait->Object = NULL;
}

VOID NvmeCreated(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object)
{
    NVME_WAIT *wait = Context;

    wait->Status = Status;
    wait->Object = Object;
    KeSetEvent(&wait->Done, IO_NO_INCREMENT, FALSE); /* the waiter may return and free `wait` now */
}

VOID NvmeCompleted(PVOID Context, NTSTATUS Status)
{
    NvmeCreated(Context, Status, NULL);
}

static VOID WaitClosed(PVOID Context)
{
    NvmeCreated(Context, STATUS_SUCCESS, NULL);
}

NTSTATUS NvmeWaitFor(NVME_WAIT *Wait, NTSTATUS Status, PVOID *Object)
{
    if (Status != STATUS_PENDING)
        return Status;
    KeWaitForSingleObject(&Wait->Done, Executive, KernelMode, FALSE, NULL);
    if (Object && NT_SUCCESS(Wait->Status))
        *Object = Wait->Object;
    return Wait->Status;
}

VOID NvmeClose(NDK_OBJECT_HEADER *Object, NDK_FN_CLOSE_OBJECT Close)
{
    NVME_WAIT wait;

    NvmeWaitInitialize(&wait);
    NvmeWaitFor(&wait, Close(Object, WaitClosed, &wait), NULL);
}

VOID NvmeControllerWait(NVME_CONTROLLER *Controller, ULONGLONG Deadline)
{
    ULONGLONG now = KeQueryInterruptTime();
    LARGE_INTEGER limit;

    limit.QuadPart = now < Deadline ? -(LONGLONG)(Deadline - now) : 0;
    KeWaitForSingleObject(&Controller->Attempted, Executive, KernelMode, FALSE, &limit);
}
