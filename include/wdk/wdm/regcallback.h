/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of the registry. A registered routine is called before and after each operation that a driver carries out
 * on a key by its handle (the Zw routines, ZwClose, the framework's routines), at PASSIVE_LEVEL, on the thread of the
 * operation. The Rtl routines for the registry and the host program's settings are not notified.
 */
#ifndef ONDK_WDK_WDM_REGCALLBACK_H
#define ONDK_WDK_WDM_REGCALLBACK_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "io.h"
#include "zw.h"

EXTERN_C_START

/*
 * Notifications exist for the creation, opening, closing, deletion, query, enumeration and flush of keys, and for
 * setting, deletion, query and enumeration of values. Creation and opening have RegNt...CreateKeyEx and
 * RegNt...OpenKeyEx, never the classes of Windows XP without Ex.
 */
typedef enum _REG_NOTIFY_CLASS {
    RegNtDeleteKey,
    RegNtPreDeleteKey = RegNtDeleteKey,
    RegNtSetValueKey,
    RegNtPreSetValueKey = RegNtSetValueKey,
    RegNtDeleteValueKey,
    RegNtPreDeleteValueKey = RegNtDeleteValueKey,
    RegNtSetInformationKey,
    RegNtPreSetInformationKey = RegNtSetInformationKey,
    RegNtRenameKey,
    RegNtPreRenameKey = RegNtRenameKey,
    RegNtEnumerateKey,
    RegNtPreEnumerateKey = RegNtEnumerateKey,
    RegNtEnumerateValueKey,
    RegNtPreEnumerateValueKey = RegNtEnumerateValueKey,
    RegNtQueryKey,
    RegNtPreQueryKey = RegNtQueryKey,
    RegNtQueryValueKey,
    RegNtPreQueryValueKey = RegNtQueryValueKey,
    RegNtQueryMultipleValueKey,
    RegNtPreQueryMultipleValueKey = RegNtQueryMultipleValueKey,
    RegNtPreCreateKey,
    RegNtPostCreateKey,
    RegNtPreOpenKey,
    RegNtPostOpenKey,
    RegNtKeyHandleClose,
    RegNtPreKeyHandleClose = RegNtKeyHandleClose,
    RegNtPostDeleteKey,
    RegNtPostSetValueKey,
    RegNtPostDeleteValueKey,
    RegNtPostSetInformationKey,
    RegNtPostRenameKey,
    RegNtPostEnumerateKey,
    RegNtPostEnumerateValueKey,
    RegNtPostQueryKey,
    RegNtPostQueryValueKey,
    RegNtPostQueryMultipleValueKey,
    RegNtPostKeyHandleClose,
    RegNtPreCreateKeyEx,
    RegNtPostCreateKeyEx,
    RegNtPreOpenKeyEx,
    RegNtPostOpenKeyEx,
    RegNtPreFlushKey,
    RegNtPostFlushKey,
    RegNtPreLoadKey,
    RegNtPostLoadKey,
    RegNtPreUnLoadKey,
    RegNtPostUnLoadKey,
    RegNtPreQueryKeySecurity,
    RegNtPostQueryKeySecurity,
    RegNtPreSetKeySecurity,
    RegNtPostSetKeySecurity,
    RegNtCallbackObjectContextCleanup,
    RegNtPreRestoreKey,
    RegNtPostRestoreKey,
    RegNtPreSaveKey,
    RegNtPostSaveKey,
    RegNtPreReplaceKey,
    RegNtPostReplaceKey,
    RegNtPreQueryKeyName,
    RegNtPostQueryKeyName,
    RegNtPreSaveMergedKey,
    RegNtPostSaveMergedKey,
    MaxRegNtNotifyClass,
} REG_NOTIFY_CLASS, *PREG_NOTIFY_CLASS;

/* Argument1 is a REG_NOTIFY_CLASS, Argument2 points to the class' structure. */
typedef NTSTATUS EX_CALLBACK_FUNCTION(_In_ PVOID CallbackContext, _In_opt_ PVOID Argument1, _In_opt_ PVOID Argument2);
typedef EX_CALLBACK_FUNCTION *PEX_CALLBACK_FUNCTION;

typedef struct _REG_DELETE_KEY_INFORMATION {
    PVOID Object;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_DELETE_KEY_INFORMATION, *PREG_DELETE_KEY_INFORMATION, REG_FLUSH_KEY_INFORMATION, *PREG_FLUSH_KEY_INFORMATION;

typedef struct _REG_KEY_HANDLE_CLOSE_INFORMATION {
    PVOID Object;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_KEY_HANDLE_CLOSE_INFORMATION, *PREG_KEY_HANDLE_CLOSE_INFORMATION;

typedef struct _REG_SET_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    ULONG TitleIndex;
    ULONG Type;
    PVOID Data;
    ULONG DataSize;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_SET_VALUE_KEY_INFORMATION, *PREG_SET_VALUE_KEY_INFORMATION;

typedef struct _REG_DELETE_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_DELETE_VALUE_KEY_INFORMATION, *PREG_DELETE_VALUE_KEY_INFORMATION;

typedef struct _REG_RENAME_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING NewName;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_RENAME_KEY_INFORMATION, *PREG_RENAME_KEY_INFORMATION;

typedef struct _REG_ENUMERATE_KEY_INFORMATION {
    PVOID Object;
    ULONG Index;
    KEY_INFORMATION_CLASS KeyInformationClass;
    PVOID KeyInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_ENUMERATE_KEY_INFORMATION, *PREG_ENUMERATE_KEY_INFORMATION;

typedef struct _REG_ENUMERATE_VALUE_KEY_INFORMATION {
    PVOID Object;
    ULONG Index;
    KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass;
    PVOID KeyValueInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_ENUMERATE_VALUE_KEY_INFORMATION, *PREG_ENUMERATE_VALUE_KEY_INFORMATION;

typedef struct _REG_QUERY_KEY_INFORMATION {
    PVOID Object;
    KEY_INFORMATION_CLASS KeyInformationClass;
    PVOID KeyInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_QUERY_KEY_INFORMATION, *PREG_QUERY_KEY_INFORMATION;

typedef struct _REG_QUERY_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass;
    PVOID KeyValueInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_QUERY_VALUE_KEY_INFORMATION, *PREG_QUERY_VALUE_KEY_INFORMATION;

typedef struct _REG_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
    PVOID RootObject;
    PVOID ObjectType;
    ULONG CreateOptions;
    PUNICODE_STRING Class;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK GrantedAccess;
    PULONG Disposition;
    PVOID *ResultObject;
    PVOID CallContext;
    PVOID RootObjectContext;
    PVOID Transaction;
    PVOID Reserved;
} REG_CREATE_KEY_INFORMATION, REG_OPEN_KEY_INFORMATION, *PREG_CREATE_KEY_INFORMATION, *PREG_OPEN_KEY_INFORMATION;

/* The notifications have Version 1. CompleteName is the name that the caller has passed. */
typedef struct _REG_CREATE_KEY_INFORMATION_V1 {
    PUNICODE_STRING CompleteName;
    PVOID RootObject;
    PVOID ObjectType;
    ULONG Options;
    PUNICODE_STRING Class;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK GrantedAccess;
    PULONG Disposition;
    PVOID *ResultObject;
    PVOID CallContext;
    PVOID RootObjectContext;
    PVOID Transaction;
    ULONG_PTR Version;
    PUNICODE_STRING RemainingName;
    ULONG Wow64Flags;
    ULONG Attributes;
    KPROCESSOR_MODE CheckAccessMode;
} REG_CREATE_KEY_INFORMATION_V1, REG_OPEN_KEY_INFORMATION_V1, *PREG_CREATE_KEY_INFORMATION_V1,
    *PREG_OPEN_KEY_INFORMATION_V1;

typedef struct _REG_PRE_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
} REG_PRE_CREATE_KEY_INFORMATION, REG_PRE_OPEN_KEY_INFORMATION, *PREG_PRE_CREATE_KEY_INFORMATION,
    *PREG_PRE_OPEN_KEY_INFORMATION;

typedef struct _REG_POST_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
    PVOID Object;
    NTSTATUS Status;
} REG_POST_CREATE_KEY_INFORMATION, REG_POST_OPEN_KEY_INFORMATION, *PREG_POST_CREATE_KEY_INFORMATION,
    *PREG_POST_OPEN_KEY_INFORMATION;

typedef struct _REG_POST_OPERATION_INFORMATION {
    PVOID Object;
    NTSTATUS Status;
    PVOID PreInformation;
    NTSTATUS ReturnStatus;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_POST_OPERATION_INFORMATION, *PREG_POST_OPERATION_INFORMATION;

typedef struct _REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION {
    PVOID Object;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION, *PREG_CALLBACK_CONTEXT_CLEANUP_INFORMATION;

/* The type of the objects in the notifications, for ObReferenceObjectByHandle and ObReferenceObjectByPointer. */
extern NTKERNELAPI struct _OBJECT_TYPE **CmKeyObjectType;

/*
 * Registers a routine. Altitude is a decimal number, for example L"370030.1", which no other registered routine has
 * (STATUS_FLT_INSTANCE_ALTITUDE_COLLISION). Returns STATUS_INVALID_PARAMETER if Altitude is empty. CmRegisterCallback
 * registers a routine above all altitudes. IRQL <= APC_LEVEL.
 *
 * The pre-notification of an operation calls the routines from the highest altitude to the lowest, the
 * post-notification calls them in the opposite order. If a routine returns an error from its pre-notification, the
 * operation is not carried out, and the operation's caller receives this status, or STATUS_SUCCESS for
 * STATUS_CALLBACK_BYPASS. The post-notification then calls only the routines above this routine. If a routine returns
 * STATUS_CALLBACK_BYPASS from its post-notification, ReturnStatus becomes the result. The close of a handle cannot be
 * blocked. An operation that a routine itself carries out calls only lower routines.
 */
NTKERNELAPI NTSTATUS CmRegisterCallbackEx(_In_ PEX_CALLBACK_FUNCTION Function, _In_ PCUNICODE_STRING Altitude,
                                          _In_ PVOID Driver, _In_opt_ PVOID Context, _Out_ PLARGE_INTEGER Cookie,
                                          _Reserved_ PVOID Reserved);
NTKERNELAPI NTSTATUS CmRegisterCallback(_In_ PEX_CALLBACK_FUNCTION Function, _In_opt_ PVOID Context,
                                        _Out_ PLARGE_INTEGER Cookie);
/*
 * Unregisters a routine. Waits until the routine has returned on other threads, then calls the routine for each object
 * that has a context. Returns STATUS_INVALID_PARAMETER if no routine has the cookie. The routine itself must not call
 * CmUnRegisterCallback (rule lock-recursive). IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS CmUnRegisterCallback(_In_ LARGE_INTEGER Cookie);
/* The version is 1.1. */
NTKERNELAPI VOID CmGetCallbackVersion(_Out_opt_ PULONG Major, _Out_opt_ PULONG Minor);
/*
 * Sets the context that the routine with the cookie finds as ObjectContext in notifications about the object. The
 * routine receives the context with RegNtCallbackObjectContextCleanup when the object's last reference is dropped, or
 * when the routine is unregistered. Each open of a key makes an object of its own. IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS CmSetCallbackObjectContext(_Inout_ PVOID Object, _In_ PLARGE_INTEGER Cookie, _In_ PVOID NewContext,
                                                _Outptr_opt_ PVOID *OldContext);
/*
 * These routines return the key's identifier, which all objects of the key share, and the key's full path. The path of
 * CmCallbackGetKeyObjectID is valid as long as the object exists. CmCallbackReleaseKeyObjectIDEx frees the path of
 * CmCallbackGetKeyObjectIDEx. A deleted key has no path (STATUS_KEY_DELETED). IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS CmCallbackGetKeyObjectID(_In_ PLARGE_INTEGER Cookie, _In_ PVOID Object,
                                              _Out_opt_ PULONG_PTR ObjectID, _Outptr_opt_ PCUNICODE_STRING *ObjectName);
NTKERNELAPI NTSTATUS CmCallbackGetKeyObjectIDEx(_In_ PLARGE_INTEGER Cookie, _In_ PVOID Object,
                                                _Out_opt_ PULONG_PTR ObjectID,
                                                _Outptr_opt_ PCUNICODE_STRING *ObjectName, _In_ ULONG Flags);
NTKERNELAPI VOID CmCallbackReleaseKeyObjectIDEx(_In_ PCUNICODE_STRING ObjectName);

EXTERN_C_END

#endif
