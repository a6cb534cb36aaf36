/* SPDX-License-Identifier: MIT */
/* What ntstrsafe.h's inline functions are made of. */
#include <stdbool.h>
#include <string.h>

#include "ntstrsafe.h"

#include "wdk/common/format.h"
#include "wdk/common/text.h"

enum { FLAGS = 0x1fff | ONDK_STRSAFE_EX | ONDK_STRSAFE_APPEND };

/* Characters of one or two octets. */
struct out {
    char *start;
    size_t cap, unit;
    size_t length; /* without terminator */
};

static void end_at(struct out *o, size_t at)
{
    memset(o->start + at * o->unit, 0, o->unit);
    o->length = at;
}

/* What the flags ask for after a failure or, behind the terminator, after success. */
static void fill(struct out *o, NTSTATUS status, ULONG how)
{
    bool failed = status != STATUS_SUCCESS;
    int octet = (int)(how & STRSAFE_FILL_BYTE_MASK);

    if (!(how & ONDK_STRSAFE_EX) || !o->cap)
        return;
    if (failed && how & STRSAFE_FILL_ON_FAILURE) {
        memset(o->start, octet, o->cap * o->unit);
        end_at(o, octet ? o->cap - 1 : 0);
    }
    if (failed && how & STRSAFE_NULL_ON_FAILURE)
        end_at(o, 0);
    if (!failed && how & STRSAFE_FILL_BEHIND_NULL)
        memset(o->start + (o->length + 1) * o->unit, octet,
               (o->cap - o->length - 1) * o->unit);
}

static NTSTATUS finish(struct out *o, NTSTATUS status, ULONG how, PVOID *end, SIZE_T *remaining)
{
    fill(o, status, how);
    if (end)
        *end = o->start ? o->start + o->length * o->unit : NULL;
    if (remaining)
        *remaining = o->cap - o->length;
    return status;
}

/* STATUS_SUCCESS, and the length of what is appended to. */
static NTSTATUS open_out(struct out *o, ULONG how)
{
    bool empty_allowed = how & ONDK_STRSAFE_EX;

    if (how & ~(ULONG)FLAGS || o->cap > NTSTRSAFE_MAX_CCH || (!o->cap && !empty_allowed))
        return STATUS_INVALID_PARAMETER;
    if (!o->start && (o->cap || !(how & STRSAFE_IGNORE_NULLS)) && (o->cap || !empty_allowed))
        return STATUS_INVALID_PARAMETER;
    if (!(how & ONDK_STRSAFE_APPEND) || !o->cap)
        return STATUS_SUCCESS;
    o->length = text_length(o->start, o->unit, o->cap);
    return o->length < o->cap ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/* Nowhere to put anything: fine when there is nothing to put. */
static NTSTATUS without_room(const struct out *o, bool nothing)
{
    return nothing ? STATUS_SUCCESS : o->start ? STATUS_BUFFER_OVERFLOW : STATUS_INVALID_PARAMETER;
}

NTSTATUS ondk_strsafe_copy(PVOID destination, SIZE_T cap, SIZE_T unit, const VOID *source, SIZE_T most, ULONG how,
                           PVOID *end, SIZE_T *remaining)
{
    struct out o = { destination, cap, unit, 0 };
    NTSTATUS status = open_out(&o, how);
    size_t n, room;

    if (!source && how & STRSAFE_IGNORE_NULLS)
        most = 0;
    if (status || most > NTSTRSAFE_MAX_CCH || (!source && most))
        return STATUS_INVALID_PARAMETER;
    n = most ? text_length(source, unit, min(most, o.cap + 1)) : 0;
    if (!o.cap)
        return finish(&o, without_room(&o, !n), how, end, remaining);
    room = o.cap - o.length - 1;
    if (n > room) {
        status = STATUS_BUFFER_OVERFLOW;
        n = how & ONDK_STRSAFE_EX && how & STRSAFE_NO_TRUNCATION ? 0 : room;
    }
    if (n)
        memcpy(o.start + o.length * unit, source, n * unit);
    end_at(&o, o.length + n);
    return finish(&o, status, how, end, remaining);
}

NTSTATUS ondk_strsafe_print(PVOID destination, SIZE_T cap, SIZE_T unit, ULONG how, PVOID *end, SIZE_T *remaining,
                            const VOID *format, va_list args)
{
    struct out o = { destination, cap, unit, 0 };
    NTSTATUS status = open_out(&o, how);
    size_t room = o.cap ? o.cap - 1 : 0, written, n;

    if (!format && how & STRSAFE_IGNORE_NULLS)
        format = L"";
    if (status || !format)
        return STATUS_INVALID_PARAMETER;
    n = unit == 1 ? format_narrow(destination, room, &written, format, args)
                  : format_wide(destination, room, &written, format, args);
    if (!o.cap)
        return finish(&o, without_room(&o, !n), how, end, remaining);
    if (n > room) {
        status = STATUS_BUFFER_OVERFLOW;
        if (how & ONDK_STRSAFE_EX && how & STRSAFE_NO_TRUNCATION)
            written = 0;
    }
    end_at(&o, written);
    return finish(&o, status, how, end, remaining);
}

NTSTATUS ondk_strsafe_length(const VOID *text, SIZE_T unit, SIZE_T most, SIZE_T *length)
{
    size_t n;

    *length = 0;
    if (!text || most > NTSTRSAFE_MAX_CCH)
        return STATUS_INVALID_PARAMETER;
    n = text_length(text, unit, most);
    if (n == most)
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

static NTSTATUS put(PUNICODE_STRING to, size_t at, const WCHAR *from, size_t units)
{
    size_t room = to->MaximumLength / sizeof(WCHAR) - at, n = min(units, room);

    if (n)
        memmove(to->Buffer + at, from, n * sizeof(WCHAR));
    to->Length = (USHORT)((at + n) * sizeof(WCHAR));
    return n < units ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS add(PUNICODE_STRING to, bool append, const WCHAR *from, size_t units)
{
    if (RtlUnicodeStringValidate(to))
        return STATUS_INVALID_PARAMETER;
    return put(to, append ? to->Length / sizeof(WCHAR) : 0, from, units);
}

NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
    if (RtlUnicodeStringValidate(SourceString))
        return STATUS_INVALID_PARAMETER;
    return add(DestinationString, false, SourceString->Buffer, SourceString->Length / sizeof(WCHAR));
}

NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR SourceString)
{
    return SourceString ? add(DestinationString, false, SourceString, text_wide_length(SourceString))
                        : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
    if (RtlUnicodeStringValidate(SourceString))
        return STATUS_INVALID_PARAMETER;
    return add(DestinationString, true, SourceString->Buffer, SourceString->Length / sizeof(WCHAR));
}

NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR SourceString)
{
    return SourceString ? add(DestinationString, true, SourceString, text_wide_length(SourceString))
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
