/* SPDX-License-Identifier: MIT */
/*
 * Implements routines for GUIDs, random numbers, calendar time and the version: see wdm/rtl.h. Nothing here has state.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "ntifs.h"
#include "ntverp.h"

#include "verify/stack.h"
#include "wdk/common/text.h"
#include "wdk/ke/thread.h"

/* ---- GUIDs ------------------------------------------------------------------------------------------------------ */

enum { GUID_LENGTH = 38 };

NTSTATUS RtlStringFromGUID(REFGUID Guid, PUNICODE_STRING GuidString)
{
    char text[GUID_LENGTH + 1];
    WCHAR wide[GUID_LENGTH + 1];
    UNICODE_STRING result = { GUID_LENGTH * sizeof(WCHAR), sizeof wide, wide };
    const uint8_t *d = Guid->Data4;

    irql_check_max("RtlStringFromGUID", PASSIVE_LEVEL);
    snprintf(text, sizeof text, "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}", Guid->Data1, Guid->Data2,
             Guid->Data3, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
    (void)text_to_utf16(wide, GUID_LENGTH, text, GUID_LENGTH, NULL, NULL);
    return RtlDuplicateUnicodeString(RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE, &result, GuidString);
}

static bool rtl_parse_hex(const WCHAR *s, int digits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        unsigned c = (uint16_t)s[i];
        unsigned value = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 16;

        if (value == 16)
            return false;
        *out = *out << 4 | value;
    }
    return true;
}

NTSTATUS RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID *Guid)
{
    static const int at_byte[] = { 20, 22, 25, 27, 29, 31, 33, 35 };
    const WCHAR *s = GuidString->Buffer;
    uint32_t a, b, c, byte;
    GUID result;

    irql_check_max("RtlGUIDFromString", PASSIVE_LEVEL);
    if (GuidString->Length != GUID_LENGTH * sizeof(WCHAR) || s[0] != '{' || s[37] != '}' || s[9] != '-' ||
        s[14] != '-' || s[19] != '-' || s[24] != '-' || !rtl_parse_hex(s + 1, 8, &a) || !rtl_parse_hex(s + 10, 4, &b) ||
        !rtl_parse_hex(s + 15, 4, &c))
        return STATUS_INVALID_PARAMETER;
    result = (GUID){ .Data1 = a, .Data2 = (uint16_t)b, .Data3 = (uint16_t)c };
    for (int i = 0; i < 8; i++) {
        if (!rtl_parse_hex(s + at_byte[i], 2, &byte))
            return STATUS_INVALID_PARAMETER;
        result.Data4[i] = (uint8_t)byte;
    }
    *Guid = result;
    return STATUS_SUCCESS;
}

USHORT RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture, PVOID *BackTrace, PULONG BackTraceHash)
{
    struct stack now = { .depth = 0 };
    ULONG n = 0, hash = 0;

    stack_capture(&now, __builtin_return_address(0));
    for (int i = (int)FramesToSkip; FramesToSkip < STACK_FRAMES && i < now.depth && n < FramesToCapture; i++) {
        BackTrace[n++] = now.frames[i];
        hash += (ULONG)(ULONG_PTR)now.frames[i];
    }
    if (BackTraceHash)
        *BackTraceHash = hash;
    return (USHORT)n;
}

/* Creates a random UUID (version 4). */
NTSTATUS ExUuidCreate(GUID *Uuid)
{
    irql_check_max("ExUuidCreate", PASSIVE_LEVEL);
    if (getrandom(Uuid, sizeof *Uuid, 0) != (ssize_t)sizeof *Uuid)
        return STATUS_RETRY;
    Uuid->Data3 = (uint16_t)((Uuid->Data3 & 0x0fff) | 0x4000);
    Uuid->Data4[0] = (uint8_t)((Uuid->Data4[0] & 0x3f) | 0x80);
    return STATUS_SUCCESS;
}

/* Returns 0 to MAXLONG - 1 and advances the seed. Equal seeds give equal sequences, but not those of Windows. */
ULONG RtlRandomEx(PULONG Seed)
{
    uint64_t x = *Seed + 0x9e3779b97f4a7c15ULL;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    *Seed = (ULONG)(x >> 16);
    return (ULONG)((x >> 33) % MAXLONG);
}

