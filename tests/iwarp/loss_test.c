/* SPDX-License-Identifier: MIT */
/*
 * Abstract: a message loses what it needs: the stream, its source or destination region, or the read that it would
 * answer.
 */
#include <errno.h>
#include <string.h>

#include "iwarp/registration.h"
#include "iwarp/stage.h"
#include "wire/mpa.h"

/* The end of the byte stream is the peer's notice between messages, and a loss anywhere else. */
static void test_eof(void **state)
{
    struct ddp_header open[3] = { UNTAGGED(RDMAP_SEND, false, 0, 1, 0), TAGGED(RDMAP_WRITE, false, 0, 0),
                                  UNTAGGED(RDMAP_SEND, true, 0, 1, 0) };
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        stage_open(&s, i & 1, i);
        unsigned kind = i / 2 % 4;
        if (kind == 1) {
            open[1].stag = s.target.stag;
            open[1].to = (uint64_t)(uintptr_t)s.target.at;
        }
        if (kind < 3)
            inject(&s, &open[kind], 8);
        if (kind == 2)
            s.p.b.in.to -= 1 + pump_random(&s.p, 30); /* inside the FPDU */
        receive_all(&s.p.b);
        iw_qp_rx_eof(s.p.b.qp);
        assert_int_equal(s.p.b.closes, kind == 3);
        assert_int_equal(s.p.b.ends, kind != 3);
        if (kind != 3) {
            assert_int_equal(s.p.b.why, IW_END_TRUNCATED);
            assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOST);
        } else {
            assert_int_equal(s.p.b.completions, 0);
            assert_int_equal(post(&s.p.b, RDMA_OP_SEND, 0, 1, NULL, 0, NULL), 0); /* b may still send */
        }
        stage_close(&s);
    }
}

/* A region is invalidated while data for it arrives: the next data ends the stream. covers: MEM-03 */
static void test_invalidated(void **state)
{
    static uint8_t fpdu[70000], payload[60000];
    struct region big;
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        stage_open(&s, i & 1, i);
        region_open(&s.p, &big, sizeof payload, RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_LOCAL_WRITE);
        struct ddp_header h = TAGGED(RDMAP_WRITE, true, big.stag, (uint64_t)(uintptr_t)big.at);
        memset(payload, 0x33, sizeof payload);
        pump_inject(&s.p.b, fpdu, pump_fpdu(fpdu, s.crc, &h, payload, sizeof payload));
        for (unsigned k = 0; k < i / 8 && s.p.b.in.to - s.p.b.in.from > 10; k++)
            pump_receive(&s.p.b);
        if (s.p.b.in.from < s.p.b.in.to) {
            static uint8_t before[sizeof payload];
            assert_true(mem_invalidate(big.mr, NULL, NULL));
            big.mr = NULL;
            memcpy(before, big.at, sizeof before);
            bool placed = s.p.b.in.to - s.p.b.in.from <= 4;
            receive_all(&s.p.b);
            assert_memory_equal(before, big.at, sizeof before);
            assert_true(placed || s.p.b.error == WIRE_DDP_TAGGED_STAG);
        }
        region_close(&big);
        stage_close(&s);
    }
}

static void on_done(void *context)
{
    ++*(unsigned *)context;
}

/*
 * Between want and done the transport has the addresses: the region is protected until done, and not longer.
 * covers: MEM-03
 */
