/* SPDX-License-Identifier: MIT */
/* Device queues and StartIo: one request at a time, in order, each ended once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "report.h"
#include "wdk/ob/object.h"

/* ---- Queues ----------------------------------------------------------------------------------------------------- */

static KDEVICE_QUEUE_ENTRY entries[5];

static int index_of(PKDEVICE_QUEUE_ENTRY entry)
{
    return entry ? (int)(entry - entries) : -1;
}

static void test_queue(void **state)
{
    KDEVICE_QUEUE q;
    KIRQL irql;

    (void)state;
    KeInitializeDeviceQueue(&q);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    assert_false(KeInsertDeviceQueue(&q, &entries[0]));
    assert_true(KeInsertDeviceQueue(&q, &entries[1]));
    assert_true(KeInsertDeviceQueue(&q, &entries[2]));
    assert_true(KeInsertDeviceQueue(&q, &entries[3]));
    assert_true(KeRemoveEntryDeviceQueue(&q, &entries[2]));
    assert_false(KeRemoveEntryDeviceQueue(&q, &entries[2]));
    assert_false(KeRemoveEntryDeviceQueue(&q, &entries[0]));
    assert_int_equal(index_of(KeRemoveDeviceQueue(&q)), 1);
    assert_int_equal(index_of(KeRemoveDeviceQueue(&q)), 3);
    assert_int_equal(index_of(KeRemoveDeviceQueue(&q)), -1);
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueueIfBusy(&q, 0)), -1);
    assert_false(KeInsertDeviceQueue(&q, &entries[0]));
    KeLowerIrql(irql);
}

static void test_queue_by_key(void **state)
{
    static const ULONG keys[] = { 0, 7, 3, 7, MAXULONG };
    KDEVICE_QUEUE q;
    KIRQL irql;

    (void)state;
    KeInitializeDeviceQueue(&q);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    for (int i = 0; i < 5; i++)
        assert_int_equal(KeInsertByKeyDeviceQueue(&q, &entries[i], keys[i]), i > 0);
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueue(&q, 4)), 1); /* 3, 7, 7, most: of equals the first */
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueue(&q, MAXULONG)), 4);
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueueIfBusy(&q, 8)), 2); /* none: the first of all */
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueue(&q, 0)), 3);
    assert_int_equal(index_of(KeRemoveByKeyDeviceQueue(&q, 0)), -1);
    assert_false(q.Busy);
    KeLowerIrql(irql);
}

/* ---- StartIo ---------------------------------------------------------------------------------------------------- */

enum { REQUESTS = 6 };

static struct _OBJECT_TYPE type = { .name = "test driver" };
static PDRIVER_OBJECT driver;
static PDEVICE_OBJECT device;
static PIRP irps[REQUESTS];
static char trace[128];
static bool from_start_io; /* StartIo itself asks for the next */
static int depth;

static void note(char what, PIRP irp)
{
    size_t n = strlen(trace);
    int i = 0;

    while (irps[i] != irp)
        i++;
    snprintf(trace + n, sizeof trace - n, "%c%d ", what, i);
}

static VOID start_io(PDEVICE_OBJECT d, PIRP irp)
{
    assert_ptr_equal(d, device);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    assert_ptr_equal(d->CurrentIrp, irp);
    note('s', irp);
    depth++;
    if (from_start_io)
        IoStartNextPacket(d, TRUE);
    note('e', irp);
    depth--;
}

/* Queued, or the device's own: then the next one comes. */
static VOID cancel(PDEVICE_OBJECT d, PIRP irp)
{
    bool current = d->CurrentIrp == irp;

    if (!current)
        assert_true(KeRemoveEntryDeviceQueue(&d->DeviceQueue, &irp->Tail.Overlay.DeviceQueueEntry));
    IoReleaseCancelSpinLock(irp->CancelIrql);
    note('c', irp);
}

