/* SPDX-License-Identifier: MIT */
/* IRPs passed down and up a stack of devices, and queues of IRPs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "openndk/wdk.h"
#include "report.h"
#include "wdk/io/irp.h"
#include "wdk/ob/object.h"

enum { DEPTH = 3 };

static DRIVER_OBJECT driver;
static DEVICE_OBJECT devices[DEPTH]; /* 0 is the lowest */
static char trace[128];
static NTSTATUS outcome;
static int stop_at; /* the completion routine of this device stops the completion once; -1: none */
static bool pend;
static PIRP taken;

static int level_of(PDEVICE_OBJECT device)
{
    return device ? (int)(device - devices) : DEPTH;
}

static void note(const char *what, int level)
{
    size_t n = strlen(trace);

    snprintf(trace + n, sizeof trace - n, "%s%d ", what, level);
}

static NTSTATUS completed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    assert_int_equal(level_of(device), *(int *)context + 1); /* the device that has set the routine */
    note(irp->PendingReturned ? "p" : "c", *(int *)context);
    if (irp->PendingReturned && device)
        IoMarkIrpPending(irp);
    if (stop_at != *(int *)context)
        return STATUS_CONTINUE_COMPLETION;
    stop_at = -1;
    taken = irp;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static int levels[DEPTH] = { 0, 1, 2 };

static NTSTATUS dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    int level = level_of(device);

    assert_ptr_equal(IoGetCurrentIrpStackLocation(irp)->DeviceObject, device);
    note("d", level);
    if (level > 0) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, completed, &levels[level - 1], TRUE, TRUE, TRUE);
        return IoCallDriver(&devices[level - 1], irp);
    }
    if (pend)
        IoMarkIrpPending(irp);
    irp->IoStatus.Status = outcome;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return pend ? STATUS_PENDING : outcome;
}

static int set_up(void **state)
{
    (void)state;
    memset(&driver, 0, sizeof driver);
    memset(devices, 0, sizeof devices);
    for (int i = 0; i < DEPTH; i++) {
        devices[i].DriverObject = &driver;
        devices[i].StackSize = (CCHAR)(i + 1);
    }
    driver.MajorFunction[IRP_MJ_READ] = dispatch;
    trace[0] = 0;
    outcome = STATUS_SUCCESS;
    stop_at = -1;
    pend = false;
    return 0;
}

static PIRP make(bool on_success, bool on_error, bool on_cancel)
{
    PIRP irp = IoAllocateIrp(DEPTH, FALSE);

    assert_non_null(irp);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    IoSetCompletionRoutine(irp, completed, &levels[DEPTH - 1], on_success, on_error, on_cancel);
    return irp;
}

/* The owner's routine runs last and keeps the IRP. */
static void test_order(void **state)
{
    PIRP irp = make(true, true, true);

    (void)state;
    stop_at = DEPTH - 1;
    assert_int_equal(IoCallDriver(&devices[DEPTH - 1], irp), STATUS_SUCCESS);
    assert_string_equal(trace, "d2 d1 d0 c0 c1 c2 ");
    assert_int_equal(irp->CurrentLocation, DEPTH + 1);
    IoFreeIrp(irp);
}

/* The completion is stopped half way, and continued from there. */
static void test_more_processing(void **state)
{
    PIRP irp = make(true, true, true);

    (void)state;
    stop_at = 0;
    pend = true;
    assert_int_equal(IoCallDriver(&devices[DEPTH - 1], irp), STATUS_PENDING);
    assert_string_equal(trace, "d2 d1 d0 p0 ");
    assert_ptr_equal(IoGetCurrentIrpStackLocation(irp)->DeviceObject, &devices[1]);
    stop_at = DEPTH - 1;
    IoCompleteRequest(taken, IO_NO_INCREMENT);
    assert_string_equal(trace, "d2 d1 d0 p0 p1 p2 ");
    IoFreeIrp(irp);
}

