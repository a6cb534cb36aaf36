/* SPDX-License-Identifier: MIT */
/*
 * Completion and close, rule by rule. The fabric is scripted, so delays are intended. A blocked callback waits in the
 * shard's thread until the test opens its gate.
 */
#include <pthread.h>
#include <time.h>

#include "provider/adapter.h"
#include "provider/provider.h"
#include "provider/support.h"

/* ---- requests and close ---- */

static unsigned char buffer[4096];

/* covers: OBJ-07 */
static void test_request_completes_once(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_MR *mr = make_mr(pd);
    struct call none = { 0 }, one = { 0 };

    (void)state;
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &none), STATUS_SUCCESS);
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    fake.defers_ends = true;
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &one), STATUS_PENDING);
    fake_drain();
    assert_int_equal(one.count, 0);
    assert_int_equal(fake_run_deferred(), 1);
    fake_wait(&one.returned);
    fake_drain();
    assert_int_equal(one.count, 1);
    assert_int_equal(one.status, STATUS_SUCCESS);
    assert_int_equal(none.count, 0);
    fake.defers_ends = false;
    close_and_wait(mr);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
    assert_int_equal(one.count, 1);
    assert_int_equal(none.count, 0);
}

static void close_argument(struct call *call)
{
    struct call *closed = call->argument;

    call->answer = close_object(closed->argument, closed);
}

/* covers: OBJ-08, OBJ-09, OBJ-10, OBJ-16 */
static void test_close_in_completion(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_MR *mr = make_mr(pd);
    struct call closed = { .argument = mr }, request = { .inside = close_argument, .argument = &closed };

    (void)state;
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    fake.defers_ends = true;
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &request), STATUS_PENDING);
    fake.defers_ends = false;
    fake_run_deferred();
    fake_wait(&request.returned);
    assert_int_equal(request.answer, STATUS_PENDING);
    fake_wait(&closed.returned);
    assert_true(closed.order > request.returned_order);
    fake_drain();
    assert_int_equal(closed.count, 1);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

/* The returned status agrees with the callback. */
static void check_close(void *object)
{
    struct call closed = { 0 };
    NTSTATUS status = close_object(object, &closed);

    assert_true(status == STATUS_SUCCESS || status == STATUS_PENDING);
    if (status == STATUS_PENDING)
        fake_wait(&closed.returned);
    fake_drain();
    assert_int_equal(closed.count, status == STATUS_PENDING ? 1 : 0);
}

/* covers: OBJ-09, OBJ-15 */
static void test_close_answers(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_MR *mr = make_mr(pd);

    (void)state;
    check_close(make_qp(pd, cq, cq));
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    check_close(mr);
    assert_int_equal(fake.mrs, 0);
    check_close(cq);
    check_close(pd);
    assert_int_equal(fake.qps, 0);
    assert_int_equal(fake.cqs, 0);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-10, OBJ-11 */
static void test_close_after_its_requests(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_MR *mr = make_mr(pd);
    struct call request = { 0 }, closed = { 0 };

    (void)state;
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    fake.defers_ends = true;
    assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &request), STATUS_PENDING);
    assert_int_equal(close_object(mr, &closed), STATUS_PENDING);
    fake_drain();
    assert_int_equal(closed.count, 0);
    fake.defers_ends = false;
    fake_run_deferred();
    fake_wait(&closed.returned);
    assert_int_equal(request.count, 1);
    assert_true(closed.order > request.returned_order);
    close_and_wait(pd);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-11 */
