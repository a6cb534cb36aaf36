/* SPDX-License-Identifier: MIT */
/*
 * KMDF's queues and callbacks beside deletions, purges and cancellations. The driver wdfqueues has the cases, because
 * they need two threads of a driver at exact points.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host.h"
#include "report.h"

#include "base/schedule.h"
#include "drivers/wdfqueues.h"

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *device;

static int setup(void **state)
{
    uint32_t status = 1;

    (void)state;
    driver = host_load("wdfqueues");
    return ondk_wdk_open("WdfQueues", &device, &status);
}

static int teardown(void **state)
{
    (void)state;
    ondk_wdk_close(device);
    host_unload(driver);
    return 0;
}

/* Returns the line of the check that has failed, or 0. */
static uint32_t run(unsigned number)
{
    uint32_t line = 1, length, status = 1;

    assert_int_equal(
        ondk_wdk_device_control(device, WDFQUEUES_CODE(number), NULL, 0, &line, sizeof line, &length, &status), 0);
    assert_int_equal(status, 0);
    return line;
}

static void test_cases(void **state)
{
    uint32_t line;

    (void)state;
    for (unsigned i = 0; i < WDFQUEUES_CHECKS; i++) {
        struct report *r = report_start();

        line = run(i);
        report_is_empty(r);
        if (line)
            fail_msg("case %u failed in line %u", i, line);
    }
}

/* The races once more, with random delays. */
static void test_races(void **state)
{
    static const unsigned races[] = { WDFQUEUES_PURGE_RACE, WDFQUEUES_MARK_RACE, WDFQUEUES_CANCEL_DELAYED,
                                      WDFQUEUES_TARGET_STOP_RACE };

    (void)state;
    schedule_set_seed(1);
    for (unsigned i = 0; i < sizeof races / sizeof *races; i++)
        assert_int_equal(run(races[i]), 0);
    atomic_store(&schedule_is_random, false);
}

static const struct {
    unsigned number;
    const char *rule, *words;
} cases[] = {
    { WDFQUEUES_START_DRAINING, "wdf-queue in WdfIoQueueStart", "of the drain before" },
    { WDFQUEUES_DRAIN_STOPPED, "wdf-queue in WdfIoQueueDrainSynchronously", "it is stopped" },
    { WDFQUEUES_FIND_PARALLEL, "wdf-queue in WdfIoQueueFindRequest", "not dispatched manually" },
    { WDFQUEUES_DELETED_OWNING, "wdf-queue in WdfObjectDelete", "must not wait for its requests" },
    { WDFQUEUES_IS_CANCELED_MARKED, "wdf-request in WdfRequestIsCanceled", "is cancelable" },
    { WDFQUEUES_TIMER_DELETES_ITSELF, "wdf-callback in WdfObjectDelete", "waits for its own end" },
    { WDFQUEUES_TIMER_WAITS, "wdf-callback in WdfTimerStop", "waits for its own end" },
    { WDFQUEUES_REUSE_SENT, "wdf-request in WdfRequestReuse", "is sent to an I/O target" },
    { WDFQUEUES_DELETE_SENT, "wdf-request in WdfObjectDelete", "is sent to an I/O target" },
    { WDFQUEUES_COMPLETE_CREATED, "wdf-request in WdfRequestComplete", "was created by the driver" },
    { WDFQUEUES_SEND_CANCELABLE, "wdf-request in WdfRequestSend", "is cancelable" },
    { WDFQUEUES_SEND_UNWATCHED, "wdf-request in WdfRequestSend", "without a completion routine" },
    { WDFQUEUES_TARGET_DELETED_INSIDE, "wdf-callback in WdfObjectDelete", "waits for its own end" },
    { WDFQUEUES_TARGET_DELETED_BY_STOP, "wdf-callback in WdfObjectDelete", "waits for its own end" },
    { WDFQUEUES_TARGET_DELETED_BY_PURGE, "wdf-callback in WdfObjectDelete", "waits for its own end" },
    { WDFQUEUES_TARGET_DELETED_BY_CLOSE, "wdf-callback in WdfObjectDelete", "waits for its own end" },
    { WDFQUEUES_FORGET_TO_FILE, "wdf-request in WdfRequestSend", "a target with a file object" },
    { WDFQUEUES_FORGET_FORMATTED, "wdf-request in WdfRequestSend", "the buffers of a format" },
    { WDFQUEUES_TARGET_STOP_INSIDE, "wdf-target in WdfIoTargetStop", "must not wait" },
    { WDFQUEUES_TARGET_PURGED_BY_HANDLER, "wdf-target in WdfIoTargetPurge", "must not wait" },
    { WDFQUEUES_TARGET_OVERLAP, "wdf-target in WdfIoTargetStart", "has not returned yet" },
    { WDFQUEUES_WORK_FLUSHES, "wdf-callback in WdfWorkItemFlush", "waits for its own end" },
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report *r = report_start();

        assert_int_equal(run(cases[i].number), 0);
        report_says(r, cases[i].rule, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_races),
        cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
