/* SPDX-License-Identifier: MIT */
/* Implements the functions that ntstrsafe.h's inline functions call. Every C string that they write is terminated. */
#include <stdbool.h>
#include <string.h>

#include "ntstrsafe.h"

#include "wdk/common/format.h"
#include "wdk/common/text.h"

enum { KNOWN_FLAGS = 0x1fff | ONDK_STRSAFE_EX | ONDK_STRSAFE_APPEND };

/* The destination. `cap` and `length` are in characters. */
struct strsafe_out {
    char *start;
    size_t cap;
    size_t unit;   /* size in bytes of a character: 1 or 2 */
    size_t length; /* length of the text without its terminator */
};

static void strsafe_terminate(struct strsafe_out *o, size_t at)
{
    memset(o->start + at * o->unit, 0, o->unit);
    o->length = at;
}

/*
 * Fills the rest of the buffer after success. Fills or empties the buffer after a failure. The flags select the action.
 */
static void strsafe_apply_fill(struct strsafe_out *o, NTSTATUS status, ULONG flags)
{
    bool failed = status != STATUS_SUCCESS;
    int byte = (int)(flags & STRSAFE_FILL_BYTE_MASK);

    if (!(flags & ONDK_STRSAFE_EX) || !o->cap)
        return;
    if (failed && flags & STRSAFE_FILL_ON_FAILURE) {
        memset(o->start, byte, o->cap * o->unit);
        strsafe_terminate(o, byte ? o->cap - 1 : 0);
    }
    if (failed && flags & STRSAFE_NULL_ON_FAILURE)
        strsafe_terminate(o, 0);
    if (!failed && flags & STRSAFE_FILL_BEHIND_NULL)
        memset(o->start + (o->length + 1) * o->unit, byte, (o->cap - o->length - 1) * o->unit);
}

static NTSTATUS strsafe_finish(struct strsafe_out *o, NTSTATUS status, ULONG flags, PVOID *end, SIZE_T *remaining)
{
    strsafe_apply_fill(o, status, flags);
    if (end)
        *end = o->start ? o->start + o->length * o->unit : NULL;
    if (remaining)
        *remaining = o->cap - o->length;
    return status;
}

