/* SPDX-License-Identifier: MIT */
/* Reads, checks and writes identifiers, lists and descriptors: see descriptor.h. */
#include "wdk/rtl/descriptor.h"

#include <stdint.h>
#include <string.h>

enum { UNIT = 4 }; /* in bytes; sizes and offsets are multiples of UNIT */

#define SID_HEAD offsetof(SID, SubAuthority)
#define ACE_HEAD offsetof(ACCESS_ALLOWED_ACE, SidStart)

size_t sid_size(const void *sid, size_t room)
{
    const SID *s = sid;
    size_t size;

    if (!s || room < SID_HEAD || s->Revision != SID_REVISION || s->SubAuthorityCount > SID_MAX_SUB_AUTHORITIES)
        return 0;
    size = SID_HEAD + s->SubAuthorityCount * sizeof(ULONG);
    return size <= room ? size : 0;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* Returns true if an entry of this type consists of header, rights and identifier. */
static bool ace_has_plain_sid(UCHAR type)
{
    return type <= SYSTEM_ALARM_ACE_TYPE || type == SYSTEM_MANDATORY_LABEL_ACE_TYPE;
}

/*
 * Returns the entry's size, or 0 if the entry is not valid. Checks only the size if ace_has_plain_sid returns false for
 * the type.
 */
static size_t ace_size(const void *ace, size_t room)
{
    const ACE_HEADER *header = ace;

    if (room < sizeof *header || header->AceSize < sizeof *header || header->AceSize % UNIT || header->AceSize > room)
        return 0;
    if (ace_has_plain_sid(header->AceType) &&
        (header->AceSize < ACE_HEAD || !sid_size((const char *)ace + ACE_HEAD, header->AceSize - ACE_HEAD)))
        return 0;
    return header->AceSize;
}

PSID ace_sid(const ACE_HEADER *ace)
{
    return ace_has_plain_sid(ace->AceType) ? (PSID)((char *)(uintptr_t)ace + ACE_HEAD) : NULL;
}

bool acl_entries_are_valid(const void *entries, size_t size, size_t *count)
{
    size_t at = 0, n;

    for (*count = 0; at < size; ++*count) {
        n = ace_size((const char *)entries + at, size - at);
        if (!n)
            return false;
        at += n;
    }
    return true;
}

/* Returns the number of bytes up to the end of the last entry. Returns 0 if the list or an entry is not valid. */
static size_t acl_used(const ACL *acl, size_t room)
{
    size_t at = sizeof *acl, n;

    if (!acl || room < sizeof *acl || acl->AclRevision < MIN_ACL_REVISION || acl->AclRevision > MAX_ACL_REVISION ||
        acl->AclSize < sizeof *acl || acl->AclSize > room)
        return 0;
    for (unsigned i = 0; i < acl->AceCount; i++) {
        n = ace_size((const char *)acl + at, acl->AclSize - at);
        if (!n)
            return 0;
        at += n;
    }
    return at;
}

size_t acl_size(const void *acl, size_t room)
{
    return acl_used(acl, room) ? ((const ACL *)acl)->AclSize : 0;
}

PVOID acl_end(PACL acl)
{
    size_t used = acl_used(acl, DESCRIPTOR_UNBOUNDED);

    return used ? (char *)acl + used : NULL;
}

NTSTATUS acl_append(PACL acl, UCHAR type, ULONG flags, ACCESS_MASK mask, PSID sid)
{
    char *end = acl_end(acl);
    size_t sid_bytes = sid_size(sid, DESCRIPTOR_UNBOUNDED), size = ACE_HEAD + sid_bytes;
    ACCESS_ALLOWED_ACE ace = { { type, (UCHAR)flags, (USHORT)size }, mask, 0 };

    if (!sid_bytes)
        return STATUS_INVALID_SID;
    if (!end)
        return STATUS_INVALID_ACL;
    if (flags & ~(ULONG)VALID_INHERIT_FLAGS)
        return STATUS_INVALID_PARAMETER;
    if (acl->AceCount == MAXUSHORT || size > acl->AclSize - (size_t)(end - (char *)acl))
        return STATUS_ALLOTTED_SPACE_EXCEEDED;
    memcpy(end, &ace, ACE_HEAD);
    memcpy(end + ACE_HEAD, sid, sid_bytes);
    acl->AceCount++;
    return STATUS_SUCCESS;
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

static void *descriptor_at(const void *memory, ULONG offset)
{
    return offset ? (char *)(uintptr_t)memory + offset : NULL;
}

static struct descriptor descriptor_parts_relative(const void *memory)
{
    SECURITY_DESCRIPTOR_RELATIVE head;

    memcpy(&head, memory, sizeof head);
    return (struct descriptor){ .control = head.Control,
                                .owner = descriptor_at(memory, head.Owner),
                                .group = descriptor_at(memory, head.Group),
                                .sacl = head.Control & SE_SACL_PRESENT ? descriptor_at(memory, head.Sacl) : NULL,
                                .dacl = head.Control & SE_DACL_PRESENT ? descriptor_at(memory, head.Dacl) : NULL };
}

bool descriptor_read(PSECURITY_DESCRIPTOR memory, struct descriptor *d)
{
    const SECURITY_DESCRIPTOR *s = memory;

    if (s->Revision != SECURITY_DESCRIPTOR_REVISION)
        return false;
    if (s->Control & SE_SELF_RELATIVE)
        *d = descriptor_parts_relative(memory);
    else
        *d = (struct descriptor){ .control = s->Control,
                                  .owner = s->Owner,
                                  .group = s->Group,
                                  .sacl = s->Control & SE_SACL_PRESENT ? s->Sacl : NULL,
                                  .dacl = s->Control & SE_DACL_PRESENT ? s->Dacl : NULL };
    return true;
}

NTSTATUS descriptor_check(const struct descriptor *d)
{
    if ((d->owner && !sid_size(d->owner, DESCRIPTOR_UNBOUNDED)) ||
        (d->group && !sid_size(d->group, DESCRIPTOR_UNBOUNDED)))
        return STATUS_INVALID_SID;
    if ((d->sacl && !acl_size(d->sacl, DESCRIPTOR_UNBOUNDED)) || (d->dacl && !acl_size(d->dacl, DESCRIPTOR_UNBOUNDED)))
        return STATUS_INVALID_ACL;
    return STATUS_SUCCESS;
}

/* Returns true if a part is missing, or is valid and within the descriptor's memory, behind its head. */
static bool descriptor_part_fits(const void *memory, size_t size, ULONG offset,
                                 size_t (*size_of)(const void *part, size_t room))
{
    if (!offset)
        return true;
    return offset >= sizeof(SECURITY_DESCRIPTOR_RELATIVE) && offset % UNIT == 0 && offset < size &&
           size_of((const char *)memory + offset, size - offset);
}

bool descriptor_read_relative(const void *memory, size_t size, struct descriptor *d)
{
    SECURITY_DESCRIPTOR_RELATIVE head;

    if (!memory || (uintptr_t)memory % UNIT || size < sizeof head)
        return false;
    memcpy(&head, memory, sizeof head);
    if (head.Revision != SECURITY_DESCRIPTOR_REVISION || !(head.Control & SE_SELF_RELATIVE) ||
        !descriptor_part_fits(memory, size, head.Owner, sid_size) ||
        !descriptor_part_fits(memory, size, head.Group, sid_size) ||
        (head.Control & SE_SACL_PRESENT && !descriptor_part_fits(memory, size, head.Sacl, acl_size)) ||
        (head.Control & SE_DACL_PRESENT && !descriptor_part_fits(memory, size, head.Dacl, acl_size)))
        return false;
    *d = descriptor_parts_relative(memory);
    return true;
}

/* A part's size, rounded up so that the next part is aligned. */
static size_t descriptor_rounded(size_t size)
{
    return (size + UNIT - 1) / UNIT * UNIT;
}

size_t descriptor_size(const struct descriptor *d)
{
    return sizeof(SECURITY_DESCRIPTOR_RELATIVE) + (d->owner ? sid_size(d->owner, DESCRIPTOR_UNBOUNDED) : 0) +
           (d->group ? sid_size(d->group, DESCRIPTOR_UNBOUNDED) : 0) +
           (d->sacl ? descriptor_rounded(d->sacl->AclSize) : 0) + (d->dacl ? descriptor_rounded(d->dacl->AclSize) : 0);
}

/* Appends a part. Returns its offset, or 0 if there is no part. */
static ULONG descriptor_append(char *memory, size_t *at, const void *part, size_t size)
{
    ULONG offset = (ULONG)*at;

    if (!part)
        return 0;
    memcpy(memory + *at, part, size);
    memset(memory + *at + size, 0, descriptor_rounded(size) - size);
    *at += descriptor_rounded(size);
    return offset;
}

void descriptor_write(const struct descriptor *d, PSECURITY_DESCRIPTOR memory)
{
    SECURITY_DESCRIPTOR_RELATIVE head = { .Revision = SECURITY_DESCRIPTOR_REVISION,
                                          .Control = d->control | SE_SELF_RELATIVE };
    size_t at = sizeof head;

    head.Sacl = descriptor_append(memory, &at, d->sacl, d->sacl ? d->sacl->AclSize : 0);
    head.Dacl = descriptor_append(memory, &at, d->dacl, d->dacl ? d->dacl->AclSize : 0);
    head.Owner = descriptor_append(memory, &at, d->owner, d->owner ? sid_size(d->owner, DESCRIPTOR_UNBOUNDED) : 0);
    head.Group = descriptor_append(memory, &at, d->group, d->group ? sid_size(d->group, DESCRIPTOR_UNBOUNDED) : 0);
    memcpy(memory, &head, sizeof head);
}
