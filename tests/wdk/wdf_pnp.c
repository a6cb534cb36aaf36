/* SPDX-License-Identifier: MIT */
/* The device that the load adds to a KMDF driver: the order of the callbacks, failures of each, and the removal. */
#include "host.h"
#include "report.h"

#include "drivers/wdfpnp.h"

#define KEY "\\Registry\\Machine\\System\\CurrentControlSet\\Services\\wdfpnp\\Parameters"

static char *text;
static size_t length;
static FILE *out;

static void begin(uint32_t mode)
{
    out = open_memstream(&text, &length);
    ondk_wdk_set_output(out);
    assert_int_equal(ondk_wdk_registry_set(KEY, "Mode", 4 /* REG_DWORD */, &mode, sizeof mode), 0);
}

/* Compares the callbacks until the unload. */
static void end(const char *wanted)
{
    char line[128];

    ondk_wdk_set_output(NULL);
    fclose(out);
    snprintf(line, sizeof line, "wdfpnp: [%s]", wanted);
    if (!strstr(text, line))
        fail_msg("expected %s:\n%s", line, text);
    free(text);
}

static void open_and_send(const char *name)
{
    ondk_wdk_device_t *d = NULL;
    uint32_t size, status = 1;

    if (ondk_wdk_open(name, &d, &status))
        fail_msg("%s: 0x%08X %s", name, status, ondk_wdk_error());
    assert_int_equal(ondk_wdk_device_control(d, 0x220000, NULL, 0, NULL, 0, &size, &status), 0);
    assert_int_equal(status, 0);
    ondk_wdk_close(d);
}

static void test_works(void **state)
{
    ondk_wdk_device_t *d;
    ondk_wdk_driver_t *driver;
    uint32_t status = 1;

    (void)state;
    begin(WDFPNP_WORKS);
    driver = host_load("wdfpnp");
    open_and_send("WdfPnp");
    open_and_send(WDFPNP_CLASS);
    open_and_send(WDFPNP_START_CLASS);
    assert_int_equal(ondk_wdk_open("WdfPnp", &d, &status), 0);
    assert_int_equal(ondk_wdk_unload(driver, &status), -1); /* the device is open */
    ondk_wdk_close(d);
    host_unload(driver);
    end("APDIRSRRRqsRtidpfcx");
    assert_int_equal(ondk_wdk_open("WdfPnp", &d, &status), -1);
    assert_int_equal(ondk_wdk_open(WDFPNP_CLASS, &d, &status), -1);
}

/*
 * The queues stop although the driver still owns a request, or has put it back into the queue. The removal purges the
 * queues before EvtDeviceSelfManagedIoFlush and EvtDeviceSelfManagedIoCleanup.
 */
static void test_stops(void **state)
{
    ondk_wdk_driver_t *driver;

    (void)state;
    for (uint32_t mode = WDFPNP_ACKNOWLEDGES; mode <= WDFPNP_PURGES; mode++) {
        begin(mode);
        driver = host_load("wdfpnp");
        host_unload(driver);
        end("APDIRSqsRtidpfcx");
    }
}

/* EvtIoStop is for requests that were delivered, and comes after their request handler and after EvtIoQueueState. */
static void test_stops_delivered(void **state)
{
    (void)state;
    begin(WDFPNP_HANDLER_RUNS);
    host_unload(host_load("wdfpnp"));
    end("APDIRSqsRhtidpfcx");
    begin(WDFPNP_NOTICE_RUNS);
    host_unload(host_load("wdfpnp"));
    end("APDIRSqsRntidpfcx");
    begin(WDFPNP_CANCELLED);
    host_unload(host_load("wdfpnp"));
    end("APDIRSqsRtidpfcx");
}

/* EvtDeviceD0Exit comes after an EvtIoQueueState that EvtIoStop has made due. */
static void test_notice_due(void **state)
{
    (void)state;
    begin(WDFPNP_NOTICE_DUE);
    host_unload(host_load("wdfpnp"));
    end("APDIRSqsRtnidpfcx");
}

/* EvtDeviceSelfManagedIoCleanup comes after the callbacks of all queues. */
static void test_notice_at_end(void **state)
{
    (void)state;
    begin(WDFPNP_NOTICE_AT_END);
    host_unload(host_load("wdfpnp"));
    end("APDIRSqsRtidpfncx");
}

/* Whether a queue delivers is decided under the lock of the list that the start processes. */
static void test_creates(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        begin(WDFPNP_CREATES);
        host_unload(host_load("wdfpnp"));
        end("APDIRSqsRtidpfcx");
    }
}

static void test_refuses_removal(void **state)
{
    ondk_wdk_driver_t *driver;
    uint32_t status = 1;

    (void)state;
    begin(WDFPNP_REFUSES_REMOVAL);
    driver = host_load("wdfpnp");
    assert_int_equal(ondk_wdk_unload(driver, &status), -1);
    assert_non_null(strstr(ondk_wdk_error(), "refuses the removal of its device: 0x80000011"));
    open_and_send(WDFPNP_CLASS); /* the device is still started */
    host_unload(driver);
    end("APDIRSqRqsRtidpfcx");
}