/* A routine is called only for the results that it was set for. */
static void test_when_called(void **state)
{
    static const struct {
        NTSTATUS status;
        bool cancel, success, error, cancelled, called;
    } cases[] = {
        { STATUS_SUCCESS, false, true, false, false, true },
        { STATUS_SUCCESS, false, false, true, true, false },
        { STATUS_BUFFER_OVERFLOW, false, true, false, false, false },
        { STATUS_BUFFER_OVERFLOW, false, false, true, false, true },
        { STATUS_CANCELLED, true, false, true, false, true },
        { STATUS_CANCELLED, true, false, false, true, true },
        { STATUS_SUCCESS, true, false, false, true, true },
        { STATUS_CANCELLED, false, false, false, true, false },
    };

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(cases); i++) {
        PIRP irp = IoAllocateIrp(2, FALSE);

        IoGetNextIrpStackLocation(irp)->DeviceObject = NULL;
        IoSetCompletionRoutine(irp, completed, &levels[2], TRUE, TRUE, TRUE);
        IoSetNextIrpStackLocation(irp);
        IoSetCompletionRoutine(irp, completed, &levels[1], cases[i].success, cases[i].error, cases[i].cancelled);
        IoGetCurrentIrpStackLocation(irp)->DeviceObject = &devices[2];
        IoSetNextIrpStackLocation(irp);
        irp->Cancel = cases[i].cancel;
        irp->IoStatus.Status = cases[i].status;
        trace[0] = 0;
        stop_at = 2;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
        assert_string_equal(trace, cases[i].called ? "c1 c2 " : "c2 ");
        IoFreeIrp(irp);
    }
}

/* A location without a routine propagates the pending mark. */
static void test_mark_goes_up(void **state)
{
    PIRP irp = IoAllocateIrp(2, FALSE);

    (void)state;
    IoSetCompletionRoutine(irp, completed, &levels[2], TRUE, TRUE, TRUE);
    IoSetNextIrpStackLocation(irp);
    IoSetCompletionRoutine(irp, NULL, NULL, FALSE, FALSE, FALSE);
    IoSetNextIrpStackLocation(irp);
    IoMarkIrpPending(irp);
    irp->IoStatus.Status = STATUS_SUCCESS;
    stop_at = 2;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    assert_string_equal(trace, "p2 ");
    IoReuseIrp(irp, STATUS_NOT_SUPPORTED);
    assert_int_equal(irp->IoStatus.Status, STATUS_NOT_SUPPORTED);
    assert_int_equal(irp->CurrentLocation, 3);
    assert_int_equal(IoGetNextIrpStackLocation(irp)->Control, 0);
    IoFreeIrp(irp);
}

static void test_no_such_function(void **state)
{
    struct report *r = report_start();
    PIRP irp = make(true, true, true);

    (void)state;
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_MAXIMUM_FUNCTION + 1;
    stop_at = DEPTH - 1;
    assert_int_equal(IoCallDriver(&devices[DEPTH - 1], irp), STATUS_INVALID_DEVICE_REQUEST);
    assert_string_equal(trace, "c2 ");
    IoFreeIrp(irp);
    report_is(r, "irp-misuse in IoCallDriver");
}

static void test_completed_after_free(void **state)
{
    struct report *r = report_start();
    PIRP irp = IoAllocateIrp(1, FALSE);

    (void)state;
    IoSetNextIrpStackLocation(irp);
    IoFreeIrp(irp);
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    report_is(r, "irp-completed-twice in IoCompleteRequest");
}

/* ---- Cancel-safe queues ----------------------------------------------------------------------------------------- */

struct queue {
    IO_CSQ csq; /* first */
    LIST_ENTRY list;
    KSPIN_LOCK lock;
    unsigned cancelled;
    bool full;
};

static NTSTATUS insert(PIO_CSQ csq, PIRP irp, PVOID context)
{
    struct queue *q = (struct queue *)csq;

    if (q->full)
        return STATUS_DEVICE_BUSY;
    if (context)
        InsertHeadList(&q->list, &irp->Tail.Overlay.ListEntry);
    else
        InsertTailList(&q->list, &irp->Tail.Overlay.ListEntry);
    return STATUS_SUCCESS;
}

