/* SPDX-License-Identifier: MIT */
/* Shared receive queues: posts while shards use receives, the notification, the close. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fabric/world.h"

struct shared {
    struct fabric *f;
    struct fabric_srq *srq;
    atomic_bool blocks, closed;
    atomic_int inside, notified, reposted;
};

static void on_low(void *owner)
{
    struct shared *s = owner;

    CHECK(atomic_fetch_add(&s->inside, 1) == 0);
    AWAIT(!atomic_load(&s->blocks));
    atomic_fetch_sub(&s->inside, 1);
    atomic_fetch_add(&s->notified, 1);
}

static void on_queue_closed(void *owner)
{
    struct shared *s = owner;

    CHECK(atomic_load(&s->inside) == 0);
    atomic_store(&s->closed, true);
}

static void shared_open(struct shared *s, struct fabric *f, const void *domain, uint32_t depth, uint32_t threshold)
{
    struct fabric_srq_config c = {
        .depth = depth,
        .sges = 2,
        .threshold = threshold,
        .affinity = -1,
        .domain = domain,
        .notify = on_low,
        .owner = s,
    };

    memset(s, 0, sizeof *s);
    s->f = f;
    CHECK(f->ops->srq_create(f, &c, &s->srq) == 0);
}

static void shared_close(struct shared *s)
{
    s->f->ops->srq_close(s->srq, on_queue_closed);
    AWAIT(atomic_load(&s->closed));
}

static int share(struct shared *s, uintptr_t context, const struct side *to)
{
    struct rdma_sge sge = { to ? (uintptr_t)to->memory + context * 1000 : 0, 1000, to ? to->token : 0 };
    struct rdma_request r = {
        .op = RDMA_OP_RECEIVE,
        .context = (void *)context,
        .sges = &sge,
        .sge_count = to ? 1 : 0,
    };

    return s->f->ops->srq_post(s->srq, &r);
}

/* covers: SRQ-02, SRQ-03, OBJ-10 */
static void notification(void)
{
    struct fabric_config config;
    struct fabric *f;
    struct shared s;

    world_config_defaults(&config);
    world_open_fabric(&f, &config);
    shared_open(&s, f, NULL, 4, 2);
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(share(&s, i, NULL) == 0);
    CHECK(share(&s, 4, NULL) == ENOSPC);
    CHECK(f->ops->srq_modify(s.srq, 3, 9) == EINVAL);
    CHECK(f->ops->srq_modify(s.srq, 5, 4) == 0);
    CHECK(share(&s, 4, NULL) == 0);
    atomic_store(&s.blocks, true);
    CHECK(f->ops->srq_modify(s.srq, 0, 6) == 0); /* 5 are fewer */
    AWAIT(atomic_load(&s.inside) == 1);
    CHECK(atomic_load(&s.notified) == 0);
    CHECK(f->ops->srq_modify(s.srq, 0, 7) == 0); /* another notification is due while the first one runs */
    atomic_store(&s.blocks, false);
    AWAIT(atomic_load(&s.notified) == 2);
    atomic_store(&s.blocks, true);
    CHECK(f->ops->srq_modify(s.srq, 0, 7) == 0);
    AWAIT(atomic_load(&s.inside) == 1);
    f->ops->srq_close(s.srq, on_queue_closed); /* waits for the notification */
    CHECK(!atomic_load(&s.closed));
    atomic_store(&s.blocks, false);
    AWAIT(atomic_load(&s.closed));
    CHECK(atomic_load(&s.notified) == 3);
    f->ops->destroy(f);
}

enum { SLOTS = 32, MESSAGES = 3000 };

/* Polls messages, and posts their receives again, while more messages arrive. */
static void *consume(void *arg)
{
    struct world *w = ((void **)arg)[0];
    struct shared *s = ((void **)arg)[1];
    struct rdma_completion c;

    for (int n = 0; n < MESSAGES; n++) {
        wait_completion(&w->sb, &c);
        CHECK(c.op == RDMA_OP_RECEIVE && c.status == RDMA_STATUS_OK && c.length == 100);
        CHECK((uintptr_t)c.context == (uintptr_t)(n % SLOTS)); /* in the order of arrival */
        CHECK(memcmp(w->sb.memory + n % SLOTS * 1000, w->sa.memory, 100) == 0);
        CHECK(share(s, (uintptr_t)c.context, &w->sb) == 0);
        atomic_fetch_add(&s->reposted, 1);
    }
    return NULL;
}

static void set_true(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

/* covers: SRQ-01 */
static void posted_while_used(void)
{
    struct world w;
    struct shared s;
    struct fabric_qp_config qp = { .initiator_depth = DEPTH, .initiator_sges = 4 };
    atomic_bool closed = false;
    void *both[2] = { &w, &s };
    pthread_t thread;

    world_defaults(&w);
    world_open(&w, AF_INET);
    w.b->ops->qp_close(w.sb.qp, set_true, &closed);
    AWAIT(atomic_load(&closed));
    shared_open(&s, w.b, &w.sb, SLOTS, 0);
    qp.receive_cq = qp.initiator_cq = w.sb.cq;
    qp.domain = &w.sb;
    qp.srq = s.srq;
    CHECK(w.b->ops->qp_create(w.b, &qp, &w.sb.qp) == 0);
    for (uintptr_t i = 0; i < SLOTS; i++)
        CHECK(share(&s, i, &w.sb) == 0);
    world_connect(&w);
    memset(w.sa.memory, 0x5a, 100);
    CHECK(pthread_create(&thread, NULL, consume, both) == 0);
    for (int n = 0; n < MESSAGES; n++) {
        post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 100, NULL, 0);
        expect_completion(&w.sa, RDMA_OP_SEND, NULL, 100);
        while (n - atomic_load(&s.reposted) >= SLOTS - 1)
            world_pause(); /* never more in flight than there are receives */
    }
    pthread_join(thread, NULL);
    world_disconnect(&w);
    link_close(&w.active);
    link_close(w.passive);
    acceptor_close(&w.acceptor);
    side_close(&w.sa);
    side_close(&w.sb);
    shared_close(&s);
    w.a->ops->destroy(w.a);
    w.b->ops->destroy(w.b);
}

static const struct test tests[] = {
    { "notification", notification },
    { "posted_while_used", posted_while_used },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
