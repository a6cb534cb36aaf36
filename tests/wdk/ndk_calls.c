/* SPDX-License-Identifier: MIT */
/* Calls of a driver that are wrong whenever they are made: in a callback, or with a wrong argument. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

#include "ndk_driver.h"
#include "openndk/verify.h"
#include "report.h"

static atomic_bool has_returned;

static VOID close_in_callback(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    call_close_adapter();
    atomic_store(&has_returned, true);
}

/* The adapter stays open. The report is about the close, not about the IRQL of a callback. */
static void test_adapter_closed_in_callback(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    r = report_start();
    assert_int_equal(start_connect(close_in_callback, NULL), STATUS_PENDING);
    far.connector = wait_asked();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    while (!atomic_load(&has_returned))
        sched_yield();
    report_says(r, "adapter-close-in-callback in WskCloseNdkAdapter", "NdkRequestCompletion; the adapter stays open");
    close_all();
}

static void test_routines_missing(void **state)
{
    struct report *r;
    NDK_PD *own = NULL;
    NDK_CQ *cq = NULL;
    NDK_MR *mr;
    PMDL mdl;

    (void)state;
    open_all();
    mdl = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    assert_non_null(mdl);
    MmBuildMdlForNonPagedPool(mdl);
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    r = report_start();
    assert_int_equal(mr->Dispatch->NdkRegisterMr(mr, mdl, BYTES, 0, NULL, NULL), STATUS_SUCCESS);
    report_is(r, "completion-missing in NdkRegisterMr");
    deregister(mr);
    IoFreeMdl(mdl);
    r = report_start();
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &own), STATUS_SUCCESS);
    report_is(r, "completion-missing in NdkCreatePd");
    r = report_start();
    assert_int_equal(own->Dispatch->NdkClosePd(&own->Header, NULL, NULL), STATUS_SUCCESS);
    report_is(r, "completion-missing in NdkClosePd");
    r = report_start();
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, DEPTH, NULL, NULL, NULL, create_done, NULL, &cq),
                     STATUS_INVALID_PARAMETER);
    report_is(r, "notification-missing in NdkCreateCq");
    close_all();
}

static void test_wrong_close(void **state)
{
    struct call c;
    struct report *r;

    (void)state;
    open_all();
    call_init(&c);
    r = report_start();
    (void)finish(&c, pd->Dispatch->NdkClosePd(&near.connector->Header, close_done, &c));
    report_says(r, "close-wrong-entry in NdkClosePd", "is an object of type NDK_CONNECTOR");
    near.connector = NULL;
    close_all();
}

static void test_version(void **state)
{
    struct report *r;

    (void)state;
    open_version = (NDK_VERSION){ 1, 2 };
    open_all();
    r = report_start();
    (void)near.cq->Dispatch->NdkGetCqResultsEx(near.cq, NULL, 0); /* of NDKPI 1.2 */
    report_is_empty(r);
    r = report_start();
    (void)near.connector->Dispatch->NdkCompleteConnectEx(near.connector, NULL, NULL, request_done, NULL);
    assert_true(report_stop(r) > 0); /* there is no connection either */
    assert_non_null(strstr(r->text, "version-too-new in NdkCompleteConnectEx"));
    report_free(r);
    close_all();
    open_version = (NDK_VERSION){ 2, 1 };
}

static void test_completion_queue(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    r = report_start();
    near.cq->Dispatch->NdkArmCq(near.cq, NDK_CQ_NOTIFY_SOLICITED);
    (void)near.cq->Dispatch->NdkControlCqInterruptModeration(near.cq, MAXULONG, DEPTH);
    report_is_empty(r);
    r = report_start();
    near.cq->Dispatch->NdkArmCq(near.cq, 7);
    report_is(r, "arm-type in NdkArmCq");
    r = report_start();
    assert_int_equal(near.cq->Dispatch->NdkControlCqInterruptModeration(near.cq, MAXULONG, MAXULONG),
                     STATUS_INVALID_PARAMETER_MIX);
    report_is(r, "moderation-range in NdkControlCqInterruptModeration");
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapter_closed_in_callback),
        cmocka_unit_test(test_routines_missing),
        cmocka_unit_test(test_wrong_close),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_completion_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
