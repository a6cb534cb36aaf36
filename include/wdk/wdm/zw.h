/* SPDX-License-Identifier: MIT */
/*
 * The registry, handles, and files. The registry is in this process' memory. The host program fills the registry
 * (openndk/wdk.h). Each loaded driver also has a service key. Access rights of keys are not checked. All routines
 * require PASSIVE_LEVEL.
 */
#ifndef ONDK_WDK_WDM_ZW_H
#define ONDK_WDK_WDM_ZW_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "io.h"

EXTERN_C_START

/* A handle that is not open is reported (rule handle-invalid). ZwClose then returns STATUS_INVALID_HANDLE. */
NTKERNELAPI NTSTATUS ZwClose(_In_ HANDLE Handle);
NTKERNELAPI NTSTATUS NtClose(_In_ HANDLE Handle);
#define ObCloseHandle(handle, mode) ((VOID)(mode), ZwClose(handle))

/*
 * These routines create or open a directory of names, and open a symbolic link; ZwClose closes the handle. Names begin
 * with a backslash, and RootDirectory must be NULL. OBJ_OPENIF opens a directory that exists, and returns
 * STATUS_OBJECT_NAME_EXISTS. A directory with OBJ_PERMANENT keeps its name until ZwMakeTemporaryObject and the close of
 * its handles. A directory is only a name: devices may have names below a directory that does not exist.
 */
NTKERNELAPI NTSTATUS ZwCreateDirectoryObject(_Out_ PHANDLE DirectoryHandle, _In_ ACCESS_MASK DesiredAccess,
                                             _In_ POBJECT_ATTRIBUTES ObjectAttributes);
NTKERNELAPI NTSTATUS ZwMakeTemporaryObject(_In_ HANDLE Handle);
NTKERNELAPI NTSTATUS ZwOpenSymbolicLinkObject(_Out_ PHANDLE LinkHandle, _In_ ACCESS_MASK DesiredAccess,
                                              _In_ POBJECT_ATTRIBUTES ObjectAttributes);
/* *ReturnedLength receives the length of the target in bytes, also if it does not fit (STATUS_BUFFER_TOO_SMALL). */
NTKERNELAPI NTSTATUS ZwQuerySymbolicLinkObject(_In_ HANDLE LinkHandle, _Inout_ PUNICODE_STRING LinkTarget,
                                               _Out_opt_ PULONG ReturnedLength);

/* ---- Registry --------------------------------------------------------------------------------------------------- */

#define REG_NONE 0
#define REG_SZ 1
#define REG_EXPAND_SZ 2
#define REG_BINARY 3
#define REG_DWORD 4
#define REG_DWORD_LITTLE_ENDIAN 4
#define REG_DWORD_BIG_ENDIAN 5
#define REG_LINK 6
#define REG_MULTI_SZ 7
#define REG_QWORD 11

#define REG_OPTION_NON_VOLATILE 0x00000000
#define REG_OPTION_VOLATILE 0x00000001
#define REG_CREATED_NEW_KEY 0x00000001
#define REG_OPENED_EXISTING_KEY 0x00000002

#define KEY_QUERY_VALUE 0x0001
#define KEY_SET_VALUE 0x0002
#define KEY_CREATE_SUB_KEY 0x0004
#define KEY_ENUMERATE_SUB_KEYS 0x0008
#define KEY_NOTIFY 0x0010
#define KEY_CREATE_LINK 0x0020
#define KEY_READ ((STANDARD_RIGHTS_READ | KEY_QUERY_VALUE | KEY_ENUMERATE_SUB_KEYS | KEY_NOTIFY) & ~SYNCHRONIZE)
#define KEY_WRITE ((STANDARD_RIGHTS_WRITE | KEY_SET_VALUE | KEY_CREATE_SUB_KEY) & ~SYNCHRONIZE)
#define KEY_ALL_ACCESS ((STANDARD_RIGHTS_ALL | 0x3f) & ~SYNCHRONIZE)

