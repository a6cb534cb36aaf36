/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the operations of a queue pair, each with sizes at every boundary, with and without CRC. Seeds choose the
 * SGEs and where the byte streams are split. Also completion order, silence, fences, limits, flush.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "iwarp/qp_internal.h"
#include "wire/mpa.h"

enum { MEGABYTE = 1 << 20 };

/*
 * A send, a write and a read of len bytes each: all data arrives, and the completions have the right order and length.
 */
static void one_round(struct pump *p, uint32_t len)
{
    struct region from, to, target, sink;
    struct rdma_sge sges[PUMP_SGES];
    uint32_t room = len ? len : 1, n, max = 1 + pump_random(p, PUMP_SGES);

    region_open(p, &from, room, RDMA_ACCESS_REMOTE_READ);
    region_open(p, &to, room, RDMA_ACCESS_LOCAL_WRITE);
    region_open(p, &target, room, RDMA_ACCESS_REMOTE_WRITE);
    region_open(p, &sink, room, RDMA_ACCESS_LOCAL_WRITE);
    fill(&from, len + max);
    p->a.completions = p->b.completions = 0;
    n = split_sges(p, &to, len, sges, max);
    assert_int_equal(post(&p->b, RDMA_OP_RECEIVE, 0, 1, sges, n, NULL), 0);
    n = split_sges(p, &from, len, sges, max);
    assert_int_equal(post(&p->a, RDMA_OP_WRITE, 0, 2, sges, n, &target), 0);
    assert_int_equal(post(&p->a, RDMA_OP_SEND, RDMA_FLAG_SOLICIT, 3, sges, n, NULL), 0);
    pump_run(p);
    assert_int_equal(p->a.completions, 2);
    assert_completed(&p->a, 0, RDMA_OP_WRITE, 2, RDMA_STATUS_OK);
    assert_completed(&p->a, 1, RDMA_OP_SEND, 3, RDMA_STATUS_OK);
    assert_int_equal(p->b.completions, 1);
    assert_completed(&p->b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
    assert_int_equal(p->b.completed[0].length, len);
    assert_true(p->b.completed[0].solicited);
    assert_memory_equal(to.at, from.at, len);
    assert_memory_equal(target.at, from.at, len);

    n = split_sges(p, &sink, len, sges, max);
    assert_int_equal(post(&p->b, RDMA_OP_READ, 0, 4, sges, n, &from), 0);
    pump_run(p);
    assert_int_equal(p->b.completions, 2);
    assert_completed(&p->b, 1, RDMA_OP_READ, 4, RDMA_STATUS_OK);
    assert_memory_equal(sink.at, from.at, len);
    assert_true(iw_qp_initiator_is_idle(p->a.qp));
    assert_true(iw_qp_initiator_is_idle(p->b.qp));
    region_close(&from);
    region_close(&to);
    region_close(&target);
    region_close(&sink);
}

static void sizes(bool crc, bool whole, size_t segment, uint64_t seed)
{
    uint32_t ulpdu = (uint32_t)mpa_max_ulpdu(segment);
    uint32_t lens[] = {
        0,       1,          2,          3,          4,          5,          64,         511,           512,
        513,     ulpdu - 19, ulpdu - 18, ulpdu - 17, ulpdu - 15, ulpdu - 14, ulpdu - 13, 3 * ulpdu + 1, 100000,
        MEGABYTE
    };
    struct pump p;

    pump_open(&p, &(struct pump_config){ .crc = crc, .whole = whole, .max_segment = segment, .seed = seed });
    for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++)
        one_round(&p, lens[i]);
    assert_int_equal(p.a.ends + p.b.ends, 0);
    pump_close(&p);
}

/* covers: QPR-04 QPR-11 QPR-13 QPR-19 */
static void test_sizes(void **state)
{
    static const size_t segments[] = { 536, 1448, 9000, 65483 };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            sizes(true, false, segments[i], seed);
            sizes(false, false, segments[i], seed);
        }
        sizes(true, true, segments[i], 9);
        sizes(false, true, segments[i], 9);
    }
}

