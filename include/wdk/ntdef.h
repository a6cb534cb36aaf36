/* SPDX-License-Identifier: MIT */
/*
 * The base types of Windows' kernel, with Windows' sizes: LONG has 32 bits, WCHAR has 16. ndk-cc and the CMake function
 * compile drivers with -fshort-wchar. One difference remains: plain `long` has 64 bits, as in the host's compiler.
 */
#ifndef ONDK_WDK_NTDEF_H
#define ONDK_WDK_NTDEF_H

#ifdef __MINGW32__
#include "mingw.h"
#else

#ifdef ONDK_NDK_NT_H
#error "ndk/nt.h came first: a driver, and whatever is compiled with include/wdk, includes wdm.h or ntdef.h before it"
#endif

/* The version of Windows for which the driver is compiled, as in the kits' sdkddkver.h: Windows 10. */
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#ifndef WINVER
#define WINVER _WIN32_WINNT
#endif

/* clang must not warn of MSVC's extensions, which drivers use. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmicrosoft"
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "guiddef.h"
#include "sal.h"

#ifndef __cplusplus
_Static_assert(sizeof(void *) == 8, "drivers run here as 64-bit code");
_Static_assert(sizeof(L'x') == 2, "compile with -fshort-wchar: WCHAR has 16 bits");
#endif

/* ---- Built-in names of MSVC -------------------------------------------------------------------------------------- */

#ifdef __cplusplus
#define EXTERN_C extern "C"
#define EXTERN_C_START extern "C" {
#define EXTERN_C_END }
#else
#define EXTERN_C extern
#define EXTERN_C_START
#define EXTERN_C_END
#endif

/* clang predefines some of the names that are defined below. Its definitions have no effect or do not fit on Linux. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#undef __declspec
#undef __cdecl
#undef _cdecl
#undef __stdcall
#undef _stdcall
#undef __fastcall
#undef __thiscall
#undef __int64
#endif
#define __int8 char
#define __int16 short
#define __int32 int
#define __int64 long
#define __cdecl
#define _cdecl
#define __stdcall
#define _stdcall
#define __fastcall
#define __vectorcall
#define __thiscall
#define __unaligned
#define __ptr64
#define __ptr32
#define __sptr
#define __uptr
#define __w64
#define __CRTDECL
#define __pragma(directive)
#define __forceinline inline __attribute__((always_inline))
/*
 * Each file emits definitions of its __inline functions, for calls that are not inlined. Drivers are linked with
 * -z muldefs, because several files may emit the same definition.
 */
#ifdef __cplusplus
#define __inline inline
#else
#define __inline inline __attribute__((gnu_inline))
#endif
#define _inline __inline
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#define FORCEINLINE __forceinline
#define CFORCEINLINE FORCEINLINE

/* Implements __declspec(align(16)), __declspec(noreturn) and so on. */
#define __declspec(specifier) ONDK_DECLSPEC_##specifier
#define _declspec(specifier) ONDK_DECLSPEC_##specifier
#define ONDK_DECLSPEC_align(octets) __attribute__((aligned(octets)))
#define ONDK_DECLSPEC_allocate(section)
#define ONDK_DECLSPEC_allocator
#define ONDK_DECLSPEC_code_seg(section)
#define ONDK_DECLSPEC_deprecated
#define ONDK_DECLSPEC_dllexport __attribute__((visibility("default")))
#define ONDK_DECLSPEC_dllimport
#define ONDK_DECLSPEC_empty_bases
#define ONDK_DECLSPEC_guard(what)
#define ONDK_DECLSPEC_naked __attribute__((naked))
#define ONDK_DECLSPEC_noalias
#define ONDK_DECLSPEC_noinline __attribute__((noinline))
#define ONDK_DECLSPEC_noreturn __attribute__((noreturn))
#define ONDK_DECLSPEC_nothrow
#define ONDK_DECLSPEC_novtable
#define ONDK_DECLSPEC_restrict
#define ONDK_DECLSPEC_safebuffers
#define ONDK_DECLSPEC_selectany __attribute__((weak))
#define ONDK_DECLSPEC_thread __thread
#define ONDK_DECLSPEC_uuid(text)
#define ONDK_DECLSPEC_

