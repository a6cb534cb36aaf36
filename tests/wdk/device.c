/* SPDX-License-Identifier: MIT */
/* Devices and their requests, from both sides. */
#include <pthread.h>

#include "host.h"

#include "drivers/controls.h"
#include "openndk/verify.h"

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *device;

static int open_all(void **state)
{
    uint32_t status;

    (void)state;
    driver = host_load("controls");
    assert_int_equal(ondk_wdk_open("\\\\.\\Controls", &device, &status), 0);
    assert_int_equal(status, 0);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    ondk_wdk_close(device);
    host_unload(driver);
    assert_int_equal(ondk_wdk_report(stderr), 0);
    return 0;
}

static uint32_t control(uint32_t code, const void *in, uint32_t in_length, void *out, uint32_t capacity,
                        uint32_t *length)
{
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_device_control(device, code, in, in_length, out, capacity, length, &status), 0);
    return status;
}

static uint32_t simple(uint32_t function)
{
    uint8_t byte = 1, out[4];
    uint32_t length;

    return control(CONTROL(function, 0), &byte, 1, out, sizeof out, &length);
}

static void test_methods(void **state)
{
    (void)state;
    for (uint32_t method = 0; method < 4; method++) {
        uint8_t out[5] = { 0 };
        uint32_t length = 99;

        assert_int_equal(control(CONTROL(ECHO, method), "abcd", 4, out, 5, &length), 0);
        assert_int_equal(length, 4);
        assert_memory_equal(out, "bcde", 5);
    }
    assert_int_equal(control(CONTROL(ECHO, 0), NULL, 0, NULL, 0, NULL), 0);
}

/* A warning returns output, an error does not. */
static void test_outcomes(void **state)
{
    uint8_t out[2] = { 7, 7 };
    uint32_t length = 0;

    (void)state;
    assert_int_equal(control(CONTROL(WARN, 0), "ab", 2, out, 2, &length), 0x80000005);
    assert_memory_equal(out, "bc", 2);
    memset(out, 7, 2);
    assert_int_equal(control(CONTROL(FAIL, 0), "ab", 2, out, 2, &length), 0xC000000D);
    assert_int_equal(out[0], 7);
    assert_int_equal(control(CONTROL(0x999, 0), NULL, 0, NULL, 0, NULL), 0xC0000010);
}

