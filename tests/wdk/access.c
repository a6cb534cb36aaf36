/* SPDX-License-Identifier: MIT */
/* Access checks, the descriptors of new objects, generic rights, and the rules about levels and subjects. */
#include "descriptor_kit.h"

#include "report.h"

static GENERIC_MAPPING mapping = { 0x1, 0x2, 0x4, 0x7 };

static NTSTATUS access_of(PSECURITY_DESCRIPTOR descriptor, ACCESS_MASK desired, ACCESS_MASK *granted)
{
    SECURITY_SUBJECT_CONTEXT subject;
    NTSTATUS status = 1;
    BOOLEAN allowed;

    SeCaptureSubjectContext(&subject);
    allowed = SeAccessCheck(descriptor, &subject, FALSE, desired, 0, NULL, &mapping, UserMode, granted, &status);
    SeReleaseSubjectContext(&subject);
    assert_int_equal(allowed, status == STATUS_SUCCESS);
    return status;
}

/* The first entry with a right decides about it. Entries of other accounts and entries for heirs do not count. */
static void test_access_order(void **state)
{
    SECURITY_DESCRIPTOR d;
    ACCESS_MASK granted;
    union list l;

    (void)state;
    list_init(&l, sizeof l);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, GENERIC_ALL, SeExports->SeAliasGuestsSid), 0);
    assert_int_equal(RtlAddAccessAllowedAceEx(&l.acl, ACL_REVISION, INHERIT_ONLY_ACE, 0x10, system_sid()), 0);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, GENERIC_READ, SeExports->SeWorldSid), 0);
    assert_int_equal(RtlAddAccessDeniedAce(&l.acl, ACL_REVISION, 0x3, SeExports->SeAliasAdminsSid), 0);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, GENERIC_ALL, system_sid()), 0);
    assert_int_equal(RtlCreateSecurityDescriptor(&d, SECURITY_DESCRIPTOR_REVISION), 0);
    assert_int_equal(RtlSetDaclSecurityDescriptor(&d, TRUE, &l.acl, FALSE), 0);
    assert_int_equal(access_of(&d, GENERIC_READ, &granted), STATUS_SUCCESS);
    assert_int_equal(granted, 0x1);
    assert_int_equal(access_of(&d, 0x5, &granted), STATUS_SUCCESS);
    assert_int_equal(access_of(&d, GENERIC_WRITE, &granted), STATUS_ACCESS_DENIED);
    assert_int_equal(granted, 0);
    assert_int_equal(access_of(&d, 0x10, &granted), STATUS_ACCESS_DENIED);
    assert_int_equal(access_of(&d, MAXIMUM_ALLOWED, &granted), STATUS_SUCCESS);
    assert_int_equal(granted, 0x5);
}

static void test_access_special(void **state)
{
    SECURITY_DESCRIPTOR d;
    ACCESS_MASK granted;
    union list l;

    (void)state;
    assert_int_equal(access_of(NULL, 0x1, &granted), STATUS_ACCESS_DENIED);
    assert_int_equal(RtlCreateSecurityDescriptor(&d, SECURITY_DESCRIPTOR_REVISION), 0);
    assert_int_equal(access_of(&d, 0x11, &granted), STATUS_SUCCESS); /* no list */
    assert_int_equal(granted, 0x11);
    assert_int_equal(RtlSetDaclSecurityDescriptor(&d, TRUE, NULL, FALSE), 0);
    assert_int_equal(access_of(&d, MAXIMUM_ALLOWED, &granted), STATUS_SUCCESS);
    assert_int_equal(granted, 0x7);
    list_init(&l, sizeof l);
    assert_int_equal(RtlSetDaclSecurityDescriptor(&d, TRUE, &l.acl, FALSE), 0);
    assert_int_equal(access_of(&d, MAXIMUM_ALLOWED, &granted), STATUS_ACCESS_DENIED); /* an empty list */
    assert_int_equal(access_of(&d, READ_CONTROL, &granted), STATUS_ACCESS_DENIED);
    assert_int_equal(access_of(&d, WRITE_OWNER | ACCESS_SYSTEM_SECURITY, &granted), STATUS_SUCCESS); /* privileges */
    assert_int_equal(RtlSetOwnerSecurityDescriptor(&d, system_sid(), FALSE), 0);
    assert_int_equal(access_of(&d, READ_CONTROL | WRITE_DAC, &granted), STATUS_SUCCESS); /* the owner */
    l.acl.AclRevision = 0;
    assert_int_equal(access_of(&d, READ_CONTROL, &granted), STATUS_INVALID_SECURITY_DESCR);
}

