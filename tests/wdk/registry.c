/* SPDX-License-Identifier: MIT */
/* The registry: by handle, by path, and as a host fills it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "wdm.h"

#include "live_count.h"
#include "openndk/wdk.h"
#include "wdk/mm/pool.h"
#include "openndk/verify.h"

static NTSTATUS open_key(HANDLE root, PCWSTR path, bool create, HANDLE *key, ULONG *how)
{
    OBJECT_ATTRIBUTES a;
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, path);
    InitializeObjectAttributes(&a, &name, OBJ_KERNEL_HANDLE | OBJ_CASE_INSENSITIVE, root, NULL);
    return create ? ZwCreateKey(key, KEY_ALL_ACCESS, &a, 0, NULL, REG_OPTION_NON_VOLATILE, how)
                  : ZwOpenKey(key, KEY_READ, &a);
}

static NTSTATUS set(HANDLE key, PCWSTR name, ULONG type, const void *data, ULONG size)
{
    UNICODE_STRING wide;

    RtlInitUnicodeString(&wide, name);
    return ZwSetValueKey(key, &wide, 0, type, (PVOID)(uintptr_t)data, size);
}

/* Returns only the value. */
static NTSTATUS get(HANDLE key, PCWSTR name, ULONG *type, void *data, ULONG cap, ULONG *size)
{
    char buffer[256];
    KEY_VALUE_PARTIAL_INFORMATION *info = (void *)buffer;
    UNICODE_STRING wide;
    ULONG result;
    NTSTATUS status;

    RtlInitUnicodeString(&wide, name);
    status = ZwQueryValueKey(key, &wide, KeyValuePartialInformation, info, sizeof buffer, &result);
    if (status)
        return status;
    *type = info->Type;
    *size = info->DataLength;
    memcpy(data, info->Data, min(cap, info->DataLength));
    return status;
}

static void test_keys(void **state)
{
    HANDLE a, b, c, d;
    ULONG how = 0;
    uint32_t before = live_count();

    (void)state;
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\One\\Two", true, &a, &how), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\One", true, &a, &how), STATUS_SUCCESS);
    assert_int_equal(how, REG_CREATED_NEW_KEY);
    assert_int_equal(open_key(NULL, L"\\REGISTRY\\machine\\ONE", true, &b, &how), STATUS_SUCCESS);
    assert_int_equal(how, REG_OPENED_EXISTING_KEY);
    assert_int_equal(open_key(a, L"Two", true, &c, &how), STATUS_SUCCESS);
    assert_int_equal(live_count(), before + 3);
    assert_int_equal(open_key(NULL, L"\\Machine\\One", false, &d, NULL), STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(open_key(NULL, L"\\Registry\\Nobody", true, &d, NULL), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_key(a, L"\\Registry\\Machine", false, &d, NULL), STATUS_OBJECT_PATH_SYNTAX_BAD);
    assert_int_equal(ZwDeleteKey(a), STATUS_CANNOT_DELETE);
    assert_int_equal(ZwDeleteKey(c), STATUS_SUCCESS);
    assert_int_equal(ZwFlushKey(c), STATUS_KEY_DELETED);
    assert_int_equal(set(c, L"x", REG_DWORD, &how, 4), STATUS_KEY_DELETED);
    assert_int_equal(ZwClose(c), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteKey(b), STATUS_SUCCESS);
    ZwClose(a);
    ZwClose(b);
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\One", false, &a, NULL), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(live_count(), before);
}