static void test_transfers(void **state)
{
    uint8_t out[3] = { 0 };
    uint32_t length = 0, status = 1;

    (void)state;
    assert_int_equal(ondk_wdk_read(device, 40, out, 3, &length, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(length, 3);
    assert_memory_equal(out, "\x28\x29\x2a", 3);
    assert_int_equal(ondk_wdk_write(device, 0, "\0\x01\x01", 3, &length, &status), 0);
    assert_int_equal(length, 2);
}

/* A driver's Information never makes the program read beyond its buffer. */
static void test_length_beyond_buffer(void **state)
{
    uint32_t length = 0, status = 1;
    uint8_t out[4];

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    assert_int_equal(control(CONTROL(BREAK_LENGTH, 3), NULL, 0, out, sizeof out, &length), 0);
    assert_int_equal(length, sizeof out);
    assert_int_equal(control(CONTROL(BREAK_LENGTH, 3), NULL, 0, NULL, 0, &length), 0);
    assert_int_equal(length, 0);
    assert_int_equal(ondk_wdk_write(device, 0, "\x01\x02", 2, &length, &status), 0);
    assert_int_equal(length, 2); /* the driver returns 3 */
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
}

static void test_names(void **state)
{
    ondk_wdk_device_t *other, *third;
    uint32_t status;
    uint8_t counts[4];

    (void)state;
    assert_int_equal(ondk_wdk_open("CONTROLS", &other, &status), 0);
    assert_int_equal(control(CONTROL(COUNTS, 0), NULL, 0, counts, 4, NULL), 0);
    assert_memory_equal(counts, "\x02\x00\x00", 3);
    ondk_wdk_close(other);
    assert_int_equal(control(CONTROL(COUNTS, 0), NULL, 0, counts, 4, NULL), 0);
    assert_memory_equal(counts, "\x02\x01\x01", 3);
    assert_int_equal(ondk_wdk_open("\\Device\\controls\\sub", &other, &status), -1);
    assert_int_equal(status, 0xC000003A);
    assert_int_equal(ondk_wdk_open("Nobody", &other, &status), -1);
    assert_int_equal(status, 0xC0000034);
    assert_int_equal(ondk_wdk_open("\\Device\\Exclusive", &other, &status), 0);
    assert_int_equal(ondk_wdk_open("\\Device\\Exclusive", &third, &status), -1);
    assert_int_equal(status, 0xC0000022);
    assert_int_equal(simple(DELETE_OTHER), 0); /* open: it is deleted with its last close, its name at once */
    assert_int_equal(ondk_wdk_open("\\Device\\Exclusive", &third, &status), -1);
    assert_int_equal(status, 0xC0000034);
    ondk_wdk_close(other);
}

static void test_interfaces(void **state)
{
    int32_t line = -1;

    (void)state;
    assert_int_equal(control(CONTROL(INTERFACES, 0), NULL, 0, &line, sizeof line, NULL), 0);
    if (line)
        fail_msg("controls_interface.c:%d", line);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void test_built(void **state)
{
    (void)state;
    for (char method = '0'; method < '4'; method++) {
        char in[3] = { method, 'x', 'y' }, out[8] = "";
        uint32_t length = 0;

        assert_int_equal(control(CONTROL(FORWARD, 0), in, 3, out, 8, &length), 0);
        assert_int_equal(length, 3);
        assert_int_equal(out[0], method + 1);
        assert_memory_equal(out + 1, "yz", 2);
    }
    assert_int_equal(simple(TRANSFERS), 0);
}

static void log_it(void)
{
    open_all(NULL);
    if (simple(LOG))
        _exit(3);
}

static void test_error_log(void **state)
{
    char *text = host_reported(log_it);

    (void)state;
    assert_non_null(
        strstr(text, "event log: controls: error 0xC00000A3, unique value 77, final status 0x00000000: sample"));
    free(text);
}

static void test_busy(void **state)
{
    uint32_t status;

    (void)state;
    assert_int_equal(ondk_wdk_unload(driver, &status), -1);
    assert_int_equal(status, 0x80000011);
}

static void test_handle(void **state)
{
    (void)state;
    assert_int_equal(simple(HANDLE_FIRST), 0);
    assert_int_equal(simple(DELETE_OTHER), 0);
    assert_int_equal(simple(HANDLE_FIRST), 0xC0000034);
}

/* The driver's code is needed until its open devices are closed, even if they were deleted. */
static void test_deleted_open(void **state)
{
    ondk_wdk_device_t *other;
    uint32_t status;

    (void)state;
    assert_int_equal(open_all(NULL), 0);
    assert_int_equal(ondk_wdk_open("\\Device\\Exclusive", &other, &status), 0);
    assert_int_equal(simple(DELETE_OTHER), 0);
    ondk_wdk_close(device);
    assert_int_equal(ondk_wdk_unload(driver, &status), -1);
    assert_int_equal(status, 0x80000011);
    ondk_wdk_close(other);
    host_unload(driver);
}

static void *open_again(void *context)
{
    ondk_wdk_device_t *d;
    uint32_t status;

    for (; !__atomic_load_n((bool *)context, __ATOMIC_SEQ_CST); usleep(50))
        if (!ondk_wdk_open("Controls", &d, &status))
            ondk_wdk_close(d);
    return NULL;
}

/* A program opens and closes while the driver is unloaded: it succeeds before the unload, or fails. */
static void test_unload_race(void **state)
{
    uint32_t status;
    pthread_t thread;
    bool over;

    (void)state;
    for (int round = 0; round < 20; round++) {
        driver = host_load("controls");
        over = false;
        assert_int_equal(pthread_create(&thread, NULL, open_again, &over), 0);
        while (ondk_wdk_unload(driver, &status))
            assert_int_equal(status, 0x80000011);
        __atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
        pthread_join(thread, NULL);
    }
}

struct held {
    pthread_t thread;
    uint32_t status, length;
    uint8_t out[2];
};

static void *send_queued(void *context)
{
    struct held *h = context;

    if (ondk_wdk_device_control(device, CONTROL(QUEUE, 0), "12", 2, h->out, 2, &h->length, &h->status))
        abort();
    return NULL;
}

/* Calls COMPLETE_OLDEST until the other thread's request has arrived. */
static void test_pending(void **state)
{
    struct held h = { .status = 1 };
    uint8_t out[2] = { 0 };
    uint32_t length = 0;

    (void)state;
    assert_int_equal(pthread_create(&h.thread, NULL, send_queued, &h), 0);
    while (simple(COMPLETE_OLDEST))
        usleep(1000);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.status, 0);
    assert_int_equal(h.length, 2);
    assert_memory_equal(h.out, "23", 2);
    assert_int_equal(control(CONTROL(LATER, 0), "34", 2, out, 2, &length), 0);
    assert_memory_equal(out, "45", 2);
}

/* Requests are cancelled while others are completed: each completes once, in either way. */
static void test_cancel(void **state)
{
    enum { HELD = 8 };
    struct held h[HELD] = { 0 };
    unsigned cancelled = 0;
    uint8_t counts[4] = { 0 };

    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < HELD; i++)
            assert_int_equal(pthread_create(&h[i].thread, NULL, send_queued, &h[i]), 0);
        for (int done = 0; done < HELD / 2;)
            done += simple(COMPLETE_OLDEST) == 0;
        for (uint8_t before = (uint8_t)cancelled; (uint8_t)(counts[3] - before) != HELD / 2;) {
            ondk_wdk_cancel(device);
            assert_int_equal(control(CONTROL(COUNTS, 0), NULL, 0, counts, 4, NULL), 0);
        }
        for (int i = 0; i < HELD; i++) {
            pthread_join(h[i].thread, NULL);
            assert_true(h[i].status == 0 || h[i].status == 0xC0000120);
            cancelled += h[i].status != 0;
        }
        assert_int_equal((uint8_t)cancelled, counts[3]);
    }
    assert_int_equal(cancelled, 20 * HELD / 2);
}