static int set_up(void **state)
{
    (void)state;
    driver = ob_new(&type, sizeof *driver);
    assert_non_null(driver);
    driver->DriverStartIo = start_io;
    assert_int_equal(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device), STATUS_SUCCESS);
    for (int i = 0; i < REQUESTS; i++) {
        irps[i] = IoAllocateIrp(1, FALSE);
        assert_non_null(irps[i]);
        IoSetNextIrpStackLocation(irps[i]);
        IoGetCurrentIrpStackLocation(irps[i])->DeviceObject = device;
    }
    trace[0] = 0;
    from_start_io = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < REQUESTS; i++)
        IoFreeIrp(irps[i]);
    IoDeleteDevice(device);
    ob_unref(driver);
    return 0;
}

static void next_packet(void)
{
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    IoStartNextPacket(device, TRUE);
    KeLowerIrql(irql);
}

static void test_one_at_a_time(void **state)
{
    ULONG key = 5;

    (void)state;
    for (int i = 0; i < 3; i++)
        IoStartPacket(device, irps[i], NULL, cancel);
    assert_string_equal(trace, "s0 e0 ");
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    next_packet();
    assert_string_equal(trace, "s0 e0 s1 e1 ");
    IoStartPacket(device, irps[3], &key, cancel);
    IoStartNextPacketByKey(device, TRUE, 5);
    assert_string_equal(trace, "s0 e0 s1 e1 s3 e3 ");
    next_packet();
    next_packet();
    assert_string_equal(trace, "s0 e0 s1 e1 s3 e3 s2 e2 ");
    assert_null(device->CurrentIrp);
    IoStartPacket(device, irps[4], NULL, NULL);
    assert_string_equal(trace, "s0 e0 s1 e1 s3 e3 s2 e2 s4 e4 ");
}

/* While it waits, while it is served, before it comes. */
static void test_cancel(void **state)
{
    (void)state;
    IoStartPacket(device, irps[0], NULL, cancel);
    IoStartPacket(device, irps[1], NULL, cancel);
    IoStartPacket(device, irps[2], NULL, cancel);
    assert_true(IoCancelIrp(irps[1]));
    assert_false(IoCancelIrp(irps[1]));
    assert_true(IoCancelIrp(irps[0]));
    irps[3]->Cancel = TRUE;
    IoStartPacket(device, irps[3], NULL, cancel);
    assert_string_equal(trace, "s0 e0 c1 c0 c3 ");
    next_packet();
    assert_string_equal(trace, "s0 e0 c1 c0 c3 s2 e2 ");
    next_packet();
    assert_null(device->CurrentIrp);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

static void test_not_cancelable(void **state)
{
    (void)state;
    IoSetStartIoAttributes(device, FALSE, TRUE);
    IoStartPacket(device, irps[0], NULL, cancel);
    IoStartPacket(device, irps[1], NULL, cancel);
    IoStartPacket(device, irps[2], NULL, cancel);
    assert_false(IoCancelIrp(irps[0]));
    next_packet();
    assert_false(IoCancelIrp(irps[1]));
    assert_true(IoCancelIrp(irps[2]));
    assert_string_equal(trace, "s0 e0 s1 e1 c2 ");
}

/* Each StartIo inside of the one before; deferred: one after the other. */
static void test_deferred(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        if (round)
            IoSetStartIoAttributes(device, TRUE, FALSE);
        from_start_io = false;
        trace[0] = 0;
        for (int i = 0; i < 4; i++)
            IoStartPacket(device, irps[i], NULL, cancel);
        from_start_io = true;
        next_packet();
        assert_string_equal(trace, round ? "s0 e0 s1 e1 s2 e2 s3 e3 " : "s0 e0 s1 s2 s3 e3 e2 e1 ");
        assert_int_equal(depth, 0);
        IoStartPacket(device, irps[4], NULL, cancel);
        assert_null(device->CurrentIrp);
    }
}

