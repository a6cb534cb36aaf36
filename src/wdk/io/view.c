/* SPDX-License-Identifier: MIT */
/*
 * Maps views of sections: see wdm/section.h. A view is registered as LIVE_VIEW (live.h) from its mapping until it is
 * unmapped. It has a reference on its section, so that the section's handles may be closed first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/io/section.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

struct view {
    struct view *next;
    char *base;
    size_t size;
    struct section *section;
    bool in_system_space;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct view *views;

/* A view to map: which part of which section, at which address, and how. */
struct view_request {
    struct section *section;
    char *base; /* the requested address, or NULL for any address; view_map_memory sets `base` to the view's address */
    uint64_t offset;
    size_t size;
    ULONG protection;
    bool in_system_space;
};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

int section_host_protection(ULONG protection)
{
    switch (protection) {
    case PAGE_NOACCESS:
        return PROT_NONE;
    case PAGE_READONLY:
        return PROT_READ;
    case PAGE_EXECUTE:
    case PAGE_EXECUTE_READ:
        return PROT_READ | PROT_EXEC;
    case PAGE_EXECUTE_READWRITE:
    case PAGE_EXECUTE_WRITECOPY:
        return PROT_READ | PROT_WRITE | PROT_EXEC;
    default:
        return PROT_READ | PROT_WRITE;
    }
}

/* Returns the protections that views of a section with this protection may have. */
static ULONG view_allowed_protections(ULONG section)
{
    const ULONG read = PAGE_NOACCESS | PAGE_READONLY | PAGE_WRITECOPY,
                execute = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_WRITECOPY;

    switch (section) {
    case PAGE_READWRITE:
        return read | PAGE_READWRITE;
    case PAGE_EXECUTE:
        return PAGE_NOACCESS | PAGE_EXECUTE;
    case PAGE_EXECUTE_READ:
    case PAGE_EXECUTE_WRITECOPY:
        return read | execute;
    case PAGE_EXECUTE_READWRITE:
        return read | execute | PAGE_READWRITE | PAGE_EXECUTE_READWRITE;
    default:
        return read;
    }
}

/* Reserves memory at `wanted`. Returns NULL if memory is mapped there. */
static char *section_reserve_at(char *wanted, size_t size)
{
    char *at = mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (at == wanted)
        return at;
    if (at != MAP_FAILED) /* a kernel without MAP_FIXED_NOREPLACE has chosen another address */
        munmap(at, size);
    return NULL;
}

/*
 * mmap aligns memory only to pages. If `wanted` is NULL, reserves SECTION_GRANULARITY more bytes, and then unmaps the
 * bytes before and after the aligned range.
 */
char *section_reserve(char *wanted, size_t size)
{
    size_t whole = size + SECTION_GRANULARITY, before;
    char *all;

    if (whole < size)
        return NULL;
    if (wanted)
        return section_reserve_at(wanted, size);
    all = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)all % SECTION_GRANULARITY);
    if (before)
        munmap(all, before);
    munmap(all + before + size, whole - before - size);
    return all + before;
}

