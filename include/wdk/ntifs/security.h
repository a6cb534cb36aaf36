/* SPDX-License-Identifier: MIT */
/*
 * Security identifiers (SIDs), the entries of access control lists, and security descriptors: see also wdm/access.h.
 * Routines here require IRQL <= APC_LEVEL, unless their comment names another level.
 */
#ifndef ONDK_WDK_NTIFS_SECURITY_H
#define ONDK_WDK_NTIFS_SECURITY_H

#include "../wdm/access.h"

EXTERN_C_START

/* ---- Identifiers ------------------------------------------------------------------------------------------------- */

#define SID_REVISION 1
#define SID_MAX_SUB_AUTHORITIES 15
#define SID_RECOMMENDED_SUB_AUTHORITIES 1

typedef struct _SID_IDENTIFIER_AUTHORITY {
    UCHAR Value[6];
} SID_IDENTIFIER_AUTHORITY, *PSID_IDENTIFIER_AUTHORITY;

typedef struct _SID {
    UCHAR Revision;
    UCHAR SubAuthorityCount;
    SID_IDENTIFIER_AUTHORITY IdentifierAuthority;
    ULONG SubAuthority[ANYSIZE_ARRAY];
} SID, *PISID;

#define SECURITY_MAX_SID_SIZE (sizeof(SID) - sizeof(ULONG) + SID_MAX_SUB_AUTHORITIES * sizeof(ULONG))

#define SECURITY_NULL_SID_AUTHORITY                                                                                    \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 0                                                                                               \
    }
#define SECURITY_WORLD_SID_AUTHORITY                                                                                   \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 1                                                                                               \
    }
#define SECURITY_LOCAL_SID_AUTHORITY                                                                                   \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 2                                                                                               \
    }
#define SECURITY_CREATOR_SID_AUTHORITY                                                                                 \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 3                                                                                               \
    }
#define SECURITY_NT_AUTHORITY                                                                                          \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 5                                                                                               \
    }
#define SECURITY_MANDATORY_LABEL_AUTHORITY                                                                             \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 16                                                                                              \
    }

#define SECURITY_NULL_RID 0
#define SECURITY_WORLD_RID 0
#define SECURITY_LOCAL_RID 0
#define SECURITY_CREATOR_OWNER_RID 0
#define SECURITY_CREATOR_GROUP_RID 1
#define SECURITY_CREATOR_OWNER_RIGHTS_RID 4
#define SECURITY_DIALUP_RID 1
#define SECURITY_NETWORK_RID 2
#define SECURITY_BATCH_RID 3
#define SECURITY_INTERACTIVE_RID 4
#define SECURITY_SERVICE_RID 6
#define SECURITY_ANONYMOUS_LOGON_RID 7
#define SECURITY_AUTHENTICATED_USER_RID 11
#define SECURITY_RESTRICTED_CODE_RID 12
#define SECURITY_IUSER_RID 17
#define SECURITY_LOCAL_SYSTEM_RID 18
#define SECURITY_LOCAL_SERVICE_RID 19
#define SECURITY_NETWORK_SERVICE_RID 20
#define SECURITY_BUILTIN_DOMAIN_RID 32
#define DOMAIN_ALIAS_RID_ADMINS 544
#define DOMAIN_ALIAS_RID_USERS 545
#define DOMAIN_ALIAS_RID_GUESTS 546
#define DOMAIN_ALIAS_RID_POWER_USERS 547
#define DOMAIN_ALIAS_RID_ACCOUNT_OPS 548
#define DOMAIN_ALIAS_RID_SYSTEM_OPS 549
#define DOMAIN_ALIAS_RID_PRINT_OPS 550
#define DOMAIN_ALIAS_RID_BACKUP_OPS 551

/* Returns the size of an identifier with as many subauthorities. */
NTKERNELAPI ULONG RtlLengthRequiredSid(_In_ ULONG SubAuthorityCount);
/*
 * Sets the authority and the number of subauthorities, but not the subauthorities. Returns STATUS_INVALID_PARAMETER for
 * more than SID_MAX_SUB_AUTHORITIES.
 */
NTKERNELAPI NTSTATUS RtlInitializeSid(_Out_ PSID Sid, _In_ PSID_IDENTIFIER_AUTHORITY IdentifierAuthority,
                                      _In_ UCHAR SubAuthorityCount);
