/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers include, and drivers that flush files or use queues. Includes ntddk.h.
 * Declares only a few of the routines for file systems.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H
#define _NTIFS_ /* Windows' own include guards, which some drivers test */
#define _NTIFS_INCLUDED_

#include "ntddk.h"
#include "ntifs/security.h"

EXTERN_C_START

/*
 * Writes the file's data from the host's cache to the disk. If the handle is of a device, the device's driver receives
 * IRP_MJ_FLUSH_BUFFERS. If the file or device is not open for writing, returns STATUS_ACCESS_DENIED. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwFlushBuffersFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock);

/*
 * Sends a file system control to a device: its driver receives IRP_MJ_FILE_SYSTEM_CONTROL with IRP_MN_USER_FS_REQUEST.
 * A file of the host accepts FSCTL_SET_SPARSE, which changes nothing, and FSCTL_SET_ZERO_DATA. Other controls of a file
 * return STATUS_INVALID_DEVICE_REQUEST. Event and ApcRoutine must be NULL. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwFsControlFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                     _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                     _In_ ULONG FsControlCode, _In_opt_ PVOID InputBuffer, _In_ ULONG InputBufferLength,
                                     _Out_opt_ PVOID OutputBuffer, _In_ ULONG OutputBufferLength);
NTKERNELAPI NTSTATUS NtFsControlFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                     _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                     _In_ ULONG FsControlCode, _In_opt_ PVOID InputBuffer, _In_ ULONG InputBufferLength,
                                     _Out_opt_ PVOID OutputBuffer, _In_ ULONG OutputBufferLength);

/* ---- The volume of a file ---------------------------------------------------------------------------------------- */

typedef enum _FSINFOCLASS {
    FileFsVolumeInformation = 1,
    FileFsLabelInformation,
    FileFsSizeInformation,
    FileFsDeviceInformation,
    FileFsAttributeInformation,
    FileFsControlInformation,
    FileFsFullSizeInformation,
    FileFsObjectIdInformation,
    FileFsDriverPathInformation,
    FileFsVolumeFlagsInformation,
    FileFsSectorSizeInformation,
    FileFsDataCopyInformation,
    FileFsMetadataSizeInformation,
    FileFsFullSizeInformationEx,
    FileFsMaximumInformation
} FS_INFORMATION_CLASS, *PFS_INFORMATION_CLASS;

#define MAXIMUM_VOLUME_LABEL_LENGTH (32 * sizeof(WCHAR))

typedef struct _FILE_FS_VOLUME_INFORMATION {
    LARGE_INTEGER VolumeCreationTime;
    ULONG VolumeSerialNumber;
    ULONG VolumeLabelLength;
    BOOLEAN SupportsObjects;
    WCHAR VolumeLabel[1];
} FILE_FS_VOLUME_INFORMATION, *PFILE_FS_VOLUME_INFORMATION;

typedef struct _FILE_FS_SIZE_INFORMATION {
    LARGE_INTEGER TotalAllocationUnits;
    LARGE_INTEGER AvailableAllocationUnits;
    ULONG SectorsPerAllocationUnit;
    ULONG BytesPerSector;
} FILE_FS_SIZE_INFORMATION, *PFILE_FS_SIZE_INFORMATION;

typedef struct _FILE_FS_FULL_SIZE_INFORMATION {
    LARGE_INTEGER TotalAllocationUnits;
    LARGE_INTEGER CallerAvailableAllocationUnits;
    LARGE_INTEGER ActualAvailableAllocationUnits;
    ULONG SectorsPerAllocationUnit;
    ULONG BytesPerSector;
} FILE_FS_FULL_SIZE_INFORMATION, *PFILE_FS_FULL_SIZE_INFORMATION;

typedef struct _FILE_FS_DEVICE_INFORMATION {
    DEVICE_TYPE DeviceType;
    ULONG Characteristics;
} FILE_FS_DEVICE_INFORMATION, *PFILE_FS_DEVICE_INFORMATION;

#define FILE_CASE_SENSITIVE_SEARCH 0x00000001
#define FILE_CASE_PRESERVED_NAMES 0x00000002
#define FILE_UNICODE_ON_DISK 0x00000004
#define FILE_PERSISTENT_ACLS 0x00000008
#define FILE_FILE_COMPRESSION 0x00000010
#define FILE_VOLUME_QUOTAS 0x00000020
#define FILE_SUPPORTS_SPARSE_FILES 0x00000040
#define FILE_SUPPORTS_REPARSE_POINTS 0x00000080
#define FILE_VOLUME_IS_COMPRESSED 0x00008000
#define FILE_SUPPORTS_OBJECT_IDS 0x00010000
#define FILE_SUPPORTS_ENCRYPTION 0x00020000
#define FILE_NAMED_STREAMS 0x00040000
#define FILE_READ_ONLY_VOLUME 0x00080000