typedef enum _KEY_INFORMATION_CLASS {
    KeyBasicInformation,
    KeyNodeInformation,
    KeyFullInformation,
    KeyNameInformation,
} KEY_INFORMATION_CLASS;

typedef enum _KEY_VALUE_INFORMATION_CLASS {
    KeyValueBasicInformation,
    KeyValueFullInformation,
    KeyValuePartialInformation,
    KeyValueFullInformationAlign64,
    KeyValuePartialInformationAlign64,
} KEY_VALUE_INFORMATION_CLASS;

typedef struct _KEY_BASIC_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_BASIC_INFORMATION, *PKEY_BASIC_INFORMATION;

typedef struct _KEY_NODE_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG ClassOffset;
    ULONG ClassLength;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_NODE_INFORMATION, *PKEY_NODE_INFORMATION;

typedef struct _KEY_FULL_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG ClassOffset;
    ULONG ClassLength;
    ULONG SubKeys;
    ULONG MaxNameLen;
    ULONG MaxClassLen;
    ULONG Values;
    ULONG MaxValueNameLen;
    ULONG MaxValueDataLen;
    WCHAR Class[1];
} KEY_FULL_INFORMATION, *PKEY_FULL_INFORMATION;

typedef struct _KEY_NAME_INFORMATION {
    ULONG NameLength;
    WCHAR Name[1];
} KEY_NAME_INFORMATION, *PKEY_NAME_INFORMATION;

typedef struct _KEY_VALUE_BASIC_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_VALUE_BASIC_INFORMATION, *PKEY_VALUE_BASIC_INFORMATION;

typedef struct _KEY_VALUE_FULL_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataOffset;
    ULONG DataLength;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_VALUE_FULL_INFORMATION, *PKEY_VALUE_FULL_INFORMATION;

typedef struct _KEY_VALUE_PARTIAL_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataLength;
    UCHAR Data[1];
} KEY_VALUE_PARTIAL_INFORMATION, *PKEY_VALUE_PARTIAL_INFORMATION;

typedef struct _KEY_VALUE_PARTIAL_INFORMATION_ALIGN64 {
    ULONG Type;
    ULONG DataLength;
    UCHAR Data[1];
} KEY_VALUE_PARTIAL_INFORMATION_ALIGN64, *PKEY_VALUE_PARTIAL_INFORMATION_ALIGN64;

/* The parent key must exist. The key itself is created if it does not exist. */
NTKERNELAPI NTSTATUS ZwCreateKey(_Out_ PHANDLE KeyHandle, _In_ ACCESS_MASK DesiredAccess,
                                 _In_ POBJECT_ATTRIBUTES ObjectAttributes, _Reserved_ ULONG TitleIndex,
                                 _In_opt_ PUNICODE_STRING Class, _In_ ULONG CreateOptions,
                                 _Out_opt_ PULONG Disposition);
NTKERNELAPI NTSTATUS ZwOpenKey(_Out_ PHANDLE KeyHandle, _In_ ACCESS_MASK DesiredAccess,
                               _In_ POBJECT_ATTRIBUTES ObjectAttributes);
NTKERNELAPI NTSTATUS ZwDeleteKey(_In_ HANDLE KeyHandle);
NTKERNELAPI NTSTATUS ZwFlushKey(_In_ HANDLE KeyHandle);
/*
 * STATUS_BUFFER_TOO_SMALL means that the structure's fixed part does not fit, STATUS_BUFFER_OVERFLOW that the result
 * was truncated. *ResultLength receives the full size in both cases.
 */
NTKERNELAPI NTSTATUS ZwQueryKey(_In_ HANDLE KeyHandle, _In_ KEY_INFORMATION_CLASS KeyInformationClass,
                                _Out_opt_ PVOID KeyInformation, _In_ ULONG Length, _Out_ PULONG ResultLength);