static void test_close_cancels(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *cq = make_cq(adapter, NULL);
    NDK_QP *qp = make_qp(pd, cq, cq);
    NDK_MR *mr = make_mr(pd);
    struct call closed = { 0 };

    (void)state;
    assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
    fake.defers_ends = true;
    assert_int_equal(close_object(mr, &closed), STATUS_PENDING);
    assert_int_equal(fake.mrs, 0);
    fake_drain();
    assert_int_equal(closed.count, 0);
    fake_run_deferred();
    fake_wait(&closed.returned);
    fake.defers_ends = false;
    assert_int_equal(fake.flushes, 0);
    check_close(qp);
    assert_int_equal(fake.flushes, 1);
    check_close(cq);
    check_close(pd);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-10 */
static void test_close_waits_for_callback(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    struct gate go = { 0 };
    struct call notified = { .blocks = &go }, closed = { 0 };
    NDK_CQ *cq = make_cq(adapter, &notified);

    (void)state;
    fake_notify(cq_of(cq)->fabric, false);
    fake_wait(&notified.entered);
    assert_int_equal(close_object(cq, &closed), STATUS_PENDING);
    assert_int_equal(closed.count, 0);
    gate_open(&go);
    fake_wait(&closed.returned);
    assert_true(closed.order > notified.returned_order);
    ondk_close_adapter(adapter);
}

/* covers: OBJ-08 */
static void test_close_in_notification(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    struct call closed = { 0 }, notified = { .inside = close_argument, .argument = &closed };
    NDK_CQ *cq = make_cq(adapter, &notified);

    (void)state;
    closed.argument = cq;
    fake_notify(cq_of(cq)->fabric, false);
    fake_wait(&notified.returned);
    assert_int_equal(notified.answer, STATUS_PENDING);
    fake_wait(&closed.returned);
    assert_true(closed.order > notified.returned_order);
    ondk_close_adapter(adapter);
}

/* ---- antecedents ---- */

/* Closes the antecedent, then the successor; the first close ends last. */
static void check_pair(void *antecedent, void *successor)
{
    struct call first = { 0 }, second = { 0 };

    assert_int_equal(close_object(antecedent, &first), STATUS_PENDING);
    fake_drain();
    assert_int_equal(first.count, 0);
    NTSTATUS status = close_object(successor, &second);
    if (status == STATUS_PENDING)
        fake_wait(&second.returned);
    fake_wait(&first.returned);
    fake_drain();
    assert_int_equal(first.count, 1);
    if (status == STATUS_PENDING)
        assert_true(first.order > second.returned_order);
}

/* covers: OBJ-12 */
static void test_antecedents(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_CQ *receive, *initiator = make_cq(adapter, NULL);
    NDK_QP *qp;

    (void)state;
    check_pair(pd, make_mr(pd));
    pd = make_pd(adapter);
    check_pair(pd, make_qp(pd, initiator, initiator));
    pd = make_pd(adapter);
    receive = make_cq(adapter, NULL);
    qp = make_qp(pd, receive, initiator);
    check_pair(receive, qp);
    receive = make_cq(adapter, NULL);
    qp = make_qp(pd, receive, initiator);
    check_pair(initiator, qp);
    check_close(receive);
    check_close(pd);
    ondk_close_adapter(adapter);
}

/* Two shards, so that the order does not come from one thread. covers: OBJ-13 */
static void test_antecedent_after_callback(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    struct gate go = { 0 };
    struct call antecedent = { 0 }, successor = { .blocks = &go };

    (void)state;
    fake_next_shard(1);
    NDK_CQ *receive = make_cq(adapter, NULL);
    fake_next_shard(0);
    NDK_CQ *initiator = make_cq(adapter, NULL);
    NDK_QP *qp = make_qp(pd, receive, initiator);
    assert_int_equal(close_object(initiator, &antecedent), STATUS_PENDING);
    assert_int_equal(close_object(qp, &successor), STATUS_PENDING);
    fake_wait(&successor.entered);
    /* The successor's callback runs on the second shard; the first is free to complete the antecedent, and must not. */
    fake_drain_shard(0);
    assert_int_equal(antecedent.count, 0);
    gate_open(&go);
    fake_wait(&antecedent.returned);
    assert_true(antecedent.order > successor.returned_order);
    fake_drain();
    check_close(receive);
    check_close(pd);
    ondk_close_adapter(adapter);
}

/* As a connector does: depends on a queue pair for one attempt, drops it, and may depend on it again. */
static void test_dependence_given_back(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    NDK_PD *pd = make_pd(adapter);
    NDK_MR *mr = make_mr(pd), *other = make_mr(pd);
    struct object *holder = object_of(&mr->Header), *held = object_of(&other->Header);
    struct call first = { 0 };

    (void)state;
    for (int i = 0; i < 3 * MAX_ANTECEDENTS; i++) {
        object_depend(holder, held);
        object_depend(holder, held);
        assert_int_equal(held->kinds[REF_CHILD], 1);
        object_undepend(holder, held);
        object_undepend(holder, held);
        assert_int_equal(held->kinds[REF_CHILD], 0);
    }
    object_depend(holder, held);
    assert_int_equal(close_object(other, &first), STATUS_PENDING);
    object_undepend(holder, held);
    fake_wait(&first.returned);
    check_close(mr);
    check_close(pd);
    ondk_close_adapter(adapter);
}

/* ---- the adapter ---- */

struct closer {
    pthread_t thread;
    NDK_ADAPTER *adapter;
    atomic_int order; /* the time when close returned; 0: not yet */
};

static void *run_closer(void *arg)
{
    struct closer *c = arg;

    ondk_close_adapter(c->adapter);
    atomic_store(&c->order, next_order());
    return NULL;
}

/* Waits, so that a close that wrongly does not wait returns. A close that waits passes in any case. */
static void assert_still_closing(struct closer *c)
{
    for (int i = 0; i < 50; i++) {
        assert_int_equal(atomic_load(&c->order), 0);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

/* covers: OBJ-12, OBJ-14 */
static void test_adapter_waits_for_objects(void **state)
{
    struct closer closer = { .adapter = fake_open(version_2_1, NULL) };
    NDK_PD *pd = make_pd(closer.adapter);

    (void)state;
    assert_int_equal(pthread_create(&closer.thread, NULL, run_closer, &closer), 0);
    assert_still_closing(&closer);
    assert_int_equal(close_object(pd, NULL), STATUS_SUCCESS);
    pthread_join(closer.thread, NULL);
    assert_true(closer.order > 0);
}

/* covers: OBJ-13, OBJ-14 */
static void test_adapter_waits_for_callbacks(void **state)
{
    struct closer closer = { .adapter = fake_open(version_2_1, NULL) };
    NDK_CQ *cq = make_cq(closer.adapter, NULL);
    struct gate go = { 0 };
    struct call closed = { .blocks = &go };

    (void)state;
    assert_int_equal(close_object(cq, &closed), STATUS_PENDING);
    fake_wait(&closed.entered);
    assert_int_equal(pthread_create(&closer.thread, NULL, run_closer, &closer), 0);
    assert_still_closing(&closer);
    gate_open(&go);
    pthread_join(closer.thread, NULL);
    assert_true(closer.order > closed.returned_order);
}

/* ---- races ---- */

enum { ROUNDS = 2000 };

struct race {
    NDK_PD *pd;
    atomic_int stop;
};

/* Runs deferred ends, as a fabric's thread would, while the consumer closes. */
static void *run_releaser(void *arg)
{
    struct race *race = arg;

    while (!atomic_load(&race->stop))
        fake_run_deferred();
    return NULL;
}

/* covers: OBJ-07, OBJ-09 */
static void test_close_races_completion(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);
    struct race race = { .pd = make_pd(adapter) };
    int inline_closes = 0;
    pthread_t releaser;

    (void)state;
    fake.defers_ends = true;
    assert_int_equal(pthread_create(&releaser, NULL, run_releaser, &race), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct call request = { 0 }, closed = { 0 };
        NDK_MR *mr = make_mr(race.pd);
        assert_int_equal(register_buffer(mr, buffer, sizeof(buffer), 0), STATUS_SUCCESS);
        assert_int_equal(mr->Dispatch->NdkDeregisterMr(mr, on_request, &request), STATUS_PENDING);
        if (i % 3 == 0)
            fake_wait(&request.returned); /* sometimes the request has completed already, and the close may be inline */
        NTSTATUS status = close_object(mr, &closed);
        assert_true(status == STATUS_SUCCESS || status == STATUS_PENDING);
        if (status == STATUS_PENDING)
            fake_wait(&closed.returned);
        assert_int_equal(request.count, 1);
        assert_int_equal(closed.count, status == STATUS_PENDING);
        inline_closes += status == STATUS_SUCCESS;
    }
    atomic_store(&race.stop, 1);
    pthread_join(releaser, NULL);
    fake.defers_ends = false;
    print_message("%d of %d closes were inline\n", inline_closes, ROUNDS);
    check_close(race.pd);
    ondk_close_adapter(adapter);
}

/* Successor and antecedent closed by two threads at once: both end, in order. covers: OBJ-12, OBJ-13 */
static void *run_close(void *arg)
{
    struct call *call = arg;

    call->answer = close_object(call->argument, call);
    return NULL;
}

static void test_closes_race(void **state)
{
    NDK_ADAPTER *adapter = fake_open(version_2_1, NULL);

    (void)state;
    for (int i = 0; i < ROUNDS / 4; i++) {
        NDK_PD *pd = make_pd(adapter);
        NDK_CQ *cq = make_cq(adapter, NULL);
        struct call closed_pd = { .argument = pd }, closed_qp = { 0 };
        NDK_QP *qp = make_qp(pd, cq, cq);
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, run_close, &closed_pd), 0);
        assert_int_equal(close_object(qp, &closed_qp), STATUS_PENDING);
        fake_wait(&closed_qp.returned);
        pthread_join(thread, NULL);
        if (closed_pd.answer == STATUS_PENDING) {
            fake_wait(&closed_pd.returned);
            assert_true(closed_pd.order > closed_qp.returned_order);
        }
        close_and_wait(cq);
    }
    ondk_close_adapter(adapter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_completes_once),
        cmocka_unit_test(test_close_in_completion),
        cmocka_unit_test(test_close_answers),
        cmocka_unit_test(test_close_after_its_requests),
        cmocka_unit_test(test_close_cancels),
        cmocka_unit_test(test_close_waits_for_callback),
        cmocka_unit_test(test_close_in_notification),
        cmocka_unit_test(test_antecedents),
        cmocka_unit_test(test_antecedent_after_callback),
        cmocka_unit_test(test_dependence_given_back),
        cmocka_unit_test(test_adapter_waits_for_objects),
        cmocka_unit_test(test_adapter_waits_for_callbacks),
        cmocka_unit_test(test_close_races_completion),
        cmocka_unit_test(test_closes_race),
    };

    return cmocka_run_group_tests_name("close", tests, NULL, NULL);
}