/* Maps the memory and sets r->base. */
static NTSTATUS view_map_memory(struct view_request *r)
{
    bool is_copy = r->protection & (PAGE_WRITECOPY | PAGE_EXECUTE_WRITECOPY);
    int flags = is_copy ? MAP_PRIVATE : MAP_SHARED, protection = section_host_protection(r->protection);
    char *at = section_reserve(r->base, r->size);

    if (!at)
        return r->base ? STATUS_CONFLICTING_ADDRESSES : STATUS_NO_MEMORY;
    if (mmap(at, r->size, protection, flags | MAP_FIXED, r->section->descriptor, (off_t)r->offset) == MAP_FAILED) {
        munmap(at, r->size);
        return STATUS_NO_MEMORY;
    }
    r->base = at;
    return STATUS_SUCCESS;
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

/* Maps a view. On success, the view takes over the caller's reference on the section. */
static NTSTATUS view_map(const char *routine, struct view_request *r)
{
    struct view *v = calloc(1, sizeof *v);
    NTSTATUS status = v ? view_map_memory(r) : STATUS_INSUFFICIENT_RESOURCES;

    if (status) {
        free(v);
        return status;
    }
    *v = (struct view){ NULL, r->base, r->size, r->section, r->in_system_space };
    live_add(LIVE_VIEW, v->base, routine);
    pthread_mutex_lock(&lock);
    v->next = views;
    views = v;
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

/*
 * Removes a view from the list and returns it: in system space the view that begins at the address, otherwise the view
 * that contains the address. Returns NULL if there is none.
 */
static struct view *view_remove(const char *address, bool in_system_space)
{
    struct view **at, *v;

    pthread_mutex_lock(&lock);
    for (at = &views; (v = *at); at = &v->next)
        if (address >= v->base && address < v->base + v->size && v->in_system_space == in_system_space &&
            (!in_system_space || address == v->base)) {
            *at = v->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    return v;
}

static NTSTATUS view_unmap(const char *routine, const void *address, bool in_system_space)
{
    struct view *v = view_remove(address, in_system_space);

    if (!v)
        return STATUS_NOT_MAPPED_VIEW;
    inuse_check(routine, v->base, v->size);
    (void)live_remove(LIVE_VIEW, v->base);
    munmap(v->base, v->size);
    ob_unref(v->section);
    free(v);
    return STATUS_SUCCESS;
}

/* ---- By handle --------------------------------------------------------------------------------------------------- */

NTSTATUS section_check_process(const char *routine, HANDLE process)
{
    NTSTATUS status;
    void *object;

    if (process == NtCurrentProcess())
        return STATUS_SUCCESS;
    object = handle_lookup_reported(routine, process, *PsProcessType, &status);
    if (!object)
        return status;
    ob_unref(object);
    return STATUS_SUCCESS;
}

static NTSTATUS view_check_arguments(ULONG_PTR zero_bits, SIZE_T commit_size, SIZE_T size, SECTION_INHERIT inherit,
                                     ULONG type, ULONG protect)
{
    const ULONG types = MEM_LARGE_PAGES | MEM_RESERVE | MEM_TOP_DOWN;

    if (zero_bits > 20)
        return STATUS_INVALID_PARAMETER_4;
    if (size && commit_size > size)
        return STATUS_INVALID_PARAMETER_5;
    if (inherit != ViewShare && inherit != ViewUnmap)
        return STATUS_INVALID_PARAMETER_8;
    if (type & ~types)
        return STATUS_INVALID_PARAMETER_9;
    return section_protection(protect) || protect == PAGE_NOACCESS ? STATUS_SUCCESS : STATUS_INVALID_PAGE_PROTECTION;
}

/* Checks that the view lies in the section. Rounds r->size up to whole pages; 0 becomes the rest of the section. */
static NTSTATUS view_check_size(struct view_request *r)
{
    uint64_t end = ROUND_TO_PAGES(r->section->size);

    if (r->offset >= end || r->size > end - r->offset)
        return STATUS_INVALID_VIEW_SIZE;
    r->size = r->size ? ROUND_TO_PAGES(r->size) : end - r->offset;
    return STATUS_SUCCESS;
}

NTSTATUS ZwMapViewOfSection(HANDLE SectionHandle, HANDLE ProcessHandle, PVOID *BaseAddress, ULONG_PTR ZeroBits,
                            SIZE_T CommitSize, PLARGE_INTEGER SectionOffset, PSIZE_T ViewSize,
                            SECTION_INHERIT InheritDisposition, ULONG AllocationType, ULONG Win32Protect)
{
    struct view_request r = { .size = *ViewSize, .protection = section_protection(Win32Protect) };
    NTSTATUS status = view_check_arguments(ZeroBits, CommitSize, *ViewSize, InheritDisposition, AllocationType,
                                           Win32Protect);

    irql_check_max("ZwMapViewOfSection", PASSIVE_LEVEL);
    if (!status)
        status = section_check_process("ZwMapViewOfSection", ProcessHandle);
    if (status)
        return status;
    r.section = handle_lookup_reported("ZwMapViewOfSection", SectionHandle, *MmSectionObjectType, &status);
    if (!r.section)
        return status;
    r.protection = r.protection ? r.protection : PAGE_NOACCESS;
    r.base = (char *)*BaseAddress - (uintptr_t)*BaseAddress % SECTION_GRANULARITY;
    r.offset = SectionOffset ? (uint64_t)SectionOffset->QuadPart & ~(uint64_t)(SECTION_GRANULARITY - 1) : 0;
    status = r.protection & view_allowed_protections(r.section->protection) ? view_check_size(&r)
                                                                            : STATUS_SECTION_PROTECTION;
    if (!status)
        status = view_map("ZwMapViewOfSection", &r);
    if (status) {
        ob_unref(r.section);
        return status;
    }
    *BaseAddress = r.base;
    *ViewSize = r.size;
    if (SectionOffset)
        SectionOffset->QuadPart = (LONGLONG)r.offset;
    return STATUS_SUCCESS;
}

NTSTATUS ZwUnmapViewOfSection(HANDLE ProcessHandle, PVOID BaseAddress)
{
    NTSTATUS status = section_check_process("ZwUnmapViewOfSection", ProcessHandle);

    irql_check_max("ZwUnmapViewOfSection", PASSIVE_LEVEL);
    return status ? status : view_unmap("ZwUnmapViewOfSection", BaseAddress, false);
}

/* ---- By pointer -------------------------------------------------------------------------------------------------- */

NTSTATUS MmMapViewInSystemSpace(PVOID Section, PVOID *MappedBase, PSIZE_T ViewSize)
{
    struct view_request r = { .section = Section, .size = *ViewSize, .in_system_space = true };
    NTSTATUS status;

    irql_check_max("MmMapViewInSystemSpace", APC_LEVEL);
    *MappedBase = NULL;
    if (!ob_check("MmMapViewInSystemSpace", Section) || ob_type(Section) != *MmSectionObjectType)
        return STATUS_INVALID_PARAMETER;
    r.protection = r.section->protection;
    ob_ref(Section);
    status = view_check_size(&r);
    if (!status)
        status = view_map("MmMapViewInSystemSpace", &r);
    if (status) {
        ob_unref(Section);
        return status;
    }
    *MappedBase = r.base;
    *ViewSize = r.size;
    return STATUS_SUCCESS;
}

NTSTATUS MmUnmapViewInSystemSpace(PVOID MappedBase)
{
    irql_check_max("MmUnmapViewInSystemSpace", APC_LEVEL);
    return view_unmap("MmUnmapViewInSystemSpace", MappedBase, true);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwMapViewOfSection) NtMapViewOfSection __attribute__((alias("ZwMapViewOfSection")));
__typeof__(ZwUnmapViewOfSection) NtUnmapViewOfSection __attribute__((alias("ZwUnmapViewOfSection")));
