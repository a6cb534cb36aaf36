/* SPDX-License-Identifier: MIT */
/*
 * A virtual miniport (drivers/ramdisk.c) under the port driver. Tests wait without a time limit, which ctest has.
 * Commands have one that no machine reaches, except in tests of the limit.
 */
#include "host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "drivers/ramdisk.h"
#include "storport_pnp.h"
#include "openndk/verify.h"

#define PORT "\\Device\\RaidPort0"

#define OK 0
#define INVALID_PARAMETER 0xC000000D
#define INVALID_REQUEST 0xC0000010
#define IO_TIMEOUT 0xC00000B5
#define NO_DEVICE 0xC00000C0
#define IO_ERROR 0xC0000185
#define DEVICE_BUSY 0x80000011

enum { NEVER = 3600 }; /* seconds */

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *port;

static void start(void)
{
    uint32_t status = 1;

    driver = host_load("ramdisk");
    if (ondk_wdk_open(PORT, &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

static void stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
}

/* Sends a complete command and returns the unit's answer. */
static uint32_t send(ondk_wdk_scsi_command_t *c)
{
    uint32_t status = 1;

    c->timeout = c->timeout ? c->timeout : NEVER;
    assert_int_equal(ondk_wdk_scsi(port, c, &status), 0);
    return status;
}

static ondk_wdk_scsi_command_t vendor(enum ramdisk_command command)
{
    return (ondk_wdk_scsi_command_t){ .cdb_length = 6, .cdb = { (uint8_t)command } };
}

static uint32_t does(enum ramdisk_command command)
{
    ondk_wdk_scsi_command_t c = vendor(command);

    return send(&c);
}

static struct ramdisk_told report_of(uint8_t lun)
{
    struct ramdisk_told t = { 0 };
    ondk_wdk_scsi_command_t c = vendor(RAMDISK_TELLS);

    c.lun = lun;
    c.data = &t;
    c.data_length = sizeof t;
    assert_int_equal(send(&c), OK);
    assert_int_equal(c.data_length, sizeof t);
    return t;
}

static struct ramdisk_told report(void)
{
    return report_of(0);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- A disk ------------------------------------------------------------------------------------------------------ */

static void test_levels(void **state)
{
    struct ramdisk_told t;

    (void)state;
    start();
    t = report();
    assert_int_equal(t.initialize_irql, 0);
    assert_int_equal(t.passive, 1);
    assert_int_equal(t.start_io_irql, 2);
    assert_int_equal(t.null_refused, 1);
    assert_int_equal(t.others_refused, 1);
    assert_int_equal(t.unmet, 0);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void test_inquiry(void **state)
{
    uint8_t data[64] = { 0 };
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 6, .cdb = { 0x12, 0, 0, 0, 36 }, .data = data, .data_length = sizeof data
    };

    (void)state;
    start();
    assert_int_equal(send(&c), OK);
    assert_int_equal(c.data_length, 36);
    assert_memory_equal(data + 8, "OpenNDK RAM disk        1.0 ", 28);
    c.target = 1;
    assert_int_equal(send(&c), NO_DEVICE);
    assert_int_equal(c.data_length, 0);
    stop();
}

static ondk_wdk_scsi_command_t transfer(bool out, uint8_t lba, uint8_t count, void *data)
{
    return (ondk_wdk_scsi_command_t){ .cdb_length = 10,
                                      .cdb = { out ? 0x2a : 0x28, 0, 0, 0, 0, lba, 0, 0, count },
                                      .out = out,
                                      .data = data,
                                      .data_length = count * (uint32_t)RAMDISK_BLOCK };
}

static void test_transfers(void **state)
{
    static uint8_t out[4 * RAMDISK_BLOCK], in[4 * RAMDISK_BLOCK];
    ondk_wdk_scsi_command_t c = transfer(true, 7, 4, out);
    uint8_t capacity[8];

    (void)state;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 7);
    start();
    assert_int_equal(send(&c), OK);
    c = transfer(false, 7, 4, in);
    assert_int_equal(send(&c), OK);
    assert_int_equal(c.data_length, sizeof in);
    assert_memory_equal(in, out, sizeof in);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x25 }, .data = capacity, .data_length = sizeof capacity
    };
    assert_int_equal(send(&c), OK);
    assert_memory_equal(capacity, ((uint8_t[]){ 0, 0, 0, RAMDISK_BLOCKS - 1, 0, 0, 2, 0 }), 8);
    stop();
}

