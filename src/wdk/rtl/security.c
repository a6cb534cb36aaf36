/* SPDX-License-Identifier: MIT */
/* Implements the routines for security descriptors: see wdm/access.h and ntifs/security.h. */
#include <string.h>

#include "ntifs.h"

#include "wdk/ke/thread.h"
#include "wdk/rtl/descriptor.h"

NTSTATUS RtlCreateSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, ULONG Revision)
{
    irql_check_max("RtlCreateSecurityDescriptor", PASSIVE_LEVEL);
    if (Revision != SECURITY_DESCRIPTOR_REVISION)
        return STATUS_UNKNOWN_REVISION;
    *(SECURITY_DESCRIPTOR *)SecurityDescriptor = (SECURITY_DESCRIPTOR){ .Revision = SECURITY_DESCRIPTOR_REVISION };
    return STATUS_SUCCESS;
}

/* ---- Set parts --------------------------------------------------------------------------------------------------- */

static NTSTATUS security_check_absolute(const SECURITY_DESCRIPTOR *s)
{
    if (s->Revision != SECURITY_DESCRIPTOR_REVISION)
        return STATUS_UNKNOWN_REVISION;
    return s->Control & SE_SELF_RELATIVE ? STATUS_INVALID_SECURITY_DESCR : STATUS_SUCCESS;
}

static void security_set_flag(SECURITY_DESCRIPTOR *s, unsigned flag, bool on)
{
    s->Control = (SECURITY_DESCRIPTOR_CONTROL)((s->Control & ~flag) | (on ? flag : 0));
}

NTSTATUS RtlSetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, BOOLEAN DaclPresent, PACL Dacl,
                                      BOOLEAN DaclDefaulted)
{
    SECURITY_DESCRIPTOR *s = SecurityDescriptor;
    NTSTATUS status;

    irql_check_max("RtlSetDaclSecurityDescriptor", PASSIVE_LEVEL);
    status = security_check_absolute(s);
    if (!NT_SUCCESS(status))
        return status;
    security_set_flag(s, SE_DACL_PRESENT, DaclPresent);
    if (DaclPresent) {
        s->Dacl = Dacl;
        security_set_flag(s, SE_DACL_DEFAULTED, DaclDefaulted);
    }
    return STATUS_SUCCESS;
}

NTSTATUS RtlSetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Owner, BOOLEAN OwnerDefaulted)
{
    SECURITY_DESCRIPTOR *s = SecurityDescriptor;
    NTSTATUS status;

    irql_check_max("RtlSetOwnerSecurityDescriptor", APC_LEVEL);
    status = security_check_absolute(s);
    if (!NT_SUCCESS(status))
        return status;
    s->Owner = Owner;
    security_set_flag(s, SE_OWNER_DEFAULTED, OwnerDefaulted);
    return STATUS_SUCCESS;
}

NTSTATUS RtlSetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Group, BOOLEAN GroupDefaulted)
{
    SECURITY_DESCRIPTOR *s = SecurityDescriptor;
    NTSTATUS status;

    irql_check_max("RtlSetGroupSecurityDescriptor", APC_LEVEL);
    status = security_check_absolute(s);
    if (!NT_SUCCESS(status))
        return status;
    s->Group = Group;
    security_set_flag(s, SE_GROUP_DEFAULTED, GroupDefaulted);
    return STATUS_SUCCESS;
}

/* ---- Get parts --------------------------------------------------------------------------------------------------- */

