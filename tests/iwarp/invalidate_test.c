/* SPDX-License-Identifier: MIT */
/*
 * Abstract: registrations that end with a message: send with invalidate and read with local invalidate, in every size,
 * with and without checksums; and tokens that a peer must not invalidate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iwarp/desk.h"
#include "wire/mpa.h"
#include "wire/terminate.h"

static int send_invalidate(struct side *s, unsigned flags, unsigned context, const struct rdma_sge *sges,
                           uint32_t count, uint32_t stag)
{
    struct region named = { .stag = stag };

    return post(s, RDMA_OP_SEND, flags | RDMA_FLAG_SEND_INVALIDATE, context, sges, count, &named);
}

static struct desk *watched;
static uint32_t watched_stag;

static void assert_dead(struct side *s, const struct rdma_completion *c)
{
    (void)s;
    if (c->op == RDMA_OP_RECEIVE_AND_INVALIDATE)
        assert_false(is_alive(watched, watched_stag, 0));
}

/*
 * Any size: the data has arrived and the STag is invalid when the completion is visible, and the completion names it.
 * covers: INV-01
 */
static void test_send_invalidate(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 100, 1400, 5000, 30000, LEN };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            desk_open(&d, seed);
            uint32_t inside = make_alive(&d, REMOTE),
                     stag = make_alive(&d, seed & 4 ? RDMA_ACCESS_REMOTE_READ : REMOTE);
            uint32_t ended = seed & 2 ? inside : stag; /* also the region that the message is placed in */
            struct rdma_sge from = { (uint64_t)(uintptr_t)d.far.at, sizes[k], d.far.stag };
            struct rdma_sge into = sge_at(inside, 0, LEN);
            unsigned flags = seed % 5 ? 0 : RDMA_FLAG_SOLICIT;

            fill(&d.far, (uint32_t)seed + k);
            watched = &d;
            watched_stag = ended;
            d.p.a.on_completion = assert_dead;
            assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
            assert_int_equal(send_invalidate(&d.p.b, flags, 2, &from, sizes[k] > 0, ended), 0);
            pump_run(&d.p);
            assert_completed(&d.p.b, 0, RDMA_OP_SEND, 2, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 0, RDMA_OP_RECEIVE_AND_INVALIDATE, 1, RDMA_STATUS_OK);
            assert_int_equal(d.p.a.completed[0].token, ended);
            assert_int_equal(d.p.a.completed[0].length, sizes[k]);
            assert_int_equal(d.p.a.completed[0].solicited, flags != 0);
            assert_false(is_known(&d, ended));
            assert_true(is_alive(&d, seed & 2 ? stag : inside, 0));
            for (uint32_t i = 0; i < sizes[k]; i++)
                assert_int_equal(*byte_at(&d, i), d.far.at[i]);
            /* A silent receive is silent and invalidates too; its slot shows nothing of the receive before. */
            uint32_t second = make_alive(&d, REMOTE);
            assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, RDMA_FLAG_SILENT, 3, NULL, 0, NULL), 0);
            assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 4, NULL, 0, NULL), 0);
            assert_int_equal(send_invalidate(&d.p.b, 0, 3, NULL, 0, second), 0);
            assert_int_equal(post(&d.p.b, RDMA_OP_SEND, 0, 4, NULL, 0, NULL), 0);
            pump_run(&d.p);
            assert_int_equal(d.p.a.completions, 2);
            assert_completed(&d.p.a, 1, RDMA_OP_RECEIVE, 4, RDMA_STATUS_OK);
            assert_false(is_known(&d, second));
            assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
            desk_close(&d);
        }
    }
}

enum wrong { NONE, PREPARED, ENDED, LOCAL_ONLY, LASTING, FOREIGN, KINDS };

