/* SPDX-License-Identifier: MIT */
/* Tests memory before it is accessed, for MmProbeAndLockPages, ProbeForRead and ProbeForWrite: see accessible.h. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "wdm.h"

#include "wdk/ke/thread.h"
#include "wdk/mm/accessible.h"
#include "wdk/mm/readable.h"

/*
 * Returns true if the host has MADV_POPULATE_READ. Tries it on a readable page, because madvise also fails with EINVAL
 * for a page that cannot be read.
 */
static bool host_can_populate(void)
{
    static const char here;

    return !madvise(PAGE_ALIGN(&here), PAGE_SIZE, MADV_POPULATE_READ);
}

/*
 * Returns true if every page can be read. Used on hosts without MADV_POPULATE_READ. There memory_allows does not test
 * whether pages can be written, because that test would change the memory.
 */
static bool memory_is_readable(const char *start, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE_SIZE)
        if (!address_is_readable(start + at))
            return false;
    return true;
}

bool memory_allows(void *start, size_t bytes, bool write)
{
    if (!bytes)
        return true;
    if (!madvise(start, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
        return true;
    return errno == EINVAL && !host_can_populate() && memory_is_readable(start, bytes);
}

/* ---- Probes of a program's buffers ------------------------------------------------------------------------------- */

/* The end of the process's addresses. Linux has the main thread's stack above MmUserProbeAddress if ASLR is off. */
#define HOST_ADDRESS_END 0x00007ffffffff000

static void memory_probe(const char *routine, const volatile void *address, size_t length, ULONG alignment, bool write)
{
    uintptr_t start = (uintptr_t)address, first = start & ~(uintptr_t)(PAGE_SIZE - 1);

    irql_check_max(routine, APC_LEVEL);
    if (!length)
        return;
    if (alignment && start & (alignment - 1))
        ExRaiseDatatypeMisalignment();
    if (start + length - 1 < start || start + length > HOST_ADDRESS_END ||
        !memory_allows((void *)first, BYTES_TO_PAGES(start + length - first) << PAGE_SHIFT, write))
        ExRaiseAccessViolation();
}

const ULONG_PTR MmUserProbeAddress = 0x00007fffffff0000;

VOID ProbeForRead(const volatile VOID *Address, SIZE_T Length, ULONG Alignment)
{
    memory_probe(__func__, Address, Length, Alignment, false);
}

VOID ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment)
{
    memory_probe(__func__, Address, Length, Alignment, true);
}