static void test_values(void **state)
{
    HANDLE key;
    ULONG type = 0, size = 0, number = 7, out = 0, result;
    char buffer[128];
    KEY_VALUE_FULL_INFORMATION *full = (void *)buffer;
    KEY_VALUE_BASIC_INFORMATION *basic = (void *)buffer;
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"text");

    (void)state;
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\Values", true, &key, NULL), STATUS_SUCCESS);
    assert_int_equal(get(key, L"number", &type, &out, 4, &size), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(set(key, L"number", REG_DWORD, &number, 4), STATUS_SUCCESS);
    assert_int_equal(set(key, L"text", REG_SZ, L"abc", 8), STATUS_SUCCESS);
    assert_int_equal(get(key, L"NUMBER", &type, &out, 4, &size), STATUS_SUCCESS);
    assert_int_equal(type * 100 + size * 10 + out, REG_DWORD * 100 + 47);
    number = 8;
    assert_int_equal(set(key, L"Number", REG_DWORD, &number, 4), STATUS_SUCCESS);
    assert_int_equal(get(key, L"number", &type, &out, 4, &size), STATUS_SUCCESS);
    assert_int_equal(out, 8);
    /* too small for the fixed part, for the data, and exactly enough */
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, buffer, 11, &result),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(result, 20);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, buffer, 16, &result),
                     STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(((KEY_VALUE_PARTIAL_INFORMATION *)(void *)buffer)->Data, L"ab", 4);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, buffer, 20, &result), STATUS_SUCCESS);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, NULL, 0, &result),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValueFullInformation, buffer, sizeof buffer, &result),
                     STATUS_SUCCESS);
    assert_memory_equal(full->Name, L"text", full->NameLength);
    assert_memory_equal(buffer + full->DataOffset, L"abc", 8);
    assert_int_equal(ZwEnumerateValueKey(key, 1, KeyValueBasicInformation, buffer, sizeof buffer, &result),
                     STATUS_SUCCESS);
    assert_memory_equal(basic->Name, L"text", basic->NameLength);
    assert_int_equal(ZwEnumerateValueKey(key, 2, KeyValueBasicInformation, buffer, sizeof buffer, &result),
                     STATUS_NO_MORE_ENTRIES);
    assert_int_equal(ZwDeleteValueKey(key, &name), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteValueKey(key, &name), STATUS_OBJECT_NAME_NOT_FOUND);
    ZwClose(key);
}

static void test_key_information(void **state)
{
    HANDLE key, sub;
    char buffer[256];
    KEY_BASIC_INFORMATION *basic = (void *)buffer;
    KEY_FULL_INFORMATION *full = (void *)buffer;
    KEY_NAME_INFORMATION *name = (void *)buffer;
    ULONG result;

    (void)state;
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\Info", true, &key, NULL), STATUS_SUCCESS);
    assert_int_equal(open_key(key, L"First", true, &sub, NULL), STATUS_SUCCESS);
    ZwClose(sub);
    assert_int_equal(open_key(key, L"Second", true, &sub, NULL), STATUS_SUCCESS);
    assert_int_equal(set(key, L"value", REG_BINARY, "12345", 5), STATUS_SUCCESS);
    assert_int_equal(ZwQueryKey(key, KeyFullInformation, buffer, sizeof buffer, &result), STATUS_SUCCESS);
    assert_int_equal(full->SubKeys, 2);
    assert_int_equal(full->MaxNameLen, 12);
    assert_int_equal(full->Values, 1);
    assert_int_equal(full->MaxValueNameLen, 10);
    assert_int_equal(full->MaxValueDataLen, 5);
    assert_true(full->LastWriteTime.QuadPart > 133000000000000000);
    assert_int_equal(ZwEnumerateKey(key, 1, KeyBasicInformation, buffer, sizeof buffer, &result), STATUS_SUCCESS);
    assert_int_equal(basic->NameLength, 12);
    assert_memory_equal(basic->Name, L"Second", 12);
    assert_int_equal(ZwEnumerateKey(key, 2, KeyBasicInformation, buffer, sizeof buffer, &result),
                     STATUS_NO_MORE_ENTRIES);
    assert_int_equal(ZwQueryKey(sub, KeyNameInformation, buffer, sizeof buffer, &result), STATUS_SUCCESS);
    assert_int_equal(name->NameLength, 58);
    assert_memory_equal(name->Name, L"\\Registry\\Machine\\Info\\Second", 58);
    ZwClose(sub);
    ZwClose(key);
}

