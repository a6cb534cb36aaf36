/* SPDX-License-Identifier: MIT */
/* Calls at the same time on one queue, and a close during a call, with a provider that blocks inside a call. */
#include "verify/reported.h"

#include "verify/call.h"
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

static void assert_one_report(const char *words)
{
    if (ondk_verify_breaches() - breaches_before != 1 || occurrences(words) != 1)
        fail_msg("expected one \"%s\", but there were %u:\n%s", words, ondk_verify_breaches() - breaches_before,
                 output_text());
}

static void assert_no_report(void)
{
    if (ondk_verify_breaches() != breaches_before)
        fail_msg("%s", output_text());
}

/* ---- at the same time ---- */

static void assert_breach(call_function *first, call_function *second, const char *words)
{
    void *state = NULL;

    start_objects(&state);
    call_during(first, second);
    assert_one_report(words);
    assert_int_equal(occurrences("  the other call, at the same time, by\n"), 1);
    assert_int_equal(occurrences("    #0 "), 3); /* the two calls, and the creation of the object */
    call_in_thread(second);
    call_during(second, first); /* the next breach is another one */
    assert_int_equal(ondk_verify_breaches() - breaches_before, 2);
    stop_objects(&state);
}

static void test_one_completion_queue(void **state)
{
    (void)state;
    assert_breach(call_poll, call_poll_ex, "*** NDK rule broken: cq-concurrent in NdkGetCqResults: ");
    assert_breach(call_poll_ex, call_poll_ex, "cq-concurrent in NdkGetCqResultsEx: ");
    assert_breach(call_poll, call_arm, "cq-concurrent in NdkGetCqResults: ");
    assert_breach(call_arm, call_poll, "cq-concurrent in NdkArmCq: ");
    assert_breach(call_arm, call_arm, "cq-concurrent in NdkArmCq: ");
    assert_breach(call_moderate, call_moderate, "moderation-concurrent in NdkControlCqInterruptModeration: ");
}

static void test_one_work_queue(void **state)
{
    (void)state;
    assert_breach(call_send, call_invalidate, "queue-concurrent in NdkSend: ");
    assert_breach(call_invalidate, call_send, "queue-concurrent in NdkInvalidate: ");
    assert_breach(call_receive, call_receive, "queue-concurrent in NdkReceive: ");
    assert_breach(call_srq_receive, call_srq_receive, "queue-concurrent in NdkSrqReceive: ");
}

/* The report names both threads. */
static void test_threads(void **state)
{
    char words[64];

    (void)state;
    call_during(call_send, call_send);
    snprintf(words, sizeof words, ", and thread %d was in NdkSend", verify_this_thread());
    assert_one_report(words);
    assert_int_equal(occurrences(": thread "), 1);
    assert_int_equal(occurrences(" called NdkSend of the initiator queue of 0x"), 1);
}

static void test_legal(void **state)
{
    static const struct {
        call_function *first, *second;
    } legal[] = {
        { call_send, call_receive },  { call_receive, call_send },        { call_send, call_flush },
        { call_flush, call_receive }, { call_flush, call_flush },         { call_srq_receive, call_receive },
        { call_poll, call_send },     { call_moderate, call_poll },       { call_arm, call_moderate },
        { call_poll, call_resize },   { call_receive, call_srq_receive },
    };

    (void)state;
    for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++)
        call_during(legal[i].first, legal[i].second);
    for (int i = 0; i < 4; i++)
        call_in_thread(i % 2 ? call_poll : call_arm);
    call_in_thread(call_send);
    call_send();
    assert_no_report();
}

static void other_queue_pair(void)
{
    NDK_QP *other = NULL;

    (void)pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 8, 8, 1, 1, 0, ignore_create, NULL, &other);
    (void)other->Dispatch->NdkSend(other, NULL, NULL, 0, 0);
    close_object(other);
}

static void test_other_object(void **state)
{
    (void)state;
    call_during(call_send, other_queue_pair);
    assert_no_report();
}

