/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the consumer changes an SGE list while the list is posted. The queue pair checks the list, then copies it
 * once. It refuses a copy whose length is not the checked one, and checks the copy's memory before each access.
 *
 * The change happens at a known place: the post writes or reads a protected page there, and the handler of the fault
 * changes the list.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "iwarp/pump.h"

enum { PAGE = 4096, LEN = 64, PIECE = LEN / 2, MARK = 0x5a };

static struct rdma_sge list[2], changed[2]; /* changed: what the handler writes to list */
static void *trap;                          /* the protected page */
static volatile sig_atomic_t faults;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if ((uintptr_t)info->si_addr - (uintptr_t)trap >= PAGE || faults++)
        _Exit(2);
    memcpy(list, changed, sizeof list);
    (void)mprotect(trap, PAGE, PROT_READ | PROT_WRITE);
}

/* Called inside a test, because cmocka installs handlers of its own before each test. */
static void protect(int protection)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

    faults = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    assert_int_equal(mprotect(trap, PAGE, protection), 0);
}

static int start(void **state)
{
    (void)state;
    trap = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(trap, MAP_FAILED);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(munmap(trap, PAGE), 0);
    return 0;
}

/* Sets both lists to the two halves of the region. */
static void set_halves(const struct region *r)
{
    for (int i = 0; i < 2; i++) {
        list[i] = one_sge(r);
        list[i].address += (uint64_t)i * PIECE;
        list[i].length = PIECE;
    }
    memcpy(changed, list, sizeof list);
}

/* Posts the list, which is changed when the post reports its length: after the check and before the copy. */
static int post_changing(struct iw_qp *qp, enum rdma_op op)
{
    struct rdma_request r = { .op = op, .context = tag(1), .sges = list, .sge_count = 2 };
    int result;

    protect(PROT_READ);
    result = iw_qp_post(qp, &r, trap);
    assert_int_equal(faults, 1);
    return result;
}

static uint32_t posted_count(struct iw_qp *qp)
{
    struct iw_qp_state s;

    iw_qp_get_state(qp, &s);
    return s.initiators + s.receives;
}

static void test_length_changes(void **state)
{
    static const uint32_t lengths[] = { 0, PIECE - 1, PIECE + 1, UINT32_MAX };
    struct region r;
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true });
    region_open(&p, &r, LEN, RDMA_ACCESS_LOCAL_WRITE);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        set_halves(&r);
        changed[1].length = lengths[i];
        assert_int_equal(post_changing(p.a.qp, RDMA_OP_SEND), EINVAL);
        assert_int_equal(posted_count(p.a.qp), 0);
        set_halves(&r);
        changed[1].length = lengths[i];
        assert_int_equal(post_changing(p.a.qp, RDMA_OP_RECEIVE), EINVAL);
        assert_int_equal(posted_count(p.a.qp), 0);
    }
    pump_run(&p);
    assert_int_equal(p.a.completions + p.b.completions, 0);
    region_close(&r);
    pump_close(&p);
}

/*
 * The changes that keep the length: the last SGE exceeds the region, or names memory or a region that does not exist.
 */
static void change(unsigned which)
{
    switch (which) {
    case 0:
        changed[0].length = 1;
        changed[1].length = LEN - 1;
        break;
    case 1:
        changed[1].address = (uintptr_t)trap;
        break;
    default:
        changed[1].token ^= 0x10;
        break;
    }
}
enum { CHANGES = 3 };

static void test_source_changes(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CHANGES; which++) {
        struct region from, to;
        struct rdma_sge there;
        struct pump p;

        pump_open(&p, &(struct pump_config){ .crc = true });
        region_open(&p, &from, LEN, RDMA_ACCESS_LOCAL_WRITE);
        region_open(&p, &to, LEN, RDMA_ACCESS_LOCAL_WRITE);
        memset(to.at, MARK, LEN);
        there = one_sge(&to);
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 2, &there, 1, NULL), 0);
        set_halves(&from);
        change(which);
        assert_int_equal(post_changing(p.a.qp, RDMA_OP_SEND), 0);
        pump_run(&p);
        assert_int_equal(p.a.completions, 1);
        assert_completed(&p.a, 0, RDMA_OP_SEND, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_int_equal(p.b.completions + p.b.ends, 0); /* nothing was sent */
        for (int i = 0; i < LEN; i++)
            assert_int_equal(to.at[i], MARK);
        region_close(&from);
        region_close(&to);
        pump_close(&p);
    }
}

static void test_sink_changes(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CHANGES; which++) {
        struct region from, to;
        struct rdma_sge here;
        struct pump p;

        pump_open(&p, &(struct pump_config){ .crc = true });
        region_open(&p, &from, LEN, RDMA_ACCESS_LOCAL_WRITE);
        region_open(&p, &to, LEN, RDMA_ACCESS_LOCAL_WRITE);
        memset(trap, MARK, PAGE);
        set_halves(&to);
        change(which);
        assert_int_equal(post_changing(p.b.qp, RDMA_OP_RECEIVE), 0);
        memset(trap, MARK, PAGE);
        here = one_sge(&from);
        assert_int_equal(post(&p.a, RDMA_OP_SEND, 0, 2, &here, 1, NULL), 0);
        pump_run(&p);
        assert_completed(&p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_LOCAL_ACCESS);
        assert_int_equal(p.b.ends, 1);
        for (int i = 0; i < PAGE; i++)
            assert_int_equal(((uint8_t *)trap)[i], MARK);
        region_close(&from);
        region_close(&to);
        pump_close(&p);
    }
}

/* The list changes while the data of the first SGE is copied, which is before the second SGE is read. */
static void test_inline_list_changes(void **state)
{
    static const uint32_t lengths[] = { 0, PIECE - 1, PIECE + 1, UINT32_MAX };
    struct rdma_request r = {
        .op = RDMA_OP_SEND, .flags = RDMA_FLAG_INLINE, .context = tag(1), .sges = list, .sge_count = 2
    };
    struct pump p;

    (void)state;
    pump_open(&p, &(struct pump_config){ .crc = true, .inline_size = LEN });
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        list[0] = (struct rdma_sge){ .address = (uintptr_t)trap, .length = PIECE };
        list[1] = (struct rdma_sge){ .address = (uintptr_t)trap + PIECE, .length = PIECE };
        memcpy(changed, list, sizeof list);
        changed[1].length = lengths[i];
        protect(PROT_NONE);
        assert_int_equal(iw_qp_post(p.a.qp, &r, NULL), EINVAL);
        assert_int_equal(faults, 1);
        assert_int_equal(posted_count(p.a.qp), 0);
    }
    pump_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_length_changes, start, stop),
        cmocka_unit_test_setup_teardown(test_source_changes, start, stop),
        cmocka_unit_test_setup_teardown(test_sink_changes, start, stop),
        cmocka_unit_test_setup_teardown(test_inline_list_changes, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
