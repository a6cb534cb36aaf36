/* SPDX-License-Identifier: MIT */
/* Events that drivers share by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "threads.h"
#include "wdk/common/live.h"

static void test_share(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\BaseNamedObjects\\Ready");
    UNICODE_STRING same = RTL_CONSTANT_STRING(L"\\basenamedobjects\\READY");
    UNICODE_STRING other = RTL_CONSTANT_STRING(L"\\BaseNamedObjects\\Other");
    uint32_t before = live_count();
    HANDLE first, second, third;
    PKEVENT event = IoCreateNotificationEvent(&name, &first), one;

    (void)state;
    assert_non_null(event);
    assert_int_equal(wait1(event, &zero), STATUS_SUCCESS);
    assert_int_equal(wait1(event, &zero), STATUS_SUCCESS);
    KeClearEvent(event);
    assert_ptr_equal(IoCreateSynchronizationEvent(&same, &second), event);
    assert_ptr_not_equal(first, second);
    assert_int_equal(wait1(event, &zero), STATUS_TIMEOUT);
    one = IoCreateSynchronizationEvent(&other, &third);
    assert_true(one && one != event);
    assert_int_equal(wait1(one, &zero), STATUS_SUCCESS);
    assert_int_equal(wait1(one, &zero), STATUS_TIMEOUT);
    assert_int_equal(live_count(), before + 3);
    assert_int_equal(ZwClose(first), STATUS_SUCCESS);
    KeSetEvent(event, IO_NO_INCREMENT, FALSE);
    assert_int_equal(wait1(event, &zero), STATUS_SUCCESS);
    assert_int_equal(ZwClose(second), STATUS_SUCCESS);
    assert_int_equal(ZwClose(third), STATUS_SUCCESS);
    assert_int_equal(live_count(), before);
}

/* The name ends with the last handle, the event with the last reference. The next event of that name is another one. */
static void test_last_handle(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Once");
    HANDLE handle, again;
    PVOID kept;
    PKEVENT event = IoCreateNotificationEvent(&name, &handle), next;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(handle, EVENT_ALL_ACCESS, *ExEventObjectType, KernelMode, &kept, NULL),
                     STATUS_SUCCESS);
    assert_ptr_equal(kept, event);
    KeClearEvent(event);
    ZwClose(handle);
    next = IoCreateNotificationEvent(&name, &again);
    assert_true(next && next != event);
    assert_int_equal(wait1(next, &zero), STATUS_SUCCESS);
    assert_int_equal(wait1(event, &zero), STATUS_TIMEOUT);
    ObDereferenceObject(kept);
    ZwClose(again);
}

static void test_bad_names(void **state)
{
    UNICODE_STRING relative = RTL_CONSTANT_STRING(L"Ready"), root = RTL_CONSTANT_STRING(L"\\"), none = { 0, 0, NULL };
    HANDLE handle = &none;

    (void)state;
    assert_null(IoCreateNotificationEvent(&relative, &handle));
    assert_null(handle);
    assert_null(IoCreateNotificationEvent(&root, &handle));
    assert_null(IoCreateSynchronizationEvent(&none, &handle));
}

enum { ROUNDS = 500 };

static void open_and_close(PVOID context)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Busy");
    HANDLE handle;

    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        PKEVENT event = IoCreateSynchronizationEvent(&name, &handle);

        assert_non_null(event);
        KeSetEvent(event, IO_NO_INCREMENT, FALSE);
        ZwClose(handle);
    }
}

static void test_threads(void **state)
{
    uint32_t before = live_count();
    PVOID threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        threads[i] = thread_start(open_and_close, NULL);
    for (int i = 0; i < 3; i++)
        thread_join(threads[i]);
    assert_int_equal(live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_share), cmocka_unit_test(test_last_handle),
                                        cmocka_unit_test(test_bad_names), cmocka_unit_test(test_threads) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
