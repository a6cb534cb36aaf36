/* SPDX-License-Identifier: MIT */
/* Calls with a missing or wrong argument, and through a wrong entry. The provider receives and answers them all. */
#include "verify/reported.h"

#include "verify/two_calls.h"

static int start_objects(void **state)
{
    start(state);
    open_objects();
    return 0;
}

static int stop_objects(void **state)
{
    close_objects();
    return stop(state);
}

/* Checks that there is one report since the last call of this function, with the words. NULL: that there is none. */
static void assert_report(const char *words)
{
    uint32_t n = ondk_verify_breaches() - breaches_before;

    if (n != (words ? 1 : 0) || (words && !occurrences(words)))
        fail_msg("expected \"%s\", but there were %u:\n%s", words ? words : "nothing", n, output_text());
    breaches_before += n;
}

/* ---- routines ---- */

static void test_completion_missing(void **state)
{
    NDK_PD *own = NULL;
    NDK_MR *mr = NULL;
    UCHAR buffer[16];
    MDL mdl = { .Size = sizeof mdl, .MdlFlags = MDL_PAGES_LOCKED, .StartVa = buffer, .ByteCount = sizeof buffer };

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &own), STATUS_SUCCESS);
    assert_report("*** NDK rule broken: completion-missing in NdkCreatePd: ");
    assert_int_equal(own->Dispatch->NdkCreateMr(own, FALSE, ignore_create, NULL, &mr), STATUS_SUCCESS);
    assert_int_equal(mr->Dispatch->NdkRegisterMr(mr, &mdl, sizeof buffer, 0, NULL, NULL), STATUS_SUCCESS);
    assert_report("completion-missing in NdkRegisterMr");
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, NULL, NULL), STATUS_SUCCESS);
    assert_report("completion-missing in NdkDeregisterMr");
    close_object(mr);
    assert_int_equal(own->Dispatch->NdkClosePd(&own->Header, NULL, NULL), STATUS_SUCCESS);
    assert_report("completion-missing in NdkClosePd");
    assert_int_equal(cq->Dispatch->NdkResizeCq(cq, 16, NULL, NULL), STATUS_SUCCESS);
    assert_report("completion-missing in NdkResizeCq");
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 8, 0, ignore_request, NULL), STATUS_SUCCESS);
    assert_report(NULL);
    assert_int_equal(srq->Dispatch->NdkModifySrq(srq, 8, 0, NULL, NULL), STATUS_SUCCESS);
    assert_report("completion-missing in NdkModifySrq");
}

/* The header of ndkpi.h marks this routine as optional. */
static void test_mapping_without_completion(void **state)
{
    NDK_LOGICAL_ADDRESS_MAPPING lam = { .AdapterPageCount = 0 };
    ULONG size = sizeof lam, fbo = 0;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkBuildLAM(adapter, NULL, 0, NULL, NULL, &lam, &size, &fbo), STATUS_SUCCESS);
    adapter->Dispatch->NdkReleaseLAM(adapter, &lam);
    assert_report(NULL);
}

static void test_notification_missing(void **state)
{
    NDK_CQ *made = NULL;
    NDK_LISTENER *listener = NULL;
    NDK_SRQ *other = NULL;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 8, NULL, NULL, NULL, ignore_create, NULL, &made),
                     STATUS_SUCCESS);
    assert_report("notification-missing in NdkCreateCq: the call has no NdkCqNotificationCallback");
    close_object(made);
    assert_int_equal(adapter->Dispatch->NdkCreateListener(adapter, NULL, NULL, ignore_create, NULL, &listener),
                     STATUS_SUCCESS);
    assert_report("notification-missing in NdkCreateListener: the call has no NdkConnectEventCallback");
    close_object(listener);
    assert_int_equal(pd->Dispatch->NdkCreateSrq(pd, 8, 1, 0, NULL, NULL, NULL, ignore_create, NULL, &other),
                     STATUS_SUCCESS);
    assert_report(NULL); /* optional */
    close_object(other);
}

/* ---- entries ---- */