typedef struct _FILE_FS_ATTRIBUTE_INFORMATION {
    ULONG FileSystemAttributes;
    LONG MaximumComponentNameLength;
    ULONG FileSystemNameLength;
    WCHAR FileSystemName[1];
} FILE_FS_ATTRIBUTE_INFORMATION, *PFILE_FS_ATTRIBUTE_INFORMATION;

/*
 * Queries the filesystem of a file: volume, size, full size, device and attribute information. Other classes return
 * STATUS_INVALID_INFO_CLASS, a buffer smaller than the structure STATUS_INFO_LENGTH_MISMATCH. The serial number is made
 * of the host's device number, the label is empty, and the filesystem's name is Linux. The kernel answers the device
 * information of a device. Its driver receives IRP_MJ_QUERY_VOLUME_INFORMATION for the other classes. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwQueryVolumeInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                                  _Out_ PVOID FsInformation, _In_ ULONG Length,
                                                  _In_ FS_INFORMATION_CLASS FsInformationClass);
NTKERNELAPI NTSTATUS NtQueryVolumeInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                                  _Out_ PVOID FsInformation, _In_ ULONG Length,
                                                  _In_ FS_INFORMATION_CLASS FsInformationClass);

/* ---- Controls of volumes and files ------------------------------------------------------------------------------- */

#define FSCTL_LOCK_VOLUME CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 6, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define FSCTL_UNLOCK_VOLUME CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 7, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define FSCTL_DISMOUNT_VOLUME CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 8, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define FSCTL_IS_VOLUME_MOUNTED CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 10, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define FSCTL_GET_COMPRESSION CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 15, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define FSCTL_SET_COMPRESSION CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 16, METHOD_BUFFERED, FILE_READ_DATA | FILE_WRITE_DATA)
#define FSCTL_SET_SPARSE CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 49, METHOD_BUFFERED, FILE_SPECIAL_ACCESS)
#define FSCTL_SET_ZERO_DATA CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 50, METHOD_BUFFERED, FILE_WRITE_DATA)
#define FSCTL_QUERY_ALLOCATED_RANGES CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 51, METHOD_NEITHER, FILE_READ_DATA)

/* For ZwSetInformationFile. FileName is followed by the rest of a name of FileNameLength bytes. */
typedef struct _FILE_RENAME_INFORMATION {
    union {
        BOOLEAN ReplaceIfExists;
        ULONG Flags;
    };
    HANDLE RootDirectory;
    ULONG FileNameLength;
    WCHAR FileName[1];
} FILE_RENAME_INFORMATION, *PFILE_RENAME_INFORMATION;

typedef struct _FILE_ZERO_DATA_INFORMATION {
    LARGE_INTEGER FileOffset;
    LARGE_INTEGER BeyondFinalZero;
} FILE_ZERO_DATA_INFORMATION, *PFILE_ZERO_DATA_INFORMATION;