/* All requests pass through the upper device in both directions, and work without it after it is gone. */
static void test_filter(void **state)
{
    ondk_wdk_driver_t *filter = host_load("filter");
    struct held h = { .status = 1 };
    uint8_t out[4], counts[3];
    uint32_t length;

    (void)state;
    assert_int_equal(control(CONTROL(ECHO, 0), "ab", 2, out, 4, &length), 0);
    assert_memory_equal(out, "bc", 2);
    assert_int_equal(control(CONTROL(LATER, 0), "34", 2, out, 4, &length), 0);
    assert_memory_equal(out, "45", 2);
    assert_int_equal(control(CONTROL(FAIL, 0), "ab", 2, out, 4, &length), 0xC000000D);
    assert_int_equal(pthread_create(&h.thread, NULL, send_queued, &h), 0);
    do {
        ondk_wdk_cancel(device);
        assert_int_equal(control(CONTROL(FILTER_COUNTS, 0), NULL, 0, counts, 3, NULL), 0);
    } while (counts[0] != 4);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.status, 0xC0000120);
    ondk_wdk_shutdown();
    ondk_wdk_shutdown();
    assert_int_equal(control(CONTROL(FILTER_COUNTS, 0), NULL, 0, counts, 3, NULL), 0);
    assert_memory_equal(counts, "\x06\x02\x02", 3); /* the shutdowns of both devices pass through the filter */
    host_unload(filter);
    assert_int_equal(control(CONTROL(ECHO, 0), "ab", 2, out, 4, &length), 0);
    assert_int_equal(control(CONTROL(FILTER_COUNTS, 0), NULL, 0, counts, 3, NULL), 0xC0000010);
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* ---- Each rule, broken ------------------------------------------------------------------------------------------ */

