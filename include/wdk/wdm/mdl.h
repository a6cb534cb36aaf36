/* SPDX-License-Identifier: MIT */
/*
 * Memory descriptor lists.
 */
#ifndef ONDK_WDK_WDM_MDL_H
#define ONDK_WDK_WDM_MDL_H

#include "../ntdef.h"

EXTERN_C_START

#define PAGE_SHIFT 12
#define PAGE_SIZE 0x1000

struct _EPROCESS;

/*
 * ByteCount octets from StartVa + ByteOffset, where StartVa is the page that the first lies in; Next chains descriptors.
 * The page frame numbers follow the structure, and Size counts them.
 */
typedef struct _MDL {
    struct _MDL *Next;
    CSHORT Size;
    CSHORT MdlFlags;
    struct _EPROCESS *Process;
    PVOID MappedSystemVa;
    PVOID StartVa;
    ULONG ByteCount;
    ULONG ByteOffset;
} MDL, *PMDL;
typedef MDL *PMDLX;

#define MDL_MAPPED_TO_SYSTEM_VA 0x0001
#define MDL_PAGES_LOCKED 0x0002

EXTERN_C_END

#endif
