/* SPDX-License-Identifier: MIT */
/* Mistakes of drivers with requests: each is reported by its rule. tests/verify has the legal neighbours of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"

#include "ndk_driver.h"
#include "openndk/config.h"
#include "report.h"

static NTSTATUS post_send(const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    return near.qp->Dispatch->NdkSend(near.qp, NULL, sgl, sges, flags);
}

/* ---- limits ---- */

static void test_queue_depth(void **state)
{
    struct report *r = report_start();
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    struct call call;
    NDK_CQ *cq = NULL;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    call_init(&call);
    assert_true(finish(&call, adapter->Dispatch->NdkCreateCq(adapter, info.MaxCqDepth + 1, cq_notified, NULL, NULL,
                                                             create_done, &call, &cq)) < 0);
    report_is(r, "queue-depth in NdkCreateCq");
}

static void test_limits_of_requests(void **state)
{
    NDK_SGE sgl[3];
    struct report *r;
    NDK_MR *mr;
    PMDL mdl;

    (void)state;
    mr = register_buffer(near.buffer, &mdl);
    for (int i = 0; i < 3; i++)
        sgl[i] = (NDK_SGE){ .VirtualAddress = near.buffer,
                            .Length = BYTES,
                            .MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr) };
    r = report_start();
    assert_true(post_send(sgl, 3, 0) < 0);
    report_is(r, "sge-limit in NdkSend");
    r = report_start();
    assert_true(post_send(sgl, 1, NDK_OP_FLAG_INLINE) < 0);
    report_is(r, "inline-limit in NdkSend");
    r = report_start();
    assert_true(post_send(sgl, 2, 0) < 0);
    report_is(r, "transfer-length in NdkSend");
    r = report_start();
    assert_true(post_send(sgl, 1, NDK_OP_FLAG_ALLOW_LOCAL_WRITE) < 0);
    report_is(r, "flags-unknown in NdkSend");
    deregister(mr);
    IoFreeMdl(mdl);
}

/* ---- queues ---- */

/* Posts DEPTH requests, which have completed in the provider before one more is posted. */
static void post_one_too_many(ULONG flags)
{
    for (int i = 0; i < DEPTH; i++)
        assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    for (int i = 0; i < DEPTH; i++)
        assert_int_equal(post_send(NULL, 0, flags), STATUS_SUCCESS);
    for (int i = 0; i < DEPTH; i++)
        (void)next_result(&far);
    assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    (void)post_send(NULL, 0, flags);
}

static void test_silent_only(void **state)
{
    struct report *r = report_start();

    (void)state;
    post_one_too_many(NDK_OP_FLAG_SILENT_SUCCESS);
    report_is(r, "silent-only in NdkSend");
}

static void test_queue_slots(void **state)
{
    struct report *r = report_start();

    (void)state;
    post_one_too_many(0);
    report_is(r, "queue-slots in NdkSend");
}

/* The completion queue holds fewer results than the queue pair has receives. */
static void test_cq_overflow(void **state)
{
    struct report *r = report_start();
    NDK_CQ *cq;
    NDK_QP *qp;

    (void)state;
    MADE(NDK_CQ, cq, adapter->Dispatch->NdkCreateCq(adapter, 2, cq_notified, NULL, NULL, create_done, &c_, &inline_));
    MADE(NDK_QP, qp, pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, DEPTH, DEPTH, 1, 1, 0, create_done, &c_, &inline_));
    for (int i = 0; i < 3; i++)
        assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    report_is(r, "cq-overflow in NdkReceive");
    r = report_start();
    assert_int_equal(qp->Dispatch->NdkSend(qp, NULL, NULL, 0, 0), STATUS_CONNECTION_INVALID);
    report_is(r, "post-unconnected in NdkSend");
    close_object(qp);
    close_object(cq);
}

static void test_receive_with_srq(void **state)
{
    struct report *r = report_start();
    NDK_SRQ *srq;
    NDK_QP *qp;

    (void)state;
    MADE(NDK_SRQ, srq, pd->Dispatch->NdkCreateSrq(pd, 1, 1, 0, NULL, NULL, NULL, create_done, &c_, &inline_));
    MADE(NDK_QP, qp,
         pd->Dispatch->NdkCreateQpWithSrq(pd, near.cq, near.cq, srq, NULL, 1, 1, 0, create_done, &c_, &inline_));
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    (void)qp->Dispatch->NdkReceive(qp, NULL, NULL, 0);
    report_is(r, "receive-with-srq in NdkReceive");
    close_object(qp);
    close_object(srq);
}

/* The rule is an advice, and only one is given for a connection. */
static void test_receive_missing(void **state)
{
    struct report *r = report_start();
    uint32_t advices = ondk_verify_advices();

    (void)state;
    assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(post_send(NULL, 0, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(ondk_verify_advices(), advices);
    assert_int_equal(post_send(NULL, 0, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(ondk_verify_advices(), advices + 1);
    fflush(r->out);
    assert_non_null(strstr(r->text, "*** NDK advice: receive-missing in NdkSend: this is message 2"));
    report_is_empty(r);
}

/* ---- disconnects ---- */

static void test_disconnect_outstanding(void **state)
{
    struct report *r = report_start();
    uint32_t advices = ondk_verify_advices();

    (void)state;
    assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(post_send(NULL, 0, 0), STATUS_SUCCESS);
    disconnect();
    assert_int_equal(ondk_verify_advices(), advices + 1);
    fflush(r->out);
    assert_non_null(strstr(r->text, "*** NDK advice: disconnect-outstanding in NdkDisconnect"));
    report_is_empty(r);
}

static void test_defer_open(void **state)
{
    struct report *r = report_start();

    (void)state;
    assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(post_send(NULL, 0, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    near.cq->Dispatch->NdkArmCq(near.cq, NDK_CQ_NOTIFY_ANY);
    report_is(r, "defer-open in NdkArmCq");
    r = report_start();
    disconnect();
    report_is(r, "defer-open in NdkDisconnect");
}

static int start(void **state)
{
    ondk_config_t config;

    (void)state;
    ondk_config_init(&config);
    config.max_transfer = 2 * BYTES - 1;
    assert_int_equal(ondk_configure(&config), 0);
    open_all();
    establish();
    return 0;
}

static int stop_disconnected(void **state)
{
    (void)state;
    close_all();
    assert_int_equal(ondk_configure(NULL), 0);
    return 0;
}

/* The provider has ended the connection, or is about to. */
static int stop_lost(void **state)
{
    close_object(near.connector);
    close_object(far.connector);
    near.connector = far.connector = NULL;
    return stop_disconnected(state);
}

static int stop(void **state)
{
    disconnect();
    return stop_disconnected(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_queue_depth, start, stop),
        cmocka_unit_test_setup_teardown(test_limits_of_requests, start, stop),
        cmocka_unit_test_setup_teardown(test_silent_only, start, stop),
        cmocka_unit_test_setup_teardown(test_queue_slots, start, stop),
        cmocka_unit_test_setup_teardown(test_cq_overflow, start, stop),
        cmocka_unit_test_setup_teardown(test_receive_with_srq, start, stop),
        cmocka_unit_test_setup_teardown(test_receive_missing, start, stop_lost),
        cmocka_unit_test_setup_teardown(test_disconnect_outstanding, start, stop_disconnected),
        cmocka_unit_test_setup_teardown(test_defer_open, start, stop_disconnected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
