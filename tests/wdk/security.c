/* SPDX-License-Identifier: MIT */
/* Subject contexts and privileges, and the reports of subject contexts that are not matched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "threads.h"
#include "threads_more.h"

static LUID privilege(ULONG number)
{
    return RtlConvertUlongToLuid(number);
}

static void test_subject(void **state)
{
    struct report *r = report_start();
    uint32_t left = live_count();
    SECURITY_SUBJECT_CONTEXT subject, other;

    (void)state;
    SeCaptureSubjectContext(&subject);
    SeCaptureSubjectContextEx(PsGetCurrentThread(), PsGetCurrentProcess(), &other);
    assert_non_null(subject.PrimaryToken);
    assert_ptr_equal(subject.PrimaryToken, other.PrimaryToken);
    assert_null(subject.ClientToken);
    assert_int_equal(live_count(), left + 2);
    SeLockSubjectContext(&subject);
    assert_true(KeAreApcsDisabled());
    SeUnlockSubjectContext(&subject);
    assert_false(KeAreApcsDisabled());
    SeReleaseSubjectContext(&subject);
    SeReleaseSubjectContext(&other);
    assert_int_equal(live_count(), left);
    report_is_empty(r);
}

static void test_privileges(void **state)
{
    struct {
        ULONG count, control;
        LUID_AND_ATTRIBUTES one, two;
    } set = { .count = 2, .control = PRIVILEGE_SET_ALL_NECESSARY };
    PPRIVILEGE_SET required = (PPRIVILEGE_SET)(void *)&set;
    SECURITY_SUBJECT_CONTEXT subject;

    (void)state;
    set.one.Luid = privilege(SE_LOAD_DRIVER_PRIVILEGE);
    set.two.Luid = privilege(SE_MAX_WELL_KNOWN_PRIVILEGE);
    SeCaptureSubjectContext(&subject);
    assert_true(SePrivilegeCheck(required, &subject, UserMode));
    assert_int_equal(set.one.Attributes, SE_PRIVILEGE_USED_FOR_ACCESS);
    assert_int_equal(set.two.Attributes, SE_PRIVILEGE_USED_FOR_ACCESS);
    set.one.Attributes = set.two.Attributes = 0;
    set.two.Luid = privilege(SE_MAX_WELL_KNOWN_PRIVILEGE + 1);
    assert_false(SePrivilegeCheck(required, &subject, UserMode));
    assert_int_equal(set.two.Attributes, 0);
    set.control = 0;
    assert_true(SePrivilegeCheck(required, &subject, UserMode));
    set.one.Luid = privilege(SE_MIN_WELL_KNOWN_PRIVILEGE - 1);
    assert_false(SePrivilegeCheck(required, &subject, UserMode));
    set.control = PRIVILEGE_SET_ALL_NECESSARY;
    assert_true(SePrivilegeCheck(required, &subject, KernelMode));
    SeReleaseSubjectContext(&subject);
    assert_true(SeSinglePrivilegeCheck(privilege(SE_DEBUG_PRIVILEGE), UserMode));
    assert_false(SeSinglePrivilegeCheck((LUID){ SE_DEBUG_PRIVILEGE, 1 }, UserMode));
    assert_true(SeSinglePrivilegeCheck(privilege(99), KernelMode));
}

static void test_client(void **state)
{
    SECURITY_QUALITY_OF_SERVICE qos = { sizeof qos, SecurityImpersonation, SECURITY_STATIC_TRACKING, TRUE };
    SECURITY_CLIENT_CONTEXT client, wrong = { .ServerIsRemote = FALSE };
    uint32_t left = live_count();
    struct report *r = report_start();
    PACCESS_TOKEN token;

    (void)state;
    assert_int_equal(SeCreateClientSecurity(PsGetCurrentThread(), &qos, FALSE, &client), STATUS_SUCCESS);
    assert_true(client.DirectAccessEffectiveOnly && SeTokenIsAdmin(client.ClientToken));
    assert_int_equal(SeTokenType(client.ClientToken), TokenPrimary);
    assert_int_equal(live_count(), left + 1);
    assert_int_equal(SeImpersonateClientEx(&client, NULL), STATUS_SUCCESS);
    assert_int_equal(SeImpersonateClientEx(&wrong, NULL), STATUS_INVALID_PARAMETER);
    SeImpersonateClient(&client, NULL);
    PsRevertToSelf();
    token = PsReferencePrimaryToken(PsGetCurrentProcess());
    assert_ptr_equal(token, client.ClientToken);
    SeDeleteClientSecurity(&client);
    assert_int_equal(live_count(), left + 1);
    PsDereferencePrimaryToken(token);
    PsDereferenceImpersonationToken(NULL);
    assert_int_equal(live_count(), left);
    report_is_empty(r);
    r = report_start();
    PsDereferencePrimaryToken(token);
    report_is(r, "reference in ObDereferenceObject: token");
}

static VOID unlock_foreign(PVOID context)
{
    SeUnlockSubjectContext(context);
}

static void test_token_handle(void **state)
{
    TOKEN_PRIVILEGES change = { 1, { { RtlConvertUlongToLuid(SE_TCB_PRIVILEGE), SE_PRIVILEGE_ENABLED } } };
    TOKEN_PRIVILEGES before = { .PrivilegeCount = 7 };
    HANDLE token, process;
    ULONG length = 7;
    PVOID object;

    (void)state;
    assert_int_equal(ZwOpenProcessToken(NtCurrentProcess(), TOKEN_ALL_ACCESS, &token), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(token, 0, *SeTokenObjectType, KernelMode, &object, NULL),
                     STATUS_SUCCESS);
    ObDereferenceObject(object);
    assert_int_equal(NtAdjustPrivilegesToken(token, FALSE, &change, sizeof before, &before, &length), STATUS_SUCCESS);
    assert_int_equal(before.PrivilegeCount, 0);
    assert_int_equal(length, FIELD_OFFSET(TOKEN_PRIVILEGES, Privileges));
    assert_int_equal(ZwAdjustPrivilegesToken(token, FALSE, &change, 3, &before, NULL), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ZwAdjustPrivilegesToken(token, TRUE, NULL, 0, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwAdjustPrivilegesToken(token, FALSE, NULL, 0, NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(ZwOpenProcessTokenEx(token, TOKEN_QUERY, 0, &process), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(
        ObOpenObjectByPointer(PsGetCurrentProcess(), OBJ_KERNEL_HANDLE, NULL, 0, *PsProcessType, KernelMode, &process),
        STATUS_SUCCESS);
    assert_int_equal(ZwAdjustPrivilegesToken(process, TRUE, NULL, 0, NULL, NULL), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(ZwClose(token), STATUS_SUCCESS);
    assert_int_equal(NtOpenProcessToken(process, TOKEN_QUERY, &token), STATUS_SUCCESS);
    assert_int_equal(ZwClose(token), STATUS_SUCCESS);
    assert_int_equal(ZwClose(process), STATUS_SUCCESS);
}

static void test_subject_rules(void **state)
{
    SECURITY_SUBJECT_CONTEXT subject;
    struct report *r = report_start();
    KIRQL irql;

    (void)state;
    SeReleaseSubjectContext(&subject);
    report_is(r, "reference in SeReleaseSubjectContext: the subject context");
    SeCaptureSubjectContext(&subject);
    r = report_start();
    SeCaptureSubjectContext(&subject);
    report_is(r, "reference in SeCaptureSubjectContext");
    r = report_start();
    SeUnlockSubjectContext(&subject);
    report_is(r, "lock-not-held in SeUnlockSubjectContext");
    SeLockSubjectContext(&subject);
    r = report_start();
    thread_join(thread_start(unlock_foreign, &subject));
    report_is(r, "lock-not-held in SeUnlockSubjectContext");
    r = report_start();
    SeReleaseSubjectContext(&subject);
    report_is(r, "reference in SeReleaseSubjectContext");
    r = report_start();
    SeUnlockSubjectContext(&subject);
    report_is(r, "reference in SeUnlockSubjectContext");
    assert_false(KeAreApcsDisabled());
    KeRaiseIrql(APC_LEVEL, &irql);
    r = report_start();
    (void)SeSinglePrivilegeCheck(privilege(SE_DEBUG_PRIVILEGE), KernelMode);
    report_is(r, "irql-too-high in SeSinglePrivilegeCheck");
    KeLowerIrql(irql);
}

int security_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subject), cmocka_unit_test(test_token_handle),  cmocka_unit_test(test_privileges),
        cmocka_unit_test(test_client),  cmocka_unit_test(test_subject_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
