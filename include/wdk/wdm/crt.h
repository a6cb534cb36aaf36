/* SPDX-License-Identifier: MIT */
/*
 * The C library's memory and string functions for drivers. The host's wide-character functions use 32-bit characters,
 * so their names are mapped to functions with 16-bit characters. The narrow functions of <string.h>, qsort and bsearch
 * are the host's. Case conversion follows the "C" locale: ASCII only.
 */
#ifndef ONDK_WDK_WDM_CRT_H
#define ONDK_WDK_WDM_CRT_H

#include <ctype.h>
#include <stdarg.h>
/* <string.h> declares functions named index and rindex. Drivers use these two names for variables. */
#define index ondk_host_index
#define rindex ondk_host_rindex
#include <string.h>
#undef index
#undef rindex
#include <wchar.h>

#include "../ntdef.h"

/*
 * A file may include the host's headers after this header. They declare the same functions, so the declarations below
 * must agree with theirs. If __USE_FORTIFY_LEVEL is above 0, they also define these functions, so this header sets it
 * to 0.
 */
#if defined(__USE_FORTIFY_LEVEL) && __USE_FORTIFY_LEVEL > 0
#undef __USE_FORTIFY_LEVEL
#define __USE_FORTIFY_LEVEL 0
#endif
#ifdef __cplusplus
#define ONDK_AS_HOST noexcept
#else
#define ONDK_AS_HOST
#endif

EXTERN_C_START

typedef int errno_t;
typedef size_t rsize_t;

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

#define RtlCopyMemory(Destination, Source, Length) memcpy((Destination), (Source), (Length))
#define RtlMoveMemory(Destination, Source, Length) memmove((Destination), (Source), (Length))
#define RtlZeroMemory(Destination, Length) memset((Destination), 0, (Length))
#define RtlFillMemory(Destination, Length, Fill) memset((Destination), (Fill), (Length))
#define RtlEqualMemory(Source1, Source2, Length) (!memcmp((Source1), (Source2), (Length)))
#define RtlCopyBytes RtlCopyMemory
#define RtlZeroBytes RtlZeroMemory
#define RtlFillBytes RtlFillMemory
#define RtlCopyVolatileMemory(Destination, Source, Length) \
    memcpy((PVOID)(ULONG_PTR)(Destination), (const VOID *)(ULONG_PTR)(Source), (Length))
#define RtlCopyMemoryNonTemporal(Destination, Source, Length) ((VOID)memcpy((Destination), (Source), (Length)))
#define RtlPrefetchMemoryNonTemporal(Source, Length) __builtin_prefetch((Source), 0, 0)

/* Returns the number of bytes before the first difference. */
NTKERNELAPI SIZE_T RtlCompareMemory(_In_reads_bytes_(Length) const VOID *Source1,
                                    _In_reads_bytes_(Length) const VOID *Source2, _In_ SIZE_T Length);
/*
 * Returns the number of bytes at the start of Source that consist of copies of Pattern. Source and Length must be
 * multiples of 4.
 */
NTKERNELAPI SIZE_T RtlCompareMemoryUlong(_In_reads_bytes_(Length) PVOID Source, _In_ SIZE_T Length, _In_ ULONG Pattern);

/* Zeroes the memory. The compiler does not remove this call, even if the program does not read the memory again. */
FORCEINLINE PVOID RtlSecureZeroMemory(_Out_writes_bytes_all_(cnt) PVOID ptr, _In_ SIZE_T cnt)
{
    memset(ptr, 0, cnt);
    __asm__ __volatile__("" : : "r"(ptr) : "memory");
    return ptr;
}

#define SecureZeroMemory RtlSecureZeroMemory

/*
 * The _s functions return 0 on success. Otherwise they return EINVAL or ERANGE and make the destination empty. Unlike
 * on Windows, an invalid call does not stop the system.
 */
NTKERNELAPI errno_t ondk_memcpy_s(PVOID destination, rsize_t size, const VOID *source, rsize_t count);
NTKERNELAPI errno_t ondk_memmove_s(PVOID destination, rsize_t size, const VOID *source, rsize_t count);
NTKERNELAPI errno_t ondk_strcpy_s(PSTR destination, rsize_t size, PCSTR source);
NTKERNELAPI errno_t ondk_strcat_s(PSTR destination, rsize_t size, PCSTR source);
NTKERNELAPI errno_t ondk_strncpy_s(PSTR destination, rsize_t size, PCSTR source, rsize_t count);
NTKERNELAPI errno_t ondk_wcscpy_s(PWSTR destination, rsize_t size, PCWSTR source);
NTKERNELAPI errno_t ondk_wcscat_s(PWSTR destination, rsize_t size, PCWSTR source);
NTKERNELAPI errno_t ondk_wcsncpy_s(PWSTR destination, rsize_t size, PCWSTR source, rsize_t count);
#define memcpy_s ondk_memcpy_s
#define memmove_s ondk_memmove_s
#define strcpy_s ondk_strcpy_s
#define strcat_s ondk_strcat_s
#define strncpy_s ondk_strncpy_s
#define wcscpy_s ondk_wcscpy_s
#define wcscat_s ondk_wcscat_s
#define wcsncpy_s ondk_wcsncpy_s
#ifndef _TRUNCATE
#define _TRUNCATE ((rsize_t)-1) /* if count is this value, the function truncates the text and returns STRUNCATE */
#endif
#ifndef STRUNCATE
#define STRUNCATE 80
#endif

