/* SPDX-License-Identifier: MIT */
/* Declarations that two files of a driver share, in the style of Windows sources. */
#pragma once
#pragma warning(push)
#pragma warning(disable : 4201) // nameless struct or union

#include <guiddef.h>

typedef enum _LANGUAGE_STATE LANGUAGE_STATE;

#define LANGUAGE_TAG 'gnaL'
#define LANGUAGE_BEGIN do {
#define LANGUAGE_END                                                                                                   \
    __pragma(warning(push)) __pragma(warning(disable : 4127))                                                          \
    }                                                                                                                  \
    while (FALSE)                                                                                                      \
    __pragma(warning(pop))

// One variable, without a value, in both files.
ULONG LanguageCommon;
__declspec(selectany) ULONG LanguageAny = 77;

DEFINE_GUID(GUID_LANGUAGE, 0x9f6f0797, 0x3ef2, 0x418d, 0xa9, 0xb0, 0xde, 0xb4, 0x49, 0x3b, 0xc7, 0xed);

typedef struct DECLSPEC_CACHEALIGN _LANGUAGE_RECORD {
    union {
        ULONG Whole;
        struct {
            USHORT Low;
            USHORT High;
        };
    };
    UCHAR Narrow : 3;
    ULONG Wide : 3; // another unit: another type
    __declspec(align(16)) UCHAR Aligned;
    UCHAR Tail[0];
} LANGUAGE_RECORD, *PLANGUAGE_RECORD;

typedef _Function_class_(LANGUAGE_CALLBACK) _IRQL_requires_max_(DISPATCH_LEVEL) VOID
    LANGUAGE_CALLBACK(_In_opt_ PVOID Context, _In_reads_bytes_(Length) CONST VOID *Data, _In_ ULONG Length);

LANGUAGE_CALLBACK LanguageCallback;

NTSTATUS LanguageOther(VOID);

ULONG LanguageForced(ULONG value);

FORCEINLINE
_Ret_range_(0, 100) ULONG LanguageForced(ULONG value)
{
    return value + 1;
}

static FORCEINLINE ULONG LanguageStaticForced(ULONG value)
{
    return value + 2;
}

__inline ULONG LanguageInline(ULONG value)
{
    return value + 3;
}

#ifdef ALLOC_PRAGMA
#pragma alloc_text(PAGE, LanguageOther)
#endif

#pragma warning(pop)
