/* SPDX-License-Identifier: MIT */
/*
 * Implements counted strings: see wdm/rtl.h. A routine writes at most MaximumLength bytes. Length never exceeds
 * MaximumLength.
 */
#include <stdbool.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/text.h"

enum { MAX_STRING_SIZE = 0xfffe };

/* ---- Making ----------------------------------------------------------------------------------------------------- */

/*
 * Sets *length and *maximum for a text of `bytes` bytes and a terminator of `unit` bytes. If the text is too long,
 * fails if `cut` is false, and sets the longest possible lengths if `cut` is true.
 */
static NTSTATUS rtl_measure_string(size_t bytes, size_t unit, bool cut, USHORT *length, USHORT *maximum)
{
    if (bytes + unit > MAX_STRING_SIZE && !cut)
        return STATUS_NAME_TOO_LONG;
    *length = (USHORT)min(bytes, (size_t)MAX_STRING_SIZE - unit);
    *maximum = (USHORT)(*length + unit);
    return STATUS_SUCCESS;
}

static NTSTATUS rtl_init_wide(PUNICODE_STRING out, PCWSTR source, bool cut)
{
    *out = (UNICODE_STRING){ 0, 0, (PWSTR)(uintptr_t)source };
    return source ? rtl_measure_string(text_wide_length(source) * sizeof *source, sizeof *source, cut, &out->Length,
                                       &out->MaximumLength)
                  : STATUS_SUCCESS;
}

static NTSTATUS rtl_init_narrow(PSTRING out, PCSZ source, bool cut)
{
    *out = (STRING){ 0, 0, (PCHAR)(uintptr_t)source };
    return source ? rtl_measure_string(strlen(source), 1, cut, &out->Length, &out->MaximumLength) : STATUS_SUCCESS;
}

VOID RtlInitUnicodeString(PUNICODE_STRING DestinationString, PCWSTR SourceString)
{
    (void)rtl_init_wide(DestinationString, SourceString, true);
}

NTSTATUS RtlInitUnicodeStringEx(PUNICODE_STRING DestinationString, PCWSTR SourceString)
{
    return rtl_init_wide(DestinationString, SourceString, false);
}

VOID RtlInitString(PSTRING DestinationString, PCSZ SourceString)
{
    (void)rtl_init_narrow(DestinationString, SourceString, true);
}

NTSTATUS RtlInitStringEx(PSTRING DestinationString, PCSZ SourceString)
{
    return rtl_init_narrow(DestinationString, SourceString, false);
}

VOID RtlInitAnsiString(PANSI_STRING DestinationString, PCSZ SourceString)
{
    (void)rtl_init_narrow(DestinationString, SourceString, true);
}

NTSTATUS RtlInitAnsiStringEx(PANSI_STRING DestinationString, PCSZ SourceString)
{
    return rtl_init_narrow(DestinationString, SourceString, false);
}

VOID RtlInitUTF8String(PUTF8_STRING DestinationString, PCSZ SourceString)
{
    (void)rtl_init_narrow(DestinationString, SourceString, true);
}

NTSTATUS RtlInitUTF8StringEx(PUTF8_STRING DestinationString, PCSZ SourceString)
{
    return rtl_init_narrow(DestinationString, SourceString, false);
}

/* ---- Copying ---------------------------------------------------------------------------------------------------- */

VOID RtlCopyUnicodeString(PUNICODE_STRING DestinationString, PCUNICODE_STRING SourceString)
{
    USHORT length = SourceString ? min(SourceString->Length, DestinationString->MaximumLength) : 0;

    length &= (USHORT)~1;
    if (length)
        memmove(DestinationString->Buffer, SourceString->Buffer, length);
    DestinationString->Length = length;
    if (SourceString && length + sizeof(WCHAR) <= DestinationString->MaximumLength)
        DestinationString->Buffer[length / sizeof(WCHAR)] = 0;
}

VOID RtlCopyString(PSTRING DestinationString, const STRING *SourceString)
{
    USHORT length = SourceString ? min(SourceString->Length, DestinationString->MaximumLength) : 0;

    if (length)
        memmove(DestinationString->Buffer, SourceString->Buffer, length);
    DestinationString->Length = length;
}

/* Appends `bytes`, and a terminator of `unit` bytes if it fits. */
static NTSTATUS rtl_append(char *to, USHORT *length, USHORT maximum, const void *from, size_t bytes, size_t unit)
{
    if (!bytes)
        return STATUS_SUCCESS;
    if (bytes > maximum || *length > maximum - bytes)
        return STATUS_BUFFER_TOO_SMALL;
    memmove(to + *length, from, bytes);
    *length = (USHORT)(*length + bytes);
    if (*length + unit <= maximum)
        memset(to + *length, 0, unit);
    return STATUS_SUCCESS;
}

static NTSTATUS rtl_append_wide(PUNICODE_STRING to, const WCHAR *from, size_t bytes)
{
    return rtl_append((char *)to->Buffer, &to->Length, to->MaximumLength, from, bytes, sizeof *from);
}

static NTSTATUS rtl_append_narrow(PSTRING to, const char *from, size_t bytes)
{
    return rtl_append(to->Buffer, &to->Length, to->MaximumLength, from, bytes, sizeof *from);
}

NTSTATUS RtlAppendUnicodeStringToString(PUNICODE_STRING Destination, PCUNICODE_STRING Source)
{
    return rtl_append_wide(Destination, Source->Buffer, Source->Length);
}

