/* SPDX-License-Identifier: MIT */
/* Work items: their threads and order, blocked items, references, and misuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "live_count.h"
#include "threads.h"
#include "wdk/ob/object.h"

static atomic_int destroyed;

static void destroy(void *object)
{
    UNREFERENCED_PARAMETER(object);
    atomic_fetch_add(&destroyed, 1);
}

static struct _OBJECT_TYPE type = { .name = "test device", .destroy = destroy };

struct seen {
    KSEMAPHORE ran;
    KEVENT open;
    KIRQL irql;
    PVOID object, context, item;
    atomic_int inside;
};

static void calls_init(struct seen *s)
{
    *s = (struct seen){ .irql = 99 };
    KeInitializeSemaphore(&s->ran, 0, 100000);
    KeInitializeEvent(&s->open, NotificationEvent, FALSE);
}

static VOID note(struct _DEVICE_OBJECT *DeviceObject, PVOID Context)
{
    struct seen *s = Context;

    s->irql = KeGetCurrentIrql();
    s->object = DeviceObject;
    s->context = Context;
    KeReleaseSemaphore(&s->ran, 0, 1, FALSE);
}

static VOID note_ex(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem)
{
    struct seen *s = Context;

    s->item = IoWorkItem;
    note(IoObject, Context);
}

static VOID note_plain(PVOID Parameter)
{
    note(NULL, Parameter);
}

static VOID block(PVOID Parameter)
{
    struct seen *s = Parameter;

    atomic_fetch_add(&s->inside, 1);
    wait1(&s->open, NULL);
    KeReleaseSemaphore(&s->ran, 0, 1, FALSE);
}

/* Waits until the pool has released all items, which follows the end of the routines. */
static void until_idle(void)
{
    UNTIL(live_busy() == 0);
}

static void test_io_item(void **state)
{
    struct _DEVICE_OBJECT *device = ob_new(&type, 64);
    uint32_t left = live_count();
    PIO_WORKITEM w;
    struct seen s;
    int before = destroyed;

    (void)state;
    calls_init(&s);
    w = IoAllocateWorkItem(device);
    assert_non_null(w);
    assert_int_equal(live_count(), left + 1);
    IoQueueWorkItem(w, note, DelayedWorkQueue, &s);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.irql, PASSIVE_LEVEL);
    assert_ptr_equal(s.object, device);
    until_idle();
    assert_int_equal(destroyed, before);
    IoQueueWorkItemEx(w, note_ex, CriticalWorkQueue, &s);
    ob_unref(device); /* the item's reference is the last one */
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_ptr_equal(s.item, w);
    until_idle();
    assert_int_equal(destroyed, before + 1);
    IoFreeWorkItem(w);
    assert_int_equal(live_count(), left);
}

static void test_own_memory(void **state)
{
    PIO_WORKITEM w = malloc(IoSizeofWorkItem());
    struct _DEVICE_OBJECT *device = ob_new(&type, 64);
    struct seen s;

    (void)state;
    calls_init(&s);
    IoInitializeWorkItem(device, w);
    assert_true(IoTryQueueWorkItem(w, note_ex, DelayedWorkQueue, &s));
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    until_idle();
    IoUninitializeWorkItem(w);
    ob_unref(device);
    free(w);
}

struct rival {
    PIO_WORKITEM item;
    int queued;
    atomic_int called;
};

static VOID count_call(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem)
{
    UNREFERENCED_PARAMETER(IoObject);
    UNREFERENCED_PARAMETER(IoWorkItem);
    atomic_fetch_add(&((struct rival *)Context)->called, 1);
}

static void rival_tries(PVOID context)
{
    struct rival *r = context;

    for (int i = 0; i < 3000; i++)
        r->queued += IoTryQueueWorkItem(r->item, count_call, DelayedWorkQueue, r);
}

/* Several threads queue one item: the routine gets the context of the thread that succeeded. */
static void test_try_at_once(void **state)
{
    struct _DEVICE_OBJECT *device = ob_new(&type, 64);
    PIO_WORKITEM w = IoAllocateWorkItem(device);
    struct rival rivals[3];
    PVOID threads[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        rivals[i] = (struct rival){ .item = w };
        threads[i] = thread_start(rival_tries, &rivals[i]);
    }
    for (int i = 0; i < 3; i++)
        thread_join(threads[i]);
    until_idle();
    for (int i = 0; i < 3; i++)
        assert_int_equal(rivals[i].called, rivals[i].queued);
    IoFreeWorkItem(w);
    ob_unref(device);
}

static VOID free_item(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem)
{
    UNREFERENCED_PARAMETER(IoObject);
    IoFreeWorkItem(IoWorkItem);
    KeReleaseSemaphore(&((struct seen *)Context)->ran, 0, 1, FALSE);
}

static VOID again(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem)
{
    struct seen *s = Context;

    UNREFERENCED_PARAMETER(IoObject);
    if (atomic_fetch_add(&s->inside, 1) < 3)
        IoQueueWorkItemEx(IoWorkItem, again, DelayedWorkQueue, Context);
    else
        IoQueueWorkItemEx(IoWorkItem, free_item, DelayedWorkQueue, Context);
}

static void test_item_queues_and_frees_itself(void **state)
{
    struct _DEVICE_OBJECT *device = ob_new(&type, 64);
    uint32_t left = live_count();
    struct report *r = report_start();
    struct seen s;

    (void)state;
    calls_init(&s);
    IoQueueWorkItemEx(IoAllocateWorkItem(device), again, DelayedWorkQueue, &s);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.inside, 4);
    until_idle();
    assert_int_equal(live_count(), left);
    ob_unref(device);
    report_is_empty(r);
}