static void test_bad_handles(void **state)
{
    uint32_t before = ondk_verify_breaches();
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    HANDLE key;
    ULONG result;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_wdk_set_output(out);
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\Values", false, &key, NULL), STATUS_SUCCESS);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    assert_int_equal(ondk_verify_breaches(), before);
    assert_int_equal(ZwClose(key), STATUS_INVALID_HANDLE);
    assert_int_equal(ZwQueryKey(key, KeyFullInformation, NULL, 0, &result), STATUS_INVALID_HANDLE);
    ondk_wdk_set_output(NULL);
    fclose(out);
    assert_int_equal(ondk_verify_breaches(), before + 2);
    assert_non_null(strstr(text, "handle-invalid in ZwClose: handle "));
    assert_non_null(strstr(text, "handle-invalid in ZwQueryKey: handle "));
    free(text);
}

/* ---- By path ---------------------------------------------------------------------------------------------------- */

#define SERVICE L"sample\\Parameters"

static void fill(void)
{
    ULONG number = 5;

    assert_int_equal(ondk_wdk_registry_set("HKLM\\System\\CurrentControlSet\\Services\\sample\\Parameters", "Number",
                                           REG_DWORD, &number, 4),
                     0);
    assert_int_equal(ondk_wdk_registry_set_text("HKLM\\System\\CurrentControlSet\\Services\\sample\\Parameters", "Text",
                                                REG_SZ, "w\xc3\xa9", 3),
                     0);
    assert_int_equal(ondk_wdk_registry_set_text("HKLM\\System\\CurrentControlSet\\Services\\sample\\Parameters", "List",
                                                REG_MULTI_SZ, "one\0two\0", 8),
                     0);
}

static void test_direct(void **state)
{
    ULONG number = 0, missing = 0, fallback = 77;
    UNICODE_STRING text = { 0 }, standard = { 0 };
    UNICODE_STRING many = { 0 };
    RTL_QUERY_REGISTRY_TABLE table[] = {
        { NULL, RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK, (PWSTR)(uintptr_t)L"Number", &number,
          REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT, NULL, 0 },
        { NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)(uintptr_t)L"Text", &text, REG_NONE, NULL, 0 },
        { NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)(uintptr_t)L"Missing", &missing, REG_DWORD, &fallback,
          sizeof fallback },
        { NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)(uintptr_t)L"NoText", &standard, REG_SZ, (PVOID)(uintptr_t)L"def",
          0 },
        { NULL, RTL_QUERY_REGISTRY_DIRECT, (PWSTR)(uintptr_t)L"List", &many, REG_NONE, NULL, 0 },
        { 0 },
    };
    uint64_t before = pool_block_count();

    (void)state;
    fill();
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(number, 5);
    assert_int_equal(missing, 77);
    assert_int_equal(text.Length, 4);
    assert_memory_equal(text.Buffer, L"w\xe9", 6);
    assert_memory_equal(standard.Buffer, L"def", 8);
    assert_int_equal(many.Length, 16);
    assert_memory_equal(many.Buffer, L"one\0two\0", 18);
    RtlFreeUnicodeString(&text);
    RtlFreeUnicodeString(&standard);
    RtlFreeUnicodeString(&many);
    assert_int_equal(pool_block_count(), before);
    table[0].DefaultType = REG_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, NULL, NULL),
                     STATUS_OBJECT_TYPE_MISMATCH);
    table[0] = table[2];
    table[0].Flags |= RTL_QUERY_REGISTRY_REQUIRED;
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, NULL, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"nobody", table, NULL, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
}

/* Queries one value into the driver's buffer. */
static NTSTATUS direct(PCWSTR name, ULONG flags, PVOID out, ULONG type, const void *standard)
{
    RTL_QUERY_REGISTRY_TABLE table[] = {
        { NULL, RTL_QUERY_REGISTRY_DIRECT | flags, (PWSTR)(uintptr_t)name, out, type, (PVOID)(uintptr_t)standard, 0 },
        { 0 },
    };

    return RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, NULL, NULL);
}

