/* SPDX-License-Identifier: MIT */
/*
 * Optional capabilities of queues: moderation and shared receive queues. The scripted fabric records its arguments.
 */
#include <errno.h>
#include <string.h>

#include "provider/adapter.h"
#include "provider/provider.h"
#include "provider/support.h"

static struct {
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq;
} t;

static int set_up(void **state)
{
    ULONG size = sizeof(t.info);

    (void)state;
    memset(&t, 0, sizeof(t));
    t.adapter = fake_open(version_2_1, NULL);
    adapter_of(t.adapter)->limits.cq_moderation = true;
    adapter_of(t.adapter)->limits.max_srq_depth = 500;
    t.pd = make_pd(t.adapter);
    t.cq = make_cq(t.adapter, NULL);
    return t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &t.info, &size);
}

static int tear_down(void **state)
{
    (void)state;
    fake.defers_ends = false;
    fake_run_deferred();
    close_and_wait(t.cq);
    close_and_wait(t.pd);
    ondk_close_adapter(t.adapter);
    return 0;
}

/* ---- moderation ---- */

static NTSTATUS moderate(ULONG interval, ULONG count)
{
    fake.interval_us = fake.count = 4711;
    return t.cq->Dispatch->NdkControlCqInterruptModeration(t.cq, interval, count);
}

static void check_moderated(ULONG interval, ULONG count)
{
    assert_int_equal(moderate(interval, count), STATUS_SUCCESS);
    assert_int_equal(fake.interval_us, interval);
    assert_int_equal(fake.count, count);
}

static void check_refused(ULONG interval, ULONG count)
{
    assert_int_equal(moderate(interval, count), STATUS_INVALID_PARAMETER_MIX);
    assert_int_equal(fake.interval_us, 4711);
}

/* covers: CQX-08 */
static void test_moderation(void **state)
{
    (void)state;
    assert_true(t.info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED);
    assert_int_equal(t.cq->Dispatch->NdkResizeCq(t.cq, 50, on_request, NULL), STATUS_SUCCESS);
    check_moderated(100, 7);
    check_moderated(0, 0);
    check_moderated(0, MAXULONG);
    check_moderated(MAXULONG, 1);
    check_moderated(MAXULONG, 50);
    check_moderated(MAXULONG - 1, MAXULONG);
    check_refused(MAXULONG, 51);
    check_refused(MAXULONG, MAXULONG);
    assert_int_equal(t.cq->Dispatch->NdkResizeCq(t.cq, 51, on_request, NULL), STATUS_SUCCESS);
    check_moderated(MAXULONG, 51);
    fake.error = ENOMEM;
    assert_int_equal(t.cq->Dispatch->NdkResizeCq(t.cq, 20, on_request, NULL), STATUS_INSUFFICIENT_RESOURCES);
    check_moderated(MAXULONG, 51);
}

/* ---- shared receive queues ---- */

static NTSTATUS create(ULONG depth, ULONG sges, ULONG threshold, struct call *notified, NDK_SRQ **srq)
{
    GROUP_AFFINITY affinity = { .Mask = 0x6 };

    *srq = NULL;
    return t.pd->Dispatch->NdkCreateSrq(t.pd, depth, sges, threshold, notified ? on_notify : NULL, notified, &affinity,
                                        on_create, NULL, srq);
}

static NDK_SRQ *make_srq(struct call *notified)
{
    NDK_SRQ *srq;

    assert_int_equal(create(100, 2, 7, notified, &srq), STATUS_SUCCESS);
    return srq;
}

static NTSTATUS create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq, NDK_QP **qp)
{
    *qp = NULL;
    return pd->Dispatch->NdkCreateQpWithSrq(pd, receive_cq, initiator_cq, srq, (void *)0x77, 32, 3, 100, on_create,
                                            NULL, qp);
}