static void test_invalidated_under_way(void **state)
{
    static uint8_t fpdu[20000], payload[10000];
    struct iovec iov[IW_MAX_IOV];
    struct region big;
    struct stage s;
    unsigned done = 0;

    (void)state;
    stage_open(&s, false, 1);
    s.p.whole = true;
    region_open(&s.p, &big, sizeof payload, RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_REMOTE_READ);
    struct ddp_header h = TAGGED(RDMAP_WRITE, true, big.stag, (uint64_t)(uintptr_t)big.at);
    size_t size = pump_fpdu(fpdu, false, &h, payload, sizeof payload);
    pump_inject(&s.p.b, fpdu, 100);
    pump_receive(&s.p.b);
    assert_int_equal(iw_qp_rx_want(s.p.b.qp, s.p.scratch, iov, IW_MAX_IOV), 2);
    assert_ptr_equal(iov[0].iov_base, big.at + 100 - 16);
    assert_int_equal(iov[0].iov_len, size - 100 - MPA_FPDU_CRC);
    assert_false(mem_invalidate(big.mr, on_done, &done));
    assert_int_equal(done, 0);
    iw_qp_rx_done(s.p.b.qp, s.p.scratch, 0);
    assert_int_equal(done, 1);
    assert_int_equal(iw_qp_rx_want(s.p.b.qp, s.p.scratch, iov, IW_MAX_IOV), 0);
    assert_terminated(&s, &s.p.b, WIRE_DDP_TAGGED_STAG, HEADERS_DDP, fpdu + 2, DDP_TAGGED_HEADER + sizeof payload);

    assert_int_equal(
        register_memory(s.p.memory, &s.p.domain, big.at, big.len, (uint64_t)(uintptr_t)big.at, 0, &big.mr, &big.stag),
        0);
    struct rdma_sge from = one_sge(&big);
    assert_int_equal(post(&s.p.a, RDMA_OP_WRITE, 0, 1, &from, 1, &s.target), 0);
    assert_true(iw_qp_tx_want(s.p.a.qp, s.p.scratch, iov, IW_MAX_IOV) > 0);
    assert_false(mem_invalidate(big.mr, on_done, &done));
    big.mr = NULL;
    assert_int_equal(done, 1);
    iw_qp_tx_done(s.p.a.qp, s.p.scratch, 100);
    assert_int_equal(done, 2);
    region_close(&big);
    stage_close(&s);
}

/* A Terminate about a write, or without a header, does not give the read before it a status of its own. */
static void test_lost_read(void **state)
{
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct region bad;
        stage_open(&s, true, i);
        s.p.whole = true;
        bad = s.target;
        bad.stag ^= 1;
        struct rdma_sge from = one_sge(&s.source);
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 1, NULL, 0, &s.source), 0);
        if (i == 0)
            assert_int_equal(post(&s.p.a, RDMA_OP_WRITE, 0, 2, &from, 1, &bad), 0);
        else
            assert_int_equal(post(&s.p.a, RDMA_OP_SEND, 0, 2, &from, 1, NULL), 0);
        while (pump_send(&s.p.a))
            continue;
        if (i == 0) {
            receive_all(&s.p.b);
        } else {
            struct ddp_header h = UNTAGGED(RDMAP_TERMINATE, true, 2, 1, 0);
            uint8_t fpdu[64];
            pump_inject(&s.p.a, fpdu, pump_fpdu(fpdu, true, &h, NULL, 0));
        }
        pump_run(&s.p);
        assert_completed(&s.p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_LOST);
        assert_int_equal(s.p.a.completions, 2);
        assert_int_equal(s.p.a.why, IW_END_PEER_TERMINATE);
        assert_int_equal(s.p.a.error, i == 0 ? WIRE_DDP_TAGGED_STAG : WIRE_RDMAP_CATASTROPHIC);
        stage_close(&s);
    }
}

