/* SPDX-License-Identifier: MIT */
/*
 * Abstract: flush and stop at every moment. Each request that was posted before completes once, with the status given.
 * The stream continues if no message was half done; otherwise it ends with a Terminate behind whole FPDUs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/terminate.h"

/* No message is half done: the stream continues, and both sides' message numbers still agree. covers: QPR-16 */
static void test_flush_between(void **state)
{
    struct region data;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i });
        region_open(&p, &data, 5000, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ);
        struct rdma_sge sge = one_sge(&data);
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(post(&p.a, RDMA_OP_SEND, RDMA_FLAG_SILENT, 10 + k, &sge, 1, NULL), 0);
            assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 20 + k, &sge, 1, NULL), 0);
        }
        iw_qp_flush(p.a.qp, RDMA_STATUS_FLUSHED);
        iw_qp_flush(p.b.qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(p.a.completions, 3);
        assert_int_equal(p.b.completions, 3);
        for (unsigned k = 0; k < 3; k++) {
            assert_completed(&p.a, k, RDMA_OP_SEND, 10 + k, RDMA_STATUS_FLUSHED);
            assert_completed(&p.b, k, RDMA_OP_RECEIVE, 20 + k, RDMA_STATUS_FLUSHED);
        }
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, &sge, 1, NULL), 0);
        assert_int_equal(post(&p.a, RDMA_OP_READ, 0, 2, &sge, 1, &data), 0);
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 3, &sge, 1, NULL), 0);
        pump_run(&p);
        assert_completed(&p.a, 3, RDMA_OP_SEND, 1, RDMA_STATUS_OK);
        assert_completed(&p.a, 4, RDMA_OP_READ, 2, RDMA_STATUS_OK);
        assert_completed(&p.b, 3, RDMA_OP_RECEIVE, 3, RDMA_STATUS_OK);
        assert_int_equal(p.a.ends + p.b.ends, 0);
        region_close(&data);
        pump_close(&p);
    }
}

/* A flush at any moment: everything completes once and in order. covers: QPR-02 QPR-16 */
static void test_flush_anywhere(void **state)
{
    struct region src, dst;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i, .max_segment = i % 3 ? 1448 : 30000 });
        region_open(&p, &src, 30000, RDMA_ACCESS_REMOTE_READ);
        region_open(&p, &dst, 30000, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
        struct rdma_sge from = one_sge(&src), to = one_sge(&dst);
        for (unsigned k = 0; k < 12; k++) {
            enum rdma_op op = (enum rdma_op)pump_random(&p, 3);
            assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, k, &to, 1, NULL), 0);
            assert_int_equal(
                post(&p.a, op, 0, k, op == RDMA_OP_READ ? &to : &from, 1, op == RDMA_OP_READ ? &src : &dst), 0);
        }
        for (uint32_t k = pump_random(&p, 40); k > 0; k--) {
            pump_send(&p.a);
            pump_receive(&p.b);
            pump_send(&p.b);
            pump_receive(&p.a);
        }
        struct side *flushed = i & 2 ? &p.a : &p.b;
        unsigned before = flushed->completions;
        if (i & 4)
            iw_qp_stop(flushed->qp, RDMA_STATUS_FLUSHED);
        else
            iw_qp_flush(flushed->qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(flushed->completions, 12);
        for (unsigned k = 0; k < 12; k++) {
            assert_ptr_equal(flushed->completed[k].context, tag(k));
            assert_int_equal(flushed->completed[k].status, k < before ? RDMA_STATUS_OK : RDMA_STATUS_FLUSHED);
        }
        if (i & 4)
            assert_int_equal(flushed->ends, 0);
        /* The flushed side needs no region any more; what it still sends are whole FPDUs. */
        if (flushed == &p.a) {
            struct terminate t;
            p.whole = true;
            if (!(i & 4) && flushed->ends) {
                while (pump_receive(&p.b))
                    continue;
                pump_run(&p);
                assert_int_equal(p.b.ends, 1);
                assert_int_equal(p.b.why, IW_END_PEER_TERMINATE);
                assert_int_equal(p.b.error, WIRE_RDMAP_CATASTROPHIC);
                assert_false(pump_terminate_sent(&p.a, i & 1, &t));
                assert_true(iw_qp_tx_is_clean(p.a.qp));
            }
        }
        region_close(&src);
        region_close(&dst);
        pump_close(&p);
    }
}