static void test_wrong_close(void **state)
{
    (void)state;
    assert_int_equal(pd->Dispatch->NdkClosePd(&cq->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_report("close-wrong-entry in NdkClosePd: ");
    assert_int_equal(occurrences("is an object of type NDK_CQ"), 1);
    assert_ptr_equal(fake->called, &fake->cq); /* it is closed nevertheless */
    cq = NULL;
    assert_int_equal(qp->Dispatch->NdkCloseQp(&srq->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_report("close-wrong-entry in NdkCloseQp");
    srq = NULL;
    assert_int_equal(qp->Dispatch->NdkCloseQp(&adapter->Header, ignore_close, NULL), STATUS_INVALID_PARAMETER);
    assert_report("close-wrong-entry in NdkCloseQp");
    assert_int_equal(qp->Dispatch->NdkCloseQp(&qp->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_report(NULL);
    qp = NULL;
}

static void use_version(USHORT major, USHORT minor)
{
    close_objects();
    fake_setting.version = (NDK_VERSION){ major, minor };
    open_objects();
}

/* The connector has no connection, so that these calls also break rules about connections. */
static void accept_and_complete(void)
{
    NDK_CONNECTOR *connector = NULL;

    assert_int_equal(adapter->Dispatch->NdkCreateConnector(adapter, ignore_create, NULL, &connector), STATUS_SUCCESS);
    (void)connector->Dispatch->NdkAccept(connector, qp, 0, 0, NULL, 0, NULL, NULL, ignore_request, NULL);
    (void)connector->Dispatch->NdkAcceptEx(connector, qp, 0, 0, NULL, 0, NULL, NULL, ignore_request, NULL);
    assert_ptr_equal(fake->called, &fake->connector);
    (void)connector->Dispatch->NdkCompleteConnectEx(connector, NULL, NULL, ignore_request, NULL);
    close_object(connector);
    breaches_before = ondk_verify_breaches();
}

static void test_version(void **state)
{
    (void)state;
    accept_and_complete();
    assert_int_equal(occurrences("version-too-new"), 0);
    use_version(1, 2);
    accept_and_complete();
    assert_int_equal(
        occurrences("version-too-new in NdkAcceptEx: the entry is of NDKPI 2.1, and the adapter is of 1.2"), 1);
    assert_int_equal(occurrences("version-too-new in NdkCompleteConnectEx: "), 1);
    assert_int_equal(occurrences("*** NDK rule broken: version-too-new"), 2);
    call_poll_ex();
    (void)qp->Dispatch->NdkSendAndInvalidate(qp, NULL, NULL, 0, NDK_OP_FLAG_DEFER, 1);
    assert_report(NULL);
    use_version(1, 1);
    call_poll();
    call_send();
    assert_report(NULL);
    call_poll_ex();
    assert_report("version-too-new in NdkGetCqResultsEx");
    (void)qp->Dispatch->NdkSendAndInvalidate(qp, NULL, NULL, 0, 0, 1);
    assert_report("version-too-new in NdkSendAndInvalidate");
    (void)qp->Dispatch->NdkSend(qp, NULL, NULL, 0, NDK_OP_FLAG_DEFER);
    assert_report("version-too-new in NdkSend: NDK_OP_FLAG_DEFER is of NDKPI 1.2, and the adapter is of 1.1");
    call_send();
    use_version(2, 1);
}

/* ---- completion queues ---- */

static void test_arm_type(void **state)
{
    static const ULONG types[] = { NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_SOLICITED };

    (void)state;
    for (int i = 0; i < 3; i++)
        cq->Dispatch->NdkArmCq(cq, types[i]);
    assert_report(NULL);
    cq->Dispatch->NdkArmCq(cq, 3);
    assert_report("arm-type in NdkArmCq: there is no type 0x3");
    assert_ptr_equal(fake->called, &fake->cq);
}

static void moderate(ULONG interval, ULONG count, const char *words)
{
    (void)cq->Dispatch->NdkControlCqInterruptModeration(cq, interval, count);
    assert_report(words);
}

/* The completion queue's depth is 8, then 16. */
static void test_moderation_range(void **state)
{
    (void)state;
    moderate(MAXULONG, 8, NULL);
    moderate(100, MAXULONG, NULL);
    moderate(0, MAXULONG, NULL);
    moderate(MAXULONG, 9, "moderation-range in NdkControlCqInterruptModeration: ");
    assert_int_equal(occurrences("the count, 9, is above the depth, 8"), 1);
    call_resize();
    moderate(MAXULONG, 9, NULL);
    moderate(MAXULONG, MAXULONG, "moderation-range in NdkControlCqInterruptModeration: ");
}

static void test_unsupported(void **state)
{
    (void)state;
    call_resize();
    moderate(10, 4, NULL);
    close_objects();
    fake_setting.flags = 0;
    open_objects();
    call_resize();
    assert_report("resize-unsupported in NdkResizeCq: ");
    moderate(10, 4, "moderation-unsupported in NdkControlCqInterruptModeration: ");
    moderate(MAXULONG, MAXULONG, "moderation-unsupported in NdkControlCqInterruptModeration: ");
    close_objects();
    fake_setting.flags = FAKE_FLAGS;
    open_objects();
}

/* Nothing is known about the adapter. */
static void test_no_information(void **state)
{
    (void)state;
    close_objects();
    fake_setting.info_status = STATUS_NOT_SUPPORTED;
    open_objects();
    call_resize();
    moderate(10, 4, NULL);
    fake_setting.info_status = STATUS_SUCCESS;
}

#define OBJECT_TEST(function) cmocka_unit_test_setup_teardown(function, start_objects, stop_objects)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OBJECT_TEST(test_completion_missing),
        OBJECT_TEST(test_mapping_without_completion),
        OBJECT_TEST(test_notification_missing),
        OBJECT_TEST(test_wrong_close),
        OBJECT_TEST(test_version),
        OBJECT_TEST(test_arm_type),
        OBJECT_TEST(test_moderation_range),
        OBJECT_TEST(test_unsupported),
        OBJECT_TEST(test_no_information),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
