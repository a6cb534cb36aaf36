/* SPDX-License-Identifier: MIT */
/* Queues (KQUEUE): the order of entries and threads, the limit of running threads, the end of a queue, and reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ntifs.h"

#include "threads.h"
#include "threads_more.h"
#include "wdk/io/irp.h"
#include "wdk/ke/queue.h"
#include "wdk/ob/object.h"

#define AS_ENTRY(status) ((PLIST_ENTRY)(LONG_PTR)(status))

static KQUEUE queue;
static LIST_ENTRY entries[4];

/* A thread that removes one entry, and then waits for an event. */
struct taker {
    PVOID thread;
    KEVENT may_end;
    _Atomic(PLIST_ENTRY) entry; /* what KeRemoveQueue has returned; NULL: nothing yet */
};

static VOID taker_run(PVOID context)
{
    struct taker *t = context;

    atomic_store(&t->entry, KeRemoveQueue(&queue, KernelMode, NULL));
    wait1(&t->may_end, NULL);
}

static ULONG count_waiters(void)
{
    ULONG n = 0;

    dispatch_lock();
    for (LIST_ENTRY *e = queue.Header.WaitListHead.Flink; e != &queue.Header.WaitListHead; e = e->Flink)
        n++;
    dispatch_unlock(NULL);
    return n;
}

static ULONG count_running(void)
{
    ULONG n;

    dispatch_lock();
    n = queue.CurrentCount;
    dispatch_unlock(NULL);
    return n;
}

static void taker_start(struct taker *t)
{
    ULONG waiters = count_waiters();

    KeInitializeEvent(&t->may_end, NotificationEvent, FALSE);
    atomic_init(&t->entry, NULL);
    t->thread = thread_start(taker_run, t);
    UNTIL(count_waiters() == waiters + 1);
}

static void taker_end(struct taker *t)
{
    KeSetEvent(&t->may_end, 0, FALSE);
    thread_join(t->thread);
}

static void test_queue_order(void **state)
{
    (void)state;
    KeInitializeQueue(&queue, 1);
    assert_int_equal(KeReadStateQueue(&queue), 0);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &zero), AS_ENTRY(STATUS_TIMEOUT));
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &ms), AS_ENTRY(STATUS_TIMEOUT));
    assert_int_equal(KeInsertQueue(&queue, &entries[0]), 0);
    assert_int_equal(KeInsertQueue(&queue, &entries[1]), 1);
    assert_int_equal(KeInsertHeadQueue(&queue, &entries[2]), 2);
    assert_int_equal(KeReadStateQueue(&queue), 3);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, NULL), &entries[2]);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &ms), &entries[0]);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &zero), &entries[1]);
    assert_null(entries[1].Flink);
    assert_int_equal(KeReadStateQueue(&queue), 0);
    assert_null(KeRundownQueue(&queue));
}

static void test_queue_several_entries(void **state)
{
    PLIST_ENTRY taken[3] = { NULL };

    (void)state;
    KeInitializeQueue(&queue, 0);
    assert_int_equal(queue.MaximumCount, KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS));
    for (int i = 0; i < 4; i++)
        KeInsertQueue(&queue, &entries[i]);
    assert_int_equal(KeRemoveQueueEx(&queue, KernelMode, FALSE, NULL, taken, 0), 0);
    assert_int_equal(KeRemoveQueueEx(&queue, KernelMode, FALSE, NULL, taken, 3), 3);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(taken[i], &entries[i]);
    assert_int_equal(KeRemoveQueueEx(&queue, KernelMode, FALSE, &zero, taken, 3), 1);
    assert_ptr_equal(taken[0], &entries[3]);
    assert_int_equal(KeRemoveQueueEx(&queue, KernelMode, TRUE, &ms, taken, 3), 1);
    assert_ptr_equal(taken[0], AS_ENTRY(STATUS_TIMEOUT));
    KeRundownQueue(&queue);
}