/* A call that comes when the two calls of a breach have met is no part of the report. */
static void second_and_third(void)
{
    call_send();
    call_in_thread(call_invalidate);
}

static void test_third_call(void **state)
{
    (void)state;
    call_during(call_send, second_and_third);
    assert_one_report("queue-concurrent in NdkSend: ");
    assert_int_equal(occurrences("NdkInvalidate called by"), 0);
    assert_int_equal(occurrences(" was in NdkSend of it"), 1);
}

/* ---- callbacks ---- */

/* The provider may notify inside NdkArmCq. The consumer then polls inside of it. */
static void poll_once(void)
{
    fake->inside = NULL;
    call_poll();
    call_arm();
}

static void test_call_inside_call(void **state)
{
    (void)state;
    fake->inside = poll_once;
    call_arm();
    assert_no_report();
}

/* The notification may come to another thread while NdkArmCq has not returned. */
static void notify(void)
{
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    call_poll();
    call_arm();
}

static void test_poll_after_notification(void **state)
{
    (void)state;
    call_during(call_arm, notify);
    assert_no_report();
    call_during(call_poll, call_arm); /* and the rule is still checked */
    assert_one_report("cq-concurrent in NdkGetCqResults");
}

/* ---- close during a call ---- */

static void close_cq(void)
{
    close_object(cq);
    cq = NULL;
}

static void test_close_during_call(void **state)
{
    (void)state;
    call_during(call_arm, close_cq);
    assert_one_report("close-during-call in NdkArmCq: ");
    assert_int_equal(occurrences("  closed by\n"), 1);
}

static void close_qp(void)
{
    close_object(qp);
    qp = NULL;
}

static void test_close_during_post(void **state)
{
    (void)state;
    call_during(call_receive, close_qp);
    assert_one_report("close-during-call in NdkReceive: ");
}

static void close_in_completion(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    close_cq();
}

static void resize_and_close(void)
{
    (void)cq->Dispatch->NdkResizeCq(cq, 16, close_in_completion, NULL);
}

static void complete(void)
{
    fake->pend = false;
    fake_provider_complete(fake, STATUS_SUCCESS);
}

static void complete_inside(void)
{
    fake->inside = NULL;
    complete();
}

/* The consumer may close the object in the call's completion, on any thread, although the call has not returned. */
static void test_close_in_completion(void **state)
{
    (void)state;
    fake->pend = true;
    call_during(resize_and_close, complete);
    assert_null(cq);
    assert_no_report();
}

static void test_close_in_completion_inside(void **state)
{
    (void)state;
    fake->pend = true;
    fake->inside = complete_inside;
    resize_and_close();
    assert_null(cq);
    assert_no_report();
}

static void create_and_close_all(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status;
    close_object(object);
    close_object(qp);
    close_object(srq);
    close_object(pd);
    qp = NULL, srq = NULL, pd = NULL;
}

static void create_srq(void)
{
    NDK_SRQ *none = NULL;

    (void)pd->Dispatch->NdkCreateSrq(pd, 8, 1, 0, ignore_notification, NULL, NULL, create_and_close_all, NULL, &none);
}

static void test_parent_closed_in_completion(void **state)
{
    (void)state;
    fake->pend = true;
    call_during(create_srq, complete);
    assert_null(pd);
    assert_no_report();
}

#define OBJECT_TEST(function) cmocka_unit_test_setup_teardown(function, start_objects, stop_objects)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_completion_queue),
        cmocka_unit_test(test_one_work_queue),
        OBJECT_TEST(test_threads),
        OBJECT_TEST(test_legal),
        OBJECT_TEST(test_other_object),
        OBJECT_TEST(test_third_call),
        OBJECT_TEST(test_call_inside_call),
        OBJECT_TEST(test_poll_after_notification),
        OBJECT_TEST(test_close_during_call),
        OBJECT_TEST(test_close_during_post),
        OBJECT_TEST(test_close_in_completion),
        OBJECT_TEST(test_close_in_completion_inside),
        OBJECT_TEST(test_parent_closed_in_completion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