static void test_direct_room(void **state)
{
    static const char key[] = "HKLM\\System\\CurrentControlSet\\Services\\sample\\Parameters";
    WCHAR buffer[8];
    UNICODE_STRING text = { 0, sizeof buffer, buffer };
    LONG bytes[4] = { -6, 0, 0, 0 };

    (void)state;
    fill();
    assert_int_equal(ondk_wdk_registry_set(key, "Six", REG_BINARY, "123456", 6), 0);
    assert_int_equal(direct(L"Six", 0, bytes, 0, NULL), STATUS_SUCCESS);
    assert_memory_equal(bytes, "123456", 6);
    bytes[0] = -5;
    assert_int_equal(direct(L"Six", 0, bytes, 0, NULL), STATUS_BUFFER_TOO_SMALL);
    bytes[0] = MINLONG;
    assert_int_equal(direct(L"Six", 0, bytes, 0, NULL), STATUS_SUCCESS);
    bytes[0] = 13;
    assert_int_equal(direct(L"Six", 0, bytes, 0, NULL), STATUS_BUFFER_TOO_SMALL);
    bytes[0] = 14;
    assert_int_equal(direct(L"Six", RTL_QUERY_REGISTRY_DELETE, bytes, 0, NULL), STATUS_SUCCESS);
    assert_true(bytes[0] == 6 && bytes[1] == REG_BINARY && !memcmp(bytes + 2, "123456", 6));
    assert_int_equal(direct(L"Missing", 0, &text, REG_MULTI_SZ, L"a\0bc\0"), STATUS_SUCCESS);
    assert_int_equal(text.Length, 10);
    assert_memory_equal(buffer, L"a\0bc\0", 12);
    text.MaximumLength = 4;
    assert_int_equal(direct(L"Text", 0, &text, 0, NULL), STATUS_BUFFER_TOO_SMALL);
    text.MaximumLength = 6;
    assert_int_equal(direct(L"Text", 0, &text, 0, NULL), STATUS_SUCCESS);
    assert_memory_equal(buffer, L"w\xe9", 6);
    assert_int_equal(direct(L"Text", RTL_QUERY_REGISTRY_NOVALUE, &text, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(direct(L"Text", RTL_QUERY_REGISTRY_SUBKEY, &text, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(direct(NULL, 0, &text, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, NULL), STATUS_SUCCESS);
}

static void expands(const WCHAR *environment, ULONG flags, const char *text, const void *expected, size_t size)
{
    static const char key[] = "HKLM\\System\\CurrentControlSet\\Services\\sample\\Parameters";
    UNICODE_STRING out = { 0 };
    RTL_QUERY_REGISTRY_TABLE table[] = {
        { NULL, RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK | RTL_QUERY_REGISTRY_DELETE | flags,
          (PWSTR)(uintptr_t)L"Path", &out, REG_EXPAND_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT, NULL, 0 },
        { 0 },
    };

    assert_int_equal(ondk_wdk_registry_set_text(key, "Path", REG_EXPAND_SZ, text, (uint32_t)strlen(text)), 0);
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, NULL, (PVOID)(uintptr_t)environment),
                     STATUS_SUCCESS);
    assert_int_equal(out.Length + sizeof(WCHAR), size);
    assert_memory_equal(out.Buffer, expected, size);
    RtlFreeUnicodeString(&out);
}

#define EXPANDS(environment, flags, text, expected) expands(environment, flags, text, expected, sizeof(expected))

static void test_expand(void **state)
{
    static const WCHAR own[] = L"=C:=C:\\\0a=1\0LONGER=%a%\0empty=\0";

    (void)state;
    EXPANDS(NULL, 0, "%SystemRoot%\\x", L"C:\\Windows\\x");
    EXPANDS(NULL, 0, "%systemdrive%%WINDIR%", L"C:C:\\Windows");
    EXPANDS(NULL, RTL_QUERY_REGISTRY_NOEXPAND, "%SystemRoot%", L"%SystemRoot%");
    EXPANDS(NULL, 0, "%a% %%%SystemDrive% 50% of %System", L"%a% %%C: 50% of %System");
    EXPANDS(own, 0, "<%A%|%longer%|%empty%|%SystemRoot%|%long%>", L"<1|%a%||%SystemRoot%|%long%>");
    EXPANDS(own, 0, "%", L"%");
    EXPANDS(own, 0, "", L"");
    EXPANDS(L"", 0, "%a%", L"%a%");
}

struct seen {
    char text[200];
};

static NTSTATUS see(PWSTR name, ULONG type, PVOID data, ULONG length, PVOID context, PVOID entry)
{
    struct seen *s = context;
    size_t at = strlen(s->text);

    snprintf(s->text + at, sizeof s->text - at, "%c%u:%u:%c%s ", name ? (char)name[0] : '-', type, length,
             data ? *(char *)data : '-', (const char *)entry);
    return STATUS_SUCCESS;
}

static void test_callbacks(void **state)
{
    struct seen seen = { "" };
    RTL_QUERY_REGISTRY_TABLE table[] = {
        { see, 0, NULL, (PVOID)(uintptr_t) "a", REG_NONE, NULL, 0 },
        { see, RTL_QUERY_REGISTRY_NOVALUE, NULL, (PVOID)(uintptr_t) "b", REG_NONE, NULL, 0 },
        { see, RTL_QUERY_REGISTRY_NOEXPAND | RTL_QUERY_REGISTRY_DELETE, (PWSTR)(uintptr_t)L"List",
          (PVOID)(uintptr_t) "c", REG_NONE, NULL, 0 },
        { see, 0, (PWSTR)(uintptr_t)L"List", (PVOID)(uintptr_t) "d", REG_NONE, NULL, 0 },
        { see, 0, (PWSTR)(uintptr_t)L"Other", (PVOID)(uintptr_t) "e", REG_SZ, (PVOID)(uintptr_t)L"zz", 0 },
        { 0 },
    };
    RTL_QUERY_REGISTRY_TABLE sub[] = {
        { NULL, RTL_QUERY_REGISTRY_SUBKEY, (PWSTR)(uintptr_t)L"Parameters", NULL, REG_NONE, NULL, 0 },
        { see, 0, (PWSTR)(uintptr_t)L"Number", (PVOID)(uintptr_t) "s", REG_NONE, NULL, 0 },
        { see, RTL_QUERY_REGISTRY_TOPKEY, (PWSTR)(uintptr_t)L"Number", (PVOID)(uintptr_t) "t", REG_NONE, NULL, 0 },
        { 0 },
    };

    (void)state;
    fill();
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, SERVICE, table, &seen, NULL), STATUS_SUCCESS);
    assert_string_equal(seen.text, "N4:4:\x05"
                                   "a T1:6:wa L1:8:oa L1:8:ta -0:0:-b L7:18:oc O1:6:ze ");
    seen.text[0] = 0;
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, L"sample", sub, &seen, NULL), STATUS_SUCCESS);
    assert_string_equal(seen.text, "N4:4:\x05s ");
}

