/* SPDX-License-Identifier: MIT */
/*
 * System threads, processors, time.
 */
#ifndef ONDK_WDK_WDM_THREAD_H
#define ONDK_WDK_WDM_THREAD_H

#include "../ntdef.h"

EXTERN_C_START

typedef struct _OBJECT_TYPE *POBJECT_TYPE;

typedef struct _OBJECT_HANDLE_INFORMATION {
    ULONG HandleAttributes;
    ACCESS_MASK GrantedAccess;
} OBJECT_HANDLE_INFORMATION, *POBJECT_HANDLE_INFORMATION;

extern NTKERNELAPI POBJECT_TYPE *PsThreadType;

/* References to threads, files, devices, and whatever else a handle stands for. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI LONG_PTR ObfReferenceObject(_In_ PVOID Object);
NTKERNELAPI LONG_PTR ObfDereferenceObject(_In_ PVOID Object);
NTKERNELAPI VOID ObDereferenceObjectDeferDelete(_In_ PVOID Object);
NTKERNELAPI NTSTATUS ObReferenceObjectByPointer(_In_ PVOID Object, _In_ ACCESS_MASK DesiredAccess,
                                                _In_opt_ POBJECT_TYPE ObjectType, _In_ KPROCESSOR_MODE AccessMode);
#define ObReferenceObject(object) ObfReferenceObject(object)
#define ObDereferenceObject(object) ObfDereferenceObject(object)

/* PASSIVE_LEVEL. Access is not looked at: everything here may do everything. */
NTKERNELAPI NTSTATUS ObReferenceObjectByHandle(_In_ HANDLE Handle, _In_ ACCESS_MASK DesiredAccess,
                                               _In_opt_ POBJECT_TYPE ObjectType, _In_ KPROCESSOR_MODE AccessMode,
                                               _Out_ PVOID *Object,
                                               _Out_opt_ POBJECT_HANDLE_INFORMATION HandleInformation);

EXTERN_C_END

#endif