/* A queue with room for two running threads: the thread that has waited last receives the first entry. */
static void test_queue_wakes_last_waiter(void **state)
{
    struct taker first, last;

    (void)state;
    KeInitializeQueue(&queue, 2);
    taker_start(&first);
    taker_start(&last);
    assert_int_equal(KeInsertQueue(&queue, &entries[0]), 0);
    assert_int_equal(KeReadStateQueue(&queue), 0);
    assert_int_equal(KeInsertQueue(&queue, &entries[1]), 0);
    UNTIL(atomic_load(&first.entry) && atomic_load(&last.entry));
    assert_ptr_equal(last.entry, &entries[0]);
    assert_ptr_equal(first.entry, &entries[1]);
    taker_end(&first);
    taker_end(&last);
    assert_int_equal(count_running(), 0);
}

/*
 * The queue has room for one running thread, and this thread is it. Another thread receives the second entry only when
 * this thread waits.
 */
static void test_queue_limits_running_threads(void **state)
{
    struct taker other;

    (void)state;
    KeInitializeQueue(&queue, 1);
    taker_start(&other);
    KeInsertQueue(&queue, &entries[0]);
    UNTIL(atomic_load(&other.entry) && count_running() == 0); /* it waits for may_end */
    taker_end(&other);

    KeInsertQueue(&queue, &entries[1]);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &zero), &entries[1]);
    assert_int_equal(count_running(), 1);
    taker_start(&other);
    assert_int_equal(KeInsertQueue(&queue, &entries[2]), 0);
    assert_int_equal(KeReadStateQueue(&queue), 1);
    assert_null(other.entry);
    KeDelayExecutionThread(KernelMode, FALSE, &ms);
    UNTIL(atomic_load(&other.entry) == &entries[2]);
    taker_end(&other);
    assert_int_equal(count_running(), 1);
    assert_null(KeRundownQueue(&queue));
}

static VOID remove_and_end(PVOID context)
{
    UNREFERENCED_PARAMETER(context);
    (void)KeRemoveQueue(&queue, KernelMode, NULL);
}

/* A thread that ends, or that removes from another queue, makes room for another thread. */
static void test_queue_thread_leaves(void **state)
{
    struct taker other;
    KQUEUE another;

    (void)state;
    KeInitializeQueue(&queue, 1);
    KeInitializeQueue(&another, 1);
    KeInsertQueue(&queue, &entries[0]);
    thread_join(thread_start(remove_and_end, NULL));
    assert_int_equal(count_running(), 0);
    KeInsertQueue(&queue, &entries[0]);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, NULL), &entries[0]);
    taker_start(&other);
    KeInsertQueue(&queue, &entries[1]);
    assert_int_equal(KeReadStateQueue(&queue), 1);
    assert_ptr_equal(KeRemoveQueue(&another, KernelMode, &zero), AS_ENTRY(STATUS_TIMEOUT));
    assert_int_equal(KeReadStateQueue(&queue), 0);
    taker_end(&other);
    assert_ptr_equal(other.entry, &entries[1]);
    KeRundownQueue(&another);
}

/* ---- Borrowed threads -------------------------------------------------------------------------------------------- */

/* A routine that a thread of the kernel runs, and what it has seen. */
struct borrower {
    PLIST_ENTRY entry;
    ULONG running;
    KEVENT done;
};

static VOID borrower_remove(PVOID context)
{
    struct borrower *b = context;

    b->entry = KeRemoveQueue(&queue, KernelMode, &zero);
    b->running = count_running();
    KeSetEvent(&b->done, 0, FALSE);
}

static VOID borrower_deferred(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    (void)Dpc;
    (void)SystemArgument1;
    (void)SystemArgument2;
    borrower_remove(DeferredContext);
}

static NTSTATUS borrower_dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    borrower_remove(device->DeviceExtension);
    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static void borrower_prepare(struct borrower *b)
{
    KeInitializeEvent(&b->done, NotificationEvent, FALSE);
    KeInitializeQueue(&queue, 1);
    KeInsertQueue(&queue, &entries[0]);
}

/* Checks that the routine has removed the entry as a member of the queue, or not, and that no thread belongs to it. */
static void borrower_check(struct borrower *b, ULONG running)
{
    wait1(&b->done, NULL);
    assert_ptr_equal(b->entry, &entries[0]);
    assert_int_equal(b->running, running);
    UNTIL(count_running() == 0); /* the routine may not have returned yet */
    assert_null(KeRundownQueue(&queue));
}