static VOID remove_irp(PIO_CSQ csq, PIRP irp)
{
    (void)csq;
    RemoveEntryList(&irp->Tail.Overlay.ListEntry);
}

/* If PeekContext is a file, returns only IRPs of that file. */
static PIRP peek(PIO_CSQ csq, PIRP irp, PVOID context)
{
    struct queue *q = (struct queue *)csq;
    PLIST_ENTRY at = irp ? irp->Tail.Overlay.ListEntry.Flink : q->list.Flink;

    for (; at != &q->list; at = at->Flink) {
        irp = CONTAINING_RECORD(at, IRP, Tail.Overlay.ListEntry);
        if (!context || irp->Tail.Overlay.OriginalFileObject == context)
            return irp;
    }
    return NULL;
}

static VOID acquire(PIO_CSQ csq, PKIRQL irql)
{
    KeAcquireSpinLock(&((struct queue *)csq)->lock, irql);
}

static VOID release(PIO_CSQ csq, KIRQL irql)
{
    KeReleaseSpinLock(&((struct queue *)csq)->lock, irql);
}

static VOID end_cancelled(PIO_CSQ csq, PIRP irp)
{
    __atomic_fetch_add(&((struct queue *)csq)->cancelled, 1, __ATOMIC_SEQ_CST);
    irp->IoStatus.Status = STATUS_CANCELLED;
}

static void open_queue(struct queue *q)
{
    memset(q, 0, sizeof *q);
    InitializeListHead(&q->list);
    KeInitializeSpinLock(&q->lock);
    assert_int_equal(IoCsqInitializeEx(&q->csq, insert, remove_irp, peek, acquire, release, end_cancelled),
                     STATUS_SUCCESS);
}

/* Creates an IRP with a current location, as in a dispatch routine. */
static PIRP arrived(PFILE_OBJECT file)
{
    PIRP irp = IoAllocateIrp(1, FALSE);

    assert_non_null(irp);
    IoSetNextIrpStackLocation(irp);
    irp->Tail.Overlay.OriginalFileObject = file;
    return irp;
}

static void test_queue(void **state)
{
    struct queue q;
    FILE_OBJECT file;
    IO_CSQ_IRP_CONTEXT context;
    PIRP irps[4];

    (void)state;
    open_queue(&q);
    for (int i = 0; i < 4; i++)
        irps[i] = arrived(i == 2 ? &file : NULL);
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irps[0], NULL, NULL), STATUS_SUCCESS);
    assert_true(IoGetCurrentIrpStackLocation(irps[0])->Control & SL_PENDING_RETURNED);
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irps[1], &context, NULL), STATUS_SUCCESS);
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irps[2], NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irps[3], NULL, &q), STATUS_SUCCESS);
    assert_ptr_equal(IoCsqRemoveNextIrp(&q.csq, &file), irps[2]);
    assert_null(IoCsqRemoveNextIrp(&q.csq, &file));
    assert_ptr_equal(IoCsqRemoveIrp(&q.csq, &context), irps[1]);
    assert_null(IoCsqRemoveIrp(&q.csq, &context));
    assert_ptr_equal(IoCsqRemoveNextIrp(&q.csq, NULL), irps[3]);
    assert_true(IoCancelIrp(irps[0]));
    assert_false(IoCancelIrp(irps[0]));
    assert_int_equal(q.cancelled, 1);
    assert_null(IoCsqRemoveNextIrp(&q.csq, NULL));
    for (int i = 0; i < 4; i++)
        IoFreeIrp(irps[i]);
}

