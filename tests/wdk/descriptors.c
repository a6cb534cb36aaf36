/* SPDX-License-Identifier: MIT */
/* Security identifiers, access control lists, and security descriptors of both formats, also malformed ones. */
#include "descriptor_kit.h"

#include "report.h"

static SID_IDENTIFIER_AUTHORITY nt_authority = { SECURITY_NT_AUTHORITY };

static void sid_of_admins(union sid *s)
{
    assert_int_equal(RtlInitializeSid(s, &nt_authority, 2), STATUS_SUCCESS);
    *RtlSubAuthoritySid(s, 0) = SECURITY_BUILTIN_DOMAIN_RID;
    *RtlSubAuthoritySid(s, 1) = DOMAIN_ALIAS_RID_ADMINS;
}

/* ---- Identifiers ------------------------------------------------------------------------------------------------- */

static void test_sid(void **state)
{
    union sid one, other, copy;

    (void)state;
    sid_of_admins(&one);
    sid_of_admins(&other);
    assert_int_equal(RtlLengthRequiredSid(2), 16);
    assert_int_equal(RtlLengthSid(&one), 16);
    assert_int_equal(*RtlSubAuthorityCountSid(&one), 2);
    assert_memory_equal(RtlIdentifierAuthoritySid(&one), &nt_authority, sizeof nt_authority);
    assert_true(RtlValidSid(&one));
    assert_true(RtlEqualSid(&one, &other));
    assert_true(RtlEqualSid(&one, SeExports->SeAliasAdminsSid));
    *RtlSubAuthoritySid(&other, 1) = DOMAIN_ALIAS_RID_USERS;
    assert_false(RtlEqualSid(&one, &other));
    assert_true(RtlEqualPrefixSid(&one, &other));
    *RtlSubAuthoritySid(&other, 0) = 21;
    assert_false(RtlEqualPrefixSid(&one, &other));
    assert_false(RtlEqualPrefixSid(&one, SeExports->SeLocalSystemSid));
    assert_int_equal(RtlCopySid(15, &copy, &one), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(RtlCopySid(16, &copy, &one), STATUS_SUCCESS);
    assert_memory_equal(&copy, &one, 16);
}

static void test_sid_invalid(void **state)
{
    union sid s, copy;

    (void)state;
    assert_int_equal(RtlInitializeSid(&s, &nt_authority, SID_MAX_SUB_AUTHORITIES + 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlInitializeSid(&s, &nt_authority, SID_MAX_SUB_AUTHORITIES), STATUS_SUCCESS);
    assert_true(RtlValidSid(&s));
    s.sid.SubAuthorityCount++;
    assert_false(RtlValidSid(&s));
    assert_int_equal(RtlCopySid(sizeof copy, &copy, &s), STATUS_INVALID_SID);
    assert_false(RtlEqualSid(&s, &s));
    s.sid.SubAuthorityCount = 1;
    s.sid.Revision = 2;
    assert_false(RtlValidSid(&s));
    assert_false(RtlValidSid(NULL));
}

static void text_is(PSID sid, const WCHAR *expected)
{
    UNICODE_STRING text = { 0 }, wanted;

    RtlInitUnicodeString(&wanted, expected);
    assert_int_equal(RtlConvertSidToUnicodeString(&text, sid, TRUE), STATUS_SUCCESS);
    assert_int_equal(text.Length, wanted.Length);
    assert_memory_equal(text.Buffer, wanted.Buffer, wanted.Length);
    RtlFreeUnicodeString(&text);
}

static void test_sid_text(void **state)
{
    SID_IDENTIFIER_AUTHORITY large = { { 1, 2, 3, 4, 5, 6 } }, most = { { 0, 0, 255, 255, 255, 255 } };
    WCHAR room[9];
    UNICODE_STRING text = { 0, 8 * sizeof(WCHAR), room };
    union sid s;

    (void)state;
    text_is(SeExports->SeLocalSystemSid, L"S-1-5-18");
    text_is(SeExports->SeAliasAdminsSid, L"S-1-5-32-544");
    text_is(SeExports->SeNtAuthoritySid, L"S-1-5");
    text_is(SeExports->SeHighMandatorySid, L"S-1-16-12288");
    assert_int_equal(RtlInitializeSid(&s, &large, 1), STATUS_SUCCESS);
    *RtlSubAuthoritySid(&s, 0) = MAXULONG;
    text_is(&s, L"S-1-0x10203040506-4294967295");
    assert_int_equal(RtlInitializeSid(&s, &most, 0), STATUS_SUCCESS);
    text_is(&s, L"S-1-4294967295");
    assert_int_equal(RtlConvertSidToUnicodeString(&text, SeExports->SeAliasAdminsSid, FALSE), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(RtlConvertSidToUnicodeString(&text, SeExports->SeWorldSid, FALSE), STATUS_SUCCESS);
    assert_int_equal(text.Length, 7 * sizeof(WCHAR));
    s.sid.Revision = 0;
    assert_int_equal(RtlConvertSidToUnicodeString(&text, &s, FALSE), STATUS_INVALID_SID);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void test_list(void **state)
{
    union list l;
    PACCESS_ALLOWED_ACE ace;

    (void)state;
    assert_int_equal(RtlCreateAcl(&l.acl, sizeof(ACL) - 1, ACL_REVISION), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(RtlCreateAcl(&l.acl, 65536, ACL_REVISION), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlCreateAcl(&l.acl, sizeof l, ACL_REVISION1), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlCreateAcl(&l.acl, sizeof l, 5), STATUS_INVALID_PARAMETER);
    list_init(&l, sizeof(ACL) + 20 + 24);
    assert_true(RtlValidAcl(&l.acl));
    assert_int_equal(RtlGetAce(&l.acl, 0, (PVOID *)&ace), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, GENERIC_READ, system_sid()), STATUS_SUCCESS);
    assert_int_equal(RtlAddAccessDeniedAceEx(&l.acl, ACL_REVISION, INHERIT_ONLY_ACE, 0x80, SeExports->SeAliasAdminsSid),
                     STATUS_SUCCESS);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, 0, system_sid()), STATUS_ALLOTTED_SPACE_EXCEEDED);
    assert_int_equal(l.acl.AceCount, 2);
    assert_int_equal(RtlGetAce(&l.acl, 1, (PVOID *)&ace), STATUS_SUCCESS);
    assert_ptr_equal(ace, l.room + sizeof(ACL) + 20);
    assert_int_equal(ace->Header.AceType, ACCESS_DENIED_ACE_TYPE);
    assert_int_equal(ace->Header.AceFlags, INHERIT_ONLY_ACE);
    assert_int_equal(ace->Header.AceSize, 24);
    assert_int_equal(ace->Mask, 0x80);
    assert_true(RtlEqualSid(&ace->SidStart, SeExports->SeAliasAdminsSid));
}

static void test_list_statuses(void **state)
{
    union list l;
    union sid bad = { .sid = { .Revision = 9 } };

    (void)state;
    list_init(&l, sizeof l);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, 5, 0, system_sid()), STATUS_REVISION_MISMATCH);
    assert_int_equal(RtlAddAccessDeniedAce(&l.acl, ACL_REVISION, 0, &bad), STATUS_INVALID_SID);
    assert_int_equal(RtlAddAccessAllowedAceEx(&l.acl, ACL_REVISION, 0x80, 0, system_sid()), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION_DS, 0, system_sid()), STATUS_SUCCESS);
    assert_int_equal(l.acl.AclRevision, ACL_REVISION_DS);
    l.room[sizeof(ACL) + 2] = 22; /* the size of the first entry */
    assert_false(RtlValidAcl(&l.acl));
    l.room[sizeof(ACL) + 2] = 20;
    l.room[sizeof(ACL) + 8 + 1] = 2; /* the number of subauthorities: the identifier is longer than the entry */
    assert_false(RtlValidAcl(&l.acl));
    l.room[sizeof(ACL) + 8 + 1] = 1;
    assert_true(RtlValidAcl(&l.acl));
    l.acl.AceCount++;
    l.room[sizeof(ACL) + 20 + 2] = 3; /* the size of the second entry */
    l.room[sizeof(ACL) + 20 + 3] = 0;
    assert_false(RtlValidAcl(&l.acl));
    assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, 0, system_sid()), STATUS_INVALID_ACL);
    assert_int_equal(RtlDeleteAce(&l.acl, 0), STATUS_INVALID_PARAMETER);
}