static void test_by_path(void **state)
{
    ULONG number = 3;
    PWSTR path = (PWSTR)(uintptr_t)L"\\Registry\\Machine\\ByPath";

    (void)state;
    assert_int_equal(RtlCheckRegistryKey(RTL_REGISTRY_ABSOLUTE, path), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(RtlCreateRegistryKey(RTL_REGISTRY_ABSOLUTE, path), STATUS_SUCCESS);
    assert_int_equal(RtlCheckRegistryKey(RTL_REGISTRY_ABSOLUTE, path), STATUS_SUCCESS);
    assert_int_equal(RtlWriteRegistryValue(RTL_REGISTRY_ABSOLUTE, path, L"n", REG_DWORD, &number, 4), STATUS_SUCCESS);
    assert_int_equal(RtlDeleteRegistryValue(RTL_REGISTRY_ABSOLUTE, path, L"n"), STATUS_SUCCESS);
    assert_int_equal(RtlDeleteRegistryValue(RTL_REGISTRY_ABSOLUTE, path, L"n"), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(RtlCheckRegistryKey(99, path), STATUS_INVALID_PARAMETER);
}

/* ---- .reg files ------------------------------------------------------------------------------------------------- */

static int load(const void *text, size_t length)
{
    char path[] = "/tmp/ondk-reg-XXXXXX";
    int file = mkstemp(path), result;

    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), length);
    close(file);
    result = ondk_wdk_registry_load(path);
    unlink(path);
    return result;
}

#define HEAD "Windows Registry Editor Version 5.00\r\n\r\n"
#define LOAD(text) load(text, sizeof(text) - 1)