#define DECLSPEC_ALIGN(octets) __attribute__((aligned(octets)))
#define DECLSPEC_CACHEALIGN DECLSPEC_ALIGN(64)
#define SYSTEM_CACHE_ALIGNMENT_SIZE 64
#define MEMORY_ALLOCATION_ALIGNMENT 16
#define DECLSPEC_NORETURN __attribute__((noreturn))
#define DECLSPEC_NOINLINE __attribute__((noinline))
#define DECLSPEC_NOTHROW
#define DECLSPEC_RESTRICT
#define DECLSPEC_IMPORT
#define DECLSPEC_EXPORT __attribute__((visibility("default")))
#define DECLSPEC_DEPRECATED
#define DECLSPEC_DEPRECATED_DDK
#define DECLSPEC_DEPRECATED_DDK_WINXP
#define DECLSPEC_SELECTANY __attribute__((weak))
#define DECLSPEC_UUID(text)
#define DECLSPEC_NOVTABLE
#define DECLSPEC_ADDRSAFE
#define NTKERNELAPI __attribute__((visibility("default")))
#define NTSYSAPI NTKERNELAPI
#define NTHALAPI NTKERNELAPI
#define NTSYSCALLAPI NTKERNELAPI
#define NTAPI
#define FASTCALL
#define STDAPICALLTYPE
#define NTAPI_INLINE
#define UNALIGNED
#define UNALIGNED64
#define RESTRICTED_POINTER
#define POINTER_64
#define POINTER_32
#define FIRMWARE_PTR
#define IN
#define OUT
#define OPTIONAL
#define NOTHING
#define CRITICAL
#define VOID void
#define CONST const
#define TRUE 1
#define FALSE 0
#ifndef NULL
#define NULL ((void *)0)
#endif
#ifdef __cplusplus
#define C_ASSERT(expression) static_assert(expression, #expression)
#else
#define C_ASSERT(expression) _Static_assert(expression, #expression)
#ifndef static_assert
#define static_assert _Static_assert
#endif
#endif
#define STATIC_ASSERT(expression) C_ASSERT(expression)
/* Code is never pageable here, so the pragmas alloc_text and code_seg have no effect. */
#define ALLOC_PRAGMA 1
#define ALLOC_DATA_PRAGMA 1
#define ANYSIZE_ARRAY 1
#define MAX_PATH 260

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

typedef void *PVOID, *LPVOID, **PPVOID;
typedef const void *PCVOID, *LPCVOID;
typedef char CHAR, *PCHAR, *LPSTR, *PSTR, *PNZCH, *PCH, CCHAR, *PCCHAR;
typedef const char *PCSTR, *LPCSTR, *PCNZCH, *PCSZ, *PCCH;
typedef signed char INT8, *PINT8, SCHAR, *PSCHAR;
typedef unsigned char UCHAR, *PUCHAR, BYTE, *PBYTE, *LPBYTE, UINT8, *PUINT8;
typedef UCHAR BOOLEAN, *PBOOLEAN;
typedef int16_t SHORT, *PSHORT, CSHORT, INT16, *PINT16;
typedef uint16_t USHORT, *PUSHORT, WORD, *PWORD, UINT16, *PUINT16, CUSHORT;
typedef int32_t LONG, *PLONG, INT, *PINT, INT32, *PINT32, LONG32, *PLONG32, BOOL, *PBOOL;
typedef uint32_t ULONG, *PULONG, UINT, *PUINT, DWORD, *PDWORD, *LPDWORD, UINT32, *PUINT32, ULONG32, *PULONG32, DWORD32;
typedef int64_t LONGLONG, *PLONGLONG, LONG64, *PLONG64, INT64, *PINT64;
typedef uint64_t ULONGLONG, *PULONGLONG, ULONG64, *PULONG64, UINT64, *PUINT64, DWORD64, *PDWORD64, DWORDLONG;
typedef intptr_t LONG_PTR, *PLONG_PTR, INT_PTR, *PINT_PTR, SSIZE_T, *PSSIZE_T;
typedef uintptr_t ULONG_PTR, *PULONG_PTR, UINT_PTR, *PUINT_PTR, DWORD_PTR, *PDWORD_PTR;
typedef size_t SIZE_T, *PSIZE_T;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE, *PDOUBLE;

typedef wchar_t WCHAR, *PWCHAR, *PWCH, *LPWSTR, *PWSTR, *PZPWSTR, *NWPSTR, *PZZWSTR, *PNZWCH;
typedef const wchar_t *PCWSTR, *LPCWSTR, *PCWCH, *PCNZWCH, *PCZZWSTR;