static void test_adds_nothing(void **state)
{
    (void)state;
    begin(WDFPNP_ADDS_NOTHING);
    host_unload(host_load("wdfpnp"));
    end("A");
}

static const struct {
    uint32_t mode;
    const char *failed, *events;
} failures[] = {
    { WDFPNP_ADD_FAILS, "EvtDriverDeviceAdd failed with status 0xC0000001", "Ax" },
    { WDFPNP_PREPARE_FAILS, "the start of the device failed with status 0xC000009A", "APpx" },
    { WDFPNP_ENTRY_FAILS, "the start of the device failed with status 0xC00000A3", "APDpx" },
    { WDFPNP_INTERRUPTS_FAIL, "the start of the device failed with status 0xC00000A3", "APDIdpx" },
    { WDFPNP_INIT_FAILS, "the start of the device failed with status 0xC00000A3", "APDIRSidpfcx" },
};

static void test_failures(void **state)
{
    ondk_wdk_driver_t *driver;
    uint32_t status;

    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        begin(failures[i].mode);
        status = 0;
        assert_int_equal(ondk_wdk_load(host_path("wdfpnp"), NULL, &driver, &status), -1);
        assert_int_equal(status, 0xC0000182); /* STATUS_DEVICE_CONFIGURATION_ERROR */
        if (!strstr(ondk_wdk_error(), failures[i].failed))
            fail_msg("expected \"%s\": %s", failures[i].failed, ondk_wdk_error());
        end(failures[i].events);
    }
}

static void test_local_target(void **state)
{
    static const uint32_t codes[] = { WDFPNP_LOCAL, WDFPNP_FORGET };
    ondk_wdk_device_t *d = NULL;
    ondk_wdk_driver_t *driver;
    uint32_t size, status = 1;

    (void)state;
    begin(WDFPNP_WORKS);
    driver = host_load("wdfpnp");
    assert_int_equal(ondk_wdk_open("WdfPnp", &d, &status), 0);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_int_equal(ondk_wdk_device_control(d, codes[i], NULL, 0, NULL, 0, &size, &status), 0);
        assert_int_equal(status, 0xC0000010); /* STATUS_INVALID_DEVICE_REQUEST, from the device below */
    }
    ondk_wdk_close(d);
    host_unload(driver);
    end("APDIRSqsRtidpfcx");
}

/* If the lower device fails a forgotten create request, nothing would delete the file object. */
static void test_forgets_create(void **state)
{
    ondk_wdk_device_t *d = NULL;
    ondk_wdk_driver_t *driver;
    uint32_t mode = WDFPNP_FORGETS_CREATE, status = 0;
    struct report *r;

    (void)state;
    assert_int_equal(ondk_wdk_registry_set(KEY, "Mode", 4, &mode, sizeof mode), 0);
    driver = host_load("wdfpnp");
    r = report_start();
    assert_int_equal(ondk_wdk_open("WdfPnp", &d, &status), -1);
    assert_int_equal(status, 0xC0000010);
    report_says(r, "wdf-request in WdfRequestSend", "a create request with a framework file object");
    host_unload(driver);
}

/* The driver of the guide. */
static void test_counter(void **state)
{
    uint32_t count = 0, size, status = 1;
    ondk_wdk_device_t *d = NULL;
    ondk_wdk_driver_t *driver = host_load("wdfdevice");

    (void)state;
    assert_int_equal(ondk_wdk_open("{8e2c4d10-6a1f-4b3e-9d52-07c1aa34f06b}", &d, &status), 0);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(ondk_wdk_device_control(d, 0x220000, NULL, 0, &count, sizeof count, &size, &status), 0);
        assert_true(status == 0 && size == sizeof count && count == i);
    }
    ondk_wdk_close(d);
    host_unload(driver);
}

/* Only the framework deletes the device. */
static void test_deletes(void **state)
{
    ondk_wdk_driver_t *driver;
    struct report *r;
    uint32_t mode = WDFPNP_DELETES;

    (void)state;
    assert_int_equal(ondk_wdk_registry_set(KEY, "Mode", 4, &mode, sizeof mode), 0);
    r = report_start();
    driver = host_load("wdfpnp");
    report_is(r, "wdf-delete in WdfObjectDelete");
    host_unload(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_works),           cmocka_unit_test(test_stops),
        cmocka_unit_test(test_stops_delivered), cmocka_unit_test(test_creates),
        cmocka_unit_test(test_local_target),    cmocka_unit_test(test_forgets_create),
        cmocka_unit_test(test_counter),         cmocka_unit_test(test_refuses_removal),
        cmocka_unit_test(test_adds_nothing),    cmocka_unit_test(test_failures),
        cmocka_unit_test(test_deletes),         cmocka_unit_test(test_notice_at_end),
        cmocka_unit_test(test_notice_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