ULONG RtlRandom(PULONG Seed)
{
    return RtlRandomEx(Seed);
}

/* ---- Calendar --------------------------------------------------------------------------------------------------- */

/* DAYS_TO_1601 is the number of days from 0000-03-01 to 1601-01-01, DAYS_TO_1970 that from 1601-01-01 to 1970-01-01. */
enum { DAYS_PER_ERA = 146097, DAYS_TO_1601 = 584694, DAYS_TO_1970 = 134774 };
static const int64_t ticks_per_day = 864000000000, ticks_per_second = 10000000;

/*
 * Returns the day number of the date. Here and in rtl_days_to_date a year begins in March, so that the leap day is the
 * last day of a year.
 */
static int64_t rtl_date_to_days(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - DAYS_TO_1601;
}

static void rtl_days_to_date(int64_t days, TIME_FIELDS *f)
{
    int64_t d = days + DAYS_TO_1601, era = d / DAYS_PER_ERA, in_era = d % DAYS_PER_ERA;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * y + y / 4 - y / 100), m = (5 * in_year + 2) / 153;

    f->Day = (CSHORT)(in_year - (153 * m + 2) / 5 + 1);
    f->Month = (CSHORT)(m < 10 ? m + 3 : m - 9);
    f->Year = (CSHORT)(era * 400 + y + (f->Month <= 2));
}

VOID RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields)
{
    int64_t days = Time->QuadPart / ticks_per_day, rest = Time->QuadPart % ticks_per_day / 10000;

    rtl_days_to_date(days, TimeFields);
    TimeFields->Weekday = (CSHORT)((days + 1) % 7); /* 1601 began with a Monday */
    TimeFields->Milliseconds = (CSHORT)(rest % 1000);
    TimeFields->Second = (CSHORT)(rest / 1000 % 60);
    TimeFields->Minute = (CSHORT)(rest / 60000 % 60);
    TimeFields->Hour = (CSHORT)(rest / 3600000);
}

static int rtl_days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

BOOLEAN RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time)
{
    const TIME_FIELDS *f = TimeFields;

    if (f->Year < 1601 || f->Month < 1 || f->Month > 12 || f->Day < 1 ||
        f->Day > rtl_days_in_month(f->Year, f->Month) || f->Hour < 0 || f->Hour > 23 || f->Minute < 0 ||
        f->Minute > 59 || f->Second < 0 || f->Second > 59 || f->Milliseconds < 0 || f->Milliseconds > 999)
        return FALSE;
    Time->QuadPart = rtl_date_to_days(f->Year, f->Month, f->Day) * ticks_per_day +
                     ((f->Hour * 60LL + f->Minute) * 60 + f->Second) * ticks_per_second + f->Milliseconds * 10000LL;
    return TRUE;
}

BOOLEAN RtlTimeToSecondsSince1970(PLARGE_INTEGER Time, PULONG ElapsedSeconds)
{
    int64_t seconds = Time->QuadPart / ticks_per_second - DAYS_TO_1970 * 86400LL;

    if (seconds < 0 || seconds > MAXULONG)
        return FALSE;
    *ElapsedSeconds = (ULONG)seconds;
    return TRUE;
}

VOID RtlSecondsSince1970ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time)
{
    Time->QuadPart = (ElapsedSeconds + DAYS_TO_1970 * 86400LL) * ticks_per_second;
}

/* ---- Version ---------------------------------------------------------------------------------------------------- */

enum {
    MAJOR = VER_PRODUCTMAJORVERSION,
    MINOR = VER_PRODUCTMINORVERSION,
    BUILD = VER_PRODUCTBUILD,
    BITS_PER_CONDITION = 3
};

NTSTATUS RtlGetVersion(PRTL_OSVERSIONINFOW lpVersionInformation)
{
    PRTL_OSVERSIONINFOEXW extended = (PRTL_OSVERSIONINFOEXW)(void *)lpVersionInformation;

    irql_check_max("RtlGetVersion", PASSIVE_LEVEL);
    lpVersionInformation->dwMajorVersion = MAJOR;
    lpVersionInformation->dwMinorVersion = MINOR;
    lpVersionInformation->dwBuildNumber = BUILD;
    lpVersionInformation->dwPlatformId = VER_PLATFORM_WIN32_NT;
    lpVersionInformation->szCSDVersion[0] = 0;
    if (lpVersionInformation->dwOSVersionInfoSize != sizeof *extended)
        return STATUS_SUCCESS;
    extended->wServicePackMajor = extended->wServicePackMinor = 0;
    extended->wSuiteMask = 0;
    extended->wProductType = VER_NT_SERVER;
    extended->wReserved = 0;
    return STATUS_SUCCESS;
}

