/* SPDX-License-Identifier: MIT */
/* I/O requests: allocate, send, complete. See irp.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/io/driver.h"
#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"

enum {
    OURS = 0x80,  /* in AllocationFlags: a block lies in front of the IRP */
    HEADER = 256, /* keeps the IRP on 16 octets */
    KEPT = 64,    /* IRPs that are over and still there, while checks are on: a second completion finds them */
    NO_MORE_IRP_STACK_LOCATIONS = 0x35,
};
_Static_assert(sizeof(struct irp_block) <= HEADER, "the block lies in front of the IRP");

/* The dispatch routine's return value and the mark of IoMarkIrpPending: whichever comes second compares. */
enum { RETURNED = 1, RETURNED_PENDING = 2, ENDED = 4, ENDED_MARKED = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over and result of every block; what is kept */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct irp_block *sending; /* what irp_send waits for */
static struct irp_block *kept[KEPT];
static unsigned kept_next;

static PIRP irp_of(struct irp_block *b)
{
    return (PIRP)(void *)((char *)b + HEADER);
}

struct irp_block *irp_block_of(PIRP irp)
{
    return irp->AllocationFlags & OURS ? (struct irp_block *)(void *)((char *)irp - HEADER) : NULL;
}

/* ---- Life ------------------------------------------------------------------------------------------------------- */

static void prepare(PIRP irp, USHORT size, CCHAR locations)
{
    memset(irp, 0, size);
    irp->Type = IO_TYPE_IRP;
    irp->Size = size;
    irp->StackCount = locations;
    irp->CurrentLocation = (CHAR)(locations + 1);
    irp->ThreadListEntry.Flink = irp->ThreadListEntry.Blink = &irp->ThreadListEntry;
    irp->Tail.Overlay.CurrentStackLocation = (PIO_STACK_LOCATION)(irp + 1) + locations;
}

static PIRP new_irp(CCHAR locations, bool system)
{
    USHORT size = IoSizeOfIrp(locations);
    struct irp_block *b = aligned_alloc(16, (HEADER + (size_t)size + 15) / 16 * 16);
    PIRP irp;

    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->system = system;
    atomic_init(&b->references, 1);
    irp = irp_of(b);
    prepare(irp, size, locations);
    irp->AllocationFlags = OURS;
    live_add(LIVE_IRP, irp, system ? "sent by the system" : "IoAllocateIrp");
    return irp;
}

PIRP irp_new(PDEVICE_OBJECT device)
{
    return new_irp(device->StackSize, true);
}

PIRP irp_new_for_driver(PDEVICE_OBJECT device)
{
    return new_irp(device->StackSize, false);
}

PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota)
{
    UNREFERENCED_PARAMETER(ChargeQuota);
    irql_check_max("IoAllocateIrp", DISPATCH_LEVEL);
    return StackSize > 0 ? new_irp(StackSize, false) : NULL;
}

/* Windows forgets how the IRP was allocated and gets lost when it is freed: what is right goes on here. */
VOID IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize)
{
    bool ours = check_on() && live_has(LIVE_IRP, Irp);

    irql_check_max("IoInitializeIrp", DISPATCH_LEVEL);
    prepare(Irp, PacketSize, StackSize);
    if (!ours)
        return;
    Irp->AllocationFlags = OURS;
    check_failed(CHECK_IRP_MISUSE, "IoInitializeIrp", (uintptr_t)Irp, 0, 0, 0,
                 "IRP %p came from IoAllocateIrp: IoReuseIrp prepares it again", (void *)Irp);
}

VOID IoReuseIrp(PIRP Irp, NTSTATUS Status)
{
    UCHAR flags = Irp->AllocationFlags;

    irql_check_max("IoReuseIrp", DISPATCH_LEVEL);
    prepare(Irp, Irp->Size, Irp->StackCount);
    Irp->AllocationFlags = flags;
    Irp->IoStatus.Status = Status;
}

static void put(struct irp_block *b)
{
    struct irp_block *oldest = b;

    if (atomic_fetch_sub(&b->references, 1) != 1)
        return;
    if (check_on()) {
        pthread_mutex_lock(&lock);
        oldest = kept[kept_next];
        kept[kept_next] = b;
        kept_next = (kept_next + 1) % KEPT;
        pthread_mutex_unlock(&lock);
    }
    free(oldest);
}

/* From here on the IRP is nobody's: Type says so to whoever still has the pointer. */
static void give_away(PIRP irp, struct irp_block *b, const void *by)
{
    if (check_on())
        stack_capture(&b->given_away, by);
    (void)live_remove(LIVE_IRP, irp);
    irp->Type = 0;
    put(b);
}

static bool is_given_away(PIRP irp)
{
    return irp->Type != IO_TYPE_IRP;
}