/* ---- Narrow strings ---------------------------------------------------------------------------------------------- */

NTKERNELAPI int ondk_stricmp(PCSTR a, PCSTR b);
NTKERNELAPI int ondk_strnicmp(PCSTR a, PCSTR b, size_t count);
NTKERNELAPI PSTR ondk_strupr(PSTR s);
NTKERNELAPI PSTR ondk_strlwr(PSTR s);
#define _stricmp ondk_stricmp
#define _strcmpi ondk_stricmp
#define stricmp ondk_stricmp
#define _strnicmp ondk_strnicmp
#define strnicmp ondk_strnicmp
#define _strupr ondk_strupr
#define _strlwr ondk_strlwr

/* ---- Wide strings, of 16 bits ------------------------------------------------------------------------------------ */

NTKERNELAPI size_t ondk_wcslen(PCWSTR s);
NTKERNELAPI size_t ondk_wcsnlen(PCWSTR s, size_t most);
NTKERNELAPI PWSTR ondk_wcscpy(PWSTR destination, PCWSTR source);
NTKERNELAPI PWSTR ondk_wcsncpy(PWSTR destination, PCWSTR source, size_t count);
NTKERNELAPI PWSTR ondk_wcscat(PWSTR destination, PCWSTR source);
NTKERNELAPI PWSTR ondk_wcsncat(PWSTR destination, PCWSTR source, size_t count);
NTKERNELAPI int ondk_wcscmp(PCWSTR a, PCWSTR b);
NTKERNELAPI int ondk_wcsncmp(PCWSTR a, PCWSTR b, size_t count);
NTKERNELAPI int ondk_wcsicmp(PCWSTR a, PCWSTR b);
NTKERNELAPI int ondk_wcsnicmp(PCWSTR a, PCWSTR b, size_t count);
NTKERNELAPI PWSTR ondk_wcschr(PCWSTR s, WCHAR c);
NTKERNELAPI PWSTR ondk_wcsrchr(PCWSTR s, WCHAR c);
NTKERNELAPI PWSTR ondk_wcsstr(PCWSTR s, PCWSTR part);
NTKERNELAPI size_t ondk_wcsspn(PCWSTR s, PCWSTR set);
NTKERNELAPI size_t ondk_wcscspn(PCWSTR s, PCWSTR set);
NTKERNELAPI PWSTR ondk_wcspbrk(PCWSTR s, PCWSTR set);
NTKERNELAPI PWSTR ondk_wcsupr(PWSTR s);
NTKERNELAPI PWSTR ondk_wcslwr(PWSTR s);
NTKERNELAPI WCHAR ondk_towupper(WCHAR c);
NTKERNELAPI WCHAR ondk_towlower(WCHAR c);
NTKERNELAPI LONG ondk_wcstol(PCWSTR s, PWSTR *end, int base);
NTKERNELAPI ULONG ondk_wcstoul(PCWSTR s, PWSTR *end, int base);
NTKERNELAPI LONGLONG ondk_wcstoi64(PCWSTR s, PWSTR *end, int base);
NTKERNELAPI ULONGLONG ondk_wcstoui64(PCWSTR s, PWSTR *end, int base);
#define wcslen ondk_wcslen
#define wcsnlen ondk_wcsnlen
#define wcscpy ondk_wcscpy
#define wcsncpy ondk_wcsncpy
#define wcscat ondk_wcscat
#define wcsncat ondk_wcsncat
#define wcscmp ondk_wcscmp
#define wcsncmp ondk_wcsncmp
#define _wcsicmp ondk_wcsicmp
#define wcsicmp ondk_wcsicmp
#define _wcsnicmp ondk_wcsnicmp
#define wcschr ondk_wcschr
#define wcsrchr ondk_wcsrchr
#define wcsstr ondk_wcsstr
#define wcsspn ondk_wcsspn
#define wcscspn ondk_wcscspn
#define wcspbrk ondk_wcspbrk
#define _wcsupr ondk_wcsupr
#define _wcslwr ondk_wcslwr
#define towupper ondk_towupper
#define towlower ondk_towlower
#define wcstol ondk_wcstol
#define wcstoul ondk_wcstoul
#define _wcstoi64 ondk_wcstoi64
#define _wcstoui64 ondk_wcstoui64
#define _wtoi(s) ((int)ondk_wcstol((s), NULL, 10))
#define _wtol(s) ondk_wcstol((s), NULL, 10)
#define _wtoi64(s) ondk_wcstoi64((s), NULL, 10)