static uint32_t wrong_stag(struct desk *d, enum wrong kind)
{
    struct rdma_pages p = { .logical = d->logical, .count = 1, .len = 8, .base_address = base, .access = REMOTE };
    uint32_t stag = 0;

    switch (kind) {
    case NONE:
        return 0;
    case PREPARED:
        return prepare(d, REMOTE);
    case ENDED:
        stag = make_alive(d, REMOTE);
        assert_int_equal(mem_revoke(d->p.memory, &d->p.domain, stag, false), WIRE_OK);
        return stag;
    case LOCAL_ONLY:
        return make_alive(d, RDMA_ACCESS_LOCAL_WRITE);
    case LASTING:
        return d->far.stag;
    default:
        assert_int_equal(mem_prepare_pages(d->p.memory, &d->groups[GROUPS - 1], &d->other_domain, &p, &stag), 0);
        assert_int_equal(mem_activate(d->p.memory, stag, true), MEM_DONE);
        return stag;
    }
}

/*
 * A token that the peer must not invalidate: the exact Terminate, no byte placed, both sides notified.
 * covers: INV-02 WIR-04
 */
static void test_wrong_stags(void **state)
{
    static const enum wire_error errors[KINDS] = {
        [NONE] = WIRE_RDMAP_INVALID_STAG,         [PREPARED] = WIRE_RDMAP_INVALID_STAG,
        [ENDED] = WIRE_RDMAP_INVALID_STAG,        [LOCAL_ONLY] = WIRE_RDMAP_CANNOT_INVALIDATE,
        [LASTING] = WIRE_RDMAP_CANNOT_INVALIDATE, [FOREIGN] = WIRE_RDMAP_STAG_NOT_ASSOCIATED,
    };
    static const uint32_t sizes[] = { 0, 100, 9000 };
    static struct desk d;

    (void)state;
    for (unsigned i = 0; i < KINDS * 3 * 8; i++) {
        enum wrong kind = (enum wrong)(i % KINDS);
        uint32_t size = sizes[i / KINDS % 3];

        desk_open(&d, i / KINDS / 3);
        uint32_t stag = wrong_stag(&d, kind), into_stag = make_alive(&d, REMOTE);
        struct rdma_sge from = { (uint64_t)(uintptr_t)d.far.at, size, d.far.stag }, into = sge_at(into_stag, 0, LEN);
        uint8_t before = *byte_at(&d, 0);

        d.far.at[0] = (uint8_t)~before;
        assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, 1, NULL, 0, NULL), 0);
        assert_int_equal(send_invalidate(&d.p.b, 0, 2, &from, size > 0, stag), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.why, IW_END_LOCAL_ERROR);
        assert_int_equal(d.p.a.error, errors[kind]);
        assert_completed(&d.p.a, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOST);
        assert_int_equal(d.p.a.completed[0].error, errors[kind]);
        assert_int_not_equal(d.p.a.completed[0].op, RDMA_OP_RECEIVE_AND_INVALIDATE);
        assert_int_equal(*byte_at(&d, 0), before);
        assert_int_equal(d.p.b.ends, 1);
        assert_int_equal(d.p.b.why, IW_END_PEER_TERMINATE);
        assert_int_equal(d.p.b.error, errors[kind]);
        assert_int_equal(d.p.b.completions, 2);
        desk_close(&d);
    }
}

/* The token is valid at the first segment, and this side revokes it before the last: the message does not complete. */
static void test_ended_meanwhile(void **state)
{
    static uint8_t fpdu[8192], payload[4000];
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, REMOTE), into_stag = make_alive(&d, REMOTE);
        struct rdma_sge into = sge_at(into_stag, 0, LEN);
        struct ddp_header h = { .opcode = RDMAP_SEND_INV, .queue = DDP_QUEUE_SEND, .msn = 1, .stag = stag };
        struct terminate t;
        size_t size = pump_fpdu(fpdu, d.crc, &h, payload, sizeof payload);

        assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        pump_inject(&d.p.a, fpdu, size);
        while (pump_receive(&d.p.a))
            continue;
        h.mo = sizeof payload;
        h.last = true;
        size = pump_fpdu(fpdu, d.crc, &h, payload, sizeof payload);
        /* Without checksums the header is processed first, and the rest of the segment arrives later. */
        bool header_first = !d.crc && seed & 2;
        pump_inject(&d.p.a, fpdu, header_first ? size - 1 : 0);
        while (pump_receive(&d.p.a))
            continue;
        assert_int_equal(mem_revoke(d.p.memory, &d.p.domain, stag, false), WIRE_OK);
        pump_inject(&d.p.a, header_first ? fpdu + size - 1 : fpdu, header_first ? 1 : size);
        while (pump_receive(&d.p.a))
            continue;
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.error, WIRE_RDMAP_INVALID_STAG);
        assert_completed(&d.p.a, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOST);
        assert_true(pump_terminate_sent(&d.p.a, d.crc, &t));
        assert_int_equal(t.error, WIRE_RDMAP_INVALID_STAG);
        assert_true(t.has_header);
        assert_int_equal(t.header_len, DDP_UNTAGGED_HEADER);
        assert_memory_equal(t.header, fpdu + MPA_FPDU_LENGTH, DDP_UNTAGGED_HEADER);
        desk_close(&d);
    }
}

