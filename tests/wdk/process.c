/* SPDX-License-Identifier: MIT */
/* The process, and drivers' routines that are called when it begins and exits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "openndk/wdk.h"
#include "report.h"
#include "wdk/ps/process.h"

static char calls[16];
static bool refuses, removes_itself;

static void note(char call)
{
    size_t n = strlen(calls);

    calls[n] = call;
    calls[n + 1] = 0;
    assert_true(KeAreApcsDisabled());
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

static VOID plain(HANDLE parent, HANDLE id, BOOLEAN create)
{
    note(create ? 'p' : 'P');
    assert_int_equal((intptr_t)parent, getppid());
    assert_ptr_equal(id, PsGetCurrentProcessId());
    if (removes_itself)
        assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, TRUE), STATUS_INVALID_PARAMETER);
}

static VOID extended(PEPROCESS process, HANDLE id, PPS_CREATE_NOTIFY_INFO info)
{
    static const WCHAR device[] = L"\\??\\C:\\";

    note(info ? 'x' : 'X');
    assert_ptr_equal(process, PsGetCurrentProcess());
    assert_ptr_equal(id, PsGetCurrentProcessId());
    if (!info)
        return;
    assert_int_equal(info->Size, sizeof(*info));
    assert_int_equal((intptr_t)info->ParentProcessId, getppid());
    assert_true(info->FileOpenNameAvailable);
    assert_memory_equal(info->ImageFileName->Buffer, device, sizeof(device) - sizeof(WCHAR));
    assert_true(info->CommandLine->Length > 0);
    if (refuses)
        info->CreationStatus = STATUS_ACCESS_DENIED;
}

/* Opens a device that does not exist, as a program does. Returns the status. */
static uint32_t open_device(void)
{
    ondk_wdk_device_t *device;
    uint32_t status = 0;

    assert_int_not_equal(ondk_wdk_open("None", &device, &status), 0);
    return status;
}

static void check_calls(const char *expected)
{
    assert_string_equal(calls, expected);
    calls[0] = 0;
}

static void test_registration(void **state)
{
    uint32_t before = live_count();

    (void)state;
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, TRUE), STATUS_PROCEDURE_NOT_FOUND);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(NULL, FALSE), STATUS_INVALID_PARAMETER);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(NULL, TRUE), STATUS_PROCEDURE_NOT_FOUND);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, FALSE), STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, FALSE), STATUS_INVALID_PARAMETER);
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx(extended, FALSE), STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx2(PsCreateProcessNotifySubsystems, (PVOID)extended, FALSE),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx2(PsCreateProcessNotifySubsystems + 1, (PVOID)extended, TRUE),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(live_count(), before + 2);
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx2(PsCreateProcessNotifySubsystems, (PVOID)extended, TRUE),
                     STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, TRUE), STATUS_SUCCESS);
    assert_int_equal(live_count(), before);
}

static void test_calls(void **state)
{
    (void)state;
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, FALSE), STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx(extended, FALSE), STATUS_SUCCESS);
    process_exit();
    check_calls("");
    assert_int_equal(open_device(), (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND);
    check_calls("px");
    assert_int_equal(open_device(), (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND);
    check_calls("");
    process_exit();
    check_calls("PX");
    refuses = true;
    assert_int_equal(open_device(), (uint32_t)STATUS_ACCESS_DENIED);
    check_calls("pxPX");
    refuses = false;
    assert_int_equal(PsSetCreateProcessNotifyRoutineEx(extended, TRUE), STATUS_SUCCESS);
    open_device();
    check_calls("p");
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, TRUE), STATUS_SUCCESS);
    process_exit();
    check_calls("");
}

static void test_removal_inside(void **state)
{
    struct report *r = report_start();

    (void)state;
    removes_itself = true;
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, FALSE), STATUS_SUCCESS);
    open_device();
    removes_itself = false;
    process_exit();
    assert_int_equal(report_stop(r), 1);
    assert_non_null(strstr(r->text, "lock-recursive in PsSetCreateProcessNotifyRoutine"));
    report_free(r);
    check_calls("pP");
    assert_int_equal(PsSetCreateProcessNotifyRoutine(plain, TRUE), STATUS_SUCCESS);
}

static void test_process(void **state)
{
    uint32_t before = live_count();
    PEPROCESS process = NULL;

    (void)state;
    assert_int_equal(PsLookupProcessByProcessId((HANDLE)(LONG_PTR)-1, &process), STATUS_INVALID_CID);
    assert_int_equal(PsLookupProcessByProcessId(PsGetCurrentProcessId(), &process), STATUS_SUCCESS);
    assert_ptr_equal(process, PsGetCurrentProcess());
    assert_ptr_equal(process, PsInitialSystemProcess);
    assert_int_equal(live_count(), before + 1);
    ObReferenceObject(process);
    ObDereferenceObject(process);
    ObDereferenceObject(process);
    assert_int_equal(live_count(), before);
    assert_int_equal(ObReferenceObjectByPointer(process, 0, *PsProcessType, KernelMode), STATUS_SUCCESS);
    ObDereferenceObject(process);
    assert_int_equal(ObReferenceObjectByPointer(process, 0, *PsThreadType, KernelMode), STATUS_OBJECT_TYPE_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registration),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_removal_inside),
        cmocka_unit_test(test_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
