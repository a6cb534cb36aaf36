/* SPDX-License-Identifier: MIT */
/* Reports a corrupted list that an inline function for LIST_ENTRY has detected. */
#include "wdm.h"

#include "wdk/common/check.h"

VOID FatalListEntryError(PVOID p1, PVOID p2, PVOID p3)
{
    if (check_on())
        check_failed(CHECK_LIST_CORRUPT, "LIST_ENTRY", FAST_FAIL_CORRUPT_LIST_ENTRY, (uintptr_t)p2, (uintptr_t)p1,
                     (uintptr_t)p3, "entry %p: its neighbours %p and %p do not both point at it", p2, p1, p3);
}
