/* SPDX-License-Identifier: MIT */
/*
 * Abstract: one shard registers memory by requests, and ends it in every way, while another shard's queue pairs read or
 * write it. As soon as the end is reported, the memory is overwritten and must not change. The thread sanitizer checks
 * as much as the assertions.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"

enum { ROUNDS = 4000, TURNS = 100000, SIZE = 600, MINE = 0xee };
enum end { INVALIDATE, SEND_INVALIDATE, READ_INVALIDATE, REPLACE, ENDS };

static const uint64_t base = 0x4242420000u;

static struct {
    struct pump maker, user;
    struct mem_group group;
    uint8_t *page[2];
    struct mem_region *mapping[2];
    uint64_t logical[2];
    struct region plain, theirs;
    _Atomic uint32_t stag;
    atomic_bool over;
    bool writes; /* the user only writes to it; else only reads it, because both at once would race */
} race;

static int request(struct side *s, enum rdma_op op, uint32_t stag)
{
    struct rdma_request r = { .op = op, .token = stag };

    return iw_qp_post(s->qp, &r, NULL);
}

/* Runs until side a and side b have so many completions each, which must be successful. */
static void turn(struct pump *p, unsigned a, unsigned b)
{
    for (int i = 0; p->a.completions < a || p->b.completions < b; i++) {
        assert_true(i < TURNS);
        pump_send(&p->a);
        pump_receive(&p->b);
        pump_send(&p->b);
        pump_receive(&p->a);
    }
    for (unsigned i = 0; i < p->a.completions; i++)
        assert_int_equal(p->a.completed[i].status, RDMA_STATUS_OK);
    p->a.completions = p->b.completions = 0;
}

static uint32_t make(unsigned which)
{
    struct rdma_pages pages = {
        .logical = &race.logical[which],
        .count = 1,
        .len = SIZE,
        .base_address = base,
        .access = RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE,
    };
    uint32_t stag;

    assert_int_equal(mem_prepare_pages(race.maker.memory, &race.group, &race.maker.domain, &pages, &stag), 0);
    assert_int_equal(request(&race.maker.a, RDMA_OP_FAST_REGISTER, stag), 0);
    turn(&race.maker, 1, 0);
    return stag;
}

static void finish(enum end how, uint32_t stag)
{
    struct rdma_sge sge = { base, 0, stag };
    struct region named = { .stag = stag };

    switch (how) {
    case SEND_INVALIDATE:
        assert_int_equal(post(&race.maker.a, RDMA_OP_RECEIVE, 0, 1, NULL, 0, NULL), 0);
        assert_int_equal(post(&race.maker.b, RDMA_OP_SEND, RDMA_FLAG_SEND_INVALIDATE, 1, NULL, 0, &named), 0);
        turn(&race.maker, 1, 1);
        return;
    case READ_INVALIDATE:
        assert_int_equal(post(&race.maker.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 1, &sge, 1, &race.plain), 0);
        turn(&race.maker, 1, 0);
        return;
    default:
        assert_int_equal(request(&race.maker.a, RDMA_OP_INVALIDATE, stag), 0);
        turn(&race.maker, 1, 0);
        return;
    }
}

static void assert_mine(unsigned which)
{
    for (unsigned i = 0; i < SIZE; i++)
        assert_int_equal(race.page[which][i], MINE);
}

/* Copies from the region to ours or back, by a send of this side and a request of the peer. */
static void use_once(struct pump *p, uint32_t stag)
{
    struct region named = { .stag = stag, .at = (uint8_t *)(uintptr_t)base };
    struct rdma_sge it = { base, SIZE, stag }, ours = one_sge(&race.theirs);

    (void)post(&p->b, RDMA_OP_RECEIVE, 0, 1, race.writes ? &it : &ours, 1, NULL);
    (void)post(&p->a, RDMA_OP_SEND, 0, 1, race.writes ? &ours : &it, 1, NULL);
    (void)post(&p->b, race.writes ? RDMA_OP_WRITE : RDMA_OP_READ, 0, 1, &ours, 1, &named);
}

