/* SPDX-License-Identifier: MIT */
/* Allocates, sends and completes I/O requests. See irp.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "base/schedule.h"
#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"
#include "wdk/common/kernel_call.h"
#include "wdk/common/live.h"
#include "wdk/common/tally.h"
#include "wdk/common/text.h"
#include "wdk/io/device.h"
#include "wdk/io/driver.h"
#include "wdk/io/io_trace.h"
#include "wdk/io/irp.h"
#include "wdk/ke/clock.h"
#include "wdk/ke/queue.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

enum {
    HAS_BLOCK = 0x80,  /* in AllocationFlags: a struct irp_block precedes the IRP */
    HEADER = 256,      /* distance in bytes from the block to its IRP; a multiple of 16, the IRP's alignment */
    MAX_RELEASED = 64, /* number of the last released IRPs whose memory is not freed while checks are on */
};
_Static_assert(sizeof(struct irp_block) <= HEADER, "the block precedes the IRP");

/*
 * Bits of pending_facts. RETURNED_PENDING: the dispatch routine has returned STATUS_PENDING. COMPLETED_MARKED: the
 * request was completed and was marked pending.
 */
enum { RETURNED = 1, RETURNED_PENDING = 2, COMPLETED = 4, COMPLETED_MARKED = 8 };

/* Guards `completed`, `completing`, `abandoned`, `result` and `file` of every block, and the lists below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t any_completed = PTHREAD_COND_INITIALIZER;
static struct irp_block *sending;                     /* the requests for which irp_send waits */
static struct irp_block *released_irps[MAX_RELEASED]; /* kept allocated, so that a second completion is detected */
static unsigned released_next;

static PIRP irp_from_block(struct irp_block *b)
{
    return (PIRP)(void *)((char *)b + HEADER);
}

struct irp_block *irp_block_from_irp(PIRP irp)
{
    return irp->AllocationFlags & HAS_BLOCK ? (struct irp_block *)(void *)((char *)irp - HEADER) : NULL;
}

/* ---- Allocate and free ------------------------------------------------------------------------------------------ */

static void irp_prepare(PIRP irp, USHORT size, CCHAR locations)
{
    memset(irp, 0, size);
    irp->Type = IO_TYPE_IRP;
    irp->Size = size;
    irp->StackCount = locations;
    irp->CurrentLocation = (CHAR)(locations + 1);
    irp->ThreadListEntry.Flink = irp->ThreadListEntry.Blink = &irp->ThreadListEntry;
    irp->Tail.Overlay.CurrentStackLocation = (PIO_STACK_LOCATION)(irp + 1) + locations;
}

static PIRP irp_alloc(CCHAR locations, PDEVICE_OBJECT device, bool system)
{
    USHORT size = IoSizeOfIrp(locations);
    struct irp_block *b = aligned_alloc(16, (HEADER + (size_t)size + 15) / 16 * 16);
    PIRP irp;

    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->system = system;
    b->device = device;
    atomic_init(&b->references, 1);
    irp = irp_from_block(b);
    irp_prepare(irp, size, locations);
    irp->AllocationFlags = HAS_BLOCK;
    live_add(LIVE_IRP, irp, system ? "sent by the system" : "IoAllocateIrp");
    return irp;
}

PIRP irp_new(PDEVICE_OBJECT device)
{
    PDEVICE_OBJECT top = device_ref_top(device);
    PIRP irp = irp_alloc(top->StackSize, top, true);

    if (irp)
        irp_block_from_irp(irp)->refs_device = true;
    else
        ob_unref(top);
    return irp;
}

PIRP irp_build(PDEVICE_OBJECT device, bool system)
{
    return irp_alloc(device->StackSize, device, system);
}

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota)
{
    PIRP irp;

    UNREFERENCED_PARAMETER(ChargeQuota);
    irql_check_max("IoAllocateIrp", DISPATCH_LEVEL);
    irp = StackSize > 0 ? irp_alloc(StackSize, NULL, false) : NULL;
    TRACE(IoAllocateIrp, 0, .object = (uintptr_t)irp, .locations = (uint8_t)StackSize);
    return irp;
}

/*
 * Initializes an IRP in memory that the driver has allocated. A driver must not call this routine for an IRP of
 * IoAllocateIrp: on Windows the IRP would lose its allocation flags, and IoFreeIrp would fail. While checks are on,
 * reports such a call and keeps the flags.
 */
