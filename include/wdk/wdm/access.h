/* SPDX-License-Identifier: MIT */
/*
 * Access control lists, security descriptors and access checks. ntifs/security.h has identifiers (SIDs) and the entries
 * of lists.
 *
 * There is one account, the local system, which is a member of the administrators. A driver's own open is not checked,
 * as on Windows. A program's open of a device is checked with this account if the device has a security descriptor: one
 * of IoCreateDeviceSecure or of a WDFDEVICE_INIT, or one that ZwSetSecurityObject has set.
 */
#ifndef ONDK_WDK_WDM_ACCESS_H
#define ONDK_WDK_WDM_ACCESS_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "io.h"
#include "pool.h"
#include "security.h"

EXTERN_C_START

#define ACCESS_SYSTEM_SECURITY 0x01000000

typedef ULONG SECURITY_INFORMATION, *PSECURITY_INFORMATION;
#define OWNER_SECURITY_INFORMATION 0x00000001
#define GROUP_SECURITY_INFORMATION 0x00000002
#define DACL_SECURITY_INFORMATION 0x00000004
#define SACL_SECURITY_INFORMATION 0x00000008

#define SECURITY_DESCRIPTOR_REVISION 1
#define SECURITY_DESCRIPTOR_REVISION1 1

#define ACL_REVISION 2
#define ACL_REVISION_DS 4
#define ACL_REVISION1 1
#define ACL_REVISION2 2
#define ACL_REVISION3 3
#define ACL_REVISION4 4
#define MIN_ACL_REVISION ACL_REVISION2
#define MAX_ACL_REVISION ACL_REVISION4

typedef struct _ACL {
    UCHAR AclRevision;
    UCHAR Sbz1;
    USHORT AclSize;
    USHORT AceCount;
    USHORT Sbz2;
} ACL, *PACL;

/*
 * Makes an empty descriptor in absolute format. Returns STATUS_UNKNOWN_REVISION if Revision is not
 * SECURITY_DESCRIPTOR_REVISION. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS RtlCreateSecurityDescriptor(_Out_ PSECURITY_DESCRIPTOR SecurityDescriptor, _In_ ULONG Revision);
/*
 * Sets the list of an absolute descriptor. The descriptor refers to the list, which must stay allocated. A NULL list
 * allows all access. Returns STATUS_UNKNOWN_REVISION, and STATUS_INVALID_SECURITY_DESCR for a self-relative descriptor.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS RtlSetDaclSecurityDescriptor(_Inout_ PSECURITY_DESCRIPTOR SecurityDescriptor,
                                                  _In_ BOOLEAN DaclPresent, _In_opt_ PACL Dacl,
                                                  _In_ BOOLEAN DaclDefaulted);
/*
 * Returns the size of the descriptor with its parts in self-relative format. The descriptor must be valid.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI ULONG RtlLengthSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor);
/*
 * Returns TRUE if the revision is valid and all parts are valid. RtlValidRelativeSecurityDescriptor also checks that
 * the parts are within the descriptor's memory. PASSIVE_LEVEL.
 */
NTKERNELAPI BOOLEAN RtlValidSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor);
/*
 * Returns TRUE if the self-relative descriptor is valid, no part is outside of the memory, and the parts of
 * RequiredInformation are present. Any contents of the memory are allowed. IRQL <= APC_LEVEL.
 */
NTKERNELAPI BOOLEAN RtlValidRelativeSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptorInput,
                                                       _In_ ULONG SecurityDescriptorLength,
                                                       _In_ SECURITY_INFORMATION RequiredInformation);
/* Works like RtlValidRelativeSecurityDescriptor without required parts, but an owner must be present. PASSIVE_LEVEL. */
NTKERNELAPI BOOLEAN SeValidSecurityDescriptor(_In_ ULONG Length, _In_ PSECURITY_DESCRIPTOR SecurityDescriptor);

/* Replaces the generic rights of *AccessMask by the rights for which they stand. Any IRQL. */
NTKERNELAPI VOID RtlMapGenericMask(_Inout_ PACCESS_MASK AccessMask, _In_ const GENERIC_MAPPING *GenericMapping);

/*
 * Returns TRUE if the subject, which is the local system, may have the rights; *GrantedAccess then receives the rights.
 * Returns FALSE otherwise; *AccessStatus then receives the reason. KernelMode has all rights. If there is no
 * descriptor, UserMode has none. *Privileges is always NULL. PASSIVE_LEVEL.
 */
NTKERNELAPI BOOLEAN SeAccessCheck(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor,
                                  _In_ PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                                  _In_ BOOLEAN SubjectContextLocked, _In_ ACCESS_MASK DesiredAccess,
                                  _In_ ACCESS_MASK PreviouslyGrantedAccess, _Out_opt_ PPRIVILEGE_SET *Privileges,
                                  _In_ PGENERIC_MAPPING GenericMapping, _In_ KPROCESSOR_MODE AccessMode,
                                  _Out_ PACCESS_MASK GrantedAccess, _Out_ PNTSTATUS AccessStatus);

/*
 * Makes the self-relative descriptor of a new object in paged pool. The descriptor has the parts of ExplicitDescriptor.
 * The local system's descriptor provides the other parts. Generic rights are mapped. Nothing is inherited from
 * ParentDescriptor. SeDeassignSecurity frees the descriptor and sets the pointer to NULL. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS SeAssignSecurity(_In_opt_ PSECURITY_DESCRIPTOR ParentDescriptor,
                                      _In_opt_ PSECURITY_DESCRIPTOR ExplicitDescriptor,
                                      _Out_ PSECURITY_DESCRIPTOR *NewDescriptor, _In_ BOOLEAN IsDirectoryObject,
                                      _In_ PSECURITY_SUBJECT_CONTEXT SubjectContext,
                                      _In_ PGENERIC_MAPPING GenericMapping, _In_ POOL_TYPE PoolType);
NTKERNELAPI NTSTATUS SeDeassignSecurity(_Inout_ PSECURITY_DESCRIPTOR *SecurityDescriptor);

/*
 * Returns a copy of a device's descriptor in pool, or NULL for a device without one and for any other object.
 * ObReleaseObjectSecurity must follow with the same *MemoryAllocated. PASSIVE_LEVEL; the release IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS ObGetObjectSecurity(_In_ PVOID Object, _Out_ PSECURITY_DESCRIPTOR *SecurityDescriptor,
                                         _Out_ PBOOLEAN MemoryAllocated);
NTKERNELAPI VOID ObReleaseObjectSecurity(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor, _In_ BOOLEAN MemoryAllocated);

EXTERN_C_END

#endif
