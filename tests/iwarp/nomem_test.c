/* SPDX-License-Identifier: MIT */
/*
 * Abstract: out of memory. Creation fails and leaks nothing. Sending continues in small FPDUs. Receiving ends the
 * stream.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "wire/mpa.h"

/*
 * Allocations that succeed before the rest fail; negative: all succeed. The linker replaces the real functions by
 * these.
 */
static int until_none = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool refused(void)
{
    if (until_none < 0)
        return false;
    if (until_none == 0)
        return true;
    until_none--;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(alignment, size);
}

static void test_create(void **state)
{
    static const struct iw_qp_events none;
    struct iw_qp_config c = {
        .receive_depth = 4, .initiator_depth = 4, .receive_sges = 2, .initiator_sges = 2, .events = &none
    };
    struct iw_scratch *s = NULL;
    struct iw_qp *qp = NULL;
    int n;

    (void)state;
    for (n = 0; n < 20 && !s; n++) {
        until_none = n;
        s = iw_scratch_create();
    }
    assert_int_equal(n, 5); /* four allocations */
    for (n = 0; n < 20 && !qp; n++) {
        until_none = n;
        qp = iw_qp_create(&c);
    }
    until_none = -1;
    assert_int_equal(n, 2); /* one allocation */
    iw_qp_destroy(qp);
    iw_scratch_destroy(s);
}

/* The first queue pair has the only spare buffer when the second has a half-sent FPDU. */
static void test_send(void **state)
{
    struct iovec iov[IW_MAX_IOV];
    struct region data, to;
    struct pump p;

    (void)state;
    for (unsigned crc = 0; crc < 2; crc++) {
        pump_open(&p, &(struct pump_config){ .crc = crc, .max_segment = 30000 });
        region_open(&p, &data, 100000, 0);
        region_open(&p, &to, 100000, RDMA_ACCESS_LOCAL_WRITE);
        fill(&data, 1);
        struct rdma_sge from = one_sge(&data), into = one_sge(&to);
        assert_int_equal(post(&p.a, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 1, &from, 1, NULL), 0);
        assert_int_equal(post(&p.b, RDMA_OP_SEND, 0, 2, &from, 1, NULL), 0);
        assert_true(iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV) > 0);
        until_none = 0;
        iw_qp_tx_done(p.a.qp, p.scratch, 100); /* uses the buffer */
        p.whole = true;
        for (unsigned i = 0; i < 2000 && iw_qp_tx_want(p.b.qp, p.scratch, iov, IW_MAX_IOV) > 0; i++) {
            iw_qp_tx_done(p.b.qp, p.scratch, 0);
            p.whole = crc; /* without CRC the receiver needs no buffer, however the bytes are split */
            pump_send(&p.b);
            pump_receive(&p.a);
        }
        while (pump_receive(&p.a))
            continue;
        until_none = -1;
        assert_completed(&p.b, 0, RDMA_OP_SEND, 2, RDMA_STATUS_OK);
        assert_completed(&p.a, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
        assert_memory_equal(to.at, data.at, 100000);
        region_close(&data);
        region_close(&to);
        pump_close(&p);
    }
}

static void test_receive(void **state)
{
    static uint8_t fpdu[40000], payload[30000];
    struct ddp_header h = { .last = true, .opcode = RDMAP_SEND, .msn = 1 };
    struct iovec iov[IW_MAX_IOV];
    struct region to;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .whole = true });
    region_open(&p, &to, sizeof payload, RDMA_ACCESS_LOCAL_WRITE);
    struct rdma_sge into = one_sge(&to);
    assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
    pump_fpdu(fpdu, true, &h, payload, sizeof payload);
    pump_inject(&p.b, fpdu, 1000);
    assert_int_equal(post(&p.a, RDMA_OP_WRITE, 0, 1, &into, 1, &to), 0);
    assert_true(iw_qp_tx_want(p.a.qp, p.scratch, iov, IW_MAX_IOV) > 0);
    until_none = 0;
    iw_qp_tx_done(p.a.qp, p.scratch, 100); /* uses the buffer */
    pump_receive(&p.b);
    until_none = -1;
    assert_int_equal(p.b.ends, 1);
    assert_int_equal(p.b.error, WIRE_MPA_LOCAL_CATASTROPHIC);
    assert_completed(&p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOST);
    region_close(&to);
    pump_close(&p);
}

/* Queued receives stay, at the same depth. */
static void test_shared_queue(void **state)
{
    struct iw_srq_config c = { .depth = 2, .sges = 1 };
    struct rdma_request r = { .op = RDMA_OP_RECEIVE };
    struct iw_srq *srq = NULL;
    int n;

    (void)state;
    for (n = 0; n < 20 && !srq; n++) {
        until_none = n;
        srq = iw_srq_create(&c);
    }
    assert_int_equal(n, 3); /* two allocations */
    until_none = 0;
    assert_int_equal(iw_srq_post(srq, &r), 0);
    assert_int_equal(iw_srq_modify(srq, 3, 0), ENOMEM);
    assert_int_equal(iw_srq_post(srq, &r), 0);
    assert_int_equal(iw_srq_post(srq, &r), ENOSPC);
    assert_int_equal(iw_srq_modify(srq, 0, 1), 0); /* needs no memory */
    until_none = -1;
    assert_int_equal(iw_srq_modify(srq, 3, 0), 0);
    assert_int_equal(iw_srq_post(srq, &r), 0);
    iw_srq_destroy(srq);
}

/* A registration that fails leaves no trace: the group is empty and names no STag. */
static void test_memory(void **state)
{
    static const int domain;
    struct mem_table *t = mem_table_create(1);
    uint8_t *memory = aligned_alloc(MEM_PAGE, 3 * MEM_PAGE);
    struct mem_region *mapping;
    struct mem_group g;
    uint64_t logical[2];
    uint32_t stag;

    (void)state;
    assert_true(t && memory);
    mem_group_init(&g);
    until_none = 0;
    assert_int_equal(mem_map(t, memory, 3 * MEM_PAGE, &mapping, &logical[0]), ENOMEM);
    until_none = -1;
    assert_int_equal(mem_map(t, memory, 3 * MEM_PAGE, &mapping, &logical[0]), 0);
    logical[1] = logical[0] + 2 * MEM_PAGE;
    struct rdma_pages p = { .logical = logical, .count = 2, .len = 2 * MEM_PAGE };
    until_none = 0;
    assert_int_equal(mem_prepare_pages(t, &g, &domain, &p, &stag), ENOMEM);
    assert_int_equal(mem_group_current_stag(&g), 0);
    until_none = -1;
    assert_int_equal(mem_prepare_pages(t, &g, &domain, &p, &stag), 0);
    mem_discard(t, &domain, stag);
    assert_true(mem_group_close(&g, NULL, NULL));
    mem_unmap(mapping);
    mem_table_destroy(t); /* asserts that every region is freed */
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create), cmocka_unit_test(test_shared_queue), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_send),   cmocka_unit_test(test_receive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