NTKERNELAPI NTSTATUS ZwEnumerateKey(_In_ HANDLE KeyHandle, _In_ ULONG Index,
                                    _In_ KEY_INFORMATION_CLASS KeyInformationClass, _Out_opt_ PVOID KeyInformation,
                                    _In_ ULONG Length, _Out_ PULONG ResultLength);
NTKERNELAPI NTSTATUS ZwQueryValueKey(_In_ HANDLE KeyHandle, _In_ PUNICODE_STRING ValueName,
                                     _In_ KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                                     _Out_opt_ PVOID KeyValueInformation, _In_ ULONG Length,
                                     _Out_ PULONG ResultLength);
NTKERNELAPI NTSTATUS ZwEnumerateValueKey(_In_ HANDLE KeyHandle, _In_ ULONG Index,
                                         _In_ KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                                         _Out_opt_ PVOID KeyValueInformation, _In_ ULONG Length,
                                         _Out_ PULONG ResultLength);
NTKERNELAPI NTSTATUS ZwSetValueKey(_In_ HANDLE KeyHandle, _In_ PUNICODE_STRING ValueName, _In_opt_ ULONG TitleIndex,
                                   _In_ ULONG Type, _In_opt_ PVOID Data, _In_ ULONG DataSize);
NTKERNELAPI NTSTATUS ZwDeleteValueKey(_In_ HANDLE KeyHandle, _In_ PUNICODE_STRING ValueName);

typedef enum _DRIVER_REGKEY_TYPE {
    DriverRegKeyParameters,
    DriverRegKeyPersistentState,
    DriverRegKeySharedPersistentState,
} DRIVER_REGKEY_TYPE;

/* Opens the subkey Parameters or PersistentState of the driver's service key, and creates it if it does not exist. */
NTKERNELAPI NTSTATUS IoOpenDriverRegistryKey(_In_ PDRIVER_OBJECT DriverObject, _In_ DRIVER_REGKEY_TYPE RegKeyType,
                                             _In_ ACCESS_MASK DesiredAccess, _In_ ULONG Flags,
                                             _Out_ PHANDLE DriverRegKey);

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/*
 * Names of devices and files. \??\C:\a\b and \SystemRoot\a are C/a/b and SystemRoot/a in the directory that the host
 * has set (ondk_wdk_set_file_root). Nothing outside that directory can be opened. Names are case sensitive as on the
 * host. Every operation is complete when its call returns, so Event and ApcRoutine must be NULL. PASSIVE_LEVEL.
 */
#define FILE_SUPERSEDE 0
#define FILE_OPEN 1
#define FILE_CREATE 2
#define FILE_OPEN_IF 3
#define FILE_OVERWRITE 4
#define FILE_OVERWRITE_IF 5
#define FILE_DIRECTORY_FILE 0x00000001
#define FILE_WRITE_THROUGH 0x00000002
#define FILE_SEQUENTIAL_ONLY 0x00000004
#define FILE_NO_INTERMEDIATE_BUFFERING 0x00000008
#define FILE_SYNCHRONOUS_IO_ALERT 0x00000010
#define FILE_SYNCHRONOUS_IO_NONALERT 0x00000020
#define FILE_NON_DIRECTORY_FILE 0x00000040
#define FILE_DELETE_ON_CLOSE 0x00001000
#define FILE_NO_EA_KNOWLEDGE 0x00000200
#define FILE_RANDOM_ACCESS 0x00000800
#define FILE_OPEN_FOR_BACKUP_INTENT 0x00004000
#define FILE_NO_COMPRESSION 0x00008000
#define FILE_OPEN_REPARSE_POINT 0x00200000
#define FILE_OPEN_NO_RECALL 0x00400000
#define FILE_SHARE_READ 0x00000001
#define FILE_SHARE_WRITE 0x00000002
#define FILE_SHARE_DELETE 0x00000004
#define FILE_ATTRIBUTE_READONLY 0x00000001
#define FILE_ATTRIBUTE_HIDDEN 0x00000002
#define FILE_ATTRIBUTE_SYSTEM 0x00000004
#define FILE_ATTRIBUTE_DIRECTORY 0x00000010
#define FILE_ATTRIBUTE_ARCHIVE 0x00000020
#define FILE_ATTRIBUTE_DEVICE 0x00000040
#define FILE_ATTRIBUTE_NORMAL 0x00000080
#define FILE_ATTRIBUTE_TEMPORARY 0x00000100
#define FILE_ATTRIBUTE_SPARSE_FILE 0x00000200
#define FILE_ATTRIBUTE_REPARSE_POINT 0x00000400
#define FILE_ATTRIBUTE_COMPRESSED 0x00000800
#define FILE_ATTRIBUTE_OFFLINE 0x00001000
#define FILE_ATTRIBUTE_NOT_CONTENT_INDEXED 0x00002000
#define FILE_ATTRIBUTE_ENCRYPTED 0x00004000
#define FILE_USE_FILE_POINTER_POSITION 0xfffffffe
#define FILE_WRITE_TO_END_OF_FILE 0xffffffff

