/* SPDX-License-Identifier: MIT */
/* The framework's objects, timers, work items and locks, as a miniport uses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdf.h"

#include "live_count.h"
#include "report.h"
#include "threads.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/object.h"

struct notes {
    char name;
    ULONG value;
};
typedef struct notes NOTES;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(NOTES, notes_of)
typedef struct {
    ULONG number;
} OTHER;
WDF_DECLARE_CONTEXT_TYPE(OTHER)

static char events[64]; /* letters in the order of the events */

static VOID event(char what, WDFOBJECT object)
{
    size_t n = strlen(events);

    events[n] = what;
    events[n + 1] = notes_of(object)->name;
}

static VOID cleaned(WDFOBJECT object)
{
    event('c', object);
}

static VOID destroyed(WDFOBJECT object)
{
    event('d', object);
}

static VOID unloads(WDFDRIVER driver)
{
    assert_non_null(WdfDriverWdmGetDriverObject(driver));
    events[strlen(events)] = 'u';
}

static NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(driver);
    UNREFERENCED_PARAMETER(path);
    return STATUS_SUCCESS;
}

static DRIVER_OBJECT object = { .DriverInit = entry };
static DEVICE_OBJECT port;
static WDFDRIVER driver;

static int start(void **state)
{
    UNICODE_STRING path = { 0 };
    WDF_DRIVER_CONFIG config;

    (void)state;
    memset(events, 0, sizeof events);
    WDF_DRIVER_CONFIG_INIT(&config, WDF_NO_EVENT_CALLBACK);
    config.DriverInitFlags = WdfDriverInitNoDispatchOverride;
    config.EvtDriverUnload = unloads;
    object.DriverUnload = NULL;
    assert_int_equal(WdfDriverCreate(&object, &path, WDF_NO_OBJECT_ATTRIBUTES, &config, &driver), STATUS_SUCCESS);
    assert_null(object.DriverUnload);
    assert_ptr_equal(WdfWdmDriverGetWdfDriverHandle(&object), driver);
    return 0;
}

/* The driver's unload deletes the rest of a test's tree. */
static int stop(void **state)
{
    (void)state;
    WdfDriverMiniportUnload(driver);
    assert_non_null(strchr(events, 'u'));
    assert_null(WdfWdmDriverGetWdfDriverHandle(&object));
    assert_int_equal(live_count(), 0);
    return 0;
}

static WDFOBJECT make(char name, WDFOBJECT parent)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFOBJECT made = NULL;

    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, NOTES);
    attributes.EvtCleanupCallback = cleaned;
    attributes.EvtDestroyCallback = destroyed;
    attributes.ParentObject = parent;
    assert_int_equal(WdfObjectCreate(&attributes, &made), STATUS_SUCCESS);
    assert_int_equal(notes_of(made)->value, 0);
    notes_of(made)->name = name;
    return made;
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void test_tree(void **state)
{
    WDFOBJECT a = make('A', NULL), b = make('B', a), c = make('C', b);

    (void)state;
    (void)make('D', a);
    WdfObjectReference(c);
    WdfObjectDelete(a);
    assert_string_equal(events, "cDcCcBcAdD");
    WdfObjectDereference(c);
    assert_string_equal(events, "cDcCcBcAdDdCdBdA");
}

static void test_contexts(void **state)
{
    WDFOBJECT a = make('A', NULL);
    WDF_OBJECT_ATTRIBUTES attributes;
    OTHER *other = NULL, *again = NULL;

    (void)state;
    assert_null(WdfObjectGet_OTHER(a));
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, OTHER);
    assert_int_equal(WdfObjectAllocateContext(a, &attributes, (PVOID *)&other), STATUS_SUCCESS);
    assert_int_equal(WdfObjectAllocateContext(a, &attributes, (PVOID *)&again), STATUS_OBJECT_NAME_EXISTS);
    assert_ptr_equal(other, again);
    assert_ptr_equal(WdfObjectGetTypedContext(a, OTHER), other);
    assert_int_equal(WdfObjectAllocateContext(a, &attributes, NULL), STATUS_OBJECT_NAME_EXISTS);
    assert_int_equal(WdfObjectAllocateContext(make('B', a), &attributes, NULL), STATUS_SUCCESS);
    assert_int_equal(notes_of(a)->name, 'A');
}

static void test_refused(void **state)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFOBJECT made;

    (void)state;
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.SynchronizationScope = WdfSynchronizationScopeDevice;
    assert_int_equal(WdfObjectCreate(&attributes, &made), STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.Size--;
    assert_int_equal(WdfObjectCreate(&attributes, &made), STATUS_INFO_LENGTH_MISMATCH);
}

