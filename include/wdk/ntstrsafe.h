/* SPDX-License-Identifier: MIT */
/*
 * String functions that never write beyond the buffer and always write a terminator. Sizes include the terminator. They
 * are in bytes if the function's name has Cb, and in characters if the name has Cch. The functions return
 * STATUS_BUFFER_OVERFLOW if the text was truncated. They return STATUS_INVALID_PARAMETER for a null pointer, for a size
 * of 0 or above NTSTRSAFE_MAX_CCH, and for appending to a text that has no terminator. The Ex forms allow a null
 * pointer with STRSAFE_IGNORE_NULLS. Formats are those of DbgPrint. Any IRQL is allowed if the memory is resident;
 * Windows requires PASSIVE_LEVEL.
 */
#ifndef ONDK_WDK_NTSTRSAFE_H
#define ONDK_WDK_NTSTRSAFE_H

#include "wdm.h"

EXTERN_C_START

#define NTSTRSAFE_MAX_CCH 2147483647
#define STRSAFE_MAX_CCH NTSTRSAFE_MAX_CCH
#define NTSTRSAFE_MAX_LENGTH (NTSTRSAFE_MAX_CCH - 1)
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH (0xffff / sizeof(WCHAR))
#define NTSTRSAFE_MAX_UNICODE_STRING_CCH NTSTRSAFE_UNICODE_STRING_MAX_CCH

#define STRSAFE_FILL_BYTE_MASK 0x000000ff
#define STRSAFE_IGNORE_NULLS 0x00000100
#define STRSAFE_FILL_BEHIND_NULL 0x00000200
#define STRSAFE_FILL_BEHIND STRSAFE_FILL_BEHIND_NULL
#define STRSAFE_FILL_ON_FAILURE 0x00000400
#define STRSAFE_NULL_ON_FAILURE 0x00000800
#define STRSAFE_ZERO_LENGTH_ON_FAILURE STRSAFE_NULL_ON_FAILURE
#define STRSAFE_NO_TRUNCATION 0x00001000
#define STRSAFE_FILL_BYTE(octet) ((ULONG)((octet) & 0xff) | STRSAFE_FILL_BEHIND_NULL)
#define STRSAFE_FAILURE_BYTE(octet) ((ULONG)((octet) & 0xff) | STRSAFE_FILL_ON_FAILURE)

typedef PSTR NTSTRSAFE_PSTR;
typedef PWSTR NTSTRSAFE_PWSTR;
typedef PCSTR NTSTRSAFE_PCSTR;
typedef PCWSTR NTSTRSAFE_PCWSTR;

/*
 * `how` has the caller's flags and two internal bits: EX for functions with Ex in the name, APPEND for functions that
 * append. `unit` is sizeof(character) in bytes: 1 or 2. `cap`, `most` and *remaining are numbers of characters.
 */
#define ONDK_STRSAFE_EX 0x10000
#define ONDK_STRSAFE_APPEND 0x20000
NTKERNELAPI NTSTATUS ondk_strsafe_copy(PVOID destination, SIZE_T cap, SIZE_T unit, const VOID *source, SIZE_T most,
                                       ULONG how, PVOID *end, SIZE_T *remaining);
NTKERNELAPI NTSTATUS ondk_strsafe_print(PVOID destination, SIZE_T cap, SIZE_T unit, ULONG how, PVOID *end,
                                        SIZE_T *remaining, const VOID *format, va_list args);
NTKERNELAPI NTSTATUS ondk_strsafe_length(const VOID *text, SIZE_T unit, SIZE_T most, SIZE_T *length);

/*
 * Defines the RtlStringCb or the RtlStringCch functions for one character type. `count` is Cb or Cch, `letter` is A or
 * W, and `unit` is sizeof(type) in bytes. `scale` converts the functions' counts (`size`, `most`, *remaining) to
 * characters: characters = count / scale. Cb functions count bytes, so their `scale` equals `unit`. Cch functions count
 * characters, so their `scale` is 1.
 */
