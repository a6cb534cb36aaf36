/* SPDX-License-Identifier: MIT */
/*
 * Stalls, and adapters that are closed while objects are open. A case that expects no report sets the limit to an hour,
 * and examines the calls at times of its own choice. So the speed of the machine decides nothing.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/owner.h"
#include "verify/fake_provider.h"
#include "verify/reported.h"
#include "verify/stall.h"

enum { HOUR_MS = 3600000 };
static const uint64_t hour = (uint64_t)HOUR_MS * STALL_NS_PER_MS;

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;

static void (*in_notification)(void); /* NULL: a notification does nothing */

static void on_notification(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
    if (in_notification)
        in_notification();
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static void created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    if (status == STATUS_SUCCESS)
        *(NDK_CQ **)context = (NDK_CQ *)object;
}

static void set_limit(uint32_t ms)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.stall_ms = ms;
    assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
}

static int stall_setup(void **state)
{
    set_limit(HOUR_MS); /* reads the environment, so it comes before the mode of `start` */
    (void)start(state);
    fake = fake_provider_init();
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    assert_non_null(adapter);
    return 0;
}

static void close_adapter(void)
{
    assert_ptr_equal(verify_close(adapter, "CloseAdapter"), &fake->adapter);
}

static NTSTATUS create_cq(NDK_CQ **cq)
{
    return adapter->Dispatch->NdkCreateCq(adapter, 8, on_notification, NULL, NULL, created, cq, cq);
}

static NTSTATUS close_cq(NDK_CQ *cq)
{
    return cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
}

static uint32_t new_advices(void)
{
    return ondk_verify_advices() - advices_before;
}

static uint32_t new_breaches(void)
{
    return ondk_verify_breaches() - breaches_before;
}

/* ---- pending calls ---- */

/* A pending call is reported at the limit, not before, and once. */
static void test_pending_call(void **state)
{
    static NDK_CQ *cq;
    uint64_t before = owner_clock(NULL), after, due;

    (void)state;
    fake->pend = true;
    assert_int_equal(create_cq(&cq), STATUS_PENDING);
    after = owner_clock(NULL);
    due = stall_examine(before + hour - 1);
    assert_int_equal(new_advices(), 0);
    assert_in_range(due, before + hour, after + hour);
    assert_true(stall_examine(after + hour) == UINT64_MAX);
    assert_int_equal(new_advices(), 1);
    assert_int_equal(occurrences("*** NDK advice: stall in NdkCreateCq: has not completed for 3600"), 1);
    assert_int_equal(occurrences("the provider has not completed the call; thread "), 1);
    (void)stall_examine(after + 2 * hour);
    assert_int_equal(new_advices(), 1);
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(close_cq(cq), STATUS_PENDING);
    fake_provider_complete(fake, STATUS_SUCCESS);
    close_adapter();
    assert_int_equal(new_breaches(), 0);
}

/* Neither a call that has completed nor an object that is open is a stall. */
static void test_idle(void **state)
{
    static NDK_CQ *cq;

    (void)state;
    fake->pend = true;
    assert_int_equal(create_cq(&cq), STATUS_PENDING);
    fake_provider_complete(fake, STATUS_SUCCESS);
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_true(stall_examine(owner_clock(NULL) + 2 * hour) == UINT64_MAX);
    fake->pend = false;
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    close_adapter();
    assert_int_equal(new_advices() + new_breaches(), 0);
}

/* With a limit of 0 nothing is a stall. */
static void test_off(void **state)
{
    static NDK_CQ *cq;

    (void)state;
    set_limit(0);
    fake->pend = true;
    assert_int_equal(create_cq(&cq), STATUS_PENDING);
    assert_true(stall_examine(owner_clock(NULL) + 2 * hour) == UINT64_MAX);
    fake_provider_complete(fake, STATUS_NO_MEMORY);
    close_adapter();
    assert_int_equal(new_advices() + new_breaches(), 0);
}

static void wait_for_advices(uint32_t count)
{
    while (new_advices() < count)
        sched_yield();
}

/* The doctor's thread reports, also after a sleep without a deadline, and a stall does not stop the process. */
static void test_doctor(void **state)
{
    static NDK_CQ *cq;

    (void)state;
    verify_set_mode(VERIFY_STOP);
    report_set_max_written(UINT32_MAX);
    fake->pend = true;
    set_limit(1);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(create_cq(&cq), STATUS_PENDING);
        wait_for_advices(i);
        fake_provider_complete(fake, STATUS_NO_MEMORY);
    }
    assert_int_equal(occurrences("stall in NdkCreateCq"), 3);
    close_adapter();
}

/* ---- objects that are left ---- */

static void forget_cq(void)
{
    static NDK_CQ *cq;

    if (create_cq(&cq) != STATUS_SUCCESS)
        abort();
    set_limit(1);
}

/* The close of the adapter reports the open CQ, and gives up. */
static void test_objects_left(void **state)
{
    (void)state;
    forget_cq();
    assert_null(verify_close(adapter, "CloseAdapter"));
    assert_true(verify_close_gave_up(adapter));
    assert_int_equal(new_breaches(), 1);
    assert_int_equal(occurrences("*** NDK rule broken: objects-left in CloseAdapter: nobody has closed 1 object(s) and "
                                 "0 mapping(s) for 1 ms: NDK_CQ 0x"),
                     1);
    assert_int_equal(occurrences("left: NDK object"), 1);
    assert_null(verify_close(adapter, "CloseAdapter"));
    assert_false(verify_close_gave_up(adapter));
    assert_int_equal(occurrences("ndk-closed-twice in CloseAdapter"), 1);
}

