/* SPDX-License-Identifier: MIT */
/* Declares functions that the routines for files by handle share (file.c, file_control.c). */
#ifndef ONDK_WDK_FILE_H
#define ONDK_WDK_FILE_H

#include "wdm.h"

/* Returns the file with a reference, or NULL and the reason in *status. Reports a handle that is not open. */
PFILE_OBJECT file_lookup(const char *routine, HANDLE handle, NTSTATUS *status);
/* Sets the status block and drops the reference of file_lookup. */
NTSTATUS file_finish(PFILE_OBJECT file, PIO_STATUS_BLOCK block, NTSTATUS status, ULONG_PTR information);
NTSTATUS file_status_from_errno(int error);

#endif
