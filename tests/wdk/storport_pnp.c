/* SPDX-License-Identifier: MIT */
/* The start and removal of a miniport's adapter, its interface, its bus type, and the changes that it notifies of. */
#include "host.h"

#include "drivers/ramdisk.h"
#include "openndk/verify.h"
#include "storport_pnp.h"

#define PORT "\\Device\\RaidPort0"

static struct ramdisk_told send_vendor(ondk_wdk_device_t *port, uint8_t command)
{
    struct ramdisk_told t = { 0 };
    ondk_wdk_scsi_command_t c = { .cdb_length = 6, .cdb = { command }, .data = &t, .data_length = sizeof t };
    uint32_t status = 1;

    c.timeout = 3600;
    assert_int_equal(ondk_wdk_scsi(port, &c, &status), 0);
    assert_int_equal(status, 0);
    return t;
}

static ondk_wdk_device_t *open_device(const char *name)
{
    ondk_wdk_device_t *device;
    uint32_t status;

    if (ondk_wdk_open(name, &device, &status))
        fail_msg("%s: %s", name, ondk_wdk_error());
    return device;
}

/* The interface is that of the device below the adapter's, so the adapter's receives the commands. */
static void test_interface(void **state)
{
    ondk_wdk_driver_t *driver = host_load("ramdisk");
    ondk_wdk_device_t *by_class = open_device(RAMDISK_INTERFACE),
                      *by_name = open_device("\\\\?\\ROOT#ramdisk#0000#" RAMDISK_INTERFACE);
    uint32_t status = 0;

    (void)state;
    assert_int_equal(send_vendor(by_class, RAMDISK_TELLS).unmet, 0);
    assert_int_equal(send_vendor(by_name, RAMDISK_TELLS).unmet, 0);
    ondk_wdk_close(by_class);
    assert_int_equal(ondk_wdk_unload(driver, &status), -1);
    assert_int_equal(status, 0x80000011);
    ondk_wdk_close(by_name);
    host_unload(driver);
    assert_int_equal(ondk_wdk_open(RAMDISK_INTERFACE, &by_class, &status), -1);
    assert_int_equal(status, 0xC0000034);
    assert_non_null(strstr(ondk_wdk_error(), "no driver has enabled a device interface of this class"));
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void test_bus_type(void **state)
{
    ondk_wdk_driver_t *driver = host_load("ramdisk");
    ondk_wdk_device_t *port = open_device(PORT);
    uint32_t query[3] = { 1 /* StorageAdapterProperty */ }, length = 0, status = 1;
    uint8_t out[64] = { 0 };

    (void)state;
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 12, out, sizeof out, &length, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(length, 32);
    assert_int_equal(out[4], 32);
    assert_int_equal(*(uint32_t *)(void *)(out + 8), RAMDISK_BLOCKS * RAMDISK_BLOCK);
    assert_int_equal(out[24], 14 /* BusTypeVirtual */);
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 12, out, 8, &length, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(length, 8);
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 12, out, 7, &length, &status), 0);
    assert_int_equal(status, 0xC0000023);
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 4, out, 8, &length, &status), 0);
    assert_int_equal(status, 0xC000000D);
    query[1] = 1; /* PropertyExistsQuery */
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 12, NULL, 0, &length, &status), 0);
    assert_int_equal(status, 0);
    query[0] = 0; /* StorageDeviceProperty */
    assert_int_equal(ondk_wdk_device_control(port, 0x2d1400, query, 12, NULL, 0, &length, &status), 0);
    assert_int_equal(status, 0xC00000BB);
    ondk_wdk_close(port);
    host_unload(driver);
}