static void add_given_away(PIRP irp)
{
    struct irp_block *b = irp_block_of(irp);

    if (b && b->given_away.depth)
        report_add_stack("completed or freed by", &b->given_away);
}

VOID IoFreeIrp(PIRP Irp)
{
    struct irp_block *b = irp_block_of(Irp);

    irql_check_max("IoFreeIrp", DISPATCH_LEVEL);
    if (check_on() && (is_given_away(Irp) || !b || b->system)) {
        if (is_given_away(Irp))
            add_given_away(Irp);
        check_failed(CHECK_IRP_MISUSE, "IoFreeIrp", (uintptr_t)Irp, 0, 0, 0, "IRP %p %s", (void *)Irp,
                     is_given_away(Irp) ? "is gone already" : "is not one of IoAllocateIrp");
        return;
    }
    if (b)
        give_away(Irp, b, __builtin_return_address(0));
}

/* ---- Down ------------------------------------------------------------------------------------------------------- */

static PDRIVER_DISPATCH dispatch_of(PDEVICE_OBJECT device, PIRP irp)
{
    UCHAR major = IoGetCurrentIrpStackLocation(irp)->MajorFunction;

    if (major <= IRP_MJ_MAXIMUM_FUNCTION)
        return device->DriverObject->MajorFunction[major];
    if (check_on())
        check_failed(CHECK_IRP_MISUSE, "IoCallDriver", (uintptr_t)irp, major, 0, 0,
                     "IRP %p has the major function 0x%02x, which there is not", (void *)irp, major);
    return driver_invalid_request;
}

NTSTATUS IofCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    PDRIVER_DISPATCH dispatch;
    struct thread_mark mark;
    NTSTATUS status;

    irql_check_max("IoCallDriver", DISPATCH_LEVEL);
    if (Irp->CurrentLocation <= 1)
        check_bug(NO_MORE_IRP_STACK_LOCATIONS, (uintptr_t)Irp, 0, 0, 0);
    IoSetNextIrpStackLocation(Irp);
    IoGetCurrentIrpStackLocation(Irp)->DeviceObject = DeviceObject;
    dispatch = dispatch_of(DeviceObject, Irp);
    mark = thread_mark_get();
    status = dispatch(DeviceObject, Irp);
    thread_mark_check(&mark, "a dispatch routine", (const void *)(uintptr_t)dispatch);
    return status;
}

/* ---- Up --------------------------------------------------------------------------------------------------------- */

static void compare(struct irp_block *b, int fact)
{
    int all = atomic_fetch_or(&b->facts, fact) | fact;
    bool pending = all & RETURNED_PENDING, marked = all & ENDED_MARKED;

    if (!(all & RETURNED) || !(all & ENDED) || pending == marked || !check_on())
        return;
    check_failed(CHECK_IRP_MISUSE, "a dispatch routine", (uintptr_t)irp_of(b), pending, marked, 0,
                 pending ? "it returned STATUS_PENDING without IoMarkIrpPending"
                         : "it called IoMarkIrpPending and did not return STATUS_PENDING");
}

/* False: it must not be completed now. */
static bool check_end(PIRP irp)
{
    PDRIVER_CANCEL routine;

    if (is_given_away(irp) || irp->CurrentLocation > irp->StackCount) {
        add_given_away(irp);
        check_failed(CHECK_IRP_COMPLETED_TWICE, "IoCompleteRequest", (uintptr_t)irp, 0, 0, 0,
                     "IRP %p has been completed already", (void *)irp);
        return false;
    }
    if (irp->IoStatus.Status == STATUS_PENDING)
        check_failed(CHECK_IRP_MISUSE, "IoCompleteRequest", (uintptr_t)irp, STATUS_PENDING, 0, 0,
                     "IRP %p ends with STATUS_PENDING", (void *)irp);
    routine = __atomic_load_n(&irp->CancelRoutine, __ATOMIC_SEQ_CST);
    if (routine)
        check_failed(CHECK_IRP_MISUSE, "IoCompleteRequest", (uintptr_t)irp, (uintptr_t)routine, 0, 0,
                     "IRP %p ends with a cancel routine: IoSetCancelRoutine(Irp, NULL) comes first", (void *)irp);
    return true;
}

/* Through all locations: the request is the system's again, which frees it. */
static void finish(PIRP irp, struct irp_block *b)
{
    pthread_mutex_lock(&lock);
    b->ending = !b->abandoned;
    if (!b->ending)
        irp->Flags &= ~(ULONG)IRP_INPUT_OPERATION;
    pthread_mutex_unlock(&lock);
    irp_take_buffers(irp, b);
    compare(b, ENDED | (irp->PendingReturned ? ENDED_MARKED : 0));
    if (irp->UserIosb)
        *irp->UserIosb = irp->IoStatus;
    if (irp->UserEvent)
        (void)KeSetEvent(irp->UserEvent, IO_NO_INCREMENT, FALSE);
    pthread_mutex_lock(&lock);
    b->result = irp->IoStatus;
    b->over = true;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    give_away(irp, b, __builtin_return_address(0));
}