static void forget_and_stop(void)
{
    signal(SIGABRT, SIG_DFL);
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    forget_cq();
    verify_set_mode(VERIFY_STOP);
    (void)verify_close(adapter, "CloseAdapter");
}

static void test_objects_left_stop(void **state)
{
    int status;

    (void)state;
    close_adapter();
    status = child_status(forget_and_stop);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void *close_in_thread(void *unused)
{
    (void)unused;
    close_adapter();
    return NULL;
}

/* An object that another thread closes while the adapter's close waits is not left. */
static void test_closed_in_time(void **state)
{
    static NDK_CQ *cq;
    pthread_t thread;

    (void)state;
    assert_int_equal(create_cq(&cq), STATUS_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, close_in_thread, NULL), 0);
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(new_breaches() + new_advices(), 0);
}

/* Closes another adapter with an object that is left, which takes as long as the report of such an object needs. */
static void close_other_adapter(void)
{
    NDK_ADAPTER *other = verify_wrap(&fake->adapter, "OpenAdapter");
    NDK_CQ *cq = NULL;

    fake->pend = false;
    assert_int_equal(other->Dispatch->NdkCreateCq(other, 8, on_notification, NULL, NULL, created, &cq, &cq),
                     STATUS_SUCCESS);
    assert_null(verify_close(other, "CloseOther"));
}

/* An object is not left if its close was called: then the close is a stall. */
static void test_closing(void **state)
{
    static NDK_CQ *cq;
    pthread_t thread;

    (void)state;
    assert_int_equal(create_cq(&cq), STATUS_SUCCESS);
    fake->pend = true;
    assert_int_equal(close_cq(cq), STATUS_PENDING);
    set_limit(1);
    assert_int_equal(pthread_create(&thread, NULL, close_in_thread, NULL), 0);
    wait_for_advices(1);
    close_other_adapter();
    set_limit(HOUR_MS);
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(new_breaches(), 1); /* of the other adapter */
}

static NDK_CQ *used_cq;

static void close_used_cq(void)
{
    assert_int_equal(close_cq(used_cq), STATUS_PENDING);
}

/* Examines, and checks the only report: the close of an object of this type waits for the queue pair. */
static void assert_waits_for(const NDK_QP *qp, const char *routine, const char *thread)
{
    char words[128];

    (void)stall_examine(owner_clock(NULL) + hour);
    assert_int_equal(new_advices(), 1);
    advices_before++;
    assert_int_equal(occurrences(routine), 1);
    assert_int_equal(occurrences(thread), 1);
    (void)snprintf(words, sizeof words,
                   "an object that needs it is open, or a callback of it has not returned; "
                   "open: NDK_QP %p; thread ",
                   (const void *)qp);
    assert_true(occurrences(words) > 0);
}

/* The close of an object waits for another object, which the report names, and was called in a callback. */
static void test_close_of_used(void **state)
{
    static NDK_PD *pd;
    static NDK_QP *qp;

    (void)state;
    assert_int_equal(create_cq(&used_cq), STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, created, &pd, &pd), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateQp(pd, used_cq, used_cq, NULL, 8, 8, 1, 1, 0, created, &qp, &qp),
                     STATUS_SUCCESS);
    fake->pend = true;
    assert_int_equal(pd->Dispatch->NdkClosePd(&pd->Header, ignore_close, NULL), STATUS_PENDING);
    assert_waits_for(qp, "stall in NdkClosePd", "), which called, ");
    fake_provider_complete(fake, STATUS_SUCCESS);
    in_notification = close_used_cq;
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    in_notification = NULL;
    assert_waits_for(qp, "stall in NdkCloseCq", "), which called in NdkCqNotificationCallback, ");
    fake_provider_complete(fake, STATUS_SUCCESS);
    fake->pend = false;
    assert_int_equal(qp->Dispatch->NdkCloseQp(&qp->Header, ignore_close, NULL), STATUS_SUCCESS);
    close_adapter();
    assert_int_equal(new_breaches(), 0);
}

/* ---- fork ---- */

/* In a child, the parent's pending calls and objects are no stalls, and a new adapter has a doctor. */
static void use_in_child(void)
{
    static NDK_CQ *cq;

    if (!verify_close(adapter, "CloseAdapter"))
        _exit(1);
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    set_limit(1);
    if (create_cq(&cq) != STATUS_PENDING)
        _exit(2);
    wait_for_advices(1);
    _exit(stall_examine(UINT64_MAX - 1) == UINT64_MAX && new_advices() == 1 ? 0 : 3);
}

static void test_fork(void **state)
{
    static NDK_CQ *cq, *second;

    (void)state;
#ifdef __SANITIZE_THREAD__ /* its runtime allows no new thread in a child of fork */
    close_adapter();
    skip();
#endif
    assert_int_equal(create_cq(&cq), STATUS_SUCCESS);
    fake->pend = true;
    assert_int_equal(create_cq(&second), STATUS_PENDING);
    assert_int_equal(child_status(use_in_child), 0);
    fake_provider_complete(fake, STATUS_NO_MEMORY);
    fake->pend = false;
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    close_adapter();
    assert_int_equal(new_advices() + new_breaches(), 0);
}

#define STALL_TEST(function) cmocka_unit_test_setup_teardown(function, stall_setup, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STALL_TEST(test_pending_call),   STALL_TEST(test_idle),         STALL_TEST(test_off),
        STALL_TEST(test_doctor),         STALL_TEST(test_objects_left), STALL_TEST(test_objects_left_stop),
        STALL_TEST(test_closed_in_time), STALL_TEST(test_closing),      STALL_TEST(test_fork),
        STALL_TEST(test_close_of_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
