/* SPDX-License-Identifier: MIT */
/*
 * The formats of identifiers, access control lists and security descriptors. A function with a size reads nothing
 * outside of that memory, whatever the memory contains. No function reports or waits, so any IRQL is allowed.
 */
#ifndef ONDK_WDK_RTL_DESCRIPTOR_H
#define ONDK_WDK_RTL_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "ntifs.h"

/* The argument `room` for memory of unknown size. Then only the header of the SID or list limits what is read. */
#define DESCRIPTOR_UNBOUNDED ((size_t)MAXUSHORT)

/* Returns the size of the identifier, or 0 if it is not valid or not within the memory. */
size_t sid_size(const void *sid, size_t room);

/* Returns the size of the list, or 0 if the list or an entry is not valid or the list is not within the memory. */
size_t acl_size(const void *acl, size_t room);
/*
 * Returns the first free byte of a list that acl_size has accepted: the end of its last entry. Returns NULL if
 * acl_size has not accepted the list.
 */
PVOID acl_end(PACL acl);
/*
 * Appends an entry with rights and identifier. Returns STATUS_INVALID_SID, STATUS_INVALID_ACL, STATUS_INVALID_PARAMETER
 * for unknown flags, and STATUS_ALLOTTED_SPACE_EXCEEDED.
 */
NTSTATUS acl_append(PACL acl, UCHAR type, ULONG flags, ACCESS_MASK mask, PSID sid);
/* Returns true if the memory consists of valid entries. *count receives their number. */
bool acl_entries_are_valid(const void *entries, size_t size, size_t *count);
/* Returns the identifier of an allow, deny, audit, alarm or mandatory label entry. Returns NULL for other types. */
PSID ace_sid(const ACE_HEADER *ace);

/* The parts of a descriptor of either format. A missing part is NULL. */
struct descriptor {
    SECURITY_DESCRIPTOR_CONTROL control;
    PSID owner, group;
    PACL sacl, dacl;
};

/* Finds the parts, which are not checked. Returns false if the revision is not known. The header must be readable. */
bool descriptor_read(PSECURITY_DESCRIPTOR memory, struct descriptor *d);
/*
 * Returns STATUS_SUCCESS if all parts are valid. Otherwise STATUS_INVALID_SID or STATUS_INVALID_ACL. The sizes of the
 * parts' memory are not known.
 */
NTSTATUS descriptor_check(const struct descriptor *d);
/* Finds the parts of a self-relative descriptor in `size` bytes. Returns false if it is not valid. */
bool descriptor_read_relative(const void *memory, size_t size, struct descriptor *d);
/* Returns the size of the descriptor in self-relative format. All parts must be valid. */
size_t descriptor_size(const struct descriptor *d);
/* Writes the descriptor in self-relative format, which is descriptor_size bytes. */
void descriptor_write(const struct descriptor *d, PSECURITY_DESCRIPTOR memory);

#endif