static void test_sense(void **state)
{
    uint8_t data[RAMDISK_BLOCK];
    ondk_wdk_scsi_command_t c = transfer(false, RAMDISK_BLOCKS, 1, data);

    (void)state;
    start();
    assert_int_equal(send(&c), OK);
    assert_int_equal(c.scsi_status, 2);
    assert_int_equal(c.data_length, 0);
    assert_int_equal(c.sense_length, 18);
    assert_int_equal(c.sense[0], 0x70);
    assert_int_equal(c.sense[2], 5);
    assert_int_equal(c.sense[12], 0x21);
    stop();
}

/* ---- Completion, holding back ------------------------------------------------------------------------------------ */

static void test_later(void **state)
{
    (void)state;
    start();
    assert_int_equal(does(RAMDISK_LATER_BY_TIMER), OK);
    assert_int_equal(does(RAMDISK_LATER_BY_WORK), OK);
    assert_int_equal(does(RAMDISK_LATER_BY_DPC), OK);
    assert_int_equal(does(RAMDISK_LOCKS), OK);
    assert_int_equal(report().locked, 1);
    assert_int_equal(report().timer_busy, 1);
    assert_int_equal(does(RAMDISK_FREES_TIMER), OK);
    assert_int_equal(report().timer_gone, 1);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void test_busy(void **state)
{
    (void)state;
    start();
    assert_int_equal(does(RAMDISK_BUSY_TWICE), OK);
    assert_int_equal(report().tries, 3);
    assert_int_equal(does(RAMDISK_REFUSED_ONCE), OK);
    assert_int_equal(report().refused, 2);
    stop();
}

static void *send_busy(void *context)
{
    atomic_store((atomic_uint *)context, does(RAMDISK_BUSY_WITH_ALL));
    return NULL;
}

static void *serve(void *context)
{
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4d038, NULL, 0, NULL, 0, NULL, &status), 0);
    atomic_store((atomic_uint *)context, status);
    return NULL;
}

/*
 * Two commands complete as busy at the same time. The first one has no sender any more, so the disk gets the third one,
 * in which it blocks. The second one is still sent again. A service request completes when the adapter is busy, so that
 * the third command cannot be inside the disk before.
 */
static void test_busy_while_away(void **state)
{
    ondk_wdk_scsi_command_t c = vendor(RAMDISK_HANGS);
    atomic_uint answer = 1, served = 1;
    pthread_t thread;

    (void)state;
    start();
    c.timeout = 1;
    assert_int_equal(send(&c), IO_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, send_busy, &answer), 0);
    (void)serve(&served);
    assert_int_equal(atomic_load(&served), OK);
    assert_int_equal(does(RAMDISK_STAYS), OK);
    pthread_join(thread, NULL); /* any other command would trigger another attempt */
    assert_int_equal(atomic_load(&answer), OK);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* Delayed commands are sent when their time is over or the reason has ended, not before. */
static void test_held(void **state)
{
    double before;

    (void)state;
    start();
    before = seconds();
    assert_int_equal(does(RAMDISK_PAUSES), OK);
    assert_true(seconds() - before > 0.99);
    before = seconds();
    assert_int_equal(does(RAMDISK_RESETS), OK);
    (void)report();
    assert_true(seconds() - before > 0.99);
    before = seconds();
    assert_int_equal(does(RAMDISK_LINK), OK);
    (void)report();
    assert_true(seconds() - before > 0.29);
    stop();
}

