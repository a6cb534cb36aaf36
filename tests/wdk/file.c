/* SPDX-License-Identifier: MIT */
/* Files that drivers open: only inside of the host's directory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntifs.h"

#include "openndk/wdk.h"
#include "wdk/common/live.h"
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

/* ---- one handle, two threads ---- */

enum { TAKEN = 20000 };

struct taking {
    HANDLE file;
    atomic_int taken[TAKEN];
};

static void *read_numbers(void *context)
{
    struct taking *t = context;
    IO_STATUS_BLOCK block;
    uint32_t number;

    while (NT_SUCCESS(ZwReadFile(t->file, NULL, NULL, NULL, &block, &number, sizeof number, NULL, NULL)))
        atomic_fetch_add(&t->taken[number % TAKEN], 1);
    return NULL;
}

/* Seeking and reading is atomic: each thread reads data that the other has not read. */
static void test_one_position(void **state)
{
    static struct taking t;
    static uint32_t numbers[TAKEN];
    IO_STATUS_BLOCK block;
    LARGE_INTEGER start = { .QuadPart = 0 };
    pthread_t other;

    (void)state;
    for (uint32_t i = 0; i < TAKEN; i++)
        numbers[i] = i;
    assert_int_equal(
        open_file(L"\\??\\C:\\file.txt", GENERIC_READ | GENERIC_WRITE, FILE_OVERWRITE_IF, 0, &t.file, NULL),
        STATUS_SUCCESS);
    assert_int_equal(ZwWriteFile(t.file, NULL, NULL, NULL, &block, numbers, sizeof numbers, &start, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ZwSetInformationFile(t.file, &block, &start, sizeof start, FilePositionInformation),
                     STATUS_SUCCESS);
    assert_int_equal(pthread_create(&other, NULL, read_numbers, &t), 0);
    (void)read_numbers(&t);
    assert_int_equal(pthread_join(other, NULL), 0);
    for (int i = 0; i < TAKEN; i++)
        assert_int_equal(t.taken[i], 1);
    assert_int_equal(ZwClose(t.file), STATUS_SUCCESS);
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
                                        cmocka_unit_test(test_one_position),
                                        cmocka_unit_test(test_zero_in_name),
                                        cmocka_unit_test(test_bad_handle) };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