/* The port scans after each notice, and calls HwStateChange after the scan. */
static void test_notices(void **state)
{
    ondk_wdk_driver_t *driver = host_load("ramdisk");
    ondk_wdk_device_t *port = open_device(PORT);
    uint32_t before = send_vendor(port, RAMDISK_TELLS).inquiries;
    struct ramdisk_told t = send_vendor(port, RAMDISK_NOTIFIES);

    (void)state;
    while ((t = send_vendor(port, RAMDISK_TELLS)).changes < 2 && !t.unmet)
        usleep(1000);
    assert_int_equal(t.unmet, 0);
    assert_int_equal(t.changes, 2);
    assert_true(t.inquiries >= before + 2);
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void set_refuse(uint32_t value)
{
    assert_int_equal(ondk_wdk_registry_set("\\Registry\\Machine\\System\\CurrentControlSet\\Services\\ramdisk",
                                           "Refuse", 4, &value, sizeof value),
                     0);
}

static void refuse_removal_once(void)
{
    ondk_wdk_driver_t *driver;
    uint32_t status = 0;

    set_refuse(RAMDISK_REFUSE_REMOVE);
    driver = host_load("ramdisk");
    if (ondk_wdk_unload(driver, &status) != -1 || status != 0x80000011 ||
        !strstr(ondk_wdk_error(), "failed IRP_MN_QUERY_REMOVE_DEVICE: 0x80000011"))
        _exit(3);
    ondk_wdk_close(open_device(PORT));
    host_unload(driver);
}

static void forget_removal(void)
{
    set_refuse(RAMDISK_FORGET_REMOVE);
    host_unload(host_load("ramdisk"));
}

void test_removal_refused(void **state)
{
    char *text = host_reported(refuse_removal_once);

    (void)state;
    assert_int_equal(host_count(text), 0);
    assert_non_null(strstr(text, "ramdisk: 1 starts, 2 queries, 1 cancels, 1 removes"));
    assert_non_null(strstr(text, "ramdisk: stopped at 2"));
    free(text);
    text = host_reported(forget_removal);
    assert_int_equal(host_count(text), 0);
    assert_non_null(strstr(text, "ramdisk: stopped at 2"));
    free(text);
}

static void refuse_start(void)
{
    ondk_wdk_driver_t *driver;
    uint32_t status = 0;

    set_refuse(RAMDISK_REFUSE_START);
    if (ondk_wdk_load(host_path("ramdisk"), NULL, &driver, &status) != -1)
        _exit(3);
}

static void forget_start(void)
{
    ondk_wdk_driver_t *driver;
    uint32_t status = 0;

    set_refuse(RAMDISK_FORGET_START);
    if (ondk_wdk_load(host_path("ramdisk"), NULL, &driver, &status) != -1)
        _exit(3);
}

/* If the start fails, the adapter's device is removed, without a query. */
void test_removal_after_failed_start(void **state)
{
    static void (*const starts[])(void) = { refuse_start, forget_start };

    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        char *text = host_reported(starts[i]);

        assert_int_equal(host_count(text), 0);
        if (!strstr(text, "ramdisk: 1 starts, 0 queries, 0 cancels, 1 removes"))
            fail_msg("%s", text);
        assert_null(strstr(text, "ramdisk: stopped"));
        free(text);
    }
}

static void test_start_refused(void **state)
{
    static const char *const reasons[] = { [RAMDISK_REFUSE_START] = "failed IRP_MN_START_DEVICE",
                                           [RAMDISK_FORGET_START] = "has not passed IRP_MN_START_DEVICE to Storport" };
    ondk_wdk_driver_t *driver = NULL;
    uint32_t status = 0;

    (void)state;
    for (uint32_t refuse = RAMDISK_REFUSE_START; refuse <= RAMDISK_FORGET_START; refuse++) {
        set_refuse(refuse);
        assert_int_equal(ondk_wdk_load(host_path("ramdisk"), NULL, &driver, &status), -1);
        if (!strstr(ondk_wdk_error(), reasons[refuse]))
            fail_msg("%s", ondk_wdk_error());
    }
    set_refuse(0);
    host_unload(host_load("ramdisk"));
    assert_int_equal(ondk_verify_breaches(), 0);
}

int storport_pnp_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interface),
        cmocka_unit_test(test_bus_type),
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_start_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
