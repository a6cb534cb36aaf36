/* SPDX-License-Identifier: MIT */
/*
 * Breaches of a driver that need a provider made for them: calls on one queue from two threads at once, a close during
 * a call, and what an adapter does not support.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"

#include "report.h"
#include "verify/mdl_pending.h"
#include "wdk/ndk/verify_host.h"

static int start_objects(void **state)
{
    (void)state;
    ndk_verify_host_start();
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    open_objects();
    return 0;
}

static int stop_objects(void **state)
{
    (void)state;
    close_objects();
    return 0;
}

static void assert_report(call_function *first, call_function *second, const char *words)
{
    struct report *r = report_start();

    call_during(first, second);
    report_says(r, words, "the other call, at the same time, by");
}

static void test_at_once(void **state)
{
    (void)state;
    assert_report(call_poll, call_poll_ex, "cq-concurrent in NdkGetCqResults");
    assert_report(call_arm, call_poll, "cq-concurrent in NdkArmCq");
    assert_report(call_send, call_invalidate, "queue-concurrent in NdkSend");
    assert_report(call_srq_receive, call_srq_receive, "queue-concurrent in NdkSrqReceive");
    assert_report(call_moderate, call_moderate, "moderation-concurrent in NdkControlCqInterruptModeration");
}

/* The third parameter of the bug check names the queue. */
static void test_queue_of_report(void **state)
{
    struct report *r = report_start();

    (void)state;
    call_during(call_receive, call_receive);
    report_says(r, "queue-concurrent in NdkReceive", ", 0x0000000000000001, 0x0000000000000000)");
    r = report_start();
    call_during(call_send, call_send);
    report_says(r, "queue-concurrent in NdkSend", ", 0x0000000000000002, 0x0000000000000000)");
}

static void test_legal(void **state)
{
    struct report *r = report_start();

    (void)state;
    call_during(call_send, call_receive);
    call_during(call_receive, call_flush);
    call_in_thread(call_poll);
    call_resize();
    call_moderate();
    call_poll();
    report_is_empty(r);
}

static void close_cq(void)
{
    close_object(cq);
    cq = NULL;
}

static void test_close_during_call(void **state)
{
    struct report *r = report_start();

    (void)state;
    call_during(call_poll, close_cq);
    report_says(r, "close-during-call in NdkGetCqResults", "  closed by\n");
}

/* Everything is supported in the other tests. */
static void test_unsupported(void **state)
{
    struct report *r;

    (void)state;
    close_objects();
    fake_setting.flags = 0;
    open_objects();
    r = report_start();
    call_resize();
    report_is(r, "resize-unsupported in NdkResizeCq");
    r = report_start();
    call_moderate();
    report_is(r, "moderation-unsupported in NdkControlCqInterruptModeration");
    fake_setting.flags = FAKE_FLAGS;
}

/* ---- an MDL of a pending call ---- */

static void test_mdl_used_pending(void **state)
{
    struct report *r;

    (void)state;
    close_objects();
    open_region();
    assert_int_equal(call_register(&first_mdl, true), STATUS_PENDING);
    r = report_start();
    assert_int_equal(call_build(&first_mdl, false), STATUS_SUCCESS);
    report_says(r, "mdl-used-pending in NdkBuildLAM", "is used by NdkRegisterMr of NDK_MR 0x");
    call_release();
    r = report_start();
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(call_build(&first_mdl, false), STATUS_SUCCESS);
    call_release();
    call_deregister();
    close_object(mr);
    report_is_empty(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_at_once, start_objects, stop_objects),
        cmocka_unit_test_setup_teardown(test_queue_of_report, start_objects, stop_objects),
        cmocka_unit_test_setup_teardown(test_legal, start_objects, stop_objects),
        cmocka_unit_test_setup_teardown(test_close_during_call, start_objects, stop_objects),
        cmocka_unit_test_setup_teardown(test_unsupported, start_objects, stop_objects),
        cmocka_unit_test_setup_teardown(test_mdl_used_pending, start_objects, stop_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
