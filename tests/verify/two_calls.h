/* SPDX-License-Identifier: MIT */
/* Objects of the fake provider behind the verifier, and two threads that call them at once. */
#ifndef TESTS_VERIFY_TWO_CALLS_H
#define TESTS_VERIFY_TWO_CALLS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "verify/fake_provider.h"
#include "verify/verify.h"

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;
static NDK_CQ *cq;
static NDK_PD *pd;
static NDK_QP *qp;
static NDK_SRQ *srq;

/* ---- routines of the consumer ---- */

static inline void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static inline void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static inline void ignore_request(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static inline void ignore_close(PVOID context)
{
    (void)context;
}

static inline void close_object(void *object)
{
    NDK_PD *any = object; /* every table but the adapter's begins with the close entry */

    assert_true(NT_SUCCESS(any->Dispatch->NdkClosePd(&any->Header, ignore_close, NULL)));
}

/* ---- objects ---- */

static inline void open_objects(void)
{
    fake = fake_provider_init();
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    assert_non_null(adapter);
    (void)adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, ignore_create, NULL, &cq);
    (void)adapter->Dispatch->NdkCreatePd(adapter, ignore_create, NULL, &pd);
    (void)pd->Dispatch->NdkCreateSrq(pd, 8, 1, 0, ignore_notification, NULL, NULL, ignore_create, NULL, &srq);
    (void)pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 8, 8, 1, 1, 0, ignore_create, NULL, &qp);
}

/* Closes those that are not NULL. */
static inline void close_objects(void)
{
    void *const all[] = { qp, srq, pd, cq };

    for (int i = 0; i < 4; i++)
        if (all[i])
            close_object(all[i]);
    assert_ptr_equal(verify_close(adapter, "close"), &fake->adapter);
    assert_int_equal(fake->open, 0);
}

/* ---- calls ---- */

static NDK_RESULT results[1];
static NDK_RESULT_EX results_ex[1];

/* clang-format off */
static inline void call_poll(void) { (void)cq->Dispatch->NdkGetCqResults(cq, results, 1); }
static inline void call_poll_ex(void) { (void)cq->Dispatch->NdkGetCqResultsEx(cq, results_ex, 1); }
static inline void call_arm(void) { cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY); }
static inline void call_moderate(void) { (void)cq->Dispatch->NdkControlCqInterruptModeration(cq, 10, 4); }
static inline void call_resize(void) { (void)cq->Dispatch->NdkResizeCq(cq, 16, ignore_request, NULL); }
static inline void call_send(void) { (void)qp->Dispatch->NdkSend(qp, NULL, NULL, 0, 0); }
static inline void call_invalidate(void) { (void)qp->Dispatch->NdkInvalidate(qp, NULL, NULL, 0); }
static inline void call_receive(void) { (void)qp->Dispatch->NdkReceive(qp, NULL, NULL, 0); }
static inline void call_flush(void) { qp->Dispatch->NdkFlush(qp); }
static inline void call_srq_receive(void) { (void)srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0); }
/* clang-format on */

typedef void call_function(void);

static inline void *run_call(void *call)
{
    (*(call_function **)call)();
    return NULL;
}

static inline void call_in_thread(call_function *call)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_call, &call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static sem_t inside, go_on;
static atomic_bool is_to_wait;

static inline void wait_inside(void)
{
    if (!atomic_exchange(&is_to_wait, false))
        return;
    sem_post(&inside);
    sem_wait(&go_on);
}

/* Another thread makes the first call. While that call is inside the provider, this thread makes the second. */
static inline void call_during(call_function *first, call_function *second)
{
    pthread_t thread;

    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    atomic_store(&is_to_wait, true);
    fake->inside = wait_inside;
    assert_int_equal(pthread_create(&thread, NULL, run_call, &first), 0);
    sem_wait(&inside);
    second();
    sem_post(&go_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fake->inside = NULL;
}

#endif
