/* SPDX-License-Identifier: MIT */
/*
 * Implements the virtual memory of the process: see ntifs.h. Each allocation is a region, which is registered as
 * LIVE_MEMORY (live.h) until it is released.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ntifs.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/io/section.h"
#include "wdk/ke/thread.h"

struct region {
    struct region *next;
    char *base;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and the protection of the regions */
static struct region *regions;

/*
 * Returns the address of the list's pointer to the region that contains [start, start + size). If there is no such
 * region, returns the address of the NULL at the list's end. Requires the lock.
 */
static struct region **region_find(const char *start, size_t size)
{
    struct region **at = &regions;

    while (*at && (start < (*at)->base || start >= (*at)->base + (*at)->size ||
                   size > (size_t)((*at)->base + (*at)->size - start)))
        at = &(*at)->next;
    return at;
}

/* Returns the host's protection (PROT_...). Returns -1 if `protection` is not valid, or is valid only for sections. */
static int region_host_protection(ULONG protection)
{
    ULONG plain = protection == PAGE_NOACCESS ? protection : section_protection(protection);

    return !plain || plain & (PAGE_WRITECOPY | PAGE_EXECUTE_WRITECOPY) ? -1 : section_host_protection(plain);
}

/* Creates a region at `wanted`, or anywhere if `wanted` is NULL. Its pages cannot be accessed before region_commit. */
static NTSTATUS region_reserve(char *wanted, size_t size, struct region **out)
{
    struct region *r = calloc(1, sizeof *r);
    NTSTATUS status = STATUS_SUCCESS;

    if (!r)
        return STATUS_INSUFFICIENT_RESOURCES;
    *r = (struct region){ NULL, section_reserve(wanted, size), size };
    if (!r->base)
        status = wanted ? STATUS_CONFLICTING_ADDRESSES : STATUS_NO_MEMORY;
    if (status) {
        free(r);
        return status;
    }
    live_add(LIVE_MEMORY, r->base, "ZwAllocateVirtualMemory");
    pthread_mutex_lock(&lock);
    r->next = regions;
    regions = r;
    pthread_mutex_unlock(&lock);
    *out = r;
    return STATUS_SUCCESS;
}

/* Commits pages: sets their protection. Returns STATUS_CONFLICTING_ADDRESSES if no region contains all of them. */
static NTSTATUS region_commit(char *start, size_t size, int protection)
{
    NTSTATUS status = STATUS_CONFLICTING_ADDRESSES;

    pthread_mutex_lock(&lock);
    if (*region_find(start, size))
        status = mprotect(start, size, protection) ? STATUS_NO_MEMORY : STATUS_SUCCESS;
    pthread_mutex_unlock(&lock);
    return status;
}

static NTSTATUS region_release(char *start, SIZE_T *size)
{
    struct region **at, *r;
    NTSTATUS status = STATUS_SUCCESS;

    pthread_mutex_lock(&lock);
    at = region_find(start, 0);
    r = *at;
    if (!r)
        status = STATUS_MEMORY_NOT_ALLOCATED;
    else if (r->base != start)
        status = STATUS_FREE_VM_NOT_AT_BASE;
    else
        *at = r->next;
    pthread_mutex_unlock(&lock);
    if (status)
        return status;
    inuse_check("ZwFreeVirtualMemory", r->base, r->size);
    (void)live_remove(LIVE_MEMORY, r->base);
    munmap(r->base, r->size);
    *size = r->size;
    free(r);
    return STATUS_SUCCESS;
}

NTSTATUS ZwAllocateVirtualMemory(HANDLE ProcessHandle, PVOID *BaseAddress, ULONG_PTR ZeroBits, PSIZE_T RegionSize,
                                 ULONG AllocationType, ULONG Protect)
{
    const ULONG types = MEM_COMMIT | MEM_RESERVE | MEM_TOP_DOWN | MEM_LARGE_PAGES;
    NTSTATUS status = section_check_process("ZwAllocateVirtualMemory", ProcessHandle);
    bool reserves = AllocationType & MEM_RESERVE || !*BaseAddress;
    uintptr_t unit = reserves ? SECTION_GRANULARITY : PAGE_SIZE;
    size_t offset = (uintptr_t)*BaseAddress % unit;
    char *start = (char *)*BaseAddress - offset;
    size_t size = ROUND_TO_PAGES(offset + *RegionSize);
    int protection = region_host_protection(Protect);
    struct region *r = NULL;

    UNREFERENCED_PARAMETER(ZeroBits);
    irql_check_max("ZwAllocateVirtualMemory", PASSIVE_LEVEL);
    if (status)
        return status;
    if (!*RegionSize || size < *RegionSize)
        return STATUS_INVALID_PARAMETER_4;
    if (AllocationType & ~types || !(AllocationType & (MEM_COMMIT | MEM_RESERVE)))
        return STATUS_INVALID_PARAMETER_5;
    if (protection < 0)
        return STATUS_INVALID_PAGE_PROTECTION;
    if (reserves)
        status = region_reserve(start, size, &r);
    if (r)
        start = r->base;
    if (!status && AllocationType & MEM_COMMIT)
        status = region_commit(start, size, protection);
    if (r && status)
        (void)region_release(start, &size);
    if (status)
        return status;
    *BaseAddress = start;
    *RegionSize = size;
    return STATUS_SUCCESS;
}

/*
 * Decommits pages. They cannot be accessed afterwards, and contain zeros when they are committed again. If *size is 0,
 * decommits all pages of the region that begins at `start`. Sets *base and *size to the range of these pages.
 */
static NTSTATUS region_decommit(char *start, SIZE_T *size, PVOID *base)
{
    char *first = (char *)PAGE_ALIGN(start);
    struct region *r;
    NTSTATUS status = STATUS_MEMORY_NOT_ALLOCATED;

    pthread_mutex_lock(&lock);
    r = *region_find(start, *size);
    if (r && !*size && start != r->base) {
        status = STATUS_FREE_VM_NOT_AT_BASE;
    } else if (r) {
        *size = *size ? ROUND_TO_PAGES(start + *size - first) : r->size;
        *base = first;
        status = madvise(first, *size, MADV_DONTNEED) || mprotect(first, *size, PROT_NONE) ? STATUS_UNABLE_TO_FREE_VM
                                                                                           : STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

NTSTATUS ZwFreeVirtualMemory(HANDLE ProcessHandle, PVOID *BaseAddress, PSIZE_T RegionSize, ULONG FreeType)
{
    NTSTATUS status = section_check_process("ZwFreeVirtualMemory", ProcessHandle);

    irql_check_max("ZwFreeVirtualMemory", PASSIVE_LEVEL);
    if (status)
        return status;
    if (FreeType == MEM_DECOMMIT)
        return region_decommit(*BaseAddress, RegionSize, BaseAddress);
    if (FreeType != MEM_RELEASE)
        return STATUS_INVALID_PARAMETER_4;
    return *RegionSize ? STATUS_INVALID_PARAMETER_3 : region_release(*BaseAddress, RegionSize);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwAllocateVirtualMemory) NtAllocateVirtualMemory __attribute__((alias("ZwAllocateVirtualMemory")));
__typeof__(ZwFreeVirtualMemory) NtFreeVirtualMemory __attribute__((alias("ZwFreeVirtualMemory")));
