/* SPDX-License-Identifier: MIT */
/* Callback objects, the bounds of a stack, and the clock's interval. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "live_count.h"
#include "report.h"

static NTSTATUS open_object(PCALLBACK_OBJECT *object, PCWSTR name, ULONG attributes, bool create, bool several)
{
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, name ? &wide : NULL, attributes | OBJ_CASE_INSENSITIVE, NULL, NULL);
    return ExCreateCallback(object, &a, create, several);
}

static char order[16];

static VOID routine(PVOID context, PVOID argument1, PVOID argument2)
{
    size_t n = strlen(order);

    assert_ptr_equal(argument1, &order);
    assert_null(argument2);
    order[n] = *(const char *)context;
    order[n + 1] = 0;
}

static void test_objects(void **state)
{
    uint32_t before = live_count();
    PCALLBACK_OBJECT object, same, other;

    (void)state;
    assert_int_equal(open_object(&object, NULL, 0, true, true), STATUS_UNSUCCESSFUL);
    assert_int_equal(open_object(&object, L"Mine", 0, true, true), STATUS_OBJECT_PATH_SYNTAX_BAD);
    assert_int_equal(open_object(&object, L"\\Callback\\Mine", 0, false, true), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_object(&object, L"\\Callback\\Mine", 0, true, true), STATUS_SUCCESS);
    assert_int_equal(open_object(&same, L"\\callback\\mine", 0, false, false), STATUS_SUCCESS);
    assert_ptr_equal(same, object);
    ObDereferenceObject(object);
    assert_int_equal(open_object(&same, L"\\Callback\\Mine", 0, true, false), STATUS_SUCCESS);
    assert_ptr_equal(same, object);
    ObDereferenceObject(same);
    ObDereferenceObject(same);
    assert_int_equal(open_object(&object, L"\\Callback\\Mine", 0, false, true), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_object(&object, L"\\Callback\\Always", OBJ_PERMANENT, true, false), STATUS_SUCCESS);
    ObDereferenceObject(object);
    assert_int_equal(open_object(&same, L"\\Callback\\Always", 0, false, false), STATUS_SUCCESS);
    assert_ptr_equal(same, object);
    ObDereferenceObject(same);
    assert_int_equal(open_object(&other, L"\\Callback\\PowerState", 0, false, false), STATUS_SUCCESS);
    ObDereferenceObject(other);
    assert_int_equal(live_count(), before);
}

static void test_notify(void **state)
{
    uint32_t before = live_count();
    PCALLBACK_OBJECT object, single;
    PVOID a, b, c;
    KIRQL irql;

    (void)state;
    order[0] = 0;
    assert_int_equal(open_object(&object, L"\\Callback\\Several", 0, true, true), STATUS_SUCCESS);
    assert_int_equal(open_object(&single, L"\\Callback\\Single", 0, true, false), STATUS_SUCCESS);
    a = ExRegisterCallback(object, routine, (PVOID)(uintptr_t) "a");
    b = ExRegisterCallback(object, routine, (PVOID)(uintptr_t) "b");
    c = ExRegisterCallback(object, routine, (PVOID)(uintptr_t) "c");
    assert_true(a && b && c);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    ExNotifyCallback(object, &order, NULL);
    KeLowerIrql(irql);
    assert_string_equal(order, "abc");
    ExUnregisterCallback(b);
    ExNotifyCallback(object, &order, NULL);
    assert_string_equal(order, "abcac");
    assert_int_equal(live_count(), before + 4); /* two references, two registrations */
    ObDereferenceObject(object);
    ExUnregisterCallback(a);
    ExUnregisterCallback(c);
    a = ExRegisterCallback(single, routine, (PVOID)(uintptr_t) "s");
    assert_non_null(a);
    assert_null(ExRegisterCallback(single, routine, (PVOID)(uintptr_t) "t"));
    ExUnregisterCallback(a);
    a = ExRegisterCallback(single, routine, (PVOID)(uintptr_t) "u");
    ExNotifyCallback(single, &order, NULL);
    assert_string_equal(order, "abcacu");
    ExUnregisterCallback(a);
    ObDereferenceObject(single);
    assert_int_equal(live_count(), before);
}