/* A queue pair can start again after it was stopped at any moment. covers: CON-17 */
static void test_start_again(void **state)
{
    struct region data;
    struct pump p;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct iw_stream stream = { .crc = i & 1, .ird = 4, .ord = 4, .max_segment = 1448 };
        pump_open(&p, &(struct pump_config){ .crc = i & 1, .seed = i });
        region_open(&p, &data, 5000, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ);
        struct rdma_sge sge = one_sge(&data);
        for (unsigned round = 0; round < 3; round++) {
            p.a.completions = p.b.completions = 0;
            for (unsigned k = 0; k < 4; k++) {
                assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, k, &sge, 1, NULL), 0);
                assert_int_equal(post(&p.a, k & 1 ? RDMA_OP_SEND : RDMA_OP_READ, 0, k, &sge, 1, &data), 0);
            }
            if (round < 2) {
                for (uint32_t k = pump_random(&p, 30); k > 0; k--) {
                    pump_send(&p.a);
                    pump_receive(&p.b);
                    pump_send(&p.b);
                    pump_receive(&p.a);
                }
                iw_qp_stop(p.a.qp, RDMA_STATUS_LOST);
                iw_qp_stop(p.b.qp, RDMA_STATUS_LOST);
                assert_int_equal(p.a.completions, 4);
                assert_int_equal(p.b.completions, 4);
                assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, NULL, 0, NULL), ENOTCONN);
                p.a.in.from = p.a.in.to = p.b.in.from = p.b.in.to = 0;
                iw_qp_start(p.a.qp, &stream);
                iw_qp_start(p.b.qp, &stream);
            }
        }
        pump_run(&p);
        assert_int_equal(p.a.completions, 4);
        assert_int_equal(p.b.completions, 2);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(p.a.completed[k].status, RDMA_STATUS_OK);
        region_close(&data);
        pump_close(&p);
    }
}

/* A Terminate for a start-up error found after the reply: one whole FPDU, made without a queue pair. covers: WIR-02 */
static void test_terminate_from_above(void **state)
{
    static const enum wire_error errors[] = { WIRE_MPA_INSUFFICIENT_IRD, WIRE_MPA_NO_RTR };
    uint8_t fpdu[IW_TERMINATE_FPDU], sum[4];
    struct ddp_header h;
    struct terminate t;
    size_t size, header;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool crc = i & 1;

        size = iw_terminate_frame(crc, errors[i / 2], fpdu);
        size_t ulpdu = (size_t)fpdu[0] << 8 | fpdu[1];
        assert_int_equal(mpa_fpdu_size(ulpdu), size);
        memset(sum, 0, sizeof sum);
        if (crc)
            crc32c_final(crc32c_update(CRC32C_INIT, fpdu, size - sizeof sum), sum);
        assert_memory_equal(sum, fpdu + size - sizeof sum, sizeof sum);
        assert_true(ddp_header_decode(&h, fpdu + 2, ulpdu, &header));
        assert_false(h.tagged);
        assert_true(h.last);
        assert_int_equal(h.opcode, RDMAP_TERMINATE);
        assert_int_equal(h.queue, DDP_QUEUE_TERMINATE);
        assert_int_equal(h.msn, 1);
        assert_true(terminate_decode(&t, fpdu + 2 + header, ulpdu - header));
        assert_int_equal(t.error, errors[i / 2]);
        assert_false(t.has_header);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush_between),
        cmocka_unit_test(test_flush_anywhere),
        cmocka_unit_test(test_start_again),
        cmocka_unit_test(test_terminate_from_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