/* Uses the published STag. If that has ended meanwhile the stream ends, and starts again. */
static void *use(void *argument)
{
    struct iw_stream stream = { .ird = 4, .ord = 4, .max_segment = 1448 };
    struct pump *p = &race.user;

    (void)argument;
    for (unsigned i = 0; !atomic_load(&race.over); i++) {
        stream.crc = i & 1;
        use_once(p, atomic_load_explicit(&race.stag, memory_order_relaxed));
        for (int k = 0; k < 4; k++) {
            pump_send(&p->a);
            pump_receive(&p->b);
            pump_send(&p->b);
            pump_receive(&p->a);
        }
        if (p->a.ends || p->b.ends || i % 16 == 0) {
            iw_qp_stop(p->a.qp, RDMA_STATUS_FLUSHED);
            iw_qp_stop(p->b.qp, RDMA_STATUS_FLUSHED);
            p->a.ends = p->b.ends = 0;
            p->a.in.from = p->a.in.to = p->b.in.from = p->b.in.to = 0;
            iw_qp_start(p->a.qp, &stream);
            iw_qp_start(p->b.qp, &stream);
        }
        p->a.completions = p->b.completions = 0;
    }
    return NULL;
}

static void race_open(void)
{
    pump_open(&race.maker, &(struct pump_config){ .crc = true, .seed = 1 });
    pump_open(&race.user, &(struct pump_config){ .seed = 2, .share = &race.maker });
    region_open(&race.maker, &race.plain, SIZE, RDMA_ACCESS_REMOTE_READ);
    region_open(&race.maker, &race.theirs, SIZE, RDMA_ACCESS_LOCAL_WRITE);
    memset(race.theirs.at, 0x11, SIZE);
    mem_group_init(&race.group);
    for (int i = 0; i < 2; i++) {
        race.page[i] = aligned_alloc(MEM_PAGE, MEM_PAGE);
        assert_non_null(race.page[i]);
        memset(race.page[i], MINE, MEM_PAGE);
        assert_int_equal(mem_map(race.maker.memory, race.page[i], MEM_PAGE, &race.mapping[i], &race.logical[i]), 0);
    }
}

static void race_close(void)
{
    assert_true(mem_group_close(&race.group, NULL, NULL)); /* no registration remains */
    for (int i = 0; i < 2; i++) {
        mem_unmap(race.mapping[i]);
        free(race.page[i]);
    }
    iw_qp_stop(race.user.a.qp, RDMA_STATUS_FLUSHED);
    iw_qp_stop(race.user.b.qp, RDMA_STATUS_FLUSHED);
    region_close(&race.plain);
    region_close(&race.theirs);
    pump_close(&race.user);
    pump_close(&race.maker);
}

static void run(bool writes)
{
    pthread_t user;
    bool last = false; /* the last registration is alive */

    memset(&race, 0, sizeof race);
    race.writes = writes;
    race_open();
    assert_int_equal(pthread_create(&user, NULL, use, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        enum end how = (enum end)(i % ENDS);

        assert_mine(i % 2);
        uint32_t stag = make(i % 2);
        if (last)
            memset(race.page[(i + 1) % 2], MINE, SIZE);
        atomic_store_explicit(&race.stag, stag, memory_order_relaxed);
        for (unsigned k = 0; k < i % 5; k++)
            sched_yield();
        last = how == REPLACE && i + 1 < ROUNDS;
        if (last)
            continue;
        finish(how, stag);
        memset(race.page[i % 2], MINE, SIZE);
    }
    atomic_store(&race.over, true);
    pthread_join(user, NULL);
    assert_mine(0);
    assert_mine(1);
    race_close();
}

static void test_readers(void **state)
{
    (void)state;
    run(false);
}

/* covers: INV-03 */
static void test_writers(void **state)
{
    (void)state;
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