/* covers: ADP-02 */
static void test_srq_limits(void **state)
{
    NDK_SRQ *srq;

    (void)state;
    assert_int_equal(t.info.MaxSrqDepth, 500);
    assert_int_equal(create(501, 1, 0, NULL, &srq), STATUS_INVALID_PARAMETER);
    assert_int_equal(create(0, 1, 0, NULL, &srq), STATUS_INVALID_PARAMETER);
    assert_int_equal(create(1, t.info.MaxReceiveRequestSge + 1, 0, NULL, &srq), STATUS_INVALID_PARAMETER);
    fake.error = ENOMEM;
    assert_int_equal(create(1, 1, 0, NULL, &srq), STATUS_INSUFFICIENT_RESOURCES);
    assert_null(srq);
    assert_int_equal(create(500, t.info.MaxReceiveRequestSge, 9, NULL, &srq), STATUS_SUCCESS);
    assert_int_equal(fake.srq_config.depth, 500);
    assert_int_equal(fake.srq_config.sges, t.info.MaxReceiveRequestSge);
    assert_int_equal(fake.srq_config.threshold, 9);
    assert_int_equal(fake.srq_config.affinity, 1);
    assert_ptr_equal(fake.srq_config.domain, pd_domain(pd_of(t.pd)));
    assert_int_equal(srq->Header.ObjectType, NdkObjectTypeSrq);
    assert_int_equal(atomic_load(&fake.srqs), 1);
    close_and_wait(srq);
    assert_int_equal(atomic_load(&fake.srqs), 0);
    adapter_of(t.adapter)->limits.max_srq_depth = 0;
    assert_int_equal(create(1, 1, 0, NULL, &srq), STATUS_NOT_SUPPORTED);
}

static void test_srq_requests(void **state)
{
    NDK_SRQ *srq = make_srq(NULL);
    NDK_SGE sges[3] = { { .VirtualAddress = (PVOID)0x1000, .Length = 10, .MemoryRegionToken = 5 },
                        { .VirtualAddress = (PVOID)0x2000, .Length = 20, .MemoryRegionToken = 6 } };

    (void)state;
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, (void *)0x99, sges, 2), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_RECEIVE);
    assert_ptr_equal(fake.request.context, (void *)0x99);
    assert_int_equal(fake.request.sge_count, 2);
    assert_int_equal(fake.sges[1].address, 0x2000);
    assert_int_equal(fake.sges[1].length, 20);
    assert_int_equal(fake.sges[1].token, 6);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, sges, 3), STATUS_INVALID_PARAMETER);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 1), STATUS_INVALID_PARAMETER);
    fake.error = ENOSPC;
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, sges, 1), STATUS_INSUFFICIENT_RESOURCES);
    fake.error = EFAULT;
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, sges, 1), STATUS_ACCESS_VIOLATION);
    close_and_wait(srq);
}

/* covers: SRQ-03 */
static void test_srq_modify(void **state)
{
    NDK_SRQ *srq = make_srq(NULL);

    (void)state;
    fake.srq_depth = fake.srq_threshold = 4711;
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 501, 1, on_request, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(fake.srq_depth, 4711);
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 500, 0, on_request, NULL), STATUS_SUCCESS);
    assert_int_equal(fake.srq_depth, 500);
    assert_int_equal(fake.srq_threshold, 0);
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 0, 8, on_request, NULL), STATUS_SUCCESS);
    assert_int_equal(fake.srq_depth, 0);
    assert_int_equal(fake.srq_threshold, 8);
    fake.error = EINVAL;
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 3, 8, on_request, NULL), STATUS_INVALID_PARAMETER);
    fake.error = ENOMEM;
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 3, 8, on_request, NULL), STATUS_INSUFFICIENT_RESOURCES);
    close_and_wait(srq);
}