/*
 * ZwQueryInformationFile has the basic, standard, internal, position, alignment, network open and attribute tag
 * information, ZwSetInformationFile the basic, rename, disposition, position, allocation, end of file and valid data
 * length information. Other classes return STATUS_INVALID_INFO_CLASS. A device's driver receives
 * IRP_MJ_QUERY_INFORMATION and IRP_MJ_SET_INFORMATION, except for position and alignment.
 *
 * A file has the attributes FILE_ATTRIBUTE_READONLY (the host's owner must not write), FILE_ATTRIBUTE_DIRECTORY or
 * FILE_ATTRIBUTE_NORMAL; others are ignored. The times of creation and change cannot be set.
 *
 * FileBasicInformation can be set only with the access right FILE_WRITE_ATTRIBUTES. Disposition, FILE_DELETE_ON_CLOSE
 * and the rename require DELETE. The sizes require write access.
 *
 * Disposition and FILE_DELETE_ON_CLOSE delete the file when this handle is closed. Other handles may be open and remain
 * usable. Returns STATUS_DIRECTORY_NOT_EMPTY for a directory with entries, and STATUS_CANNOT_DELETE for a read-only
 * file.
 *
 * A new name (FILE_RENAME_INFORMATION, ntifs.h) is a name in the same directory, a name in the directory RootDirectory,
 * or a full name like \??\C:\a\b. If the name exists, returns STATUS_OBJECT_NAME_COLLISION without ReplaceIfExists, and
 * STATUS_ACCESS_DENIED for a directory or a read-only file.
 */
typedef enum _FILE_INFORMATION_CLASS {
    FileDirectoryInformation = 1,
    FileFullDirectoryInformation,
    FileBothDirectoryInformation,
    FileBasicInformation,
    FileStandardInformation,
    FileInternalInformation,
    FileEaInformation,
    FileAccessInformation,
    FileNameInformation,
    FileRenameInformation,
    FileLinkInformation,
    FileNamesInformation,
    FileDispositionInformation,
    FilePositionInformation,
    FileFullEaInformation,
    FileModeInformation,
    FileAlignmentInformation,
    FileAllInformation,
    FileAllocationInformation,
    FileEndOfFileInformation,
    FileAlternateNameInformation,
    FileStreamInformation,
    FileCompressionInformation = 28,
    FileNetworkOpenInformation = 34,
    FileAttributeTagInformation,
    FileValidDataLengthInformation = 39,
} FILE_INFORMATION_CLASS, *PFILE_INFORMATION_CLASS;

typedef struct _FILE_BASIC_INFORMATION {
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    ULONG FileAttributes;
} FILE_BASIC_INFORMATION, *PFILE_BASIC_INFORMATION;