enum { BLOCKED = 20 };

static void test_blocked_items(void **state)
{
    WORK_QUEUE_ITEM items[BLOCKED], last;
    struct seen s, t;

    (void)state;
    calls_init(&s);
    calls_init(&t);
    for (int i = 0; i < BLOCKED; i++) {
        ExInitializeWorkItem(&items[i], block, &s);
        ExQueueWorkItem(&items[i], DelayedWorkQueue);
    }
    ExInitializeWorkItem(&last, note_plain, &t);
    ExQueueWorkItem(&last, DelayedWorkQueue);
    assert_int_equal(wait1(&t.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(t.irql, PASSIVE_LEVEL);
    UNTIL(s.inside == BLOCKED);
    assert_true(live_busy() >= BLOCKED); /* the driver's unload waits for them */
    KeSetEvent(&s.open, 0, FALSE);
    for (int i = 0; i < BLOCKED; i++)
        assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    until_idle();
}

enum { MOST = 64 };

static void blocked_start(WORK_QUEUE_ITEM *items, struct seen *s)
{
    calls_init(s);
    for (int i = 0; i < MOST; i++) {
        ExInitializeWorkItem(&items[i], block, s);
        ExQueueWorkItem(&items[i], DelayedWorkQueue);
    }
    UNTIL(s->inside == MOST);
}

static void blocked_end(struct seen *s)
{
    KeSetEvent(&s->open, 0, FALSE);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(wait1(&s->ran, NULL), STATUS_SUCCESS);
    until_idle();
}

/* While all threads are busy, an item stays queued. */
static void test_misuse_while_queued(void **state)
{
    struct _DEVICE_OBJECT *device = ob_new(&type, 64);
    WORK_QUEUE_ITEM items[MOST], ex;
    struct seen s, t;
    struct report *r;
    PIO_WORKITEM w;

    (void)state;
    blocked_start(items, &s);
    calls_init(&t);
    w = IoAllocateWorkItem(device);
    IoQueueWorkItem(w, note, DelayedWorkQueue, &t);
    ExInitializeWorkItem(&ex, note_plain, &t);
    ExQueueWorkItem(&ex, DelayedWorkQueue);
    r = report_start();
    IoQueueWorkItem(w, note, DelayedWorkQueue, &t);
    report_is(r, "work-item-queued in IoQueueWorkItem");
    assert_false(IoTryQueueWorkItem(w, note_ex, DelayedWorkQueue, &t));
    r = report_start();
    ExQueueWorkItem(&ex, DelayedWorkQueue);
    report_is(r, "work-item-queued in ExQueueWorkItem");
    r = report_start();
    inuse_check("ExFreePool", &ex, sizeof ex);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    r = report_start();
    IoFreeWorkItem(w);
    report_is(r, "object-freed-in-use in IoFreeWorkItem");
    r = report_start();
    IoFreeWorkItem(w);
    report_is(r, "object-not-initialized in IoFreeWorkItem");
    blocked_end(&s);
    assert_int_equal(wait1(&t.ran, NULL), STATUS_SUCCESS); /* of ex alone */
    assert_int_equal(wait1(&t.ran, &zero), STATUS_TIMEOUT);
    ob_unref(device);
}

static VOID keep_lock(PVOID Parameter)
{
    KIRQL irql;

    KeAcquireSpinLock((PKSPIN_LOCK)Parameter, &irql);
    KeLowerIrql(irql);
}

static VOID raise_irql(PVOID Parameter)
{
    UNREFERENCED_PARAMETER(Parameter);
    (void)KeRaiseIrqlToDpcLevel();
}

static void test_what_comes_back(void **state)
{
    WORK_QUEUE_ITEM item;
    struct report *r;
    KSPIN_LOCK lock;

    (void)state;
    KeInitializeSpinLock(&lock);
    r = report_start();
    ExInitializeWorkItem(&item, keep_lock, &lock);
    ExQueueWorkItem(&item, DelayedWorkQueue);
    UNTIL(report_so_far(r) > 0);
    report_is(r, "lock-held-at-end in work item");
    r = report_start();
    ExInitializeWorkItem(&item, raise_irql, NULL);
    ExQueueWorkItem(&item, DelayedWorkQueue);
    UNTIL(report_so_far(r) > 0);
    report_is(r, "irql-changed in work item");
}

static void test_irql(void **state)
{
    WORK_QUEUE_ITEM item;
    struct report *r;
    struct seen s;
    KIRQL irql;

    (void)state;
    calls_init(&s);
    ExInitializeWorkItem(&item, note_plain, &s);
    KeRaiseIrql(HIGH_LEVEL, &irql);
    r = report_start();
    ExQueueWorkItem(&item, DelayedWorkQueue);
    report_is(r, "irql-too-high in ExQueueWorkItem");
    KeLowerIrql(irql);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    until_idle();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_io_item),         cmocka_unit_test(test_own_memory),
        cmocka_unit_test(test_try_at_once),     cmocka_unit_test(test_item_queues_and_frees_itself),
        cmocka_unit_test(test_blocked_items),   cmocka_unit_test(test_misuse_while_queued),
        cmocka_unit_test(test_what_comes_back), cmocka_unit_test(test_irql),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