/* A refused IRP belongs to the caller again; one that was cancelled before the insertion completes at once. */
static void test_not_queued(void **state)
{
    struct queue q;
    IO_CSQ_IRP_CONTEXT context;
    PIRP irp = arrived(NULL);

    (void)state;
    open_queue(&q);
    q.full = true;
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irp, &context, NULL), STATUS_DEVICE_BUSY);
    assert_false(IoGetCurrentIrpStackLocation(irp)->Control & SL_PENDING_RETURNED);
    assert_null(context.Irp);
    assert_null(IoCsqRemoveIrp(&q.csq, &context));
    assert_false(IoCancelIrp(irp));
    q.full = false;
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irp, &context, NULL), STATUS_SUCCESS);
    assert_int_equal(q.cancelled, 1);
    assert_true(IsListEmpty(&q.list));
    assert_null(IoCsqRemoveIrp(&q.csq, &context));
    IoFreeIrp(irp);
}

/* The state after IoCancelIrp, before the cancel routine has acquired the queue's lock. */
static void test_being_cancelled(void **state)
{
    struct queue q;
    IO_CSQ_IRP_CONTEXT context;
    PIRP irp = arrived(NULL);
    PDRIVER_CANCEL routine;

    (void)state;
    open_queue(&q);
    assert_int_equal(IoCsqInsertIrpEx(&q.csq, irp, &context, NULL), STATUS_SUCCESS);
    routine = IoSetCancelRoutine(irp, NULL);
    assert_non_null(routine);
    assert_null(IoCsqRemoveNextIrp(&q.csq, NULL));
    assert_null(IoCsqRemoveIrp(&q.csq, &context));
    IoAcquireCancelSpinLock(&irp->CancelIrql);
    routine(NULL, irp);
    assert_int_equal(q.cancelled, 1);
    assert_true(IsListEmpty(&q.list));
    assert_null(context.Irp);
    IoFreeIrp(irp);
}

enum { ROUNDS = 2000 };
static PIRP shared[ROUNDS];
static pthread_barrier_t meet;

static void *cancel_each(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&meet);
        (void)IoCancelIrp(shared[i]);
        pthread_barrier_wait(&meet);
    }
    return NULL;
}

/* Inserted and removed while another thread cancels it: it completes once. */
static void test_cancel_race(void **state)
{
    struct queue q;
    pthread_t thread;
    unsigned removed = 0;

    (void)state;
    open_queue(&q);
    pthread_barrier_init(&meet, NULL, 2);
    for (int i = 0; i < ROUNDS; i++)
        shared[i] = arrived(NULL);
    assert_int_equal(pthread_create(&thread, NULL, cancel_each, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        IO_CSQ_IRP_CONTEXT context;

        pthread_barrier_wait(&meet);
        assert_int_equal(IoCsqInsertIrpEx(&q.csq, shared[i], i % 2 ? &context : NULL, NULL), STATUS_SUCCESS);
        removed += (i % 2 ? IoCsqRemoveIrp(&q.csq, &context) : IoCsqRemoveNextIrp(&q.csq, NULL)) != NULL;
        pthread_barrier_wait(&meet);
        assert_int_equal(removed + __atomic_load_n(&q.cancelled, __ATOMIC_SEQ_CST), i + 1);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&meet);
    for (int i = 0; i < ROUNDS; i++)
        IoFreeIrp(shared[i]);
}

/* A buffer that cannot be locked: no request, no leak, and no exception. */
static void test_buffer_that_is_not_there(void **state)
{
    enum { DIRECT = CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_OUT_DIRECT, FILE_ANY_ACCESS) };
    UCHAR *pages = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DEVICE_OBJECT device = { .StackSize = 1, .Flags = DO_DIRECT_IO };
    uint32_t before = live_count();
    LARGE_INTEGER offset = { .QuadPart = 0 };
    NTSTATUS raised = STATUS_SUCCESS;
    IO_STATUS_BLOCK block;
    KEVENT event;
    UCHAR in[8] = { 0 };

    (void)state;
    assert_true(pages != MAP_FAILED);
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    __try {
        assert_null(
            IoBuildDeviceIoControlRequest(DIRECT, &device, in, sizeof in, pages, PAGE_SIZE, FALSE, &event, &block));
        assert_null(IoBuildSynchronousFsdRequest(IRP_MJ_READ, &device, pages, PAGE_SIZE, &offset, &event, &block));
        assert_null(IoBuildAsynchronousFsdRequest(IRP_MJ_READ, &device, pages, PAGE_SIZE, &offset, &block));
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        raised = GetExceptionCode();
    }
    assert_int_equal(raised, STATUS_SUCCESS);
    assert_int_equal(live_count(), before);
    munmap(pages, PAGE_SIZE);
}

