/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers include, and drivers that flush files. It declares what wdm.h declares, and of
 * the routines for file systems only the one below.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

EXTERN_C_START

/*
 * Writes the file's data from the host's cache to the disk. The file must be open for writing, otherwise the call
 * returns STATUS_ACCESS_DENIED. The driver of a device receives IRP_MJ_FLUSH_BUFFERS. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwFlushBuffersFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock);

EXTERN_C_END

#endif