VOID IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize)
{
    bool ours = check_on() && live_has(LIVE_IRP, Irp);

    irql_check_max("IoInitializeIrp", DISPATCH_LEVEL);
    irp_prepare(Irp, PacketSize, StackSize);
    if (!ours)
        return;
    Irp->AllocationFlags = HAS_BLOCK;
    check_failed(CHECK_IRP_MISUSE, "IoInitializeIrp", (uintptr_t)Irp, 0, 0, 0,
                 "IRP %p came from IoAllocateIrp: IoReuseIrp prepares it again", (void *)Irp);
}

VOID IoReuseIrp(PIRP Irp, NTSTATUS Status)
{
    UCHAR flags = Irp->AllocationFlags;

    irql_check_max("IoReuseIrp", DISPATCH_LEVEL);
    irp_prepare(Irp, Irp->Size, Irp->StackCount);
    Irp->AllocationFlags = flags;
    Irp->IoStatus.Status = Status;
}

static void irp_block_unref(struct irp_block *b)
{
    struct irp_block *oldest = b;

    if (atomic_fetch_sub(&b->references, 1) != 1)
        return;
    if (check_on()) {
        pthread_mutex_lock(&lock);
        oldest = released_irps[released_next];
        released_irps[released_next] = b;
        released_next = (released_next + 1) % MAX_RELEASED;
        pthread_mutex_unlock(&lock);
    }
    free(oldest);
}

/* Ends the IRP. Clears its Type, so that a later use of the pointer is detected, and drops the owner's reference. */
static void irp_release(PIRP irp, struct irp_block *b, const void *by)
{
    if (check_on())
        stack_capture(&b->released, by);
    (void)live_remove(LIVE_IRP, irp);
    irp->Type = 0;
    irp_block_unref(b);
}

static bool irp_is_released(PIRP irp)
{
    return irp->Type != IO_TYPE_IRP;
}

static void irp_add_release_stack(PIRP irp)
{
    struct irp_block *b = irp_block_from_irp(irp);

    if (b && b->released.depth)
        report_add_stack("completed or freed by", &b->released);
}

VOID IoFreeIrp(PIRP Irp)
{
    struct irp_block *b = irp_block_from_irp(Irp);

    irql_check_max("IoFreeIrp", DISPATCH_LEVEL);
    TRACE(IoFreeIrp, 0, .object = (uintptr_t)Irp);
    if (check_on() && (irp_is_released(Irp) || !b || b->system)) {
        if (irp_is_released(Irp))
            irp_add_release_stack(Irp);
        check_failed(CHECK_IRP_MISUSE, "IoFreeIrp", (uintptr_t)Irp, 0, 0, 0, "IRP %p %s", (void *)Irp,
                     irp_is_released(Irp) ? "is completed or freed already" : "is not one of IoAllocateIrp");
        return;
    }
    if (b)
        irp_release(Irp, b, __builtin_return_address(0));
}

/* ---- Send ------------------------------------------------------------------------------------------------------- */

static PDRIVER_DISPATCH irp_dispatch_routine(PDEVICE_OBJECT device, PIRP irp)
{
    UCHAR major = IoGetCurrentIrpStackLocation(irp)->MajorFunction;

    if (major <= IRP_MJ_MAXIMUM_FUNCTION)
        return device->DriverObject->MajorFunction[major];
    if (check_on())
        check_failed(CHECK_IRP_MISUSE, "IoCallDriver", (uintptr_t)irp, major, 0, 0,
                     "IRP %p has the major function 0x%02x, which does not exist", (void *)irp, major);
    return driver_invalid_request;
}

NTSTATUS IofCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    struct kernel_call call = { .begun_ns = 0 };
    PDRIVER_DISPATCH dispatch;
    struct thread_mark mark;
    NTSTATUS status;

    irql_check_max("IoCallDriver", DISPATCH_LEVEL);
    if (Irp->CurrentLocation <= 1)
        check_bug(NO_MORE_IRP_STACK_LOCATIONS, (uintptr_t)Irp, 0, 0, 0);
    IoSetNextIrpStackLocation(Irp);
    IoGetCurrentIrpStackLocation(Irp)->DeviceObject = DeviceObject;
    dispatch = irp_dispatch_routine(DeviceObject, Irp);
    if (trace_is_on())
        call = io_trace_call_driver(DeviceObject, Irp);
    mark = thread_mark_get();
    status = dispatch(DeviceObject, Irp);
    thread_mark_check(&mark, "a dispatch routine", (const void *)(uintptr_t)dispatch);
    schedule_point();
    return kernel_call_return(&call, status);
}

/* ---- Complete --------------------------------------------------------------------------------------------------- */