static bool wants_call(PIRP irp, UCHAR control)
{
    return (NT_SUCCESS(irp->IoStatus.Status) && control & SL_INVOKE_ON_SUCCESS) ||
           (!NT_SUCCESS(irp->IoStatus.Status) && control & SL_INVOKE_ON_ERROR) ||
           (irp_is_cancelled(irp) && control & SL_INVOKE_ON_CANCEL);
}

/* Whoever sent it from the location below. False: it takes the IRP back. */
static bool call_completion(PIRP irp, const IO_STACK_LOCATION *done)
{
    PDEVICE_OBJECT device =
        irp->CurrentLocation > irp->StackCount ? NULL : IoGetCurrentIrpStackLocation(irp)->DeviceObject;
    struct thread_mark mark = thread_mark_get();
    NTSTATUS status = done->CompletionRoutine(device, irp, done->Context);

    thread_mark_check(&mark, "a completion routine", (const void *)(uintptr_t)done->CompletionRoutine);
    return status != STATUS_MORE_PROCESSING_REQUIRED;
}

VOID IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost)
{
    struct irp_block *b;

    UNREFERENCED_PARAMETER(PriorityBoost);
    irql_check_max("IoCompleteRequest", DISPATCH_LEVEL);
    if (check_on() && !check_end(Irp))
        return;
    while (Irp->CurrentLocation <= Irp->StackCount) {
        IO_STACK_LOCATION done = *IoGetCurrentIrpStackLocation(Irp);

        Irp->PendingReturned = (done.Control & SL_PENDING_RETURNED) != 0;
        IoSkipCurrentIrpStackLocation(Irp);
        if (wants_call(Irp, done.Control)) {
            if (!call_completion(Irp, &done))
                return;
        } else if (Irp->PendingReturned && Irp->CurrentLocation <= Irp->StackCount) {
            IoMarkIrpPending(Irp);
        }
    }
    b = irp_block_of(Irp);
    if (b)
        finish(Irp, b);
}

/* ---- The system's own ------------------------------------------------------------------------------------------- */

static void list_sending(struct irp_block *b, PFILE_OBJECT file)
{
    pthread_mutex_lock(&lock);
    b->file = file;
    b->sending_next = sending;
    sending = b;
    pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static void unlist_sending(struct irp_block *b)
{
    struct irp_block **at = &sending;

    while (*at != b)
        at = &(*at)->sending_next;
    *at = b->sending_next;
    b->file = NULL;
}

NTSTATUS irp_send(PDEVICE_OBJECT device, PIRP irp, ULONG_PTR *information)
{
    struct irp_block *b = irp_block_of(irp);
    IO_STATUS_BLOCK result;
    NTSTATUS status;
    bool over;

    atomic_fetch_add(&b->references, 1);
    irp->Tail.Overlay.Thread = (struct _ETHREAD *)(void *)thread_self();
    list_sending(b, IoGetNextIrpStackLocation(irp)->FileObject);
    status = IofCallDriver(device, irp);
    compare(b, RETURNED | (status == STATUS_PENDING ? RETURNED_PENDING : 0));
    pthread_mutex_lock(&lock);
    while (!b->over && (status == STATUS_PENDING || b->ending))
        pthread_cond_wait(&ended, &lock);
    unlist_sending(b);
    over = b->over;
    b->abandoned = !over;
    result = b->result;
    pthread_mutex_unlock(&lock);
    if (!over) {
        result.Status = status;
        result.Information = 0;
        if (check_on())
            check_failed(CHECK_IRP_MISUSE, "a dispatch routine", (uintptr_t)irp, (uint32_t)status, 0, 0,
                         "it returned 0x%08X and has not completed IRP %p", (uint32_t)status, (void *)irp);
    }
    put(b);
    if (information)
        *information = result.Information;
    return result.Status;
}

void irp_drop(PIRP irp)
{
    give_away(irp, irp_block_of(irp), __builtin_return_address(0));
}

enum { CANCELLED_AT_ONCE = 32 };

/* The cancel routines run with nothing held; a reference keeps each IRP. */
void irp_cancel_all(PFILE_OBJECT file)
{
    struct irp_block *found[CANCELLED_AT_ONCE];
    int n;

    do {
        n = 0;
        pthread_mutex_lock(&lock);
        for (struct irp_block *b = sending; b && n < CANCELLED_AT_ONCE; b = b->sending_next)
            if (b->file == file && !irp_is_cancelled(irp_of(b))) {
                atomic_fetch_add(&b->references, 1);
                found[n++] = b;
            }
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < n; i++) {
            (void)IoCancelIrp(irp_of(found[i]));
            put(found[i]);
        }
    } while (n == CANCELLED_AT_ONCE);
}
