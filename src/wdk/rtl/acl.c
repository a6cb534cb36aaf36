/* SPDX-License-Identifier: MIT */
/* Implements the routines for access control lists: see ntifs/security.h. */
#include <string.h>

#include "ntifs.h"

#include "wdk/ke/thread.h"
#include "wdk/rtl/descriptor.h"

NTSTATUS RtlCreateAcl(PACL Acl, ULONG AclLength, ULONG AclRevision)
{
    irql_check_max("RtlCreateAcl", APC_LEVEL);
    if (AclLength < sizeof *Acl)
        return STATUS_BUFFER_TOO_SMALL;
    if (AclLength > MAXUSHORT || AclRevision < MIN_ACL_REVISION || AclRevision > MAX_ACL_REVISION)
        return STATUS_INVALID_PARAMETER;
    *Acl = (ACL){ .AclRevision = (UCHAR)AclRevision, .AclSize = (USHORT)(AclLength & ~3u) };
    return STATUS_SUCCESS;
}

BOOLEAN RtlValidAcl(PACL Acl)
{
    irql_check_max("RtlValidAcl", APC_LEVEL);
    return acl_size(Acl, DESCRIPTOR_UNBOUNDED) != 0;
}

/* Returns the entry with this index, or the end of the list for AceCount. The list must be valid. */
static char *acl_entry(PACL acl, ULONG index)
{
    char *at = (char *)(acl + 1);

    for (ULONG i = 0; i < index; i++)
        at += ((ACE_HEADER *)(void *)at)->AceSize;
    return at;
}

static NTSTATUS acl_add(const char *routine, PACL acl, ULONG revision, UCHAR type, ULONG flags, ACCESS_MASK mask,
                        PSID sid)
{
    NTSTATUS status;

    irql_check_max(routine, APC_LEVEL);
    if (revision < MIN_ACL_REVISION || revision > MAX_ACL_REVISION)
        return STATUS_REVISION_MISMATCH;
    status = acl_append(acl, type, flags, mask, sid);
    if (NT_SUCCESS(status) && acl->AclRevision < revision)
        acl->AclRevision = (UCHAR)revision;
    return status;
}

NTSTATUS RtlAddAccessAllowedAce(PACL Acl, ULONG AceRevision, ACCESS_MASK AccessMask, PSID Sid)
{
    return acl_add("RtlAddAccessAllowedAce", Acl, AceRevision, ACCESS_ALLOWED_ACE_TYPE, 0, AccessMask, Sid);
}

NTSTATUS RtlAddAccessAllowedAceEx(PACL Acl, ULONG AceRevision, ULONG AceFlags, ACCESS_MASK AccessMask, PSID Sid)
{
    return acl_add("RtlAddAccessAllowedAceEx", Acl, AceRevision, ACCESS_ALLOWED_ACE_TYPE, AceFlags, AccessMask, Sid);
}

NTSTATUS RtlAddAccessDeniedAce(PACL Acl, ULONG AceRevision, ACCESS_MASK AccessMask, PSID Sid)
{
    return acl_add("RtlAddAccessDeniedAce", Acl, AceRevision, ACCESS_DENIED_ACE_TYPE, 0, AccessMask, Sid);
}

NTSTATUS RtlAddAccessDeniedAceEx(PACL Acl, ULONG AceRevision, ULONG AceFlags, ACCESS_MASK AccessMask, PSID Sid)
{
    return acl_add("RtlAddAccessDeniedAceEx", Acl, AceRevision, ACCESS_DENIED_ACE_TYPE, AceFlags, AccessMask, Sid);
}

NTSTATUS RtlAddAce(PACL Acl, ULONG AceRevision, ULONG StartingAceIndex, PVOID AceList, ULONG AceListLength)
{
    char *end = acl_end(Acl), *at;
    size_t count;

    irql_check_max("RtlAddAce", APC_LEVEL);
    if (!end || AceRevision < MIN_ACL_REVISION || AceRevision > MAX_ACL_REVISION || !AceList ||
        !acl_entries_are_valid(AceList, AceListLength, &count))
        return STATUS_INVALID_PARAMETER;
    if (AceListLength > Acl->AclSize - (size_t)(end - (char *)Acl) || count > (size_t)(MAXUSHORT - Acl->AceCount))
        return STATUS_BUFFER_TOO_SMALL;
    at = StartingAceIndex < Acl->AceCount ? acl_entry(Acl, StartingAceIndex) : end;
    memmove(at + AceListLength, at, (size_t)(end - at));
    memcpy(at, AceList, AceListLength);
    Acl->AceCount = (USHORT)(Acl->AceCount + count);
    if (Acl->AclRevision < AceRevision)
        Acl->AclRevision = (UCHAR)AceRevision;
    return STATUS_SUCCESS;
}

NTSTATUS RtlDeleteAce(PACL Acl, ULONG AceIndex)
{
    char *end = acl_end(Acl), *at, *next;

    irql_check_max("RtlDeleteAce", APC_LEVEL);
    if (!end || AceIndex >= Acl->AceCount)
        return STATUS_INVALID_PARAMETER;
    at = acl_entry(Acl, AceIndex);
    next = acl_entry(Acl, AceIndex + 1);
    memmove(at, next, (size_t)(end - next));
    Acl->AceCount--;
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetAce(PACL Acl, ULONG AceIndex, PVOID *Ace)
{
    irql_check_max("RtlGetAce", APC_LEVEL);
    if (!acl_end(Acl) || AceIndex >= Acl->AceCount)
        return STATUS_INVALID_PARAMETER;
    *Ace = acl_entry(Acl, AceIndex);
    return STATUS_SUCCESS;
}
