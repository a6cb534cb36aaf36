/* SPDX-License-Identifier: MIT */
/* Files that drivers open: only inside of the host's directory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntifs.h"

#include "child.h"
#include "live_count.h"
#include "openndk/wdk.h"
#include "openndk/verify.h"

static char root[] = "/tmp/ondk-files-XXXXXX";

static void at(char path[200], const char *name)
{
    snprintf(path, 200, "%s/%s", root, name);
}

static int make_root(void **state)
{
    char path[200];

    (void)state;
    assert_non_null(mkdtemp(root));
    at(path, "C");
    assert_int_equal(mkdir(path, 0700), 0);
    at(path, "SystemRoot");
    assert_int_equal(mkdir(path, 0700), 0);
    at(path, "C/out");
    assert_int_equal(symlink("/etc", path), 0);
    return ondk_wdk_set_file_root(root);
}

static int remove_root(void **state)
{
    static const char *names[] = {
        "C/out", "C/file.txt", "C/log.txt", "C/new/sub/file", "C/new/sub/deep", "C/new/sub", "C/new", "SystemRoot/log",
        "C",     "SystemRoot", ""
    };
    char path[200];

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(names); i++) {
        at(path, names[i]);
        assert_int_equal(remove(path), 0);
    }
    return 0;
}

static NTSTATUS open_below(HANDLE below, PCWSTR name, ACCESS_MASK access, ULONG disposition, ULONG options,
                           HANDLE *file, ULONG_PTR *how)
{
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;
    IO_STATUS_BLOCK block;
    NTSTATUS status;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, &wide, OBJ_KERNEL_HANDLE, below, NULL);
    status = ZwCreateFile(file, access, &a, &block, NULL, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ, disposition,
                          options | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
    assert_int_equal(block.Status, status);
    if (how)
        *how = block.Information;
    return status;
}

static NTSTATUS open_file(PCWSTR name, ACCESS_MASK access, ULONG disposition, ULONG options, HANDLE *file,
                          ULONG_PTR *how)
{
    return open_below(NULL, name, access, disposition, options, file, how);
}

static void test_read_write(void **state)
{
    uint32_t before = live_count();
    HANDLE file;
    ULONG_PTR how;
    IO_STATUS_BLOCK block;
    char buffer[16] = "";
    LARGE_INTEGER offset = { .QuadPart = 1 }, end = { .QuadPart = -1 };
    FILE_STANDARD_INFORMATION info;
    FILE_POSITION_INFORMATION position;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_file(L"\\??\\c:\\file.txt", GENERIC_READ | GENERIC_WRITE, FILE_CREATE, 0, &file, &how),
                     STATUS_SUCCESS);
    assert_int_equal(how, FILE_CREATED);
    assert_int_equal(live_count(), before + 1);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "abcdef", 6, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 6);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "gh", 2, &end, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 3, &offset, NULL), STATUS_SUCCESS);
    assert_memory_equal(buffer, "bcd", 3);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 16, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 4);
    assert_memory_equal(buffer, "efgh", 4);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 16, NULL, NULL), STATUS_END_OF_FILE);
    assert_int_equal(ZwQueryInformationFile(file, &block, &info, sizeof info, FileStandardInformation), STATUS_SUCCESS);
    assert_int_equal(info.EndOfFile.QuadPart, 8);
    assert_false(info.Directory);
    assert_int_equal(ZwQueryInformationFile(file, &block, &position, sizeof position, FilePositionInformation),
                     STATUS_SUCCESS);
    assert_int_equal(position.CurrentByteOffset.QuadPart, 8);
    assert_int_equal(ZwQueryInformationFile(file, &block, &info, 4, FileStandardInformation),
                     STATUS_INFO_LENGTH_MISMATCH);
    end.QuadPart = 3;
    assert_int_equal(ZwSetInformationFile(file, &block, &end, sizeof end, FileEndOfFileInformation), STATUS_SUCCESS);
    assert_int_equal(ZwSetInformationFile(file, &block, &offset, sizeof offset, FilePositionInformation),
                     STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 16, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 2);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_CREATE, 0, &file, NULL),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(open_file(L"\\DosDevices\\C:\\file.txt", GENERIC_READ, FILE_OPEN, 0, &file, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_OPENED);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "x", 1, NULL, NULL), STATUS_ACCESS_DENIED);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_WRITE, FILE_OVERWRITE, 0, &file, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_OVERWRITTEN);
    ZwClose(file);
    assert_int_equal(live_count(), before);
}

static void test_places(void **state)
{
    HANDLE file;
    char path[200];

    (void)state;
    assert_int_equal(open_file(L"\\SystemRoot\\log", GENERIC_WRITE, FILE_OPEN_IF, 0, &file, NULL), STATUS_SUCCESS);
    ZwClose(file);
    at(path, "SystemRoot/log");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(open_file(L"\\??\\C:\\out\\passwd", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(open_file(L"\\??\\C:\\..\\..\\etc\\passwd", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(open_file(L"\\??\\C:\\../../etc/passwd", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_file(L"\\SystemRoot\\..\\..\\..\\new", GENERIC_WRITE, FILE_CREATE, 0, &file, NULL),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(open_file(L"\\??\\C:\\SystemRoot", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_file(L"\\Device\\Nobody", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ondk_wdk_set_file_root("/nowhere"), -1);
}

/* Data is written at the end, at any offset that the driver specifies. */
static void test_append(void **state)
{
    LARGE_INTEGER start = { .QuadPart = 0 };
    IO_STATUS_BLOCK block;
    char buffer[8] = "";
    HANDLE file;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\log.txt", FILE_APPEND_DATA | SYNCHRONIZE, FILE_OPEN_IF, 0, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "ab", 2, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "cd", 2, &start, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 4, &start, NULL), STATUS_ACCESS_DENIED);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\log.txt", GENERIC_READ | GENERIC_WRITE, FILE_OPEN, 0, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 8, &start, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 4);
    assert_memory_equal(buffer, "abcd", 4);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "x", 1, &start, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, buffer, 8, &start, NULL), STATUS_SUCCESS);
    assert_memory_equal(buffer, "xbcd", 4);
    ZwClose(file);
}