static void test_access_of_kernel(void **state)
{
    PPRIVILEGE_SET privileges = (PPRIVILEGE_SET)&mapping;
    SECURITY_SUBJECT_CONTEXT subject;
    NTSTATUS status = 1;
    ACCESS_MASK granted;

    (void)state;
    SeCaptureSubjectContext(&subject);
    assert_true(SeAccessCheck(NULL, &subject, FALSE, GENERIC_READ, 0x100, &privileges, &mapping, KernelMode, &granted,
                              &status));
    assert_int_equal(granted, 0x101);
    assert_int_equal(status, STATUS_SUCCESS);
    assert_null(privileges);
    SeFreePrivileges(privileges);
    assert_true(
        SeAccessCheck(NULL, &subject, FALSE, MAXIMUM_ALLOWED | 0x10, 0, NULL, &mapping, KernelMode, &granted, &status));
    assert_int_equal(granted, 0x17);
    SeReleaseSubjectContext(&subject);
}

/* A new object's descriptor has what is missing from the local system, and no generic rights. */
static void test_assign(void **state)
{
    PSECURITY_DESCRIPTOR new, from_whole;
    SECURITY_SUBJECT_CONTEXT subject;
    ACCESS_MASK granted;
    BOOLEAN present, defaulted;
    struct whole w;
    PACCESS_ALLOWED_ACE ace;
    PACL list;
    PSID sid;

    (void)state;
    SeCaptureSubjectContext(&subject);
    assert_int_equal(SeAssignSecurity(NULL, NULL, &new, FALSE, &subject, &mapping, PagedPool), STATUS_SUCCESS);
    assert_int_equal(RtlGetOwnerSecurityDescriptor(new, &sid, &defaulted), STATUS_SUCCESS);
    assert_true(RtlEqualSid(sid, system_sid()));
    assert_int_equal(access_of(new, GENERIC_ALL, &granted), STATUS_SUCCESS);
    whole_init(&w);
    assert_int_equal(SeAssignSecurity(new, &w.head, &from_whole, FALSE, &subject, &mapping, PagedPool), STATUS_SUCCESS);
    assert_int_equal(RtlGetDaclSecurityDescriptor(from_whole, &present, &list, &defaulted), STATUS_SUCCESS);
    assert_int_equal(RtlGetAce(list, 0, (PVOID *)&ace), STATUS_SUCCESS);
    assert_int_equal(ace->Mask, 0x7);
    assert_int_equal(SeDeassignSecurity(&new), STATUS_SUCCESS);
    assert_int_equal(SeDeassignSecurity(&from_whole), STATUS_SUCCESS);
    assert_int_equal(SeDeassignSecurity(&from_whole), STATUS_SUCCESS);
    w.list.acl.AclRevision = 9;
    assert_int_equal(SeAssignSecurity(NULL, &w.head, &new, FALSE, &subject, &mapping, PagedPool), STATUS_INVALID_ACL);
    assert_null(new);
    SeReleaseSubjectContext(&subject);
}

static void test_generic(void **state)
{
    ACCESS_MASK mask = GENERIC_READ | GENERIC_EXECUTE | 0x100;

    (void)state;
    RtlMapGenericMask(&mask, &mapping);
    assert_int_equal(mask, 0x105);
    mask = GENERIC_ALL;
    RtlMapGenericMask(&mask, &mapping);
    assert_int_equal(mask, 0x7);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static void test_rules(void **state)
{
    SECURITY_SUBJECT_CONTEXT subject;
    SECURITY_DESCRIPTOR d;
    ACCESS_MASK granted;
    NTSTATUS status;
    struct report *r;
    KIRQL irql;

    (void)state;
    r = report_start();
    KeRaiseIrql(APC_LEVEL, &irql);
    (void)RtlCreateSecurityDescriptor(&d, SECURITY_DESCRIPTOR_REVISION);
    KeLowerIrql(irql);
    report_says(r, "RtlCreateSecurityDescriptor", "IRQL is 1");
    r = report_start();
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    assert_true(RtlEqualSid(system_sid(), system_sid()));
    (void)RtlLengthSid(system_sid());
    KeLowerIrql(irql);
    report_says(r, "RtlLengthSid", "IRQL is 2");
    r = report_start();
    (void)SeAccessCheck(&d, &subject, FALSE, 0, 0, NULL, &mapping, UserMode, &granted, &status);
    report_says(r, "SeAccessCheck", "is not captured");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access_order),     cmocka_unit_test(test_access_special),
        cmocka_unit_test(test_access_of_kernel), cmocka_unit_test(test_assign),
        cmocka_unit_test(test_generic),          cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
