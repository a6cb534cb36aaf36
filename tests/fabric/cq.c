/* SPDX-License-Identifier: MIT */
/* Completion queues: notifications and the overflow. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/world.h"

static void open_connected(struct world *w, uint32_t depth_b)
{
    struct addr any = loopback(AF_INET, 0);

    world_defaults(w);
    world_open_fabric(&w->a, &w->config_a);
    world_open_fabric(&w->b, &w->config_b);
    side_open(&w->sa, w->a, -1, 4 * DEPTH);
    side_open(&w->sb, w->b, -1, depth_b);
    acceptor_open(&w->acceptor, w->b, &any);
    link_open(&w->active, w->a);
    world_connect(w);
}

/* Sends to b. wait_delivered waits until b has received it. */
static void deliver(struct world *w, unsigned flags)
{
    post(&w->sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w->sa, RDMA_OP_SEND, flags, NULL, 0, 10, NULL, 0);
    expect_completion(&w->sa, RDMA_OP_SEND, NULL, 10);
}

/* A round trip over the connection, after which b's shard has processed everything that was sent before. */
static void wait_delivered(struct world *w)
{
    post(&w->sa, RDMA_OP_READ, 0, NULL, 10000, 1, &w->sb, 20000);
    expect_completion(&w->sa, RDMA_OP_READ, NULL, 1);
}

struct flag_task {
    struct task task;
    atomic_bool ran;
};

static void raise_flag(struct task *task)
{
    atomic_store(&((struct flag_task *)task)->ran, true);
}

/*
 * Returns the number of notifications, including every one that was due before the call, because callbacks of a shard
 * run in order.
 */
static int notified(struct side *s)
{
    struct flag_task t = { .task.run = raise_flag };

    shard_call(s->f->ops->cq_shard(s->cq), &t.task);
    AWAIT(atomic_load(&t.ran));
    return atomic_load(&s->notified);
}

static void drain(struct side *s, int count)
{
    struct rdma_completion c;

    for (int i = 0; i < count; i++)
        wait_completion(s, &c);
}

/* covers: CQX-02 */
static void only_when_armed(void)
{
    struct world w;

    open_connected(&w, 4 * DEPTH);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 0);
    drain(&w.sb, 1);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    CHECK(notified(&w.sb) == 0); /* a polled completion is not a new one */
    deliver(&w, 0);
    AWAIT(notified(&w.sb) == 1);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 1);
    world_disconnect(&w);
    world_close(&w);
}

/* covers: CQX-03 */
static void arm_finds_old(void)
{
    struct world w;

    open_connected(&w, 4 * DEPTH);
    deliver(&w, 0);
    wait_delivered(&w);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    CHECK(notified(&w.sb) == 1);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY); /* the old completion has been notified */
    CHECK(notified(&w.sb) == 1);
    deliver(&w, 0);
    AWAIT(notified(&w.sb) == 2);
    world_disconnect(&w);
    world_close(&w);
}

/* covers: QPR-09, CQX-04, CQX-06 */
static void kinds(void)
{
    struct world w;

    open_connected(&w, 4 * DEPTH);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ERRORS);
    deliver(&w, RDMA_FLAG_SOLICIT);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 0);
    drain(&w.sb, 1);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_SOLICITED);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 0);
    deliver(&w, RDMA_FLAG_SOLICIT);
    AWAIT(notified(&w.sb) == 1);
    drain(&w.sb, 2);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ERRORS); /* the higher type stays armed */
    deliver(&w, 0);
    AWAIT(notified(&w.sb) == 2);
    drain(&w.sb, 1);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_SOLICITED); /* an error completion triggers it */
    post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    w.b->ops->qp_flush(w.sb.qp);
    AWAIT(notified(&w.sb) == 3);
    world_disconnect(&w);
    world_close(&w);
}

static void set_closed(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

/* A post is refused at once, even before the queue pair's own connection has ended. */
static void refused_for_overflow(struct side *s)
{
    struct fabric_qp_config config = { .receive_cq = s->cq,
                                       .initiator_cq = s->cq,
                                       .receive_depth = 1,
                                       .initiator_depth = 1,
                                       .receive_sges = 1,
                                       .initiator_sges = 1 };
    struct rdma_request r = { .op = RDMA_OP_SEND };
    atomic_bool closed = false;
    struct fabric_qp *qp;
    uint16_t terminate = 0;

    CHECK(s->f->ops->qp_create(s->f, &config, &qp) == 0);
    CHECK(s->f->ops->qp_post(qp, &r) == ENOTCONN);
    CHECK(s->f->ops->qp_reason(qp, &terminate) == FABRIC_CQ_OVERFLOW);
    CHECK(terminate == FABRIC_NO_TERMINATE);
    s->f->ops->qp_close(qp, set_closed, &closed);
    AWAIT(atomic_load(&closed));
}

/* covers: CQX-07 */
static void overflow(void)
{
    struct world w;
    struct rdma_completion c;
    struct rdma_request r = { .op = RDMA_OP_SEND };

    open_connected(&w, 4);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ERRORS);
    for (int i = 0; i < 5; i++)
        post(&w.sb, RDMA_OP_RECEIVE, 0, (void *)(uintptr_t)(i + 1), 0, 100, NULL, 0);
    for (int i = 0; i < 5; i++)
        post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 10, NULL, 0);
    AWAIT(atomic_load(&w.sb.overflowed) == 1);
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_CQ_OVERFLOW);
    AWAIT(atomic_load(&w.active.ended));
    for (int i = 0; i < 4; i++) {
        wait_completion(&w.sb, &c);
        CHECK(c.context == (void *)(uintptr_t)(i + 1) && c.status == RDMA_STATUS_OK);
    }
    CHECK(w.b->ops->qp_post(w.sb.qp, &r) != 0);
    r.op = RDMA_OP_RECEIVE;
    CHECK(w.b->ops->qp_post(w.sb.qp, &r) != 0);
    refused_for_overflow(&w.sb);
    CHECK(notified(&w.sb) == 0);
    CHECK(atomic_load(&w.sb.overflowed) == 1);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    CHECK(notified(&w.sb) == 0);
    CHECK(atomic_load(&w.sb.overflowed) == 2);
    world_close(&w);
}