/* A worker belongs to a queue until the work item returns. A thread that runs DPCs does not join it. */
static void test_queue_borrowed_threads(void **state)
{
    WORK_QUEUE_ITEM item;
    struct borrower b;
    KDPC dpc;

    (void)state;
    borrower_prepare(&b);
    ExInitializeWorkItem(&item, borrower_remove, &b);
    ExQueueWorkItem(&item, DelayedWorkQueue);
    borrower_check(&b, 1);

    borrower_prepare(&b);
    KeInitializeDpc(&dpc, borrower_deferred, &b);
    KeInsertQueueDpc(&dpc, NULL, NULL);
    borrower_check(&b, 0);

    borrower_prepare(&b);
    KeInitializeThreadedDpc(&dpc, borrower_deferred, &b);
    KeInsertQueueDpc(&dpc, NULL, NULL);
    borrower_check(&b, 1);
}

/* A program's thread belongs to a queue until the dispatch routine returns. */
static void test_queue_dispatch_routine(void **state)
{
    struct borrower b;
    DRIVER_OBJECT driver = { .MajorFunction[IRP_MJ_READ] = borrower_dispatch };
    DEVICE_OBJECT device = { .DriverObject = &driver, .StackSize = 1, .DeviceExtension = &b };
    PIRP irp = IoAllocateIrp(1, FALSE);

    (void)state;
    borrower_prepare(&b);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    assert_int_equal(IoCallDriver(&device, irp), STATUS_SUCCESS);
    assert_int_equal(count_running(), 0);
    borrower_check(&b, 1);
}

/* ---- Other waits ------------------------------------------------------------------------------------------------- */

static KGUARDED_MUTEX mutex;
static EX_PUSH_LOCK push_lock;
static EX_RUNDOWN_REF rundown;
static PDEVICE_OBJECT pending_device;
static _Atomic(PIRP) pending;

static void mutex_acquire(void)
{
    KeInitializeGuardedMutex(&mutex);
    KeAcquireGuardedMutex(&mutex);
}

static void mutex_release(void)
{
    KeReleaseGuardedMutex(&mutex);
}

static void mutex_pass(void)
{
    KeAcquireGuardedMutex(&mutex);
    KeReleaseGuardedMutex(&mutex);
}

static void push_lock_acquire(void)
{
    ExInitializePushLock(&push_lock);
    ExAcquirePushLockExclusive(&push_lock);
}

static void push_lock_release(void)
{
    ExReleasePushLockExclusive(&push_lock);
}

static void push_lock_pass(void)
{
    ExAcquirePushLockShared(&push_lock);
    ExReleasePushLockShared(&push_lock);
}

static void rundown_acquire(void)
{
    ExInitializeRundownProtection(&rundown);
    assert_true(ExAcquireRundownProtection(&rundown));
}

static void rundown_release(void)
{
    ExReleaseRundownProtection(&rundown);
}

static void rundown_pass(void)
{
    ExWaitForRundownProtectionRelease(&rundown);
}

static NTSTATUS request_dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    (void)device;
    IoMarkIrpPending(irp);
    atomic_store(&pending, irp);
    return STATUS_PENDING;
}

static struct _OBJECT_TYPE owner_type = { .name = "driver" };

static void request_prepare(void)
{
    PDRIVER_OBJECT owner = ob_new(&owner_type, sizeof *owner);

    assert_non_null(owner);
    owner->MajorFunction[IRP_MJ_READ] = request_dispatch;
    assert_int_equal(IoCreateDevice(owner, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &pending_device), STATUS_SUCCESS);
    ob_unref(owner);
    atomic_store(&pending, NULL);
}