static void test_irql(void **state)
{
    struct report *r = report_start();

    (void)state;
    IoStartPacket(device, irps[0], NULL, NULL);
    report_is_empty(r);
    r = report_start();
    IoStartNextPacket(device, FALSE);
    report_is(r, "irql-too-low in IoStartNextPacket");
}

static PVOID dpc_got[3];
static KEVENT dpc_ran;

static VOID dpc(PKDPC d, PDEVICE_OBJECT of, PIRP irp, PVOID context)
{
    (void)d;
    dpc_got[0] = of;
    dpc_got[1] = irp;
    dpc_got[2] = context;
    IoStartNextPacket(of, FALSE);
    KeSetEvent(&dpc_ran, IO_NO_INCREMENT, FALSE);
}

static void test_dpc(void **state)
{
    (void)state;
    KeInitializeEvent(&dpc_ran, NotificationEvent, FALSE);
    IoInitializeDpcRequest(device, dpc);
    IoStartPacket(device, irps[0], NULL, NULL);
    IoStartPacket(device, irps[1], NULL, NULL);
    assert_true(IoRequestDpc(device, irps[0], trace));
    KeWaitForSingleObject(&dpc_ran, Executive, KernelMode, FALSE, NULL);
    KeFlushQueuedDpcs();
    assert_ptr_equal(dpc_got[0], device);
    assert_ptr_equal(dpc_got[1], irps[0]);
    assert_ptr_equal(dpc_got[2], trace);
    assert_string_equal(trace, "s0 e0 s1 e1 ");
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 400 };
static unsigned started, cancelled;
static bool inside;

static VOID start_and_end(PDEVICE_OBJECT d, PIRP irp)
{
    KIRQL irql;
    bool mine;

    assert_false(__atomic_exchange_n(&inside, true, __ATOMIC_SEQ_CST));
    IoAcquireCancelSpinLock(&irql);
    mine = IoSetCancelRoutine(irp, NULL) != NULL;
    IoReleaseCancelSpinLock(irql);
    if (mine)
        __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&inside, false, __ATOMIC_SEQ_CST);
    IoStartNextPacket(d, TRUE);
}

static VOID count_cancel(PDEVICE_OBJECT d, PIRP irp)
{
    if (d->CurrentIrp != irp)
        (void)KeRemoveEntryDeviceQueue(&d->DeviceQueue, &irp->Tail.Overlay.DeviceQueueEntry);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    __atomic_fetch_add(&cancelled, 1, __ATOMIC_SEQ_CST);
}

static void *send(void *context)
{
    PIRP *mine = context;

    for (int i = 0; i < ROUNDS; i++) {
        IoStartPacket(device, mine[i], NULL, count_cancel);
        if (i % 3 == 0)
            (void)IoCancelIrp(mine[i]);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static PIRP sent[THREADS][ROUNDS];
    pthread_t threads[THREADS];

    (void)state;
    driver->DriverStartIo = start_and_end;
    IoSetStartIoAttributes(device, TRUE, FALSE);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < ROUNDS; i++) {
            sent[t][i] = IoAllocateIrp(1, FALSE);
            IoSetNextIrpStackLocation(sent[t][i]);
            IoGetCurrentIrpStackLocation(sent[t][i])->DeviceObject = device;
        }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, send, sent[t]), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(started + cancelled, THREADS * ROUNDS);
    assert_null(device->CurrentIrp);
    assert_false(device->DeviceQueue.Busy);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < ROUNDS; i++)
            IoFreeIrp(sent[t][i]);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),     cmocka_unit_test(test_queue_by_key),
        WITH_DEVICE(test_one_at_a_time),  WITH_DEVICE(test_cancel),
        WITH_DEVICE(test_not_cancelable), WITH_DEVICE(test_deferred),
        WITH_DEVICE(test_irql),           WITH_DEVICE(test_dpc),
        WITH_DEVICE(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