typedef struct _FILE_NETWORK_OPEN_INFORMATION {
    LARGE_INTEGER CreationTime;
    LARGE_INTEGER LastAccessTime;
    LARGE_INTEGER LastWriteTime;
    LARGE_INTEGER ChangeTime;
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER EndOfFile;
    ULONG FileAttributes;
} FILE_NETWORK_OPEN_INFORMATION, *PFILE_NETWORK_OPEN_INFORMATION;

typedef struct _FILE_ALIGNMENT_INFORMATION {
    ULONG AlignmentRequirement;
} FILE_ALIGNMENT_INFORMATION, *PFILE_ALIGNMENT_INFORMATION;

typedef struct _FILE_DISPOSITION_INFORMATION {
    BOOLEAN DeleteFile;
} FILE_DISPOSITION_INFORMATION, *PFILE_DISPOSITION_INFORMATION;

typedef struct _FILE_VALID_DATA_LENGTH_INFORMATION {
    LARGE_INTEGER ValidDataLength;
} FILE_VALID_DATA_LENGTH_INFORMATION, *PFILE_VALID_DATA_LENGTH_INFORMATION;

typedef struct _FILE_ALLOCATION_INFORMATION {
    LARGE_INTEGER AllocationSize;
} FILE_ALLOCATION_INFORMATION, *PFILE_ALLOCATION_INFORMATION;

typedef struct _FILE_INTERNAL_INFORMATION {
    LARGE_INTEGER IndexNumber;
} FILE_INTERNAL_INFORMATION, *PFILE_INTERNAL_INFORMATION;

typedef struct _FILE_ATTRIBUTE_TAG_INFORMATION {
    ULONG FileAttributes;
    ULONG ReparseTag;
} FILE_ATTRIBUTE_TAG_INFORMATION, *PFILE_ATTRIBUTE_TAG_INFORMATION;

/* One extended attribute: the name, a zero byte and the value follow. */
typedef struct _FILE_FULL_EA_INFORMATION {
    ULONG NextEntryOffset;
    UCHAR Flags;
    UCHAR EaNameLength;
    USHORT EaValueLength;
    CHAR EaName[1];
} FILE_FULL_EA_INFORMATION, *PFILE_FULL_EA_INFORMATION;

typedef struct _FILE_STANDARD_INFORMATION {
    LARGE_INTEGER AllocationSize;
    LARGE_INTEGER EndOfFile;
    ULONG NumberOfLinks;
    BOOLEAN DeletePending;
    BOOLEAN Directory;
} FILE_STANDARD_INFORMATION, *PFILE_STANDARD_INFORMATION;

typedef struct _FILE_POSITION_INFORMATION {
    LARGE_INTEGER CurrentByteOffset;
} FILE_POSITION_INFORMATION, *PFILE_POSITION_INFORMATION;

typedef struct _FILE_END_OF_FILE_INFORMATION {
    LARGE_INTEGER EndOfFile;
} FILE_END_OF_FILE_INFORMATION, *PFILE_END_OF_FILE_INFORMATION;

/* The names of the same routines that begin with Nt do the same, because the caller is always a driver. */
NTKERNELAPI NTSTATUS ZwCreateFile(_Out_ PHANDLE FileHandle, _In_ ACCESS_MASK DesiredAccess,
                                  _In_ POBJECT_ATTRIBUTES ObjectAttributes, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                  _In_opt_ PLARGE_INTEGER AllocationSize, _In_ ULONG FileAttributes,
                                  _In_ ULONG ShareAccess, _In_ ULONG CreateDisposition, _In_ ULONG CreateOptions,
                                  _In_opt_ PVOID EaBuffer, _In_ ULONG EaLength);
NTKERNELAPI NTSTATUS ZwOpenFile(_Out_ PHANDLE FileHandle, _In_ ACCESS_MASK DesiredAccess,
                                _In_ POBJECT_ATTRIBUTES ObjectAttributes, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                _In_ ULONG ShareAccess, _In_ ULONG OpenOptions);
