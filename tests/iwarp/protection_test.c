/* SPDX-License-Identifier: MIT */
/*
 * Abstract: many small messages in one batch, from or to alternating regions. The region of the last message stays
 * protected for the next one. The cache must distinguish regions with equal addresses and different rights to one
 * region, and its protection must end with the batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "iwarp/qp_internal.h"
#include "iwarp/registration.h"
#include "wire/mpa.h"

enum {
    ROOM = 256,
    SIZE = 16,
    MESSAGES = 12,
    BASE = 0x7000,
    ALL = RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE,
};

/* A region that is addressed from BASE on, like all others. */
struct alike {
    uint8_t memory[ROOM];
    struct mem_region *mr;
    uint32_t stag;
};

static void alike_open(struct pump *p, struct alike *r, unsigned access, int first)
{
    for (int i = 0; i < ROOM; i++)
        r->memory[i] = (uint8_t)(first + i);
    assert_int_equal(register_memory(p->memory, &p->domain, r->memory, ROOM, BASE, access, &r->mr, &r->stag), 0);
}

static void alike_close(struct alike *r)
{
    assert_true(mem_invalidate(r->mr, NULL, NULL)); /* it is not protected any more */
}

static struct rdma_sge at(const struct alike *r, unsigned n)
{
    return (struct rdma_sge){ .address = BASE + n * SIZE, .length = SIZE, .token = r->stag };
}

/* Sends each message from one of two regions to one of two others, as the bits of the orders select. */
static void send_alternately(struct pump *p, enum rdma_op op, unsigned from_order, unsigned to_order)
{
    struct alike from[2], to[2];

    for (int i = 0; i < 2; i++) {
        alike_open(p, &from[i], ALL, 1 + 100 * i);
        alike_open(p, &to[i], ALL, 0);
        memset(to[i].memory, 0xee, ROOM);
    }
    for (unsigned n = 0; n < MESSAGES; n++) {
        const struct alike *f = &from[from_order >> n & 1], *t = &to[to_order >> n & 1];
        struct region remote = { .at = (uint8_t *)(uintptr_t)(BASE + n * SIZE),
                                 .len = SIZE,
                                 .stag = op == RDMA_OP_READ ? f->stag : t->stag };
        struct rdma_sge there = at(t, n), here = op == RDMA_OP_READ ? there : at(f, n);

        if (op == RDMA_OP_SEND)
            assert_int_equal(post(&p->b, RDMA_OP_RECEIVE, 0, n, &there, 1, NULL), 0);
        assert_int_equal(post(&p->a, op, 0, n, &here, 1, op == RDMA_OP_SEND ? NULL : &remote), 0);
    }
    pump_run(p);
    assert_int_equal(p->a.completions, MESSAGES);
    assert_int_equal(p->a.ends + p->b.ends, 0);
    for (unsigned n = 0; n < MESSAGES; n++) {
        const struct alike *f = &from[from_order >> n & 1];

        assert_completed(&p->a, n, op, n, RDMA_STATUS_OK);
        for (unsigned side = 0; side < 2; side++) {
            for (unsigned i = n * SIZE; i < (n + 1) * SIZE; i++)
                assert_int_equal(to[side].memory[i], side == (to_order >> n & 1) ? f->memory[i] : 0xee);
        }
    }
    for (int i = 0; i < 2; i++) {
        alike_close(&from[i]);
        alike_close(&to[i]);
    }
}

/* covers: MEM-04 */
static void test_regions_alike(void **state)
{
    static const enum rdma_op ops[] = { RDMA_OP_SEND, RDMA_OP_WRITE, RDMA_OP_READ };
    static struct pump p;

    (void)state;
    for (unsigned i = 0; i < 96; i++) {
        struct pump_config c = { .crc = i & 1, .whole = i & 2, .seed = i, .ord = 16, .ird = 16 };

        pump_open(&p, &c);
        send_alternately(&p, ops[i % 3], i * 0x9e3779b9u >> 20, i * 0x85ebca6bu >> 20);
        pump_close(&p);
    }
}

/*
 * A receive's memory stays forbidden to the peer's writes, though the previous message was placed there.
 * covers: MEM-02
 */