/*
 * Adds a fact to b->pending_facts. Called when the dispatch routine has returned and when the request is completed, in
 * either order. The later call compares the dispatch routine's return value with the mark of IoMarkIrpPending.
 */
static void irp_check_pending(struct irp_block *b, int fact)
{
    int all = atomic_fetch_or(&b->pending_facts, fact) | fact;
    bool pending = all & RETURNED_PENDING, marked = all & COMPLETED_MARKED;
    char text[IRP_TEXT_SIZE], status[IRP_STATUS_TEXT_SIZE];
    PIRP irp = irp_from_block(b);

    if (!(all & RETURNED) || !(all & COMPLETED) || pending == marked || !check_on())
        return;
    check_failed(CHECK_IRP_MISUSE, "a dispatch routine", (uintptr_t)irp, pending, marked, 0,
                 "%s, which ended with %s: %s", irp_text(irp, text), irp_status_text(irp->IoStatus.Status, status),
                 pending ? "the routine returned STATUS_PENDING without IoMarkIrpPending"
                         : "the routine called IoMarkIrpPending and did not return STATUS_PENDING");
}

/* Returns false if the IRP must not be completed, because it was completed already. */
static bool irp_check_completion(PIRP irp)
{
    char text[IRP_TEXT_SIZE], status[IRP_STATUS_TEXT_SIZE];
    PDRIVER_CANCEL routine;

    if (irp_is_released(irp) || irp->CurrentLocation > irp->StackCount) {
        irp_add_release_stack(irp);
        check_failed(CHECK_IRP_COMPLETED_TWICE, "IoCompleteRequest", (uintptr_t)irp, 0, 0, 0,
                     "%s, has been completed already", irp_text(irp, text));
        return false;
    }
    if (irp->IoStatus.Status == STATUS_PENDING)
        check_failed(CHECK_IRP_MISUSE, "IoCompleteRequest", (uintptr_t)irp, STATUS_PENDING, 0, 0,
                     "%s, ends with STATUS_PENDING", irp_text(irp, text));
    routine = __atomic_load_n(&irp->CancelRoutine, __ATOMIC_SEQ_CST);
    if (routine)
        check_failed(CHECK_IRP_MISUSE, "IoCompleteRequest", (uintptr_t)irp, (uintptr_t)routine, 0, 0,
                     "%s, ends with %s and a cancel routine: IoSetCancelRoutine(Irp, NULL) comes first",
                     irp_text(irp, text), irp_status_text(irp->IoStatus.Status, status));
    return true;
}

/* Signals the sender and releases the IRP. The caller has completed all stack locations. */
static void irp_finish(PIRP irp, struct irp_block *b)
{
    pthread_mutex_lock(&lock);
    b->completing = !b->abandoned;
    if (!b->completing)
        irp->Flags &= ~(ULONG)IRP_INPUT_OPERATION;
    pthread_mutex_unlock(&lock);
    TRACE(irp_ended, 0, .object = (uintptr_t)irp, .status = (uint32_t)irp->IoStatus.Status,
          .information = irp->IoStatus.Information);
    irp_release_buffers(irp, b);
    irp_check_pending(b, COMPLETED | (irp->PendingReturned ? COMPLETED_MARKED : 0));
    if (irp->UserIosb)
        *irp->UserIosb = irp->IoStatus;
    if (irp->UserEvent)
        (void)KeSetEvent(irp->UserEvent, IO_NO_INCREMENT, FALSE);
    pthread_mutex_lock(&lock);
    b->result = irp->IoStatus;
    b->completed = true;
    pthread_cond_broadcast(&any_completed);
    pthread_mutex_unlock(&lock);
    irp_release(irp, b, __builtin_return_address(0));
}

static bool irp_wants_completion(PIRP irp, UCHAR control)
{
    return (NT_SUCCESS(irp->IoStatus.Status) && control & SL_INVOKE_ON_SUCCESS) ||
           (!NT_SUCCESS(irp->IoStatus.Status) && control & SL_INVOKE_ON_ERROR) ||
           (irp_is_cancelled(irp) && control & SL_INVOKE_ON_CANCEL);
}

/*
 * Calls the completion routine that the next higher driver has set in the location *done. Returns false if the routine
 * has taken over the IRP (STATUS_MORE_PROCESSING_REQUIRED).
 */