static void test_handles(void **state)
{
    WDFOBJECT a = make('A', NULL);
    struct report *r = report_start();

    (void)state;
    assert_false(WdfTimerStart((WDFTIMER)a, -1));
    report_is(r, "wdf-handle in WdfTimerStart");
    WdfObjectDelete(a);
    r = report_start();
    WdfObjectDelete(a);
    report_is(r, "wdf-handle in WdfObjectDelete");
    r = report_start();
    WdfObjectDelete(driver);
    report_is(r, "wdf-delete in WdfObjectDelete");
}

/* The parent is deleted while the object is set up. The driver never gets the object, so nothing is called for it. */
static void test_parent_is_deleted(void **state)
{
    WDFOBJECT a = make('A', NULL);
    WDF_OBJECT_ATTRIBUTES attributes;
    struct wdf_object *o = NULL;

    (void)state;
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, NOTES);
    attributes.EvtCleanupCallback = cleaned;
    attributes.EvtDestroyCallback = destroyed;
    assert_int_equal(wdf_object_new(WDF_GENERAL, sizeof *o, &attributes, a, &o), STATUS_SUCCESS);
    WdfObjectDelete(a);
    assert_string_equal(events, "cA");
    assert_int_equal(wdf_object_publish(o), STATUS_DELETE_PENDING);
    assert_string_equal(events, "cAdA");
}

/* ---- Timers, work items ------------------------------------------------------------------------------------------ */

static volatile LONG begun, ended;

static VOID tick(WDFTIMER timer)
{
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    assert_non_null(timer);
    InterlockedIncrement(&begun);
    for (int i = 0; i < 50; i++)
        KeStallExecutionProcessor(1000);
    InterlockedIncrement(&ended);
}

static VOID pause_briefly(LONG milliseconds)
{
    LARGE_INTEGER time = { .QuadPart = WDF_REL_TIMEOUT_IN_MS((ULONGLONG)milliseconds) };

    KeDelayExecutionThread(KernelMode, FALSE, &time);
}

static void wait_until(const volatile LONG *value, LONG wanted)
{
    while (InterlockedCompareExchange((volatile LONG *)(uintptr_t)value, 0, 0) < wanted)
        pause_briefly(1);
}

static volatile LONG go_on;

static VOID wait_inside(const volatile LONG *value)
{
    while (!InterlockedCompareExchange((volatile LONG *)(uintptr_t)value, 0, 0))
        KeStallExecutionProcessor(100);
}

/* Starts itself again, as usual for timers that are not periodic. */
static VOID tick_again(WDFTIMER timer)
{
    InterlockedIncrement(&begun);
    wait_inside(&go_on);
    (void)WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_MS(1));
    InterlockedIncrement(&ended);
}

static VOID allow(PVOID context)
{
    UNREFERENCED_PARAMETER(context);
    pause_briefly(20); /* so that the other thread waits; a shorter time only weakens the test */
    InterlockedExchange(&go_on, 1);
}

static WDFDEVICE make_device(void)
{
    WDFDEVICE device = NULL;

    assert_int_equal(WdfDeviceMiniportCreate(driver, NULL, &port, NULL, NULL, &device), STATUS_SUCCESS);
    assert_ptr_equal(WdfDeviceWdmGetDeviceObject(device), &port);
    return device;
}

static WDFTIMER make_timer(PFN_WDF_TIMER routine, LONG period)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_TIMER_CONFIG config;
    WDFTIMER timer = NULL;

    WDF_TIMER_CONFIG_INIT_PERIODIC(&config, routine, period);
    assert_int_equal(WdfTimerCreate(&config, WDF_NO_OBJECT_ATTRIBUTES, &timer), STATUS_WDF_PARENT_NOT_SPECIFIED);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = driver;
    assert_int_equal(WdfTimerCreate(&config, &attributes, &timer), STATUS_INVALID_DEVICE_REQUEST);
    attributes.ParentObject = make_device();
    assert_int_equal(WdfTimerCreate(&config, &attributes, &timer), STATUS_SUCCESS);
    assert_ptr_equal(WdfTimerGetParentObject(timer), attributes.ParentObject);
    return timer;
}