/* Return the address of a part. The index is not checked. */
NTKERNELAPI PULONG RtlSubAuthoritySid(_In_ PSID Sid, _In_ ULONG SubAuthority);
NTKERNELAPI PUCHAR RtlSubAuthorityCountSid(_In_ PSID Sid);
NTKERNELAPI PSID_IDENTIFIER_AUTHORITY RtlIdentifierAuthoritySid(_In_ PSID Sid);
/* Returns TRUE if the revision and the number of subauthorities are valid. NULL is not valid. */
NTKERNELAPI BOOLEAN RtlValidSid(_In_ PSID Sid);
NTKERNELAPI ULONG RtlLengthSid(_In_ PSID Sid);
/* Compares two valid identifiers. Any IRQL. */
NTKERNELAPI BOOLEAN RtlEqualSid(_In_ PSID Sid1, _In_ PSID Sid2);
/* Works like RtlEqualSid, but without the last subauthority. */
NTKERNELAPI BOOLEAN RtlEqualPrefixSid(_In_ PSID Sid1, _In_ PSID Sid2);
/* Returns STATUS_BUFFER_TOO_SMALL if the identifier does not fit. */
NTKERNELAPI NTSTATUS RtlCopySid(_In_ ULONG DestinationSidLength,
                                _Out_writes_bytes_(DestinationSidLength) PSID DestinationSid, _In_ PSID SourceSid);
/*
 * Writes the identifier as text, for example S-1-5-18. RtlFreeUnicodeString frees a text that the routine has
 * allocated. Returns STATUS_INVALID_SID, STATUS_NO_MEMORY, and STATUS_BUFFER_OVERFLOW if the text does not fit.
 */
NTKERNELAPI NTSTATUS RtlConvertSidToUnicodeString(_Inout_ PUNICODE_STRING UnicodeString, _In_ PSID Sid,
                                                  _In_ BOOLEAN AllocateDestinationString);

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

typedef struct _ACE_HEADER {
    UCHAR AceType;
    UCHAR AceFlags;
    USHORT AceSize;
} ACE_HEADER, *PACE_HEADER;

#define ACCESS_MIN_MS_ACE_TYPE 0x0
#define ACCESS_ALLOWED_ACE_TYPE 0x0
#define ACCESS_DENIED_ACE_TYPE 0x1
#define SYSTEM_AUDIT_ACE_TYPE 0x2
#define SYSTEM_ALARM_ACE_TYPE 0x3
#define ACCESS_ALLOWED_OBJECT_ACE_TYPE 0x5
#define ACCESS_DENIED_OBJECT_ACE_TYPE 0x6
#define SYSTEM_MANDATORY_LABEL_ACE_TYPE 0x11

#define OBJECT_INHERIT_ACE 0x1
#define CONTAINER_INHERIT_ACE 0x2
#define NO_PROPAGATE_INHERIT_ACE 0x4
#define INHERIT_ONLY_ACE 0x8
#define INHERITED_ACE 0x10
#define VALID_INHERIT_FLAGS 0x1f

typedef struct _ACCESS_ALLOWED_ACE {
    ACE_HEADER Header;
    ACCESS_MASK Mask;
    ULONG SidStart;
} ACCESS_ALLOWED_ACE, *PACCESS_ALLOWED_ACE;
typedef struct _ACCESS_DENIED_ACE {
    ACE_HEADER Header;
    ACCESS_MASK Mask;
    ULONG SidStart;
} ACCESS_DENIED_ACE, *PACCESS_DENIED_ACE;
typedef struct _SYSTEM_AUDIT_ACE {
    ACE_HEADER Header;
    ACCESS_MASK Mask;
    ULONG SidStart;
} SYSTEM_AUDIT_ACE, *PSYSTEM_AUDIT_ACE;

/*
 * Makes an empty list, which allows no access. Returns STATUS_BUFFER_TOO_SMALL, and STATUS_INVALID_PARAMETER for an
 * unknown revision or a length above 65535.
 */
NTKERNELAPI NTSTATUS RtlCreateAcl(_Out_writes_bytes_(AclLength) PACL Acl, _In_ ULONG AclLength, _In_ ULONG AclRevision);
/* Returns TRUE if the list and its entries are valid. The size of the list's memory is not checked. */
NTKERNELAPI BOOLEAN RtlValidAcl(_In_ PACL Acl);
/*
 * Append an entry that allows or denies the rights. AceFlags: OBJECT_INHERIT_ACE and so on. Return
 * STATUS_ALLOTTED_SPACE_EXCEEDED if the entry does not fit, STATUS_INVALID_ACL, STATUS_INVALID_SID, and
 * STATUS_REVISION_MISMATCH.
 */
