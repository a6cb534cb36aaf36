/* SPDX-License-Identifier: MIT */
/* Events that drivers share by name; directories, symbolic links, and the names of objects. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ntifs.h"

#include "child.h"
#include "live_count.h"
#include "threads.h"

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

static OBJECT_ATTRIBUTES named(PUNICODE_STRING name, ULONG attributes)
{
    OBJECT_ATTRIBUTES result;

    InitializeObjectAttributes(&result, name, OBJ_KERNEL_HANDLE | attributes, NULL, NULL);
    return result;
}

static void test_zw(void **state)
{
    uint32_t before = live_count();
    HANDLE once, stays;
    LONG previous = 9;

    (void)state;
    assert_int_equal(ZwCreateEvent(&once, EVENT_ALL_ACCESS, NULL, SynchronizationEvent, FALSE), STATUS_SUCCESS);
    assert_int_equal(ZwCreateEvent(&stays, EVENT_ALL_ACCESS, NULL, NotificationEvent, TRUE), STATUS_SUCCESS);
    assert_int_equal(live_count(), before + 2);
    assert_int_equal(ZwWaitForSingleObject(once, FALSE, &zero), STATUS_TIMEOUT);
    assert_int_equal(ZwSetEvent(once, &previous), STATUS_SUCCESS);
    assert_int_equal(previous, 0);
    assert_int_equal(ZwSetEvent(once, &previous), STATUS_SUCCESS);
    assert_int_not_equal(previous, 0);
    assert_int_equal(ZwWaitForSingleObject(once, FALSE, &zero), STATUS_SUCCESS);
    assert_int_equal(ZwWaitForSingleObject(once, FALSE, &zero), STATUS_TIMEOUT);
    assert_int_equal(ZwWaitForSingleObject(stays, FALSE, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwWaitForSingleObject(stays, FALSE, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwClose(once), STATUS_SUCCESS);
    assert_int_equal(ZwCreateEvent(&once, EVENT_ALL_ACCESS, NULL, (EVENT_TYPE)7, FALSE), STATUS_INVALID_PARAMETER_4);
    assert_null(once);
    assert_int_equal(ZwClose(stays), STATUS_SUCCESS);
}

static void test_zw_names(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\BaseNamedObjects\\Zw"), none = { 0, 0, NULL };
    UNICODE_STRING relative = RTL_CONSTANT_STRING(L"Zw"), other = RTL_CONSTANT_STRING(L"\\Other");
    OBJECT_ATTRIBUTES attributes = named(&name, 0), open_if = named(&name, OBJ_OPENIF), bad = named(&none, 0);
    uint32_t before = live_count();
    HANDLE first, second, third;
    PKEVENT event;

    (void)state;
    assert_int_equal(ZwOpenEvent(&first, EVENT_ALL_ACCESS, &attributes), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ZwCreateEvent(&first, EVENT_ALL_ACCESS, &attributes, NotificationEvent, FALSE), STATUS_SUCCESS);
    assert_int_equal(ZwCreateEvent(&second, EVENT_ALL_ACCESS, &attributes, NotificationEvent, FALSE),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_null(second);
    assert_int_equal(ZwCreateEvent(&second, EVENT_ALL_ACCESS, &open_if, SynchronizationEvent, TRUE),
                     STATUS_OBJECT_NAME_EXISTS);
    event = IoCreateNotificationEvent(&name, &third); /* the same event, which stays as it is */
    assert_int_equal(wait1(event, &zero), STATUS_TIMEOUT);
    assert_int_equal(ZwSetEvent(second, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(event, &zero), STATUS_SUCCESS);
    assert_int_equal(ZwWaitForSingleObject(first, FALSE, &zero), STATUS_SUCCESS);
    ZwClose(first);
    ZwClose(third);
    assert_int_equal(ZwOpenEvent(&first, EVENT_ALL_ACCESS, &attributes), STATUS_SUCCESS);
    ZwClose(first);
    ZwClose(second);
    assert_int_equal(ZwOpenEvent(&first, EVENT_ALL_ACCESS, &attributes), STATUS_OBJECT_NAME_NOT_FOUND);

    assert_int_equal(ZwCreateEvent(&first, 0, &bad, NotificationEvent, FALSE), STATUS_OBJECT_PATH_SYNTAX_BAD);
    bad = named(&relative, 0);
    assert_int_equal(ZwOpenEvent(&first, 0, &bad), STATUS_OBJECT_PATH_SYNTAX_BAD);
    bad = named(&other, 0);
    bad.Length = 4;
    assert_int_equal(ZwCreateEvent(&first, 0, &bad, NotificationEvent, FALSE), STATUS_INVALID_PARAMETER);
    assert_int_equal(ZwOpenEvent(&first, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(live_count(), before);
}

static VOID ends_at_once(PVOID context)
{
    (void)context;
}

static void test_zw_other_handles(void **state)
{
    OBJECT_ATTRIBUTES attributes = named(NULL, 0);
    HANDLE thread;

    (void)state;
    assert_int_equal(PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, &attributes, NULL, NULL, ends_at_once, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwWaitForSingleObject(thread, FALSE, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwSetEvent(thread, NULL), STATUS_OBJECT_TYPE_MISMATCH);
    ZwClose(thread);
}

static void wait_for_closed_handle(void)
{
    HANDLE handle;

    ZwCreateEvent(&handle, EVENT_ALL_ACCESS, NULL, NotificationEvent, TRUE);
    ZwClose(handle);
    ZwWaitForSingleObject(handle, FALSE, NULL);
}

/* The events of memory conditions exist, and show that memory is not short. */
static void test_system_events(void **state)
{
    static struct {
        UNICODE_STRING name;
        NTSTATUS wait;
    } events[] = {
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighMemoryCondition"), STATUS_SUCCESS },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowMemoryCondition"), STATUS_TIMEOUT },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowCommitCondition"), STATUS_SUCCESS },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighCommitCondition"), STATUS_TIMEOUT },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\MaximumCommitCondition"), STATUS_TIMEOUT },
    };
    uint32_t before = live_count();
    HANDLE handle;
    PKEVENT event;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        OBJECT_ATTRIBUTES attributes = named(&events[i].name, 0), open_if = named(&events[i].name, OBJ_OPENIF);

        assert_int_equal(ZwOpenEvent(&handle, SYNCHRONIZE, &attributes), STATUS_SUCCESS);
        assert_int_equal(ZwWaitForSingleObject(handle, FALSE, &zero), events[i].wait);
        assert_int_equal(ZwWaitForSingleObject(handle, FALSE, &zero), events[i].wait);
        assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
        event = IoCreateSynchronizationEvent(&events[i].name, &handle);
        assert_non_null(event);
        assert_int_equal(wait1(event, &zero), events[i].wait);
        assert_int_equal(wait1(event, &zero), events[i].wait);
        assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
        assert_int_equal(ZwCreateEvent(&handle, SYNCHRONIZE, &attributes, NotificationEvent, FALSE),
                         STATUS_OBJECT_NAME_COLLISION);
        assert_int_equal(
            ZwCreateEvent(&handle, SYNCHRONIZE, &open_if, SynchronizationEvent, events[i].wait == STATUS_TIMEOUT),
            STATUS_OBJECT_NAME_EXISTS);
        assert_int_equal(ZwWaitForSingleObject(handle, FALSE, &zero), events[i].wait);
        assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
        assert_int_equal(live_count(), before);
    }
}