static uint32_t broken;

static void break_it(void)
{
    open_all(NULL);
    if (simple(broken) == 0xC00000E5) /* the driver has found a wrong state */
        _exit(3);
}

static void breaks(uint32_t function, const char *rule, const char *words)
{
    broken = function;
    host_breaks(break_it, rule, words);
}

static void test_rules(void **state)
{
    (void)state;
    breaks(BREAK_PENDING, "irp-misuse",
           "which ended with STATUS_SUCCESS: the routine returned STATUS_PENDING without IoMarkIrpPending");
    breaks(BREAK_MARK, "irp-misuse", "called IoMarkIrpPending and did not return STATUS_PENDING");
    breaks(BREAK_NOT_COMPLETED, "irp-misuse", "it returned STATUS_SUCCESS and has not completed IRP ");
    breaks(BREAK_TWICE, "irp-completed-twice", "completed or freed by");
    breaks(BREAK_STATUS, "irp-misuse", "ends with STATUS_PENDING");
    breaks(BREAK_CANCEL, "irp-misuse", "IoSetCancelRoutine(Irp, NULL) comes first");
    breaks(BREAK_FREE, "irp-misuse", "is not one of IoAllocateIrp");
    breaks(BREAK_FREE_TWICE, "irp-misuse", "is completed or freed already");
    breaks(BREAK_INITIALIZE, "irp-misuse", "IoReuseIrp prepares it again");
    breaks(BREAK_DELETE, "reference", "is no device, or has been deleted");
    breaks(BREAK_ATTACHED, "reference", "IoDetachDevice comes first");
}

static uint32_t broken_code;

static void break_length(void)
{
    uint8_t out[4];
    uint32_t length;

    open_all(NULL);
    (void)control(broken_code, "ab", 2, out, sizeof out, &length);
}

/* More output than the buffer has room for is reported for each method. The report names the request and its status. */
static void test_length_reported(void **state)
{
    char words[160];

    (void)state;
    for (uint32_t method = 0; method < 4; method++) {
        broken_code = CONTROL(BREAK_LENGTH, method);
        snprintf(words, sizeof words,
                 ", IRP_MJ_DEVICE_CONTROL code 0x%08X, ends with STATUS_SUCCESS: IoStatus.Information is 5, and there "
                 "is room for 4 bytes",
                 broken_code);
        host_breaks(break_length, "irp-misuse", words);
    }
}

/* Its sender does not wait any more, so the output is dropped. */
static void complete_late(void)
{
    uint8_t out[2] = { 7, 7 };
    uint32_t length;

    open_all(NULL);
    if (control(CONTROL(BREAK_NOT_COMPLETED, 0), "ab", 2, out, 2, &length) || simple(COMPLETE_LATE) || out[0] != 7)
        _exit(3);
}

static void test_completed_late(void **state)
{
    (void)state;
    host_breaks(complete_late, "irp-misuse", "has not completed IRP");
}

static void test_cancel_lock(void **state)
{
    char *text;

    (void)state;
    broken = BREAK_CANCEL_LOCK;
    text = host_reported(break_it);
    assert_non_null(strstr(text, "driver rule broken: lock-not-held in IoReleaseCancelSpinLock"));
    free(text);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_methods),
        WITH_DEVICE(test_outcomes),
        WITH_DEVICE(test_transfers),
        WITH_DEVICE(test_length_beyond_buffer),
        WITH_DEVICE(test_names),
        WITH_DEVICE(test_interfaces),
        WITH_DEVICE(test_built),
        WITH_DEVICE(test_busy),
        WITH_DEVICE(test_pending),
        WITH_DEVICE(test_cancel),
        WITH_DEVICE(test_filter),
        WITH_DEVICE(test_handle),
        cmocka_unit_test(test_deleted_open),
        cmocka_unit_test(test_unload_race),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_length_reported),
        cmocka_unit_test(test_cancel_lock),
        cmocka_unit_test(test_error_log),
        cmocka_unit_test(test_completed_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