NTKERNELAPI NTSTATUS RtlAddAccessAllowedAce(_Inout_ PACL Acl, _In_ ULONG AceRevision, _In_ ACCESS_MASK AccessMask,
                                            _In_ PSID Sid);
NTKERNELAPI NTSTATUS RtlAddAccessAllowedAceEx(_Inout_ PACL Acl, _In_ ULONG AceRevision, _In_ ULONG AceFlags,
                                              _In_ ACCESS_MASK AccessMask, _In_ PSID Sid);
NTKERNELAPI NTSTATUS RtlAddAccessDeniedAce(_Inout_ PACL Acl, _In_ ULONG AceRevision, _In_ ACCESS_MASK AccessMask,
                                           _In_ PSID Sid);
NTKERNELAPI NTSTATUS RtlAddAccessDeniedAceEx(_Inout_ PACL Acl, _In_ ULONG AceRevision, _In_ ULONG AceFlags,
                                             _In_ ACCESS_MASK AccessMask, _In_ PSID Sid);
/*
 * Inserts the entries of AceList before the entry StartingAceIndex, or at the end if StartingAceIndex is MAXULONG.
 * Returns STATUS_BUFFER_TOO_SMALL if the entries do not fit, and STATUS_INVALID_PARAMETER if list, entries or revision
 * are not valid.
 */
NTKERNELAPI NTSTATUS RtlAddAce(_Inout_ PACL Acl, _In_ ULONG AceRevision, _In_ ULONG StartingAceIndex,
                               _In_reads_bytes_(AceListLength) PVOID AceList, _In_ ULONG AceListLength);
NTKERNELAPI NTSTATUS RtlDeleteAce(_Inout_ PACL Acl, _In_ ULONG AceIndex);
/* Returns the address of an entry within the list. Returns STATUS_INVALID_PARAMETER if there is no such entry. */
NTKERNELAPI NTSTATUS RtlGetAce(_In_ PACL Acl, _In_ ULONG AceIndex, _Out_ PVOID *Ace);

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

typedef USHORT SECURITY_DESCRIPTOR_CONTROL, *PSECURITY_DESCRIPTOR_CONTROL;
#define SE_OWNER_DEFAULTED 0x0001
#define SE_GROUP_DEFAULTED 0x0002
#define SE_DACL_PRESENT 0x0004
#define SE_DACL_DEFAULTED 0x0008
#define SE_SACL_PRESENT 0x0010
#define SE_SACL_DEFAULTED 0x0020
#define SE_DACL_AUTO_INHERIT_REQ 0x0100
#define SE_SACL_AUTO_INHERIT_REQ 0x0200
#define SE_DACL_AUTO_INHERITED 0x0400
#define SE_SACL_AUTO_INHERITED 0x0800
#define SE_DACL_PROTECTED 0x1000
#define SE_SACL_PROTECTED 0x2000
#define SE_RM_CONTROL_VALID 0x4000
#define SE_SELF_RELATIVE 0x8000

/* A descriptor in absolute format. */
typedef struct _SECURITY_DESCRIPTOR {
    UCHAR Revision;
    UCHAR Sbz1;
    SECURITY_DESCRIPTOR_CONTROL Control;
    PSID Owner;
    PSID Group;
    PACL Sacl;
    PACL Dacl;
} SECURITY_DESCRIPTOR, *PISECURITY_DESCRIPTOR;
#define SECURITY_DESCRIPTOR_MIN_LENGTH sizeof(SECURITY_DESCRIPTOR)

/* Begins a descriptor in self-relative format. The offsets count from here; 0 stands for a part that is not there. */
typedef struct _SECURITY_DESCRIPTOR_RELATIVE {
    UCHAR Revision;
    UCHAR Sbz1;
    SECURITY_DESCRIPTOR_CONTROL Control;
    ULONG Owner;
    ULONG Group;
    ULONG Sacl;
    ULONG Dacl;
} SECURITY_DESCRIPTOR_RELATIVE, *PISECURITY_DESCRIPTOR_RELATIVE;

/*
 * Return a part of a descriptor of either format. A part that is not there is NULL. *DaclPresent and *SaclPresent are
 * FALSE for a descriptor without such a list; then nothing else is stored. Return STATUS_UNKNOWN_REVISION.
 */