#define ONDK_STRSAFE_FAMILY(count, letter, type, unit, scale) \
    FORCEINLINE NTSTATUS RtlString##count##Copy##letter(type *dest, SIZE_T size, const type *source) \
    { \
        return ondk_strsafe_copy(dest, size / (scale), unit, source, NTSTRSAFE_MAX_CCH, 0, NULL, NULL); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CopyN##letter(type *dest, SIZE_T size, const type *source, SIZE_T most) \
    { \
        return ondk_strsafe_copy(dest, size / (scale), unit, source, most / (scale), 0, NULL, NULL); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##Cat##letter(type *dest, SIZE_T size, const type *source) \
    { \
        return ondk_strsafe_copy(dest, size / (scale), unit, source, NTSTRSAFE_MAX_CCH, ONDK_STRSAFE_APPEND, NULL, \
                                 NULL); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CatN##letter(type *dest, SIZE_T size, const type *source, SIZE_T most) \
    { \
        return ondk_strsafe_copy(dest, size / (scale), unit, source, most / (scale), ONDK_STRSAFE_APPEND, NULL, \
                                 NULL); \
    } \
    FORCEINLINE NTSTATUS ondk_strsafe_ex_##count##letter(type *dest, SIZE_T size, const type *source, SIZE_T most, \
                                                         ULONG how, type **end, SIZE_T *remaining) \
    { \
        SIZE_T left = 0; \
        PVOID at = NULL; \
        NTSTATUS status = ondk_strsafe_copy(dest, size / (scale), unit, source, most, how | ONDK_STRSAFE_EX, &at, \
                                            &left); \
 \
        if (status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW) { \
            if (end) \
                *end = (type *)at; \
            if (remaining) \
                *remaining = left * (scale) + size % (scale); \
        } \
        return status; \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CopyEx##letter(type *dest, SIZE_T size, const type *source, type **end, \
                                                          SIZE_T *remaining, ULONG flags) \
    { \
        return ondk_strsafe_ex_##count##letter(dest, size, source, NTSTRSAFE_MAX_CCH, flags, end, remaining); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CopyNEx##letter(type *dest, SIZE_T size, const type *source, SIZE_T most, \
                                                           type **end, SIZE_T *remaining, ULONG flags) \
    { \
        return ondk_strsafe_ex_##count##letter(dest, size, source, most / (scale), flags, end, remaining); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CatEx##letter(type *dest, SIZE_T size, const type *source, type **end, \
                                                         SIZE_T *remaining, ULONG flags) \
    { \
        return ondk_strsafe_ex_##count##letter(dest, size, source, NTSTRSAFE_MAX_CCH, flags | ONDK_STRSAFE_APPEND, \
                                               end, remaining); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##CatNEx##letter(type *dest, SIZE_T size, const type *source, SIZE_T most, \
                                                          type **end, SIZE_T *remaining, ULONG flags) \
    { \
        return ondk_strsafe_ex_##count##letter(dest, size, source, most / (scale), flags | ONDK_STRSAFE_APPEND, end, \
                                               remaining); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##VPrintf##letter(type *dest, SIZE_T size, const type *format, va_list args) \
    { \
        return ondk_strsafe_print(dest, size / (scale), unit, 0, NULL, NULL, format, args); \
    } \
    FORCEINLINE NTSTATUS RtlString##count##VPrintfEx##letter(type *dest, SIZE_T size, type **end, SIZE_T *remaining, \
                                                             ULONG flags, const type *format, va_list args) \
    { \
        SIZE_T left = 0; \
        PVOID at = NULL; \
        NTSTATUS status = ondk_strsafe_print(dest, size / (scale), unit, flags | ONDK_STRSAFE_EX, &at, &left, format, \
                                             args); \
 \
        if (status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW) { \
            if (end) \
                *end = (type *)at; \
            if (remaining) \
                *remaining = left * (scale) + size % (scale); \
        } \
        return status; \
    } \
    static inline __attribute__((unused)) NTSTATUS RtlString##count##Printf##letter(type *dest, SIZE_T size, \
                                                                                   const type *format, ...) \
    { \
        va_list args; \
        NTSTATUS status; \
 \
        va_start(args, format); \
        status = RtlString##count##VPrintf##letter(dest, size, format, args); \
        va_end(args); \
        return status; \
    } \
    static inline __attribute__((unused)) NTSTATUS RtlString##count##PrintfEx##letter( \
        type *dest, SIZE_T size, type **end, SIZE_T *remaining, ULONG flags, const type *format, ...) \
    { \
        va_list args; \
        NTSTATUS status; \
 \
        va_start(args, format); \
        status = RtlString##count##VPrintfEx##letter(dest, size, end, remaining, flags, format, args); \
        va_end(args); \
        return status; \
    } \
    FORCEINLINE NTSTATUS RtlString##count##Length##letter(const type *text, SIZE_T most, SIZE_T *length) \
    { \
        SIZE_T n = 0; \
        NTSTATUS status = ondk_strsafe_length(text, unit, most / (scale), &n); \
 \
        if (length) \
            *length = n * (scale); \
        return status; \
    }