static bool irp_call_completion(PIRP irp, const IO_STACK_LOCATION *done)
{
    PDEVICE_OBJECT device = irp->CurrentLocation > irp->StackCount ? NULL
                                                                   : IoGetCurrentIrpStackLocation(irp)->DeviceObject;
    const struct kernel_call call = KERNEL_CALL(
        completion_routine, .object = (uintptr_t)irp, .completion_routine = (uintptr_t)done->CompletionRoutine,
        .status = (uint32_t)irp->IoStatus.Status, .information = irp->IoStatus.Information);
    struct thread_mark mark = thread_mark_get();
    NTSTATUS status = done->CompletionRoutine(device, irp, done->Context);

    thread_mark_check(&mark, "a completion routine", (const void *)(uintptr_t)done->CompletionRoutine);
    (void)kernel_call_return(&call, status);
    return status != STATUS_MORE_PROCESSING_REQUIRED;
}

void irp_complete(PIRP irp)
{
    struct irp_block *b;

    irql_check_max("IoCompleteRequest", DISPATCH_LEVEL);
    if (check_on() && !irp_check_completion(irp))
        return;
    while (irp->CurrentLocation <= irp->StackCount) {
        IO_STACK_LOCATION done = *IoGetCurrentIrpStackLocation(irp);

        irp->PendingReturned = (done.Control & SL_PENDING_RETURNED) != 0;
        IoSkipCurrentIrpStackLocation(irp);
        /* An IRP without a device is for a socket, and is not counted here. */
        if (irp->CurrentLocation > irp->StackCount && done.DeviceObject)
            tally_add(TALLY_IRP, done.MajorFunction, (uint32_t)irp->IoStatus.Status, 0);
        if (irp_wants_completion(irp, done.Control)) {
            if (!irp_call_completion(irp, &done))
                return;
        } else if (irp->PendingReturned && irp->CurrentLocation <= irp->StackCount) {
            IoMarkIrpPending(irp);
        }
    }
    b = irp_block_from_irp(irp);
    if (b)
        irp_finish(irp, b);
}

VOID IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost)
{
    const struct kernel_call call = KERNEL_CALL(IoCompleteRequest, .object = (uintptr_t)Irp,
                                                .status = (uint32_t)Irp->IoStatus.Status,
                                                .information = Irp->IoStatus.Information);

    UNREFERENCED_PARAMETER(PriorityBoost);
    irp_complete(Irp);
    kernel_call_done(&call);
}

/* ---- Requests of the system ------------------------------------------------------------------------------------- */

static void irp_add_sending(struct irp_block *b, const IO_STACK_LOCATION *top)
{
    b->thread = atomic_load(&thread_self()->id);
    b->major = top->MajorFunction;
    b->code = top->MajorFunction == IRP_MJ_DEVICE_CONTROL ? top->Parameters.DeviceIoControl.IoControlCode : 0;
    b->sent_at = clock_interrupt();
    pthread_mutex_lock(&lock);
    b->file = top->FileObject;
    b->sending_next = sending;
    sending = b;
    pthread_mutex_unlock(&lock);
}

/* Removes the block from the list `sending`. Requires the lock. */
static void irp_remove_sending(struct irp_block *b)
{
    struct irp_block **at = &sending;

    while (*at != b)
        at = &(*at)->sending_next;
    *at = b->sending_next;
    b->file = NULL;
}

/* Waits until the IRP is completed, if it is pending or if its completion has begun. Requires the lock. */
static void irp_wait_completed(const struct irp_block *b, bool pending)
{
    bool waits = false;

    while (!b->completed && (pending || b->completing)) {
        if (!waits)
            queue_begin_wait();
        waits = true;
        pthread_cond_wait(&any_completed, &lock);
    }
    if (waits)
        queue_end_wait();
}

NTSTATUS irp_send(PIRP irp, ULONG_PTR *information)
{
    struct irp_block *b = irp_block_from_irp(irp);
    char text[IRP_TEXT_SIZE], status_text[IRP_STATUS_TEXT_SIZE];
    IO_STATUS_BLOCK result;
    KPROCESSOR_MODE outer;
    NTSTATUS status;
    bool completed;

    atomic_fetch_add(&b->references, 1);
    irp->Tail.Overlay.Thread = (struct _ETHREAD *)(void *)thread_self();
    irp_add_sending(b, IoGetNextIrpStackLocation(irp));
    outer = request_enter(irp->RequestorMode);
    status = IofCallDriver(b->device, irp);
    (void)request_enter(outer);
    irp_check_pending(b, RETURNED | (status == STATUS_PENDING ? RETURNED_PENDING : 0));
    pthread_mutex_lock(&lock);
    irp_wait_completed(b, status == STATUS_PENDING);
    irp_remove_sending(b);
    completed = b->completed;
    b->abandoned = !completed;
    result = b->result;
    pthread_mutex_unlock(&lock);
    if (!completed) {
        result.Status = status;
        result.Information = 0;
        if (check_on())
            check_failed(CHECK_IRP_MISUSE, "a dispatch routine", (uintptr_t)irp, (uint32_t)status, 0, 0,
                         "it returned %s and has not completed %s", irp_status_text(status, status_text),
                         irp_text(irp, text));
    }
    ob_unref(b->device);
    irp_block_unref(b);
    if (information)
        *information = result.Information;
    return result.Status;
}