/*
 * Creates an event and a handle, which ZwClose closes. If an event of the same name exists, returns
 * STATUS_OBJECT_NAME_COLLISION; with OBJ_OPENIF opens that event and returns STATUS_OBJECT_NAME_EXISTS. Names begin
 * with a backslash; RootDirectory must be NULL. DesiredAccess has no effect. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwCreateEvent(_Out_ PHANDLE EventHandle, _In_ ACCESS_MASK DesiredAccess,
                                   _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_ EVENT_TYPE EventType,
                                   _In_ BOOLEAN InitialState);
/*
 * Opens a handle to the event with this name, or returns STATUS_OBJECT_NAME_NOT_FOUND. The kernel's events for memory
 * conditions exist, for example \KernelObjects\LowMemoryCondition. Their states show that memory never runs short.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwOpenEvent(_Out_ PHANDLE EventHandle, _In_ ACCESS_MASK DesiredAccess,
                                 _In_ POBJECT_ATTRIBUTES ObjectAttributes);
/* *PreviousState is not 0 if the event was signaled. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS ZwSetEvent(_In_ HANDLE EventHandle, _Out_opt_ PLONG PreviousState);
/*
 * Waits for an event or a thread, like KeWaitForSingleObject. For any other handle, returns
 * STATUS_OBJECT_TYPE_MISMATCH. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwWaitForSingleObject(_In_ HANDLE Handle, _In_ BOOLEAN Alertable, _In_opt_ PLARGE_INTEGER Timeout);

/*
 * These routines reserve, commit, decommit and release virtual memory of this process. ProcessHandle is
 * NtCurrentProcess() or another handle to this process. Memory without MEM_RESERVE is also reserved if *BaseAddress is
 * NULL. A reservation begins at a multiple of 64 KiB, and other addresses are rounded down to a page. Memory is not
 * readable before it is committed. MEM_RESET, PAGE_GUARD and the copy-on-write protections are refused. ZeroBits,
 * MEM_TOP_DOWN and MEM_LARGE_PAGES have no effect.
 *
 * MEM_RELEASE requires the address of the reservation and *RegionSize 0. An event, lock or other object in the memory
 * that is still in use is reported (rule object-freed-in-use). PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwAllocateVirtualMemory(_In_ HANDLE ProcessHandle, _Inout_ PVOID *BaseAddress,
                                             _In_ ULONG_PTR ZeroBits, _Inout_ PSIZE_T RegionSize,
                                             _In_ ULONG AllocationType, _In_ ULONG Protect);
NTKERNELAPI NTSTATUS ZwFreeVirtualMemory(_In_ HANDLE ProcessHandle, _Inout_ PVOID *BaseAddress,
                                         _Inout_ PSIZE_T RegionSize, _In_ ULONG FreeType);
NTKERNELAPI NTSTATUS NtAllocateVirtualMemory(_In_ HANDLE ProcessHandle, _Inout_ PVOID *BaseAddress,
                                             _In_ ULONG_PTR ZeroBits, _Inout_ PSIZE_T RegionSize,
                                             _In_ ULONG AllocationType, _In_ ULONG Protect);
NTKERNELAPI NTSTATUS NtFreeVirtualMemory(_In_ HANDLE ProcessHandle, _Inout_ PVOID *BaseAddress,
                                         _Inout_ PSIZE_T RegionSize, _In_ ULONG FreeType);

/*
 * Returns the process, with a reference that ObDereferenceObject drops. Returns STATUS_INVALID_CID if ProcessId is not
 * the ID of the host program. IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS PsLookupProcessByProcessId(_In_ HANDLE ProcessId, _Outptr_ PEPROCESS *Process);

/* Returns TRUE if the thread has ended. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI BOOLEAN PsIsThreadTerminating(_In_ PETHREAD Thread);

/*
 * Copies the terminated string into pool, which RtlFreeUnicodeString frees. Returns FALSE if out of memory.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI BOOLEAN RtlCreateUnicodeString(_Out_ PUNICODE_STRING DestinationString, _In_z_ PCWSTR SourceString);

/*
 * Stores return addresses of the calling thread, the innermost first, but leaves out the first FramesToSkip of them.
 * Returns the number of stored addresses, at most 16. *BackTraceHash receives a sum of the addresses.
 */
NTKERNELAPI USHORT RtlCaptureStackBackTrace(_In_ ULONG FramesToSkip, _In_ ULONG FramesToCapture,
                                            _Out_writes_to_(FramesToCapture, return ) PVOID *BackTrace,
                                            _Out_opt_ PULONG BackTraceHash);

/*
 * These functions return the process of the IRP's thread, or its ID. If the IRP has no thread, they return NULL or 0.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI ULONG IoGetRequestorProcessId(_In_ PIRP Irp);
NTKERNELAPI PEPROCESS IoGetRequestorProcess(_In_ PIRP Irp);

/* ---- Names ------------------------------------------------------------------------------------------------------- */

typedef struct _OBJECT_NAME_INFORMATION {
    UNICODE_STRING Name;
} OBJECT_NAME_INFORMATION, *POBJECT_NAME_INFORMATION;

/*
 * Returns the name of a device, a driver or a directory. For a file, returns the name of its device and the rest of the
 * file's name. For other objects and for files of the host, Name.Buffer is NULL. If the name does not fit, returns
 * STATUS_INFO_LENGTH_MISMATCH. *ReturnLength receives the size that is needed. IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS ObQueryNameString(_In_ PVOID Object,
                                       _Out_writes_bytes_opt_(Length) POBJECT_NAME_INFORMATION ObjectNameInfo,
                                       _In_ ULONG Length, _Out_ PULONG ReturnLength);

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

/*
 * Every process and client has the system's token. Impersonation of a client changes nothing. Each reference of
 * PsReferencePrimaryToken or SeCreateClientSecurity must be dropped. PASSIVE_LEVEL; routines that drop a reference:
 * IRQL <= APC_LEVEL.
 */
typedef enum _TOKEN_TYPE { TokenPrimary = 1, TokenImpersonation } TOKEN_TYPE, *PTOKEN_TYPE;

