/* SPDX-License-Identifier: MIT */
/*
 * The home shards of completion queues: the two of one queue pair have the same one, unless their affinities differ, so
 * that polling and notification of both run on the shard that does the work.
 */
#include <pthread.h>

#include "fabric/world.h"

enum { SHARDS = 2, PAIRS = 4 };

struct queue {
    struct fabric *f;
    struct fabric_cq *cq;
    pthread_t notified_in;
    atomic_bool notified, closed;
};

static void on_notify(void *owner, bool overflow)
{
    struct queue *q = owner;

    CHECK(!overflow);
    q->notified_in = pthread_self();
    atomic_store(&q->notified, true);
}

static void on_queue_closed(void *owner)
{
    atomic_store(&((struct queue *)owner)->closed, true);
}

static void queue_open(struct queue *q, struct fabric *f, int affinity)
{
    struct fabric_cq_config config = { .depth = DEPTH, .affinity = affinity, .notify = on_notify, .owner = q };

    q->f = f;
    atomic_init(&q->notified, false);
    atomic_init(&q->closed, false);
    CHECK(f->ops->cq_create(f, &config, &q->cq) == 0);
}

static void queue_close(struct queue *q)
{
    q->f->ops->cq_close(q->cq, on_queue_closed);
    AWAIT(atomic_load(&q->closed));
}

static const struct shard *home(const struct queue *q)
{
    return q->f->ops->cq_shard(q->cq);
}

static void on_qp_closed(void *closed)
{
    atomic_store((atomic_bool *)closed, true);
}

static struct fabric_qp *pair_up(void *domain, struct queue *receive, struct queue *initiator)
{
    struct fabric_qp_config config = {
        .domain = domain,
        .receive_depth = DEPTH,
        .initiator_depth = DEPTH,
        .receive_sges = 1,
        .initiator_sges = 1,
        .receive_cq = receive->cq,
        .initiator_cq = initiator->cq,
    };
    struct fabric_qp *qp;

    CHECK(receive->f->ops->qp_create(receive->f, &config, &qp) == 0);
    return qp;
}

static void qp_end(struct fabric *f, struct fabric_qp *qp)
{
    atomic_bool closed = false;

    f->ops->qp_close(qp, on_qp_closed, &closed);
    AWAIT(atomic_load(&closed));
}

static struct fabric *fabric_of_two(void)
{
    struct fabric_config config;
    struct fabric *f;
    struct world w;

    world_defaults(&w);
    config = w.config_a;
    config.shards = SHARDS;
    world_open_fabric(&f, &config);
    return f;
}

/* Creates the queues pair by pair, or all of them first. */
static void pairs(bool all_first)
{
    struct fabric *f = fabric_of_two();
    struct queue receive[PAIRS], initiator[PAIRS];
    struct fabric_qp *qp[PAIRS];
    int at_first = 0;

    for (int i = 0; all_first && i < PAIRS; i++) {
        queue_open(&receive[i], f, -1);
        queue_open(&initiator[i], f, -1);
    }
    for (int i = 0; i < PAIRS; i++) {
        if (!all_first) {
            queue_open(&receive[i], f, -1);
            queue_open(&initiator[i], f, -1);
        }
        qp[i] = pair_up(NULL, &receive[i], &initiator[i]);
        CHECK(home(&receive[i]) == home(&initiator[i]));
        at_first += home(&receive[i]) == home(&receive[0]);
    }
    CHECK(at_first == PAIRS / SHARDS); /* the same number on each shard */
    for (int i = 0; i < PAIRS; i++) {
        qp_end(f, qp[i]);
        queue_close(&receive[i]);
        queue_close(&initiator[i]);
    }
    f->ops->destroy(f);
}

static void made_pair_by_pair(void)
{
    pairs(false);
}

static void made_before_the_pairs(void)
{
    pairs(true);
}

/* A queue moves once, before its first notification. A queue with an affinity never moves. */
static void those_that_stay(void)
{
    struct fabric *f = fabric_of_two();
    struct queue first, second, shared, bound[SHARDS];
    struct fabric_qp *qp[4];
    const struct shard *where;

    queue_open(&first, f, -1);
    queue_open(&second, f, -1);
    queue_open(&shared, f, -1);
    qp[0] = pair_up(NULL, &first, &shared);
    where = home(&shared);
    qp[1] = pair_up(NULL, &second, &shared);
    CHECK(home(&second) != home(&first) && home(&shared) == where && where == home(&first));
    for (int i = 0; i < SHARDS; i++)
        queue_open(&bound[i], f, i);
    CHECK(home(&bound[0]) != home(&bound[1]));
    where = home(&bound[1]);
    qp[2] = pair_up(NULL, &bound[0], &bound[1]);
    CHECK(home(&bound[1]) == where && home(&bound[0]) != where);
    qp[3] = pair_up(NULL, &bound[1], &first);
    CHECK(home(&bound[1]) == where && home(&first) == home(&shared));
    for (int i = 0; i < 4; i++)
        qp_end(f, qp[i]);
    queue_close(&first);
    queue_close(&second);
    queue_close(&shared);
    for (int i = 0; i < SHARDS; i++)
        queue_close(&bound[i]);
    f->ops->destroy(f);
}

struct thread_task {
    struct task task;
    pthread_t thread;
    atomic_bool ran;
};

static void note_thread(struct task *task)
{
    struct thread_task *t = (struct thread_task *)task;

    t->thread = pthread_self();
    atomic_store(&t->ran, true);
}

static pthread_t thread_of(struct shard *s)
{
    struct thread_task t = { .task.run = note_thread };

    atomic_init(&t.ran, false);
    shard_call(s, &t.task);
    AWAIT(atomic_load(&t.ran));
    return t.thread;
}

/* Queues that are armed before they have a home notify on the thread of their home. */
static void notifications(void)
{
    pthread_t thread;
    struct queue receive, initiator;
    struct side spare;
    struct fabric_qp *qp;
    struct world w;

    world_defaults(&w);
    w.config_a.shards = SHARDS;
    world_open(&w, AF_INET); /* its queue pair is on the first shard */
    spare = w.sa;
    queue_open(&receive, w.a, -1);
    queue_open(&initiator, w.a, -1);
    w.a->ops->cq_arm(receive.cq, FABRIC_ARM_ANY);
    w.a->ops->cq_arm(initiator.cq, FABRIC_ARM_ANY);
    qp = pair_up(&w.sa, &receive, &initiator);
    CHECK(home(&receive) == home(&initiator) && home(&receive) != w.a->ops->cq_shard(spare.cq));
    thread = thread_of(w.a->ops->cq_shard(receive.cq));
    CHECK(!pthread_equal(thread, thread_of(w.a->ops->cq_shard(spare.cq))));
    w.sa.qp = qp;
    world_connect(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 10, NULL, 0);
    post(&w.sb, RDMA_OP_SEND, 0, NULL, 0, 10, NULL, 0);
    AWAIT(atomic_load(&receive.notified));
    post(&w.sa, RDMA_OP_WRITE, 0, NULL, 0, 10, &w.sb, 0);
    AWAIT(atomic_load(&initiator.notified));
    CHECK(pthread_equal(receive.notified_in, thread) && pthread_equal(initiator.notified_in, thread));
    world_disconnect(&w);
    w.sa.qp = spare.qp;
    qp_end(w.a, qp);
    queue_close(&receive);
    queue_close(&initiator);
    world_close(&w);
}

static const struct test tests[] = {
    { "made pair by pair", made_pair_by_pair },
    { "made before the pairs", made_before_the_pairs },
    { "those that stay", those_that_stay },
    { "notifications", notifications },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