/* Sends what one call would send, after the source has changed behind the framing. */
static void send_changed(struct side *s, struct region *source)
{
    struct iovec iov[IW_MAX_IOV];
    size_t sent = 0;
    int n = iw_qp_tx_want(s->qp, s->pump->scratch, iov, IW_MAX_IOV);

    for (uint32_t i = 0; i < source->len; i++)
        source->at[i] ^= 0xff;
    for (int i = 0; i < n; i++) {
        pump_inject(s->peer, iov[i].iov_base, iov[i].iov_len);
        sent += iov[i].iov_len;
    }
    iw_qp_tx_done(s->qp, s->pump->scratch, sent);
}

/*
 * The owner of a read's source may change it at any time. With CRC that must not end the connection, so the bytes that
 * were summed are sent.
 * covers: WIR-03
 */
static void test_source_changes(void **state)
{
    static const size_t segments[] = { 536, 1448, 9000, 65483 };
    static const uint32_t lens[] = { 64, 600, 1400, 8000, 65000, 300000 };

    (void)state;
    for (unsigned i = 0; i < 4 * 6; i++) {
        uint32_t len = lens[i / 4];
        struct region source, sink;
        struct pump p;

        pump_open(&p, &(struct pump_config){ .crc = true, .whole = true, .max_segment = segments[i % 4] });
        region_open(&p, &source, len, RDMA_ACCESS_REMOTE_READ);
        region_open(&p, &sink, len, RDMA_ACCESS_LOCAL_WRITE);
        fill(&source, i);
        struct rdma_sge at = one_sge(&sink);
        assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 1, &at, 1, &source), 0);
        while (pump_send(&p.a))
            continue;
        pump_receive(&p.b);
        for (unsigned calls = 0; p.a.completions == 0 && p.a.ends == 0 && calls < 100; calls++) {
            send_changed(&p.b, &source);
            while (pump_receive(&p.a))
                continue;
        }
        assert_int_equal(p.a.ends, 0);
        assert_completed(&p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_OK);
        region_close(&source);
        region_close(&sink);
        pump_close(&p);
    }
}

/* Sends behind a read complete after it: completions have the order of posts. covers: QPR-02 */
static void test_order(void **state)
{
    struct region far, sink, data, to;
    struct pump p;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        pump_open(&p, &(struct pump_config){ .crc = seed & 1, .seed = seed });
        region_open(&p, &far, 5000, RDMA_ACCESS_REMOTE_READ);
        region_open(&p, &sink, 5000, RDMA_ACCESS_LOCAL_WRITE);
        region_open(&p, &data, 3000, 0);
        region_open(&p, &to, 3000, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge at = one_sge(&sink), from = one_sge(&data), into = one_sge(&to);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 100 + i, &into, 1, NULL), 0);
        for (unsigned i = 0; i < 8; i++) {
            assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 10 * i, &at, 1, &far), 0);
            assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 10 * i + 1, &from, 1, NULL), 0);
        }
        /* b sends nothing, so no read is answered, and nothing may complete at a. */
        for (int i = 0; i < 200; i++) {
            pump_send(&p.a);
            pump_receive(&p.b);
        }
        assert_int_equal(p.a.completions, 0);
        assert_true(p.b.completions > 0);
        pump_run(&p);
        assert_int_equal(p.a.completions, 16);
        assert_int_equal(p.b.completions, 8);
        for (unsigned i = 0; i < 8; i++) {
            assert_completed(&p.a, 2 * i, RDMA_OP_READ, 10 * i, RDMA_STATUS_OK);
            assert_completed(&p.a, 2 * i + 1, RDMA_OP_SEND, 10 * i + 1, RDMA_STATUS_OK);
            assert_completed(&p.b, i, RDMA_OP_RECEIVE, 100 + i, RDMA_STATUS_OK);
        }
        region_close(&far);
        region_close(&sink);
        region_close(&data);
        region_close(&to);
        pump_close(&p);
    }
}

