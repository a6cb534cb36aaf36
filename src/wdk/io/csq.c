/* SPDX-License-Identifier: MIT */
/* Cancel-safe queues: see wdm/csq.h. */
#include "wdm.h"

#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"

/* In Type: what DriverContext[3] of a queued IRP points at, and which insert routine the queue has. */
enum { TYPE_QUEUE = 1, TYPE_CONTEXT = 2, TYPE_QUEUE_EX = 3 };

static PIO_CSQ queue_of(PIRP irp)
{
    PIO_CSQ_IRP_CONTEXT context = irp->Tail.Overlay.DriverContext[3];

    return context->Type == TYPE_CONTEXT ? context->Csq : (PIO_CSQ)(void *)context;
}

/* Under the queue's lock: it has left the queue, and whoever still holds the context finds nothing. */
static void forget(PIRP irp)
{
    PIO_CSQ_IRP_CONTEXT context = irp->Tail.Overlay.DriverContext[3];

    if (context->Type == TYPE_CONTEXT)
        context->Irp = NULL;
    irp->Tail.Overlay.DriverContext[3] = NULL;
}

static void cancel_queued(PDEVICE_OBJECT device, PIRP irp)
{
    PIO_CSQ queue = queue_of(irp);
    KIRQL irql;

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    queue->CsqAcquireLock(queue, &irql);
    queue->CsqRemoveIrp(queue, irp);
    forget(irp);
    queue->CsqReleaseLock(queue, irql);
    queue->CsqCompleteCanceledIrp(queue, irp);
}

NTSTATUS IoCsqInitialize(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP CsqInsertIrp, PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                         PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp, PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                         PIO_CSQ_RELEASE_LOCK CsqReleaseLock, PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp)
{
    irql_check_max("IoCsqInitialize", DISPATCH_LEVEL);
    *Csq = (IO_CSQ){ TYPE_QUEUE, CsqInsertIrp, CsqRemoveIrp, CsqPeekNextIrp, CsqAcquireLock, CsqReleaseLock,
                     CsqCompleteCanceledIrp, NULL };
    return STATUS_SUCCESS;
}

NTSTATUS IoCsqInitializeEx(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP_EX CsqInsertIrp, PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                           PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp, PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                           PIO_CSQ_RELEASE_LOCK CsqReleaseLock, PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp)
{
    irql_check_max("IoCsqInitializeEx", DISPATCH_LEVEL);
    *Csq = (IO_CSQ){ TYPE_QUEUE_EX, (PIO_CSQ_INSERT_IRP)(void (*)(void))CsqInsertIrp, CsqRemoveIrp, CsqPeekNextIrp,
                     CsqAcquireLock, CsqReleaseLock, CsqCompleteCanceledIrp, NULL };
    return STATUS_SUCCESS;
}

static NTSTATUS insert(PIO_CSQ queue, PIRP irp, PVOID context)
{
    if (queue->Type == TYPE_QUEUE_EX)
        return ((PIO_CSQ_INSERT_IRP_EX)(void (*)(void))queue->CsqInsertIrp)(queue, irp, context);
    queue->CsqInsertIrp(queue, irp);
    return STATUS_SUCCESS;
}

/*
 * Cancelled before it got its cancel routine: whoever takes the routine away again cancels it; when IoCancelIrp has
 * taken it already, its thread does.
 */
static bool was_cancelled(PIO_CSQ queue, PIRP irp)
{
    (void)IoSetCancelRoutine(irp, cancel_queued);
    if (!irp_is_cancelled(irp) ||
        !IoSetCancelRoutine(irp, NULL))
        return false;
    queue->CsqRemoveIrp(queue, irp);
    forget(irp);
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
    status = insert(Csq, Irp, InsertContext);
    if (NT_SUCCESS(status)) {
        IoMarkIrpPending(Irp);
        cancelled = was_cancelled(Csq, Irp);
    } else {
        forget(Irp);
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

/* Under the queue's lock. False: it is being cancelled and stays where it is until its cancel routine takes it out. */
static bool take_out(PIO_CSQ queue, PIRP irp)
{
    if (!IoSetCancelRoutine(irp, NULL))
        return false;
    queue->CsqRemoveIrp(queue, irp);
    forget(irp);
    return true;
}

PIRP IoCsqRemoveIrp(PIO_CSQ Csq, PIO_CSQ_IRP_CONTEXT Context)
{
    PIRP irp;
    KIRQL irql;

    irql_check_max("IoCsqRemoveIrp", DISPATCH_LEVEL);
    Csq->CsqAcquireLock(Csq, &irql);
    irp = Context->Irp;
    if (irp && !take_out(Csq, irp))
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
    while (irp && !take_out(Csq, irp))
        irp = Csq->CsqPeekNextIrp(Csq, irp, PeekContext);
    Csq->CsqReleaseLock(Csq, irql);
    return irp;
}