/* Checks the destination. If the call appends, sets o->length to the length of the text in the destination. */
static NTSTATUS strsafe_begin(struct strsafe_out *o, ULONG flags)
{
    bool empty_allowed = flags & ONDK_STRSAFE_EX;

    if (flags & ~(ULONG)KNOWN_FLAGS || o->cap > NTSTRSAFE_MAX_CCH || (!o->cap && !empty_allowed))
        return STATUS_INVALID_PARAMETER;
    if (!o->start && (o->cap || !(flags & STRSAFE_IGNORE_NULLS)) && (o->cap || !empty_allowed))
        return STATUS_INVALID_PARAMETER;
    if (!(flags & ONDK_STRSAFE_APPEND) || !o->cap)
        return STATUS_SUCCESS;
    o->length = text_length(o->start, o->unit, o->cap);
    return o->length < o->cap ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/*
 * Returns the status for a destination of size 0. It is STATUS_SUCCESS if `nothing` is true, which means that the text
 * to write is empty.
 */
static NTSTATUS strsafe_status_without_buffer(const struct strsafe_out *o, bool nothing)
{
    return nothing ? STATUS_SUCCESS : o->start ? STATUS_BUFFER_OVERFLOW : STATUS_INVALID_PARAMETER;
}

NTSTATUS ondk_strsafe_copy(PVOID destination, SIZE_T cap, SIZE_T unit, const VOID *source, SIZE_T max_units,
                           ULONG flags, PVOID *end, SIZE_T *remaining)
{
    struct strsafe_out o = { destination, cap, unit, 0 };
    NTSTATUS status = strsafe_begin(&o, flags);
    size_t n, room;

    if (!source && flags & STRSAFE_IGNORE_NULLS)
        max_units = 0;
    if (status || max_units > NTSTRSAFE_MAX_CCH || (!source && max_units))
        return STATUS_INVALID_PARAMETER;
    n = max_units ? text_length(source, unit, min(max_units, o.cap + 1)) : 0;
    if (!o.cap)
        return strsafe_finish(&o, strsafe_status_without_buffer(&o, !n), flags, end, remaining);
    room = o.cap - o.length - 1;
    if (n > room) {
        status = STATUS_BUFFER_OVERFLOW;
        n = flags & ONDK_STRSAFE_EX && flags & STRSAFE_NO_TRUNCATION ? 0 : room;
    }
    if (n)
        memcpy(o.start + o.length * unit, source, n * unit);
    strsafe_terminate(&o, o.length + n);
    return strsafe_finish(&o, status, flags, end, remaining);
}

NTSTATUS ondk_strsafe_print(PVOID destination, SIZE_T cap, SIZE_T unit, ULONG flags, PVOID *end, SIZE_T *remaining,
                            const VOID *format, va_list args)
{
    struct strsafe_out o = { destination, cap, unit, 0 };
    NTSTATUS status = strsafe_begin(&o, flags);
    size_t room = o.cap ? o.cap - 1 : 0, written, n;

    if (!format && flags & STRSAFE_IGNORE_NULLS)
        format = L"";
    if (status || !format)
        return STATUS_INVALID_PARAMETER;
    n = unit == 1 ? format_narrow(destination, room, &written, format, args)
                  : format_wide(destination, room, &written, format, args);
    if (!o.cap)
        return strsafe_finish(&o, strsafe_status_without_buffer(&o, !n), flags, end, remaining);
    if (n > room) {
        status = STATUS_BUFFER_OVERFLOW;
        if (flags & ONDK_STRSAFE_EX && flags & STRSAFE_NO_TRUNCATION)
            written = 0;
    }
    strsafe_terminate(&o, written);
    return strsafe_finish(&o, status, flags, end, remaining);
}

NTSTATUS ondk_strsafe_length(const VOID *text, SIZE_T unit, SIZE_T max_units, SIZE_T *length)
{
    size_t n;

    *length = 0;
    if (!text || max_units > NTSTRSAFE_MAX_CCH)
        return STATUS_INVALID_PARAMETER;
    n = text_length(text, unit, max_units);
    if (n == max_units)
        return STATUS_INVALID_PARAMETER;
    *length = n;
    return STATUS_SUCCESS;
}

/* ---- UNICODE_STRING --------------------------------------------------------------------------------------------- */

NTSTATUS RtlUnicodeStringValidate(PCUNICODE_STRING SourceString)
{
    return SourceString ? RtlValidateUnicodeString(0, SourceString) : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR SourceString)
{
    if (!DestinationString || RtlInitUnicodeStringEx(DestinationString, SourceString))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

static NTSTATUS strsafe_put_units(PUNICODE_STRING to, size_t at, const WCHAR *from, size_t units)
{
    size_t room = to->MaximumLength / sizeof(WCHAR) - at, n = min(units, room);

    if (n)
        memmove(to->Buffer + at, from, n * sizeof(WCHAR));
    to->Length = (USHORT)((at + n) * sizeof(WCHAR));
    return n < units ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS strsafe_add_units(PUNICODE_STRING to, bool append, const WCHAR *from, size_t units)
{
    if (RtlUnicodeStringValidate(to))
        return STATUS_INVALID_PARAMETER;
    return strsafe_put_units(to, append ? to->Length / sizeof(WCHAR) : 0, from, units);
}

NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
    if (RtlUnicodeStringValidate(SourceString))
        return STATUS_INVALID_PARAMETER;
    return strsafe_add_units(DestinationString, false, SourceString->Buffer, SourceString->Length / sizeof(WCHAR));
}

NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR SourceString)
{
    return SourceString ? strsafe_add_units(DestinationString, false, SourceString, text_wide_length(SourceString))
                        : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
    if (RtlUnicodeStringValidate(SourceString))
        return STATUS_INVALID_PARAMETER;
    return strsafe_add_units(DestinationString, true, SourceString->Buffer, SourceString->Length / sizeof(WCHAR));
}

NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR SourceString)
{
    return SourceString ? strsafe_add_units(DestinationString, true, SourceString, text_wide_length(SourceString))
                        : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR pszFormat, va_list argList)
{
    size_t written, n;

    if (RtlUnicodeStringValidate(DestinationString) || !pszFormat)
        return STATUS_INVALID_PARAMETER;
    n = format_wide(DestinationString->Buffer, DestinationString->MaximumLength / sizeof(WCHAR), &written, pszFormat,
                    argList);
    DestinationString->Length = (USHORT)(written * sizeof(WCHAR));
    return written < n ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR pszFormat, ...)
{
    va_list args;
    NTSTATUS status;

    va_start(args, pszFormat);
    status = RtlUnicodeStringVPrintf(DestinationString, pszFormat, args);
    va_end(args);
    return status;
}