typedef void *HANDLE, **PHANDLE;
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;
typedef LONG KPRIORITY;
typedef UCHAR KIRQL, *PKIRQL;
typedef CCHAR KPROCESSOR_MODE;
typedef ULONG LOGICAL, *PLOGICAL;
typedef ULONG ACCESS_MASK, *PACCESS_MASK;
typedef ULONG LCID;
typedef ULONG IF_INDEX, *PIF_INDEX, NET_IFINDEX, *PNET_IFINDEX;
typedef LONG NTSTATUS, *PNTSTATUS;
typedef LONG HRESULT;
typedef LONG LSTATUS;
typedef ULONG CLONG, *PCLONG;
typedef void *PSECURITY_DESCRIPTOR;
typedef void *PSID;
typedef LONGLONG USN;
typedef ULONG DEVICE_TYPE;
typedef char TCHAR, *PTCHAR, *PTSTR, *LPTSTR;
typedef const char *PCTSTR, *LPCTSTR;
typedef ULONG_PTR WPARAM;
typedef LONG_PTR LPARAM;

#define MINCHAR 0x80
#define MAXCHAR 0x7f
#define MINSHORT 0x8000
#define MAXSHORT 0x7fff
#define MINLONG ((LONG)0x80000000)
#define MAXLONG 0x7fffffff
/* Windows' limits of `long`, for drivers that do not include limits.h, which has the host's. */
#ifndef LONG_MAX
#define LONG_MAX 2147483647
#define LONG_MIN (-2147483647 - 1)
#define ULONG_MAX 0xffffffffu
#endif
#define MAXUCHAR 0xff
#define MAXBYTE 0xff
#define MAXWORD 0xffff
#define MAXINT8 0x7f
#define MAXUINT8 0xff
#define MAXINT16 0x7fff
#define MAXUINT16 0xffff
#define MAXINT 0x7fffffff
#define MAXUINT 0xffffffffu
#define MAXINT32 0x7fffffff
#define MAXUINT32 0xffffffffu
#define MAXINT64 INT64_MAX
#define MAXUINT64 UINT64_MAX
#define MAXLONG64 INT64_MAX
#define MAXULONG64 UINT64_MAX
#define MAXULONG32 0xffffffffu
#define MAXLONG_PTR INTPTR_MAX
#define MAXINT_PTR INTPTR_MAX
#define MAXUINT_PTR UINTPTR_MAX
#define MAXSSIZE_T INTPTR_MAX
#define MINLONGLONG INT64_MIN
#define MININT ((INT)0x80000000)
#define MAXUSHORT 0xffff
#define MAXULONG 0xffffffffu
#define MAXDWORD 0xffffffffu
#define MAXLONGLONG 0x7fffffffffffffffLL
#define MAXULONGLONG 0xffffffffffffffffULL
#define MAXULONG_PTR UINTPTR_MAX
#define MAXSIZE_T SIZE_MAX

#define NT_SUCCESS(status) ((NTSTATUS)(status) >= 0)
#define NT_INFORMATION(status) ((ULONG)(status) >> 30 == 1)
#define NT_WARNING(status) ((ULONG)(status) >> 30 == 2)
#define NT_ERROR(status) ((ULONG)(status) >> 30 == 3)