/* ---- Formatting -------------------------------------------------------------------------------------------------- */

/*
 * These functions format text with Windows' conversions (%wZ, %I64d, %S). If the text does not fit, the following
 * functions and their v and wide forms return -1:
 *   _snprintf    truncates the text and adds no terminator
 *   sprintf_s    makes the buffer empty
 *   _snprintf_s  truncates the text if count is _TRUNCATE or less than size; otherwise makes the buffer empty
 */
NTKERNELAPI int ondk_sprintf(PSTR out, PCSTR format, ...) ONDK_AS_HOST;
NTKERNELAPI int ondk_vsprintf(PSTR out, PCSTR format, va_list args) ONDK_AS_HOST;
NTKERNELAPI int ondk_snprintf(PSTR out, size_t size, PCSTR format, ...) ONDK_AS_HOST;
NTKERNELAPI int ondk_vsnprintf(PSTR out, size_t size, PCSTR format, va_list args) ONDK_AS_HOST;
NTKERNELAPI int ondk__snprintf(PSTR out, size_t count, PCSTR format, ...);
NTKERNELAPI int ondk__vsnprintf(PSTR out, size_t count, PCSTR format, va_list args);
NTKERNELAPI int ondk_sprintf_s(PSTR out, size_t size, PCSTR format, ...);
NTKERNELAPI int ondk_vsprintf_s(PSTR out, size_t size, PCSTR format, va_list args);
NTKERNELAPI int ondk__snprintf_s(PSTR out, size_t size, size_t count, PCSTR format, ...);
NTKERNELAPI int ondk__vsnprintf_s(PSTR out, size_t size, size_t count, PCSTR format, va_list args);
NTKERNELAPI int ondk__vscprintf(PCSTR format, va_list args);
NTKERNELAPI int ondk__scprintf(PCSTR format, ...);
#define sprintf ondk_sprintf
#define vsprintf ondk_vsprintf
#define snprintf ondk_snprintf
#define vsnprintf ondk_vsnprintf
#define _snprintf ondk__snprintf
#define _vsnprintf ondk__vsnprintf
#define sprintf_s ondk_sprintf_s
#define vsprintf_s ondk_vsprintf_s
#define _snprintf_s ondk__snprintf_s
#define _vsnprintf_s ondk__vsnprintf_s
#define _vscprintf ondk__vscprintf
#define _scprintf ondk__scprintf

NTKERNELAPI int ondk_swprintf(PWSTR out, PCWSTR format, ...);
NTKERNELAPI int ondk_swprintf_sized(PWSTR out, size_t size, PCWSTR format, ...);
NTKERNELAPI int ondk_vswprintf(PWSTR out, size_t size, PCWSTR format, va_list args);
NTKERNELAPI int ondk__snwprintf(PWSTR out, size_t count, PCWSTR format, ...);
NTKERNELAPI int ondk__vsnwprintf(PWSTR out, size_t count, PCWSTR format, va_list args);
NTKERNELAPI int ondk_swprintf_s(PWSTR out, size_t size, PCWSTR format, ...);
NTKERNELAPI int ondk_vswprintf_s(PWSTR out, size_t size, PCWSTR format, va_list args);
NTKERNELAPI int ondk__snwprintf_s(PWSTR out, size_t size, size_t count, PCWSTR format, ...);
NTKERNELAPI int ondk__vsnwprintf_s(PWSTR out, size_t size, size_t count, PCWSTR format, va_list args);
NTKERNELAPI int ondk__vscwprintf(PCWSTR format, va_list args);
NTKERNELAPI int ondk__scwprintf(PCWSTR format, ...);
#define vswprintf ondk_vswprintf
#define _snwprintf ondk__snwprintf
#define _vsnwprintf ondk__vsnwprintf
#define swprintf_s ondk_swprintf_s
#define vswprintf_s ondk_vswprintf_s
#define _snwprintf_s ondk__snwprintf_s
#define _vsnwprintf_s ondk__vsnwprintf_s
#define _vscwprintf ondk__vscwprintf
#define _scwprintf ondk__scwprintf

EXTERN_C_END

/* Two functions are named swprintf. Only the C function has a parameter for the buffer's size. */
#undef swprintf
#ifndef __cplusplus
#define swprintf(out, second, ...)                                                                             \
    _Generic((second), PWSTR: ondk_swprintf, PCWSTR: ondk_swprintf, default: ondk_swprintf_sized)(out, second, \
                                                                                                  ##__VA_ARGS__)
#else
extern "C++" { /* drivers include this header inside extern "C" */
template <typename... Arguments> static inline int ondk_swprintf_any(PWSTR out, PCWSTR format, Arguments... arguments)
{
    return ondk_swprintf(out, format, arguments...);
}

template <typename... Arguments>
static inline int ondk_swprintf_any(PWSTR out, size_t size, PCWSTR format, Arguments... arguments)
{
    return ondk_swprintf_sized(out, size, format, arguments...);
}
}
#define swprintf ondk_swprintf_any
#endif

#endif
