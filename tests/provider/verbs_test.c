/* SPDX-License-Identifier: MIT */
/*
 * The reports of adapters, and the requests that queue pairs and regions forward or refuse. The scripted fabric records
 * their arguments.
 */
#include <errno.h>
#include <string.h>

#include "iwarp/memory.h"
#include "provider/adapter.h"
#include "provider/provider.h"
#include "provider/support.h"

static struct {
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp; /* 16 receives of 3, 32 requests of 5, 100 bytes inline */
    NDK_MR *mr;
} t;

static int set_up(void **state)
{
    ULONG size = sizeof(t.info);

    (void)state;
    memset(&t, 0, sizeof(t));
    t.adapter = fake_open(version_2_1, NULL);
    t.pd = make_pd(t.adapter);
    t.cq = make_cq(t.adapter, NULL);
    t.qp = make_qp(t.pd, t.cq, t.cq);
    t.mr = make_mr(t.pd);
    return t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &t.info, &size);
}

static int tear_down(void **state)
{
    (void)state;
    fake.defers_ends = false;
    fake_run_deferred();
    close_and_wait(t.mr);
    close_and_wait(t.qp);
    close_and_wait(t.cq);
    close_and_wait(t.pd);
    ondk_close_adapter(t.adapter);
    return 0;
}

/* ---- adapter ---- */

/* covers: ADP-01 */
static void test_info_size(void **state)
{
    NDK_ADAPTER_INFO info;
    ULONG size = 0;

    (void)state;
    assert_int_equal(t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, NULL, &size), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, sizeof(info));
    memset(&info, 0xee, sizeof(info));
    size = sizeof(info) - 1;
    assert_int_equal(t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &info, &size), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(size, sizeof(info));
    for (size_t i = 0; i < sizeof(info); i++)
        assert_int_equal(((unsigned char *)&info)[i], 0xee);
    size = sizeof(info) + 100;
    assert_int_equal(t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &info, &size), STATUS_SUCCESS);
    assert_int_equal(size, sizeof(info));
    assert_int_equal(info.Version.Major, 2);
    assert_int_equal(info.Version.Minor, 1);
    assert_int_equal(info.RdmaTechnology, NdkiWarp);
}

/* Unsupported capabilities are not reported. */
static void test_info_unsupported(void **state)
{
    (void)state;
    assert_int_equal(t.info.FRMRPageCount, 0);
    assert_int_equal(t.info.MaxWindowSize, 0);
    assert_int_equal(t.info.MaxSrqDepth, 0);
    assert_int_equal(t.info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED, 0);
    assert_int_equal(t.info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED, 0);
    assert_true(t.info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED);
    assert_true(t.info.AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED);
    assert_int_equal(t.info.MaxInlineDataSize, fake.info.max_inline);
    assert_int_equal(t.info.MaxInboundReadLimit, fake.info.max_inbound_reads);
    assert_int_equal(t.info.MaxOutboundReadLimit, fake.info.max_outbound_reads);
}

/* ---- queue pairs ---- */

static NTSTATUS try_qp(ULONG receives, ULONG requests, ULONG receive_sges, ULONG sges, ULONG inline_size)
{
    NDK_QP *qp = NULL;
    NTSTATUS status = t.pd->Dispatch->NdkCreateQp(t.pd, t.cq, t.cq, NULL, receives, requests, receive_sges, sges,
                                                  inline_size, on_create, NULL, &qp);

    if (status == STATUS_SUCCESS)
        close_and_wait(qp);
    else
        assert_null(qp);
    return status;
}

/* covers: ADP-02, QPR-01 */
static void test_qp_limits(void **state)
{
    const NDK_ADAPTER_INFO *i = &t.info;
    const ULONG max[5] = { i->MaxReceiveQueueDepth, i->MaxInitiatorQueueDepth, i->MaxReceiveRequestSge,
                           i->MaxInitiatorRequestSge, i->MaxInlineDataSize };

    (void)state;
    assert_int_equal(try_qp(max[0], max[1], max[2], max[3], max[4]), STATUS_SUCCESS);
    assert_int_equal(fake.qp_config.receive_depth, max[0]);
    assert_int_equal(fake.qp_config.initiator_depth, max[1]);
    assert_int_equal(fake.qp_config.receive_sges, max[2]);
    assert_int_equal(fake.qp_config.initiator_sges, max[3]);
    assert_int_equal(fake.qp_config.inline_size, max[4]);
    for (int beyond = 0; beyond < 5; beyond++) {
        ULONG v[5];
        memcpy(v, max, sizeof(v));
        v[beyond]++;
        assert_int_equal(try_qp(v[0], v[1], v[2], v[3], v[4]), STATUS_INVALID_PARAMETER);
    }
    fake.error = ENOMEM;
    assert_int_equal(try_qp(1, 1, 1, 1, 0), STATUS_INSUFFICIENT_RESOURCES);
}