static void test_zw_closed(void **state)
{
    (void)state;
    child_aborts(wait_for_closed_handle);
}

static HANDLE create_directory(PUNICODE_STRING name, ULONG attributes, NTSTATUS expected)
{
    OBJECT_ATTRIBUTES a;
    HANDLE handle = NULL;

    InitializeObjectAttributes(&a, name, attributes, NULL, NULL);
    assert_int_equal(ZwCreateDirectoryObject(&handle, DIRECTORY_ALL_ACCESS, &a), expected);
    return handle;
}

/* Returns the length of the object's name, whose beginning is stored in `text`. */
static ULONG query_name(PVOID object, WCHAR text[40])
{
    struct {
        OBJECT_NAME_INFORMATION info;
        WCHAR room[40];
    } buffer;
    ULONG need = 0, again = 0;

    assert_int_equal(ObQueryNameString(object, NULL, 0, &need), STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(ObQueryNameString(object, &buffer.info, need - 1, &again), STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(again, need);
    assert_int_equal(ObQueryNameString(object, &buffer.info, need, &again), STATUS_SUCCESS);
    assert_int_equal(again, need);
    if (!buffer.info.Name.Buffer)
        return 0;
    assert_int_equal(buffer.info.Name.MaximumLength, buffer.info.Name.Length + sizeof(WCHAR));
    assert_int_equal(need, sizeof buffer.info + buffer.info.Name.MaximumLength);
    memcpy(text, buffer.info.Name.Buffer, buffer.info.Name.MaximumLength);
    return buffer.info.Name.Length;
}

static void test_directories(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Disks"), upper = RTL_CONSTANT_STRING(L"\\DEVICE\\DISKS"),
                   relative = RTL_CONSTANT_STRING(L"Disks");
    uint32_t before = live_count();
    HANDLE first, second;
    PVOID object;
    WCHAR text[40] = { 0 };

    (void)state;
    assert_null(create_directory(&relative, 0, STATUS_OBJECT_NAME_INVALID));
    first = create_directory(&name, OBJ_PERMANENT, STATUS_SUCCESS);
    assert_null(create_directory(&upper, 0, STATUS_OBJECT_NAME_COLLISION));
    second = create_directory(&upper, OBJ_OPENIF, STATUS_OBJECT_NAME_EXISTS);
    assert_int_equal(ObReferenceObjectByHandle(second, 0, NULL, KernelMode, &object, NULL), STATUS_SUCCESS);
    assert_int_equal(query_name(object, text), name.Length);
    assert_memory_equal(text, name.Buffer, name.Length + sizeof(WCHAR));
    ObDereferenceObject(object);
    assert_int_equal(query_name(PsGetCurrentThread(), text), 0);
    ZwClose(first);
    ZwClose(second);
    second = create_directory(&name, OBJ_OPENIF, STATUS_OBJECT_NAME_EXISTS); /* it is permanent */
    assert_int_equal(ZwMakeTemporaryObject(second), STATUS_SUCCESS);
    assert_int_equal(ZwMakeTemporaryObject(second), STATUS_SUCCESS);
    assert_null(create_directory(&name, 0, STATUS_OBJECT_NAME_COLLISION));
    ZwClose(second);
    ZwClose(create_directory(&name, 0, STATUS_SUCCESS));
    ZwClose(create_directory(&name, 0, STATUS_SUCCESS));
    assert_int_equal(live_count(), before);
}

static atomic_uint busy_opened; /* how often directory_open_often has opened \Device\Busy */
static atomic_bool busy_ends;

/* Opens the directory, which others create and close, too. Checks that it has its name while it is open. */
static HANDLE directory_open_busy(ULONG attributes)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Busy");
    OBJECT_ATTRIBUTES a = named(&name, OBJ_OPENIF | attributes);
    WCHAR text[40];
    HANDLE handle;
    PVOID object;

    assert_true(NT_SUCCESS(ZwCreateDirectoryObject(&handle, DIRECTORY_ALL_ACCESS, &a)));
    if (attributes & OBJ_PERMANENT)
        assert_int_equal(ZwMakeTemporaryObject(handle), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(handle, 0, NULL, KernelMode, &object, NULL), STATUS_SUCCESS);
    assert_int_equal(query_name(object, text), name.Length);
    ObDereferenceObject(object);
    return handle;
}

static void directory_open_often(PVOID context)
{
    (void)context;
    for (ULONG i = 0; !atomic_load(&busy_ends); i++) {
        ZwClose(directory_open_busy(i % 2 ? OBJ_PERMANENT : 0));
        atomic_fetch_add(&busy_opened, 1);
    }
}

/* This thread closes the directory while two others open it, so that they find it before or after the close. */
static void test_directory_threads(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Busy");
    uint32_t before = live_count();
    PVOID threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        threads[i] = thread_start(directory_open_often, NULL);
    for (int i = 0; i < ROUNDS / 4; i++) {
        HANDLE handle = directory_open_busy(0);
        unsigned opened = atomic_load(&busy_opened);

        while (atomic_load(&busy_opened) == opened)
            sched_yield();
        ZwClose(handle);
    }
    atomic_store(&busy_ends, true);
    for (int i = 0; i < 2; i++)
        thread_join(threads[i]);
    ZwClose(create_directory(&name, 0, STATUS_SUCCESS)); /* no name is left */
    assert_int_equal(live_count(), before);
}

static void test_links(void **state)
{
    UNICODE_STRING link = RTL_CONSTANT_STRING(L"\\??\\D:"), target = RTL_CONSTANT_STRING(L"\\Device\\Disk0"),
                   dos = RTL_CONSTANT_STRING(L"\\DosDevices\\d:"), none = RTL_CONSTANT_STRING(L"\\??\\E:");
    WCHAR room[20];
    UNICODE_STRING found = { 0, target.Length, room };
    OBJECT_ATTRIBUTES a;
    ULONG length = 0;
    HANDLE handle;

    (void)state;
    assert_int_equal(IoCreateSymbolicLink(&link, &target), STATUS_SUCCESS);
    InitializeObjectAttributes(&a, &none, 0, NULL, NULL);
    assert_int_equal(ZwOpenSymbolicLinkObject(&handle, GENERIC_READ, &a), STATUS_OBJECT_NAME_NOT_FOUND);
    InitializeObjectAttributes(&a, &dos, 0, NULL, NULL);
    assert_int_equal(ZwOpenSymbolicLinkObject(&handle, GENERIC_READ, &a), STATUS_SUCCESS);
    assert_int_equal(IoDeleteSymbolicLink(&link), STATUS_SUCCESS);
    memset(room, 0xee, sizeof room);
    assert_int_equal(ZwQuerySymbolicLinkObject(handle, &found, &length), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(length, target.Length + sizeof(WCHAR)); /* with the terminator */
    assert_int_equal(ZwQuerySymbolicLinkObject(handle, &found, NULL), STATUS_SUCCESS);
    assert_int_equal(found.Length, target.Length);
    assert_memory_equal(room, target.Buffer, target.Length); /* in the case in which it was written */
    assert_int_equal(room[target.Length / sizeof(WCHAR)], 0xeeee);
    found.MaximumLength = (USHORT)length;
    assert_int_equal(ZwQuerySymbolicLinkObject(handle, &found, &length), STATUS_SUCCESS);
    assert_int_equal(found.Length, target.Length);
    assert_memory_equal(room, target.Buffer, target.Length + sizeof(WCHAR));
    found.MaximumLength = (USHORT)(target.Length - sizeof(WCHAR));
    assert_int_equal(ZwQuerySymbolicLinkObject(handle, &found, NULL), STATUS_BUFFER_TOO_SMALL);
    ZwClose(handle);
    handle = create_directory(&link, 0, STATUS_SUCCESS);
    assert_int_equal(ZwQuerySymbolicLinkObject(handle, &found, NULL), STATUS_OBJECT_TYPE_MISMATCH);
    InitializeObjectAttributes(&a, &link, 0, NULL, NULL);
    ZwClose(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_share),
                                        cmocka_unit_test(test_last_handle),
                                        cmocka_unit_test(test_bad_names),
                                        cmocka_unit_test(test_threads),
                                        cmocka_unit_test(test_zw),
                                        cmocka_unit_test(test_zw_names),
                                        cmocka_unit_test(test_zw_other_handles),
                                        cmocka_unit_test(test_zw_closed),
                                        cmocka_unit_test(test_directories),
                                        cmocka_unit_test(test_directory_threads),
                                        cmocka_unit_test(test_links),
                                        cmocka_unit_test(test_system_events) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
