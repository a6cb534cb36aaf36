/* SPDX-License-Identifier: MIT */
/*
 * Implements cancel-safe queues: see wdm/csq.h. DriverContext[3] of a queued IRP points to the IRP's queue or to the
 * IRP's context. After the IRP has been removed, DriverContext[3] is NULL.
 */
#include "wdm.h"

#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"

/*
 * Values of Type, the first member of a queue and of a context. For TYPE_QUEUE_EX, the insert routine returns a status.
 */
enum { TYPE_QUEUE = 1, TYPE_CONTEXT = 2, TYPE_QUEUE_EX = 3 };

static PIO_CSQ csq_from_irp(PIRP irp)
{
    PIO_CSQ_IRP_CONTEXT context = irp->Tail.Overlay.DriverContext[3];

    return context->Type == TYPE_CONTEXT ? context->Csq : (PIO_CSQ)(void *)context;
}

/*
 * Removes the link between the IRP and its context, if the IRP has one. Requires the queue's lock. Afterwards
 * IoCsqRemoveIrp with that context returns NULL.
 */
static void csq_detach_irp(PIRP irp)
{
    PIO_CSQ_IRP_CONTEXT context = irp->Tail.Overlay.DriverContext[3];

    if (context->Type == TYPE_CONTEXT)
        context->Irp = NULL;
    irp->Tail.Overlay.DriverContext[3] = NULL;
}

static void csq_cancel_irp(PDEVICE_OBJECT device, PIRP irp)
{
    PIO_CSQ queue = csq_from_irp(irp);
    KIRQL irql;

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    queue->CsqAcquireLock(queue, &irql);
    queue->CsqRemoveIrp(queue, irp);
    csq_detach_irp(irp);
    queue->CsqReleaseLock(queue, irql);
    queue->CsqCompleteCanceledIrp(queue, irp);
}

NTSTATUS IoCsqInitialize(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP CsqInsertIrp, PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                         PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp, PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                         PIO_CSQ_RELEASE_LOCK CsqReleaseLock, PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp)
{
    irql_check_max("IoCsqInitialize", DISPATCH_LEVEL);
    *Csq = (IO_CSQ){ TYPE_QUEUE,     CsqInsertIrp,   CsqRemoveIrp,           CsqPeekNextIrp,
                     CsqAcquireLock, CsqReleaseLock, CsqCompleteCanceledIrp, NULL };
    return STATUS_SUCCESS;
}

NTSTATUS IoCsqInitializeEx(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP_EX CsqInsertIrp, PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                           PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp, PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                           PIO_CSQ_RELEASE_LOCK CsqReleaseLock, PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp)
{
    irql_check_max("IoCsqInitializeEx", DISPATCH_LEVEL);
    *Csq = (IO_CSQ){ TYPE_QUEUE_EX,          (PIO_CSQ_INSERT_IRP)(void (*)(void))CsqInsertIrp,
                     CsqRemoveIrp,           CsqPeekNextIrp,
                     CsqAcquireLock,         CsqReleaseLock,
                     CsqCompleteCanceledIrp, NULL };
    return STATUS_SUCCESS;
}

static NTSTATUS csq_insert(PIO_CSQ queue, PIRP irp, PVOID context)
{
    if (queue->Type == TYPE_QUEUE_EX)
        return ((PIO_CSQ_INSERT_IRP_EX)(void (*)(void))queue->CsqInsertIrp)(queue, irp, context);
    queue->CsqInsertIrp(queue, irp);
    return STATUS_SUCCESS;
}

/*
 * Sets the IRP's cancel routine. Requires the queue's lock. If IoCancelIrp has cancelled the IRP without calling the
 * routine, removes the IRP from the queue and returns true. The caller must then complete the IRP. Otherwise returns
 * false.
 */
static bool csq_remove_if_cancelled(PIO_CSQ queue, PIRP irp)
{
    (void)IoSetCancelRoutine(irp, csq_cancel_irp);
    if (!irp_is_cancelled(irp) || !IoSetCancelRoutine(irp, NULL))
        return false;
    queue->CsqRemoveIrp(queue, irp);
    csq_detach_irp(irp);
    return true;
}

NTSTATUS IoCsqInsertIrpEx(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context, PVOID InsertContext)
{
    bool cancelled = false;
    NTSTATUS status;
    KIRQL irql;

    irql_check_max("IoCsqInsertIrp", DISPATCH_LEVEL);
    if (Context)
        *Context = (IO_CSQ_IRP_CONTEXT){ TYPE_CONTEXT, Irp, Csq };
    Irp->Tail.Overlay.DriverContext[3] = Context ? (PVOID)Context : (PVOID)Csq;
    Csq->CsqAcquireLock(Csq, &irql);
    status = csq_insert(Csq, Irp, InsertContext);
    if (NT_SUCCESS(status)) {
        IoMarkIrpPending(Irp);
        cancelled = csq_remove_if_cancelled(Csq, Irp);
    } else {
        csq_detach_irp(Irp);
    }
    Csq->CsqReleaseLock(Csq, irql);
    if (cancelled)
        Csq->CsqCompleteCanceledIrp(Csq, Irp);
    return status;
}

VOID IoCsqInsertIrp(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context)
{
    (void)IoCsqInsertIrpEx(Csq, Irp, Context, NULL);
}

/*
 * Removes the IRP from the queue. Requires the queue's lock. If the IRP is being cancelled, returns false, and the
 * cancel routine removes the IRP.
 */
static bool csq_remove_irp(PIO_CSQ queue, PIRP irp)
{
    if (!IoSetCancelRoutine(irp, NULL))
        return false;
    queue->CsqRemoveIrp(queue, irp);
    csq_detach_irp(irp);
    return true;
}

PIRP IoCsqRemoveIrp(PIO_CSQ Csq, PIO_CSQ_IRP_CONTEXT Context)
{
    PIRP irp;
    KIRQL irql;

    irql_check_max("IoCsqRemoveIrp", DISPATCH_LEVEL);
    Csq->CsqAcquireLock(Csq, &irql);
    irp = Context->Irp;
    if (irp && !csq_remove_irp(Csq, irp))
        irp = NULL;
    Csq->CsqReleaseLock(Csq, irql);
    return irp;
}

PIRP IoCsqRemoveNextIrp(PIO_CSQ Csq, PVOID PeekContext)
{
    PIRP irp;
    KIRQL irql;

    irql_check_max("IoCsqRemoveNextIrp", DISPATCH_LEVEL);
    Csq->CsqAcquireLock(Csq, &irql);
    irp = Csq->CsqPeekNextIrp(Csq, NULL, PeekContext);
    while (irp && !csq_remove_irp(Csq, irp))
        irp = Csq->CsqPeekNextIrp(Csq, irp, PeekContext);
    Csq->CsqReleaseLock(Csq, irql);
    return irp;
}