NTKERNELAPI NTSTATUS ZwReadFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock, _Out_ PVOID Buffer,
                                _In_ ULONG Length, _In_opt_ PLARGE_INTEGER ByteOffset, _In_opt_ PULONG Key);
NTKERNELAPI NTSTATUS ZwWriteFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                 _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock, _In_ PVOID Buffer,
                                 _In_ ULONG Length, _In_opt_ PLARGE_INTEGER ByteOffset, _In_opt_ PULONG Key);
NTKERNELAPI NTSTATUS ZwQueryInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                            _Out_ PVOID FileInformation, _In_ ULONG Length,
                                            _In_ FILE_INFORMATION_CLASS FileInformationClass);
NTKERNELAPI NTSTATUS ZwSetInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                          _In_ PVOID FileInformation, _In_ ULONG Length,
                                          _In_ FILE_INFORMATION_CLASS FileInformationClass);
NTKERNELAPI NTSTATUS ZwDeviceIoControlFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event,
                                           _In_opt_ PIO_APC_ROUTINE ApcRoutine, _In_opt_ PVOID ApcContext,
                                           _Out_ PIO_STATUS_BLOCK IoStatusBlock, _In_ ULONG IoControlCode,
                                           _In_opt_ PVOID InputBuffer, _In_ ULONG InputBufferLength,
                                           _Out_opt_ PVOID OutputBuffer, _In_ ULONG OutputBufferLength);
NTKERNELAPI NTSTATUS NtCreateFile(_Out_ PHANDLE FileHandle, _In_ ACCESS_MASK DesiredAccess,
                                  _In_ POBJECT_ATTRIBUTES ObjectAttributes, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                  _In_opt_ PLARGE_INTEGER AllocationSize, _In_ ULONG FileAttributes,
                                  _In_ ULONG ShareAccess, _In_ ULONG CreateDisposition, _In_ ULONG CreateOptions,
                                  _In_opt_ PVOID EaBuffer, _In_ ULONG EaLength);
NTKERNELAPI NTSTATUS NtOpenFile(_Out_ PHANDLE FileHandle, _In_ ACCESS_MASK DesiredAccess,
                                _In_ POBJECT_ATTRIBUTES ObjectAttributes, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                _In_ ULONG ShareAccess, _In_ ULONG OpenOptions);
NTKERNELAPI NTSTATUS NtReadFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock, _Out_ PVOID Buffer,
                                _In_ ULONG Length, _In_opt_ PLARGE_INTEGER ByteOffset, _In_opt_ PULONG Key);
NTKERNELAPI NTSTATUS NtWriteFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event, _In_opt_ PIO_APC_ROUTINE ApcRoutine,
                                 _In_opt_ PVOID ApcContext, _Out_ PIO_STATUS_BLOCK IoStatusBlock, _In_ PVOID Buffer,
                                 _In_ ULONG Length, _In_opt_ PLARGE_INTEGER ByteOffset, _In_opt_ PULONG Key);
NTKERNELAPI NTSTATUS NtQueryInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                            _Out_ PVOID FileInformation, _In_ ULONG Length,
                                            _In_ FILE_INFORMATION_CLASS FileInformationClass);
NTKERNELAPI NTSTATUS NtSetInformationFile(_In_ HANDLE FileHandle, _Out_ PIO_STATUS_BLOCK IoStatusBlock,
                                          _In_ PVOID FileInformation, _In_ ULONG Length,
                                          _In_ FILE_INFORMATION_CLASS FileInformationClass);
NTKERNELAPI NTSTATUS NtDeviceIoControlFile(_In_ HANDLE FileHandle, _In_opt_ HANDLE Event,
                                           _In_opt_ PIO_APC_ROUTINE ApcRoutine, _In_opt_ PVOID ApcContext,
                                           _Out_ PIO_STATUS_BLOCK IoStatusBlock, _In_ ULONG IoControlCode,
                                           _In_opt_ PVOID InputBuffer, _In_ ULONG InputBufferLength,
                                           _Out_opt_ PVOID OutputBuffer, _In_ ULONG OutputBufferLength);