/* A flush needs a handle that can write. */
static void test_flush(void **state)
{
    IO_STATUS_BLOCK block = { .Status = STATUS_PENDING, .Information = 7 };
    HANDLE file;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_WRITE, FILE_OPEN_IF, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "x", 1, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwFlushBuffersFile(file, &block), STATUS_SUCCESS);
    assert_int_equal(block.Status, STATUS_SUCCESS);
    assert_int_equal(block.Information, 0);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_OPEN, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwFlushBuffersFile(file, &block), STATUS_ACCESS_DENIED);
    assert_int_equal(block.Status, STATUS_ACCESS_DENIED);
    ZwClose(file);
}

static NTSTATUS fs_control(HANDLE file, ULONG code, const FILE_ZERO_DATA_INFORMATION *range)
{
    IO_STATUS_BLOCK block = { .Status = STATUS_PENDING, .Information = 7 };
    ULONG length = range ? sizeof *range : 0;
    NTSTATUS status = ZwFsControlFile(file, NULL, NULL, NULL, &block, code, (PVOID)(uintptr_t)range, length, NULL, 0);

    assert_int_equal(block.Status, status);
    assert_int_equal(block.Information, 0);
    return status;
}

/* A file's range is zeroed, and its size stays. Other controls of files do not exist. */
static void test_fs_control(void **state)
{
    FILE_ZERO_DATA_INFORMATION range = { .FileOffset.QuadPart = 1, .BeyondFinalZero.QuadPart = 3 };
    IO_STATUS_BLOCK block;
    LARGE_INTEGER start = { .QuadPart = 0 };
    char text[8] = "";
    HANDLE file;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ | GENERIC_WRITE, FILE_OVERWRITE_IF, 0, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "abcd", 4, &start, NULL), STATUS_SUCCESS);
    assert_int_equal(fs_control(file, FSCTL_SET_SPARSE, NULL), STATUS_SUCCESS);
    assert_int_equal(fs_control(file, FSCTL_SET_ZERO_DATA, &range), STATUS_SUCCESS);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, text, sizeof text, &start, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 4);
    assert_memory_equal(text, "a\0\0d", 4);
    assert_int_equal(fs_control(file, FSCTL_SET_ZERO_DATA, NULL), STATUS_INVALID_PARAMETER);
    range.BeyondFinalZero.QuadPart = 1;
    assert_int_equal(fs_control(file, FSCTL_SET_ZERO_DATA, &range), STATUS_SUCCESS);
    range.BeyondFinalZero.QuadPart = 0;
    assert_int_equal(fs_control(file, FSCTL_SET_ZERO_DATA, &range), STATUS_INVALID_PARAMETER);
    assert_int_equal(fs_control(file, FSCTL_DISMOUNT_VOLUME, NULL), STATUS_INVALID_DEVICE_REQUEST);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_OPEN, 0, &file, NULL), STATUS_SUCCESS);
    range.BeyondFinalZero.QuadPart = 2;
    assert_int_equal(fs_control(file, FSCTL_SET_ZERO_DATA, &range), STATUS_ACCESS_DENIED);
    assert_int_equal(fs_control(file, FSCTL_SET_SPARSE, NULL), STATUS_ACCESS_DENIED);
    ZwClose(file);
}