typedef union _LARGE_INTEGER {
    __extension__ struct {
        ULONG LowPart;
        LONG HighPart;
    };
    struct {
        ULONG LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    __extension__ struct {
        ULONG LowPart;
        ULONG HighPart;
    };
    struct {
        ULONG LowPart;
        ULONG HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;

typedef struct _LUID {
    ULONG LowPart;
    LONG HighPart;
} LUID, *PLUID;

/* ---- Strings, lists, GUIDs, objects ------------------------------------------------------------------------------ */

/* Lengths are in bytes. Only MaximumLength includes the terminator, if there is one. */
typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;

typedef struct _STRING {
    USHORT Length;
    USHORT MaximumLength;
    PCHAR Buffer;
} STRING, *PSTRING, ANSI_STRING, *PANSI_STRING, OEM_STRING, *POEM_STRING, UTF8_STRING, *PUTF8_STRING;
typedef const STRING *PCSTRING, *PCANSI_STRING, *PCOEM_STRING;

#define UNICODE_NULL ((WCHAR)0)
#define UNICODE_STRING_MAX_BYTES ((USHORT)65534)
#define UNICODE_STRING_MAX_CHARS 32767
#define ANSI_NULL ((CHAR)0)
#ifdef __cplusplus
extern "C++" {
/* Returns the literal as the pointer that a string's Buffer is. */
template <typename Character> constexpr Character *ondk_string_buffer(const Character *literal)
{
    return const_cast<Character *>(literal);
}
}
#define RTL_CONSTANT_STRING(literal) \
    { sizeof(literal) - sizeof((literal)[0]), sizeof(literal), ondk_string_buffer(literal) }
#else
#define RTL_CONSTANT_STRING(literal) \
    { sizeof(literal) - sizeof((literal)[0]), sizeof(literal), (PVOID)(uintptr_t)(literal) }
#endif
#define DECLARE_CONST_UNICODE_STRING(name, literal)                                          \
    static const WCHAR name##_buffer[] = literal;                                            \
    static const UNICODE_STRING name = { sizeof(literal) - sizeof(WCHAR), sizeof(literal),   \
                                         (PWSTR)(uintptr_t)name##_buffer }
#define DECLARE_UNICODE_STRING_SIZE(name, characters) \
    WCHAR name##_buffer[characters];                  \
    UNICODE_STRING name = { 0, (characters) * sizeof(WCHAR), name##_buffer }
#define DECLARE_GLOBAL_CONST_UNICODE_STRING(name, literal) \
    const UNICODE_STRING name = { sizeof(literal) - sizeof(WCHAR), sizeof(literal), (PWSTR)(uintptr_t)(literal) }

typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY *Flink;
    struct _LIST_ENTRY *Blink;
} LIST_ENTRY, *PLIST_ENTRY;

typedef struct _SINGLE_LIST_ENTRY {
    struct _SINGLE_LIST_ENTRY *Next;
} SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory;
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;

#define OBJ_INHERIT 0x00000002L
#define OBJ_PERMANENT 0x00000010L
#define OBJ_EXCLUSIVE 0x00000020L
#define OBJ_CASE_INSENSITIVE 0x00000040L
#define OBJ_OPENIF 0x00000080L
#define OBJ_OPENLINK 0x00000100L
#define OBJ_KERNEL_HANDLE 0x00000200L
#define OBJ_FORCE_ACCESS_CHECK 0x00000400L
#define InitializeObjectAttributes(p, name, attributes, root, descriptor) \
    do {                                                                  \
        (p)->Length = sizeof(OBJECT_ATTRIBUTES);                          \
        (p)->RootDirectory = (root);                                      \
        (p)->Attributes = (attributes);                                   \
        (p)->ObjectName = (name);                                         \
        (p)->SecurityDescriptor = (descriptor);                           \
        (p)->SecurityQualityOfService = NULL;                             \
    } while (0)

typedef struct _PROCESSOR_NUMBER {
    USHORT Group;
    UCHAR Number;
    UCHAR Reserved;
} PROCESSOR_NUMBER, *PPROCESSOR_NUMBER;

/* A set of processors: bit n of Mask is the n-th processor of the group. */
typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;
    USHORT Group;
    USHORT Reserved[3];
} GROUP_AFFINITY, *PGROUP_AFFINITY;

/* ---- Expressions ------------------------------------------------------------------------------------------------- */

#define DEFAULT_UNREACHABLE default: __builtin_unreachable()
#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#define DBG_UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#define DBG_UNREFERENCED_LOCAL_VARIABLE(variable) ((void)(variable))
#define CONTAINING_RECORD(address, type, field) ((type *)(void *)((PCHAR)(address) - offsetof(type, field)))
#ifdef ONDK_VARIABLE_FIELD_OFFSET
/* The field has an index that is no constant, which offsetof refuses in C++. ndk-cc defines this only if it must. */
#define FIELD_OFFSET(type, field) ((LONG)(LONG_PTR) & (((type *)0)->field))
#define UFIELD_OFFSET(type, field) ((ULONG)(LONG_PTR) & (((type *)0)->field))
#else
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define UFIELD_OFFSET(type, field) ((ULONG)offsetof(type, field))
#endif
#define RTL_FIELD_SIZE(type, field) (sizeof(((type *)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define RTL_CONTAINS_FIELD(structure, size, field) \
    ((PCHAR)(&(structure)->field) + sizeof((structure)->field) <= (PCHAR)(structure) + (size))
#define RTL_NUMBER_OF(array) (sizeof(array) / sizeof((array)[0]))
#define RTL_NUMBER_OF_FIELD(type, field) (RTL_NUMBER_OF(((type *)0)->field))
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)
#define _countof(array) RTL_NUMBER_OF(array)
#define ARGUMENT_PRESENT(argument) ((argument) != NULL)
#define TYPE_ALIGNMENT(type) __alignof__(type)
#define PROBE_ALIGNMENT(type) TYPE_ALIGNMENT(type)
#define LOWORD(value) ((WORD)((ULONG_PTR)(value)))
#define HIWORD(value) ((WORD)((ULONG_PTR)(value) >> 16))
#define LOBYTE(value) ((BYTE)((ULONG_PTR)(value)))
#define HIBYTE(value) ((BYTE)((ULONG_PTR)(value) >> 8))
#define PtrToUlong(pointer) ((ULONG)(ULONG_PTR)(pointer))
#define PtrToLong(pointer) ((LONG)(LONG_PTR)(pointer))
#define PtrToUint(pointer) ((UINT)(ULONG_PTR)(pointer))
#define ULongToPtr(value) ((PVOID)(ULONG_PTR)(ULONG)(value))
#define LongToPtr(value) ((PVOID)(LONG_PTR)(LONG)(value))
#define UlongToPtr(value) ULongToPtr(value)
#define UlongToHandle(value) ((HANDLE)ULongToPtr(value))
#define ULongToHandle(value) ((HANDLE)ULongToPtr(value))
#define HandleToULong(handle) ((ULONG)(ULONG_PTR)(handle))
#define HandleToUlong(handle) HandleToULong(handle)
#define HandleToLong(handle) ((LONG)(LONG_PTR)(handle))
#define LongToHandle(value) ((HANDLE)LongToPtr(value))
#define UIntToPtr(value) ULongToPtr(value)
#define IntToPtr(value) LongToPtr(value)
#define PtrToInt(pointer) ((INT)(LONG_PTR)(pointer))
#define MAKEWORD(low, high) ((WORD)((BYTE)(low) | (WORD)((BYTE)(high) << 8)))
#define MAKELONG(low, high) ((LONG)((WORD)(low) | (DWORD)(WORD)(high) << 16))
#define Int32x32To64(a, b) ((LONGLONG)(LONG)(a) * (LONGLONG)(LONG)(b))
#define UInt32x32To64(a, b) ((ULONGLONG)(ULONG)(a) * (ULONGLONG)(ULONG)(b))
#define Int64ShllMod32(value, bits) ((ULONGLONG)(value) << (bits))
#define Int64ShraMod32(value, bits) ((LONGLONG)(value) >> (bits))
#define Int64ShrlMod32(value, bits) ((ULONGLONG)(value) >> (bits))
#define ALIGN_DOWN_BY(length, alignment) ((ULONG_PTR)(length) & ~((ULONG_PTR)(alignment) - 1))
#define ALIGN_UP_BY(length, alignment) ALIGN_DOWN_BY((ULONG_PTR)(length) + (alignment) - 1, alignment)
#define ALIGN_DOWN(length, type) ALIGN_DOWN_BY(length, sizeof(type))
#define ALIGN_UP(length, type) ALIGN_UP_BY(length, sizeof(type))
#define ALIGN_DOWN_POINTER_BY(address, alignment) ((PVOID)ALIGN_DOWN_BY(address, alignment))
#define ALIGN_UP_POINTER_BY(address, alignment) ((PVOID)ALIGN_UP_BY(address, alignment))
#define ALIGN_DOWN_POINTER(address, type) ALIGN_DOWN_POINTER_BY(address, sizeof(type))
#define ALIGN_UP_POINTER(address, type) ALIGN_UP_POINTER_BY(address, sizeof(type))
#define DEFINE_ENUM_FLAG_OPERATORS(type)
#define FlagOn(flags, mask) ((flags) & (mask))
#define BooleanFlagOn(flags, mask) ((BOOLEAN)(((flags) & (mask)) != 0))
#define SetFlag(flags, mask) ((flags) |= (mask))
#define ClearFlag(flags, mask) ((flags) &= ~(mask))
#define __TEXT(quote) quote
#define TEXT(quote) __TEXT(quote)
#ifndef min
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef max
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif

#endif
#endif