/* Requests of all kinds, in both directions at once, with any number of reads. covers: QPR-02 QPR-04 QPR-11 */
static void test_crossing(void **state)
{
    struct region src[2], dst[2];
    struct pump p;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        pump_open(&p, &(struct pump_config){
                          .crc = seed & 1, .seed = seed, .ird = 3, .ord = 3, .max_segment = seed % 3 ? 1448 : 20000 });
        struct side *sides[2] = { &p.a, &p.b };
        for (int i = 0; i < 2; i++) {
            region_open(&p, &src[i], 40000, RDMA_ACCESS_REMOTE_READ);
            region_open(&p, &dst[i], 40000, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
            fill(&src[i], (uint32_t)seed);
        }
        for (unsigned n = 0; n < 30; n++) {
            for (int i = 0; i < 2; i++) {
                struct rdma_sge sges[PUMP_SGES];
                uint32_t count = split_sges(&p, &dst[!i], 40000, sges, 5);
                assert_int_equal(post(sides[!i], RDMA_OP_RECEIVE, 0, n, sges, count, NULL), 0);
                uint32_t len = pump_random(&p, 40000);
                enum rdma_op op = (enum rdma_op)pump_random(&p, 3);
                count = split_sges(&p, op == RDMA_OP_READ ? &dst[i] : &src[i], len, sges, 7);
                assert_int_equal(post(sides[i], op, pump_random(&p, 4) ? 0 : RDMA_FLAG_READ_FENCE, n, sges, count,
                                      op == RDMA_OP_READ ? &src[!i] : &dst[!i]),
                                 0);
            }
        }
        pump_run(&p);
        for (int i = 0; i < 2; i++) {
            unsigned next = 0, received = 0;
            for (unsigned k = 0; k < sides[i]->completions; k++) {
                const struct rdma_completion *c = &sides[i]->completed[k];
                assert_int_equal(c->status, RDMA_STATUS_OK);
                assert_ptr_equal(c->context, tag(c->op == RDMA_OP_RECEIVE ? received++ : next++));
            }
            assert_int_equal(next, 30);
            assert_int_equal(sides[i]->ends, 0);
        }
        iw_qp_flush(p.a.qp, RDMA_STATUS_FLUSHED);
        iw_qp_flush(p.b.qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(p.a.ends + p.b.ends, 0);
        assert_int_equal(p.a.completions + p.b.completions, 120);
        for (int i = 0; i < 2; i++) {
            region_close(&src[i]);
            region_close(&dst[i]);
        }
        pump_close(&p);
    }
}

/* covers: QPR-07 */
static void test_silent(void **state)
{
    struct region data, to;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .whole = true });
    region_open(&p, &data, 100, 0);
    region_open(&p, &to, 100, RDMA_ACCESS_LOCAL_WRITE);
    struct rdma_sge from = one_sge(&data), into = one_sge(&to);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, i, &into, 1, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 1, &from, 1, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 2, &from, 1, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 3, &from, 1, NULL), 0);
    pump_run(&p);
    assert_int_equal(p.a.completions, 1);
    assert_completed(&p.a, 0, RDMA_OP_SEND, 2, RDMA_STATUS_OK);
    assert_int_equal(p.b.completions, 3);
    assert_true(iw_qp_initiator_is_idle(p.a.qp));
    assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 4, &from, 1, NULL), 0);
    iw_qp_flush(p.a.qp, RDMA_STATUS_FLUSHED);
    assert_int_equal(p.a.completions, 2);
    assert_completed(&p.a, 1, RDMA_OP_SEND, 4, RDMA_STATUS_FLUSHED);
    region_close(&data);
    region_close(&to);
    pump_close(&p);
}