static NTSTATUS open_directory(PCWSTR name, ULONG disposition, ULONG_PTR *how)
{
    HANDLE file;
    NTSTATUS status = open_file(name, GENERIC_READ, disposition, FILE_DIRECTORY_FILE, &file, how);

    if (NT_SUCCESS(status))
        ZwClose(file);
    return status;
}

static void test_directories(void **state)
{
    ULONG_PTR how;
    HANDLE file;

    (void)state;
    assert_int_equal(open_directory(L"\\??\\C:\\new", FILE_OPEN, &how), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_directory(L"\\??\\C:\\new\\sub", FILE_CREATE, &how), STATUS_OBJECT_PATH_NOT_FOUND);
    assert_int_equal(open_directory(L"\\??\\C:\\new", FILE_CREATE, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_CREATED);
    assert_int_equal(open_directory(L"\\??\\C:\\new\\", FILE_OPEN_IF, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_OPENED);
    assert_int_equal(open_directory(L"\\??\\C:\\new", FILE_CREATE, &how), STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(open_directory(L"\\??\\C:\\new\\sub\\", FILE_OPEN_IF, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_CREATED);
    assert_int_equal(open_directory(L"\\??\\C:\\new", FILE_OVERWRITE_IF, &how), STATUS_INVALID_PARAMETER);
    assert_int_equal(open_directory(L"\\??\\C:\\out\\new", FILE_CREATE, &how), STATUS_ACCESS_DENIED);
    assert_int_equal(open_directory(L"\\??\\C:\\..\\..\\new", FILE_CREATE, &how), STATUS_ACCESS_DENIED);
    assert_int_equal(open_file(L"\\??\\C:\\new", GENERIC_READ, FILE_OPEN, FILE_NON_DIRECTORY_FILE, &file, NULL),
                     STATUS_FILE_IS_A_DIRECTORY);
}

/* A name relative to an open directory must stay below it. */
static void test_below_a_directory(void **state)
{
    HANDLE directory, file, other;
    ULONG_PTR how;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\new", GENERIC_READ, FILE_OPEN, FILE_DIRECTORY_FILE, &directory, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(open_below(directory, L"sub\\", GENERIC_READ, FILE_OPEN, FILE_DIRECTORY_FILE, &other, &how),
                     STATUS_SUCCESS);
    assert_int_equal(how, FILE_OPENED);
    assert_int_equal(open_below(directory, L"sub\\file", GENERIC_WRITE, FILE_CREATE, 0, &file, &how), STATUS_SUCCESS);
    assert_int_equal(how, FILE_CREATED);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    assert_int_equal(open_below(other, L"file", GENERIC_READ, FILE_OPEN, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(open_below(file, L"file", GENERIC_READ, FILE_OPEN, 0, &(HANDLE){ NULL }, NULL),
                     STATUS_OBJECT_PATH_NOT_FOUND);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    assert_int_equal(open_below(other, L"", GENERIC_READ, FILE_OPEN, FILE_DIRECTORY_FILE, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    assert_int_equal(open_below(other, L"deep", GENERIC_READ, FILE_CREATE, FILE_DIRECTORY_FILE, &file, &how),
                     STATUS_SUCCESS);
    assert_int_equal(how, FILE_CREATED);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    assert_int_equal(open_below(other, L"..\\sub\\file", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(open_below(other, L"\\??\\C:\\new\\sub\\file", GENERIC_READ, FILE_OPEN, 0, &file, NULL),
                     STATUS_OBJECT_PATH_SYNTAX_BAD);
    assert_int_equal(open_below(other, L"none", GENERIC_READ, FILE_OPEN, 0, &file, NULL), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ZwClose(other), STATUS_SUCCESS);
    assert_int_equal(ZwClose(directory), STATUS_SUCCESS);
}

/* ---- information ---- */

static void test_information(void **state)
{
    FILE_BASIC_INFORMATION basic, set = { .LastWriteTime.QuadPart = 132539328000000001 }; /* 2021-01-01 */
    FILE_NETWORK_OPEN_INFORMATION network;
    FILE_INTERNAL_INFORMATION one, other;
    FILE_ALIGNMENT_INFORMATION alignment = { 7 };
    FILE_ATTRIBUTE_TAG_INFORMATION tag = { 1, 1 };
    IO_STATUS_BLOCK block;
    HANDLE file, directory;
    LARGE_INTEGER now;

    (void)state;
    KeQuerySystemTime(&now);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_ALL, FILE_OVERWRITE_IF, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "abc", 3, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(file, &block, &basic, sizeof basic, FileBasicInformation), STATUS_SUCCESS);
    assert_int_equal(block.Information, sizeof basic);
    assert_int_equal(basic.FileAttributes, FILE_ATTRIBUTE_NORMAL);
    assert_true(llabs(basic.LastWriteTime.QuadPart - now.QuadPart) < 600000000);
    assert_true(basic.CreationTime.QuadPart <= basic.ChangeTime.QuadPart);
    set.FileAttributes = FILE_ATTRIBUTE_READONLY;
    assert_int_equal(ZwSetInformationFile(file, &block, &set, sizeof set, FileBasicInformation), STATUS_SUCCESS);
    assert_int_equal(NtQueryInformationFile(file, &block, &network, sizeof network, FileNetworkOpenInformation),
                     STATUS_SUCCESS);
    assert_int_equal(network.LastWriteTime.QuadPart, set.LastWriteTime.QuadPart);
    assert_int_equal(network.LastAccessTime.QuadPart, basic.LastAccessTime.QuadPart);
    assert_int_equal(network.EndOfFile.QuadPart, 3);
    assert_int_equal(network.FileAttributes, FILE_ATTRIBUTE_READONLY);
    set.FileAttributes = FILE_ATTRIBUTE_DIRECTORY;
    assert_int_equal(ZwSetInformationFile(file, &block, &set, sizeof set, FileBasicInformation),
                     STATUS_INVALID_PARAMETER);
    set = (FILE_BASIC_INFORMATION){ .FileAttributes = FILE_ATTRIBUTE_NORMAL, .LastAccessTime.QuadPart = -1 };
    assert_int_equal(ZwSetInformationFile(file, &block, &set, sizeof set, FileBasicInformation), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(file, &block, &tag, sizeof tag, FileAttributeTagInformation),
                     STATUS_SUCCESS);
    assert_int_equal(tag.FileAttributes, FILE_ATTRIBUTE_NORMAL);
    assert_int_equal(tag.ReparseTag, 0);
    assert_int_equal(ZwQueryInformationFile(file, &block, &alignment, sizeof alignment, FileAlignmentInformation),
                     STATUS_SUCCESS);
    assert_int_equal(alignment.AlignmentRequirement, FILE_BYTE_ALIGNMENT);
    assert_int_equal(ZwQueryInformationFile(file, &block, &one, sizeof one, FileInternalInformation), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(file, &block, &one, sizeof one, FileModeInformation),
                     STATUS_INVALID_INFO_CLASS);
    assert_int_equal(open_file(L"\\??\\C:\\", GENERIC_READ, FILE_OPEN, 0, &directory, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(directory, &block, &basic, sizeof basic, FileBasicInformation),
                     STATUS_SUCCESS);
    assert_int_equal(basic.FileAttributes, FILE_ATTRIBUTE_DIRECTORY);
    assert_int_equal(ZwQueryInformationFile(directory, &block, &other, sizeof other, FileInternalInformation),
                     STATUS_SUCCESS);
    assert_int_not_equal(one.IndexNumber.QuadPart, other.IndexNumber.QuadPart);
    assert_int_equal(ZwSetInformationFile(directory, &block, &set, sizeof set, FileBasicInformation),
                     STATUS_ACCESS_DENIED); /* opened without FILE_WRITE_ATTRIBUTES */
    ZwClose(directory);
    ZwClose(file);
}

static void test_volume(void **state)
{
    union {
        FILE_FS_ATTRIBUTE_INFORMATION attributes;
        unsigned char bytes[64];
    } b = { .bytes = { 0 } };
    FILE_FS_VOLUME_INFORMATION volume = { .VolumeLabelLength = 7 }, other = { .VolumeLabelLength = 7 };
    FILE_FS_SIZE_INFORMATION size;
    FILE_FS_FULL_SIZE_INFORMATION full;
    FILE_FS_DEVICE_INFORMATION device;
    IO_STATUS_BLOCK block;
    struct stat st;
    HANDLE file;

    (void)state;
    assert_int_equal(stat(root, &st), 0);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_OPEN_IF, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &volume, sizeof volume, FileFsVolumeInformation),
                     STATUS_SUCCESS);
    assert_int_equal(block.Information, FIELD_OFFSET(FILE_FS_VOLUME_INFORMATION, VolumeLabel));
    assert_int_equal(volume.VolumeSerialNumber, (ULONG)(st.st_dev ^ st.st_dev >> 32));
    assert_int_equal(volume.VolumeLabelLength, 0);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &other, sizeof other - 1, FileFsVolumeInformation),
                     STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(other.VolumeLabelLength, 7);
    assert_int_equal(NtQueryVolumeInformationFile(file, &block, &full, sizeof full, FileFsFullSizeInformation),
                     STATUS_SUCCESS);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &size, sizeof size, FileFsSizeInformation),
                     STATUS_SUCCESS);
    assert_int_equal(block.Information, sizeof size);
    assert_true(size.BytesPerSector * size.SectorsPerAllocationUnit > 0);
    assert_int_equal(size.TotalAllocationUnits.QuadPart, full.TotalAllocationUnits.QuadPart);
    assert_true(full.CallerAvailableAllocationUnits.QuadPart <= full.ActualAvailableAllocationUnits.QuadPart);
    assert_true(full.ActualAvailableAllocationUnits.QuadPart <= full.TotalAllocationUnits.QuadPart);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &device, sizeof device, FileFsDeviceInformation),
                     STATUS_SUCCESS);
    assert_int_equal(device.DeviceType, FILE_DEVICE_DISK);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &b, sizeof b.attributes, FileFsAttributeInformation),
                     STATUS_BUFFER_OVERFLOW);
    assert_int_equal(block.Information, sizeof b.attributes);
    assert_int_equal(b.attributes.FileSystemNameLength, 4);
    assert_memory_equal(b.bytes + FIELD_OFFSET(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName), L"Li", 4);
    assert_int_equal(b.bytes[sizeof b.attributes], 0);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &b, sizeof b, FileFsAttributeInformation),
                     STATUS_SUCCESS);
    assert_int_equal(block.Information, 22);
    assert_int_equal(b.attributes.FileSystemNameLength, 10);
    assert_memory_equal(b.bytes + FIELD_OFFSET(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName), L"Linux", 10);
    assert_true(b.attributes.FileSystemAttributes & FILE_SUPPORTS_SPARSE_FILES);
    assert_int_equal(ZwQueryVolumeInformationFile(file, &block, &b, sizeof b, FileFsControlInformation),
                     STATUS_INVALID_INFO_CLASS);
    ZwClose(file);
}

