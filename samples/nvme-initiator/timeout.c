/* SPDX-License-Identifier: MIT */
/*
 * Checks time limits and aborts commands. The controller's thread calls the two Serve functions several times a second.
 *
 *   an I/O command exceeds its time limit     the command is aborted, and has AbortSeconds more
 *   an aborted command exceeds AbortSeconds   the controller is reset
 *   an admin command exceeds its time limit   the controller is reset, because it does not answer at all
 *
 * The Keep Alive command is an admin command whose time limit is KeepAliveSeconds.
 *
 * NvmeAbort makes the time limit of a command expire at once, unless an Abort command was sent for it already. An Abort
 * command may have no effect: many controllers complete the aborted command as usual. So only the reset guarantees that
 * a command ends.
 */
#include "nvmendk.h"

VOID NvmeKeepAliveServe(NVME_CONTROLLER *Controller)
{
    NVME_OWN_REQUEST *own = &Controller->KeepAlive;
    ULONG seconds = Controller->Settings.KeepAliveSeconds;
    ULONGLONG now = KeQueryInterruptTime();

    if (seconds == 0 || (Controller->Flags & NVME_CREATE_DISCOVERY) || now < Controller->KeepAliveTime ||
        !NvmeOwnIsDone(own))
        return;
    Controller->KeepAliveTime = now + seconds * NVME_SECOND / 2;
    RtlZeroMemory(&own->Request, sizeof(own->Request));
    own->Request.Command.opcode = NVME_ADMIN_KEEP_ALIVE;
    own->Request.Seconds = seconds;
    NvmeOwnStart(own, &Controller->Queues[0], NvmeOwnDone);
}

/* Sends an Abort command. Ignores its result: either the aborted command completes, or its time limit expires. */
static VOID ControllerSendAbort(NVME_CONTROLLER *Controller, USHORT QueueId, USHORT CommandId)
{
    NVME_OWN_REQUEST *own = &Controller->Abort;

    DbgPrint("nvme: %s: command 0x%X of queue %u is aborted\n", Controller->Name, CommandId, QueueId);
    RtlZeroMemory(&own->Request, sizeof(own->Request));
    own->Request.Command.opcode = NVME_ADMIN_ABORT;
    own->Request.Command.cdw10 = QueueId | (ULONG)CommandId << 16;
    own->Request.Seconds = Controller->Settings.AbortSeconds;
    NvmeOwnStart(own, &Controller->Queues[0], NvmeOwnDone);
}

typedef enum _EXPIRY {
    ExpiryNone,
    ExpiryAbort, /* a command must be aborted */
    ExpiryReset  /* the controller must be reset */
} EXPIRY;

/*
 * Finds a command that has exceeded its time limit. Returns ExpiryReset if the command is an admin command or was
 * already aborted. Returns ExpiryAbort if the command must be aborted; *CommandId then identifies the command, and its
 * time limit becomes AbortSeconds. If CanAbort is FALSE, because another Abort command is outstanding, never returns
 * ExpiryAbort.
 */
static EXPIRY QueueFindExpired(NVME_QUEUE *Queue, BOOLEAN CanAbort, USHORT *CommandId)
{
    ULONGLONG now = KeQueryInterruptTime();
    EXPIRY expiry = ExpiryNone;
    ULONG i;
    KIRQL irql;

    KeAcquireSpinLock(&Queue->Lock, &irql);
    for (i = 0; Queue->State == NvmeQueueOpen && i < Queue->Depth && expiry == ExpiryNone; i++) {
        NVME_SLOT *slot = &Queue->Slots[i];
        NVME_REQUEST *request = slot->Request;

        if (!request || request->Deadline > now)
            continue;
        if (request->Admin || request->AbortSent) {
            expiry = ExpiryReset;
        } else if (CanAbort && (slot->Pending & NVME_PENDING_RESPONSE)) {
            request->AbortSent = TRUE;
            request->Deadline = now + Queue->Controller->Settings.AbortSeconds * NVME_SECOND;
            *CommandId = slot->CommandId;
            expiry = ExpiryAbort;
        }
    }
    KeReleaseSpinLock(&Queue->Lock, irql);
    return expiry;
}

VOID NvmeTimeoutsServe(NVME_CONTROLLER *Controller)
{
    USHORT command = 0;
    ULONG i;

    for (i = 0; i <= Controller->QueueCount; i++) {
        BOOLEAN canAbort = NvmeOwnIsDone(&Controller->Abort);

        switch (QueueFindExpired(&Controller->Queues[i], canAbort, &command)) {
        case ExpiryAbort:
            ControllerSendAbort(Controller, Controller->Queues[i].Id, command);
            break;
        case ExpiryReset:
            NvmeControllerLost(Controller, STATUS_IO_TIMEOUT, "the controller has not answered a command in time");
            return;
        default:
            break;
        }
    }
}

static VOID ControllerAbort(NVME_CONTROLLER *Controller, NVME_REQUEST *Request, ULONG NamespaceId)
{
    LIST_ENTRY ended;
    ULONG i;

    for (i = 0; i < RTL_NUMBER_OF(Controller->Queues); i++)
        NvmeQueueAbort(&Controller->Queues[i], Request, NamespaceId);
    InitializeListHead(&ended);
    NvmeControllerTakeParked(Controller, Request, NamespaceId, &ended);
    NvmeRequestsEnd(&ended, STATUS_CANCELLED);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
}

VOID NvmeAbort(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    ControllerAbort(Controller, Request, NVME_ALL_NAMESPACES);
}

VOID NvmeAbortAll(NVME_CONTROLLER *Controller, ULONG NamespaceId)
{
    ControllerAbort(Controller, NULL, NamespaceId);
}