/* ---- requests of the kernel ---- */

static struct _OBJECT_TYPE kept_type;
static bool is_freed;

static void on_freed(void *object)
{
    (void)object;
    is_freed = true;
}

static NTSTATUS dispatch_kept(PDEVICE_OBJECT device, PIRP irp)
{
    assert_false(is_freed);
    assert_int_equal(*(int *)device->DeviceExtension, 77);
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = 5;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

/* Creates a device and a request for it, and deletes the device. The device has the only reference to its driver. */
static PIRP make_for_deleted_device(void)
{
    PDRIVER_OBJECT owner;
    PDEVICE_OBJECT device;
    PIRP irp;

    kept_type = (struct _OBJECT_TYPE){ .name = "driver", .destroy = on_freed };
    is_freed = false;
    owner = ob_new(&kept_type, sizeof *owner);
    assert_non_null(owner);
    owner->MajorFunction[IRP_MJ_READ] = dispatch_kept;
    assert_int_equal(IoCreateDevice(owner, sizeof(int), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device), STATUS_SUCCESS);
    ob_unref(owner);
    *(int *)device->DeviceExtension = 77;
    irp = irp_new(device);
    assert_non_null(irp);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    IoDeleteDevice(device);
    return irp;
}

/* A device that is deleted before a request reaches it lives until the request has ended. */
static void test_device_deleted_before_request(void **state)
{
    uint32_t before = live_count();
    ULONG_PTR information = 0;
    PIRP irp = make_for_deleted_device();

    (void)state;
    assert_false(is_freed);
    assert_int_equal(irp_send(irp, &information), STATUS_SUCCESS);
    assert_int_equal(information, 5);
    assert_true(is_freed);
    irp = make_for_deleted_device();
    assert_false(is_freed);
    irp_free_unsent(irp);
    assert_true(is_freed);
    assert_int_equal(live_count(), before);
}

static void test_requestor(void **state)
{
    PIRP irp = IoAllocateIrp(1, FALSE);
    PGENERIC_MAPPING mapping = IoGetFileObjectGenericMapping();

    (void)state;
    irp->Tail.Overlay.Thread = NULL;
    assert_int_equal(IoGetRequestorProcessId(irp), 0);
    assert_null(IoGetRequestorProcess(irp));
    irp->Tail.Overlay.Thread = (struct _ETHREAD *)(void *)PsGetCurrentThread();
    assert_int_equal(IoGetRequestorProcessId(irp), (ULONG)(ULONG_PTR)PsGetCurrentProcessId());
    assert_ptr_equal(IoGetRequestorProcess(irp), PsGetCurrentProcess());
    assert_false(IoIs32bitProcess(irp));
    assert_false(IoIs32bitProcess(NULL));
    IoFreeIrp(irp);
    assert_int_equal(mapping->GenericRead, 0x120089); /* the values of Windows */
    assert_int_equal(mapping->GenericWrite, 0x120116);
    assert_int_equal(mapping->GenericExecute, 0x1200a0);
    assert_int_equal(mapping->GenericAll, 0x1f01ff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, set_up),
        cmocka_unit_test_setup(test_more_processing, set_up),
        cmocka_unit_test_setup(test_when_called, set_up),
        cmocka_unit_test_setup(test_mark_goes_up, set_up),
        cmocka_unit_test_setup(test_no_such_function, set_up),
        cmocka_unit_test(test_completed_after_free),
        cmocka_unit_test(test_buffer_that_is_not_there),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_not_queued),
        cmocka_unit_test(test_being_cancelled),
        cmocka_unit_test(test_cancel_race),
        cmocka_unit_test(test_device_deleted_before_request),
        cmocka_unit_test(test_requestor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