static int64_t size_of(HANDLE file)
{
    FILE_STANDARD_INFORMATION info;
    IO_STATUS_BLOCK block;

    assert_int_equal(ZwQueryInformationFile(file, &block, &info, sizeof info, FileStandardInformation), STATUS_SUCCESS);
    return info.EndOfFile.QuadPart;
}

static NTSTATUS set_size(HANDLE file, FILE_INFORMATION_CLASS class, int64_t size)
{
    LARGE_INTEGER value = { .QuadPart = size };
    IO_STATUS_BLOCK block;

    return ZwSetInformationFile(file, &block, &value, sizeof value, class);
}

static void test_sizes(void **state)
{
    HANDLE file;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_WRITE, FILE_OVERWRITE_IF, 0, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 100), STATUS_SUCCESS);
    assert_int_equal(set_size(file, FileEndOfFileInformation, -1), STATUS_INVALID_PARAMETER);
    assert_int_equal(set_size(file, FileAllocationInformation, 200), STATUS_SUCCESS);
    assert_int_equal(size_of(file), 100);
    assert_int_equal(set_size(file, FileAllocationInformation, 50), STATUS_SUCCESS);
    assert_int_equal(size_of(file), 50);
    assert_int_equal(set_size(file, FileValidDataLengthInformation, 51), STATUS_INVALID_PARAMETER);
    assert_int_equal(set_size(file, FileValidDataLengthInformation, 50), STATUS_SUCCESS);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\file.txt", GENERIC_READ, FILE_OPEN, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(set_size(file, FileAllocationInformation, 0), STATUS_ACCESS_DENIED);
    assert_int_equal(set_size(file, FileStandardInformation, 0), STATUS_INVALID_INFO_CLASS);
    ZwClose(file);
}

