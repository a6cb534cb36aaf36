/* SPDX-License-Identifier: MIT */
/*
 * The NT types that the NDK contract uses: fixed-width integers, status values, the memory descriptor list and the
 * annotations. Names, values and layouts are those of 64-bit Windows. Macros that other headers may also define are
 * guarded, so the headers may be included in any order.
 */
#ifndef ONDK_NDK_NT_H
#define ONDK_NDK_NT_H

#ifdef ONDK_WDK_NTDEF_H
/* In a build of a driver, wdm.h and ws2def.h of include/wdk have already declared everything below. */
#else

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Annotations for readers and for Microsoft's analyser; they expand to nothing in this build. */
#ifndef _In_
#define _In_
#endif
#ifndef _In_opt_
#define _In_opt_
#endif
#ifndef _In_reads_
#define _In_reads_(count)
#endif
#ifndef _In_reads_bytes_
#define _In_reads_bytes_(size)
#endif
#ifndef _In_reads_bytes_opt_
#define _In_reads_bytes_opt_(size)
#endif
#ifndef _Inout_
#define _Inout_
#endif
#ifndef _Out_
#define _Out_
#endif
#ifndef _Out_opt_
#define _Out_opt_
#endif
#ifndef _Out_writes_to_
#define _Out_writes_to_(capacity, count)
#endif
#ifndef _Out_writes_bytes_to_opt_
#define _Out_writes_bytes_to_opt_(capacity, size)
#endif
#ifndef _Outptr_
#define _Outptr_
#endif

#ifndef VOID
#define VOID void
#endif
#ifndef CONST
#define CONST const
#endif
#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

/* LONG and ULONG have 32 bits, as on Windows. The host's long may have 64 bits. */
typedef void *PVOID;
typedef uint8_t UCHAR;
typedef UCHAR BOOLEAN;
typedef int16_t CSHORT;
typedef uint16_t USHORT;
typedef int32_t LONG;
typedef uint32_t ULONG;
typedef ULONG *PULONG;
typedef int64_t LONGLONG;
typedef uint64_t ULONGLONG;
typedef uint32_t UINT32;
typedef uint64_t UINT64;
typedef size_t SIZE_T;
typedef uintptr_t ULONG_PTR;
typedef ULONG IF_INDEX;

#ifndef MAXULONG
#define MAXULONG 0xffffffffu
#endif
#ifndef PAGE_SHIFT
#define PAGE_SHIFT 12
#endif
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif

/*
 * The host's sockaddr, with the host's address family numbers: AF_INET6 is 10 on Linux and 23 on Windows.
 */
typedef struct sockaddr SOCKADDR;
typedef SOCKADDR *PSOCKADDR;

#ifndef GUID_DEFINED
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
#endif

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
} LARGE_INTEGER;

typedef LARGE_INTEGER PHYSICAL_ADDRESS;

typedef ULONG_PTR KAFFINITY;

/* A set of processors: bit n of Mask is the n-th processor of the group. */
typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;
    USHORT Group;
    USHORT Reserved[3];
} GROUP_AFFINITY;

/*
 * Memory descriptor list: describes the ByteCount bytes at StartVa + ByteOffset. StartVa is the start of the page that
 * has the first byte. Next links the descriptors of a chain. On Windows the page frame numbers follow the structure,
 * and Size is the size of the structure and the numbers in bytes. If MDL_MAPPED_TO_SYSTEM_VA or
 * MDL_SOURCE_IS_NONPAGED_POOL is set, MappedSystemVa is another address of the same memory.
 */
struct _EPROCESS;

typedef struct _MDL {
    struct _MDL *Next;
    CSHORT Size;
    CSHORT MdlFlags;
    struct _EPROCESS *Process;
    PVOID MappedSystemVa;
    PVOID StartVa;
    ULONG ByteCount;
    ULONG ByteOffset;
} MDL, *PMDL;

#ifndef MDL_MAPPED_TO_SYSTEM_VA
#define MDL_MAPPED_TO_SYSTEM_VA 0x0001
#endif
#ifndef MDL_PAGES_LOCKED
#define MDL_PAGES_LOCKED 0x0002
#endif
#ifndef MDL_SOURCE_IS_NONPAGED_POOL
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#endif

