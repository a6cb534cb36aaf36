/* SPDX-License-Identifier: MIT */
/* Creates and reads memory descriptor lists (MDLs) for buffers of the process. */
#include <openndk/mdl.h>

#include <stdint.h>

#include "provider/mdl.h"

void ondk_mdl_init(MDL *mdl, void *address, ULONG length, MDL *next)
{
    ULONG offset = (ULONG)((uintptr_t)address & (PAGE_SIZE - 1));

    /* Size is the size of the bare structure, because no page frame numbers follow. */
    *mdl = (MDL){
        .Next = next,
        .Size = (CSHORT)sizeof(*mdl),
        .MdlFlags = MDL_MAPPED_TO_SYSTEM_VA | MDL_PAGES_LOCKED,
        .MappedSystemVa = address,
        .StartVa = (unsigned char *)address - offset,
        .ByteCount = length,
        .ByteOffset = offset,
    };
}

uint64_t mdl_virtual_address(const MDL *mdl)
{
    return (uintptr_t)mdl->StartVa + mdl->ByteOffset;
}

unsigned char *mdl_memory(const MDL *mdl)
{
    bool is_mapped = mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL);

    if (is_mapped)
        return mdl->MappedSystemVa;
    return (unsigned char *)mdl->StartVa + mdl->ByteOffset;
}

/*
 * Returns true if the MDL's virtual address is `index` and its memory is at `memory`. Returns false if `index` or
 * `memory` plus the MDL's length would overflow.
 */
static bool mdl_begins_at(const MDL *mdl, uint64_t index, uintptr_t memory)
{
    if (mdl_virtual_address(mdl) != index || (uintptr_t)mdl_memory(mdl) != memory)
        return false;
    return mdl->ByteCount <= UINT64_MAX - index && mdl->ByteCount <= UINTPTR_MAX - memory;
}

bool mdl_is_range(const MDL *mdl, SIZE_T length)
{
    uint64_t index = mdl ? mdl_virtual_address(mdl) : 0;
    uintptr_t memory = mdl ? (uintptr_t)mdl_memory(mdl) : 0;

    if (!index || !memory || !length)
        return false;
    while (mdl) {
        if (!mdl_begins_at(mdl, index, memory))
            return false;
        if (length <= mdl->ByteCount)
            return true;
        length -= mdl->ByteCount;
        index += mdl->ByteCount;
        memory += mdl->ByteCount;
        mdl = mdl->Next;
    }
    return false;
}
