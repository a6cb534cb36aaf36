/* SPDX-License-Identifier: MIT */
/*
 * Abstract: both sides of a connection receive from one shared queue: order, the receives that errors and flushes use,
 * depth.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "wire/mpa.h"
#include "wire/terminate.h"

enum { RECEIVES = 24, ROOM = 6000 };

static int share(struct pump *p, unsigned context, const struct rdma_sge *sges, uint32_t count)
{
    struct rdma_request r = { .op = RDMA_OP_RECEIVE, .context = tag(context), .sges = sges, .sge_count = count };

    return iw_srq_post(p->srq, &r);
}

static void assert_queued(struct pump *p, uint32_t count)
{
    if (count > 1)
        assert_int_equal(iw_srq_modify(p->srq, count - 1, 0), EINVAL);
    assert_int_equal(iw_srq_modify(p->srq, count ? count : 1, 0), 0);
    assert_int_equal(iw_srq_modify(p->srq, RECEIVES, 0), 0);
}

static unsigned context_of(const struct side *s, unsigned at)
{
    return (unsigned)(uintptr_t)s->completed[at].context;
}

/* Each side removes the oldest receive when a message to it begins. covers: SRQ-01 */
static void test_order(void **state)
{
    struct region src, dst[RECEIVES];
    struct rdma_sge sges[PUMP_SGES];
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i, .shared = RECEIVES, .max_segment = 1000 });
        region_open(&p, &src, ROOM, 0);
        fill(&src, i);
        for (unsigned k = 0; k < RECEIVES; k++) {
            region_open(&p, &dst[k], ROOM, RDMA_ACCESS_LOCAL_WRITE);
            assert_int_equal(share(&p, k, sges, split_sges(&p, &dst[k], ROOM, sges, PUMP_SGES)), 0);
        }
        assert_int_equal(share(&p, 99, NULL, 0), ENOSPC);
        for (unsigned k = 0; k < RECEIVES; k++) {
            struct side *from = pump_random(&p, 2) ? &p.a : &p.b;
            assert_int_equal(post(from, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, sges,
                                  split_sges(&p, &src, pump_random(&p, ROOM), sges, 10), NULL),
                             0);
        }
        pump_run(&p);
        assert_int_equal(p.a.completions + p.b.completions, RECEIVES);
        for (unsigned k = 0, a = 0, b = 0; k < RECEIVES; k++) { /* each once, in order on each side */
            const struct side *s = a < p.a.completions && context_of(&p.a, a) == k ? &p.a : &p.b;
            unsigned at = s == &p.a ? a++ : b++;

            assert_completed(s, at, RDMA_OP_RECEIVE, k, RDMA_STATUS_OK);
            assert_memory_equal(dst[k].at, src.at, s->completed[at].length);
        }
        assert_queued(&p, 0);
        for (unsigned k = 0; k < RECEIVES; k++)
            region_close(&dst[k]);
        region_close(&src);
        pump_close(&p);
    }
}

/*
 * A flush completes the receive that is being filled, and ends the stream. The others stay in the queue.
 * covers: SRQ-04
 */
static void test_flush(void **state)
{
    struct region src, dst;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i, .shared = RECEIVES });
        region_open(&p, &src, 30000, 0);
        region_open(&p, &dst, 30000, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge from = one_sge(&src), to = one_sge(&dst);
        for (unsigned k = 0; k < 6; k++)
            assert_int_equal(share(&p, k, &to, 1), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, &from, 1, NULL), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, &from, 1, NULL), 0);
        for (uint32_t k = pump_random(&p, 60); k > 0; k--) {
            pump_send(&p.a);
            pump_receive(&p.b);
        }
        unsigned received = p.b.completions;
        iw_qp_flush(p.b.qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(p.b.completions, received + p.b.ends); /* one more if the stream ended half-way */
        if (p.b.ends)
            assert_completed(&p.b, received, RDMA_OP_RECEIVE, received, RDMA_STATUS_FLUSHED);
        assert_queued(&p, 6 - p.b.completions);
        iw_qp_stop(p.b.qp, RDMA_STATUS_FLUSHED);
        assert_queued(&p, 6 - p.b.completions);
        region_close(&src);
        region_close(&dst);
        pump_close(&p);
    }
}