static atomic_int stage;

static void wait_for_stage(int expected)
{
    while (atomic_load(&stage) < expected)
        sched_yield();
}

static VOID slow(PVOID context, PVOID argument1, PVOID argument2)
{
    (void)argument1;
    (void)argument2;
    atomic_store(&stage, 1);
    wait_for_stage(2);
    atomic_store((atomic_int *)context, 1);
}

static void *notify(void *object)
{
    ExNotifyCallback(object, NULL, NULL);
    return NULL;
}

static void *allow_return(void *unused)
{
    atomic_store(&stage, 2);
    return unused;
}

/* Unregistering waits for a routine that runs. */
static void test_unregister_waits(void **state)
{
    PCALLBACK_OBJECT object;
    atomic_int has_returned = 0;
    pthread_t notifier, other;
    PVOID r;

    (void)state;
    assert_int_equal(open_object(&object, L"\\Callback\\Slow", 0, true, true), STATUS_SUCCESS);
    r = ExRegisterCallback(object, slow, &has_returned);
    assert_int_equal(pthread_create(&notifier, NULL, notify, object), 0);
    wait_for_stage(1);
    assert_int_equal(pthread_create(&other, NULL, allow_return, NULL), 0);
    ExUnregisterCallback(r);
    assert_int_equal(atomic_load(&has_returned), 1);
    assert_int_equal(pthread_join(notifier, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    ObDereferenceObject(object);
}

static VOID unregister_itself(PVOID context, PVOID argument1, PVOID argument2)
{
    (void)argument1;
    (void)argument2;
    ExUnregisterCallback(*(PVOID *)context);
}

static void test_misuse(void **state)
{
    PCALLBACK_OBJECT object;
    struct report *r = report_start();
    PVOID registration;

    (void)state;
    assert_int_equal(open_object(&object, L"\\Callback\\Itself", 0, true, true), STATUS_SUCCESS);
    registration = ExRegisterCallback(object, unregister_itself, &registration);
    ExNotifyCallback(object, NULL, NULL);
    report_says(r, "lock-recursive in ExUnregisterCallback", "waits for its own return");
    ExUnregisterCallback(registration);
    r = report_start();
    ExUnregisterCallback(&object);
    report_says(r, "reference in ExUnregisterCallback", "is no registration");
    ObDereferenceObject(object);
}

static void *check_stack(void *unused)
{
    ULONG_PTR low, high;

    IoGetStackLimits(&low, &high);
    assert_true(low < high && (ULONG_PTR)__builtin_frame_address(0) >= low);
    assert_true((ULONG_PTR)__builtin_frame_address(0) < high);
    assert_ptr_equal(IoGetInitialStack(), (PVOID)high);
    assert_true(IoGetRemainingStackSize() < high - low && IoGetRemainingStackSize() > 1024);
    return unused;
}

static void test_stack(void **state)
{
    pthread_t other;

    (void)state;
    (void)check_stack(NULL);
    assert_int_equal(pthread_create(&other, NULL, check_stack, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void test_resolution(void **state)
{
    ULONG most, least, now;

    (void)state;
    ExQueryTimerResolution(&most, &least, &now);
    assert_true(least < most);
    assert_int_equal(now, most);
    assert_int_equal(ExSetTimerResolution(20000, TRUE), 20000);
    assert_int_equal(ExSetTimerResolution(30000, TRUE), 20000);
    assert_int_equal(ExSetTimerResolution(1, TRUE), least);
    assert_int_equal(ExSetTimerResolution(0, FALSE), least);
    assert_int_equal(ExSetTimerResolution(0, FALSE), least);
    assert_int_equal(ExSetTimerResolution(0, FALSE), most);
    assert_int_equal(ExSetTimerResolution(0, FALSE), most);
    ExQueryTimerResolution(&most, &least, &now);
    assert_int_equal(now, most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),          cmocka_unit_test(test_notify), cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_unregister_waits), cmocka_unit_test(test_stack),  cmocka_unit_test(test_resolution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