static int rtl_version_condition_shift(ULONG type)
{
    return __builtin_ctz(type) * BITS_PER_CONDITION;
}

ULONGLONG VerSetConditionMask(ULONGLONG ConditionMask, ULONG TypeMask, UCHAR Condition)
{
    for (ULONG bits = TypeMask & 0xff; bits; bits &= bits - 1)
        ConditionMask |= (ULONGLONG)(Condition & 7) << rtl_version_condition_shift(bits & -bits);
    return ConditionMask;
}

static bool rtl_version_compare(ULONG have, ULONG want, unsigned condition)
{
    switch (condition) {
    case VER_EQUAL:
        return have == want;
    case VER_GREATER:
        return have > want;
    case VER_GREATER_EQUAL:
        return have >= want;
    case VER_LESS:
        return have < want;
    case VER_LESS_EQUAL:
        return have <= want;
    case VER_AND:
        return (have & want) == want;
    case VER_OR:
        return !want || (have & want);
    default:
        return false;
    }
}

struct rtl_version_part {
    ULONG type, have, want;
};

/*
 * Compares the requested parts of the version, the most significant first: major, minor, service pack. The first part
 * that differs decides. The condition of the first requested part applies to all parts.
 */
static bool rtl_version_compare_parts(const struct rtl_version_part *parts, int count, ULONG mask, ULONGLONG conditions)
{
    unsigned condition = 0;

    for (int i = 0; i < count; i++) {
        if (!(mask & parts[i].type))
            continue;
        if (!condition)
            condition = conditions >> rtl_version_condition_shift(parts[i].type) & 7;
        if (parts[i].have != parts[i].want)
            return rtl_version_compare(parts[i].have, parts[i].want, condition);
    }
    return !condition || rtl_version_compare(0, 0, condition);
}

NTSTATUS RtlVerifyVersionInfo(PRTL_OSVERSIONINFOEXW VersionInfo, ULONG TypeMask, ULONGLONG ConditionMask)
{
    const struct rtl_version_part version[] = {
        { VER_MAJORVERSION, MAJOR, VersionInfo->dwMajorVersion },
        { VER_MINORVERSION, MINOR, VersionInfo->dwMinorVersion },
        { VER_SERVICEPACKMAJOR, 0, VersionInfo->wServicePackMajor },
        { VER_SERVICEPACKMINOR, 0, VersionInfo->wServicePackMinor },
    };
    const struct rtl_version_part single[] = {
        { VER_BUILDNUMBER, BUILD, VersionInfo->dwBuildNumber },
        { VER_PLATFORMID, VER_PLATFORM_WIN32_NT, VersionInfo->dwPlatformId },
        { VER_SUITENAME, 0, VersionInfo->wSuiteMask },
        { VER_PRODUCT_TYPE, VER_NT_SERVER, VersionInfo->wProductType },
    };

    irql_check_max("RtlVerifyVersionInfo", PASSIVE_LEVEL);
    if (!TypeMask || !ConditionMask)
        return STATUS_INVALID_PARAMETER;
    if (!rtl_version_compare_parts(version, RTL_NUMBER_OF(version), TypeMask, ConditionMask))
        return STATUS_REVISION_MISMATCH;
    for (size_t i = 0; i < RTL_NUMBER_OF(single); i++)
        if (TypeMask & single[i].type &&
            !rtl_version_compare(single[i].have, single[i].want,
                                 ConditionMask >> rtl_version_condition_shift(single[i].type) & 7))
            return STATUS_REVISION_MISMATCH;
    return STATUS_SUCCESS;
}

BOOLEAN RtlIsNtDdiVersionAvailable(ULONG Version)
{
    enum { NTDDI_WIN10_VB = 0x0A000008 };

    irql_check_max("RtlIsNtDdiVersionAvailable", PASSIVE_LEVEL);
    return (Version & 0xffff0000) <= (NTDDI_WIN10_VB & 0xffff0000) && Version <= NTDDI_WIN10_VB;
}