NTSTATUS RtlGetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID *Owner, PBOOLEAN OwnerDefaulted)
{
    struct descriptor d;

    irql_check_max("RtlGetOwnerSecurityDescriptor", PASSIVE_LEVEL);
    if (!descriptor_read(SecurityDescriptor, &d))
        return STATUS_UNKNOWN_REVISION;
    *Owner = d.owner;
    *OwnerDefaulted = (d.control & SE_OWNER_DEFAULTED) != 0;
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID *Group, PBOOLEAN GroupDefaulted)
{
    struct descriptor d;

    irql_check_max("RtlGetGroupSecurityDescriptor", APC_LEVEL);
    if (!descriptor_read(SecurityDescriptor, &d))
        return STATUS_UNKNOWN_REVISION;
    *Group = d.group;
    *GroupDefaulted = (d.control & SE_GROUP_DEFAULTED) != 0;
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PBOOLEAN DaclPresent, PACL *Dacl,
                                      PBOOLEAN DaclDefaulted)
{
    struct descriptor d;

    irql_check_max("RtlGetDaclSecurityDescriptor", APC_LEVEL);
    if (!descriptor_read(SecurityDescriptor, &d))
        return STATUS_UNKNOWN_REVISION;
    *DaclPresent = (d.control & SE_DACL_PRESENT) != 0;
    if (*DaclPresent) {
        *Dacl = d.dacl;
        *DaclDefaulted = (d.control & SE_DACL_DEFAULTED) != 0;
    }
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetSaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PBOOLEAN SaclPresent, PACL *Sacl,
                                      PBOOLEAN SaclDefaulted)
{
    struct descriptor d;

    irql_check_max("RtlGetSaclSecurityDescriptor", APC_LEVEL);
    if (!descriptor_read(SecurityDescriptor, &d))
        return STATUS_UNKNOWN_REVISION;
    *SaclPresent = (d.control & SE_SACL_PRESENT) != 0;
    if (*SaclPresent) {
        *Sacl = d.sacl;
        *SaclDefaulted = (d.control & SE_SACL_DEFAULTED) != 0;
    }
    return STATUS_SUCCESS;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

BOOLEAN RtlValidSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor)
{
    struct descriptor d;

    irql_check_max("RtlValidSecurityDescriptor", PASSIVE_LEVEL);
    return SecurityDescriptor && descriptor_read(SecurityDescriptor, &d) && NT_SUCCESS(descriptor_check(&d));
}

BOOLEAN RtlValidRelativeSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptorInput, ULONG SecurityDescriptorLength,
                                           SECURITY_INFORMATION RequiredInformation)
{
    struct descriptor d;

    irql_check_max("RtlValidRelativeSecurityDescriptor", APC_LEVEL);
    return descriptor_read_relative(SecurityDescriptorInput, SecurityDescriptorLength, &d) &&
           (d.owner || !(RequiredInformation & OWNER_SECURITY_INFORMATION)) &&
           (d.group || !(RequiredInformation & GROUP_SECURITY_INFORMATION)) &&
           (d.control & SE_DACL_PRESENT || !(RequiredInformation & DACL_SECURITY_INFORMATION)) &&
           (d.control & SE_SACL_PRESENT || !(RequiredInformation & SACL_SECURITY_INFORMATION));
}

ULONG RtlLengthSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor)
{
    struct descriptor d;

    irql_check_max("RtlLengthSecurityDescriptor", PASSIVE_LEVEL);
    return descriptor_read(SecurityDescriptor, &d) ? (ULONG)descriptor_size(&d) : 0;
}

/* ---- Convert ----------------------------------------------------------------------------------------------------- */

NTSTATUS RtlAbsoluteToSelfRelativeSD(PSECURITY_DESCRIPTOR AbsoluteSecurityDescriptor,
                                     PSECURITY_DESCRIPTOR SelfRelativeSecurityDescriptor, PULONG BufferLength)
{
    ULONG room = *BufferLength;
    struct descriptor d;

    irql_check_max("RtlAbsoluteToSelfRelativeSD", APC_LEVEL);
    if (!descriptor_read(AbsoluteSecurityDescriptor, &d) || d.control & SE_SELF_RELATIVE)
        return STATUS_BAD_DESCRIPTOR_FORMAT;
    if (!NT_SUCCESS(descriptor_check(&d)))
        return STATUS_INVALID_SECURITY_DESCR;
    *BufferLength = (ULONG)descriptor_size(&d);
    if (room < *BufferLength)
        return STATUS_BUFFER_TOO_SMALL;
    descriptor_write(&d, SelfRelativeSecurityDescriptor);
    return STATUS_SUCCESS;
}