static NTSTATUS mark_deleted(HANDLE file, BOOLEAN delete)
{
    FILE_DISPOSITION_INFORMATION disposition = { delete };
    IO_STATUS_BLOCK block;

    return ZwSetInformationFile(file, &block, &disposition, sizeof disposition, FileDispositionInformation);
}

static bool exists(const char *name)
{
    char path[200];

    at(path, name);
    return access(path, F_OK) == 0;
}

static void test_delete(void **state)
{
    FILE_STANDARD_INFORMATION info;
    FILE_BASIC_INFORMATION read_only = { .FileAttributes = FILE_ATTRIBUTE_READONLY };
    IO_STATUS_BLOCK block;
    HANDLE file, other;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\gone", GENERIC_WRITE, FILE_CREATE, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_ACCESS_DENIED);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\gone", DELETE | FILE_WRITE_ATTRIBUTES, FILE_OPEN, 0, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(open_file(L"\\??\\C:\\gone", GENERIC_READ, FILE_OPEN, 0, &other, NULL), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, FALSE), STATUS_SUCCESS);
    assert_int_equal(ZwSetInformationFile(file, &block, &read_only, sizeof read_only, FileBasicInformation),
                     STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_CANNOT_DELETE);
    read_only.FileAttributes = FILE_ATTRIBUTE_NORMAL;
    assert_int_equal(ZwSetInformationFile(file, &block, &read_only, sizeof read_only, FileBasicInformation),
                     STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(file, &block, &info, sizeof info, FileStandardInformation), STATUS_SUCCESS);
    assert_true(info.DeletePending);
    assert_true(exists("C/gone"));
    ZwClose(file);
    assert_false(exists("C/gone"));
    ZwClose(other);
    assert_int_equal(open_file(L"\\??\\C:\\gone", GENERIC_WRITE, FILE_CREATE, FILE_DELETE_ON_CLOSE, &file, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        open_file(L"\\??\\C:\\gone", GENERIC_WRITE | DELETE, FILE_CREATE, FILE_DELETE_ON_CLOSE, &file, NULL),
        STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, FALSE), STATUS_SUCCESS);
    ZwClose(file);
    assert_false(exists("C/gone"));
    assert_int_equal(open_file(L"\\??\\C:\\new", DELETE, FILE_OPEN, FILE_DIRECTORY_FILE, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_DIRECTORY_NOT_EMPTY);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\leaf", DELETE, FILE_CREATE, FILE_DIRECTORY_FILE, &file, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_SUCCESS);
    ZwClose(file);
    assert_false(exists("C/leaf"));
    assert_int_equal(open_file(L"\\??\\C:\\", DELETE, FILE_OPEN, FILE_DIRECTORY_FILE, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_CANNOT_DELETE);
    ZwClose(file);
}

/* Deletes a file in a root directory of its own, which is also the directory that the host sets. */
static void delete_below_root(void)
{
    char path[200];
    HANDLE file;

    at(path, "proc");
    if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mkdir(path, 0700) || mount("/proc", path, NULL, MS_BIND | MS_REC, NULL) || chroot(root) ||
        ondk_wdk_set_file_root("/"))
        _exit(2);
    assert_int_equal(open_file(L"\\??\\C:\\gone", GENERIC_ALL, FILE_CREATE, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(mark_deleted(file, TRUE), STATUS_SUCCESS);
    ZwClose(file);
    if (!access("/C/gone", F_OK))
        _exit(3);
}

static void test_delete_below_root(void **state)
{
    int status = child_status(delete_below_root);
    char path[200];

    (void)state;
    at(path, "proc");
    (void)rmdir(path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        print_message("a mount namespace is needed\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static NTSTATUS rename_file(HANDLE file, HANDLE below, const WCHAR *name, BOOLEAN replace)
{
    union {
        FILE_RENAME_INFORMATION info;
        char room[200];
    } to = { .info = { .ReplaceIfExists = replace, .RootDirectory = below } };
    WCHAR *text = (WCHAR *)(void *)(to.room + offsetof(FILE_RENAME_INFORMATION, FileName));
    IO_STATUS_BLOCK block;
    ULONG length = 0;

    for (; name[length]; length++)
        text[length] = name[length];
    to.info.FileNameLength = length * (ULONG)sizeof(WCHAR);
    return ZwSetInformationFile(file, &block, &to, sizeof to, FileRenameInformation);
}

static void test_rename(void **state)
{
    HANDLE file, directory;

    (void)state;
    assert_int_equal(open_file(L"\\??\\C:\\first", GENERIC_WRITE, FILE_CREATE, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(rename_file(file, NULL, L"second", FALSE), STATUS_ACCESS_DENIED);
    ZwClose(file);
    assert_int_equal(open_file(L"\\??\\C:\\first", DELETE, FILE_OPEN, 0, &file, NULL), STATUS_SUCCESS);
    assert_int_equal(rename_file(file, NULL, L"second", FALSE), STATUS_SUCCESS);
    assert_true(exists("C/second") && !exists("C/first"));
    assert_int_equal(rename_file(file, NULL, L"log.txt", FALSE), STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(rename_file(file, NULL, L"new", TRUE), STATUS_ACCESS_DENIED);
    assert_int_equal(rename_file(file, NULL, L"..\\x", TRUE), STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(rename_file(file, NULL, L"..", TRUE), STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(rename_file(file, NULL, L"\\??\\C:\\none\\x", FALSE), STATUS_OBJECT_PATH_NOT_FOUND);
    assert_int_equal(rename_file(file, NULL, L"\\??\\C:\\out\\x", FALSE), STATUS_ACCESS_DENIED);
    assert_int_equal(rename_file(file, NULL, L"\\??\\C:\\..\\..\\x", FALSE), STATUS_ACCESS_DENIED);
    assert_int_equal(rename_file(file, NULL, L"\\??\\C:\\new\\third", FALSE), STATUS_SUCCESS);
    assert_true(exists("C/new/third"));
    assert_int_equal(open_file(L"\\??\\C:\\new\\sub", GENERIC_READ, FILE_OPEN, FILE_DIRECTORY_FILE, &directory, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(rename_file(file, directory, L"fourth", FALSE), STATUS_SUCCESS);
    ZwClose(directory);
    assert_true(exists("C/new/sub/fourth") && !exists("C/new/third"));
    assert_int_equal(rename_file(file, NULL, L"\\SystemRoot\\log", TRUE), STATUS_SUCCESS);
    assert_true(exists("SystemRoot/log") && !exists("C/new/sub/fourth"));
    ZwClose(file);
}

/* ---- one handle, two threads ---- */

enum { BLOCKS = 1000, BLOCK = 4096, ROUNDS = 50 };

struct reading {
    HANDLE file;
    pthread_barrier_t begin, end;
    atomic_int n_read[BLOCKS]; /* how often each block was read */
};

static void *read_blocks(void *context)
{
    struct reading *r = context;
    IO_STATUS_BLOCK block;
    uint32_t data[BLOCK / sizeof(uint32_t)]; /* begins with the block's index */

    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&r->begin);
        while (NT_SUCCESS(ZwReadFile(r->file, NULL, NULL, NULL, &block, data, sizeof data, NULL, NULL)))
            atomic_fetch_add(&r->n_read[data[0] % BLOCKS], 1);
        pthread_barrier_wait(&r->end);
    }
    return NULL;
}

/* Seeking and reading is atomic: each block is read by one of the threads. */
static void test_one_position(void **state)
{
    static struct reading r;
    static uint32_t blocks[BLOCKS][BLOCK / sizeof(uint32_t)];
    IO_STATUS_BLOCK block;
    LARGE_INTEGER start = { .QuadPart = 0 };
    pthread_t threads[2];

    (void)state;
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks[i][0] = i;
    assert_int_equal(
        open_file(L"\\??\\C:\\file.txt", GENERIC_READ | GENERIC_WRITE, FILE_OVERWRITE_IF, 0, &r.file, NULL),
        STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(r.file, NULL, NULL, NULL, &block, blocks, sizeof blocks, &start, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(pthread_barrier_init(&r.begin, NULL, 3), 0);
    assert_int_equal(pthread_barrier_init(&r.end, NULL, 3), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_blocks, &r), 0);
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(ZwSetInformationFile(r.file, &block, &start, sizeof start, FilePositionInformation),
                         STATUS_SUCCESS);
        pthread_barrier_wait(&r.begin);
        pthread_barrier_wait(&r.end);
        for (int i = 0; i < BLOCKS; i++)
            assert_int_equal(r.n_read[i], round + 1);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&r.begin);
    pthread_barrier_destroy(&r.end);
    assert_int_equal(ZwClose(r.file), STATUS_SUCCESS);
}

/* A name that contains a zero is not the name before it. */
static void test_zero_in_name(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\??\\C:\\log.txt\0x");
    OBJECT_ATTRIBUTES a;
    IO_STATUS_BLOCK block;
    HANDLE file;

    (void)state;
    InitializeObjectAttributes(&a, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenFile(&file, GENERIC_READ, &a, &block, 0, FILE_SYNCHRONOUS_IO_NONALERT),
                     STATUS_OBJECT_NAME_NOT_FOUND);
}

static void test_bad_handle(void **state)
{
    uint32_t before = ondk_verify_breaches();
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    IO_STATUS_BLOCK block;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_wdk_set_output(out);
    assert_int_equal(ZwReadFile((HANDLE)12, NULL, NULL, NULL, &block, text, 1, NULL, NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(ZwFlushBuffersFile((HANDLE)16, &block), STATUS_INVALID_HANDLE);
    ondk_wdk_set_output(NULL);
    fclose(out);
    assert_int_equal(ondk_verify_breaches(), before + 2);
    assert_non_null(strstr(text, "handle-invalid in ZwReadFile"));
    assert_non_null(strstr(text, "handle-invalid in ZwFlushBuffersFile"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_read_write),
                                        cmocka_unit_test(test_places),
                                        cmocka_unit_test(test_append),
                                        cmocka_unit_test(test_flush),
                                        cmocka_unit_test(test_fs_control),
                                        cmocka_unit_test(test_directories),
                                        cmocka_unit_test(test_below_a_directory),
                                        cmocka_unit_test(test_information),
                                        cmocka_unit_test(test_volume),
                                        cmocka_unit_test(test_sizes),
                                        cmocka_unit_test(test_delete),
                                        cmocka_unit_test(test_delete_below_root),
                                        cmocka_unit_test(test_rename),
                                        cmocka_unit_test(test_one_position),
                                        cmocka_unit_test(test_zero_in_name),
                                        cmocka_unit_test(test_bad_handle) };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