static void test_qp_with_srq(void **state)
{
    NDK_SRQ *srq = make_srq(NULL);
    NDK_PD *other = make_pd(t.adapter);
    NDK_QP *qp;

    (void)state;
    assert_int_equal(create_qp(t.pd, t.cq, t.cq, NULL, &qp), STATUS_INVALID_PARAMETER);
    assert_int_equal(create_qp(other, t.cq, t.cq, srq, &qp), STATUS_INVALID_PARAMETER);
    assert_int_equal(create_qp(t.pd, NULL, t.cq, srq, &qp), STATUS_INVALID_PARAMETER);
    assert_int_equal(create_qp(t.pd, t.cq, NULL, srq, &qp), STATUS_INVALID_PARAMETER);
    assert_int_equal(t.pd->Dispatch->NdkCreateQpWithSrq(t.pd, t.cq, t.cq, srq, NULL, t.info.MaxInitiatorQueueDepth + 1,
                                                        1, 0, on_create, NULL, &qp),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(create_qp(t.pd, t.cq, t.cq, srq, &qp), STATUS_SUCCESS);
    assert_ptr_equal(fake.qp_config.srq, srq_of(srq)->fabric);
    assert_ptr_equal(fake.qp_config.qp_context, (void *)0x77);
    assert_int_equal(fake.qp_config.initiator_depth, 32);
    assert_int_equal(fake.qp_config.initiator_sges, 3);
    assert_int_equal(fake.qp_config.inline_size, 100);
    close_and_wait(qp);
    adapter_of(t.adapter)->limits.max_srq_depth = 0;
    assert_int_equal(create_qp(t.pd, t.cq, t.cq, srq, &qp), STATUS_NOT_SUPPORTED);
    close_and_wait(other);
    close_and_wait(srq);
}

/* Protection domain, shared queue and queue pair are closed in that order; the fabric delays the end of each. */
/* covers: OBJ-12 */
static void test_srq_order(void **state)
{
    struct call pd_closed = { 0 }, srq_closed = { 0 }, qp_closed = { 0 };
    NDK_PD *pd = make_pd(t.adapter);
    NDK_SRQ *srq = NULL;
    NDK_QP *qp;

    (void)state;
    assert_int_equal(pd->Dispatch->NdkCreateSrq(pd, 4, 1, 0, NULL, NULL, NULL, on_create, NULL, &srq), STATUS_SUCCESS);
    assert_int_equal(create_qp(pd, t.cq, t.cq, srq, &qp), STATUS_SUCCESS);
    fake.defers_ends = true;
    assert_int_equal(close_object(pd, &pd_closed), STATUS_PENDING);
    assert_int_equal(close_object(srq, &srq_closed), STATUS_PENDING);
    assert_int_equal(atomic_load(&fake.srqs), 1); /* its queue pair still exists */
    assert_int_equal(close_object(qp, &qp_closed), STATUS_PENDING);
    assert_int_equal(fake_run_deferred(), 1);
    fake_wait(&qp_closed.returned);
    fake_drain();
    assert_int_equal(srq_closed.count, 0);
    assert_int_equal(fake_run_deferred(), 1);
    fake_wait(&pd_closed.returned);
    assert_int_equal(srq_closed.count, 1);
    assert_true(qp_closed.order < srq_closed.order && srq_closed.order < pd_closed.order);
    fake.defers_ends = false;
}

/* covers: OBJ-15 */
static void test_srq_notification(void **state)
{
    struct call notified = { 0 }, closed = { 0 };
    NDK_SRQ *srq = make_srq(&notified);
    NDK_QP *qp;

    (void)state;
    fake_notify_low(srq_of(srq)->fabric);
    fake_wait(&notified.returned);
    assert_int_equal(notified.count, 1);
    assert_int_equal(notified.status, STATUS_SUCCESS);
    assert_int_equal(create_qp(t.pd, t.cq, t.cq, srq, &qp), STATUS_SUCCESS);
    struct fabric_srq *fabric = srq_of(srq)->fabric;
    assert_int_equal(close_object(srq, &closed), STATUS_PENDING); /* the queue pair keeps it */
    fake_notify_low(fabric);
    fake_drain();
    assert_int_equal(notified.count, 1);
    close_and_wait(qp);
    fake_wait(&closed.returned);
    assert_int_equal(closed.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_moderation),  TEST(test_srq_limits), TEST(test_srq_requests),     TEST(test_srq_modify),
        TEST(test_qp_with_srq), TEST(test_srq_order),  TEST(test_srq_notification),
    };

    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