/* Returns the number of Read Requests in a pipe. */
static unsigned read_requests(const struct pipe *in)
{
    unsigned n = 0;

    for (size_t at = in->from; at < in->to;) {
        size_t ulpdu = (size_t)in->bytes[at] << 8 | in->bytes[at + 1], size;
        struct ddp_header h;
        assert_true(ddp_header_decode(&h, in->bytes + at + 2, ulpdu, &size));
        n += h.opcode == RDMAP_READ_REQ;
        at += mpa_fpdu_size(ulpdu);
    }
    return n;
}

/* At most ORD reads are in flight, and requests behind the next one wait. covers: QPR-11 CON-03 */
static void test_ord(void **state)
{
    struct region far, sink;
    struct pump p;

    (void)state;
    for (uint16_t ord = 1; ord <= 5; ord++) {
        pump_open(&p, &(struct pump_config){ .crc = true, .whole = true, .ird = ord, .ord = ord });
        region_open(&p, &far, 64, RDMA_ACCESS_REMOTE_READ);
        region_open(&p, &sink, 64, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge at = one_sge(&sink);
        for (unsigned i = 0; i < 12; i++)
            assert_int_equal(post(&p.a, RDMA_OP_READ, 0, i, &at, 1, &far), 0);
        assert_int_equal(post(&p.a, RDMA_OP_WRITE, 0, 12, NULL, 0, &far), 0);
        while (pump_send(&p.a))
            continue;
        assert_int_equal(read_requests(&p.b.in), ord);
        pump_run(&p);
        assert_int_equal(p.a.completions, 13);
        assert_int_equal(p.b.ends, 0);
        region_close(&far);
        region_close(&sink);
        pump_close(&p);
    }
}

/* covers: QPR-08 */
static void test_fence(void **state)
{
    struct region far, sink;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .whole = true });
    region_open(&p, &far, 64, RDMA_ACCESS_REMOTE_READ);
    region_open(&p, &sink, 64, RDMA_ACCESS_LOCAL_WRITE);
    struct rdma_sge at = one_sge(&sink);
    assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 9, NULL, 0, NULL), 0);
    assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 9, NULL, 0, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 1, &at, 1, &far), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 2, NULL, 0, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_READ_FENCE, 3, NULL, 0, NULL), 0);
    while (pump_send(&p.a))
        continue;
    while (pump_receive(&p.b))
        continue;
    assert_int_equal(p.b.completions, 1); /* only the fenced request waits */
    pump_run(&p);
    assert_int_equal(p.b.completions, 2);
    assert_int_equal(p.a.completions, 3);
    region_close(&far);
    region_close(&sink);
    pump_close(&p);
}

/* covers: QPR-06 */
static void test_inline(void **state)
{
    uint8_t data[256], expected[256];
    struct rdma_sge sges[256], into;
    struct region to;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .inline_size = sizeof data });
    region_open(&p, &to, sizeof data, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
    into = one_sge(&to);
    for (unsigned i = 0; i < sizeof data; i++) {
        data[i] = expected[i] = (uint8_t)(i * 7);
        sges[i] = (struct rdma_sge){ (uint64_t)(uintptr_t)&data[i], 1, 0xdeadbeef };
    }
    for (unsigned round = 0; round < 2; round++) {
        memset(to.at, 0, to.len);
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&p.a, round ? RDMA_OP_WRITE : RDMA_OP_SEND, RDMA_FLAG_INLINE, 2, sges, 256, &to), 0);
        memset(data, 0xff, sizeof data);
        pump_run(&p);
        assert_memory_equal(to.at, expected, sizeof expected);
        memcpy(data, expected, sizeof data);
    }
    sges[0].length = 2;
    assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_INLINE, 2, sges, 256, NULL), EINVAL);
    assert_int_equal(post(&p.a, RDMA_OP_READ, RDMA_FLAG_INLINE, 2, sges, 1, &to), EINVAL);
    region_close(&to);
    pump_close(&p);
}

