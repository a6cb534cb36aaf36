/* SPDX-License-Identifier: MIT */
/*
 * Requests that a polling consumer posts in a row. They may wait for its next poll, but are sent and completed whatever
 * the consumer does instead.
 */
#include <stdio.h>
#include <string.h>

#include "fabric/world.h"

enum { ROUNDS = 40, ROW = 6, POLLS = 8, LEN = 64, MANY = 32 };

static void open_connected(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
    world_connect(w);
}

/* Polls so often that the consumer counts as polling. */
static void poll_for_long(struct side *s)
{
    for (int i = 0; i < POLLS; i++)
        expect_no_completion(s);
}

static void write_row(struct world *w, uint8_t value)
{
    for (int i = 0; i < ROW; i++) {
        size_t offset = (size_t)i * LEN;

        memset(w->sa.memory + offset, i == ROW - 1 ? value : 0, LEN);
        post(&w->sa, RDMA_OP_WRITE, 0, NULL, offset, LEN, &w->sb, 0);
    }
}

static void expect_row(struct side *s)
{
    for (int i = 0; i < ROW; i++)
        expect_completion(s, RDMA_OP_WRITE, NULL, 0);
}

static uint64_t sent(struct world *w)
{
    struct fabric_counters now;

    w->a->ops->counters(w->a, &now);
    return now.out_frames;
}

static uint64_t received(struct world *w)
{
    struct fabric_counters now;

    w->b->ops->counters(w->b, &now);
    return now.in_frames;
}

static void by_nothing(struct world *w)
{
    (void)w; /* the shard's thread sends them if the consumer does not poll */
}

static void by_poll(struct world *w)
{
    struct rdma_completion c;

    if (w->a->ops->cq_poll(w->sa.cq, &c, 1) == 0)
        return; /* another thread has the shard, and has sent nothing yet */
    CHECK(c.status == RDMA_STATUS_OK);
    post(&w->sa, RDMA_OP_WRITE, 0, NULL, (ROW - 1) * LEN, LEN, &w->sb, 0); /* replaces the one that was polled */
}

static void by_arm(struct world *w)
{
    w->a->ops->cq_arm(w->sa.cq, FABRIC_ARM_ANY);
}

/* A request that is too large to wait is sent together with those that wait. */
static void by_large(struct world *w)
{
    post(&w->sa, RDMA_OP_WRITE, 0, NULL, LEN * ROW, BUFFER / 2, &w->sb, LEN * ROW);
    expect_completion(&w->sa, RDMA_OP_WRITE, NULL, 0);
}

/* A deferred request, then one that is refused. */
static void by_refusal(struct world *w)
{
    struct rdma_request bad = { .op = RDMA_OP_BIND, .sge_count = 1 };

    post(&w->sa, RDMA_OP_WRITE, RDMA_FLAG_DEFER, NULL, (ROW - 1) * LEN, LEN, &w->sb, 0);
    CHECK(w->a->ops->qp_post(w->sa.qp, &bad) != 0);
    w->a->ops->qp_ring(w->sa.qp);
    expect_completion(&w->sa, RDMA_OP_WRITE, NULL, 0);
}

/* Many requests are sent in one call, and all their completions are polled, so that more of them are expected. */
static void fill_window(struct world *w)
{
    uint64_t before = received(w);
    struct rdma_completion c[MANY];
    int polled = 0;

    for (int i = 0; i < MANY; i++)
        post(&w->sa, RDMA_OP_WRITE, i + 1 < MANY ? RDMA_FLAG_DEFER : 0, NULL, ROW * LEN, LEN, &w->sb, ROW * LEN);
    AWAIT(received(w) >= before + MANY);
    AWAIT((polled += w->a->ops->cq_poll(w->sa.cq, c, MANY - polled)) == MANY);
}

static void rows_behind(void (*begin)(struct world *w), void (*end)(struct world *w))
{
    struct world w;
    int waited = 0;

    open_connected(&w);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t sent_before, received_before;

        poll_for_long(&w.sa);
        if (begin)
            begin(&w);
        sent_before = sent(&w);
        received_before = received(&w);
        write_row(&w, (uint8_t)(i + 1));
        waited += sent(&w) - sent_before < ROW;
        end(&w);
        AWAIT(received(&w) >= received_before + ROW);
        expect_row(&w.sa);
    }
    printf("  in %d of %d rounds some waited\n", waited, ROUNDS);
    world_disconnect(&w);
    CHECK(w.sb.memory[LEN - 1] == ROUNDS);
    world_close(&w);
}

static void rows(void (*end)(struct world *w))
{
    rows_behind(NULL, end);
    rows_behind(fill_window, end);
}

static void nothing(void)
{
    rows(by_nothing);
}

static void poll(void)
{
    rows(by_poll);
}

static void arm(void)
{
    rows(by_arm);
}

static void large(void)
{
    rows(by_large);
}

static void refusal(void)
{
    rows(by_refusal);
}

/* Everything posted before a disconnect arrives before its notice. */
static void disconnect(void)
{
    struct world w;

    open_connected(&w);
    poll_for_long(&w.sa);
    write_row(&w, 1);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    expect_row(&w.sa);
    world_disconnect(&w);
    CHECK(w.sb.memory[LEN - 1] == 1);
    world_close(&w);
}

/* Each request completes once, sent or flushed. */
static void flush(void)
{
    struct world w;
    struct rdma_completion c;

    open_connected(&w);
    poll_for_long(&w.sa);
    write_row(&w, 1);
    w.a->ops->qp_flush(w.sa.qp);
    for (int i = 0; i < ROW; i++) {
        wait_completion(&w.sa, &c);
        CHECK(c.status == RDMA_STATUS_OK || c.status == RDMA_STATUS_FLUSHED);
    }
    expect_no_completion(&w.sa);
    world_disconnect(&w);
    world_close(&w);
}

/* clang-format off */
static const struct test tests[] = {
    { "nothing", nothing }, { "poll", poll },             { "arm", arm },     { "large", large },
    { "refusal", refusal }, { "disconnect", disconnect }, { "flush", flush },
};
/* clang-format on */

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
