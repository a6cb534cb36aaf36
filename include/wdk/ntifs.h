/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers and drivers that flush files include. Includes ntddk.h. The only routine for file
 * systems that is declared is ZwFlushBuffersFile.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

EXTERN_C_START

/*
 * Writes the file's data from the host's cache to the disk. If the handle is of a device, the device's driver receives
 * IRP_MJ_FLUSH_BUFFERS. If the file or device is not open for writing, returns STATUS_ACCESS_DENIED. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwFlushBuffersFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock);

/*
 * Creates an event and a handle, which ZwClose closes. If an event of the same name exists, returns
 * STATUS_OBJECT_NAME_COLLISION; with OBJ_OPENIF opens that event and returns STATUS_OBJECT_NAME_EXISTS. Names begin
 * with a backslash; RootDirectory must be NULL. DesiredAccess has no effect. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwCreateEvent(_Out_ PHANDLE EventHandle, _In_ ACCESS_MASK DesiredAccess,
                                   _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_ EVENT_TYPE EventType,
                                   _In_ BOOLEAN InitialState);
NTKERNELAPI NTSTATUS ZwOpenEvent(_Out_ PHANDLE EventHandle, _In_ ACCESS_MASK DesiredAccess,
                                 _In_ POBJECT_ATTRIBUTES ObjectAttributes);
/* *PreviousState is not 0 if the event was signaled. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS ZwSetEvent(_In_ HANDLE EventHandle, _Out_opt_ PLONG PreviousState);
/*
 * Waits for an event or a thread, like KeWaitForSingleObject. For any other handle, returns
 * STATUS_OBJECT_TYPE_MISMATCH. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwWaitForSingleObject(_In_ HANDLE Handle, _In_ BOOLEAN Alertable, _In_opt_ PLARGE_INTEGER Timeout);

/* Return the process of the IRP's thread, or NULL or 0 if the IRP has no thread. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI ULONG IoGetRequestorProcessId(_In_ PIRP Irp);
NTKERNELAPI PEPROCESS IoGetRequestorProcess(_In_ PIRP Irp);

EXTERN_C_END

#endif
