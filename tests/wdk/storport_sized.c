/* SPDX-License-Identifier: MIT */
/*
 * ondk_wdk_scsi of a program whose ondk_wdk_scsi_command_t is the library's, an older one (SIZED_OLDER: without sense)
 * or a newer one (SIZED_NEWER: with `added` behind the last member). tests/headers/resize_structs.py generates the
 * headers.
 */
#include "host.h"

#include "headers/true_sizes.h"

enum { OK = 0, INVALID_PARAMETER = (int)0xC000000D, GUARD = 256, GUARD_BYTE = 0xa5 };

static void test_command(void **state)
{
    uint8_t data[36] = { 0 };
    struct {
        ondk_wdk_scsi_command_t command;
        uint8_t guard[GUARD];
    } c;
    ondk_wdk_driver_t *driver = host_load("ramdisk");
    ondk_wdk_device_t *port;
    uint32_t status = 1;

    (void)state;
    memset(&c, GUARD_BYTE, sizeof c);
    c.command = (ondk_wdk_scsi_command_t){
        .cdb_length = 6, .cdb = { 0x12, 0, 0, 0, 36 }, .data = data, .data_length = sizeof data
    };
    assert_int_equal(ondk_wdk_open("\\Device\\RaidPort0", &port, &status), 0);
    assert_int_equal(ondk_wdk_scsi(port, &c.command, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(c.command.data_length, 36);
    assert_int_equal(c.command.sense_length, 0);
    assert_memory_equal(data + 8, "OpenNDK RAM disk        1.0 ", 28);
    for (int i = 0; i < GUARD; i++)
        assert_int_equal(c.guard[i], GUARD_BYTE);
#ifdef SIZED_NEWER
    assert_int_equal(c.command.added[0], 0);
    assert_int_equal(c.command.added[3], 0);
    c.command.added[0] = 1;
    c.command.data_length = sizeof data;
    assert_int_equal(ondk_wdk_scsi(port, &c.command, &status), -1);
    assert_int_equal((int)status, INVALID_PARAMETER);
    assert_int_equal(c.command.data_length, sizeof data);
    assert_non_null(strstr(ondk_wdk_error(), "field"));
#endif
    ondk_wdk_close(port);
    host_unload(driver);
}

static void test_size(void **state)
{
    (void)state;
#if defined SIZED_OLDER
    assert_true(sizeof(ondk_wdk_scsi_command_t) < true_sizes.scsi_command);
#elif defined SIZED_NEWER
    assert_int_equal(offsetof(ondk_wdk_scsi_command_t, added), true_sizes.scsi_command);
#else
    assert_int_equal(sizeof(ondk_wdk_scsi_command_t), true_sizes.scsi_command);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_size), cmocka_unit_test(test_command) };

    return cmocka_run_group_tests_name("storport_sized", tests, NULL, NULL);
}