ONDK_STRSAFE_FAMILY(Cb, A, CHAR, 1, 1)
ONDK_STRSAFE_FAMILY(Cch, A, CHAR, 1, 1)
ONDK_STRSAFE_FAMILY(Cb, W, WCHAR, 2, sizeof(WCHAR))
ONDK_STRSAFE_FAMILY(Cch, W, WCHAR, 2, 1)

FORCEINLINE NTSTATUS RtlStringCchCopyUnicodeString(PWSTR dest, SIZE_T size, PCUNICODE_STRING source)
{
    return ondk_strsafe_copy(dest, size, sizeof(WCHAR), source->Buffer ? source->Buffer : L"",
                             source->Length / sizeof(WCHAR), 0, NULL, NULL);
}

FORCEINLINE NTSTATUS RtlStringCbCopyUnicodeString(PWSTR dest, SIZE_T size, PCUNICODE_STRING source)
{
    return RtlStringCchCopyUnicodeString(dest, size / sizeof(WCHAR), source);
}

/* ---- UNICODE_STRING, without a terminator ----------------------------------------------------------------------- */

NTKERNELAPI NTSTATUS RtlUnicodeStringValidate(_In_ PCUNICODE_STRING SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringInit(_Out_ PUNICODE_STRING DestinationString,
                                          _In_opt_z_ NTSTRSAFE_PCWSTR SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringCopy(_Inout_ PUNICODE_STRING DestinationString,
                                          _In_ PCUNICODE_STRING SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringCopyString(_Inout_ PUNICODE_STRING DestinationString,
                                                _In_z_ NTSTRSAFE_PCWSTR SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringCat(_Inout_ PUNICODE_STRING DestinationString,
                                         _In_ PCUNICODE_STRING SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringCatString(_Inout_ PUNICODE_STRING DestinationString,
                                               _In_z_ NTSTRSAFE_PCWSTR SourceString);
NTKERNELAPI NTSTATUS RtlUnicodeStringVPrintf(_Inout_ PUNICODE_STRING DestinationString,
                                             _In_z_ NTSTRSAFE_PCWSTR pszFormat, _In_ va_list argList);
NTKERNELAPI NTSTATUS RtlUnicodeStringPrintf(_Inout_ PUNICODE_STRING DestinationString,
                                            _In_z_ NTSTRSAFE_PCWSTR pszFormat, ...);

#ifdef UNICODE
#define ONDK_STRSAFE_NAME(name) name##W
#else
#define ONDK_STRSAFE_NAME(name) name##A
#endif
#define RtlStringCbCopy ONDK_STRSAFE_NAME(RtlStringCbCopy)
#define RtlStringCchCopy ONDK_STRSAFE_NAME(RtlStringCchCopy)
#define RtlStringCbCopyEx ONDK_STRSAFE_NAME(RtlStringCbCopyEx)
#define RtlStringCchCopyEx ONDK_STRSAFE_NAME(RtlStringCchCopyEx)
#define RtlStringCbCopyN ONDK_STRSAFE_NAME(RtlStringCbCopyN)
#define RtlStringCchCopyN ONDK_STRSAFE_NAME(RtlStringCchCopyN)
#define RtlStringCbCat ONDK_STRSAFE_NAME(RtlStringCbCat)
#define RtlStringCchCat ONDK_STRSAFE_NAME(RtlStringCchCat)
#define RtlStringCbCatN ONDK_STRSAFE_NAME(RtlStringCbCatN)
#define RtlStringCchCatN ONDK_STRSAFE_NAME(RtlStringCchCatN)
#define RtlStringCbPrintf ONDK_STRSAFE_NAME(RtlStringCbPrintf)
#define RtlStringCchPrintf ONDK_STRSAFE_NAME(RtlStringCchPrintf)
#define RtlStringCbVPrintf ONDK_STRSAFE_NAME(RtlStringCbVPrintf)
#define RtlStringCchVPrintf ONDK_STRSAFE_NAME(RtlStringCchVPrintf)
#define RtlStringCbLength ONDK_STRSAFE_NAME(RtlStringCbLength)
#define RtlStringCchLength ONDK_STRSAFE_NAME(RtlStringCchLength)

EXTERN_C_END

#endif
