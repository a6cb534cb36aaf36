/* SPDX-License-Identifier: MIT */
/* Declares functions of file.c and file_*.c. These files implement the Zw... routines for files and devices. */
#ifndef ONDK_WDK_FILE_H
#define ONDK_WDK_FILE_H

#include <stdint.h>

#include "ntifs.h"

/* Returns the file with a reference, or NULL and the reason in *status. Reports a handle that is not open. */
PFILE_OBJECT file_lookup(const char *routine, HANDLE handle, NTSTATUS *status);
/* Sets the status block and drops the reference of file_lookup. */
NTSTATUS file_finish(PFILE_OBJECT file, PIO_STATUS_BLOCK block, NTSTATUS status, ULONG_PTR information);
NTSTATUS file_status_from_errno(int error);

/* These two functions get and set the file's position, also for a file that has a device. */
int64_t file_get_position(PFILE_OBJECT file);
void file_set_position(PFILE_OBJECT file, int64_t at);

/*
 * Returns the file's path on the host, relative to the directory that ondk_wdk_set_file_root has set: C/a/b for
 * \??\C:\a\b, SystemRoot/a for \SystemRoot\a. The caller frees the path. Returns NULL if `name` does not name a file,
 * or if out of memory.
 */
char *file_host_name(PCUNICODE_STRING name);
/*
 * Opens a file below the directory `below`. -1 means the directory that ondk_wdk_set_file_root has set. The host's
 * kernel refuses a path that leads out of the directory. On failure returns -1 and sets errno.
 */
int file_open_beneath(int below, const char *name, int flags);
/*
 * These two functions return the present path of a descriptor, and of the directory that ondk_wdk_set_file_root has
 * set. The caller frees the path. They return NULL if the path is not known.
 */
char *file_descriptor_path(int descriptor);
char *file_root_path(void);

/* Returns STATUS_SUCCESS if the host's file may be deleted. Otherwise returns the reason why it may not. */
NTSTATUS file_check_delete(PFILE_OBJECT file);
/* Deletes the host's file. Does nothing if the file's directory no longer contains the file. */
void file_delete(PFILE_OBJECT file);
/* Renames the host's file. `length` is the size of *to in bytes. */
NTSTATUS file_rename(PFILE_OBJECT file, const FILE_RENAME_INFORMATION *to, ULONG length);

#endif