/* covers: QPR-09 */
static void test_solicited(void **state)
{
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true });
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, i, NULL, 0, NULL), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, i == 2 ? RDMA_FLAG_SOLICIT : 0, i, NULL, 0, NULL), 0);
    }
    pump_run(&p);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(p.b.completed[i].solicited, i == 2);
    pump_close(&p);
}

/* A post that fails queues nothing. covers: QPR-02 QPR-03 QPR-18 MEM-02 */
static void test_refused_posts(void **state)
{
    struct region readable, writable;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .depth = 5 });
    region_open(&p, &readable, 64, RDMA_ACCESS_REMOTE_READ);
    region_open(&p, &writable, 64, RDMA_ACCESS_LOCAL_WRITE);
    struct rdma_sge r = one_sge(&readable), w = one_sge(&writable), bad[5] = { r, r, r, r, r }, many[41] = { { 0 } };
    assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 1, &r, 1, NULL), EFAULT);
    assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 1, &r, 1, &readable), EFAULT);
    bad[0].length++;
    bad[1].address--;
    bad[2].token ^= 0x10000;
    bad[3].address = UINT64_MAX - 3;
    bad[4].length = UINT32_MAX;
    for (int i = 0; i < 5; i++)
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, &bad[i], 1, NULL), EFAULT);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, many, 41, NULL), EINVAL);
    bad[0].length = bad[1].length = UINT32_MAX;
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, bad, 2, NULL), EINVAL);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, i, &w, 1, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 9, &w, 1, NULL), ENOSPC);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, i, &r, 1, NULL), 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 9, &r, 1, NULL), ENOSPC);
    iw_qp_stop(p.a.qp, RDMA_STATUS_FLUSHED);
    assert_int_equal(p.a.completions, 10);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, &r, 1, NULL), ENOTCONN);
    assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 1, &w, 1, NULL), 0);
    region_close(&readable);
    region_close(&writable);
    pump_close(&p);
}

/* Each form of ready-to-receive is sent first, is the peer's first valid FPDU, and has no other effect. */
static void test_rtr(void **state)
{
    static const enum mpa_rtr forms[] = { MPA_RTR_ZERO_FPDU, MPA_RTR_WRITE, MPA_RTR_READ };
    struct region far, sink;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        enum mpa_rtr form = forms[i % 3];
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i, .hold = i & 2 });
        region_open(&p, &far, 64, RDMA_ACCESS_REMOTE_READ);
        region_open(&p, &sink, 64, RDMA_ACCESS_LOCAL_WRITE);
        fill(&far, i);
        struct rdma_sge at = one_sge(&sink);
        iw_qp_send_rtr(p.a.qp, form);
        assert_false(iw_qp_initiator_is_idle(p.a.qp));
        assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 1, &at, 1, &far), 0);
        pump_run(&p);
        assert_int_equal(p.b.first_fpdus, 1);
        assert_int_equal(p.a.answers, form == MPA_RTR_READ);
        assert_int_equal(p.a.completions, 1);
        assert_completed(&p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_OK);
        assert_memory_equal(sink.at, far.at, 64);
        assert_int_equal(p.b.completions, 0);
        assert_int_equal(p.a.ends + p.b.ends, 0);
        assert_true(iw_qp_initiator_is_idle(p.a.qp));
        region_close(&far);
        region_close(&sink);
        pump_close(&p);
    }
}

