/* SPDX-License-Identifier: MIT */
/*
 * Abstract: requests that make and end registrations: fast register, bind, invalidate, and SGEs with the privileged
 * token. They run in order, fenced, and flushed at every moment, over a transport that moves as many bytes as a seed
 * selects.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/desk.h"

/* ---- in order ---- */

/*
 * Register, use and invalidate, many times in one queue: each request finds the effect of those before it.
 * covers: QPR-02 INV-03 INV-09
 */
static void test_register_use_invalidate(void **state)
{
    enum { TIMES = 8, SIZE = 4100 };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t stags[TIMES];
        unsigned n = 0;

        desk_open(&d, seed);
        for (unsigned k = 0; k < TIMES; k++) {
            struct rdma_sge to = { (uint64_t)(uintptr_t)d.far.at + k * SIZE, SIZE, d.far.stag };
            stags[k] = prepare(&d, REMOTE);
            struct rdma_sge from = sge_at(stags[k], k * SIZE, SIZE);
            assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, k, &to, 1, NULL), 0);
            assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, n++, stags[k]), 0);
            assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, n++, &from, 1, NULL), 0);
            assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, 0, n++, stags[k]), 0);
        }
        pump_run(&d.p);
        assert_int_equal(d.p.a.completions, n);
        for (unsigned k = 0; k < TIMES; k++) {
            assert_completed(&d.p.a, 3 * k, RDMA_OP_FAST_REGISTER, 3 * k, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 3 * k + 1, RDMA_OP_SEND, 3 * k + 1, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 3 * k + 2, RDMA_OP_INVALIDATE, 3 * k + 2, RDMA_STATUS_OK);
            assert_completed(&d.p.b, k, RDMA_OP_RECEIVE, k, RDMA_STATUS_OK);
            assert_int_not_equal(d.p.b.completed[k].op, RDMA_OP_RECEIVE_AND_INVALIDATE);
            assert_false(is_known(&d, stags[k]));
        }
        for (uint32_t i = 0; i < TIMES * SIZE; i++)
            assert_int_equal(d.far.at[i], *byte_at(&d, i));
        assert_true(iw_qp_initiator_is_idle(d.p.a.qp));
        /* A request that cannot be carried out fails, and the stream continues. */
        assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, RDMA_FLAG_SILENT, n, stags[0]), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, n + 1, stags[1]), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, 0, n + 2, d.far.stag), 0);
        assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, 50, NULL, 0, NULL), 0);
        assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 50, NULL, 0, NULL), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, n, RDMA_OP_INVALIDATE, n, RDMA_STATUS_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 1, RDMA_OP_FAST_REGISTER, n + 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 2, RDMA_OP_INVALIDATE, n + 2, RDMA_STATUS_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 3, RDMA_OP_SEND, 50, RDMA_STATUS_OK);
        assert_completed(&d.p.b, TIMES, RDMA_OP_RECEIVE, 50, RDMA_STATUS_OK);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
        desk_close(&d);
    }
}

/* Each registration replaces the previous one, whose data has been sent before. covers: INV-09 */
static void test_replaces(void **state)
{
    enum { TIMES = 10, SIZE = 3000 };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t last = 0, stag;

        desk_open(&d, seed);
        for (unsigned k = 0; k < TIMES; k++, last = stag) {
            struct rdma_sge to = { (uint64_t)(uintptr_t)d.far.at + k * SIZE, SIZE, d.far.stag };
            stag = prepare_in(&d, &d.groups[GROUPS - 1], REMOTE);
            struct rdma_sge from = sge_at(stag, k * SIZE, SIZE);
            assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, k, &to, 1, NULL), 0);
            assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, RDMA_FLAG_SILENT, k, stag), 0);
            assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, k, &from, 1, NULL), 0);
            if (k > 0 && k % 3 == 0) { /* the previous one was activated, and is dead */
                from = sge_at(last, 0, 1);
                assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 100 + k, &from, 1, NULL), 0);
            }
        }
        pump_run(&d.p);
        for (unsigned k = 0, at = 0; k < TIMES; k++) {
            assert_completed(&d.p.a, at++, RDMA_OP_SEND, k, RDMA_STATUS_OK);
            if (k > 0 && k % 3 == 0)
                assert_completed(&d.p.a, at++, RDMA_OP_SEND, 100 + k, RDMA_STATUS_LOCAL_ACCESS);
        }
        for (uint32_t i = 0; i < TIMES * SIZE; i++)
            assert_int_equal(d.far.at[i], *byte_at(&d, i));
        assert_true(is_alive(&d, last, 0));
        desk_close(&d);
    }
}

