/* SPDX-License-Identifier: MIT */
/* Conversions between strings, and to numbers: see wdm/rtl.h. Allocated strings are paged pool. */
#include <stdbool.h>
#include <string.h>

#include "ntifs.h"

#include "wdk/common/text.h"
#include "wdk/ke/thread.h"

#define STRING_TAG 'grtS'

enum { MAX_STRING_SIZE = 0xfffe };

/* ---- The result's buffer ---------------------------------------------------------------------------------------- */

/* Allocates `bytes` and a terminator of `unit` bytes, or checks that the caller's buffer has room for both. */
static NTSTATUS rtl_reserve(USHORT *maximum, void **buffer, size_t bytes, size_t unit, bool allocate)
{
    if (bytes + unit > MAX_STRING_SIZE)
        return STATUS_INVALID_PARAMETER_2;
    if (!allocate)
        return bytes + unit <= *maximum ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
    *buffer = ExAllocatePoolWithTag(PagedPool, bytes + unit, STRING_TAG);
    if (!*buffer)
        return STATUS_NO_MEMORY;
    *maximum = (USHORT)(bytes + unit);
    return STATUS_SUCCESS;
}

static NTSTATUS rtl_reserve_wide(PUNICODE_STRING s, size_t units, bool allocate)
{
    void *buffer = s->Buffer;
    NTSTATUS status = rtl_reserve(&s->MaximumLength, &buffer, units * sizeof(WCHAR), sizeof(WCHAR), allocate);

    if (status)
        return status;
    s->Buffer = buffer;
    s->Length = (USHORT)(units * sizeof(WCHAR));
    s->Buffer[units] = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS rtl_reserve_narrow(PSTRING s, size_t bytes, bool allocate)
{
    void *buffer = s->Buffer;
    NTSTATUS status = rtl_reserve(&s->MaximumLength, &buffer, bytes, 1, allocate);

    if (status)
        return status;
    s->Buffer = buffer;
    s->Length = (USHORT)bytes;
    s->Buffer[bytes] = 0;
    return STATUS_SUCCESS;
}

/* ---- UTF-8 and UTF-16 ------------------------------------------------------------------------------------------- */

static NTSTATUS rtl_convert_to_wide(PUNICODE_STRING to, const STRING *from, bool allocate)
{
    size_t units = text_to_utf16(NULL, 0, from->Buffer, from->Length, NULL, NULL);
    NTSTATUS status = rtl_reserve_wide(to, units, allocate);

    if (!status)
        (void)text_to_utf16(to->Buffer, units, from->Buffer, from->Length, NULL, NULL);
    return status;
}

static NTSTATUS rtl_convert_to_narrow(PSTRING to, PCUNICODE_STRING from, bool allocate)
{
    size_t bytes = text_to_utf8(NULL, 0, from->Buffer, from->Length / sizeof(WCHAR), NULL, NULL);
    NTSTATUS status = rtl_reserve_narrow(to, bytes, allocate);

    if (!status)
        (void)text_to_utf8(to->Buffer, bytes, from->Buffer, from->Length / sizeof(WCHAR), NULL, NULL);
    return status;
}

NTSTATUS RtlAnsiStringToUnicodeString(PUNICODE_STRING DestinationString, PCANSI_STRING SourceString,
                                      BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlAnsiStringToUnicodeString", PASSIVE_LEVEL);
    return rtl_convert_to_wide(DestinationString, SourceString, AllocateDestinationString);
}

NTSTATUS RtlUTF8StringToUnicodeString(PUNICODE_STRING DestinationString, const UTF8_STRING *SourceString,
                                      BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlUTF8StringToUnicodeString", PASSIVE_LEVEL);
    return rtl_convert_to_wide(DestinationString, SourceString, AllocateDestinationString);
}

NTSTATUS RtlUnicodeStringToAnsiString(PANSI_STRING DestinationString, PCUNICODE_STRING SourceString,
                                      BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlUnicodeStringToAnsiString", PASSIVE_LEVEL);
    return rtl_convert_to_narrow(DestinationString, SourceString, AllocateDestinationString);
}

NTSTATUS RtlUnicodeStringToUTF8String(PUTF8_STRING DestinationString, PCUNICODE_STRING SourceString,
                                      BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlUnicodeStringToUTF8String", PASSIVE_LEVEL);
    return rtl_convert_to_narrow(DestinationString, SourceString, AllocateDestinationString);
}

ULONG RtlxAnsiStringToUnicodeSize(PCANSI_STRING AnsiString)
{
    irql_check_max("RtlAnsiStringToUnicodeSize", PASSIVE_LEVEL);
    return (ULONG)((text_to_utf16(NULL, 0, AnsiString->Buffer, AnsiString->Length, NULL, NULL) + 1) * sizeof(WCHAR));
}

ULONG RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING UnicodeString)
{
    irql_check_max("RtlUnicodeStringToAnsiSize", PASSIVE_LEVEL);
    return (ULONG)(text_to_utf8(NULL, 0, UnicodeString->Buffer, UnicodeString->Length / sizeof(WCHAR), NULL, NULL) + 1);
}