void irp_free_unsent(PIRP irp)
{
    struct irp_block *b = irp_block_from_irp(irp);

    if (b->refs_device)
        ob_unref(b->device);
    irp_release(irp, b, __builtin_return_address(0));
}

enum { MAX_BATCH = 32 };

/* Selects the requests of `file`. If `file` is NULL, selects the requests of `thread`. */
struct irp_selection {
    PFILE_OBJECT file;
    unsigned thread;
};

/*
 * Returns true if the request is selected and not yet cancelled. A completed request is not selected, because its
 * driver no longer expects a cancellation. Requires the lock.
 */
static bool irp_must_cancel(struct irp_block *b, const struct irp_selection *s)
{
    if (b->completed || irp_is_cancelled(irp_from_block(b)))
        return false;
    if (s->file)
        return b->file == s->file;
    return b->thread == s->thread && b->major != IRP_MJ_CLEANUP && b->major != IRP_MJ_CLOSE;
}

/*
 * Cancels the selected requests. The cancel routines run without the lock, so a driver may complete a request before or
 * during its cancellation. A reference on each block keeps the IRP's memory allocated.
 */
static void irp_cancel_selected(const struct irp_selection *s)
{
    struct irp_block *found[MAX_BATCH];
    int n;

    do {
        n = 0;
        pthread_mutex_lock(&lock);
        for (struct irp_block *b = sending; b && n < MAX_BATCH; b = b->sending_next)
            if (irp_must_cancel(b, s)) {
                atomic_fetch_add(&b->references, 1);
                found[n++] = b;
            }
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < n; i++) {
            (void)IoCancelIrp(irp_from_block(found[i]));
            irp_block_unref(found[i]);
        }
    } while (n == MAX_BATCH);
}

void irp_cancel_file(PFILE_OBJECT file)
{
    irp_cancel_selected(&(struct irp_selection){ .file = file });
}

void irp_cancel_thread(unsigned thread)
{
    irp_cancel_selected(&(struct irp_selection){ .thread = thread });
}

/* ---- Pending requests ------------------------------------------------------------------------------------------- */

/*
 * Describes the request in *out. The block must be in `sending`, where the sender's reference keeps it allocated. A
 * driver may change the IRP meanwhile, so only members that change atomically are read: the pending mark of the highest
 * location, the cancel routine, and Cancel. Requires the lock.
 */
static void irp_describe(struct irp_block *b, struct irp_pending *out)
{
    const UNICODE_STRING *name = &b->device->DriverObject->DriverName;
    PIRP irp = irp_from_block(b);
    const IO_STACK_LOCATION *top = (const IO_STACK_LOCATION *)(irp + 1) + irp->StackCount - 1;
    size_t length = 0;

    *out = (struct irp_pending){
        .irp = irp,
        .thread = b->thread,
        .major = b->major,
        .code = b->code,
        .age = clock_interrupt() - b->sent_at,
        .returned = atomic_load(&b->pending_facts) & RETURNED,
        .completed = b->completed,
        .marked = __atomic_load_n(&top->Control, __ATOMIC_RELAXED) & SL_PENDING_RETURNED,
        .cancelled = irp_is_cancelled(irp),
        .cancel = (const void *)(uintptr_t)__atomic_load_n(&irp->CancelRoutine, __ATOMIC_SEQ_CST),
    };
    (void)text_to_utf8(out->driver, sizeof out->driver - 1, name->Buffer, name->Length / sizeof(WCHAR), &length, NULL);
    out->driver[length] = '\0';
}

unsigned irp_copy_pending(unsigned thread, struct irp_pending *out, unsigned room)
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (struct irp_block *b = sending; b; b = b->sending_next) {
        if ((thread && b->thread != thread) || (b->completed && atomic_load(&b->pending_facts) & RETURNED))
            continue;
        if (n < room)
            irp_describe(b, &out[n]);
        n++;
    }
    pthread_mutex_unlock(&lock);
    return n;
}
