/* SPDX-License-Identifier: MIT */
/* What queues have where the adapter reports it: moderation. The scripted fabric tells what it was given. */
#include <errno.h>
#include <string.h>

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
    fake_is_rich = true;
    t.adapter = fake_open(version_2_1, NULL);
    t.pd = make_pd(t.adapter);
    t.cq = make_cq(t.adapter, NULL);
    return t.adapter->Dispatch->NdkQueryAdapterInfo(t.adapter, &t.info, &size);
}

static int tear_down(void **state)
{
    (void)state;
    fake.hold = false;
    fake_release();
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_moderation),
    };

    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