NTKERNELAPI NTSTATUS RtlGetOwnerSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor, _Out_ PSID *Owner,
                                                   _Out_ PBOOLEAN OwnerDefaulted);
NTKERNELAPI NTSTATUS RtlGetGroupSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor, _Out_ PSID *Group,
                                                   _Out_ PBOOLEAN GroupDefaulted);
NTKERNELAPI NTSTATUS RtlGetDaclSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor,
                                                  _Out_ PBOOLEAN DaclPresent, _Out_ PACL *Dacl,
                                                  _Out_ PBOOLEAN DaclDefaulted);
NTKERNELAPI NTSTATUS RtlGetSaclSecurityDescriptor(_In_ PSECURITY_DESCRIPTOR SecurityDescriptor,
                                                  _Out_ PBOOLEAN SaclPresent, _Out_ PACL *Sacl,
                                                  _Out_ PBOOLEAN SaclDefaulted);
/* Set the owner or group of an absolute descriptor, like RtlSetDaclSecurityDescriptor. */
NTKERNELAPI NTSTATUS RtlSetOwnerSecurityDescriptor(_Inout_ PSECURITY_DESCRIPTOR SecurityDescriptor, _In_opt_ PSID Owner,
                                                   _In_ BOOLEAN OwnerDefaulted);
NTKERNELAPI NTSTATUS RtlSetGroupSecurityDescriptor(_Inout_ PSECURITY_DESCRIPTOR SecurityDescriptor, _In_opt_ PSID Group,
                                                   _In_ BOOLEAN GroupDefaulted);
/*
 * Copies an absolute descriptor in self-relative format. If it does not fit, returns STATUS_BUFFER_TOO_SMALL, and
 * *BufferLength receives the size. A self-relative descriptor returns STATUS_BAD_DESCRIPTOR_FORMAT, one with invalid
 * parts STATUS_INVALID_SECURITY_DESCR.
 */
NTKERNELAPI NTSTATUS RtlAbsoluteToSelfRelativeSD(_In_ PSECURITY_DESCRIPTOR AbsoluteSecurityDescriptor,
                                                 _Out_writes_bytes_opt_(*BufferLength)
                                                     PSECURITY_DESCRIPTOR SelfRelativeSecurityDescriptor,
                                                 _Inout_ PULONG BufferLength);
/*
 * Copies a self-relative descriptor in absolute format: each part into a buffer of its own. If one does not fit,
 * returns STATUS_BUFFER_TOO_SMALL, and all sizes receive what is needed. The statuses are those of
 * RtlAbsoluteToSelfRelativeSD.
 */
NTKERNELAPI NTSTATUS RtlSelfRelativeToAbsoluteSD(_In_ PSECURITY_DESCRIPTOR SelfRelativeSecurityDescriptor,
                                                 _Out_opt_ PSECURITY_DESCRIPTOR AbsoluteSecurityDescriptor,
                                                 _Inout_ PULONG AbsoluteSecurityDescriptorSize, _Out_opt_ PACL Dacl,
                                                 _Inout_ PULONG DaclSize, _Out_opt_ PACL Sacl, _Inout_ PULONG SaclSize,
                                                 _Out_opt_ PSID Owner, _Inout_ PULONG OwnerSize,
                                                 _Out_opt_ PSID PrimaryGroup, _Inout_ PULONG PrimaryGroupSize);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/*
 * Opens a handle to an object. Access is not checked. PassedAccessState has no effect. A wrong type returns
 * STATUS_OBJECT_TYPE_MISMATCH, a file object STATUS_NOT_SUPPORTED. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ObOpenObjectByPointer(_In_ PVOID Object, _In_ ULONG HandleAttributes,
                                           _In_opt_ struct _ACCESS_STATE *PassedAccessState,
                                           _In_ ACCESS_MASK DesiredAccess, _In_opt_ POBJECT_TYPE ObjectType,
                                           _In_ KPROCESSOR_MODE AccessMode, _Out_ PHANDLE Handle);
/*
 * Replaces the parts of a device's descriptor that SecurityInformation names. The handle is one of the device or of a
 * file that is open on it. With a handle of another object, only checks the descriptor. Access rights of handles are
 * not checked. Returns STATUS_ACCESS_VIOLATION for NULL, STATUS_UNKNOWN_REVISION, STATUS_INVALID_ACL,
 * STATUS_INVALID_SID, and STATUS_INVALID_SECURITY_DESCR if the named owner or group is missing. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwSetSecurityObject(_In_ HANDLE Handle, _In_ SECURITY_INFORMATION SecurityInformation,
                                         _In_ PSECURITY_DESCRIPTOR SecurityDescriptor);
/*
 * Returns the named parts of an object's descriptor in self-relative format. A device without a descriptor, and every
 * other object, has that of the local system: owner and group, and a list that allows all to system and administrators.
 * *LengthNeeded receives the size, also if it does not fit (STATUS_BUFFER_TOO_SMALL). PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwQuerySecurityObject(_In_ HANDLE Handle, _In_ SECURITY_INFORMATION SecurityInformation,
                                           _Out_writes_bytes_opt_(Length) PSECURITY_DESCRIPTOR SecurityDescriptor,
                                           _In_ ULONG Length, _Out_ PULONG LengthNeeded);
#define NtSetSecurityObject ZwSetSecurityObject
#define NtQuerySecurityObject ZwQuerySecurityObject

/* Frees what SeAccessCheck has returned. Does nothing, because that is always NULL. PASSIVE_LEVEL. */
NTKERNELAPI VOID SeFreePrivileges(_In_ PPRIVILEGE_SET Privileges);