/*
 * A message that is refused completes the receive that it would have filled, and no other.
 * covers: SRQ-04, QPR-05, WIR-04
 */
static void test_refused(void **state)
{
    static const struct {
        struct ddp_header h;
        uint32_t payload;
        enum wire_error error;
        enum rdma_status status; /* RDMA_STATUS_OK: no receive is removed */
    } cases[] = {
        { { .opcode = RDMAP_SEND, .last = true, .msn = 1 },
          ROOM + 1,
          WIRE_DDP_UNTAGGED_TOO_LONG,
          RDMA_STATUS_TOO_LONG },
        { { .opcode = RDMAP_SEND, .last = true, .msn = 1, .mo = 4 }, 10, WIRE_DDP_UNTAGGED_MO, RDMA_STATUS_LOST },
        { { .opcode = RDMAP_SEND, .last = true, .msn = 2 }, 10, WIRE_DDP_UNTAGGED_MSN_RANGE, RDMA_STATUS_OK },
        { { .opcode = RDMAP_TERMINATE, .last = true, .msn = 1 }, 10, WIRE_RDMAP_OPCODE, RDMA_STATUS_OK },
        { { .opcode = RDMAP_SEND, .last = true, .queue = 3, .msn = 1 }, 10, WIRE_DDP_UNTAGGED_QN, RDMA_STATUS_OK },
    };
    static uint8_t fpdu[2 * ROOM], payload[2 * ROOM];

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct ddp_header h = cases[i / 2].h;
        bool crc = i & 1;
        struct terminate t;
        struct region dst;
        struct pump p;

        h.ddp_version = DDP_VERSION;
        h.rdmap_version = RDMAP_VERSION;
        pump_open(&p, &(struct pump_config){ .crc = crc, .seed = i, .shared = RECEIVES });
        region_open(&p, &dst, ROOM, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge to = one_sge(&dst);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(share(&p, k, &to, 1), 0);
        pump_inject(&p.b, fpdu, pump_fpdu(fpdu, crc, &h, payload, cases[i / 2].payload));
        for (int k = 0; k < 1000 && pump_receive(&p.b); k++)
            continue;
        assert_true(pump_terminate_sent(&p.b, crc, &t));
        assert_int_equal(t.error, cases[i / 2].error);
        if (cases[i / 2].status != RDMA_STATUS_OK)
            assert_completed(&p.b, 0, RDMA_OP_RECEIVE, 0, cases[i / 2].status);
        assert_int_equal(p.b.completions, cases[i / 2].status != RDMA_STATUS_OK);
        assert_queued(&p, cases[i / 2].status != RDMA_STATUS_OK ? 2 : 3);
        region_close(&dst);
        pump_close(&p);
    }
}

/* covers: SRQ-04, QPR-05 */
static void test_empty(void **state)
{
    struct terminate t;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i, .shared = RECEIVES });
        assert_int_equal(share(&p, 0, NULL, 0), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, NULL, 0, NULL), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, NULL, 0, NULL), 0);
        for (int k = 0; k < 1000; k++) {
            pump_send(&p.a);
            pump_receive(&p.b);
        }
        assert_int_equal(p.b.completions, 1);
        assert_completed(&p.b, 0, RDMA_OP_RECEIVE, 0, RDMA_STATUS_OK);
        assert_true(pump_terminate_sent(&p.b, i & 1, &t));
        assert_int_equal(t.error, WIRE_DDP_UNTAGGED_NO_BUFFER);
        pump_close(&p);
    }
}

static void message(struct pump *p)
{
    assert_int_equal(post(&p->a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 0, NULL, 0, NULL), 0);
    pump_run(p);
}