/* ---- The registry by path --------------------------------------------------------------------------------------- */

#define RTL_REGISTRY_ABSOLUTE 0
#define RTL_REGISTRY_SERVICES 1
#define RTL_REGISTRY_CONTROL 2
#define RTL_REGISTRY_WINDOWS_NT 3
#define RTL_REGISTRY_DEVICEMAP 4
#define RTL_REGISTRY_USER 5
#define RTL_REGISTRY_MAXIMUM 6
#define RTL_REGISTRY_HANDLE 0x40000000
#define RTL_REGISTRY_OPTIONAL 0x80000000

typedef NTSTATUS RTL_QUERY_REGISTRY_ROUTINE(PWSTR ValueName, ULONG ValueType, PVOID ValueData, ULONG ValueLength,
                                            PVOID Context, PVOID EntryContext);
typedef RTL_QUERY_REGISTRY_ROUTINE *PRTL_QUERY_REGISTRY_ROUTINE;

typedef struct _RTL_QUERY_REGISTRY_TABLE {
    PRTL_QUERY_REGISTRY_ROUTINE QueryRoutine;
    ULONG Flags;
    PWSTR Name;
    PVOID EntryContext;
    ULONG DefaultType;
    PVOID DefaultData;
    ULONG DefaultLength;
} RTL_QUERY_REGISTRY_TABLE, *PRTL_QUERY_REGISTRY_TABLE;

#define RTL_QUERY_REGISTRY_SUBKEY 0x00000001
#define RTL_QUERY_REGISTRY_TOPKEY 0x00000002
#define RTL_QUERY_REGISTRY_REQUIRED 0x00000004
#define RTL_QUERY_REGISTRY_NOVALUE 0x00000008
#define RTL_QUERY_REGISTRY_NOEXPAND 0x00000010
#define RTL_QUERY_REGISTRY_DIRECT 0x00000020
#define RTL_QUERY_REGISTRY_DELETE 0x00000040
#define RTL_QUERY_REGISTRY_TYPECHECK 0x00000100
#define RTL_QUERY_REGISTRY_TYPECHECK_SHIFT 24
#define RTL_QUERY_REGISTRY_TYPECHECK_MASK (0xffu << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT)

/*
 * Environment is a list of terminated NAME=value strings with an empty string at the end. If it is NULL, the
 * %variables% of a REG_EXPAND_SZ have the system's values: SystemRoot=C:\Windows, windir=C:\Windows, SystemDrive=C:.
 * An unknown variable is not replaced.
 */
NTKERNELAPI NTSTATUS RtlQueryRegistryValues(_In_ ULONG RelativeTo, _In_ PCWSTR Path,
                                            _Inout_ PRTL_QUERY_REGISTRY_TABLE QueryTable, _In_opt_ PVOID Context,
                                            _In_opt_ PVOID Environment);
NTKERNELAPI NTSTATUS RtlWriteRegistryValue(_In_ ULONG RelativeTo, _In_ PCWSTR Path, _In_z_ PCWSTR ValueName,
                                           _In_ ULONG ValueType, _In_opt_ PVOID ValueData, _In_ ULONG ValueLength);
NTKERNELAPI NTSTATUS RtlDeleteRegistryValue(_In_ ULONG RelativeTo, _In_ PCWSTR Path, _In_z_ PCWSTR ValueName);
NTKERNELAPI NTSTATUS RtlCheckRegistryKey(_In_ ULONG RelativeTo, _In_ PWSTR Path);
NTKERNELAPI NTSTATUS RtlCreateRegistryKey(_In_ ULONG RelativeTo, _In_ PWSTR Path);

EXTERN_C_END

#endif
