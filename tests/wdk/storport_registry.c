/* SPDX-License-Identifier: MIT */
/* A miniport's access to the registry, with an adapter that the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storport.h"

#include "openndk/wdk.h"
#include "wdk/mm/pool.h"
#include "wdk/storport/port.h"

#define KEY "HKLM\\System\\CurrentControlSet\\Services\\mini\\Parameters\\"

static DRIVER_EXTENSION driver_extension = { .ServiceKeyName = RTL_CONSTANT_STRING(L"mini") };
static DRIVER_OBJECT driver = { .DriverExtension = &driver_extension };
static struct port_adapter adapter = { .driver = &driver, .number = 3 }, other = { .driver = &driver, .number = 4 };
static struct port_extension extension = { .adapter = &adapter }, other_extension = { .adapter = &other };

#define ADAPTER ((PVOID)extension.data)
#define OTHER ((PVOID)other_extension.data)

static bool read_value(PVOID hw, const char *name, bool global, ULONG type, void *buffer, ULONG *length)
{
    return StorPortRegistryRead(hw, (PUCHAR)(uintptr_t)name, global, type, buffer, length);
}

static void test_read(void **state)
{
    ULONG number = 0, length = sizeof number;
    char text[32] = "";

    (void)state;
    assert_int_equal(ondk_wdk_registry_set(KEY "Device", "Number", REG_DWORD, &(uint32_t){ 7 }, 4), 0);
    assert_int_equal(ondk_wdk_registry_set(KEY "Device3", "Number", REG_DWORD, &(uint32_t){ 8 }, 4), 0);
    assert_int_equal(ondk_wdk_registry_set_text(KEY "Device3", "Text", REG_SZ, "h\xc3\xa9llo", 6), 0);
    assert_true(read_value(ADAPTER, "Number", true, REG_DWORD, &number, &length));
    assert_int_equal(number, 7);
    assert_true(read_value(ADAPTER, "Number", false, REG_DWORD, &number, &length));
    assert_int_equal(number, 8);
    assert_int_equal(length, 4);
    length = sizeof text;
    assert_true(read_value(ADAPTER, "Text", false, REG_SZ, text, &length));
    assert_string_equal(text, "h?llo");
    assert_int_equal(length, 6);
    length = 5;
    assert_false(read_value(ADAPTER, "Text", false, REG_SZ, text, &length));
    assert_int_equal(length, 6); /* the size that is needed */
    assert_false(read_value(ADAPTER, "Text", false, REG_DWORD, text, &length));
    assert_int_equal(length, 0);
    length = 4;
    assert_false(read_value(OTHER, "Number", false, REG_DWORD, &number, &length));
    assert_int_equal(length, 0);
}

static void test_write(void **state)
{
    ULONG length = 16;
    char text[16] = "";

    (void)state;
    assert_true(StorPortRegistryWrite(OTHER, (PUCHAR)(uintptr_t) "Note", 0, REG_SZ, (PUCHAR)(uintptr_t) "abc", 4));
    assert_true(read_value(OTHER, "Note", false, REG_SZ, text, &length));
    assert_string_equal(text, "abc");
    length = 16;
    assert_false(read_value(OTHER, "Note", true, REG_SZ, text, &length));
    assert_true(StorPortRegistryWrite(OTHER, (PUCHAR)(uintptr_t) "Raw", 1, REG_BINARY, (PUCHAR)(uintptr_t) "\1\2", 2));
    length = 16;
    assert_true(read_value(ADAPTER, "Raw", true, REG_BINARY, text, &length));
    assert_int_equal(length, 2);
    assert_memory_equal(text, "\1\2", 2);
}

static void test_buffer(void **state)
{
    uint64_t before = pool_block_count();
    ULONG length = 100;
    PUCHAR buffer = StorPortAllocateRegistryBuffer(ADAPTER, &length), second;

    (void)state;
    assert_non_null(buffer);
    assert_int_equal(length, 100);
    assert_null(StorPortAllocateRegistryBuffer(ADAPTER, &length));
    second = StorPortAllocateRegistryBuffer(OTHER, &length);
    assert_non_null(second);
    StorPortFreeRegistryBuffer(OTHER, second);
    StorPortFreeRegistryBuffer(ADAPTER, buffer);
    buffer = StorPortAllocateRegistryBuffer(ADAPTER, &length);
    assert_non_null(buffer);
    port_registry_forget(&adapter); /* another adapter at the same address has no buffer yet */
    ExFreePool(buffer);
    buffer = StorPortAllocateRegistryBuffer(ADAPTER, &length);
    assert_non_null(buffer);
    StorPortFreeRegistryBuffer(ADAPTER, buffer);
    assert_int_equal(pool_block_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_write),
                                        cmocka_unit_test(test_buffer) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
