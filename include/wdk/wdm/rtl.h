/* SPDX-License-Identifier: MIT */
/*
 * Rtl routines: strings, addresses, GUIDs, numbers, bitmaps, time, version. The ANSI code page is UTF-8.
 */
#ifndef ONDK_WDK_WDM_RTL_H
#define ONDK_WDK_WDM_RTL_H

#include "../ntdef.h"
#include "../ntstatus.h"

EXTERN_C_START

/* ---- Counted strings -------------------------------------------------------------------------------------------- */

/* Any IRQL if the memory is resident. A NULL source makes an empty string. */
NTKERNELAPI VOID RtlInitUnicodeString(_Out_ PUNICODE_STRING DestinationString, _In_opt_z_ PCWSTR SourceString);
NTKERNELAPI NTSTATUS RtlInitUnicodeStringEx(_Out_ PUNICODE_STRING DestinationString, _In_opt_z_ PCWSTR SourceString);
NTKERNELAPI VOID RtlInitAnsiString(_Out_ PANSI_STRING DestinationString, _In_opt_z_ PCSZ SourceString);
NTKERNELAPI NTSTATUS RtlInitAnsiStringEx(_Out_ PANSI_STRING DestinationString, _In_opt_z_ PCSZ SourceString);
NTKERNELAPI VOID RtlInitString(_Out_ PSTRING DestinationString, _In_opt_z_ PCSZ SourceString);
NTKERNELAPI NTSTATUS RtlInitStringEx(_Out_ PSTRING DestinationString, _In_opt_z_ PCSZ SourceString);
NTKERNELAPI VOID RtlInitUTF8String(_Out_ PUTF8_STRING DestinationString, _In_opt_z_ PCSZ SourceString);
NTKERNELAPI NTSTATUS RtlInitUTF8StringEx(_Out_ PUTF8_STRING DestinationString, _In_opt_z_ PCSZ SourceString);

FORCEINLINE VOID RtlInitEmptyUnicodeString(_Out_ PUNICODE_STRING UnicodeString, _In_ PWCHAR Buffer,
                                           _In_ USHORT BufferSize)
{
    UnicodeString->Length = 0;
    UnicodeString->MaximumLength = BufferSize;
    UnicodeString->Buffer = Buffer;
}

FORCEINLINE VOID RtlInitEmptyAnsiString(_Out_ PANSI_STRING AnsiString, _In_ PCHAR Buffer, _In_ USHORT BufferSize)
{
    AnsiString->Length = 0;
    AnsiString->MaximumLength = BufferSize;
    AnsiString->Buffer = Buffer;
}

NTKERNELAPI VOID RtlCopyUnicodeString(_Inout_ PUNICODE_STRING DestinationString,
                                      _In_opt_ PCUNICODE_STRING SourceString);
NTKERNELAPI VOID RtlCopyString(_Inout_ PSTRING DestinationString, _In_opt_ const STRING *SourceString);
/*
 * The four Append functions return STATUS_BUFFER_TOO_SMALL and change nothing if the result does not fit. They add a
 * terminator if there is room.
 */
NTKERNELAPI NTSTATUS RtlAppendUnicodeStringToString(_Inout_ PUNICODE_STRING Destination, _In_ PCUNICODE_STRING Source);
NTKERNELAPI NTSTATUS RtlAppendUnicodeToString(_Inout_ PUNICODE_STRING Destination, _In_opt_z_ PCWSTR Source);
NTKERNELAPI NTSTATUS RtlAppendStringToString(_Inout_ PSTRING Destination, _In_ const STRING *Source);
NTKERNELAPI NTSTATUS RtlAppendAsciizToString(_Inout_ PSTRING Destination, _In_opt_z_ PCSZ Source);

