/* SPDX-License-Identifier: MIT */
/*
 * The port's scan of a target whose unit 0 does not exist: INQUIRY is answered with the peripheral qualifier 3. The
 * target is drivers/ramdisk.c with two units.
 */
#include "host.h"

#include "drivers/ramdisk.h"
#include "openndk/verify.h"

enum { OK = 0, NEVER = 3600, GET_INQUIRY_DATA = 0x4100c, RESCAN_BUS = 0x4101c };

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *port;

static void start(void)
{
    uint32_t status = 1;

    driver = host_load("ramdisk");
    if (ondk_wdk_open("\\Device\\RaidPort0", &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

static void stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void order(enum ramdisk_command command)
{
    ondk_wdk_scsi_command_t c = { .cdb_length = 6, .cdb = { (uint8_t)command }, .timeout = NEVER };
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_scsi(port, &c, &status), 0);
    assert_int_equal(status, OK);
}

/* Scans, and returns the LUNs of the units that the port has found, one bit for each. */
static unsigned scan(void)
{
    uint8_t data[1024];
    uint32_t length = 0, status = 1, at;
    unsigned luns = 0;

    assert_int_equal(ondk_wdk_device_control(port, RESCAN_BUS, NULL, 0, NULL, 0, NULL, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(ondk_wdk_device_control(port, GET_INQUIRY_DATA, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    memcpy(&at, data + 8, sizeof at); /* InquiryDataOffset of bus 0 */
    while (at) {
        luns |= 1u << data[at + 2];
        memcpy(&at, data + at + 8, sizeof at); /* NextInquiryDataOffset */
    }
    return luns;
}

static void test_listed(void **state)
{
    (void)state;
    start();
    order(RAMDISK_HIDES_FIRST);
    assert_int_equal(scan(), 0);
    order(RAMDISK_ADDS_UNIT);
    assert_int_equal(scan(), 2);
    order(RAMDISK_HIDES_FIRST);
    assert_int_equal(scan(), 3);
    stop();
}

/* A miniport that answers so for every address is not asked for each unit. */
static void test_not_listed(void **state)
{
    (void)state;
    start();
    order(RAMDISK_HIDES_FIRST);
    order(RAMDISK_LISTS_NOTHING);
    order(RAMDISK_ADDS_UNIT);
    assert_int_equal(scan(), 0);
    order(RAMDISK_HIDES_FIRST);
    assert_int_equal(scan(), 3);
    stop();
}

/* ---- Notices of state changes ------------------------------------------------------------------------------------ */

static void notify_last(void)
{
    start();
    order(RAMDISK_NOTIFIES_LAST);
    ondk_wdk_close(port);
    host_unload(driver);
}

/*
 * A notice that the port accepts during the last scan before the removal ends once, without a scan. The miniport cannot
 * see when the removal stops the scans. If the removal's thread was preempted before that, the notice has ended after
 * another scan, and the case is run again. If the port scans each time, the test fails.
 */
static void test_notice_at_removal(void **state)
{
    char *text = host_reported(notify_last);

    (void)state;
    for (int i = 0; i < 20 && !host_count(text) && strstr(text, "ramdisk: notice ended after a scan\n"); i++) {
        free(text);
        text = host_reported(notify_last);
    }
    if (host_count(text) || !strstr(text, "ramdisk: notice ended with 0xC1000001, another one is refused") ||
        strstr(text, "ramdisk: notice refused"))
        fail_msg("%s", text);
    free(text);
}

static void notify_always(void)
{
    const uint32_t on = 1;

    if (ondk_wdk_registry_set("\\Registry\\Machine\\System\\CurrentControlSet\\Services\\ramdisk", "NotifiesAlways", 4,
                              &on, sizeof on))
        _exit(3);
    for (useconds_t i = 0; i < 25 && !ondk_verify_breaches(); i++) {
        driver = host_load("ramdisk");
        usleep(i * 40);
        host_unload(driver);
    }
}

/* Each accepted notice ends once, and no other one ends, also if the adapter starts or is removed meanwhile. */
static void test_notices_always(void **state)
{
    char *text = host_reported(notify_always);

    (void)state;
    if (host_count(text))
        fail_msg("%s", strstr(text, "driver rule broken"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notice_at_removal), /* these two fork, so they run before this process has threads */
        cmocka_unit_test(test_notices_always),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_not_listed),
    };

    return cmocka_run_group_tests_name("storport_scan", tests, NULL, NULL);
}