/* The accepting side sends nothing before the first FPDU of an initiator without ready-to-receive. covers: CMP-01 */
static void test_hold(void **state)
{
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .whole = true, .hold = true });
    assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 1, NULL, 0, NULL), 0);
    assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 2, NULL, 0, NULL), 0);
    assert_int_equal(post(&p.b, RDMA_OP_SEND, 0, 3, NULL, 0, NULL), 0);
    pump_run(&p);
    assert_int_equal(p.a.completions + p.b.completions, 0);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 4, NULL, 0, NULL), 0);
    pump_run(&p);
    assert_int_equal(p.a.completions, 2);
    assert_int_equal(p.b.completions, 2);
    pump_close(&p);
}

/* All requests are handed over, but a private copy is not sent yet: the end of the stream must wait for it. */
static void test_idle_and_clean(void **state)
{
    struct iovec iov[IW_MAX_IOV];
    struct region data;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .whole = true });
    region_open(&p, &data, 1000, 0);
    struct rdma_sge from = one_sge(&data);
    assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, &from, 1, NULL), 0);
    assert_false(iw_qp_initiator_is_idle(p.a.qp));
    assert_int_equal(iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV), 3);
    iw_qp_tx_done(p.a.qp, p.scratch, 100);
    assert_int_equal(p.a.completions, 1); /* the region can be invalidated: the rest is a copy */
    assert_false(iw_qp_initiator_is_idle(p.a.qp));
    assert_false(iw_qp_tx_is_clean(p.a.qp));
    region_close(&data);
    assert_int_equal(iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV), 1);
    assert_int_equal(iov[0].iov_len, mpa_fpdu_size(1018) - 100);
    iw_qp_tx_done(p.a.qp, p.scratch, iov[0].iov_len);
    assert_true(iw_qp_initiator_is_idle(p.a.qp));
    assert_true(iw_qp_tx_is_clean(p.a.qp));
    pump_close(&p);
}

static void start_late(struct iw_qp *qp)
{
    uint32_t late = UINT32_MAX - 20;

    atomic_store(&qp->sq.head, late);
    atomic_store(&qp->sq.tail, late);
    atomic_store(&qp->rq.head, late);
    atomic_store(&qp->rq.tail, late);
    qp->tx.next = qp->tx.response = qp->inbound_tail = late;
    qp->tx.send_msn = qp->tx.read_msn = qp->rx.send_msn = qp->rx.read_msn = late;
}

/* Message numbers and queue positions wrap around at 2^32. */
static void test_wraparound(void **state)
{
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .seed = 3 });
    start_late(p.a.qp);
    start_late(p.b.qp);
    for (unsigned i = 0; i < 5; i++) {
        for (uint32_t len = 1; len < 20000; len = 3 * len + 1)
            one_round(&p, len);
    }
    assert_true(p.a.qp->tx.send_msn < 100 && p.b.qp->tx.read_msn < 100);
    assert_int_equal(p.a.ends + p.b.ends, 0);
    pump_close(&p);
}

static void test_many(void **state)
{
    struct iw_counters c;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .whole = true, .depth = 3 });
    for (unsigned i = 0; i < 5000; i++) {
        p.a.completions = p.b.completions = 0;
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, i, NULL, 0, NULL), 0);
            assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, i, NULL, 0, NULL), 0);
        }
        pump_run(&p);
        assert_int_equal(p.a.completions, 3);
        assert_int_equal(p.b.completions, 3);
    }
    iw_qp_counters(p.a.qp, &c);
    assert_int_equal(c.fpdus_sent, 15000);
    assert_int_equal(c.bytes_sent, 15000 * 24);
    iw_qp_counters(p.b.qp, &c);
    assert_int_equal(c.fpdus_received, 15000);
    assert_int_equal(c.bytes_received, 15000 * 24);
    pump_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),  cmocka_unit_test(test_order),      cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_silent), cmocka_unit_test(test_ord),        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_inline), cmocka_unit_test(test_solicited),  cmocka_unit_test(test_refused_posts),
        cmocka_unit_test(test_rtr),    cmocka_unit_test(test_hold),       cmocka_unit_test(test_idle_and_clean),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_wraparound), cmocka_unit_test(test_source_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