/* covers: CQX-01 */
static void resize(void)
{
    struct world w;

    open_connected(&w, 4);
    for (int i = 0; i < 4; i++)
        deliver(&w, 0);
    wait_delivered(&w);
    CHECK(w.b->ops->cq_resize(w.sb.cq, 3) != 0);
    CHECK(w.b->ops->cq_resize(w.sb.cq, 4) == 0);
    CHECK(w.b->ops->cq_resize(w.sb.cq, 40) == 0);
    for (int i = 0; i < 10; i++)
        deliver(&w, 0);
    wait_delivered(&w);
    drain(&w.sb, 14);
    expect_no_completion(&w.sb);
    CHECK(atomic_load(&w.sb.overflowed) == 0);
    world_disconnect(&w);
    world_close(&w);
}

/* The world is closed while a notification waits for longer than the test lasts. covers: CQX-08 */
static void moderation(void)
{
    struct world w;

    open_connected(&w, 4 * DEPTH);
    w.b->ops->cq_moderate(w.sb.cq, UINT32_MAX, 3);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    deliver(&w, 0);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 0);
    deliver(&w, 0);
    AWAIT(notified(&w.sb) == 1);
    w.b->ops->cq_moderate(w.sb.cq, 1000, UINT32_MAX);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    deliver(&w, 0);
    AWAIT(notified(&w.sb) == 2);
    w.b->ops->cq_moderate(w.sb.cq, UINT32_MAX, 4 * DEPTH);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(w.b->ops->cq_resize(w.sb.cq, 6) == 0);
    CHECK(notified(&w.sb) == 2);
    deliver(&w, 0); /* the sixth */
    AWAIT(notified(&w.sb) == 3);
    drain(&w.sb, 6);
    w.b->ops->cq_moderate(w.sb.cq, UINT32_MAX - 1, UINT32_MAX);
    w.b->ops->cq_arm(w.sb.cq, FABRIC_ARM_ANY);
    deliver(&w, 0);
    wait_delivered(&w);
    CHECK(notified(&w.sb) == 3);
    world_close(&w);
}

/* A queue is closed while its notification runs, and the close waits for the notification. */
struct slow {
    atomic_bool entered, may_return, returned, closed;
};

static void slow_notify(void *owner, bool overflowed)
{
    struct slow *s = owner;

    CHECK(!overflowed);
    atomic_store(&s->entered, true);
    AWAIT(atomic_load(&s->may_return));
    atomic_store(&s->returned, true);
}

static void set_true(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

static void on_slow_closed(void *owner)
{
    struct slow *s = owner;

    CHECK(atomic_load(&s->returned));
    atomic_store(&s->closed, true);
}

/* covers: OBJ-10 */
static void close_waits(void)
{
    struct fabric_config config;
    struct fabric *f;
    struct slow s = { .entered = false };
    struct fabric_cq_config cq = { .depth = 4, .affinity = -1, .notify = slow_notify, .owner = &s };
    struct fabric_qp_config qp = { .receive_depth = 4, .initiator_depth = 4 };
    struct rdma_request r = { .op = RDMA_OP_RECEIVE };
    struct fabric_qp *qp_made;
    atomic_bool qp_closed = false;

    world_config_defaults(&config);
    world_open_fabric(&f, &config);
    CHECK(f->ops->cq_create(f, &cq, &qp.receive_cq) == 0);
    qp.initiator_cq = qp.receive_cq;
    CHECK(f->ops->qp_create(f, &qp, &qp_made) == 0);
    CHECK(f->ops->qp_post(qp_made, &r) == 0);
    f->ops->cq_arm(qp.receive_cq, FABRIC_ARM_ANY);
    f->ops->qp_flush(qp_made);
    AWAIT(atomic_load(&s.entered));
    f->ops->qp_close(qp_made, set_true, &qp_closed);
    AWAIT(atomic_load(&qp_closed));
    f->ops->cq_close(qp.receive_cq, on_slow_closed);
    CHECK(!atomic_load(&s.closed));
    atomic_store(&s.may_return, true);
    AWAIT(atomic_load(&s.closed));
    f->ops->destroy(f);
}

/* clang-format off */
static const struct test tests[] = {
    { "only_when_armed", only_when_armed }, { "arm_finds_old", arm_finds_old }, { "kinds", kinds },
    { "overflow", overflow },               { "resize", resize },                 { "moderation", moderation },
    { "close_waits", close_waits },
};
/* clang-format on */

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