/* Warnings and errors are negative. NT_SUCCESS accepts every other status, including STATUS_PENDING. */
typedef LONG NTSTATUS;

#ifndef NT_SUCCESS
#define NT_SUCCESS(status) ((NTSTATUS)(status) >= 0)
#endif

#define STATUS_SUCCESS                ((NTSTATUS)0x00000000)
#define STATUS_TIMEOUT                ((NTSTATUS)0x00000102)
#define STATUS_PENDING                ((NTSTATUS)0x00000103)
#define STATUS_BUFFER_OVERFLOW        ((NTSTATUS)0x80000005)
#define STATUS_DEVICE_BUSY            ((NTSTATUS)0x80000011)
#define STATUS_NO_MORE_ENTRIES        ((NTSTATUS)0x8000001A)
#define STATUS_UNSUCCESSFUL           ((NTSTATUS)0xC0000001)
#define STATUS_ACCESS_VIOLATION       ((NTSTATUS)0xC0000005)
#define STATUS_INVALID_HANDLE         ((NTSTATUS)0xC0000008)
#define STATUS_INVALID_PARAMETER      ((NTSTATUS)0xC000000D)
#define STATUS_INVALID_DEVICE_REQUEST ((NTSTATUS)0xC0000010)
#define STATUS_NO_MEMORY              ((NTSTATUS)0xC0000017)
#define STATUS_BUFFER_TOO_SMALL       ((NTSTATUS)0xC0000023)
#define STATUS_INVALID_PARAMETER_MIX  ((NTSTATUS)0xC0000030)
#define STATUS_DATA_OVERRUN           ((NTSTATUS)0xC000003C)
#define STATUS_SHARING_VIOLATION      ((NTSTATUS)0xC0000043)
#define STATUS_INSUFFICIENT_RESOURCES ((NTSTATUS)0xC000009A)
#define STATUS_DEVICE_NOT_READY       ((NTSTATUS)0xC00000A3)
#define STATUS_IO_TIMEOUT             ((NTSTATUS)0xC00000B5)
#define STATUS_NOT_SUPPORTED          ((NTSTATUS)0xC00000BB)
#define STATUS_INTERNAL_ERROR         ((NTSTATUS)0xC00000E5)
#define STATUS_CANCELLED              ((NTSTATUS)0xC0000120)
#define STATUS_REMOTE_RESOURCES       ((NTSTATUS)0xC000013D)
#define STATUS_INVALID_ADDRESS        ((NTSTATUS)0xC0000141)
#define STATUS_INVALID_DEVICE_STATE   ((NTSTATUS)0xC0000184)
#define STATUS_INVALID_BUFFER_SIZE    ((NTSTATUS)0xC0000206)
#define STATUS_TOO_MANY_ADDRESSES     ((NTSTATUS)0xC0000209)
#define STATUS_ADDRESS_ALREADY_EXISTS ((NTSTATUS)0xC000020A)
#define STATUS_CONNECTION_REFUSED     ((NTSTATUS)0xC0000236)
#define STATUS_CONNECTION_INVALID     ((NTSTATUS)0xC000023A)
#define STATUS_CONNECTION_ACTIVE      ((NTSTATUS)0xC000023B)
#define STATUS_NETWORK_UNREACHABLE    ((NTSTATUS)0xC000023C)
#define STATUS_HOST_UNREACHABLE       ((NTSTATUS)0xC000023D)
#define STATUS_CONNECTION_ABORTED     ((NTSTATUS)0xC0000241)
#define STATUS_DEVICE_REMOVED         ((NTSTATUS)0xC00002B6)
#define STATUS_IMPLEMENTATION_LIMIT   ((NTSTATUS)0xC000042B)

#define NDIS_STATUS_BAD_VERSION       ((NTSTATUS)0xC0010004)
#define NDIS_STATUS_ADAPTER_NOT_READY ((NTSTATUS)0xC0010011)

#endif

static_assert(sizeof(PVOID) == 8, "the layouts are those of a 64-bit system");
static_assert(sizeof(LARGE_INTEGER) == 8, "LARGE_INTEGER");
static_assert(sizeof(GUID) == 16, "GUID");
static_assert(sizeof(GROUP_AFFINITY) == 16, "GROUP_AFFINITY");
static_assert(sizeof(MDL) == 0x30, "MDL");

#endif