/* The privileges, and the identifiers that are the same on every system. */
typedef struct _SE_EXPORTS {
    LUID SeCreateTokenPrivilege;
    LUID SeAssignPrimaryTokenPrivilege;
    LUID SeLockMemoryPrivilege;
    LUID SeIncreaseQuotaPrivilege;
    LUID SeUnsolicitedInputPrivilege;
    LUID SeTcbPrivilege;
    LUID SeSecurityPrivilege;
    LUID SeTakeOwnershipPrivilege;
    LUID SeLoadDriverPrivilege;
    LUID SeCreatePagefilePrivilege;
    LUID SeIncreaseBasePriorityPrivilege;
    LUID SeSystemProfilePrivilege;
    LUID SeSystemtimePrivilege;
    LUID SeProfileSingleProcessPrivilege;
    LUID SeCreatePermanentPrivilege;
    LUID SeBackupPrivilege;
    LUID SeRestorePrivilege;
    LUID SeShutdownPrivilege;
    LUID SeDebugPrivilege;
    LUID SeAuditPrivilege;
    LUID SeSystemEnvironmentPrivilege;
    LUID SeChangeNotifyPrivilege;
    LUID SeRemoteShutdownPrivilege;
    PSID SeNullSid;
    PSID SeWorldSid;
    PSID SeLocalSid;
    PSID SeCreatorOwnerSid;
    PSID SeCreatorGroupSid;
    PSID SeNtAuthoritySid;
    PSID SeDialupSid;
    PSID SeNetworkSid;
    PSID SeBatchSid;
    PSID SeInteractiveSid;
    PSID SeLocalSystemSid;
    PSID SeAliasAdminsSid;
    PSID SeAliasUsersSid;
    PSID SeAliasGuestsSid;
    PSID SeAliasPowerUsersSid;
    PSID SeAliasAccountOpsSid;
    PSID SeAliasSystemOpsSid;
    PSID SeAliasPrintOpsSid;
    PSID SeAliasBackupOpsSid;
    PSID SeAuthenticatedUsersSid;
    PSID SeRestrictedSid;
    PSID SeAnonymousLogonSid;
    LUID SeUndockPrivilege;
    LUID SeSyncAgentPrivilege;
    LUID SeEnableDelegationPrivilege;
    PSID SeLocalServiceSid;
    PSID SeNetworkServiceSid;
    LUID SeManageVolumePrivilege;
    LUID SeImpersonatePrivilege;
    LUID SeCreateGlobalPrivilege;
    LUID SeTrustedCredManAccessPrivilege;
    LUID SeRelabelPrivilege;
    LUID SeIncreaseWorkingSetPrivilege;
    LUID SeTimeZonePrivilege;
    LUID SeCreateSymbolicLinkPrivilege;
    PSID SeIUserSid;
    PSID SeUntrustedMandatorySid;
    PSID SeLowMandatorySid;
    PSID SeMediumMandatorySid;
    PSID SeHighMandatorySid;
    PSID SeSystemMandatorySid;
    PSID SeOwnerRightsSid;
} SE_EXPORTS, *PSE_EXPORTS;

extern NTKERNELAPI PSE_EXPORTS SeExports;

EXTERN_C_END

#endif
