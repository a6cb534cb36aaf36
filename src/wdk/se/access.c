/* SPDX-License-Identifier: MIT */
/*
 * Implements access checks and the descriptors of new objects: see access.h and wdm/access.h. The subject is always the
 * local system, which has all privileges. So the only identifiers that match are its own and those of its groups.
 */
#include "wdk/se/access.h"

#include <pthread.h>

#include "wdk/ke/thread.h"
#include "wdk/rtl/known_sid.h"
#include "wdk/se/subject.h"

#define SE_TAG 'dSeS'

/* Returns true if the identifier is that of the local system or of one of its groups. */
static bool access_is_own(PSID sid)
{
    static const enum known_sid_index own[] = { KNOWN_LOCAL_SYSTEM, KNOWN_ADMINS, KNOWN_WORLD, KNOWN_AUTHENTICATED };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (RtlEqualSid(sid, &known_sids[own[i]]))
            return true;
    return false;
}

/* Returns the rights that the list allows. The first entry that has a right allows or denies that right. */
static ACCESS_MASK access_read_list(const ACL *dacl, const GENERIC_MAPPING *mapping)
{
    const char *at = (const char *)(dacl + 1);
    ACCESS_MASK allowed = 0, denied = 0, mask;

    for (unsigned i = 0; i < dacl->AceCount; i++) {
        const ACCESS_ALLOWED_ACE *ace = (const void *)at;
        PSID sid = ace_sid(&ace->Header);

        at += ace->Header.AceSize;
        if (!sid || ace->Header.AceFlags & INHERIT_ONLY_ACE || !access_is_own(sid))
            continue;
        mask = ace->Mask;
        RtlMapGenericMask(&mask, mapping);
        if (ace->Header.AceType == ACCESS_ALLOWED_ACE_TYPE)
            allowed |= mask & ~denied;
        else if (ace->Header.AceType == ACCESS_DENIED_ACE_TYPE)
            denied |= mask;
    }
    return allowed;
}

/* The rights of the local system that do not depend on the list: by its privileges, and as the owner. */
static ACCESS_MASK access_without_list(const struct descriptor *d)
{
    return ACCESS_SYSTEM_SECURITY | WRITE_OWNER | (d->owner && access_is_own(d->owner) ? READ_CONTROL | WRITE_DAC : 0);
}

NTSTATUS access_check(PSECURITY_DESCRIPTOR descriptor, ACCESS_MASK desired, const GENERIC_MAPPING *mapping,
                      ACCESS_MASK *granted)
{
    struct descriptor d;
    ACCESS_MASK allowed;
    bool maximum = desired & MAXIMUM_ALLOWED;

    *granted = 0;
    if (!descriptor_read(descriptor, &d) || !NT_SUCCESS(descriptor_check(&d)))
        return STATUS_INVALID_SECURITY_DESCR;
    desired &= ~(ACCESS_MASK)MAXIMUM_ALLOWED;
    RtlMapGenericMask(&desired, mapping);
    allowed = d.dacl ? access_read_list(d.dacl, mapping) : mapping->GenericAll | desired;
    if (desired & ~(allowed | access_without_list(&d)) || (maximum && !allowed))
        return STATUS_ACCESS_DENIED;
    *granted = desired | (maximum ? allowed : 0);
    return STATUS_SUCCESS;
}

BOOLEAN SeAccessCheck(PSECURITY_DESCRIPTOR SecurityDescriptor, PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                      BOOLEAN SubjectContextLocked, ACCESS_MASK DesiredAccess, ACCESS_MASK PreviouslyGrantedAccess,
                      PPRIVILEGE_SET *Privileges, PGENERIC_MAPPING GenericMapping, KPROCESSOR_MODE AccessMode,
                      PACCESS_MASK GrantedAccess, PNTSTATUS AccessStatus)
{
    UNREFERENCED_PARAMETER(SubjectContextLocked);
    irql_check_max("SeAccessCheck", PASSIVE_LEVEL);
    if (Privileges)
        *Privileges = NULL;
    if (AccessMode == KernelMode) {
        RtlMapGenericMask(&DesiredAccess, GenericMapping);
        *GrantedAccess = PreviouslyGrantedAccess |
                         (DesiredAccess & MAXIMUM_ALLOWED
                              ? GenericMapping->GenericAll | (DesiredAccess & ~MAXIMUM_ALLOWED)
                              : DesiredAccess);
        *AccessStatus = STATUS_SUCCESS;
        return TRUE;
    }
    (void)subject_check("SeAccessCheck", SubjectSecurityContext);
    *GrantedAccess = 0;
    *AccessStatus = SecurityDescriptor ? access_check(SecurityDescriptor, DesiredAccess & ~PreviouslyGrantedAccess,
                                                      GenericMapping, GrantedAccess)
                                       : STATUS_ACCESS_DENIED;
    if (!NT_SUCCESS(*AccessStatus))
        return FALSE;
    *GrantedAccess |= PreviouslyGrantedAccess;
    return TRUE;
}