static void test_different_rights(void **state)
{
    static struct pump p;

    (void)state;
    for (int crc = 0; crc < 2; crc++) {
        struct pump_config c = { .crc = crc, .whole = true, .seed = 1 };
        struct ddp_header message = { .opcode = RDMAP_SEND, .last = true, .msn = 1 };
        struct ddp_header write = { .tagged = true, .opcode = RDMAP_WRITE, .last = true, .to = BASE + SIZE };
        uint8_t fpdus[200], payload[SIZE];
        struct terminate t;
        struct alike r;
        size_t len;

        pump_open(&p, &c);
        alike_open(&p, &r, RDMA_ACCESS_LOCAL_WRITE, 0);
        struct rdma_sge into = at(&r, 0);
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        memset(payload, 0x77, sizeof payload);
        write.stag = r.stag;
        len = pump_fpdu(fpdus, crc, &message, payload, SIZE);
        len += pump_fpdu(fpdus + len, crc, &write, payload, SIZE);
        pump_inject(&p.b, fpdus, len);
        pump_receive(&p.b);
        assert_completed(&p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
        assert_memory_equal(r.memory, payload, SIZE);
        assert_int_equal(r.memory[SIZE], SIZE);
        assert_int_equal(p.b.ends, 1);
        assert_int_equal(p.b.error, WIRE_RDMAP_ACCESS);
        assert_true(pump_terminate_sent(&p.b, crc, &t));
        alike_close(&r);
        pump_close(&p);
    }
}

static void on_done(void *context)
{
    ++*(unsigned *)context;
}

/* Copied messages: the last one's region is protected until done, the earlier ones' are not. covers: MEM-03 */
static void test_ends_with_the_batch(void **state)
{
    struct pump_config c = { .crc = true, .whole = true, .seed = 1 };
    struct iovec iov[IW_MAX_IOV];
    static struct pump p;
    struct alike r[2];
    unsigned done = 0;
    size_t len;

    (void)state;
    pump_open(&p, &c);
    for (unsigned i = 0; i < 2; i++) {
        struct rdma_sge from;

        alike_open(&p, &r[i], RDMA_ACCESS_LOCAL_READ, 0);
        from = at(&r[i], 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, i, &from, 1, NULL), 0);
    }
    assert_int_equal(iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV), 1);
    len = iov[0].iov_len;
    alike_close(&r[0]);
    assert_false(mem_invalidate(r[1].mr, on_done, &done));
    assert_int_equal(done, 0);
    iw_qp_tx_done(p.a.qp, p.scratch, len);
    assert_int_equal(done, 1);
    assert_int_equal(p.a.completions, 2);
    pump_close(&p);
}

/* Payload that is listed, not copied, stays protected while another region is looked up behind it. covers: MEM-03 */
static void test_listed_lasts(void **state)
{
    enum { LARGE = 4096 };
    static uint8_t memory[2][LARGE];
    struct pump_config c = { .whole = true, .seed = 1 };
    struct mem_region *mr[2];
    struct iovec iov[IW_MAX_IOV];
    static struct pump p;
    unsigned done[2] = { 0, 0 };
    size_t len = 0;

    (void)state;
    pump_open(&p, &c);
    for (unsigned i = 0; i < 2; i++) {
        struct rdma_sge from = { .address = BASE, .length = 1000 };

        assert_int_equal(
            register_memory(p.memory, &p.domain, memory[i], LARGE, BASE, RDMA_ACCESS_LOCAL_READ, &mr[i], &from.token),
            0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, i, &from, 1, NULL), 0);
    }
    int n = iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV);
    for (int i = 0; i < n; i++)
        len += iov[i].iov_len;
    assert_true(len > 2000);
    for (unsigned i = 0; i < 2; i++)
        assert_false(mem_invalidate(mr[i], on_done, &done[i]));
    assert_int_equal(done[0] + done[1], 0);
    iw_qp_tx_done(p.a.qp, p.scratch, len);
    assert_int_equal(done[0], 1);
    assert_int_equal(done[1], 1);
    pump_close(&p);
}

/* Pieces of several regions are protected at the same time. covers: MEM-03 */
static void test_pieces_last(void **state)
{
    struct pump_config c = { .whole = true, .seed = 1 };
    static struct pump p;
    struct alike r[2];
    struct rdma_sge into[2];
    unsigned done = 0;

    (void)state;
    pump_open(&p, &c);
    struct pieces *pieces = &p.scratch->pieces;
    for (unsigned i = 0; i < 2; i++) {
        alike_open(&p, &r[i], ALL, 0);
        into[i] = at(&r[i], 0);
    }
    assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 1, into, 2, NULL), 0);
    pieces_set_caching(pieces, true);
    assert_int_equal(
        pieces_add_entry(p.b.qp, pieces, queue_at(&p.b.qp->rq, 0), 0, 2 * SIZE, RDMA_ACCESS_LOCAL_WRITE, IW_MAX_IOV),
        WIRE_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_false(mem_invalidate(r[i].mr, on_done, &done));
    assert_int_equal(done, 0);
    pieces_release(pieces);
    pieces_set_caching(pieces, false);
    assert_int_equal(done, 2);
    pump_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_alike),       cmocka_unit_test(test_different_rights),
        cmocka_unit_test(test_ends_with_the_batch), cmocka_unit_test(test_listed_lasts),
        cmocka_unit_test(test_pieces_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