NTSTATUS RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source)
{
    return rtl_append_wide(Destination, Source, Source ? text_wide_length(Source) * sizeof(WCHAR) : 0);
}

NTSTATUS RtlAppendStringToString(PSTRING Destination, const STRING *Source)
{
    return rtl_append_narrow(Destination, Source->Buffer, Source->Length);
}

NTSTATUS RtlAppendAsciizToString(PSTRING Destination, PCSZ Source)
{
    return rtl_append_narrow(Destination, Source, Source ? strlen(Source) : 0);
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

LONG RtlCompareUnicodeStrings(PCWCH String1, SIZE_T String1Length, PCWCH String2, SIZE_T String2Length,
                              BOOLEAN CaseInSensitive)
{
    for (SIZE_T i = 0; i < String1Length && i < String2Length; i++) {
        WCHAR a = CaseInSensitive ? text_upcase(String1[i]) : String1[i];
        WCHAR b = CaseInSensitive ? text_upcase(String2[i]) : String2[i];

        if (a != b)
            return (LONG)(uint16_t)a - (LONG)(uint16_t)b;
    }
    return (LONG)String1Length - (LONG)String2Length;
}

LONG RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2, BOOLEAN CaseInSensitive)
{
    return RtlCompareUnicodeStrings(String1->Buffer, String1->Length / sizeof(WCHAR), String2->Buffer,
                                    String2->Length / sizeof(WCHAR), CaseInSensitive);
}

CHAR RtlUpperChar(CHAR Character)
{
    return Character >= 'a' && Character <= 'z' ? (CHAR)(Character - 32) : Character;
}

LONG RtlCompareString(const STRING *String1, const STRING *String2, BOOLEAN CaseInSensitive)
{
    for (USHORT i = 0; i < String1->Length && i < String2->Length; i++) {
        CHAR a = CaseInSensitive ? RtlUpperChar(String1->Buffer[i]) : String1->Buffer[i];
        CHAR b = CaseInSensitive ? RtlUpperChar(String2->Buffer[i]) : String2->Buffer[i];

        if (a != b)
            return (LONG)(UCHAR)a - (LONG)(UCHAR)b;
    }
    return (LONG)String1->Length - (LONG)String2->Length;
}

BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2, BOOLEAN CaseInSensitive)
{
    return String1->Length == String2->Length && !RtlCompareUnicodeString(String1, String2, CaseInSensitive);
}

BOOLEAN RtlEqualString(const STRING *String1, const STRING *String2, BOOLEAN CaseInSensitive)
{
    return String1->Length == String2->Length && !RtlCompareString(String1, String2, CaseInSensitive);
}

BOOLEAN RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2, BOOLEAN CaseInSensitive)
{
    UNICODE_STRING front = { String1->Length, String1->Length, String2->Buffer };

    return String1->Length <= String2->Length && RtlEqualUnicodeString(String1, &front, CaseInSensitive);
}

BOOLEAN RtlPrefixString(const STRING *String1, const STRING *String2, BOOLEAN CaseInSensitive)
{
    STRING front = { String1->Length, String1->Length, String2->Buffer };

    return String1->Length <= String2->Length && RtlEqualString(String1, &front, CaseInSensitive);
}

BOOLEAN RtlSuffixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2, BOOLEAN CaseInSensitive)
{
    UNICODE_STRING back = { String1->Length, String1->Length, NULL };

    if (String1->Length > String2->Length)
        return FALSE;
    back.Buffer = String2->Buffer + (String2->Length - String1->Length) / sizeof(WCHAR);
    return RtlEqualUnicodeString(String1, &back, CaseInSensitive);
}

WCHAR RtlUpcaseUnicodeChar(WCHAR SourceCharacter)
{
    return text_upcase(SourceCharacter);
}

WCHAR RtlDowncaseUnicodeChar(WCHAR SourceCharacter)
{
    return text_downcase(SourceCharacter);
}

VOID RtlUpperString(PSTRING DestinationString, const STRING *SourceString)
{
    RtlCopyString(DestinationString, SourceString);
    for (USHORT i = 0; i < DestinationString->Length; i++)
        DestinationString->Buffer[i] = RtlUpperChar(DestinationString->Buffer[i]);
}

NTSTATUS RtlHashUnicodeString(PCUNICODE_STRING String, BOOLEAN CaseInSensitive, ULONG HashAlgorithm, PULONG HashValue)
{
    ULONG hash = 0;

    if (!String || !HashValue || HashAlgorithm > HASH_STRING_ALGORITHM_X65599)
        return STATUS_INVALID_PARAMETER;
    for (USHORT i = 0; i < String->Length / sizeof(WCHAR); i++)
        hash = hash * 65599 + (uint16_t)(CaseInSensitive ? text_upcase(String->Buffer[i]) : String->Buffer[i]);
    *HashValue = hash;
    return STATUS_SUCCESS;
}

NTSTATUS RtlValidateUnicodeString(ULONG Flags, PCUNICODE_STRING String)
{
    if (Flags)
        return STATUS_INVALID_PARAMETER;
    if (!String)
        return STATUS_SUCCESS;
    if (String->Length % sizeof(WCHAR) || String->MaximumLength % sizeof(WCHAR) ||
        String->Length > String->MaximumLength || (!String->Buffer && (String->Length || String->MaximumLength)))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}