#define TOKEN_SOURCE_LENGTH 8
typedef struct _TOKEN_SOURCE {
    CHAR SourceName[TOKEN_SOURCE_LENGTH];
    LUID SourceIdentifier;
} TOKEN_SOURCE, *PTOKEN_SOURCE;

typedef struct _TOKEN_CONTROL {
    LUID TokenId;
    LUID AuthenticationId;
    LUID ModifiedId;
    TOKEN_SOURCE TokenSource;
} TOKEN_CONTROL, *PTOKEN_CONTROL;

typedef struct _SECURITY_CLIENT_CONTEXT {
    SECURITY_QUALITY_OF_SERVICE SecurityQos;
    PACCESS_TOKEN ClientToken;
    BOOLEAN DirectlyAccessClientToken;
    BOOLEAN DirectAccessEffectiveOnly;
    BOOLEAN ServerIsRemote;
    TOKEN_CONTROL ClientTokenControl;
} SECURITY_CLIENT_CONTEXT, *PSECURITY_CLIENT_CONTEXT;

#define TOKEN_ASSIGN_PRIMARY 0x0001
#define TOKEN_DUPLICATE 0x0002
#define TOKEN_IMPERSONATE 0x0004
#define TOKEN_QUERY 0x0008
#define TOKEN_QUERY_SOURCE 0x0010
#define TOKEN_ADJUST_PRIVILEGES 0x0020
#define TOKEN_ADJUST_GROUPS 0x0040
#define TOKEN_ADJUST_DEFAULT 0x0080
#define TOKEN_ADJUST_SESSIONID 0x0100
#define TOKEN_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x01ff)

typedef struct _TOKEN_PRIVILEGES {
    ULONG PrivilegeCount;
    LUID_AND_ATTRIBUTES Privileges[ANYSIZE_ARRAY];
} TOKEN_PRIVILEGES, *PTOKEN_PRIVILEGES;

/*
 * Opens the system's token, the token of the only process. ProcessHandle is a handle of this process. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwOpenProcessToken(_In_ HANDLE ProcessHandle, _In_ ACCESS_MASK DesiredAccess,
                                        _Out_ PHANDLE TokenHandle);
NTKERNELAPI NTSTATUS NtOpenProcessToken(_In_ HANDLE ProcessHandle, _In_ ACCESS_MASK DesiredAccess,
                                        _Out_ PHANDLE TokenHandle);
NTKERNELAPI NTSTATUS ZwOpenProcessTokenEx(_In_ HANDLE ProcessHandle, _In_ ACCESS_MASK DesiredAccess,
                                          _In_ ULONG HandleAttributes, _Out_ PHANDLE TokenHandle);
/*
 * The token always has every privilege. So a change has no effect, and PreviousState receives an empty list. Returns
 * STATUS_INVALID_PARAMETER if nothing is to be changed, and STATUS_BUFFER_TOO_SMALL if the list does not fit.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwAdjustPrivilegesToken(_In_ HANDLE TokenHandle, _In_ BOOLEAN DisableAllPrivileges,
                                             _In_opt_ PTOKEN_PRIVILEGES NewState, _In_ ULONG BufferLength,
                                             _Out_opt_ PTOKEN_PRIVILEGES PreviousState, _Out_opt_ PULONG ReturnLength);
NTKERNELAPI NTSTATUS NtAdjustPrivilegesToken(_In_ HANDLE TokenHandle, _In_ BOOLEAN DisableAllPrivileges,
                                             _In_opt_ PTOKEN_PRIVILEGES NewState, _In_ ULONG BufferLength,
                                             _Out_opt_ PTOKEN_PRIVILEGES PreviousState, _Out_opt_ PULONG ReturnLength);

extern NTKERNELAPI POBJECT_TYPE *SeTokenObjectType;

NTKERNELAPI PACCESS_TOKEN PsReferencePrimaryToken(_Inout_ PEPROCESS Process);
NTKERNELAPI VOID PsDereferencePrimaryToken(_In_ PACCESS_TOKEN PrimaryToken);
NTKERNELAPI VOID PsDereferenceImpersonationToken(_In_opt_ PACCESS_TOKEN ImpersonationToken);
NTKERNELAPI TOKEN_TYPE SeTokenType(_In_ PACCESS_TOKEN Token);
NTKERNELAPI BOOLEAN SeTokenIsAdmin(_In_ PACCESS_TOKEN Token);
#define SeQuerySubjectContextToken(context) ((context)->ClientToken ? (context)->ClientToken : (context)->PrimaryToken)

NTKERNELAPI NTSTATUS SeCreateClientSecurity(_In_ PETHREAD ClientThread,
                                            _In_ PSECURITY_QUALITY_OF_SERVICE ClientSecurityQos,
                                            _In_ BOOLEAN RemoteSession, _Out_ PSECURITY_CLIENT_CONTEXT ClientContext);
NTKERNELAPI NTSTATUS SeImpersonateClientEx(_In_ PSECURITY_CLIENT_CONTEXT ClientContext, _In_opt_ PETHREAD ServerThread);
NTKERNELAPI VOID SeImpersonateClient(_In_ PSECURITY_CLIENT_CONTEXT ClientContext, _In_opt_ PETHREAD ServerThread);
NTKERNELAPI VOID PsRevertToSelf(VOID);

FORCEINLINE VOID SeDeleteClientSecurity(_Inout_ PSECURITY_CLIENT_CONTEXT ClientContext)
{
    PsDereferencePrimaryToken(ClientContext->ClientToken);
    ClientContext->ClientToken = NULL;
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/*
 * A queue of LIST_ENTRY, and the threads that remove its entries. SignalState is the number of entries. A thread
 * belongs to the queue from which it has last removed, until the thread ends or the queue is run down. A thread that a
 * driver has not created, for example one that runs a work item, leaves the queue when the driver's routine returns.
 * CurrentCount is the
 * number of these threads that do not wait in a KeWait... routine, in KeDelayExecutionThread or in KeRemoveQueue.
 */
