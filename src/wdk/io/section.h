/* SPDX-License-Identifier: MIT */
/* Sections and the sizes of views, for section.c and view.c. */
#ifndef ONDK_WDK_SECTION_H
#define ONDK_WDK_SECTION_H

#include <stdint.h>
#include <sys/types.h>

#include "wdm.h"

enum { SECTION_GRANULARITY = 0x10000 }; /* of a view's address and of its offset in the section */

/*
 * A counted object (object.h). Each view and each handle has a reference. Only `handles` and `next` change after the
 * creation.
 */
struct section {
    int descriptor;    /* of the memory, or of the file */
    PFILE_OBJECT file; /* the section has a reference; NULL if the section is memory */
    uint64_t size;     /* in bytes */
    ULONG protection;  /* PAGE_..., without the flags of the cache */
    int handles;       /* open handles, and those that are being opened; guarded by section.c's lock */
    /* The members below are used only if the section has a file. section.c's files_lock guards `next`. */
    struct section *next;
    dev_t device;
    ino_t inode;
};

/*
 * Changes the size of the host's file. Returns STATUS_USER_MAPPED_FILE if the file would become shorter while a section
 * of the file exists: accesses to a view behind the file's end would fault.
 */
NTSTATUS section_set_file_size(int descriptor, int64_t size);

/*
 * Returns the protection without the flags of the cache. Returns 0 if it is not exactly one of the protections that a
 * section can have, PAGE_READONLY to PAGE_EXECUTE_WRITECOPY.
 */
ULONG section_protection(ULONG protection);
/* Returns the host's protection (PROT_...) for a result of section_protection, or for PAGE_NOACCESS. */
int section_host_protection(ULONG protection);

/*
 * Reserves `size` bytes at `wanted`, or at any multiple of SECTION_GRANULARITY if `wanted` is NULL. Returns NULL if
 * there is no room.
 */
char *section_reserve(char *wanted, size_t size);

/*
 * Returns STATUS_SUCCESS if `process` is a handle to a process, which can only be this one. Reports a handle that is
 * not open.
 */
NTSTATUS section_check_process(const char *routine, HANDLE process);

#endif