static void test_qp_needs_queues(void **state)
{
    NDK_QP *qp = NULL;

    (void)state;
    assert_int_equal(t.pd->Dispatch->NdkCreateQp(t.pd, NULL, t.cq, NULL, 1, 1, 1, 1, 0, on_create, NULL, &qp),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(t.pd->Dispatch->NdkCreateQp(t.pd, t.cq, NULL, NULL, 1, 1, 1, 1, 0, on_create, NULL, &qp),
                     STATUS_INVALID_PARAMETER);
    assert_null(qp);
}

/* covers: QPR-19, CQX-09 */
static void test_posts_are_forwarded(void **state)
{
    const NDK_SGE sges[3] = { { { (void *)0x1000 }, 10, 7 },
                              { { (void *)0x2000 }, 0, 8 },
                              { { (void *)0x3000 }, 5, 9 } };
    const NDK_QP_DISPATCH *d = t.qp->Dispatch;

    (void)state;
    assert_int_equal(d->NdkSend(t.qp, (void *)11, sges, 3,
                                NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_DEFER),
                     STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_SEND);
    assert_int_equal(fake.request.flags, RDMA_FLAG_SILENT | RDMA_FLAG_SOLICIT | RDMA_FLAG_DEFER);
    assert_ptr_equal(fake.request.context, (void *)11);
    assert_int_equal(fake.request.sge_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fake.sges[i].address, (uintptr_t)sges[i].VirtualAddress);
        assert_int_equal(fake.sges[i].length, sges[i].Length);
        assert_int_equal(fake.sges[i].token, sges[i].MemoryRegionToken);
    }
    assert_int_equal(d->NdkReceive(t.qp, (void *)12, sges, 1), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_RECEIVE);
    assert_int_equal(d->NdkWrite(t.qp, (void *)13, sges, 2, 0x123456789a, 44, NDK_OP_FLAG_READ_FENCE), STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_WRITE);
    assert_int_equal(fake.request.flags, RDMA_FLAG_READ_FENCE);
    assert_int_equal(fake.request.remote_address, 0x123456789a);
    assert_int_equal(fake.request.remote_token, 44);
    assert_int_equal(d->NdkRead(t.qp, (void *)14, sges, 2, 0x42, 45, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE),
                     STATUS_SUCCESS);
    assert_int_equal(fake.request.op, RDMA_OP_READ);
    assert_int_equal(fake.request.flags, 0);
    assert_int_equal(fake.request.remote_token, 45);
    assert_int_equal(d->NdkSend(t.qp, NULL, NULL, 0, 0), STATUS_SUCCESS);
    assert_int_equal(fake.request.sge_count, 0);
    assert_int_equal(d->NdkRead(t.qp, NULL, NULL, 0, 0, 1, 0), STATUS_SUCCESS);
    assert_int_equal(d->NdkWrite(t.qp, NULL, NULL, 0, 0, 1, 0), STATUS_SUCCESS);
    assert_int_equal(d->NdkReceive(t.qp, NULL, NULL, 0), STATUS_SUCCESS);
}

/* The fabric receives none of these requests. covers: QPR-01, ADP-02 */
static void test_posts_refused(void **state)
{
    NDK_SGE sges[9] = { { { (void *)0x1000 }, 1, 7 } };
    const NDK_QP_DISPATCH *d = t.qp->Dispatch;

    (void)state;
    for (int i = 1; i < 9; i++)
        sges[i] = sges[0];
    memset(&fake.request, 0, sizeof(fake.request));
    fake.request.context = (void *)99;
    assert_int_equal(d->NdkReceive(t.qp, NULL, sges, 4), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 6, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkWrite(t.qp, NULL, sges, 6, 0, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkRead(t.qp, NULL, sges, t.info.MaxReadRequestSge + 1, 0, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, UINT32_MAX, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkSend(t.qp, NULL, NULL, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 1, NDK_OP_FLAG_ALLOW_REMOTE_READ), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkRead(t.qp, NULL, sges, 1, 0, 1, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkWrite(t.qp, NULL, sges, 1, 0, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT),
                     STATUS_INVALID_PARAMETER);
    sges[0].Length = UINT32_MAX;
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 2, 0), STATUS_INVALID_PARAMETER);
    assert_ptr_equal(fake.request.context, (void *)99);
}

/* covers: QPR-03 */
static void test_post_errors(void **state)
{
    static const struct {
        int error;
        NTSTATUS status;
    } cases[] = { { ENOTCONN, STATUS_CONNECTION_INVALID },
                  { ENOSPC, STATUS_INSUFFICIENT_RESOURCES },
                  { EINVAL, STATUS_INVALID_PARAMETER },
                  { EFAULT, STATUS_ACCESS_VIOLATION } };
    const NDK_SGE sge = { { (void *)0x1000 }, 1, 7 };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake.error = cases[i].error;
        assert_int_equal(t.qp->Dispatch->NdkSend(t.qp, NULL, &sge, 1, 0), cases[i].status);
    }
}

