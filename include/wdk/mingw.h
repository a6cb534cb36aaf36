/* SPDX-License-Identifier: MIT */
/*
 * Needed to build a driver as a real .sys with mingw-w64, which provides the base types, the kernel's routines and the
 * annotations. This header adds what mingw-w64 lacks. wsk.h, wskndk.h, ndkpi.h, netioapi.h, ws2def.h, ws2ipdef.h,
 * ip2string.h, storport.h and the headers that these include work with mingw-w64's headers and with those of this
 * directory.
 */
#ifndef ONDK_WDK_MINGW_H
#define ONDK_WDK_MINGW_H

#ifdef __MINGW32__

#include <wdm.h>

#include <stdint.h>

#ifndef EXTERN_C_START
#ifdef __cplusplus
#define EXTERN_C_START extern "C" {
#define EXTERN_C_END }
#else
#define EXTERN_C_START
#define EXTERN_C_END
#endif
#endif
#if !defined static_assert && !defined __cplusplus
#define static_assert _Static_assert
#endif
#ifndef MAXULONG
#define MAXULONG 0xffffffffu
#endif

typedef ULONG NET_IFINDEX, *PNET_IFINDEX, IF_INDEX, *PIF_INDEX;

/* mingw-w64 declares these as functions that no library defines. */
#undef RtlUshortByteSwap
#undef RtlUlongByteSwap
#undef RtlUlonglongByteSwap
#define RtlUshortByteSwap(value) __builtin_bswap16(value)
#define RtlUlongByteSwap(value) __builtin_bswap32(value)
#define RtlUlonglongByteSwap(value) __builtin_bswap64(value)

/* Flags that mingw-w64 lacks. */
#ifndef MdlMappingNoExecute
#define MdlMappingNoWrite 0x80000000u
#define MdlMappingNoExecute 0x40000000u
#endif

/* Plain accesses, which the compiler neither splits nor repeats. */
#ifndef ReadNoFence
#define ReadNoFence(source) __atomic_load_n(source, __ATOMIC_RELAXED)
#define WriteNoFence(destination, value) __atomic_store_n(destination, value, __ATOMIC_RELAXED)
#endif

/* Status values that mingw-w64 lacks. */
#ifndef NDIS_STATUS_BAD_VERSION
#define NDIS_STATUS_BAD_VERSION ((NTSTATUS)0xC0010004L)
#define NDIS_STATUS_ADAPTER_NOT_READY ((NTSTATUS)0xC0010011L)
#endif

#endif
#endif