NTKERNELAPI LONG RtlCompareUnicodeString(_In_ PCUNICODE_STRING String1, _In_ PCUNICODE_STRING String2,
                                         _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI LONG RtlCompareUnicodeStrings(_In_ PCWCH String1, _In_ SIZE_T String1Length, _In_ PCWCH String2,
                                          _In_ SIZE_T String2Length, _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI LONG RtlCompareString(_In_ const STRING *String1, _In_ const STRING *String2,
                                  _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN RtlEqualUnicodeString(_In_ PCUNICODE_STRING String1, _In_ PCUNICODE_STRING String2,
                                          _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN RtlEqualString(_In_ const STRING *String1, _In_ const STRING *String2,
                                   _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN RtlPrefixUnicodeString(_In_ PCUNICODE_STRING String1, _In_ PCUNICODE_STRING String2,
                                           _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN RtlPrefixString(_In_ const STRING *String1, _In_ const STRING *String2,
                                    _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI BOOLEAN RtlSuffixUnicodeString(_In_ PCUNICODE_STRING String1, _In_ PCUNICODE_STRING String2,
                                           _In_ BOOLEAN CaseInSensitive);
NTKERNELAPI WCHAR RtlUpcaseUnicodeChar(_In_ WCHAR SourceCharacter);
NTKERNELAPI WCHAR RtlDowncaseUnicodeChar(_In_ WCHAR SourceCharacter);
NTKERNELAPI CHAR RtlUpperChar(_In_ CHAR Character);
NTKERNELAPI VOID RtlUpperString(_Inout_ PSTRING DestinationString, _In_ const STRING *SourceString);
#define HASH_STRING_ALGORITHM_DEFAULT 0
#define HASH_STRING_ALGORITHM_X65599 1
#define HASH_STRING_ALGORITHM_INVALID 0xffffffff
NTKERNELAPI NTSTATUS RtlHashUnicodeString(_In_ PCUNICODE_STRING String, _In_ BOOLEAN CaseInSensitive,
                                          _In_ ULONG HashAlgorithm, _Out_ PULONG HashValue);
NTKERNELAPI NTSTATUS RtlValidateUnicodeString(_In_ ULONG Flags, _In_ PCUNICODE_STRING String);

/*
 * These routines convert strings. If the parameter Allocate... is TRUE, the result is in paged pool, and RtlFree...
 * frees it. Otherwise the result is written to DestinationString's own buffer, or STATUS_BUFFER_OVERFLOW is returned if
 * that buffer is too small. PASSIVE_LEVEL.
 */
#define RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE 0x00000001
#define RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING 0x00000002
NTKERNELAPI NTSTATUS RtlDuplicateUnicodeString(_In_ ULONG Flags, _In_ PCUNICODE_STRING StringIn,
                                               _Out_ PUNICODE_STRING StringOut);
NTKERNELAPI NTSTATUS RtlUpcaseUnicodeString(_Inout_ PUNICODE_STRING DestinationString,
                                            _In_ PCUNICODE_STRING SourceString,
                                            _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS RtlDowncaseUnicodeString(_Inout_ PUNICODE_STRING DestinationString,
                                              _In_ PCUNICODE_STRING SourceString,
                                              _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS RtlAnsiStringToUnicodeString(_Inout_ PUNICODE_STRING DestinationString,
                                                  _In_ PCANSI_STRING SourceString,
                                                  _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS RtlUnicodeStringToAnsiString(_Inout_ PANSI_STRING DestinationString,
                                                  _In_ PCUNICODE_STRING SourceString,
                                                  _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS RtlUTF8StringToUnicodeString(_Inout_ PUNICODE_STRING DestinationString,
                                                  _In_ const UTF8_STRING *SourceString,
                                                  _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI NTSTATUS RtlUnicodeStringToUTF8String(_Inout_ PUTF8_STRING DestinationString,
                                                  _In_ PCUNICODE_STRING SourceString,
                                                  _In_ BOOLEAN AllocateDestinationString);
NTKERNELAPI ULONG RtlxAnsiStringToUnicodeSize(_In_ PCANSI_STRING AnsiString);
NTKERNELAPI ULONG RtlxUnicodeStringToAnsiSize(_In_ PCUNICODE_STRING UnicodeString);
#define RtlAnsiStringToUnicodeSize(string) RtlxAnsiStringToUnicodeSize(string)
#define RtlUnicodeStringToAnsiSize(string) RtlxUnicodeStringToAnsiSize(string)
NTKERNELAPI VOID RtlFreeUnicodeString(_Inout_ PUNICODE_STRING UnicodeString);
NTKERNELAPI VOID RtlFreeAnsiString(_Inout_ PANSI_STRING AnsiString);
NTKERNELAPI VOID RtlFreeUTF8String(_Inout_ PUTF8_STRING utf8String);
/*
 * Lengths are in bytes. The functions return STATUS_SOME_NOT_MAPPED if U+FFFD has replaced malformed characters, and
 * STATUS_BUFFER_TOO_SMALL if the result does not fit.
 */
NTKERNELAPI NTSTATUS RtlUTF8ToUnicodeN(_Out_opt_ PWSTR UnicodeStringDestination, _In_ ULONG UnicodeStringMaxByteCount,
                                       _Out_ PULONG UnicodeStringActualByteCount, _In_ PCCH UTF8StringSource,
                                       _In_ ULONG UTF8StringByteCount);
NTKERNELAPI NTSTATUS RtlUnicodeToUTF8N(_Out_opt_ PCHAR UTF8StringDestination, _In_ ULONG UTF8StringMaxByteCount,
                                       _Out_ PULONG UTF8StringActualByteCount, _In_ PCWCH UnicodeStringSource,
                                       _In_ ULONG UnicodeStringByteCount);

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

NTKERNELAPI NTSTATUS RtlIntegerToUnicodeString(_In_ ULONG Value, _In_opt_ ULONG Base, _Inout_ PUNICODE_STRING String);
NTKERNELAPI NTSTATUS RtlInt64ToUnicodeString(_In_ ULONGLONG Value, _In_opt_ ULONG Base,
                                             _Inout_ PUNICODE_STRING String);
#define RtlIntPtrToUnicodeString(value, base, string) RtlInt64ToUnicodeString(value, base, string)
NTKERNELAPI NTSTATUS RtlUnicodeStringToInteger(_In_ PCUNICODE_STRING String, _In_opt_ ULONG Base, _Out_ PULONG Value);
/*
 * Converts the text as _wcstoi64 does: base 0 stands for 16 if the prefix is 0x, for 8 if it is 0, otherwise for 10.
 * Reads at most 64 characters. *EndPointer receives the address behind the digits. Without digits, the number is 0. If
 * the number has more than 64 bits, *Number is the nearest number, and the status is STATUS_INTEGER_OVERFLOW.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS RtlUnicodeStringToInt64(_In_ PCUNICODE_STRING String, _In_opt_ ULONG Base, _Out_ PLONG64 Number,
                                             _Out_opt_ PWSTR *EndPointer);
NTKERNELAPI NTSTATUS RtlCharToInteger(_In_z_ PCSZ String, _In_opt_ ULONG Base, _Out_ PULONG Value);
NTKERNELAPI ULONG RtlRandom(_Inout_ PULONG Seed);
NTKERNELAPI ULONG RtlRandomEx(_Inout_ PULONG Seed);

#define RtlUshortByteSwap(value) __builtin_bswap16(value)
#define RtlUlongByteSwap(value) __builtin_bswap32(value)
#define RtlUlonglongByteSwap(value) __builtin_bswap64(value)
#define RtlStoreUshort(address, value) __builtin_memcpy((address), &(USHORT){ (USHORT)(value) }, sizeof(USHORT))
#define RtlStoreUlong(address, value) __builtin_memcpy((address), &(ULONG){ (ULONG)(value) }, sizeof(ULONG))
#define RtlStoreUlonglong(address, value) \
    __builtin_memcpy((address), &(ULONGLONG){ (ULONGLONG)(value) }, sizeof(ULONGLONG))
#define RtlStoreUlongPtr(address, value) RtlStoreUlonglong(address, value)
#define RtlRetrieveUshort(destination, source) __builtin_memcpy((destination), (source), sizeof(USHORT))
#define RtlRetrieveUlong(destination, source) __builtin_memcpy((destination), (source), sizeof(ULONG))
#define RtlCheckBit(bitmap, position) ((((bitmap)->Buffer)[(position) / 32] >> ((position) % 32)) & 1)

FORCEINLINE LARGE_INTEGER RtlConvertLongToLargeInteger(_In_ LONG SignedInteger)
{
    LARGE_INTEGER result;

    result.QuadPart = SignedInteger;
    return result;
}

FORCEINLINE LARGE_INTEGER RtlConvertUlongToLargeInteger(_In_ ULONG UnsignedInteger)
{
    LARGE_INTEGER result;

    result.QuadPart = UnsignedInteger;
    return result;
}

FORCEINLINE LUID RtlConvertLongToLuid(_In_ LONG Val)
{
    LUID result = { (ULONG)Val, Val < 0 ? -1 : 0 };

    return result;
}

FORCEINLINE LUID RtlConvertUlongToLuid(_In_ ULONG Val)
{
    LUID result = { Val, 0 };

    return result;
}

#define RtlEqualLuid(a, b) ((a)->LowPart == (b)->LowPart && (a)->HighPart == (b)->HighPart)
#define RtlIsZeroLuid(a) ((a)->LowPart == 0 && (a)->HighPart == 0)

/* ---- Internet addresses ----------------------------------------------------------------------------------------- */

/*
 * Addresses and ports are in network byte order. If Strict is TRUE, an IPv4 address must be four decimal numbers.
 * Otherwise it is one to four numbers: decimal, octal (0) or hexadecimal (0x). The last number fills the remaining
 * bytes. *Terminator receives the end of the parsed text. The Ex forms parse the whole string. They accept a port, and
 * for IPv6 a scope. The functions return STATUS_INVALID_PARAMETER if the text is malformed. Any IRQL.
 */
struct in_addr;
struct in6_addr;
NTKERNELAPI NTSTATUS RtlIpv4StringToAddressA(_In_ PCSTR S, _In_ BOOLEAN Strict, _Out_ PCSTR *Terminator,
                                             _Out_ struct in_addr *Addr);
NTKERNELAPI NTSTATUS RtlIpv4StringToAddressW(_In_ PCWSTR S, _In_ BOOLEAN Strict, _Out_ PCWSTR *Terminator,
                                             _Out_ struct in_addr *Addr);
NTKERNELAPI NTSTATUS RtlIpv4StringToAddressExA(_In_ PCSTR AddressString, _In_ BOOLEAN Strict,
                                               _Out_ struct in_addr *Address, _Out_ PUSHORT Port);
NTKERNELAPI NTSTATUS RtlIpv4StringToAddressExW(_In_ PCWSTR AddressString, _In_ BOOLEAN Strict,
                                               _Out_ struct in_addr *Address, _Out_ PUSHORT Port);
NTKERNELAPI NTSTATUS RtlIpv6StringToAddressA(_In_ PCSTR S, _Out_ PCSTR *Terminator, _Out_ struct in6_addr *Addr);
NTKERNELAPI NTSTATUS RtlIpv6StringToAddressW(_In_ PCWSTR S, _Out_ PCWSTR *Terminator, _Out_ struct in6_addr *Addr);
NTKERNELAPI NTSTATUS RtlIpv6StringToAddressExA(_In_ PCSTR AddressString, _Out_ struct in6_addr *Address,
                                               _Out_ PULONG ScopeId, _Out_ PUSHORT Port);
NTKERNELAPI NTSTATUS RtlIpv6StringToAddressExW(_In_ PCWSTR AddressString, _Out_ struct in6_addr *Address,
                                               _Out_ PULONG ScopeId, _Out_ PUSHORT Port);

/* The buffer must have room for 16 (IPv4) or 46 (IPv6) characters. Returns the position of the terminator. */
NTKERNELAPI PSTR RtlIpv4AddressToStringA(_In_ const struct in_addr *Addr, _Out_ PSTR S);
NTKERNELAPI PWSTR RtlIpv4AddressToStringW(_In_ const struct in_addr *Addr, _Out_ PWSTR S);
NTKERNELAPI PSTR RtlIpv6AddressToStringA(_In_ const struct in6_addr *Addr, _Out_ PSTR S);
NTKERNELAPI PWSTR RtlIpv6AddressToStringW(_In_ const struct in6_addr *Addr, _Out_ PWSTR S);
/*
 * *AddressStringLength is the buffer's size in characters, and receives the size needed, including the terminator. A
 * port or scope of 0 is omitted.
 */
NTKERNELAPI NTSTATUS RtlIpv4AddressToStringExA(_In_ const struct in_addr *Address, _In_ USHORT Port,
                                               _Out_ PSTR AddressString, _Inout_ PULONG AddressStringLength);
NTKERNELAPI NTSTATUS RtlIpv4AddressToStringExW(_In_ const struct in_addr *Address, _In_ USHORT Port,
                                               _Out_ PWSTR AddressString, _Inout_ PULONG AddressStringLength);
NTKERNELAPI NTSTATUS RtlIpv6AddressToStringExA(_In_ const struct in6_addr *Address, _In_ ULONG ScopeId,
                                               _In_ USHORT Port, _Out_ PSTR AddressString,
                                               _Inout_ PULONG AddressStringLength);
NTKERNELAPI NTSTATUS RtlIpv6AddressToStringExW(_In_ const struct in6_addr *Address, _In_ ULONG ScopeId,
                                               _In_ USHORT Port, _Out_ PWSTR AddressString,
                                               _Inout_ PULONG AddressStringLength);

#ifdef UNICODE
#define RtlIpv4StringToAddress RtlIpv4StringToAddressW
#define RtlIpv4StringToAddressEx RtlIpv4StringToAddressExW
#define RtlIpv6StringToAddress RtlIpv6StringToAddressW
#define RtlIpv6StringToAddressEx RtlIpv6StringToAddressExW
#define RtlIpv4AddressToString RtlIpv4AddressToStringW
#define RtlIpv4AddressToStringEx RtlIpv4AddressToStringExW
#define RtlIpv6AddressToString RtlIpv6AddressToStringW
#define RtlIpv6AddressToStringEx RtlIpv6AddressToStringExW
#else
#define RtlIpv4StringToAddress RtlIpv4StringToAddressA
#define RtlIpv4StringToAddressEx RtlIpv4StringToAddressExA
#define RtlIpv6StringToAddress RtlIpv6StringToAddressA
#define RtlIpv6StringToAddressEx RtlIpv6StringToAddressExA
#define RtlIpv4AddressToString RtlIpv4AddressToStringA
#define RtlIpv4AddressToStringEx RtlIpv4AddressToStringExA
#define RtlIpv6AddressToString RtlIpv6AddressToStringA
#define RtlIpv6AddressToStringEx RtlIpv6AddressToStringExA
#endif

/* ---- GUIDs ------------------------------------------------------------------------------------------------------ */

/* The form is {01234567-89AB-CDEF-0123-456789ABCDEF}. RtlFreeUnicodeString frees the string. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS RtlStringFromGUID(_In_ REFGUID Guid, _Out_ PUNICODE_STRING GuidString);
NTKERNELAPI NTSTATUS RtlGUIDFromString(_In_ PCUNICODE_STRING GuidString, _Out_ GUID *Guid);
NTKERNELAPI NTSTATUS ExUuidCreate(_Out_ GUID *Uuid);

/* ---- Time ------------------------------------------------------------------------------------------------------- */

typedef struct _TIME_FIELDS {
    CSHORT Year; /* 1601 and later */
    CSHORT Month;
    CSHORT Day;
    CSHORT Hour;
    CSHORT Minute;
    CSHORT Second;
    CSHORT Milliseconds;
    CSHORT Weekday; /* 0: Sunday */
} TIME_FIELDS, *PTIME_FIELDS;

NTKERNELAPI VOID RtlTimeToTimeFields(_In_ PLARGE_INTEGER Time, _Out_ PTIME_FIELDS TimeFields);
NTKERNELAPI BOOLEAN RtlTimeFieldsToTime(_In_ PTIME_FIELDS TimeFields, _Out_ PLARGE_INTEGER Time);
NTKERNELAPI BOOLEAN RtlTimeToSecondsSince1970(_In_ PLARGE_INTEGER Time, _Out_ PULONG ElapsedSeconds);
NTKERNELAPI VOID RtlSecondsSince1970ToTime(_In_ ULONG ElapsedSeconds, _Out_ PLARGE_INTEGER Time);

/* ---- Bitmaps ---------------------------------------------------------------------------------------------------- */

/*
 * Bit n is bit n % 32 of Buffer[n / 32]. A search without a result returns 0xffffffff. Any IRQL if the memory is
 * resident.
 */
typedef struct _RTL_BITMAP {
    ULONG SizeOfBitMap;
    PULONG Buffer;
} RTL_BITMAP, *PRTL_BITMAP;

NTKERNELAPI VOID RtlInitializeBitMap(_Out_ PRTL_BITMAP BitMapHeader, _In_ PULONG BitMapBuffer,
                                     _In_ ULONG SizeOfBitMap);
NTKERNELAPI VOID RtlClearAllBits(_In_ PRTL_BITMAP BitMapHeader);
NTKERNELAPI VOID RtlSetAllBits(_In_ PRTL_BITMAP BitMapHeader);
NTKERNELAPI VOID RtlSetBit(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG BitNumber);
NTKERNELAPI VOID RtlClearBit(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG BitNumber);
NTKERNELAPI BOOLEAN RtlTestBit(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG BitNumber);
NTKERNELAPI VOID RtlSetBits(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG StartingIndex, _In_ ULONG NumberToSet);
NTKERNELAPI VOID RtlClearBits(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG StartingIndex, _In_ ULONG NumberToClear);
NTKERNELAPI BOOLEAN RtlAreBitsSet(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG StartingIndex, _In_ ULONG Length);
NTKERNELAPI BOOLEAN RtlAreBitsClear(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG StartingIndex, _In_ ULONG Length);
NTKERNELAPI ULONG RtlNumberOfSetBits(_In_ PRTL_BITMAP BitMapHeader);
NTKERNELAPI ULONG RtlNumberOfClearBits(_In_ PRTL_BITMAP BitMapHeader);
NTKERNELAPI ULONG RtlFindSetBits(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG NumberToFind, _In_ ULONG HintIndex);
NTKERNELAPI ULONG RtlFindClearBits(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG NumberToFind, _In_ ULONG HintIndex);
NTKERNELAPI ULONG RtlFindSetBitsAndClear(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG NumberToFind, _In_ ULONG HintIndex);
NTKERNELAPI ULONG RtlFindClearBitsAndSet(_In_ PRTL_BITMAP BitMapHeader, _In_ ULONG NumberToFind, _In_ ULONG HintIndex);
/* Both routines return the number of the bit, or -1 if Set is 0. */
NTKERNELAPI CCHAR RtlFindMostSignificantBit(_In_ ULONGLONG Set);
NTKERNELAPI CCHAR RtlFindLeastSignificantBit(_In_ ULONGLONG Set);
#define RtlNumberOfSetBitsUlongPtr(target) ((ULONG)__builtin_popcountll(target))

/* ---- Version ---------------------------------------------------------------------------------------------------- */

/* The version routines return the version of Windows 10, 10.0.19041. PASSIVE_LEVEL. */
typedef struct _OSVERSIONINFOW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
} OSVERSIONINFOW, *POSVERSIONINFOW, *LPOSVERSIONINFOW, RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;

typedef struct _OSVERSIONINFOEXW {
    ULONG dwOSVersionInfoSize;
    ULONG dwMajorVersion;
    ULONG dwMinorVersion;
    ULONG dwBuildNumber;
    ULONG dwPlatformId;
    WCHAR szCSDVersion[128];
    USHORT wServicePackMajor;
    USHORT wServicePackMinor;
    USHORT wSuiteMask;
    UCHAR wProductType;
    UCHAR wReserved;
} OSVERSIONINFOEXW, *POSVERSIONINFOEXW, *LPOSVERSIONINFOEXW, RTL_OSVERSIONINFOEXW, *PRTL_OSVERSIONINFOEXW;

#define VER_EQUAL 1
#define VER_GREATER 2
#define VER_GREATER_EQUAL 3
#define VER_LESS 4
#define VER_LESS_EQUAL 5
#define VER_AND 6
#define VER_OR 7
#define VER_MINORVERSION 0x0000001
#define VER_MAJORVERSION 0x0000002
#define VER_BUILDNUMBER 0x0000004
#define VER_PLATFORMID 0x0000008
#define VER_SERVICEPACKMINOR 0x0000010
#define VER_SERVICEPACKMAJOR 0x0000020
#define VER_SUITENAME 0x0000040
#define VER_PRODUCT_TYPE 0x0000080
#define VER_NT_WORKSTATION 1
#define VER_NT_DOMAIN_CONTROLLER 2
#define VER_NT_SERVER 3
#define VER_PLATFORM_WIN32_NT 2

NTKERNELAPI NTSTATUS RtlGetVersion(_Out_ PRTL_OSVERSIONINFOW lpVersionInformation);
NTKERNELAPI NTSTATUS RtlVerifyVersionInfo(_In_ PRTL_OSVERSIONINFOEXW VersionInfo, _In_ ULONG TypeMask,
                                          _In_ ULONGLONG ConditionMask);
NTKERNELAPI ULONGLONG VerSetConditionMask(_In_ ULONGLONG ConditionMask, _In_ ULONG TypeMask, _In_ UCHAR Condition);
#define VER_SET_CONDITION(mask, type, condition) ((mask) = VerSetConditionMask((mask), (type), (condition)))
NTKERNELAPI BOOLEAN RtlIsNtDdiVersionAvailable(_In_ ULONG Version);

EXTERN_C_END

#endif
