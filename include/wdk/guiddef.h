/* SPDX-License-Identifier: MIT */
/*
 * GUIDs. DEFINE_GUID declares a GUID. In a file that has defined INITGUID or included initguid.h before, it also
 * defines the GUID. The linker merges equal definitions of several files. This header may be included again after
 * INITGUID was defined or undefined.
 */
#ifndef ONDK_WDK_GUIDDEF_H
#define ONDK_WDK_GUIDDEF_H

#include <stdint.h>

/* A host program that includes the NDK headers already has this structure. */
#ifndef GUID_DEFINED
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
#endif

typedef GUID *LPGUID, *PGUID;
typedef const GUID *LPCGUID, *PCGUID;
typedef GUID IID, *LPIID, CLSID, *LPCLSID, FMTID, *LPFMTID;

#ifdef __cplusplus
typedef const GUID &REFGUID, &REFIID, &REFCLSID, &REFFMTID;
static inline bool operator==(const GUID &a, const GUID &b)
{
    return __builtin_memcmp(&a, &b, sizeof(a)) == 0;
}
static inline bool operator!=(const GUID &a, const GUID &b)
{
    return !(a == b);
}
#define IsEqualGUID(a, b) ((a) == (b))
#define InlineIsEqualGUID(a, b) ((a) == (b))
#else
typedef const GUID *REFGUID, *REFIID, *REFCLSID, *REFFMTID;
#define IsEqualGUID(a, b) (__builtin_memcmp(a, b, sizeof(GUID)) == 0)
#define InlineIsEqualGUID(a, b) IsEqualGUID(a, b)
#endif
#define IsEqualIID(a, b) IsEqualGUID(a, b)
#define IsEqualCLSID(a, b) IsEqualGUID(a, b)

#ifdef __cplusplus
#define ONDK_GUID_LINKAGE extern "C"
#else
#define ONDK_GUID_LINKAGE extern
#endif

#endif

#undef DEFINE_GUID
#ifdef INITGUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                   \
    ONDK_GUID_LINKAGE const GUID name __attribute__((weak));                           \
    const GUID name = { l, w1, w2, { b1, b2, b3, b4, b5, b6, b7, b8 } }
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) ONDK_GUID_LINKAGE const GUID name
#endif
