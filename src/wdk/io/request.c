/* SPDX-License-Identifier: MIT */
/* Makes the buffers of requests, cancels requests, and stores each thread's previous mode and top-level IRP. */
#include <pthread.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/kernel_call.h"
#include "wdk/io/irp.h"
#include "wdk/ke/lock.h"

#define BUFFER_TAG 'fBoI'

/* ---- The requests of a thread ----------------------------------------------------------------------------------- */

static _Thread_local KPROCESSOR_MODE previous_mode;
static _Thread_local PIRP top_level_irp;

KPROCESSOR_MODE request_enter(KPROCESSOR_MODE mode)
{
    KPROCESSOR_MODE outer = previous_mode;

    previous_mode = mode;
    return outer;
}

KPROCESSOR_MODE ExGetPreviousMode(VOID)
{
    irql_check_max("ExGetPreviousMode", DISPATCH_LEVEL);
    return previous_mode;
}

PIRP IoGetTopLevelIrp(VOID)
{
    irql_check_max("IoGetTopLevelIrp", APC_LEVEL);
    return top_level_irp;
}

VOID IoSetTopLevelIrp(PIRP Irp)
{
    irql_check_max("IoSetTopLevelIrp", APC_LEVEL);
    top_level_irp = Irp;
}

/* ---- Buffers ---------------------------------------------------------------------------------------------------- */

static NTSTATUS request_fail(PIRP irp, NTSTATUS why)
{
    if (irp->Flags & IRP_DEALLOCATE_BUFFER)
        ExFreePool(irp->AssociatedIrp.SystemBuffer);
    if (irp->MdlAddress)
        IoFreeMdl(irp->MdlAddress);
    irp_free_unsent(irp);
    return why;
}

/* Allocates one buffer for both directions. It is pool memory, because some drivers free it. */
NTSTATUS irp_set_buffered(PIRP irp, const struct irp_buffers *b)
{
    ULONG size = max(b->in_length, b->out_capacity);
    struct irp_block *block = irp_block_from_irp(irp);

    if (!size)
        return STATUS_SUCCESS;
    irp->AssociatedIrp.SystemBuffer = ExAllocatePoolWithTag(NonPagedPoolNx, size, BUFFER_TAG);
    if (!irp->AssociatedIrp.SystemBuffer)
        return request_fail(irp, STATUS_INSUFFICIENT_RESOURCES);
    if (b->in_length)
        memcpy(irp->AssociatedIrp.SystemBuffer, b->in, b->in_length);
    irp->Flags |= IRP_BUFFERED_IO | IRP_DEALLOCATE_BUFFER | (b->out_capacity ? IRP_INPUT_OPERATION : 0);
    irp->UserBuffer = b->out;
    block->out_buffer = b->out;
    block->out_capacity = b->out_capacity;
    return STATUS_SUCCESS;
}

/*
 * Locks the pages of the IRP's MDL. If a page is not accessible, MmProbeAndLockPages raises an exception, whose status
 * is returned.
 */