/* covers: SRQ-02, SRQ-03 */
static void test_threshold(void **state)
{
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .shared = RECEIVES, .threshold = 3 });
    assert_int_equal(p.low, 0); /* the count has not decreased */
    for (unsigned k = 0; k < 12; k++)
        assert_int_equal(share(&p, k, NULL, 0), 0);
    for (unsigned k = 0; k < 9; k++)
        message(&p);
    assert_int_equal(p.low, 0); /* 3 remain */
    message(&p);
    message(&p);
    assert_int_equal(p.low, 1); /* once */
    assert_int_equal(iw_srq_modify(p.srq, 0, 0), 0);
    assert_int_equal(p.low, 1);
    assert_int_equal(iw_srq_modify(p.srq, 0, 2), 0); /* 1 remains */
    assert_int_equal(p.low, 2);
    assert_int_equal(iw_srq_modify(p.srq, 0, 1), 0);
    assert_int_equal(iw_srq_modify(p.srq, RECEIVES, 0), 0); /* it stays armed */
    assert_int_equal(p.low, 2);
    message(&p);
    assert_int_equal(p.low, 3);
    for (unsigned k = 12; k < 16; k++)
        assert_int_equal(share(&p, k, NULL, 0), 0);
    assert_int_equal(iw_srq_modify(p.srq, 2, 9), EINVAL); /* changes neither */
    assert_int_equal(p.low, 3);
    for (unsigned k = 12; k < 16; k++)
        message(&p);
    for (unsigned k = 0; k < 16; k++)
        assert_completed(&p.b, k, RDMA_OP_RECEIVE, k, RDMA_STATUS_OK);
    pump_close(&p);
}

/* covers: SRQ-03 */
static void test_depth(void **state)
{
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .shared = 4 });
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(share(&p, k, NULL, 0), 0);
    for (unsigned k = 0; k < 3; k++)
        message(&p);
    for (unsigned k = 4; k < 7; k++)
        assert_int_equal(share(&p, k, NULL, 0), 0); /* the ring has wrapped around */
    assert_int_equal(share(&p, 99, NULL, 0), ENOSPC);
    assert_int_equal(iw_srq_modify(p.srq, 3, 0), EINVAL);
    assert_int_equal(iw_srq_modify(p.srq, 9, 0), 0);
    for (unsigned k = 7; k < 12; k++)
        assert_int_equal(share(&p, k, NULL, 0), 0);
    assert_int_equal(share(&p, 99, NULL, 0), ENOSPC);
    for (unsigned k = 3; k < 6; k++)
        message(&p);
    assert_int_equal(iw_srq_modify(p.srq, 6, 0), 0); /* exactly the number that is queued */
    assert_int_equal(share(&p, 99, NULL, 0), ENOSPC);
    for (unsigned k = 6; k < 12; k++)
        message(&p);
    for (unsigned k = 0; k < 12; k++)
        assert_completed(&p.b, k, RDMA_OP_RECEIVE, k, RDMA_STATUS_OK);
    pump_close(&p);
}

/* covers: QPR-18 */
static void test_posts(void **state)
{
    struct rdma_request wrong = { .op = RDMA_OP_SEND };
    struct rdma_sge sges[41] = { { 0 } };
    struct region writable, readable;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .shared = 4 });
    region_open(&p, &writable, 100, RDMA_ACCESS_LOCAL_WRITE);
    region_open(&p, &readable, 100, 0);
    struct rdma_sge sge = one_sge(&writable), foreign = one_sge(&readable);
    assert_int_equal(share(&p, 0, sges, 41), EINVAL);
    assert_int_equal(share(&p, 0, sges, 40), 0); /* all SGEs are empty */
    assert_int_equal(share(&p, 0, &sge, 1), 0);
    assert_int_equal(share(&p, 0, &foreign, 1), EFAULT);
    sge.length++;
    assert_int_equal(share(&p, 0, &sge, 1), EFAULT);
    sges[0].length = sges[1].length = UINT32_MAX;
    assert_int_equal(share(&p, 0, sges, 2), EINVAL);
    assert_int_equal(iw_srq_post(p.srq, &wrong), EINVAL);
    assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 0, NULL, 0, NULL), EINVAL); /* it has none of its own */
    assert_queued(&p, 2);
    region_close(&writable);
    region_close(&readable);
    pump_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_flush),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_empty), cmocka_unit_test(test_threshold), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_posts),
    };

    return cmocka_run_group_tests_name("srq", tests, NULL, NULL);
}