/* A message that is too long for its receive invalidates nothing. */
static void test_too_long_invalidates_nothing(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, REMOTE);
        struct rdma_sge from = one_sge(&d.far), into = sge_at(stag, 0, LEN - 1);

        assert_int_equal(post(&d.p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(send_invalidate(&d.p.b, 0, 2, &from, 1, stag), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_TOO_LONG);
        assert_true(is_alive(&d, stag, 0));
        desk_close(&d);
    }
}

/* ---- read with local invalidate ---- */

/* covers: QPR-15 */
static void test_read_invalidate(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 1400, 9000, LEN };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            desk_open(&d, seed);
            uint32_t stag = prepare(&d, RDMA_ACCESS_LOCAL_WRITE), second = make_alive(&d, RDMA_ACCESS_LOCAL_WRITE);
            struct rdma_sge into[2] = { sge_at(stag, 0, sizes[k] / 2),
                                        sge_at(second, sizes[k] / 2, sizes[k] - sizes[k] / 2) };

            fill(&d.far, (uint32_t)seed + k);
            assert_int_equal(post_local(&d.p.a, RDMA_OP_FAST_REGISTER, RDMA_FLAG_SILENT, 1, stag), 0);
            assert_int_equal(post(&d.p.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 2, into, 2, &d.far), 0);
            assert_int_equal(post(&d.p.a, RDMA_OP_SEND, RDMA_FLAG_READ_FENCE, 3, NULL, 0, NULL), 0);
            assert_int_equal(post(&d.p.b, RDMA_OP_RECEIVE, 0, 3, NULL, 0, NULL), 0);
            pump_run(&d.p);
            assert_completed(&d.p.a, 0, RDMA_OP_READ, 2, RDMA_STATUS_OK);
            assert_completed(&d.p.a, 1, RDMA_OP_SEND, 3, RDMA_STATUS_OK);
            assert_false(is_known(&d, stag));
            assert_true(is_alive(&d, second, 0));
            for (uint32_t i = 0; i < sizes[k]; i++)
                assert_int_equal(*byte_at(&d, i), d.far.at[i]);
            assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
            desk_close(&d);
        }
    }
}

/* The token is revoked before the response arrives: the read fails, and the stream continues if it can. */
static void test_read_invalidate_too_late(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge into = sge_at(stag, 0, 0);

        assert_int_equal(post(&d.p.a, RDMA_OP_READ, RDMA_FLAG_READ_INVALIDATE, 1, &into, 1, &d.far), 0);
        pump_send(&d.p.a);
        assert_int_equal(mem_revoke(d.p.memory, &d.p.domain, stag, false), WIRE_OK);
        assert_int_equal(post(&d.p.a, RDMA_OP_READ, 0, 2, NULL, 0, &d.far), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_completed(&d.p.a, 1, RDMA_OP_READ, 2, RDMA_STATUS_OK);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
        desk_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_send_invalidate), cmocka_unit_test(test_wrong_stags),
        cmocka_unit_test(test_ended_meanwhile), cmocka_unit_test(test_too_long_invalidates_nothing),
        cmocka_unit_test(test_read_invalidate), cmocka_unit_test(test_read_invalidate_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