/* A part that RtlSelfRelativeToAbsoluteSD copies. */
struct copied_part {
    void *to;
    PULONG room;
    const void *from;
    size_t size; /* 0: there is no such part */
};

/* Copies the parts if all of them fit. Returns false if one does not fit. Sets each *room to the size of the part. */
static bool security_copy_parts(const struct copied_part parts[], size_t count)
{
    bool fit = true;

    for (size_t i = 0; i < count; i++) {
        fit = fit && *parts[i].room >= parts[i].size;
        *parts[i].room = (ULONG)parts[i].size;
    }
    for (size_t i = 0; fit && i < count; i++)
        if (parts[i].size)
            memcpy(parts[i].to, parts[i].from, parts[i].size);
    return fit;
}

NTSTATUS RtlSelfRelativeToAbsoluteSD(PSECURITY_DESCRIPTOR SelfRelativeSecurityDescriptor,
                                     PSECURITY_DESCRIPTOR AbsoluteSecurityDescriptor,
                                     PULONG AbsoluteSecurityDescriptorSize, PACL Dacl, PULONG DaclSize, PACL Sacl,
                                     PULONG SaclSize, PSID Owner, PULONG OwnerSize, PSID PrimaryGroup,
                                     PULONG PrimaryGroupSize)
{
    struct descriptor d;
    SECURITY_DESCRIPTOR head;

    irql_check_max("RtlSelfRelativeToAbsoluteSD", APC_LEVEL);
    if (!descriptor_read(SelfRelativeSecurityDescriptor, &d) || !(d.control & SE_SELF_RELATIVE))
        return STATUS_BAD_DESCRIPTOR_FORMAT;
    if (!NT_SUCCESS(descriptor_check(&d)))
        return STATUS_INVALID_SECURITY_DESCR;
    head = (SECURITY_DESCRIPTOR){ .Revision = SECURITY_DESCRIPTOR_REVISION,
                                  .Control = (SECURITY_DESCRIPTOR_CONTROL)(d.control & ~SE_SELF_RELATIVE),
                                  .Owner = d.owner ? Owner : NULL,
                                  .Group = d.group ? PrimaryGroup : NULL,
                                  .Sacl = d.sacl ? Sacl : NULL,
                                  .Dacl = d.dacl ? Dacl : NULL };
    {
        const struct copied_part parts[] = {
            { AbsoluteSecurityDescriptor, AbsoluteSecurityDescriptorSize, &head, sizeof head },
            { Dacl, DaclSize, d.dacl, d.dacl ? d.dacl->AclSize : 0 },
            { Sacl, SaclSize, d.sacl, d.sacl ? d.sacl->AclSize : 0 },
            { Owner, OwnerSize, d.owner, sid_size(d.owner, DESCRIPTOR_UNBOUNDED) },
            { PrimaryGroup, PrimaryGroupSize, d.group, sid_size(d.group, DESCRIPTOR_UNBOUNDED) },
        };

        return security_copy_parts(parts, sizeof parts / sizeof parts[0]) ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
    }
}

VOID RtlMapGenericMask(PACCESS_MASK AccessMask, const GENERIC_MAPPING *GenericMapping)
{
    ACCESS_MASK mask = *AccessMask;

    if (mask & GENERIC_READ)
        mask |= GenericMapping->GenericRead;
    if (mask & GENERIC_WRITE)
        mask |= GenericMapping->GenericWrite;
    if (mask & GENERIC_EXECUTE)
        mask |= GenericMapping->GenericExecute;
    if (mask & GENERIC_ALL)
        mask |= GenericMapping->GenericAll;
    *AccessMask = mask & ~(ACCESS_MASK)(GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | GENERIC_ALL);
}
