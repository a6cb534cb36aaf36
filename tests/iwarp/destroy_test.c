/* SPDX-License-Identifier: MIT */
/*
 * Abstract: iw_qp_destroy while a post has not returned. The request is queued; it may have completed, and the consumer
 * may have closed everything, while the post still has the queue's lock. The post must not access freed memory then.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iwarp/qp_internal.h"

enum { CHECKS = 20000 };

static void nothing(struct iw_qp *qp, struct rdma_completion *c, unsigned n)
{
    (void)qp, (void)c, (void)n;
}

static const struct iw_qp_events events = { .complete = nothing };

struct closer {
    struct iw_qp *qp;
    atomic_bool begun, destroyed;
};

static void *destroy(void *arg)
{
    struct closer *c = arg;

    atomic_store(&c->begun, true);
    iw_qp_destroy(c->qp);
    atomic_store(&c->destroyed, true);
    return NULL;
}

/*
 * Destroys a queue pair while the queue's lock is held. Waits CHECKS turns for a wrong early return; a correct destroy
 * never fails this test.
 */
static void destroyed_under_a_post(bool receives)
{
    struct iw_qp_config config = {
        .receive_depth = 4, .initiator_depth = 4, .receive_sges = 1, .initiator_sges = 1, .events = &events
    };
    struct closer c = { .qp = iw_qp_create(&config) };
    struct queue *q = receives ? &c.qp->rq : &c.qp->sq;
    pthread_t thread;

    assert_non_null(c.qp);
    spin_lock(&q->lock); /* as a post does */
    assert_int_equal(pthread_create(&thread, NULL, destroy, &c), 0);
    while (!atomic_load(&c.begun))
        sched_yield();
    for (int i = 0; i < CHECKS; i++) {
        assert_false(atomic_load(&c.destroyed));
        sched_yield();
    }
    spin_unlock(&q->lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&c.destroyed));
}

/* covers: OBJ-08 */
static void test_initiator(void **state)
{
    (void)state;
    destroyed_under_a_post(false);
}

/* covers: OBJ-08 */
static void test_receive(void **state)
{
    (void)state;
    destroyed_under_a_post(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initiator),
        cmocka_unit_test(test_receive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