/*
 * The request that should have replaced the registration was flushed, so the next one replaces it. A message sent from
 * the old registration in the same batch is sent whole.
 * covers: INV-09
 */
static void test_replaces_behind_a_flush(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        struct mem_group *g = &d.groups[GROUPS - 1];
        uint32_t first = prepare_in(&d, g, REMOTE), flushed = prepare_in(&d, g, REMOTE), last;
        struct rdma_sge from = sge_at(first, 0, 20000), to = one_sge(&d.far);

        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, 1, first), 0);
        pump_run(&d.p);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, 2, flushed), 0);
        iw_qp_flush(d.p.a.qp, RDMA_STATUS_FLUSHED);
        assert_completed(&d.p.a, 1, RDMA_OP_FAST_REGISTER, 2, RDMA_STATUS_FLUSHED);
        assert_true(is_alive(&d, first, 0));
        assert_int_equal(mem_group_current_stag(g), first);
        last = prepare_in(&d, g, REMOTE);
        assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, 3, &to, 1, NULL), 0);
        assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 3, &from, 1, NULL), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, 4, last), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 2, RDMA_OP_SEND, 3, RDMA_STATUS_OK);
        assert_completed(&d.p.a, 3, RDMA_OP_FAST_REGISTER, 4, RDMA_STATUS_OK);
        assert_false(is_known(&d, first));
        assert_true(is_alive(&d, last, 0));
        desk_close(&d);
    }
}

/* A window: the peer can access its part only, and nothing when the region has ended. covers: INV-08 */
static void test_bind(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        uint32_t stag = prepare(&d, RDMA_ACCESS_LOCAL_WRITE);
        uint32_t window = prepare_window(&d, stag, 100, 5000, RDMA_ACCESS_REMOTE_WRITE);
        struct rdma_sge from = { (uint64_t)(uintptr_t)d.far.at, 5000, d.far.stag };
        struct region to = { .stag = window, .at = (uint8_t *)(uintptr_t)(base + 100) };

        fill(&d.far, (uint32_t)seed + 1);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, RDMA_FLAG_SILENT, 1, stag), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_BIND, 0, 2, window), 0);
        assert_false(is_alive(&d, window, 100));
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, RDMA_OP_BIND, 2, RDMA_STATUS_OK);
        assert_int_equal(post(&d.p.b, RDMA_OP_WRITE, 0, 3, &from, 1, &to), 0);
        pump_run(&d.p);
        for (uint32_t i = 0; i < 5000; i++)
            assert_int_equal(*byte_at(&d, 100 + i), d.far.at[i]);
        uint8_t before = *byte_at(&d, 5100);
        if (seed & 2) {
            assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, RDMA_FLAG_READ_FENCE, 4, stag), 0);
            pump_run(&d.p);
            assert_completed(&d.p.a, 1, RDMA_OP_INVALIDATE, 4, RDMA_STATUS_OK);
        } else {
            to.at++;
        }
        d.far.at[4999] ^= 0xff;
        assert_int_equal(post(&d.p.b, RDMA_OP_WRITE, 0, 5, &from, 1, &to), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.error, seed & 2 ? WIRE_DDP_TAGGED_STAG : WIRE_DDP_TAGGED_BOUNDS);
        assert_int_equal(*byte_at(&d, 5100), before);
        assert_int_not_equal(*byte_at(&d, 5099), d.far.at[4999]);
        desk_close(&d);
    }
}