static ULONG mask_at(union list *l, ULONG index)
{
    PACCESS_ALLOWED_ACE ace;

    assert_int_equal(RtlGetAce(&l->acl, index, (PVOID *)&ace), STATUS_SUCCESS);
    return ace->Mask;
}

/* Entries are inserted and deleted between others. */
static void test_list_order(void **state)
{
    union list l, two;

    (void)state;
    list_init(&l, sizeof(ACL) + 4 * 20);
    list_init(&two, sizeof two);
    for (ULONG i = 1; i <= 2; i++) {
        assert_int_equal(RtlAddAccessAllowedAce(&l.acl, ACL_REVISION, i, system_sid()), STATUS_SUCCESS);
        assert_int_equal(RtlAddAccessAllowedAce(&two.acl, ACL_REVISION, 10 * i, system_sid()), STATUS_SUCCESS);
    }
    assert_int_equal(RtlAddAce(&l.acl, ACL_REVISION, 1, &two.acl + 1, 40), STATUS_SUCCESS);
    assert_int_equal(l.acl.AceCount, 4);
    assert_int_equal(mask_at(&l, 0), 1);
    assert_int_equal(mask_at(&l, 1), 10);
    assert_int_equal(mask_at(&l, 2), 20);
    assert_int_equal(mask_at(&l, 3), 2);
    assert_int_equal(RtlAddAce(&l.acl, ACL_REVISION, MAXULONG, &two.acl + 1, 20), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(RtlDeleteAce(&l.acl, 4), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlDeleteAce(&l.acl, 1), STATUS_SUCCESS);
    assert_int_equal(RtlAddAce(&l.acl, ACL_REVISION, MAXULONG, &two.acl + 1, 19), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlAddAce(&l.acl, ACL_REVISION, MAXULONG, &two.acl + 1, 20), STATUS_SUCCESS);
    assert_int_equal(mask_at(&l, 1), 20);
    assert_int_equal(mask_at(&l, 2), 2);
    assert_int_equal(mask_at(&l, 3), 10);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

static void test_descriptor(void **state)
{
    BOOLEAN present = 2, defaulted = 2;
    SECURITY_DESCRIPTOR empty;
    struct whole w;
    PACL list = NULL;
    PSID sid;

    (void)state;
    assert_int_equal(RtlCreateSecurityDescriptor(&empty, 2), STATUS_UNKNOWN_REVISION);
    assert_int_equal(RtlCreateSecurityDescriptor(&empty, SECURITY_DESCRIPTOR_REVISION), STATUS_SUCCESS);
    assert_true(RtlValidSecurityDescriptor(&empty));
    assert_int_equal(RtlLengthSecurityDescriptor(&empty), 20);
    assert_int_equal(RtlGetDaclSecurityDescriptor(&empty, &present, &list, &defaulted), STATUS_SUCCESS);
    assert_false(present);
    assert_int_equal(defaulted, 2);
    assert_int_equal(RtlGetOwnerSecurityDescriptor(&empty, &sid, &defaulted), STATUS_SUCCESS);
    assert_null(sid);
    whole_init(&w);
    assert_true(RtlValidSecurityDescriptor(&w.head));
    assert_int_equal(w.head.Control, SE_DACL_PRESENT | SE_OWNER_DEFAULTED);
    assert_int_equal(RtlLengthSecurityDescriptor(&w.head), 20 + 64 + 12 + 16);
    assert_int_equal(RtlGetDaclSecurityDescriptor(&w.head, &present, &list, &defaulted), STATUS_SUCCESS);
    assert_true(present);
    assert_false(defaulted);
    assert_ptr_equal(list, &w.list);
    assert_int_equal(RtlGetOwnerSecurityDescriptor(&w.head, &sid, &defaulted), STATUS_SUCCESS);
    assert_true(defaulted);
    assert_ptr_equal(sid, system_sid());
    assert_int_equal(RtlGetGroupSecurityDescriptor(&w.head, &sid, &defaulted), STATUS_SUCCESS);
    assert_ptr_equal(sid, SeExports->SeAliasAdminsSid);
    assert_int_equal(RtlGetSaclSecurityDescriptor(&w.head, &present, &list, &defaulted), STATUS_SUCCESS);
    assert_false(present);
    assert_int_equal(RtlSetDaclSecurityDescriptor(&w.head, FALSE, NULL, FALSE), STATUS_SUCCESS);
    assert_int_equal(w.head.Control, SE_OWNER_DEFAULTED);
}

static void test_descriptor_invalid(void **state)
{
    struct whole w;

    (void)state;
    whole_init(&w);
    w.list.acl.AclRevision = 9;
    assert_false(RtlValidSecurityDescriptor(&w.head));
    w.head.Revision = 2;
    assert_int_equal(RtlSetDaclSecurityDescriptor(&w.head, TRUE, NULL, FALSE), STATUS_UNKNOWN_REVISION);
    assert_int_equal(RtlSetOwnerSecurityDescriptor(&w.head, NULL, FALSE), STATUS_UNKNOWN_REVISION);
    assert_false(RtlValidSecurityDescriptor(&w.head));
    w.head.Revision = SECURITY_DESCRIPTOR_REVISION;
    w.head.Control |= SE_SELF_RELATIVE;
    assert_int_equal(RtlSetDaclSecurityDescriptor(&w.head, TRUE, NULL, FALSE), STATUS_INVALID_SECURITY_DESCR);
    assert_int_equal(RtlSetGroupSecurityDescriptor(&w.head, NULL, FALSE), STATUS_INVALID_SECURITY_DESCR);
}

enum { RELATIVE_SIZE = 20 + 64 + 12 + 16 };

/* Returns memory with a self-relative descriptor of RELATIVE_SIZE bytes. */
static SECURITY_DESCRIPTOR_RELATIVE *relative_new(void)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = malloc(RELATIVE_SIZE);
    ULONG size = RELATIVE_SIZE;
    struct whole w;

    assert_non_null(r);
    whole_init(&w);
    assert_int_equal(RtlAbsoluteToSelfRelativeSD(&w.head, r, &size), STATUS_SUCCESS);
    return r;
}

static void test_to_relative(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new();
    ULONG size = RELATIVE_SIZE - 1;
    struct whole w;
    PSID sid;
    BOOLEAN defaulted;

    (void)state;
    whole_init(&w);
    assert_int_equal(RtlAbsoluteToSelfRelativeSD(&w.head, NULL, &size), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, RELATIVE_SIZE);
    assert_true(r->Control & SE_SELF_RELATIVE);
    assert_int_equal(RtlLengthSecurityDescriptor(r), RELATIVE_SIZE);
    assert_true(RtlValidSecurityDescriptor(r));
    assert_int_equal(RtlGetGroupSecurityDescriptor(r, &sid, &defaulted), STATUS_SUCCESS);
    assert_ptr_equal(sid, (char *)r + r->Group);
    assert_true(RtlEqualSid(sid, SeExports->SeAliasAdminsSid));
    assert_int_equal(RtlAbsoluteToSelfRelativeSD(r, &w, &size), STATUS_BAD_DESCRIPTOR_FORMAT);
    w.list.acl.AclSize = 4;
    assert_int_equal(RtlAbsoluteToSelfRelativeSD(&w.head, r, &size), STATUS_INVALID_SECURITY_DESCR);
    free(r);
}

static void test_to_absolute(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new();
    ULONG sizes[] = { sizeof(SECURITY_DESCRIPTOR), 64, 0, 12, 15 };
    union sid owner, group;
    SECURITY_DESCRIPTOR head;
    union list list;

    (void)state;
    assert_int_equal(RtlSelfRelativeToAbsoluteSD(r, &head, &sizes[0], &list.acl, &sizes[1], NULL, &sizes[2], &owner,
                                                 &sizes[3], &group, &sizes[4]),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(sizes[4], 16);
    assert_int_equal(RtlSelfRelativeToAbsoluteSD(r, &head, &sizes[0], &list.acl, &sizes[1], NULL, &sizes[2], &owner,
                                                 &sizes[3], &group, &sizes[4]),
                     STATUS_SUCCESS);
    assert_ptr_equal(head.Owner, &owner);
    assert_ptr_equal(head.Group, &group);
    assert_ptr_equal(head.Dacl, &list);
    assert_null(head.Sacl);
    assert_true(RtlEqualSid(head.Owner, system_sid()));
    assert_int_equal(list.acl.AceCount, 1);
    assert_int_equal(RtlSelfRelativeToAbsoluteSD(&head, &head, &sizes[0], &list.acl, &sizes[1], NULL, &sizes[2], &owner,
                                                 &sizes[3], &group, &sizes[4]),
                     STATUS_BAD_DESCRIPTOR_FORMAT);
    free(r);
}

/* ---- Malformed descriptors --------------------------------------------------------------------------------------- */

static BOOLEAN relative_is_valid(SECURITY_DESCRIPTOR_RELATIVE *r, ULONG size)
{
    return RtlValidRelativeSecurityDescriptor(r, size, 0);
}

static void test_relative_valid(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new();

    (void)state;
    assert_true(relative_is_valid(r, RELATIVE_SIZE));
    assert_true(SeValidSecurityDescriptor(RELATIVE_SIZE, r));
    assert_true(RtlValidRelativeSecurityDescriptor(
        r, RELATIVE_SIZE, OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION));
    assert_false(RtlValidRelativeSecurityDescriptor(r, RELATIVE_SIZE, SACL_SECURITY_INFORMATION));
    assert_false(relative_is_valid(NULL, RELATIVE_SIZE));
    r->Owner = 0;
    assert_true(relative_is_valid(r, RELATIVE_SIZE));
    assert_false(SeValidSecurityDescriptor(RELATIVE_SIZE, r));
    assert_false(RtlValidRelativeSecurityDescriptor(r, RELATIVE_SIZE, OWNER_SECURITY_INFORMATION));
    r->Control &= (USHORT)~SE_SELF_RELATIVE;
    assert_false(relative_is_valid(r, RELATIVE_SIZE));
    free(r);
}

/* A descriptor whose last bytes are missing is not valid. Each copy's memory has exactly the copied size. */
static void test_relative_truncated(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new(), *copy;

    (void)state;
    for (ULONG size = 0; size < RELATIVE_SIZE; size++) {
        copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, r, size);
        assert_false(relative_is_valid(copy, size));
        free(copy);
    }
    free(r);
}

static void test_relative_offsets(void **state)
{
    static const ULONG wrong[] = { 1, 4, 16, 19, 21, 22, RELATIVE_SIZE - 4, RELATIVE_SIZE, 0x7ffffffc, 0xfffffffc };
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new();
    ULONG *offsets[] = { &r->Owner, &r->Group, &r->Dacl };

    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        ULONG good = *offsets[i];

        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
            *offsets[i] = wrong[j];
            assert_false(relative_is_valid(r, RELATIVE_SIZE));
        }
        *offsets[i] = good;
    }
    assert_true(relative_is_valid(r, RELATIVE_SIZE));
    free(r);
}

