/* SPDX-License-Identifier: MIT */
/*
 * Subjects and their privileges. This kernel has only the system's account, with all privileges. Every thread and every
 * program has this account. All routines require PASSIVE_LEVEL.
 */
#ifndef ONDK_WDK_WDM_SECURITY_H
#define ONDK_WDK_WDM_SECURITY_H

#include "../ntdef.h"
#include "thread.h"

EXTERN_C_START

typedef enum _SECURITY_IMPERSONATION_LEVEL {
    SecurityAnonymous,
    SecurityIdentification,
    SecurityImpersonation,
    SecurityDelegation
} SECURITY_IMPERSONATION_LEVEL, *PSECURITY_IMPERSONATION_LEVEL;

typedef PVOID PACCESS_TOKEN;

typedef BOOLEAN SECURITY_CONTEXT_TRACKING_MODE, *PSECURITY_CONTEXT_TRACKING_MODE;
#define SECURITY_DYNAMIC_TRACKING ((BOOLEAN)TRUE)
#define SECURITY_STATIC_TRACKING ((BOOLEAN)FALSE)

typedef struct _SECURITY_QUALITY_OF_SERVICE {
    ULONG Length;
    SECURITY_IMPERSONATION_LEVEL ImpersonationLevel;
    SECURITY_CONTEXT_TRACKING_MODE ContextTrackingMode;
    BOOLEAN EffectiveOnly;
} SECURITY_QUALITY_OF_SERVICE, *PSECURITY_QUALITY_OF_SERVICE;

/* The members are opaque to drivers. */
typedef struct _SECURITY_SUBJECT_CONTEXT {
    PACCESS_TOKEN ClientToken;
    SECURITY_IMPERSONATION_LEVEL ImpersonationLevel;
    PACCESS_TOKEN PrimaryToken;
    PVOID ProcessAuditId;
} SECURITY_SUBJECT_CONTEXT, *PSECURITY_SUBJECT_CONTEXT;

typedef struct _LUID_AND_ATTRIBUTES {
    LUID Luid;
    ULONG Attributes;
} LUID_AND_ATTRIBUTES, *PLUID_AND_ATTRIBUTES;
typedef LUID_AND_ATTRIBUTES LUID_AND_ATTRIBUTES_ARRAY[ANYSIZE_ARRAY], *PLUID_AND_ATTRIBUTES_ARRAY;

#define PRIVILEGE_SET_ALL_NECESSARY 1
typedef struct _PRIVILEGE_SET {
    ULONG PrivilegeCount;
    ULONG Control;
    LUID_AND_ATTRIBUTES Privilege[ANYSIZE_ARRAY];
} PRIVILEGE_SET, *PPRIVILEGE_SET;

#define SE_PRIVILEGE_ENABLED_BY_DEFAULT 0x00000001
#define SE_PRIVILEGE_ENABLED 0x00000002
#define SE_PRIVILEGE_REMOVED 0x00000004
#define SE_PRIVILEGE_USED_FOR_ACCESS 0x80000000

#define SE_MIN_WELL_KNOWN_PRIVILEGE 2
#define SE_CREATE_TOKEN_PRIVILEGE 2
#define SE_ASSIGNPRIMARYTOKEN_PRIVILEGE 3
#define SE_LOCK_MEMORY_PRIVILEGE 4
#define SE_INCREASE_QUOTA_PRIVILEGE 5
#define SE_MACHINE_ACCOUNT_PRIVILEGE 6
#define SE_TCB_PRIVILEGE 7
#define SE_SECURITY_PRIVILEGE 8
#define SE_TAKE_OWNERSHIP_PRIVILEGE 9
#define SE_LOAD_DRIVER_PRIVILEGE 10
#define SE_SYSTEM_PROFILE_PRIVILEGE 11
#define SE_SYSTEMTIME_PRIVILEGE 12
#define SE_PROF_SINGLE_PROCESS_PRIVILEGE 13
#define SE_INC_BASE_PRIORITY_PRIVILEGE 14
#define SE_CREATE_PAGEFILE_PRIVILEGE 15
#define SE_CREATE_PERMANENT_PRIVILEGE 16
#define SE_BACKUP_PRIVILEGE 17
#define SE_RESTORE_PRIVILEGE 18
#define SE_SHUTDOWN_PRIVILEGE 19
#define SE_DEBUG_PRIVILEGE 20
#define SE_AUDIT_PRIVILEGE 21
#define SE_SYSTEM_ENVIRONMENT_PRIVILEGE 22
#define SE_CHANGE_NOTIFY_PRIVILEGE 23
#define SE_REMOTE_SHUTDOWN_PRIVILEGE 24
#define SE_UNDOCK_PRIVILEGE 25
#define SE_SYNC_AGENT_PRIVILEGE 26
#define SE_ENABLE_DELEGATION_PRIVILEGE 27
#define SE_MANAGE_VOLUME_PRIVILEGE 28
#define SE_IMPERSONATE_PRIVILEGE 29
#define SE_CREATE_GLOBAL_PRIVILEGE 30
#define SE_TRUSTED_CREDMAN_ACCESS_PRIVILEGE 31
#define SE_RELABEL_PRIVILEGE 32
#define SE_INC_WORKING_SET_PRIVILEGE 33
#define SE_TIME_ZONE_PRIVILEGE 34
#define SE_CREATE_SYMBOLIC_LINK_PRIVILEGE 35
#define SE_DELEGATE_SESSION_USER_IMPERSONATE_PRIVILEGE 36
#define SE_MAX_WELL_KNOWN_PRIVILEGE 36

/*
 * Capture the subject of the calling thread, or of a thread and a process. Each captured subject must be released. Each
 * lock must be followed by an unlock on the same thread before the release.
 */
NTKERNELAPI VOID SeCaptureSubjectContext(_Out_ PSECURITY_SUBJECT_CONTEXT SubjectContext);
NTKERNELAPI VOID SeCaptureSubjectContextEx(_In_opt_ PETHREAD Thread, _In_ PEPROCESS Process,
                                           _Out_ PSECURITY_SUBJECT_CONTEXT SubjectContext);
NTKERNELAPI VOID SeLockSubjectContext(_In_ PSECURITY_SUBJECT_CONTEXT SubjectContext);
NTKERNELAPI VOID SeUnlockSubjectContext(_In_ PSECURITY_SUBJECT_CONTEXT SubjectContext);
NTKERNELAPI VOID SeReleaseSubjectContext(_Inout_ PSECURITY_SUBJECT_CONTEXT SubjectContext);

/*
 * These routines return TRUE if the subject has the privilege, or the privileges of the set: all of them if the set's
 * Control is PRIVILEGE_SET_ALL_NECESSARY, otherwise at least one. The subject has each SE_..._PRIVILEGE. KernelMode has
 * every privilege. SePrivilegeCheck sets SE_PRIVILEGE_USED_FOR_ACCESS in each privilege that the subject has.
 */
NTKERNELAPI BOOLEAN SePrivilegeCheck(_Inout_ PPRIVILEGE_SET RequiredPrivileges,
                                     _In_ PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                                     _In_ KPROCESSOR_MODE AccessMode);
NTKERNELAPI BOOLEAN SeSinglePrivilegeCheck(_In_ LUID PrivilegeValue, _In_ KPROCESSOR_MODE PreviousMode);

EXTERN_C_END

#endif