/* covers: QPR-08 */
static void test_fence(void **state)
{
    static struct desk d;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        desk_open(&d, i % 2);
        uint32_t sink = make_alive(&d, REMOTE), early = prepare(&d, REMOTE), late = prepare(&d, REMOTE);
        struct rdma_sge into = sge_at(sink, 0, 3000);

        fill(&d.far, i + 5);
        assert_int_equal(post(&d.p.a, RDMA_OP_READ, 0, 1, &into, 1, &d.far), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, 2, early), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, RDMA_FLAG_READ_FENCE, 3, late), 0);
        assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, 0, 4, sink), 0);
        for (int k = 0; k < 10; k++)
            pump_send(&d.p.a);
        assert_true(is_alive(&d, early, 0));
        assert_false(is_alive(&d, late, 0));
        assert_true(is_alive(&d, sink, 0));
        assert_int_equal(d.p.a.completions, 0); /* in order, after the read */
        assert_false(iw_qp_initiator_is_idle(d.p.a.qp));
        if (i < 2) {
            pump_run(&d.p);
            assert_completed(&d.p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 1, RDMA_OP_FAST_REGISTER, 2, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 2, RDMA_OP_FAST_REGISTER, 3, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 3, RDMA_OP_INVALIDATE, 4, RDMA_STATUS_OK);
            assert_false(is_known(&d, sink));
            for (uint32_t k = 0; k < 3000; k++)
                assert_int_equal(*byte_at(&d, k), d.far.at[k]);
        } else { /* if the stream ends, each completes with what became of it */
            iw_qp_flush(d.p.a.qp, RDMA_STATUS_FLUSHED);
            assert_completed(&d.p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_FLUSHED);
            assert_completed(&d.p.a, 1, RDMA_OP_FAST_REGISTER, 2, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 2, RDMA_OP_FAST_REGISTER, 3, RDMA_STATUS_FLUSHED);
            assert_completed(&d.p.a, 3, RDMA_OP_INVALIDATE, 4, RDMA_STATUS_FLUSHED);
            assert_true(is_alive(&d, early, 0));
            assert_false(is_known(&d, late));
            assert_true(is_alive(&d, sink, 0));
        }
        desk_close(&d);
    }
}

/* The accepting side carries out nothing before the first FPDU. */
static void test_hold(void **state)
{
    static struct desk d;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        desk_open_with(&d, &(struct pump_config){ .crc = i, .seed = i, .hold = true });
        uint32_t stag = prepare(&d, REMOTE);

        assert_int_equal(post_local(&d.p.b, RDMA_OP_FAST_REGISTER, 0, 1, stag), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.b.completions, 0);
        assert_false(is_alive(&d, stag, 0));
        assert_int_equal(post(&d.p.a, RDMA_OP_WRITE, 0, 2, NULL, 0, &d.far), 0);
        pump_run(&d.p);
        assert_completed(&d.p.b, 0, RDMA_OP_FAST_REGISTER, 1, RDMA_STATUS_OK);
        assert_true(is_alive(&d, stag, 0));
        desk_close(&d);
    }
}

static void post_another(struct side *s, const struct rdma_completion *c)
{
    (void)c;
    if (s->completions < 200)
        (void)post_local(s, RDMA_OP_INVALIDATE, 0, s->completions, 1);
}

/* A request that is posted inside a completion is carried out by the next call, so that a call ends. */
static void test_posting_for_ever(void **state)
{
    static struct desk d;

    (void)state;
    desk_open(&d, 0);
    d.p.a.on_completion = post_another;
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, 0, k, 1), 0);
    pump_send(&d.p.a);
    assert_int_equal(d.p.a.completions, 3);
    pump_send(&d.p.a);
    assert_int_equal(d.p.a.completions, 6);
    d.p.a.on_completion = NULL;
    desk_close(&d);
}

/* covers: QPR-03 */
static void test_posts_refused(void **state)
{
    static struct desk d;

    (void)state;
    desk_open(&d, 0);
    uint32_t stag = prepare(&d, REMOTE);
    struct rdma_sge sge = sge_at(stag, 0, 16), lasting = one_sge(&d.far);
    struct rdma_request r = { .op = RDMA_OP_FAST_REGISTER, .token = stag, .sges = &sge, .sge_count = 1 };

    assert_int_equal(iw_qp_post(d.p.a.qp, &r, NULL), EINVAL);
    assert_int_equal(post(&d.p.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 1, NULL, 0, &d.far), EINVAL);
    assert_int_equal(post(&d.p.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 1, &lasting, 1, &d.far), EFAULT);
    sge.length = LEN + 1;
    assert_int_equal(post(&d.p.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 1, &sge, 1, &d.far), EFAULT);
    for (unsigned k = 0; k < 64; k++)
        assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, RDMA_FLAG_SILENT, k, 1), 0);
    assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, 0, 64, stag), ENOSPC);
    assert_true(is_known(&d, stag)); /* still the caller's */
    iw_qp_stop(d.p.a.qp, RDMA_STATUS_FLUSHED);
    assert_int_equal(post_local(&d.p.a, RDMA_OP_BIND, 0, 65, stag), ENOTCONN);
    assert_true(is_known(&d, stag));
    desk_close(&d);
}

/* ---- flush and the stream's end, at any moment ---- */

/*
 * A registration's completion is exact: after OK it is alive, after a flush no lookup or post finds it.
 * covers: QPR-02 QPR-16
 */
