/* SPDX-License-Identifier: MIT */
/*
 * Initiator requests that do not complete: a provider whose requests never complete, and examinations at times of the
 * test's own choice.
 */
#include "base/owner.h"
#include "verify/fake_provider.h"
#include "verify/queue.h"
#include "verify/reported.h"
#include "verify/stall.h"

enum { HOUR_MS = 3600000, DEPTH = 64 };
static const uint64_t hour = (uint64_t)HOUR_MS * STALL_NS_PER_MS;

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;
static NDK_CQ *cq;
static NDK_PD *pd;
static NDK_QP *qp;

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static int requests_setup(void **state)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.stall_ms = HOUR_MS;
    assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
    (void)start(state);
    fake = fake_provider_init();
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    assert_int_equal(
        adapter->Dispatch->NdkCreateCq(adapter, DEPTH, ignore_notification, NULL, NULL, ignore_create, NULL, &cq),
        STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, ignore_create, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, DEPTH, DEPTH, 1, 1, 0, ignore_create, NULL, &qp),
                     STATUS_SUCCESS);
    return 0;
}

static int requests_teardown(void **state)
{
    if (qp)
        assert_int_equal(qp->Dispatch->NdkCloseQp(&qp->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkClosePd(&pd->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_int_equal(cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_ptr_equal(verify_close(adapter, "CloseAdapter"), &fake->adapter);
    return stop(state);
}

static NTSTATUS post_send(uintptr_t context, ULONG flags)
{
    return qp->Dispatch->NdkSend(qp, (PVOID)context, NULL, 0, flags);
}

static void poll_cq(void)
{
    NDK_RESULT_EX result;

    assert_int_equal(cq->Dispatch->NdkGetCqResultsEx(cq, &result, 1), 0);
}

/* As if the consumer polled half an hour before the requests are due. */
static void poll_later(void)
{
    poll_cq();
    atomic_fetch_add(&((struct queue *)cq)->polled_ms, HOUR_MS / 2 + HOUR_MS / 4);
}

static uint32_t new_reports(void)
{
    return ondk_verify_breaches() - breaches_before + ondk_verify_advices() - advices_before;
}

/* Examines when everything that was posted is due, and checks that `words` is what is reported. */
static void assert_reported(const char *words)
{
    uint32_t before = new_reports();

    (void)stall_examine(owner_clock(NULL) + hour - (uint64_t)HOUR_MS / 4 * STALL_NS_PER_MS);
    assert_int_equal(new_reports(), before);
    assert_true(stall_examine(owner_clock(NULL) + hour) == UINT64_MAX);
    assert_int_equal(new_reports(), before + 1);
    if (!strstr(output_text(), words))
        fail_msg("expected %s, saw %s", words, text);
    (void)stall_examine(owner_clock(NULL) + 2 * hour);
    assert_int_equal(new_reports(), before + 1);
}

static void assert_nothing_reported(void)
{
    (void)stall_examine(owner_clock(NULL) + 2 * hour);
    assert_int_equal(new_reports(), 0);
}

/* ---- the completion queue ---- */

static void test_unattended(void **state)
{
    (void)state;
    assert_int_equal(post_send(0x51, 0), STATUS_SUCCESS);
    assert_int_equal(post_send(0x52, 0), STATUS_SUCCESS);
    assert_reported(
        "*** NDK advice: cq-unattended in NdkSend: 2 request(s), the first with RequestContext 0x51, for 36");
}

/* A poll before the result comes, without NdkArmCq after it, misses the result. */
static void test_polled_too_early(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, 0), STATUS_SUCCESS);
    poll_cq();
    assert_reported("cq-unattended in NdkSend");
}

static void test_polled(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, 0), STATUS_SUCCESS);
    poll_later();
    assert_reported("stall in NdkSend: 1 request(s), the first with RequestContext 0x1, for 36");
}

static void test_armed(void **state)
{
    (void)state;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_int_equal(post_send(1, 0), STATUS_SUCCESS);
    assert_reported("stall in NdkSend");
}

/* A notification disarms the completion queue. */
static void test_notified(void **state)
{
    (void)state;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_int_equal(post_send(1, 0), STATUS_SUCCESS);
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_reported("cq-unattended in NdkSend");
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_int_equal(post_send(2, 0), STATUS_SUCCESS);
    assert_reported("stall in NdkSend");
}

/* The success of a silent request has no result. A receive may wait for ever. */
static void test_idle(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
    assert_nothing_reported();
}

/* Requests of a queue pair that was flushed or closed have failed or will never have a result. */
static void test_ended(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    qp->Dispatch->NdkFlush(qp);
    assert_nothing_reported();
    assert_int_equal(qp->Dispatch->NdkCloseQp(&qp->Header, ignore_close, NULL), STATUS_SUCCESS);
    qp = NULL;
    assert_nothing_reported();
}

/* ---- chains ---- */

static void test_chain(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, 0), STATUS_SUCCESS);
    assert_int_equal(post_send(2, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    assert_int_equal(post_send(3, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_reported(
        "*** NDK rule broken: defer-open in NdkSend: this request, with RequestContext 0x3, is the last one "
        "in a chain of 2 with NDK_OP_FLAG_DEFER, and for 36");
    /* Not by post_send: of the reports about one call, only the first is written. */
    assert_int_equal(qp->Dispatch->NdkSend(qp, (PVOID)4, NULL, 0, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    assert_reported("a chain of 3");
}

static void test_chain_ended(void **state)
{
    (void)state;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_int_equal(post_send(1, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(post_send(2, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_nothing_reported();
}

/* The consumer may leave the chain open if a post has failed. */
static void test_chain_failed(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    fake->posted = STATUS_INSUFFICIENT_RESOURCES;
    assert_int_equal(post_send(2, NDK_OP_FLAG_DEFER), STATUS_INSUFFICIENT_RESOURCES);
    assert_nothing_reported();
}

/* While verification is off, the end of a chain is not seen. */
static void test_chain_unseen(void **state)
{
    (void)state;
    assert_int_equal(post_send(1, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    assert_int_equal(post_send(2, 0), STATUS_SUCCESS);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    assert_nothing_reported();
}

#define REQUESTS_TEST(function) cmocka_unit_test_setup_teardown(function, requests_setup, requests_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REQUESTS_TEST(test_unattended),   REQUESTS_TEST(test_polled_too_early),
        REQUESTS_TEST(test_polled),       REQUESTS_TEST(test_armed),
        REQUESTS_TEST(test_notified),     REQUESTS_TEST(test_idle),
        REQUESTS_TEST(test_ended),        REQUESTS_TEST(test_chain),
        REQUESTS_TEST(test_chain_ended),  REQUESTS_TEST(test_chain_failed),
        REQUESTS_TEST(test_chain_unseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