static void test_timeouts(void **state)
{
    ondk_wdk_scsi_command_t c = vendor(RAMDISK_HANGS_UNTIL_RESET);

    (void)state;
    start();
    c.timeout = 1;
    assert_int_equal(send(&c), IO_ERROR);
    assert_int_equal(report().unit_resets, 1);
    assert_int_equal(report().bus_resets, 0);
    c = vendor(RAMDISK_HANGS_UNTIL_BUS_RESET);
    c.timeout = 1;
    assert_int_equal(send(&c), IO_ERROR);
    assert_int_equal(report().unit_resets, 2);
    assert_int_equal(report().bus_resets, 1);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* ---- The bus, controls ------------------------------------------------------------------------------------------- */

/* Returns the number of units of the port. */
static unsigned units(void)
{
    uint8_t data[512];
    uint32_t length = 0, status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4100c, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(data[0], 1);
    return data[4];
}

/* Also waits for the end of the scan, because the disk counts one request at a time. */
static void wait_for_units(unsigned wanted)
{
    uint32_t status = 1;

    while (units() != wanted)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    assert_int_equal(ondk_wdk_device_control(port, 0x4101c, NULL, 0, NULL, 0, NULL, &status), 0);
    assert_int_equal(status, OK);
}

static void test_bus_change(void **state)
{
    ondk_wdk_scsi_command_t c = { .lun = 1, .cdb_length = 6 };

    (void)state;
    start();
    assert_int_equal(units(), 1);
    assert_int_equal(send(&c), NO_DEVICE);
    assert_int_equal(does(RAMDISK_ADDS_UNIT), OK);
    wait_for_units(2);
    assert_int_equal(send(&c), OK);
    assert_int_equal(does(RAMDISK_ADDS_UNIT), OK);
    wait_for_units(1);
    assert_int_equal(report().removed, 1);
    stop();
}

/* Two concurrent calls that complete all requests complete each one once, and none of another unit. */
static void test_all_at_once(void **state)
{
    (void)state;
    start();
    assert_int_equal(does(RAMDISK_ADDS_UNIT), OK);
    wait_for_units(2);
    for (uint32_t round = 1; round <= 300; round++) {
        uint32_t calls = 0;

        assert_int_equal(does(RAMDISK_BY_WORK_AND_DPC), OK);
        while (calls < 2 * round)
            calls = report_of(1).calls;
        assert_int_equal(calls, 2 * round);
    }
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

struct io_control {
    uint32_t header_length;
    uint8_t signature[8];
    uint32_t timeout, code, returned, length;
    uint8_t data[8];
};

enum { HEADER = offsetof(struct io_control, data) };

/* IOCTL_SCSI_MINIPORT with `length` bytes of data behind the header. */
static uint32_t control_of(uint32_t length, uint32_t in, uint32_t out)
{
    struct io_control c = { .header_length = HEADER, .timeout = NEVER, .length = length };
    uint32_t status = 1, filled = 0;

    assert_int_equal(ondk_wdk_device_control(port, 0x4d008, &c, in, &c, out, &filled, &status), 0);
    assert_true(filled <= out);
    return status;
}

/* The data must fit into either buffer. */
static void test_control_room(void **state)
{
    (void)state;
    start();
    assert_int_equal(control_of(8, HEADER + 8, HEADER + 8), OK);
    assert_int_equal(control_of(8, HEADER + 8, HEADER), OK);
    assert_int_equal(control_of(8, HEADER, HEADER + 8), OK);
    assert_int_equal(control_of(8, HEADER + 7, HEADER + 7), INVALID_PARAMETER);
    assert_int_equal(control_of(UINT32_MAX, HEADER + 8, HEADER + 8), INVALID_PARAMETER);
    assert_int_equal(control_of(0, HEADER - 1, HEADER + 8), INVALID_PARAMETER);
    stop();
}

static void test_controls(void **state)
{
    struct io_control c = { .header_length = HEADER, .timeout = NEVER, .code = 41 };
    uint32_t capabilities[7], length = 0, status = 1;

    (void)state;
    start();
    assert_int_equal(ondk_wdk_device_control(port, 0x4d008, &c, HEADER, &c, HEADER, &length, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(length, HEADER);
    assert_int_equal(c.returned, 42);
    assert_int_equal(
        ondk_wdk_device_control(port, 0x41010, NULL, 0, capabilities, sizeof capabilities, &length, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(capabilities[1], RAMDISK_BLOCKS * RAMDISK_BLOCK);
    c.header_length = 5;
    assert_int_equal(ondk_wdk_device_control(port, 0x4d008, &c, HEADER, &c, HEADER, &length, &status), 0);
    assert_int_equal(status, INVALID_PARAMETER);
    assert_int_equal(ondk_wdk_device_control(port, 0x4d1234, NULL, 0, NULL, 0, NULL, &status), 0);
    assert_int_equal(status, INVALID_REQUEST);
    stop();
}

/* SCSI_PASS_THROUGH with a buffer that is too small for the answer: nothing is written beyond it. */
static void test_no_room(void **state)
{
    uint8_t request[56] = { 56 }; /* TEST UNIT READY of 0:0:0 */
    uint32_t length = 1, status = 1;

    (void)state;
    request[6] = 6;           /* CdbLength */
    request[17] = NEVER >> 8; /* TimeOutValue, as good as */
    start();
    assert_int_equal(ondk_wdk_device_control(port, 0x4d004, request, sizeof request, NULL, 0, &length, &status), 0);
    assert_int_equal(status, OK);
    assert_int_equal(length, 0);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* Scans run one after the other, also if the bus changes during the first one. */
static void test_scans(void **state)
{
    struct ramdisk_told t;

    (void)state;
    start();
    t = report();
    assert_true(t.inquiries >= 2);
    assert_int_equal(t.together, 1);
    stop();
}

/* A request that the miniport never completes ends with the removal of the adapter. */
static void test_service(void **state)
{
    atomic_uint served = 1;
    uint32_t status = 0;
    pthread_t thread;

    (void)state;
    start();
    assert_int_equal(pthread_create(&thread, NULL, serve, &served), 0);
    while (ondk_wdk_unload(driver, &status) == -1 && atomic_load(&served) == 1)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&served), OK);
    assert_int_equal(status, DEVICE_BUSY);
    stop();
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static void complete_twice(void)
{
    start();
    (void)does(RAMDISK_TWICE);
    stop();
}

static void complete_twice_with_all(void)
{
    start();
    (void)does(RAMDISK_TWICE_WITH_ALL);
    stop();
}

static void complete_as_pending(void)
{
    start();
    (void)does(RAMDISK_AS_PENDING);
    stop();
}

static void leak_request(void)
{
    ondk_wdk_scsi_command_t c = vendor(RAMDISK_HANGS);

    start();
    c.timeout = 1;
    if (send(&c) != IO_TIMEOUT)
        _exit(3);
    stop();
}

static void leak_pool(void)
{
    start();
    (void)does(RAMDISK_LEAVES_POOL);
    stop();
}

static void test_rules(void **state)
{
    (void)state;
    host_breaks(complete_twice, "srb-completed", "is complete already");
    host_breaks(complete_twice_with_all, "srb-completed", "is complete already");
    host_breaks(complete_as_pending, "srb-completed", "which means that it is pending");
    host_breaks(leak_request, "unload-outstanding", "left: SRB 0x");
    host_breaks(leak_pool, "unload-outstanding", "has left 1 ");
}

static void stop_once(void)
{
    start();
    stop();
}

static void tick_and_stop(void)
{
    start();
    if (does(RAMDISK_TICKS) != OK)
        _exit(3);
    stop();
}

/* A timer routine that sets itself again is not called after the adapter has stopped. */
static void test_ticks(void **state)
{
    char *text = host_reported(tick_and_stop);

    (void)state;
    assert_int_equal(host_count(text), 0);
    assert_non_null(strstr(text, "ramdisk: stopped at 2"));
    assert_null(strstr(text, "after the stop"));
    free(text);
}

static void work_and_stop(void)
{
    start();
    if (does(RAMDISK_WORKS) != OK)
        _exit(3);
    stop();
}

/*
 * A work item that queues itself again is refused after the adapter has stopped. The adapter exists until the item and
 * its DPC have returned.
 */
static void test_works(void **state)
{
    char *text = host_reported(work_and_stop);

    (void)state;
    if (host_count(text) ||
        !strstr(text, "ramdisk: work refused with 0xC1000009 at 3, a freed worker with 0xC1000001") ||
        !strstr(text, "ramdisk: the last DPC at 4"))
        fail_msg("%s", text);
    free(text);
}

static void linger_and_stop(void)
{
    start();
    if (does(RAMDISK_LINGERS) != OK)
        _exit(3);
    stop();
}

/*
 * If a thread of the miniport is still in HwStartIo when the last request completes, the adapter exists until it
 * returns. Sometimes that request arrives so late that another thread starts it.
 */
static void test_lingers(void **state)
{
    bool lingered = false;

    (void)state;
    for (int i = 0; i < 20 && !lingered; i++) {
        char *text = host_reported(linger_and_stop);

        if (host_count(text))
            fail_msg("%s", text);
        lingered = strstr(text, "ramdisk: lingered at 3");
        free(text);
    }
    assert_true(lingered);
}

/* A reset that waits for the adapter does not leak when the adapter is removed, which LeakSanitizer checks. */
static void test_leaves_late(void **state)
{
    (void)state;
    start();
    assert_int_equal(does(RAMDISK_LEAVES_LATE), OK);
    stop();
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void test_removal(void **state)
{
    char *text = host_reported(stop_once);

    (void)state;
    assert_int_equal(host_count(text), 0);
    assert_non_null(strstr(text, "ramdisk: stopped at 2"));
    assert_non_null(strstr(text, "ramdisk: 1 units removed"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_works),
        cmocka_unit_test(test_lingers),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_removal_refused),
        cmocka_unit_test(test_removal_after_failed_start),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_inquiry),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_sense),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_bus_change),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_service),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_control_room),
        cmocka_unit_test(test_leaves_late),
        cmocka_unit_test(test_busy_while_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) + storport_pnp_run();
}
