/* SPDX-License-Identifier: MIT */
/* Completion queues: limits, resizing, arming, notifications, and the translation of the fabric's completions. */
#include <errno.h>
#include <string.h>

#include "provider/provider.h"
#include "provider/support.h"

static struct {
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_CQ *cq;
    struct call notified;
} t;

static int set_up(void **state)
{
    ULONG size = sizeof(t.info);

    (void)state;
    memset(&t, 0, sizeof(t));
    t.adapter = fake_open(version_2_1, NULL);
    t.cq = make_cq(t.adapter, &t.notified);
    return t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &t.info, &size);
}

static int tear_down(void **state)
{
    (void)state;
    close_and_wait(t.cq);
    ondk_close_adapter(t.adapter);
    return 0;
}

static NTSTATUS try_cq(ULONG depth)
{
    NDK_CQ *cq = NULL;
    NTSTATUS status = t.adapter->Dispatch->NdkCreateCq(t.adapter, depth, on_notify, NULL, NULL, on_create, NULL, &cq);

    if (status == STATUS_SUCCESS)
        close_and_wait(cq);
    else
        assert_null(cq);
    return status;
}

/* covers: ADP-02, CQX-01 */
static void test_cq_depth(void **state)
{
    (void)state;
    assert_int_equal(try_cq(t.info.MaxCqDepth), STATUS_SUCCESS);
    assert_int_equal(fake.cq_config.depth, t.info.MaxCqDepth);
    assert_int_equal(try_cq(t.info.MaxCqDepth + 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_cq(UINT32_MAX), STATUS_INVALID_PARAMETER);
    fake.error = ENOMEM;
    assert_int_equal(try_cq(1), STATUS_INSUFFICIENT_RESOURCES);
}

static void test_cq_affinity(void **state)
{
    GROUP_AFFINITY affinity = { .Mask = 0x30, .Group = 1 };
    NDK_CQ *cq;

    (void)state;
    assert_int_equal(t.adapter->Dispatch->NdkCreateCq(t.adapter, 1, on_notify, NULL, &affinity, on_create, NULL, &cq),
                     STATUS_SUCCESS);
    assert_int_equal(fake.cq_config.affinity, 68);
    close_and_wait(cq);
    assert_int_equal(try_cq(1), STATUS_SUCCESS);
    assert_int_equal(fake.cq_config.affinity, -1);
}

/* covers: CQX-01 */
static void test_cq_resize(void **state)
{
    struct rdma_completion c = { .status = RDMA_STATUS_OK };
    const NDK_CQ_DISPATCH *d = t.cq->Dispatch;
    NDK_RESULT results[8];

    (void)state;
    for (int i = 0; i < 5; i++)
        fake_complete(cq_of(t.cq)->fabric, &c);
    assert_int_equal(d->NdkResizeCq(t.cq, t.info.MaxCqDepth + 1, on_request, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkResizeCq(t.cq, 4, on_request, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(d->NdkResizeCq(t.cq, 5, on_request, NULL), STATUS_SUCCESS);
    assert_int_equal(d->NdkResizeCq(t.cq, t.info.MaxCqDepth, on_request, NULL), STATUS_SUCCESS);
    fake.error = ENOMEM;
    assert_int_equal(d->NdkResizeCq(t.cq, 10, on_request, NULL), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(d->NdkGetCqResults(t.cq, results, 8), 5);
}

/* covers: CQX-03, CQX-06 */
static void test_cq_arm(void **state)
{
    (void)state;
    t.cq->Dispatch->NdkArmCq(t.cq, NDK_CQ_NOTIFY_ERRORS);
    assert_int_equal(fake.armed, FABRIC_ARM_ERRORS);
    t.cq->Dispatch->NdkArmCq(t.cq, NDK_CQ_NOTIFY_SOLICITED);
    assert_int_equal(fake.armed, FABRIC_ARM_SOLICITED);
    t.cq->Dispatch->NdkArmCq(t.cq, NDK_CQ_NOTIFY_ANY);
    assert_int_equal(fake.armed, FABRIC_ARM_ANY);
}

/* covers: CQX-02, CQX-07 */
static void test_cq_notification(void **state)
{
    (void)state;
    fake_notify(cq_of(t.cq)->fabric, false);
    fake_drain();
    assert_int_equal(t.notified.count, 1);
    assert_int_equal(t.notified.status, STATUS_SUCCESS);
    fake_notify(cq_of(t.cq)->fabric, true);
    fake_drain();
    assert_int_equal(t.notified.count, 2);
    assert_int_equal(t.notified.status, STATUS_BUFFER_OVERFLOW);
}

static const struct result_case {
    struct rdma_completion c;
    NTSTATUS status;
    NDK_OPERATION_TYPE type;
    ULONG error;
} result_cases[] = {
    { { .op = RDMA_OP_SEND, .qp_context = (void *)1, .context = (void *)2, .terminate = 0xffff },
      STATUS_SUCCESS,
      NdkOperationTypeSend,
      0 },
    { { .op = RDMA_OP_RECEIVE, .qp_context = (void *)3, .context = (void *)4, .length = 70000, .terminate = 0xffff },
      STATUS_SUCCESS,
      NdkOperationTypeReceive,
      0 },
    { { .op = RDMA_OP_RECEIVE_AND_INVALIDATE, .length = 78, .token = 0xabcd1234, .terminate = 0xffff },
      STATUS_SUCCESS,
      NdkOperationTypeReceiveAndInvalidate,
      0 },
    { { .op = RDMA_OP_FAST_REGISTER, .token = 5, .terminate = 0xffff },
      STATUS_SUCCESS,
      NdkOperationTypeFastRegister,
      0 },
    { { .op = RDMA_OP_BIND, .terminate = 0xffff }, STATUS_SUCCESS, NdkOperationTypeBind, 0 },
    { { .op = RDMA_OP_INVALIDATE,
        .status = RDMA_STATUS_LOCAL_ACCESS,
        .terminate = 0xffff,
        .reason = FABRIC_TOKEN_LASTING },
      STATUS_ACCESS_VIOLATION,
      NdkOperationTypeInvalidate,
      0x560000 },
    { { .op = RDMA_OP_WRITE,
        .status = RDMA_STATUS_FLUSHED,
        .qp_context = (void *)5,
        .terminate = 0xffff,
        .reason = FABRIC_LOCAL_FLUSH },
      STATUS_CANCELLED,
      NdkOperationTypeWrite,
      0x440000 },
    { { .op = RDMA_OP_READ,
        .status = RDMA_STATUS_REMOTE_RANGE,
        .context = (void *)6,
        .terminate = 0x0101,
        .reason = FABRIC_PEER_RANGE },
      STATUS_REMOTE_RESOURCES,
      NdkOperationTypeRead,
      0x2590101 },
    { { .op = RDMA_OP_READ, .status = RDMA_STATUS_REMOTE_ACCESS, .terminate = 0x0100, .reason = FABRIC_PEER_TOKEN },
      STATUS_ACCESS_VIOLATION,
      NdkOperationTypeRead,
      0x2580100 },
    { { .op = RDMA_OP_SEND, .status = RDMA_STATUS_LOST, .terminate = 0xffff, .reason = FABRIC_PEER_RESET },
      STATUS_CONNECTION_ABORTED,
      NdkOperationTypeSend,
      0x230000 },
    { { .op = RDMA_OP_SEND, .status = RDMA_STATUS_LOCAL_ACCESS, .terminate = 0xffff, .reason = FABRIC_TOKEN_RIGHT },
      STATUS_ACCESS_VIOLATION,
      NdkOperationTypeSend,
      0x540000 },
    { { .op = RDMA_OP_RECEIVE,
        .status = RDMA_STATUS_TOO_LONG,
        .length = 9,
        .terminate = 0x1205,
        .reason = FABRIC_RECEIVE_SHORT },
      STATUS_DATA_OVERRUN,
      NdkOperationTypeReceive,
      0x1571205 },
};
enum { N_RESULTS = sizeof(result_cases) / sizeof(result_cases[0]) };

static void check_result(const NDK_RESULT_EX *r, const struct result_case *expected)
{
    bool invalidated = r->Type == NdkOperationTypeReceiveAndInvalidate;

    assert_int_equal(r->Status, expected->status);
    assert_int_equal(r->Type, expected->type);
    assert_int_equal(r->ProviderErrorCode, expected->error);
    assert_ptr_equal(r->QPContext, expected->c.qp_context);
    assert_ptr_equal(r->RequestContext, expected->c.context);
    assert_int_equal(r->TypeSpecificCompletionOutput, invalidated ? expected->c.token : 0);
    if (r->Type == NdkOperationTypeReceive || invalidated)
        assert_int_equal(r->BytesTransferred, expected->c.length);
}

/* covers: CQX-09, CQX-10, QPR-04, QPR-12, QPR-16, QPR-20 */
static void test_cq_results(void **state)
{
    NDK_RESULT_EX ex[N_RESULTS + 1];
    NDK_RESULT plain[1];

    (void)state;
    assert_int_equal(t.cq->Dispatch->NdkGetCqResultsEx(t.cq, ex, N_RESULTS), 0);
    for (int i = 0; i < N_RESULTS; i++)
        fake_complete(cq_of(t.cq)->fabric, &result_cases[i].c);
    assert_int_equal(t.cq->Dispatch->NdkGetCqResults(t.cq, plain, 0), 0);
    assert_int_equal(t.cq->Dispatch->NdkGetCqResults(t.cq, plain, 1), 1);
    assert_int_equal(plain[0].Status, STATUS_SUCCESS);
    assert_ptr_equal(plain[0].QPContext, (void *)1);
    assert_ptr_equal(plain[0].RequestContext, (void *)2);
    assert_int_equal(t.cq->Dispatch->NdkGetCqResultsEx(t.cq, ex, N_RESULTS + 1), N_RESULTS - 1);
    for (int i = 1; i < N_RESULTS; i++)
        check_result(&ex[i - 1], &result_cases[i]);
}

/* More than one batch: all results in order. covers: CQX-09 */
static void test_cq_many_results(void **state)
{
    NDK_RESULT results[60];

    (void)state;
    for (uintptr_t i = 0; i < 50; i++) {
        struct rdma_completion c = { .status = RDMA_STATUS_OK, .context = (void *)i };
        fake_complete(cq_of(t.cq)->fabric, &c);
    }
    assert_int_equal(t.cq->Dispatch->NdkGetCqResults(t.cq, results, 33), 33);
    assert_int_equal(t.cq->Dispatch->NdkGetCqResults(t.cq, results + 33, 27), 17);
    for (uintptr_t i = 0; i < 50; i++)
        assert_ptr_equal(results[i].RequestContext, (void *)i);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cq_depth),        TEST(test_cq_affinity), TEST(test_cq_resize),       TEST(test_cq_arm),
        TEST(test_cq_notification), TEST(test_cq_results),  TEST(test_cq_many_results),
    };

    return cmocka_run_group_tests_name("verbs_cq", tests, NULL, NULL);
}