typedef struct _KQUEUE {
    DISPATCHER_HEADER Header;
    LIST_ENTRY EntryListHead;
    volatile ULONG CurrentCount;
    ULONG MaximumCount;
    LIST_ENTRY ThreadListHead;
} KQUEUE, *PKQUEUE, *PRKQUEUE;

/*
 * A thread receives an entry only while fewer than Count threads of the queue run. Count 0 stands for the number of
 * processors. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI VOID KeInitializeQueue(_Out_ PRKQUEUE Queue, _In_ ULONG Count);
/* Returns the number of entries. */
NTKERNELAPI LONG KeReadStateQueue(_In_ PRKQUEUE Queue);
/*
 * KeInsertQueue appends the entry, and KeInsertHeadQueue inserts it in front of all others. If a thread waits, the
 * thread receives the entry at once instead. Both return the number of entries before the call. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI LONG KeInsertQueue(_Inout_ PRKQUEUE Queue, _Inout_ PLIST_ENTRY Entry);
NTKERNELAPI LONG KeInsertHeadQueue(_Inout_ PRKQUEUE Queue, _Inout_ PLIST_ENTRY Entry);
/*
 * Removes the first entry, and waits for one if there is none. If several threads wait, the one that has waited for the
 * shortest time receives the next entry. Returns the entry. If the wait ends without an entry, returns a status as a
 * pointer: STATUS_TIMEOUT, or STATUS_ABANDONED if the queue was run down. IRQL <= DISPATCH_LEVEL with a timeout of
 * zero, otherwise IRQL <= APC_LEVEL.
 */
NTKERNELAPI PLIST_ENTRY KeRemoveQueue(_Inout_ PRKQUEUE Queue, _In_ KPROCESSOR_MODE WaitMode,
                                      _In_opt_ PLARGE_INTEGER Timeout);
/*
 * Removes up to Count entries, and waits for one if there is none. Returns the number of elements of EntryArray that
 * were set. If the wait ends without an entry, the only element is the status. Alertable has no effect.
 */
NTKERNELAPI ULONG KeRemoveQueueEx(_Inout_ PRKQUEUE Queue, _In_ KPROCESSOR_MODE WaitMode, _In_ BOOLEAN Alertable,
                                  _In_opt_ PLARGE_INTEGER Timeout,
                                  _Out_writes_to_(Count, return ) PLIST_ENTRY *EntryArray, _In_ ULONG Count);
/*
 * Removes all entries and threads. Returns the first entry, or NULL. Flink links the entries to a ring. All waits for
 * the queue end with STATUS_ABANDONED, even later waits. A queue to which threads belong must be run down before its
 * memory is freed. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI PLIST_ENTRY KeRundownQueue(_Inout_ PRKQUEUE Queue);

typedef struct _COMPRESSED_DATA_INFO {
    USHORT CompressionFormatAndEngine;
    UCHAR CompressionUnitShift;
    UCHAR ChunkShift;
    UCHAR ClusterShift;
    UCHAR Reserved;
    USHORT NumberOfChunks;
    ULONG CompressedChunkSizes[ANYSIZE_ARRAY];
} COMPRESSED_DATA_INFO, *PCOMPRESSED_DATA_INFO;

EXTERN_C_END

#endif