static void test_flush_anywhere(void **state)
{
    enum { TIMES = 12 };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint32_t stags[TIMES];

        desk_open_with(&d,
                       &(struct pump_config){ .crc = seed & 1, .seed = seed, .max_segment = seed % 3 ? 1448 : 30000 });
        for (unsigned k = 0; k < TIMES; k++) {
            struct rdma_sge from = one_sge(&d.far);
            stags[k] = pump_random(&d.p, 3) ? prepare(&d, REMOTE) : 0;
            from.length = pump_random(&d.p, 20000);
            if (stags[k]) {
                unsigned flags = pump_random(&d.p, 2) ? RDMA_FLAG_READ_FENCE : 0;
                assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, flags, k, stags[k]), 0);
            } else if (pump_random(&d.p, 3) == 0) {
                assert_int_equal(post_local(&d.p.a, RDMA_OP_INVALIDATE, 0, k, k > 0 ? stags[k - 1] : 1), 0);
                if (k > 0)
                    stags[k - 1] = 0;
            } else {
                enum rdma_op op = pump_random(&d.p, 2) ? RDMA_OP_READ : RDMA_OP_WRITE;
                assert_int_equal(post(&d.p.a, op, 0, k, &from, 1, &d.far), 0);
            }
        }
        for (uint32_t k = pump_random(&d.p, 30); k > 0; k--) {
            pump_send(&d.p.a);
            pump_receive(&d.p.b);
            pump_send(&d.p.b);
            pump_receive(&d.p.a);
        }
        if (seed & 2)
            iw_qp_flush(d.p.a.qp, RDMA_STATUS_FLUSHED);
        else
            iw_qp_stop(d.p.a.qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(d.p.a.completions, TIMES);
        for (unsigned k = 0; k < TIMES; k++) {
            const struct rdma_completion *c = &d.p.a.completed[k];
            assert_ptr_equal(c->context, tag(k));
            if (c->op != RDMA_OP_FAST_REGISTER || !stags[k])
                continue;
            assert_true(c->status == RDMA_STATUS_OK || c->status == RDMA_STATUS_FLUSHED);
            assert_int_equal(is_alive(&d, stags[k], 0), c->status == RDMA_STATUS_OK);
            assert_int_equal(is_known(&d, stags[k]), c->status == RDMA_STATUS_OK);
        }
        desk_close(&d);
    }
}

/* ---- the privileged token ---- */

/* covers: QPR-18 */
static void test_privileged(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        uint64_t first = d.logical[PAGES - 1];
        struct rdma_sge from = { first + 5, 9000, 0 }, into = { first + 20000, 9000, 0 };
        struct rdma_sge read = { first + 10000, 9000, 0 };
        struct rdma_sge bad = { first + LEN - 8999, 9000, 0 }, none = { 8, 1, 0 }, far = one_sge(&d.far);

        fill(&d.far, (uint32_t)seed);
        assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 1, &bad, 1, NULL), EFAULT);
        assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &none, 1, NULL), EFAULT);
        assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 2, &from, 1, NULL), 0);
        assert_int_equal(post(&d.p.a, RDMA_OP_READ, 0, 3, &read, 1, &d.far), 0);
        assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, 4, &far, 1, NULL), 0);
        pump_run(&d.p);
        assert_memory_equal(d.far.at, d.memory + 5, 9000);
        assert_completed(&d.p.a, 0, RDMA_OP_SEND, 2, RDMA_STATUS_OK);
        assert_completed(&d.p.a, 1, RDMA_OP_READ, 3, RDMA_STATUS_OK);
        assert_memory_equal(d.memory + 10000, d.far.at, 9000);
        far.length = 9000;
        assert_int_equal(post(&d.p.b, RDMA_OP_SEND, 0, 5, &far, 1, NULL), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 2, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
        assert_memory_equal(d.memory + 20000, d.far.at, 9000);
        /* The address is unmapped between post and turn. */
        struct mem_region *short_lived;
        assert_int_equal(mem_map(d.p.memory, d.memory, 100, &short_lived, &from.address), 0);
        from.length = 100;
        assert_int_equal(post(&d.p.a, RDMA_OP_SEND, 0, 6, &from, 1, NULL), 0);
        mem_unmap(short_lived);
        pump_run(&d.p);
        assert_completed(&d.p.a, 3, RDMA_OP_SEND, 6, RDMA_STATUS_LOCAL_ACCESS);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
        desk_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_use_invalidate),
        cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_replaces_behind_a_flush),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_posting_for_ever),
        cmocka_unit_test(test_posts_refused),
        cmocka_unit_test(test_flush_anywhere),
        cmocka_unit_test(test_privileged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