NTSTATUS RtlUTF8ToUnicodeN(PWSTR UnicodeStringDestination, ULONG UnicodeStringMaxByteCount,
                           PULONG UnicodeStringActualByteCount, PCCH UTF8StringSource, ULONG UTF8StringByteCount)
{
    size_t needed, written, cap = UnicodeStringDestination ? UnicodeStringMaxByteCount / sizeof(WCHAR) : 0;
    bool bad = false;

    irql_check_max("RtlUTF8ToUnicodeN", PASSIVE_LEVEL);
    if (!UTF8StringSource)
        return STATUS_INVALID_PARAMETER_4;
    needed = text_to_utf16(UnicodeStringDestination, cap, UTF8StringSource, UTF8StringByteCount, &written, &bad);
    *UnicodeStringActualByteCount = (ULONG)((UnicodeStringDestination ? written : needed) * sizeof(WCHAR));
    if (UnicodeStringDestination && written < needed)
        return STATUS_BUFFER_TOO_SMALL;
    return bad ? STATUS_SOME_NOT_MAPPED : STATUS_SUCCESS;
}

NTSTATUS RtlUnicodeToUTF8N(PCHAR UTF8StringDestination, ULONG UTF8StringMaxByteCount, PULONG UTF8StringActualByteCount,
                           PCWCH UnicodeStringSource, ULONG UnicodeStringByteCount)
{
    size_t needed, written, cap = UTF8StringDestination ? UTF8StringMaxByteCount : 0;
    bool bad = false;

    irql_check_max("RtlUnicodeToUTF8N", PASSIVE_LEVEL);
    if (!UnicodeStringSource)
        return STATUS_INVALID_PARAMETER_4;
    needed = text_to_utf8(UTF8StringDestination, cap, UnicodeStringSource, UnicodeStringByteCount / sizeof(WCHAR),
                          &written, &bad);
    *UTF8StringActualByteCount = (ULONG)(UTF8StringDestination ? written : needed);
    if (UTF8StringDestination && written < needed)
        return STATUS_BUFFER_TOO_SMALL;
    return bad ? STATUS_SOME_NOT_MAPPED : STATUS_SUCCESS;
}

/* ---- Copies ----------------------------------------------------------------------------------------------------- */