VOID SeFreePrivileges(PPRIVILEGE_SET Privileges)
{
    UNREFERENCED_PARAMETER(Privileges);
    irql_check_max("SeFreePrivileges", PASSIVE_LEVEL);
}

BOOLEAN SeValidSecurityDescriptor(ULONG Length, PSECURITY_DESCRIPTOR SecurityDescriptor)
{
    struct descriptor d;

    irql_check_max("SeValidSecurityDescriptor", PASSIVE_LEVEL);
    return descriptor_read_relative(SecurityDescriptor, Length, &d) && d.owner;
}

/* ---- New objects ------------------------------------------------------------------------------------------------- */

/* The list of an object that was created without one. */
static union {
    ACL acl;
    UCHAR room[64];
} default_list;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

static void default_list_init(void)
{
    default_list.acl = (ACL){ .AclRevision = ACL_REVISION, .AclSize = sizeof default_list };
    (void)acl_append(&default_list.acl, ACCESS_ALLOWED_ACE_TYPE, 0, GENERIC_ALL, &known_sids[KNOWN_LOCAL_SYSTEM]);
    (void)acl_append(&default_list.acl, ACCESS_ALLOWED_ACE_TYPE, 0, GENERIC_ALL, &known_sids[KNOWN_ADMINS]);
    default_list.acl.AclSize = (USHORT)((char *)acl_end(&default_list.acl) - (char *)&default_list);
}

NTSTATUS access_parts_of_new(PSECURITY_DESCRIPTOR given, struct descriptor *d)
{
    NTSTATUS status;

    *d = (struct descriptor){ 0 };
    if (given && !descriptor_read(given, d))
        return STATUS_UNKNOWN_REVISION;
    status = descriptor_check(d);
    if (!NT_SUCCESS(status))
        return status;
    pthread_once(&default_once, default_list_init);
    if (!d->owner)
        d->owner = &known_sids[KNOWN_LOCAL_SYSTEM];
    if (!d->group)
        d->group = &known_sids[KNOWN_LOCAL_SYSTEM];
    if (!(d->control & SE_DACL_PRESENT)) {
        d->dacl = &default_list.acl;
        d->control |= SE_DACL_PRESENT | SE_DACL_DEFAULTED;
    }
    return STATUS_SUCCESS;
}

void access_write(const struct descriptor *d, const GENERIC_MAPPING *mapping, PSECURITY_DESCRIPTOR memory)
{
    struct descriptor written;
    char *at;

    descriptor_write(d, memory);
    (void)descriptor_read(memory, &written);
    at = written.dacl ? (char *)(written.dacl + 1) : NULL;
    for (unsigned i = 0; at && i < written.dacl->AceCount; i++) {
        ACCESS_ALLOWED_ACE *ace = (void *)at;

        if (ace_sid(&ace->Header))
            RtlMapGenericMask(&ace->Mask, mapping);
        at += ace->Header.AceSize;
    }
}

NTSTATUS SeAssignSecurity(PSECURITY_DESCRIPTOR ParentDescriptor, PSECURITY_DESCRIPTOR ExplicitDescriptor,
                          PSECURITY_DESCRIPTOR *NewDescriptor, BOOLEAN IsDirectoryObject,
                          PSECURITY_SUBJECT_CONTEXT SubjectContext, PGENERIC_MAPPING GenericMapping, POOL_TYPE PoolType)
{
    struct descriptor d;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(ParentDescriptor);
    UNREFERENCED_PARAMETER(IsDirectoryObject);
    UNREFERENCED_PARAMETER(PoolType);
    (void)subject_check("SeAssignSecurity", SubjectContext);
    *NewDescriptor = NULL;
    status = access_parts_of_new(ExplicitDescriptor, &d);
    if (!NT_SUCCESS(status))
        return status;
    *NewDescriptor = ExAllocatePool2(POOL_FLAG_PAGED, descriptor_size(&d), SE_TAG);
    if (!*NewDescriptor)
        return STATUS_INSUFFICIENT_RESOURCES;
    access_write(&d, GenericMapping, *NewDescriptor);
    return STATUS_SUCCESS;
}

NTSTATUS SeDeassignSecurity(PSECURITY_DESCRIPTOR *SecurityDescriptor)
{
    irql_check_max("SeDeassignSecurity", PASSIVE_LEVEL);
    if (*SecurityDescriptor)
        ExFreePoolWithTag(*SecurityDescriptor, SE_TAG);
    *SecurityDescriptor = NULL;
    return STATUS_SUCCESS;
}