static void test_timer(void **state)
{
    WDFTIMER timer = make_timer(tick, 0);

    (void)state;
    begun = ended = 0;
    assert_false(WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_SEC(1000)));
    assert_true(WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_SEC(1000)));
    assert_true(WdfTimerStop(timer, FALSE));
    assert_false(WdfTimerStop(timer, TRUE));
    assert_false(WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_MS(1)));
    wait_until(&begun, 1);
    (void)WdfTimerStop(timer, TRUE);
    assert_int_equal(InterlockedCompareExchange(&ended, 0, 0), 1);
}

static void test_periodic(void **state)
{
    WDFTIMER timer = make_timer(tick, 1);

    (void)state;
    begun = ended = 0;
    (void)WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_MS(1));
    wait_until(&begun, 2);
    WdfObjectDelete(timer); /* stops it, and its callback has ended */
    assert_int_equal(InterlockedCompareExchange(&begun, 0, 0), InterlockedCompareExchange(&ended, 0, 0));
}

/* A stop that waits also prevents a restart by the callback. */
static void test_restarted(void **state)
{
    WDFTIMER timer = make_timer(tick_again, 0);
    PVOID thread;
    LONG count;

    (void)state;
    for (int i = 0; i < 2; i++) {
        begun = ended = go_on = 0;
        (void)WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_MS(1));
        wait_until(&begun, 1);
        thread = thread_start(allow, NULL);
        if (i == 0)
            (void)WdfTimerStop(timer, TRUE);
        else
            WdfObjectDelete(timer);
        count = InterlockedCompareExchange(&begun, 0, 0);
        pause_briefly(20);
        assert_int_equal(InterlockedCompareExchange(&begun, 0, 0), count);
        assert_int_equal(InterlockedCompareExchange(&ended, 0, 0), count);
        thread_join(thread);
    }
}

static NTSTATUS preprocess(WDFDEVICE device, PIRP irp)
{
    UNREFERENCED_PARAMETER(device);
    events[strlen(events)] = 'p';
    return wdf_complete_irp(irp, STATUS_SUCCESS);
}

/* The driver has left a reference on its device. The device's last file may be closed after the unload. */
static void test_dispatch_after_unload(void **state)
{
    WDFDEVICE device = make_device();
    struct wdf_device *d = wdf_object_lookup("", device, WDF_DEVICE);
    PIRP irp = IoAllocateIrp(1, FALSE);

    d->init.preprocess[IRP_MJ_CLOSE].routine = preprocess;
    memset(d->init.preprocess[IRP_MJ_CLOSE].minors, 0xFF, sizeof d->init.preprocess[IRP_MJ_CLOSE].minors);
    WdfObjectReference(device);
    WdfDriverMiniportUnload(driver);
    IoSetNextIrpStackLocation(irp);
    IoGetCurrentIrpStackLocation(irp)->MajorFunction = IRP_MJ_CLOSE;
    assert_int_equal(wdf_dispatch(&port, irp), STATUS_SUCCESS);
    assert_null(strchr(events, 'p'));
    IoFreeIrp(irp);
    WdfObjectDereference(device);
    (void)start(state);
}

static volatile LONG gone;

static VOID is_deleted(WDFOBJECT item)
{
    UNREFERENCED_PARAMETER(item);
    InterlockedIncrement(&gone);
}

static WDFWORKITEM make_work(PFN_WDF_WORKITEM routine, PWDF_OBJECT_ATTRIBUTES attributes)
{
    WDF_WORKITEM_CONFIG config;
    WDFWORKITEM item = NULL;

    WDF_WORKITEM_CONFIG_INIT(&config, routine);
    attributes->ParentObject = make_device();
    assert_int_equal(WdfWorkItemCreate(&config, attributes, &item), STATUS_SUCCESS);
    return item;
}

static VOID work_once(WDFWORKITEM item)
{
    WdfObjectDelete(item);
    assert_int_equal(InterlockedCompareExchange(&gone, 0, 0), 0);
    assert_int_equal(notes_of(item)->name, 'W'); /* deleted after this callback */
    InterlockedIncrement(&ended);
}

/* As documented, the callback deletes an item that is not used again. The driver waits for that. */
static void test_work_deletes_itself(void **state)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFWORKITEM item;

    ended = gone = 0;
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, NOTES);
    attributes.EvtDestroyCallback = is_deleted;
    item = make_work(work_once, &attributes);
    notes_of(item)->name = 'W';
    WdfWorkItemEnqueue(item);
    wait_until(&ended, 1);
    WdfDriverMiniportUnload(driver);
    assert_int_equal(InterlockedCompareExchange(&gone, 0, 0), 1);
    (void)start(state);
}