NTSTATUS RtlDuplicateUnicodeString(ULONG Flags, PCUNICODE_STRING StringIn, PUNICODE_STRING StringOut)
{
    size_t end = Flags & RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE ? sizeof(WCHAR) : 0;
    PWSTR copy;

    irql_check_max("RtlDuplicateUnicodeString", PASSIVE_LEVEL);
    if (!StringOut || Flags > 3 || Flags == RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING ||
        RtlValidateUnicodeString(0, StringIn) || (StringIn && StringIn->Length + end > MAX_STRING_SIZE))
        return STATUS_INVALID_PARAMETER;
    *StringOut = (UNICODE_STRING){ 0, 0, NULL };
    if ((!StringIn || !StringIn->Length) && !(Flags & RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING))
        return STATUS_SUCCESS;
    copy = ExAllocatePoolWithTag(PagedPool, (StringIn ? StringIn->Length : 0) + end, STRING_TAG);
    if (!copy)
        return STATUS_NO_MEMORY;
    StringOut->Buffer = copy;
    StringOut->Length = StringIn ? StringIn->Length : 0;
    StringOut->MaximumLength = (USHORT)(StringOut->Length + end);
    if (StringOut->Length)
        memcpy(copy, StringIn->Buffer, StringOut->Length);
    if (end)
        copy[StringOut->Length / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

/*
 * Converts the text with the function `change`. If `allocate` is true, also allocates the result's buffer, whose
 * MaximumLength is the Length of `from`: there is no room for a terminator.
 */
static NTSTATUS rtl_change_case(PUNICODE_STRING to, PCUNICODE_STRING from, bool allocate, WCHAR (*change)(WCHAR))
{
    if (allocate) {
        to->Buffer = ExAllocatePoolWithTag(PagedPool, from->Length ? from->Length : sizeof(WCHAR), STRING_TAG);
        if (!to->Buffer)
            return STATUS_NO_MEMORY;
        to->MaximumLength = from->Length;
    } else if (from->Length > to->MaximumLength) {
        return STATUS_BUFFER_OVERFLOW;
    }
    to->Length = from->Length;
    for (USHORT i = 0; i < from->Length / sizeof(WCHAR); i++)
        to->Buffer[i] = change(from->Buffer[i]);
    return STATUS_SUCCESS;
}

NTSTATUS RtlUpcaseUnicodeString(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString,
                                BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlUpcaseUnicodeString", PASSIVE_LEVEL);
    return rtl_change_case(DestinationString, SourceString, AllocateDestinationString, text_upcase);
}

NTSTATUS RtlDowncaseUnicodeString(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString,
                                  BOOLEAN AllocateDestinationString)
{
    irql_check_max("RtlDowncaseUnicodeString", PASSIVE_LEVEL);
    return rtl_change_case(DestinationString, SourceString, AllocateDestinationString, text_downcase);
}

BOOLEAN RtlCreateUnicodeString(PUNICODE_STRING DestinationString, PCWSTR SourceString)
{
    UNICODE_STRING source;

    irql_check_max("RtlCreateUnicodeString", PASSIVE_LEVEL);
    return NT_SUCCESS(RtlInitUnicodeStringEx(&source, SourceString)) &&
           NT_SUCCESS(RtlDuplicateUnicodeString(RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE |
                                                    RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING,
                                                &source, DestinationString));
}

VOID RtlFreeUnicodeString(PUNICODE_STRING UnicodeString)
{
    irql_check_max("RtlFreeUnicodeString", PASSIVE_LEVEL);
    if (UnicodeString->Buffer)
        ExFreePool(UnicodeString->Buffer);
    *UnicodeString = (UNICODE_STRING){ 0, 0, NULL };
}

VOID RtlFreeAnsiString(PANSI_STRING AnsiString)
{
    irql_check_max("RtlFreeAnsiString", PASSIVE_LEVEL);
    if (AnsiString->Buffer)
        ExFreePool(AnsiString->Buffer);
    *AnsiString = (ANSI_STRING){ 0, 0, NULL };
}

VOID RtlFreeUTF8String(PUTF8_STRING utf8String)
{
    RtlFreeAnsiString(utf8String);
}

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

NTSTATUS RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base, PUNICODE_STRING String)
{
    WCHAR digits[64], *at = digits + RTL_NUMBER_OF(digits);
    size_t bytes;

    irql_check_max("RtlIntegerToUnicodeString", PASSIVE_LEVEL);
    if (!Base)
        Base = 10;
    if (Base != 2 && Base != 8 && Base != 10 && Base != 16)
        return STATUS_INVALID_PARAMETER;
    do {
        *--at = (WCHAR) "0123456789ABCDEF"[Value % Base];
        Value /= Base;
    } while (Value);
    bytes = (size_t)(digits + RTL_NUMBER_OF(digits) - at) * sizeof(WCHAR);
    if (bytes > String->MaximumLength)
        return STATUS_BUFFER_OVERFLOW;
    memcpy(String->Buffer, at, bytes);
    String->Length = (USHORT)bytes;
    if (bytes + sizeof(WCHAR) <= String->MaximumLength)
        String->Buffer[bytes / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

NTSTATUS RtlIntegerToUnicodeString(ULONG Value, ULONG Base, PUNICODE_STRING String)
{
    return RtlInt64ToUnicodeString(Value, Base, String);
}

struct rtl_digits {
    const char *narrow;
    const WCHAR *wide;
    size_t length;
};

static unsigned rtl_digit_at(const struct rtl_digits *d, size_t i)
{
    return i >= d->length ? 0 : d->wide ? (uint16_t)d->wide[i] : (unsigned char)d->narrow[i];
}

static unsigned rtl_parse_base(const struct rtl_digits *d, size_t *at)
{
    unsigned letter = rtl_digit_at(d, *at + 1);
    unsigned base = rtl_digit_at(d, *at) != '0' ? 10 : letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;

    if (base != 10)
        *at += 2;
    return base;
}

static unsigned rtl_digit_value(unsigned c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

static ULONG rtl_parse_integer(const struct rtl_digits *d, unsigned base)
{
    bool negative = false;
    size_t at = 0;
    ULONG value = 0;

    while (at < d->length && rtl_digit_at(d, at) <= ' ')
        at++;
    if (rtl_digit_at(d, at) == '-' || rtl_digit_at(d, at) == '+')
        negative = rtl_digit_at(d, at++) == '-';
    if (!base)
        base = rtl_parse_base(d, &at);
    for (; at < d->length && rtl_digit_value(rtl_digit_at(d, at)) < base; at++)
        value = value * base + rtl_digit_value(rtl_digit_at(d, at));
    return negative ? 0 - value : value;
}

static bool rtl_is_base(ULONG base)
{
    return base == 0 || base == 2 || base == 8 || base == 10 || base == 16;
}

NTSTATUS RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base, PULONG Value)
{
    struct rtl_digits d = { NULL, String->Buffer, String->Length / sizeof(WCHAR) };

    irql_check_max("RtlUnicodeStringToInteger", PASSIVE_LEVEL);
    if (!d.length || !rtl_is_base(Base))
        return STATUS_INVALID_PARAMETER;
    *Value = rtl_parse_integer(&d, Base);
    return STATUS_SUCCESS;
}

NTSTATUS RtlUnicodeStringToInt64(PCUNICODE_STRING String, ULONG Base, PLONG64 Number, PWSTR *EndPointer)
{
    enum { MAX_UNITS = 64 }; /* the number of digits of a number in base 2; Windows has the same limit */
    WCHAR text[MAX_UNITS + 1];
    size_t units = String->Length / sizeof(WCHAR) < MAX_UNITS ? String->Length / sizeof(WCHAR) : MAX_UNITS;
    PWSTR end;

    irql_check_max("RtlUnicodeStringToInt64", PASSIVE_LEVEL);
    memcpy(text, String->Buffer, units * sizeof(WCHAR));
    text[units] = 0;
    *Number = ondk_wcstoi64(text, &end, (int)Base);
    if (EndPointer)
        *EndPointer = String->Buffer + (end - text);
    /*
     * INT64_MAX or INT64_MIN is also the result for a number out of range. The unsigned conversion of such a number
     * returns another value.
     */
    return (*Number == INT64_MAX || *Number == INT64_MIN) && ondk_wcstoui64(text, NULL, (int)Base) != (uint64_t)*Number
               ? STATUS_INTEGER_OVERFLOW
               : STATUS_SUCCESS;
}

NTSTATUS RtlCharToInteger(PCSZ String, ULONG Base, PULONG Value)
{
    struct rtl_digits d = { String, NULL, strlen(String) };

    if (!rtl_is_base(Base))
        return STATUS_INVALID_PARAMETER;
    *Value = rtl_parse_integer(&d, Base);
    return STATUS_SUCCESS;
}
