/* SPDX-License-Identifier: MIT */
/* Memory descriptor lists over buffers of the process. */
#include <openndk/mdl.h>

#include <stdint.h>

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
