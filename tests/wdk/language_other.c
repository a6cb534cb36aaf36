/* SPDX-License-Identifier: MIT */
/* The second file of language.c. */
#include "wdm.h"

#include "language.h"

NTSTATUS LanguageOther(VOID)
{
    ULONG (*inlined)(ULONG) = LanguageInline;

    LanguageCommon += inlined(LanguageAny);
    return IsEqualGUID(&GUID_LANGUAGE, &GUID_LANGUAGE) ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}