/* covers: QPR-06 */
static void test_inline_data(void **state)
{
    unsigned char data[100];
    NDK_SGE sges[20];
    const NDK_QP_DISPATCH *d = t.qp->Dispatch;

    (void)state;
    for (int i = 0; i < 100; i++)
        data[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 20; i++)
        sges[i] = (NDK_SGE){ { &data[i * 5] }, 5, FABRIC_PRIVILEGED_TOKEN };
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 20, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    assert_int_equal(fake.request.flags, RDMA_FLAG_INLINE);
    assert_int_equal(fake.inline_length, 100);
    assert_memory_equal(fake.inline_data, data, 100);
    sges[19].Length = 6; /* 101 bytes */
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 20, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    sges[19].Length = UINT32_MAX;
    assert_int_equal(d->NdkSend(t.qp, NULL, sges, 20, NDK_OP_FLAG_INLINE), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkSend(t.qp, NULL, NULL, 0, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
}

/* covers: QPR-16 */
static void test_flush(void **state)
{
    (void)state;
    t.qp->Dispatch->NdkFlush(t.qp);
    assert_int_equal(fake.flushes, 1);
}

/* ---- memory regions ---- */

static unsigned char memory[3 * 4096];

static NTSTATUS try_chain(NDK_MR *mr, MDL *chain, SIZE_T length)
{
    NTSTATUS status = mr->Dispatch->NdkRegisterMr(mr, chain, length, 0, on_request, NULL);

    if (status == STATUS_SUCCESS) {
        assert_int_equal(fake.length, length);
        assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, NULL), STATUS_SUCCESS);
    }
    return status;
}

/* covers: MEM-01 */
static void test_mdl_chains(void **state)
{
    NDK_MR *mr = t.mr;
    MDL a, b, c;

    (void)state;
    /* Odd addresses, an empty descriptor, and adjacent buffers. */
    ondk_mdl_init(&c, memory + 3 + 1000, 5000, NULL);
    ondk_mdl_init(&b, memory + 3 + 1000, 0, &c);
    ondk_mdl_init(&a, memory + 3, 1000, &b);
    assert_int_equal(try_chain(mr, &a, 6000), STATUS_SUCCESS);
    assert_ptr_equal(fake.memory, memory + 3);
    assert_int_equal(fake.base, (uintptr_t)memory + 3);
    assert_int_equal(try_chain(mr, &a, 1), STATUS_SUCCESS);
    assert_int_equal(try_chain(mr, &a, 1000), STATUS_SUCCESS);
    assert_int_equal(try_chain(mr, &a, 1001), STATUS_SUCCESS);
    assert_int_equal(try_chain(mr, &a, 6001), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_chain(mr, &a, (SIZE_T)-1), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_chain(mr, &a, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_chain(mr, NULL, 1), STATUS_INVALID_PARAMETER);
    /* A gap of one byte, and a step back; the part before it is contiguous. */
    ondk_mdl_init(&c, memory + 3 + 1001, 5000, NULL);
    assert_int_equal(try_chain(mr, &a, 1001), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_chain(mr, &a, 1000), STATUS_SUCCESS);
    ondk_mdl_init(&c, memory + 3 + 999, 5000, NULL);
    assert_int_equal(try_chain(mr, &a, 1001), STATUS_INVALID_PARAMETER);
}

/* covers: MEM-01, ADP-02 */
static void test_registration_size(void **state)
{
    NDK_MR *mr = t.mr;
    MDL mdl;

    (void)state;
    /* The fabric does not access it, so the address need not be mapped. */
    ondk_mdl_init(&mdl, memory, UINT32_MAX, NULL);
    assert_int_equal(try_chain(mr, &mdl, t.info.MaxRegistrationSize), STATUS_SUCCESS);
    assert_int_equal(try_chain(mr, &mdl, t.info.MaxRegistrationSize + 1), STATUS_INVALID_PARAMETER);
    fake.error = ENOSPC;
    assert_int_equal(try_chain(mr, &mdl, 1), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(try_chain(mr, &mdl, 1), STATUS_SUCCESS);
}

/* covers: MEM-02 */
static void test_rights(void **state)
{
    static const struct {
        ULONG flags;
        unsigned access;
    } cases[] = {
        { NDK_MR_FLAG_ALLOW_LOCAL_READ, 0 },
        { NDK_MR_FLAG_ALLOW_LOCAL_WRITE, RDMA_ACCESS_LOCAL_WRITE },
        { NDK_MR_FLAG_ALLOW_REMOTE_READ, RDMA_ACCESS_REMOTE_READ },
        { NDK_MR_FLAG_ALLOW_REMOTE_WRITE, RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_LOCAL_WRITE },
        { NDK_MR_FLAG_RDMA_READ_SINK, 0 },
        { NDK_MR_FLAG_RDMA_READ_SINK | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
          RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_LOCAL_WRITE },
    };
    NDK_MR *mr = t.mr;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(register_buffer(mr, memory, 100, cases[i].flags), STATUS_SUCCESS);
        assert_int_equal(fake.access, cases[i].access);
        assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, NULL), STATUS_SUCCESS);
    }
    assert_int_equal(register_buffer(mr, memory, 100, 0x10), STATUS_INVALID_PARAMETER);
    assert_int_equal(register_buffer(mr, memory, 100, 0x4), STATUS_INVALID_PARAMETER);
}