static VOID cleaned_slowly(WDFOBJECT child)
{
    UNREFERENCED_PARAMETER(child);
    InterlockedIncrement(&begun);
    wait_inside(&go_on);
}

static VOID work_deleting(WDFWORKITEM item)
{
    WdfObjectDelete(item);
    InterlockedIncrement(&ended);
}

/* Also while the deletion of the item's children is in progress. */
static void test_unload_waits_for_work(void **state)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFWORKITEM item;
    WDFOBJECT child;
    PVOID thread;

    begun = ended = go_on = 0;
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    item = make_work(work_deleting, &attributes);
    attributes.ParentObject = item;
    attributes.EvtCleanupCallback = cleaned_slowly;
    assert_int_equal(WdfObjectCreate(&attributes, &child), STATUS_SUCCESS);
    WdfWorkItemEnqueue(item);
    wait_until(&begun, 1);
    thread = thread_start(allow, NULL);
    WdfDriverMiniportUnload(driver);
    assert_int_equal(InterlockedCompareExchange(&ended, 0, 0), 1);
    thread_join(thread);
    (void)start(state);
}

static VOID work(WDFWORKITEM item)
{
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_non_null(WdfWorkItemGetParentObject(item));
    InterlockedIncrement(&begun);
    pause_briefly(50);
    InterlockedIncrement(&ended);
}

static void test_work(void **state)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config;
    WDFWORKITEM item = NULL;
    WDFDEVICE device;

    (void)state;
    begun = ended = 0;
    WDF_WORKITEM_CONFIG_INIT(&config, work);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = driver;
    assert_int_equal(WdfWorkItemCreate(&config, &attributes, &item), STATUS_INVALID_DEVICE_REQUEST);
    device = make_device();
    attributes.ParentObject = device;
    assert_int_equal(WdfWorkItemCreate(&config, &attributes, &item), STATUS_SUCCESS);
    WdfWorkItemEnqueue(item);
    WdfWorkItemFlush(item);
    assert_int_equal(InterlockedCompareExchange(&ended, 0, 0), 1);
    WdfWorkItemEnqueue(item);
    WdfObjectDelete(device); /* and its children */
    assert_int_equal(InterlockedCompareExchange(&ended, 0, 0), 2);
}

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

static void test_locks(void **state)
{
    LONGLONG now = 0;
    WDFSPINLOCK spin;
    WDFWAITLOCK lock;
    struct report *r;
    KIRQL before;

    (void)state;
    assert_int_equal(WdfSpinLockCreate(WDF_NO_OBJECT_ATTRIBUTES, &spin), STATUS_SUCCESS);
    assert_int_equal(WdfWaitLockCreate(WDF_NO_OBJECT_ATTRIBUTES, &lock), STATUS_SUCCESS);
    WdfSpinLockAcquire(spin);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    WdfSpinLockRelease(spin);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_int_equal(WdfWaitLockAcquire(lock, &now), STATUS_SUCCESS);
    assert_true(KeAreApcsDisabled());
    WdfWaitLockRelease(lock);
    KeRaiseIrql(DISPATCH_LEVEL, &before);
    assert_int_equal(WdfWaitLockAcquire(lock, &now), STATUS_SUCCESS);
    KeLowerIrql(before);
    assert_true(KeAreApcsDisabled());
    r = report_start();
    assert_int_equal(WdfWaitLockAcquire(lock, NULL), STATUS_SUCCESS);
    report_is(r, "lock-recursive in WdfWaitLockAcquire");
    WdfWaitLockRelease(lock);
    assert_false(KeAreApcsDisabled());
    r = report_start();
    WdfWaitLockRelease(lock);
    report_is(r, "lock-not-held in WdfWaitLockRelease");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tree, start, stop),
        cmocka_unit_test_setup_teardown(test_contexts, start, stop),
        cmocka_unit_test_setup_teardown(test_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_handles, start, stop),
        cmocka_unit_test_setup_teardown(test_parent_is_deleted, start, stop),
        cmocka_unit_test_setup_teardown(test_dispatch_after_unload, start, stop),
        cmocka_unit_test_setup_teardown(test_timer, start, stop),
        cmocka_unit_test_setup_teardown(test_periodic, start, stop),
        cmocka_unit_test_setup_teardown(test_restarted, start, stop),
        cmocka_unit_test_setup_teardown(test_work, start, stop),
        cmocka_unit_test_setup_teardown(test_work_deletes_itself, start, stop),
        cmocka_unit_test_setup_teardown(test_unload_waits_for_work, start, stop),
        cmocka_unit_test_setup_teardown(test_locks, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
