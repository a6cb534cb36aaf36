/* SPDX-License-Identifier: MIT */
/* Memory descriptor lists over buffers of the process. */
#include <openndk/mdl.h>

#include <stdint.h>

#include "base/mutant.h"
#include "provider/mdl.h"

void ondk_mdl_init(MDL *mdl, void *address, ULONG length, MDL *next)
{
    ULONG offset = (ULONG)((uintptr_t)address & (PAGE_SIZE - 1));

    /* No page frame numbers follow, so Size is that of the bare structure. */
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

unsigned char *mdl_address(const MDL *mdl)
{
    return (unsigned char *)mdl->StartVa + mdl->ByteOffset;
}

bool mdl_is_range(const MDL *mdl, SIZE_T length)
{
    uintptr_t at = mdl ? (uintptr_t)mdl_address(mdl) : 0;

    if (!at || !length)
        return false;
    while (mdl) {
        if ((uintptr_t)mdl_address(mdl) != at && !MUTANT(mem_01_hole_accepted))
            return false;
        if (mdl->ByteCount > UINTPTR_MAX - at)
            return false;
        if (length <= mdl->ByteCount)
            return true;
        length -= mdl->ByteCount;
        at += mdl->ByteCount;
        mdl = mdl->Next;
    }
    return MUTANT(mem_01_beyond_chain);
}
