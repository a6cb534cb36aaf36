/* SPDX-License-Identifier: MIT */
/* Sections of memory and of files, their names, and views of them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
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

#include "child.h"
#include "live_count.h"
#include "report.h"

enum { GRANULARITY = 0x10000 };

static char root[] = "/tmp/ondk-section-XXXXXX";

static int make_root(void **state)
{
    char path[200];

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/C", root);
    assert_int_equal(mkdir(path, 0700), 0);
    return ondk_wdk_set_file_root(root);
}

static int remove_root(void **state)
{
    static const char *names[] = { "C/data", "C/empty", "C", "" };
    char path[200];

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        assert_int_equal(remove(path), 0);
    }
    return 0;
}

static NTSTATUS create(HANDLE *section, PCWSTR name, ULONG attributes, int64_t size, ULONG protection, HANDLE file)
{
    LARGE_INTEGER maximum = { .QuadPart = size };
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, name ? &wide : NULL, attributes | OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwCreateSection(section, SECTION_ALL_ACCESS, &a, size ? &maximum : NULL, protection, SEC_COMMIT, file);
}

static NTSTATUS open_named(HANDLE *section, PCWSTR name)
{
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, &wide, OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwOpenSection(section, SECTION_MAP_READ, &a);
}

static NTSTATUS map_at(HANDLE section, char **base, int64_t *offset, SIZE_T *size, ULONG protect)
{
    LARGE_INTEGER at = { .QuadPart = offset ? *offset : 0 };
    NTSTATUS status = ZwMapViewOfSection(section, NtCurrentProcess(), (PVOID *)base, 0, 0, offset ? &at : NULL, size,
                                         ViewUnmap, 0, protect);

    if (offset)
        *offset = at.QuadPart;
    return status;
}

static char *map(HANDLE section, ULONG protect, SIZE_T expected)
{
    char *base = NULL;
    SIZE_T size = 0;

    assert_int_equal(map_at(section, &base, NULL, &size, protect), STATUS_SUCCESS);
    assert_int_equal(size, expected);
    assert_int_equal((uintptr_t)base % GRANULARITY, 0);
    return base;
}

static void unmap(void *base)
{
    assert_int_equal(ZwUnmapViewOfSection(NtCurrentProcess(), base), STATUS_SUCCESS);
}

/* Views of one section show the same memory, which lives until the last view is unmapped. */
static void test_memory(void **state)
{
    uint32_t before = live_count();
    HANDLE section;
    char *one, *two, *copy;

    (void)state;
    assert_int_equal(create(&section, NULL, 0, 5000, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    one = map(section, PAGE_READWRITE, 8192);
    two = map(section, PAGE_READWRITE | PAGE_NOCACHE, 8192);
    assert_ptr_not_equal(one, two);
    assert_int_equal(one[8191], 0);
    one[8191] = 7;
    assert_int_equal(two[8191], 7);
    copy = map(section, PAGE_WRITECOPY, 8192);
    assert_int_equal(copy[8191], 7);
    copy[8191] = 8;
    assert_int_equal(one[8191], 7);
    assert_int_equal(live_count(), before + 4);
    assert_int_equal(ZwClose(section), STATUS_SUCCESS);
    unmap(one);
    assert_int_equal(two[8191], 7);
    unmap(two + 8191); /* any address inside */
    assert_int_equal(ZwUnmapViewOfSection(NtCurrentProcess(), two), STATUS_NOT_MAPPED_VIEW);
    assert_int_equal(ZwUnmapViewOfSection(NtCurrentProcess(), copy + 8192), STATUS_NOT_MAPPED_VIEW);
    unmap(copy);
    assert_int_equal(live_count(), before);
}

static void test_create_refuses(void **state)
{
    LARGE_INTEGER size = { .QuadPart = 4096 };
    HANDLE section;

    (void)state;
    assert_int_equal(create(&section, NULL, 0, 0, PAGE_READWRITE, NULL), STATUS_INVALID_PARAMETER_4);
    assert_int_equal(create(&section, NULL, 0, -1, PAGE_READWRITE, NULL), STATUS_SECTION_TOO_BIG);
    assert_int_equal(create(&section, NULL, 0, 1LL << 60, PAGE_READWRITE, NULL), STATUS_SECTION_TOO_BIG);
    assert_int_equal(create(&section, NULL, 0, 1, PAGE_NOACCESS, NULL), STATUS_INVALID_PAGE_PROTECTION);
    assert_int_equal(create(&section, NULL, 0, 1, PAGE_READONLY | PAGE_READWRITE, NULL),
                     STATUS_INVALID_PAGE_PROTECTION);
    assert_int_equal(create(&section, NULL, 0, 1, PAGE_READWRITE | PAGE_NOCACHE, NULL), STATUS_INVALID_PAGE_PROTECTION);
    assert_int_equal(ZwCreateSection(&section, SECTION_ALL_ACCESS, NULL, &size, PAGE_READWRITE, 0, NULL),
                     STATUS_INVALID_PARAMETER_6);
    assert_int_equal(
        ZwCreateSection(&section, SECTION_ALL_ACCESS, NULL, &size, PAGE_READWRITE, SEC_COMMIT | SEC_RESERVE, NULL),
        STATUS_INVALID_PARAMETER_6);
    assert_int_equal(ZwCreateSection(&section, SECTION_ALL_ACCESS, NULL, &size, PAGE_READONLY, SEC_IMAGE, NULL),
                     STATUS_NOT_SUPPORTED);
    assert_null(section);
}

static NTSTATUS map_with(HANDLE section, ULONG_PTR zero_bits, SIZE_T commit, SECTION_INHERIT inherit, ULONG type,
                         ULONG protect)
{
    PVOID base = NULL;
    SIZE_T size = 4096;

    return ZwMapViewOfSection(section, NtCurrentProcess(), &base, zero_bits, commit, NULL, &size, inherit, type,
                              protect);
}

static void test_map_refuses(void **state)
{
    HANDLE section, read_only;

    (void)state;
    assert_int_equal(create(&section, NULL, 0, 4096, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    assert_int_equal(create(&read_only, NULL, 0, 4096, PAGE_READONLY, NULL), STATUS_SUCCESS);
    assert_int_equal(map_with(section, 21, 0, ViewUnmap, 0, PAGE_READWRITE), STATUS_INVALID_PARAMETER_4);
    assert_int_equal(map_with(section, 0, 4097, ViewUnmap, 0, PAGE_READWRITE), STATUS_INVALID_PARAMETER_5);
    assert_int_equal(map_with(section, 0, 0, 0, 0, PAGE_READWRITE), STATUS_INVALID_PARAMETER_8);
    assert_int_equal(map_with(section, 0, 0, ViewShare, MEM_COMMIT, PAGE_READWRITE), STATUS_INVALID_PARAMETER_9);
    assert_int_equal(map_with(section, 0, 0, ViewShare, 0, 0), STATUS_INVALID_PAGE_PROTECTION);
    assert_int_equal(map_with(section, 0, 0, ViewShare, 0, PAGE_EXECUTE_READ), STATUS_SECTION_PROTECTION);
    assert_int_equal(map_with(read_only, 0, 0, ViewShare, 0, PAGE_READWRITE), STATUS_SECTION_PROTECTION);
    ZwClose(read_only);
    ZwClose(section);
}

static void test_parts(void **state)
{
    HANDLE section;
    char *whole, *part = NULL, *other = NULL;
    int64_t offset = 3 * GRANULARITY - 1;
    SIZE_T size = 1;

    (void)state;
    assert_int_equal(create(&section, NULL, 0, 4 * GRANULARITY, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    whole = map(section, PAGE_READWRITE, 4 * GRANULARITY);
    whole[2 * GRANULARITY] = 'x';
    assert_int_equal(map_at(section, &part, &offset, &size, PAGE_READONLY), STATUS_SUCCESS);
    assert_int_equal(offset, 2 * GRANULARITY);
    assert_int_equal(size, 4096);
    assert_int_equal(part[0], 'x');
    size = 4096;
    other = part + 100;
    assert_int_equal(map_at(section, &other, NULL, &size, PAGE_READONLY), STATUS_CONFLICTING_ADDRESSES);
    unmap(part);
    assert_int_equal(map_at(section, &other, NULL, &size, PAGE_READONLY), STATUS_SUCCESS);
    assert_ptr_equal(other, part);
    unmap(other);
    offset = 4 * GRANULARITY;
    other = NULL;
    assert_int_equal(map_at(section, &other, &offset, &size, PAGE_READONLY), STATUS_INVALID_VIEW_SIZE);
    offset = 3 * GRANULARITY;
    size = GRANULARITY + 1;
    assert_int_equal(map_at(section, &other, &offset, &size, PAGE_READONLY), STATUS_INVALID_VIEW_SIZE);
    unmap(whole);
    ZwClose(section);
}

/* A name exists while a handle is open, even if there are views. */
static void test_names(void **state)
{
    HANDLE section, second, other;
    UNICODE_STRING relative = RTL_CONSTANT_STRING(L"Shared");
    OBJECT_ATTRIBUTES a;
    char *one, *two;

    (void)state;
    assert_int_equal(open_named(&second, L"\\BaseNamedObjects\\Shared"), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(create(&section, L"\\BaseNamedObjects\\Shared", 0, 4096, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    assert_int_equal(create(&other, L"\\basenamedobjects\\global\\SHARED", 0, 4096, PAGE_READWRITE, NULL),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(create(&other, L"\\BaseNamedObjects\\Shared", OBJ_OPENIF, 9999, PAGE_READONLY, NULL),
                     STATUS_OBJECT_NAME_EXISTS);
    assert_int_equal(open_named(&second, L"\\BaseNamedObjects\\Global\\Shared"), STATUS_SUCCESS);
    assert_int_equal(open_named(&(HANDLE){ NULL }, L"\\BaseNamedObjects\\Shared\\x"), STATUS_OBJECT_NAME_NOT_FOUND);
    one = map(other, PAGE_READWRITE, 4096);
    two = map(second, PAGE_READWRITE, 4096);
    one[5] = 'y';
    assert_int_equal(two[5], 'y');
    ZwClose(section);
    ZwClose(other);
    assert_int_equal(open_named(&section, L"\\BaseNamedObjects\\Shared"), STATUS_SUCCESS);
    ZwClose(section);
    ZwClose(second);
    assert_int_equal(open_named(&section, L"\\BaseNamedObjects\\Shared"), STATUS_OBJECT_NAME_NOT_FOUND);
    unmap(one);
    unmap(two);
    InitializeObjectAttributes(&a, &relative, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenSection(&section, SECTION_MAP_READ, &a), STATUS_OBJECT_PATH_SYNTAX_BAD);
}

static void *create_and_close(void *unused)
{
    enum { ROUNDS = 3000 };

    for (int i = 0; i < ROUNDS; i++) {
        HANDLE section;
        NTSTATUS status = create(&section, L"\\BaseNamedObjects\\Raced", OBJ_OPENIF, 4096, PAGE_READWRITE, NULL);

        if (status != STATUS_OBJECT_NAME_EXISTS)
            assert_int_equal(status, STATUS_SUCCESS);
        assert_int_equal(ZwClose(section), STATUS_SUCCESS);
    }
    return unused;
}

/* OBJ_OPENIF creates or opens the section, even while other threads open it and close its last handle. */
static void test_open_if_race(void **state)
{
    uint32_t before = live_count();
    pthread_t threads[3];

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, create_and_close, NULL), 0);
    for (size_t i = 0; i < RTL_NUMBER_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(live_count(), before);
}

static NTSTATUS try_open_file(HANDLE *file, PCWSTR name, ACCESS_MASK access, ULONG disposition)
{
    UNICODE_STRING wide;
    OBJECT_ATTRIBUTES a;
    IO_STATUS_BLOCK block;

    RtlInitUnicodeString(&wide, name);
    InitializeObjectAttributes(&a, &wide, OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwCreateFile(file, access, &a, &block, NULL, FILE_ATTRIBUTE_NORMAL, 0, disposition,
                        FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
}

static HANDLE open_file(PCWSTR name, ACCESS_MASK access, ULONG disposition)
{
    HANDLE file;

    assert_int_equal(try_open_file(&file, name, access, disposition), STATUS_SUCCESS);
    return file;
}

/* The section needs no handle of the file, extends the file, and writes to it. */
static void test_file(void **state)
{
    HANDLE file = open_file(L"\\??\\C:\\data", GENERIC_READ | GENERIC_WRITE, FILE_CREATE), section, directory;
    HANDLE empty = open_file(L"\\??\\C:\\empty", GENERIC_READ, FILE_CREATE);
    IO_STATUS_BLOCK block;
    FILE_STANDARD_INFORMATION info;
    char *view, text[4] = "";
    LARGE_INTEGER at = { .QuadPart = 4999 };

    (void)state;
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &block, "abc", 3, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(create(&section, NULL, 0, 0, PAGE_READONLY, empty), STATUS_MAPPED_FILE_SIZE_ZERO);
    assert_int_equal(create(&section, NULL, 0, 10, PAGE_READONLY, file), STATUS_SECTION_TOO_BIG);
    assert_int_equal(create(&section, NULL, 0, 5000, PAGE_READWRITE, file), STATUS_SUCCESS);
    assert_int_equal(ZwQueryInformationFile(file, &block, &info, sizeof info, FileStandardInformation), STATUS_SUCCESS);
    assert_int_equal(info.EndOfFile.QuadPart, 5000);
    assert_int_equal(ZwClose(file), STATUS_SUCCESS);
    view = map(section, PAGE_READWRITE, 8192);
    assert_memory_equal(view, "abc\0", 4);
    view[4999] = 'z';
    ZwClose(section);
    unmap(view);
    file = open_file(L"\\??\\C:\\data", GENERIC_READ, FILE_OPEN);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &block, text, 4, &at, NULL), STATUS_SUCCESS);
    assert_int_equal(block.Information, 1);
    assert_int_equal(text[0], 'z');
    assert_int_equal(create(&section, NULL, 0, 0, PAGE_READWRITE, file), STATUS_ACCESS_DENIED);
    directory = open_file(L"\\??\\C:\\", GENERIC_READ, FILE_OPEN);
    assert_int_equal(create(&section, NULL, 0, 0, PAGE_READONLY, directory), STATUS_INVALID_FILE_FOR_SECTION);
    ZwClose(directory);
    ZwClose(file);
    ZwClose(empty);
}

static NTSTATUS set_size(HANDLE file, FILE_INFORMATION_CLASS class, int64_t size)
{
    LARGE_INTEGER value = { .QuadPart = size };
    IO_STATUS_BLOCK block;

    return ZwSetInformationFile(file, &block, &value, sizeof value, class);
}

static void check_overwrites(NTSTATUS expected)
{
    static const ULONG dispositions[] = { FILE_SUPERSEDE, FILE_OVERWRITE, FILE_OVERWRITE_IF };

    for (size_t i = 0; i < RTL_NUMBER_OF(dispositions); i++) {
        HANDLE file = NULL;

        assert_int_equal(try_open_file(&file, L"\\??\\C:\\data", GENERIC_WRITE, dispositions[i]), expected);
        if (file)
            ZwClose(file);
    }
}

/* A file does not become shorter while a section or a view of it exists. */
static void test_truncate(void **state)
{
    HANDLE file = open_file(L"\\??\\C:\\data", GENERIC_READ | GENERIC_WRITE, FILE_OPEN), section;
    char *view;

    (void)state;
    assert_int_equal(set_size(file, FileEndOfFileInformation, 8192), STATUS_SUCCESS);
    assert_int_equal(create(&section, NULL, 0, 0, PAGE_READWRITE, file), STATUS_SUCCESS);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 100), STATUS_USER_MAPPED_FILE);
    view = map(section, PAGE_READWRITE, 8192);
    ZwClose(section);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 8191), STATUS_USER_MAPPED_FILE);
    assert_int_equal(set_size(file, FileAllocationInformation, 100), STATUS_USER_MAPPED_FILE);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 8192), STATUS_SUCCESS);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 9000), STATUS_SUCCESS);
    check_overwrites(STATUS_USER_MAPPED_FILE);
    view[8191] = 'v';
    unmap(view);
    assert_int_equal(set_size(file, FileEndOfFileInformation, 100), STATUS_SUCCESS);
    check_overwrites(STATUS_SUCCESS);
    ZwClose(file);
}

/* A handle of the process object serves as NtCurrentProcess() does; a handle of something else does not. */
static void unmap_by_handle_of_process(HANDLE section)
{
    PVOID base = NULL;
    SIZE_T size = 0;
    HANDLE process;

    assert_int_equal(
        ObOpenObjectByPointer(PsGetCurrentProcess(), OBJ_KERNEL_HANDLE, NULL, 0, *PsProcessType, KernelMode, &process),
        STATUS_SUCCESS);
    assert_int_equal(ZwMapViewOfSection(section, process, &base, 0, 0, NULL, &size, ViewUnmap, 0, PAGE_READONLY),
                     STATUS_SUCCESS);
    assert_int_equal(ZwUnmapViewOfSection(section, base), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(ZwUnmapViewOfSection(process, base), STATUS_SUCCESS);
    ZwClose(process);
}

static void test_system_space(void **state)
{
    uint32_t before = live_count();
    HANDLE section;
    PVOID object, base, part, other;
    SIZE_T size = 0;
    char *view;

    (void)state;
    assert_int_equal(create(&section, NULL, 0, 8192, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    assert_int_equal(
        ObReferenceObjectByHandle(section, SECTION_MAP_READ, *MmSectionObjectType, KernelMode, &object, NULL),
        STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(section, 0, *IoFileObjectType, KernelMode, &other, NULL),
                     STATUS_OBJECT_TYPE_MISMATCH);
    view = map(section, PAGE_READWRITE, 8192);
    unmap_by_handle_of_process(section);
    ZwClose(section);
    assert_int_equal(MmMapViewInSystemSpace(object, &base, &size), STATUS_SUCCESS);
    assert_int_equal(size, 8192);
    size = 1;
    assert_int_equal(MmMapViewInSystemSpace(object, &part, &size), STATUS_SUCCESS);
    assert_int_equal(size, 4096);
    size = 8193;
    assert_int_equal(MmMapViewInSystemSpace(object, &other, &size), STATUS_INVALID_VIEW_SIZE);
    assert_null(other);
    view[1] = 'q';
    assert_int_equal(((char *)base)[1], 'q');
    ObDereferenceObject(object);
    assert_int_equal(ZwUnmapViewOfSection(NtCurrentProcess(), base), STATUS_NOT_MAPPED_VIEW);
    assert_int_equal(MmUnmapViewInSystemSpace(view), STATUS_NOT_MAPPED_VIEW);
    assert_int_equal(MmUnmapViewInSystemSpace((char *)base + 1), STATUS_NOT_MAPPED_VIEW);
    assert_int_equal(MmUnmapViewInSystemSpace(base), STATUS_SUCCESS);
    assert_int_equal(MmUnmapViewInSystemSpace(part), STATUS_SUCCESS);
    unmap(view);
    assert_int_equal(live_count(), before);
}

static void unmap_with_timer(void)
{
    LARGE_INTEGER later = { .QuadPart = -600000000 };
    HANDLE section;
    PKTIMER timer;

    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    assert_int_equal(create(&section, NULL, 0, 4096, PAGE_READWRITE, NULL), STATUS_SUCCESS);
    timer = (PKTIMER)(void *)map(section, PAGE_READWRITE, 4096);
    KeInitializeTimer(timer);
    KeSetTimer(timer, later, NULL);
    unmap(timer);
}

static void test_misuse(void **state)
{
    struct report *r;

    (void)state;
    child_aborts(unmap_with_timer);
    r = report_start();
    assert_int_equal(ZwUnmapViewOfSection((HANDLE)(LONG_PTR)12, NULL), STATUS_INVALID_HANDLE);
    report_is(r, "handle-invalid in ZwUnmapViewOfSection");
    r = report_start();
    assert_int_equal(map_with((HANDLE)(LONG_PTR)16, 0, 0, ViewUnmap, 0, PAGE_READONLY), STATUS_INVALID_HANDLE);
    report_is(r, "handle-invalid in ZwMapViewOfSection");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_create_refuses), cmocka_unit_test(test_map_refuses),
        cmocka_unit_test(test_parts),        cmocka_unit_test(test_names),          cmocka_unit_test(test_file),
        cmocka_unit_test(test_truncate),     cmocka_unit_test(test_open_if_race),   cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_system_space),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
