/* SPDX-License-Identifier: MIT */
/* Implements the routines for identifiers: see ntifs/security.h. */
#include <string.h>

#include "ntifs.h"

#include "wdk/common/text.h"
#include "wdk/ke/thread.h"
#include "wdk/rtl/descriptor.h"

ULONG RtlLengthRequiredSid(ULONG SubAuthorityCount)
{
    irql_check_max("RtlLengthRequiredSid", APC_LEVEL);
    return (ULONG)(offsetof(SID, SubAuthority) + SubAuthorityCount * sizeof(ULONG));
}

NTSTATUS RtlInitializeSid(PSID Sid, PSID_IDENTIFIER_AUTHORITY IdentifierAuthority, UCHAR SubAuthorityCount)
{
    SID *sid = Sid;

    irql_check_max("RtlInitializeSid", APC_LEVEL);
    if (SubAuthorityCount > SID_MAX_SUB_AUTHORITIES)
        return STATUS_INVALID_PARAMETER;
    sid->Revision = SID_REVISION;
    sid->SubAuthorityCount = SubAuthorityCount;
    sid->IdentifierAuthority = *IdentifierAuthority;
    return STATUS_SUCCESS;
}

PULONG RtlSubAuthoritySid(PSID Sid, ULONG SubAuthority)
{
    irql_check_max("RtlSubAuthoritySid", APC_LEVEL);
    return ((SID *)Sid)->SubAuthority + SubAuthority;
}

PUCHAR RtlSubAuthorityCountSid(PSID Sid)
{
    irql_check_max("RtlSubAuthorityCountSid", APC_LEVEL);
    return &((SID *)Sid)->SubAuthorityCount;
}

PSID_IDENTIFIER_AUTHORITY RtlIdentifierAuthoritySid(PSID Sid)
{
    irql_check_max("RtlIdentifierAuthoritySid", APC_LEVEL);
    return &((SID *)Sid)->IdentifierAuthority;
}

BOOLEAN RtlValidSid(PSID Sid)
{
    irql_check_max("RtlValidSid", APC_LEVEL);
    return sid_size(Sid, DESCRIPTOR_UNBOUNDED) != 0;
}

ULONG RtlLengthSid(PSID Sid)
{
    irql_check_max("RtlLengthSid", APC_LEVEL);
    return (ULONG)(offsetof(SID, SubAuthority) + ((SID *)Sid)->SubAuthorityCount * sizeof(ULONG));
}

BOOLEAN RtlEqualSid(PSID Sid1, PSID Sid2)
{
    size_t size = sid_size(Sid1, DESCRIPTOR_UNBOUNDED);

    return size && size == sid_size(Sid2, DESCRIPTOR_UNBOUNDED) && !memcmp(Sid1, Sid2, size);
}

BOOLEAN RtlEqualPrefixSid(PSID Sid1, PSID Sid2)
{
    size_t size = sid_size(Sid1, DESCRIPTOR_UNBOUNDED);
    UCHAR count = size ? ((SID *)Sid1)->SubAuthorityCount : 0;

    irql_check_max("RtlEqualPrefixSid", APC_LEVEL);
    return size && size == sid_size(Sid2, DESCRIPTOR_UNBOUNDED) &&
           !memcmp(Sid1, Sid2, size - (count ? sizeof(ULONG) : 0));
}

NTSTATUS RtlCopySid(ULONG DestinationSidLength, PSID DestinationSid, PSID SourceSid)
{
    size_t size = sid_size(SourceSid, DESCRIPTOR_UNBOUNDED);

    irql_check_max("RtlCopySid", APC_LEVEL);
    if (!size)
        return STATUS_INVALID_SID;
    if (size > DestinationSidLength)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(DestinationSid, SourceSid, size);
    return STATUS_SUCCESS;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

enum { MAX_TEXT = 256 }; /* the longest text has 183 characters */

/* Writes the identifier as text: the authority in decimal if it has 32 bits, otherwise in hexadecimal. */
static void sid_print(const SID *sid, char text[MAX_TEXT])
{
    const UCHAR *v = sid->IdentifierAuthority.Value;
    uint64_t authority = 0;
    int n;

    for (int i = 0; i < 6; i++)
        authority = authority << 8 | v[i];
    n = snprintf(text, MAX_TEXT, authority <= MAXULONG ? "S-%u-%llu" : "S-%u-0x%llX", sid->Revision,
                 (unsigned long long)authority);
    for (int i = 0; i < sid->SubAuthorityCount; i++)
        n += snprintf(text + n, MAX_TEXT - (size_t)n, "-%u", sid->SubAuthority[i]);
}

NTSTATUS RtlConvertSidToUnicodeString(PUNICODE_STRING UnicodeString, PSID Sid, BOOLEAN AllocateDestinationString)
{
    char text[MAX_TEXT];
    ANSI_STRING narrow;

    irql_check_max("RtlConvertSidToUnicodeString", APC_LEVEL);
    if (!sid_size(Sid, DESCRIPTOR_UNBOUNDED))
        return STATUS_INVALID_SID;
    sid_print(Sid, text);
    RtlInitAnsiString(&narrow, text);
    return RtlAnsiStringToUnicodeString(UnicodeString, &narrow, AllocateDestinationString);
}