static void request_release(void)
{
    PIRP irp = atomic_load(&pending);

    irp->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

static void request_pass(void)
{
    PIRP irp = irp_new(pending_device);

    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    (void)irp_send(irp, NULL);
    IoDeleteDevice(pending_device);
}

/* `pass` waits while another thread is between `acquire` and `release`. */
struct passage {
    void (*acquire)(void), (*pass)(void), (*release)(void);
};

static VOID remove_and_pass(PVOID context)
{
    (void)KeRemoveQueue(&queue, KernelMode, NULL);
    (*(void (**)(void))context)();
}

/* While a member of the queue waits in one of these ways, another thread runs. Afterwards the member runs again. */
static void test_queue_other_waits(void **state)
{
    static struct passage passages[] = {
        { mutex_acquire, mutex_pass, mutex_release },
        { push_lock_acquire, push_lock_pass, push_lock_release },
        { rundown_acquire, rundown_pass, rundown_release },
        { request_prepare, request_pass, request_release },
    };

    (void)state;
    for (size_t i = 0; i < sizeof passages / sizeof passages[0]; i++) {
        struct taker other;
        PVOID thread;

        KeInitializeQueue(&queue, 1);
        passages[i].acquire();
        KeInsertQueue(&queue, &entries[0]);
        thread = thread_start(remove_and_pass, &passages[i].pass);
        UNTIL(KeReadStateQueue(&queue) == 0);
        taker_start(&other);
        KeInsertQueue(&queue, &entries[1]);
        UNTIL(atomic_load(&other.entry) == &entries[1]);
        passages[i].release();
        thread_join(thread);
        taker_end(&other);
        assert_int_equal(count_running(), 0);
        KeRundownQueue(&queue);
    }
}

static void test_queue_run_down(void **state)
{
    struct taker waiting;
    PLIST_ENTRY first;

    (void)state;
    KeInitializeQueue(&queue, 1);
    taker_start(&waiting);
    assert_null(KeRundownQueue(&queue));
    UNTIL(atomic_load(&waiting.entry));
    assert_ptr_equal(waiting.entry, AS_ENTRY(STATUS_ABANDONED));
    taker_end(&waiting);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &ms), AS_ENTRY(STATUS_ABANDONED));

    KeInitializeQueue(&queue, 1);
    for (int i = 0; i < 3; i++)
        KeInsertQueue(&queue, &entries[i]);
    first = KeRundownQueue(&queue);
    assert_ptr_equal(first, &entries[0]);
    assert_ptr_equal(first->Flink, &entries[1]);
    assert_ptr_equal(first->Flink->Flink, &entries[2]);
    assert_ptr_equal(first->Flink->Flink->Flink, first);
    assert_int_equal(KeReadStateQueue(&queue), 0);
}

static void test_queue_rules(void **state)
{
    struct report *r;
    KQUEUE empty = { 0 };
    PKQUEUE freed = ExAllocatePoolWithTag(NonPagedPool, sizeof *freed, 'euqT');
    KIRQL irql;

    (void)state;
    KeInitializeQueue(&queue, 1);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    r = report_start();
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &zero), AS_ENTRY(STATUS_TIMEOUT));
    report_is_empty(r);
    r = report_start();
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &ms), AS_ENTRY(STATUS_TIMEOUT));
    report_is(r, "wait-at-dispatch in KeRemoveQueue");
    KeLowerIrql(irql);
    assert_int_equal(count_running(), 0);
    assert_ptr_equal(KeRemoveQueue(&queue, KernelMode, &zero), AS_ENTRY(STATUS_TIMEOUT));
    r = report_start();
    KeInitializeQueue(&queue, 1);
    report_is(r, "object-reinitialized in KeInitializeQueue");
    KeRundownQueue(&queue);
    r = report_start();
    KeInsertQueue(&empty, &entries[0]);
    report_is(r, "object-not-initialized in KeInsertQueue");

    assert_non_null(freed);
    KeInitializeQueue(freed, 1);
    assert_ptr_equal(KeRemoveQueue(freed, KernelMode, &zero), AS_ENTRY(STATUS_TIMEOUT));
    r = report_start();
    inuse_check("ExFreePoolWithTag", freed, sizeof *freed);
    report_says(r, "object-freed-in-use in ExFreePoolWithTag", "queue to which a thread belongs");
    KeRundownQueue(freed);
    r = report_start();
    ExFreePoolWithTag(freed, 'euqT');
    report_is_empty(r);
}

int queues_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_order),
        cmocka_unit_test(test_queue_several_entries),
        cmocka_unit_test(test_queue_wakes_last_waiter),
        cmocka_unit_test(test_queue_limits_running_threads),
        cmocka_unit_test(test_queue_thread_leaves),
        cmocka_unit_test(test_queue_borrowed_threads),
        cmocka_unit_test(test_queue_dispatch_routine),
        cmocka_unit_test(test_queue_other_waits),
        cmocka_unit_test(test_queue_run_down),
        cmocka_unit_test(test_queue_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
