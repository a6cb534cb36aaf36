/* SPDX-License-Identifier: MIT */
/*
 * Sections, which are memory or files that drivers share, and views of sections. There is one process: ProcessHandle is
 * NtCurrentProcess() or another handle to this process. Access rights are not checked, except those of a file. The
 * routines require PASSIVE_LEVEL unless their comment names another level.
 */
#ifndef ONDK_WDK_WDM_SECTION_H
#define ONDK_WDK_WDM_SECTION_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "io.h"
#include "mdl.h"

EXTERN_C_START

#define SECTION_QUERY 0x0001
#define SECTION_MAP_WRITE 0x0002
#define SECTION_MAP_READ 0x0004
#define SECTION_MAP_EXECUTE 0x0008
#define SECTION_EXTEND_SIZE 0x0010
#define SECTION_ALL_ACCESS                                                                                             \
    (STANDARD_RIGHTS_REQUIRED | SECTION_QUERY | SECTION_MAP_WRITE | SECTION_MAP_READ | SECTION_MAP_EXECUTE |           \
     SECTION_EXTEND_SIZE)

#define SEC_FILE 0x00800000
#define SEC_IMAGE 0x01000000
#define SEC_RESERVE 0x04000000
#define SEC_COMMIT 0x08000000
#define SEC_NOCACHE 0x10000000
#define SEC_WRITECOMBINE 0x40000000
#define SEC_LARGE_PAGES 0x80000000

#define MEM_COMMIT 0x00001000
#define MEM_RESERVE 0x00002000
#define MEM_DECOMMIT 0x00004000
#define MEM_RELEASE 0x00008000
#define MEM_TOP_DOWN 0x00100000
#define MEM_LARGE_PAGES 0x20000000

typedef enum _SECTION_INHERIT { ViewShare = 1, ViewUnmap = 2 } SECTION_INHERIT;

/* For ObReferenceObjectByHandle. Windows exports it, but its headers do not declare it. */
extern NTKERNELAPI struct _OBJECT_TYPE **MmSectionObjectType;

/*
 * Creates a section and a handle, which ZwClose closes. A section without FileHandle is memory, initially zero, whose
 * size is *MaximumSize rounded up to whole pages. A section of a file has the file's size if *MaximumSize is 0 or
 * MaximumSize is NULL. If *MaximumSize is larger than the file, and the section can be written, extends the file.
 *   STATUS_SECTION_TOO_BIG           *MaximumSize is larger than the file, and the section cannot be written
 *   STATUS_MAPPED_FILE_SIZE_ZERO     the file is empty, and there is no *MaximumSize
 *   STATUS_INVALID_FILE_FOR_SECTION  the handle is of a directory or a device
 *   STATUS_ACCESS_DENIED             the file is not open for reading; or the section can be written, and the file is
 *                                    not open for writing
 *
 * A name begins with a backslash, for example \BaseNamedObjects\x, and exists while a handle to the section is open. If
 * it exists already, returns STATUS_OBJECT_NAME_COLLISION; with OBJ_OPENIF opens that section and returns
 * STATUS_OBJECT_NAME_EXISTS. RootDirectory must be NULL. OBJ_PERMANENT has no effect.
 *
 * AllocationAttributes has SEC_COMMIT or SEC_RESERVE, which do the same here. SEC_IMAGE returns STATUS_NOT_SUPPORTED.
 */
NTKERNELAPI NTSTATUS ZwCreateSection(_Out_ PHANDLE SectionHandle, _In_ ACCESS_MASK DesiredAccess,
                                     _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_opt_ PLARGE_INTEGER MaximumSize,
                                     _In_ ULONG SectionPageProtection, _In_ ULONG AllocationAttributes,
                                     _In_opt_ HANDLE FileHandle);
NTKERNELAPI NTSTATUS NtCreateSection(_Out_ PHANDLE SectionHandle, _In_ ACCESS_MASK DesiredAccess,
                                     _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_opt_ PLARGE_INTEGER MaximumSize,
                                     _In_ ULONG SectionPageProtection, _In_ ULONG AllocationAttributes,
                                     _In_opt_ HANDLE FileHandle);
NTKERNELAPI NTSTATUS ZwOpenSection(_Out_ PHANDLE SectionHandle, _In_ ACCESS_MASK DesiredAccess,
                                   _In_ POBJECT_ATTRIBUTES ObjectAttributes);
NTKERNELAPI NTSTATUS NtOpenSection(_Out_ PHANDLE SectionHandle, _In_ ACCESS_MASK DesiredAccess,
                                   _In_ POBJECT_ATTRIBUTES ObjectAttributes);

/*
 * Maps a part of the section. *SectionOffset is rounded down to 64 KiB. If *ViewSize is 0, the view extends to the end
 * of the section; otherwise the size is rounded up to whole pages. Both receive the value used. If *BaseAddress is not
 * NULL, the view is mapped there, rounded down to 64 KiB, or the call fails with STATUS_CONFLICTING_ADDRESSES. Returns
 * STATUS_INVALID_VIEW_SIZE if the view does not lie inside the section, and STATUS_SECTION_PROTECTION if the section
 * does not allow the protection. ZeroBits, CommitSize and the flags of AllocationType have no effect, but are checked.
 *
 * A view with PAGE_WRITECOPY does not change the section. A view needs no handle: the section exists until the last
 * view is unmapped.
 */
NTKERNELAPI NTSTATUS ZwMapViewOfSection(_In_ HANDLE SectionHandle, _In_ HANDLE ProcessHandle,
                                        _Inout_ PVOID *BaseAddress, _In_ ULONG_PTR ZeroBits, _In_ SIZE_T CommitSize,
                                        _Inout_opt_ PLARGE_INTEGER SectionOffset, _Inout_ PSIZE_T ViewSize,
                                        _In_ SECTION_INHERIT InheritDisposition, _In_ ULONG AllocationType,
                                        _In_ ULONG Win32Protect);
NTKERNELAPI NTSTATUS NtMapViewOfSection(_In_ HANDLE SectionHandle, _In_ HANDLE ProcessHandle,
                                        _Inout_ PVOID *BaseAddress, _In_ ULONG_PTR ZeroBits, _In_ SIZE_T CommitSize,
                                        _Inout_opt_ PLARGE_INTEGER SectionOffset, _Inout_ PSIZE_T ViewSize,
                                        _In_ SECTION_INHERIT InheritDisposition, _In_ ULONG AllocationType,
                                        _In_ ULONG Win32Protect);
/*
 * Unmaps the view that contains BaseAddress. Returns STATUS_NOT_MAPPED_VIEW if there is none. An event, lock or other
 * object in the view that is still in use is reported (rule object-freed-in-use).
 */
NTKERNELAPI NTSTATUS ZwUnmapViewOfSection(_In_ HANDLE ProcessHandle, _In_opt_ PVOID BaseAddress);
NTKERNELAPI NTSTATUS NtUnmapViewOfSection(_In_ HANDLE ProcessHandle, _In_opt_ PVOID BaseAddress);

/*
 * MmMapViewInSystemSpace maps the start of a section, or the whole section if *ViewSize is 0, with the section's own
 * protection. MmUnmapViewInSystemSpace unmaps such a view by the address of its start. IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS MmMapViewInSystemSpace(_In_ PVOID Section, _Outptr_ PVOID *MappedBase, _Inout_ PSIZE_T ViewSize);
NTKERNELAPI NTSTATUS MmUnmapViewInSystemSpace(_In_ PVOID MappedBase);

EXTERN_C_END

#endif