/* covers: MEM-04 */
static void test_domains_differ(void **state)
{
    NDK_PD *other = make_pd(t.adapter);
    NDK_MR *there = make_mr(other);
    const void *domain;

    (void)state;
    assert_int_equal(register_buffer(there, memory, 1, 0), STATUS_SUCCESS);
    domain = fake.domain;
    close_and_wait(there);
    close_and_wait(other);
    assert_int_equal(register_buffer(t.mr, memory, 1, 0), STATUS_SUCCESS);
    assert_ptr_equal(fake.domain, fake.qp_config.domain);
    assert_ptr_not_equal(fake.domain, domain);
}

static void test_region_states(void **state)
{
    NDK_MR *mr = t.mr;
    const NDK_MR_DISPATCH *d = mr->Dispatch;
    struct call call = { 0 };
    UINT32 first;

    (void)state;
    assert_int_equal(d->NdkDeregisterMr(mr, on_request, NULL), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(register_buffer(mr, memory, 100, 0), STATUS_SUCCESS);
    first = d->NdkGetLocalTokenFromMr(mr);
    assert_int_equal(first, d->NdkGetRemoteTokenFromMr(mr));
    assert_int_equal(register_buffer(mr, memory, 100, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(d->NdkGetLocalTokenFromMr(mr), first);
    assert_int_equal(fake.mrs, 1);
    fake.defers_ends = true;
    assert_int_equal(d->NdkDeregisterMr(mr, on_request, &call), STATUS_PENDING);
    assert_int_equal(d->NdkDeregisterMr(mr, on_request, NULL), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(register_buffer(mr, memory, 100, 0), STATUS_INVALID_DEVICE_STATE);
    fake_run_deferred();
    fake_wait(&call.returned);
    fake.defers_ends = false;
    assert_int_equal(register_buffer(mr, memory, 100, 0), STATUS_SUCCESS);
    assert_int_not_equal(d->NdkGetLocalTokenFromMr(mr), first);
    assert_int_equal(fake.mrs, 1);
}

/* covers: MEM-03 */
static void test_deregister_waits(void **state)
{
    NDK_MR *mr = t.mr;
    struct call call = { 0 };

    (void)state;
    assert_int_equal(register_buffer(mr, memory, 100, NDK_MR_FLAG_ALLOW_REMOTE_WRITE), STATUS_SUCCESS);
    fake.defers_ends = true; /* as if the peer's data were being placed */
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &call), STATUS_PENDING);
    fake_drain();
    assert_int_equal(call.count, 0);
    fake_run_deferred();
    fake_wait(&call.returned);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_info_size),       TEST(test_info_unsupported),    TEST(test_qp_limits),
        TEST(test_qp_needs_queues), TEST(test_posts_are_forwarded), TEST(test_posts_refused),
        TEST(test_post_errors),     TEST(test_inline_data),         TEST(test_flush),
        TEST(test_mdl_chains),      TEST(test_registration_size),   TEST(test_rights),
        TEST(test_domains_differ),  TEST(test_region_states),       TEST(test_deregister_waits),
    };

    return cmocka_run_group_tests_name("verbs", tests, NULL, NULL);
}