/* A part in the descriptor's head, or at an odd offset, is refused even if its bytes are a valid identifier. */
static void test_relative_places(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *r = relative_new();
    char *memory = (char *)r;
    ULONG owner = r->Owner;

    (void)state;
    r->Control &= (USHORT)~SE_DACL_PRESENT;
    r->Group = 0;
    r->Dacl = 0x101; /* revision 1, one subauthority */
    assert_true(relative_is_valid(r, RELATIVE_SIZE));
    r->Owner = offsetof(SECURITY_DESCRIPTOR_RELATIVE, Dacl);
    assert_false(relative_is_valid(r, RELATIVE_SIZE));
    memmove(memory + owner + 2, memory + owner, 12);
    r->Owner = owner + 2;
    assert_false(relative_is_valid(r, RELATIVE_SIZE));
    free(r);
}

/* Whatever a byte becomes: if the descriptor is still valid, all its parts can be read and written. */
static void test_relative_any_byte(void **state)
{
    SECURITY_DESCRIPTOR_RELATIVE *good = relative_new(), *r = malloc(RELATIVE_SIZE);
    GENERIC_MAPPING mapping = *IoGetFileObjectGenericMapping();
    PSECURITY_DESCRIPTOR copy;
    SECURITY_SUBJECT_CONTEXT subject;
    unsigned valid = 0;

    (void)state;
    assert_non_null(r);
    SeCaptureSubjectContext(&subject);
    for (unsigned i = 0; i < RELATIVE_SIZE * 256u; i++) {
        memcpy(r, good, RELATIVE_SIZE);
        ((UCHAR *)r)[i / 256] = (UCHAR)i;
        if (!relative_is_valid(r, RELATIVE_SIZE))
            continue;
        valid++;
        assert_true(RtlValidSecurityDescriptor(r));
        assert_int_equal(SeAssignSecurity(NULL, r, &copy, FALSE, &subject, &mapping, PagedPool), STATUS_SUCCESS);
        assert_true(RtlValidSecurityDescriptor(copy));
        assert_int_equal(SeDeassignSecurity(&copy), STATUS_SUCCESS);
        assert_null(copy);
    }
    SeReleaseSubjectContext(&subject);
    assert_in_range(valid, 256, RELATIVE_SIZE * 256u - 1);
    free(good);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sid),
        cmocka_unit_test(test_sid_invalid),
        cmocka_unit_test(test_sid_text),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_list_statuses),
        cmocka_unit_test(test_list_order),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_descriptor_invalid),
        cmocka_unit_test(test_to_relative),
        cmocka_unit_test(test_to_absolute),
        cmocka_unit_test(test_relative_valid),
        cmocka_unit_test(test_relative_truncated),
        cmocka_unit_test(test_relative_offsets),
        cmocka_unit_test(test_relative_places),
        cmocka_unit_test(test_relative_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
