/* SPDX-License-Identifier: MIT */
/* Waits until NDK requests complete. The callbacks run at up to DISPATCH_LEVEL; the waits need PASSIVE_LEVEL. */
#include "echo.h"

VOID EchoWaitInitialize(ECHO_WAIT *Wait)
{
    KeInitializeEvent(&Wait->Done, SynchronizationEvent, FALSE);
    Wait->Status = STATUS_SUCCESS;
    Wait->Object = NULL;
}

VOID EchoCreated(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object)
{
    ECHO_WAIT *wait = Context;

    wait->Status = Status;
    wait->Object = Object;
    KeSetEvent(&wait->Done, IO_NO_INCREMENT, FALSE); /* the waiter may return and free `wait` now */
}

VOID EchoCompleted(PVOID Context, NTSTATUS Status)
{
    EchoCreated(Context, Status, NULL);
}

static VOID EchoClosed(PVOID Context)
{
    EchoCreated(Context, STATUS_SUCCESS, NULL);
}

NTSTATUS EchoWaitFor(ECHO_WAIT *Wait, NTSTATUS Status, PVOID *Object)
{
    if (Status != STATUS_PENDING)
        return Status;
    KeWaitForSingleObject(&Wait->Done, Executive, KernelMode, FALSE, NULL);
    if (Object && NT_SUCCESS(Wait->Status))
        *Object = Wait->Object;
    return Wait->Status;
}

VOID EchoClose(NDK_OBJECT_HEADER *Object, NDK_FN_CLOSE_OBJECT Close)
{
    ECHO_WAIT wait;

    EchoWaitInitialize(&wait);
    EchoWaitFor(&wait, Close(Object, EchoClosed, &wait), NULL);
}