static NTSTATUS request_lock_pages(PIRP irp, LOCK_OPERATION operation)
{
    __try {
        MmProbeAndLockPages(irp->MdlAddress, irp->RequestorMode, operation);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return STATUS_SUCCESS;
}

static NTSTATUS request_set_direct(PIRP irp, const void *start, ULONG size, LOCK_OPERATION operation)
{
    NTSTATUS status;

    if (!size)
        return STATUS_SUCCESS;
    if (!IoAllocateMdl((PVOID)(uintptr_t)start, size, FALSE, FALSE, irp))
        return request_fail(irp, STATUS_INSUFFICIENT_RESOURCES);
    status = request_lock_pages(irp, operation);
    return NT_SUCCESS(status) ? status : request_fail(irp, status);
}

NTSTATUS irp_set_control(PIRP irp, ULONG code, const struct irp_buffers *b)
{
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
    struct irp_buffers input = { b->in, b->in_length, NULL, 0 };
    struct irp_block *block = irp_block_from_irp(irp);
    ULONG method = METHOD_FROM_CTL_CODE(code);
    NTSTATUS status;

    next->Parameters.DeviceIoControl.IoControlCode = code;
    next->Parameters.DeviceIoControl.InputBufferLength = b->in_length;
    next->Parameters.DeviceIoControl.OutputBufferLength = b->out_capacity;
    switch (method) {
    case METHOD_BUFFERED:
        return irp_set_buffered(irp, b);
    case METHOD_IN_DIRECT:
    case METHOD_OUT_DIRECT:
        status = irp_set_buffered(irp, &input);
        if (!status)
            block->out_capacity = b->out_capacity;
        return status ? status
                      : request_set_direct(irp, b->out, b->out_capacity,
                                           method == METHOD_IN_DIRECT ? IoReadAccess : IoWriteAccess);
    default:
        next->Parameters.DeviceIoControl.Type3InputBuffer = (void *)(uintptr_t)b->in;
        irp->UserBuffer = b->out;
        block->out_capacity = b->out_capacity;
        return STATUS_SUCCESS;
    }
}

NTSTATUS irp_set_transfer(PIRP irp, const struct irp_buffers *b, int64_t offset)
{
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
    struct irp_block *block = irp_block_from_irp(irp);
    ULONG flags = block->device->Flags;
    const void *start = b->in ? b->in : b->out;
    ULONG size = b->in ? b->in_length : b->out_capacity;

    next->Parameters.Read.Length = size; /* Parameters.Write has the same layout */
    next->Parameters.Read.ByteOffset.QuadPart = offset;
    block->out_capacity = b->out_capacity;
    if (flags & DO_BUFFERED_IO)
        return irp_set_buffered(irp, b);
    if (flags & DO_DIRECT_IO)
        return request_set_direct(irp, start, size, b->in ? IoReadAccess : IoWriteAccess);
    irp->UserBuffer = (void *)(uintptr_t)start;
    return STATUS_SUCCESS;
}

static void request_copy_output(PIRP irp, struct irp_block *b)
{
    ULONG_PTR size = min(irp->IoStatus.Information, b->out_capacity);

    if (size)
        memcpy(b->out_buffer, irp->AssociatedIrp.SystemBuffer, size);
}

/* Reports an IRP with more output than its sender's buffer has room for, whatever the method of the buffer is. */
static void request_check_output(PIRP irp, const struct irp_block *b)
{
    char text[IRP_TEXT_SIZE], status[IRP_STATUS_TEXT_SIZE];
    ULONG_PTR size = irp->IoStatus.Information;

    if (!b->out_capacity || size <= b->out_capacity || !check_on())
        return;
    check_failed(CHECK_IRP_MISUSE, "IoCompleteRequest", (uintptr_t)irp, size, b->out_capacity, 0,
                 "%s, ends with %s: IoStatus.Information is %llu, and there is room for %u bytes", irp_text(irp, text),
                 irp_status_text(irp->IoStatus.Status, status), (unsigned long long)size, b->out_capacity);
}

/*
 * Checks and copies buffered output, and frees the buffer and the MDLs. There is output unless the status is an error.
 * A warning, for example STATUS_BUFFER_OVERFLOW, is no error.
 */
void irp_release_buffers(PIRP irp, struct irp_block *b)
{
    if (!NT_ERROR(irp->IoStatus.Status)) {
        request_check_output(irp, b);
        if (irp->Flags & IRP_BUFFERED_IO && irp->Flags & IRP_INPUT_OPERATION)
            request_copy_output(irp, b);
    }
    if (irp->Flags & IRP_DEALLOCATE_BUFFER)
        ExFreePool(irp->AssociatedIrp.SystemBuffer);
    while (irp->MdlAddress) {
        PMDL mdl = irp->MdlAddress;

        irp->MdlAddress = mdl->Next;
        if (mdl->MdlFlags & MDL_PAGES_LOCKED)
            MmUnlockPages(mdl);
        IoFreeMdl(mdl);
    }
}

/* ---- Cancellation ----------------------------------------------------------------------------------------------- */

/* The cancel spin lock. As on Windows, there is one for all IRPs. */
static pthread_mutex_t cancel_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct lock_kind cancel_lock_kind = { .name = "cancel spin lock" };

static void cancel_lock_acquire(PKIRQL irql, const void *by)
{
    irql_check_max("IoAcquireCancelSpinLock", DISPATCH_LEVEL);
    *irql = irql_set(DISPATCH_LEVEL);
    if (check_on() && lock_check_recursive("IoAcquireCancelSpinLock", &cancel_lock_kind, &cancel_lock, by))
        return;
    pthread_mutex_lock(&cancel_lock);
    if (check_on())
        thread_add_lock(&cancel_lock, &cancel_lock_kind, by);
}

static void cancel_lock_release(const char *routine, KIRQL irql)
{
    if (!check_on() || lock_check_release(routine, &cancel_lock_kind, &cancel_lock, NULL))
        pthread_mutex_unlock(&cancel_lock);
    (void)irql_set(irql);
}

VOID IoAcquireCancelSpinLock(PKIRQL Irql)
{
    cancel_lock_acquire(Irql, __builtin_return_address(0));
}

VOID IoReleaseCancelSpinLock(KIRQL Irql)
{
    irql_check_min("IoReleaseCancelSpinLock", DISPATCH_LEVEL);
    cancel_lock_release("IoReleaseCancelSpinLock", Irql);
}

BOOLEAN IoCancelIrp(PIRP Irp)
{
    struct thread_mark mark = thread_mark_get();
    struct kernel_call call;
    PDRIVER_CANCEL routine;
    KIRQL irql;

    irql_check_max("IoCancelIrp", DISPATCH_LEVEL);
    cancel_lock_acquire(&irql, __builtin_return_address(0));
    irp_set_cancel(Irp);
    routine = IoSetCancelRoutine(Irp, NULL);
    call = KERNEL_CALL(IoCancelIrp, .object = (uintptr_t)Irp, .cancel_routine = (uintptr_t)routine);
    if (routine) {
        Irp->CancelIrql = irql;
        routine(IoGetCurrentIrpStackLocation(Irp)->DeviceObject, Irp);
        thread_mark_check(&mark, "a cancel routine", (const void *)(uintptr_t)routine);
    } else {
        cancel_lock_release("IoCancelIrp", irql);
    }
    kernel_call_done(&call);
    return routine ? TRUE : FALSE;
}