/* The same for memory that this side's requests name. */
static void test_own_memory_invalidated(void **state)
{
    struct iovec iov[IW_MAX_IOV];
    struct region data, more;
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        /* Before the request is framed: only this request fails, and nothing of it is sent. */
        stage_open(&s, i & 1, i);
        region_open(&s.p, &data, 50, RDMA_ACCESS_LOCAL_WRITE);
        region_open(&s.p, &more, 50, 0);
        struct rdma_sge sges[2] = { one_sge(&more), one_sge(&data) };
        assert_int_equal(post(&s.p.a, RDMA_OP_SEND, 0, 1, sges, 2, NULL), 0);
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 2, &sges[1], 1, &s.source), 0);
        assert_int_equal(post(&s.p.a, RDMA_OP_SEND, 0, 3, sges, 1, NULL), 0);
        assert_true(mem_invalidate(data.mr, NULL, NULL));
        data.mr = NULL;
        pump_run(&s.p);
        assert_int_equal(s.p.a.completions, 3);
        assert_completed(&s.p.a, 0, RDMA_OP_SEND, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_completed(&s.p.a, 1, RDMA_OP_READ, 2, RDMA_STATUS_LOCAL_ACCESS);
        assert_int_equal(s.p.a.completed[0].error, WIRE_DDP_TAGGED_STAG);
        assert_int_equal(s.p.a.completed[1].error, WIRE_DDP_TAGGED_STAG);
        assert_completed(&s.p.a, 2, RDMA_OP_SEND, 3, RDMA_STATUS_OK);
        assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
        assert_int_equal(s.p.a.ends + s.p.b.ends, 0);
        region_close(&data);
        region_close(&more);
        stage_close(&s);

        /* In the middle: the message is torn, so the stream ends. */
        stage_open(&s, i & 1, i);
        region_open(&s.p, &data, 300000, 0);
        sges[0] = one_sge(&data);
        assert_int_equal(post(&s.p.a, RDMA_OP_WRITE, 0, 1, sges, 1, &s.target), 0);
        assert_true(iw_qp_tx_want(s.p.a.qp, s.p.scratch, iov, IW_MAX_IOV) > 0);
        iw_qp_tx_done(s.p.a.qp, s.p.scratch, 1000);
        assert_true(mem_invalidate(data.mr, NULL, NULL));
        data.mr = NULL;
        pump_send(&s.p.a);
        assert_completed(&s.p.a, 0, RDMA_OP_WRITE, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_int_equal(s.p.a.why, IW_END_LOCAL_REQUEST);
        region_close(&data);
        stage_close(&s);

        /* The region of a receive is invalid when the message arrives. */
        stage_open(&s, i & 1, i);
        struct ddp_header h = UNTAGGED(RDMAP_SEND, true, 0, 1, 0);
        uint8_t ulpdu[64];
        assert_true(mem_invalidate(s.receive.mr, NULL, NULL));
        s.receive.mr = NULL;
        inject(&s, &h, 10);
        receive_all(&s.p.b);
        ddp_header_encode(&h, ulpdu, sizeof ulpdu);
        assert_terminated(&s, &s.p.b, WIRE_DDP_CATASTROPHIC, HEADERS_DDP, ulpdu, 28);
        assert_int_equal(s.p.b.why, IW_END_LOCAL_REQUEST);
        assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_true(is_untouched(&s.receive));
        stage_close(&s);

        /* The source is invalidated between the request and the response. */
        stage_open(&s, i & 1, i);
        region_open(&s.p, &data, 10, RDMA_ACCESS_LOCAL_WRITE);
        sges[0] = one_sge(&data);
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 1, sges, 1, &s.source), 0);
        while (pump_send(&s.p.a))
            continue;
        receive_all(&s.p.b);
        assert_int_equal(s.p.b.ends, 0);
        assert_true(mem_invalidate(s.source.mr, NULL, NULL));
        s.source.mr = NULL;
        pump_run(&s.p);
        assert_int_equal(s.p.b.error, WIRE_RDMAP_INVALID_STAG);
        assert_completed(&s.p.a, 0, RDMA_OP_READ, 1, RDMA_STATUS_REMOTE_ACCESS);
        assert_true(is_untouched(&data));
        region_close(&data);
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eof),
        cmocka_unit_test(test_invalidated),
        cmocka_unit_test(test_invalidated_under_way),
        cmocka_unit_test(test_lost_read),
        cmocka_unit_test(test_own_memory_invalidated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