static void test_file(void **state)
{
    HANDLE key;
    ULONG type = 0, size = 0;
    uint8_t out[64] = { 0 };

    (void)state;
    assert_int_equal(LOAD(HEAD "; a comment\r\n[HKEY_LOCAL_MACHINE\\File\\Sub]\r\n@=\"default\"\r\n"
                               "\"a \\\"name\\\"\"=\"C:\\\\x\"\r\n\"n\"=dword:0000ff10\r\n"
                               "\"b\"=hex:01,02,\\\r\n  ff\r\n\"q\"=hex(b):01,00,00,00,00,00,00,80\r\n"
                               "[HKLM\\Gone]\r\n\"x\"=dword:1\r\n[-HKEY_LOCAL_MACHINE\\Gone]\r\n"),
                     0);
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\Gone", false, &key, NULL), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_key(NULL, L"\\Registry\\Machine\\File\\Sub", false, &key, NULL), STATUS_SUCCESS);
    assert_int_equal(get(key, L"", &type, out, sizeof out, &size), STATUS_SUCCESS);
    assert_memory_equal(out, L"default", 16);
    assert_int_equal(get(key, L"a \"name\"", &type, out, sizeof out, &size), STATUS_SUCCESS);
    assert_memory_equal(out, L"C:\\x", 10);
    assert_int_equal(get(key, L"n", &type, out, sizeof out, &size), STATUS_SUCCESS);
    assert_memory_equal(out, "\x10\xff\0\0", 4);
    assert_int_equal(get(key, L"b", &type, out, sizeof out, &size), STATUS_SUCCESS);
    assert_int_equal(type * 10 + size, REG_BINARY * 10 + 3);
    assert_memory_equal(out, "\1\2\xff", 3);
    assert_int_equal(get(key, L"q", &type, out, sizeof out, &size), STATUS_SUCCESS);
    assert_int_equal(type * 10 + size, REG_QWORD * 10 + 8);
    assert_int_equal(LOAD("\xff\xfeR\0E\0G\0E\0D\0I\0T\0"
                          "4\0\n\0[\0H\0K\0L\0M\0\\\0F\0i\0l\0e\0\\\0S\0u\0b\0]\0\n\0\"\0n\0\"\0=\0-\0"),
                     0);
    assert_int_equal(get(key, L"n", &type, out, sizeof out, &size), STATUS_OBJECT_NAME_NOT_FOUND);
    ZwClose(key);
}

static void bad(int result, const char *words)
{
    assert_int_equal(result, -1);
    if (!strstr(ondk_wdk_error(), words))
        fail_msg("\"%s\" lacks \"%s\"", ondk_wdk_error(), words);
}

static void test_bad_file(void **state)
{
    (void)state;
    bad(ondk_wdk_registry_load("/nowhere.reg"), "/nowhere.reg: No such file");
    bad(LOAD("[HKLM\\x]\n"), ":1: \"Windows Registry Editor");
    bad(LOAD(HEAD "\"a\"=dword:1\n"), ":3: a [key] comes before");
    bad(LOAD(HEAD "[HKLM\\x]\n\"a\"=dword:123456789\n"), ":4: a number of at most eight");
    bad(LOAD(HEAD "[HKLM\\x]\n\"a=1\n"), "quotation mark is missing");
    bad(LOAD(HEAD "[HKLM\\x]\n\"a\"=\"text\n"), "in quotation marks");
    bad(LOAD(HEAD "[HKLM\\x]\n\"a\"=hex:1,zz\n"), "bytes in hexadecimal");
    bad(LOAD(HEAD "[HKLM\\x]\n\"a\"=qword:1\n"), "is expected after the equals sign");
    bad(LOAD(HEAD "[HKLM\\x\n"), "[key] is expected");
    bad(LOAD(HEAD "nonsense\n"), "neither [key] nor");
    bad(LOAD(HEAD "[NOBODY\\x]\n"), "0xC0000033");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),        cmocka_unit_test(test_values),    cmocka_unit_test(test_key_information),
        cmocka_unit_test(test_bad_handles), cmocka_unit_test(test_direct),    cmocka_unit_test(test_direct_room),
        cmocka_unit_test(test_expand),      cmocka_unit_test(test_callbacks), cmocka_unit_test(test_by_path),
        cmocka_unit_test(test_file),        cmocka_unit_test(test_bad_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
