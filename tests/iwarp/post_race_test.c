/* SPDX-License-Identifier: MIT */
/*
 * Abstract: threads post while the owner moves bytes, flushes, stops and starts again, and while a region is registered
 * and invalidated under the stream. Each post that succeeded completes once, in its thread's order. The thread
 * sanitizer checks as much as the assertions.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/memory.h"
#include "iwarp/qp.h"
#include "iwarp/registration.h"

enum { POSTERS = 3, POSTS = 20000 };

struct poster {
    struct race *race;
    enum rdma_op opcode;
    unsigned posted;              /* written by the poster's thread */
    unsigned completed, disorder; /* written by the owner */
};

struct race {
    struct mem_table *memory;
    struct iw_qp *a, *b;
    struct poster posters[POSTERS];
    struct rdma_sge sge;
    uint64_t transient_to;
    _Atomic uint32_t transient_stag;
    atomic_uint running;
    atomic_bool over;
    uint8_t data[256], unstable[256];
    char domain;
};

/* A context has the poster's index and its running number. */
static void *context_of(const struct poster *p, unsigned n)
{
    return (void *)(uintptr_t)((uintptr_t)(p - p->race->posters) << 32 | n);
}

static void on_complete(struct iw_qp *qp, struct rdma_completion *c, unsigned n)
{
    struct race *r = iw_qp_owner(qp);

    for (; n > 0; c++, n--) {
        struct poster *p = &r->posters[(uintptr_t)c->context >> 32];

        if (((uintptr_t)c->context & UINT32_MAX) != p->completed)
            p->disorder++;
        p->completed++;
    }
}

static void ignore(struct iw_qp *qp)
{
    (void)qp;
}

static void ignore_end(struct iw_qp *qp, enum iw_end why, enum wire_error error)
{
    (void)qp;
    (void)why;
    (void)error;
}

static const struct iw_qp_events events = {
    .complete = on_complete,
    .first_fpdu = ignore,
    .rtr_answered = ignore,
    .peer_closed = ignore,
    .ended = ignore_end,
};

/* Every other write names the transient region, or no region while it is invalidated. */
static int post_one(struct poster *p)
{
    struct race *r = p->race;
    bool unstable = p->opcode == RDMA_OP_WRITE && p->posted % 2;
    struct rdma_sge comings = {
        r->transient_to,
        sizeof r->unstable,
        atomic_load_explicit(&r->transient_stag, memory_order_relaxed),
    };
    struct rdma_request q = {
        .op = p->opcode,
        .context = context_of(p, p->posted),
        .sges = unstable ? &comings : &r->sge,
        .sge_count = 1,
        .remote_token = r->sge.token,
        .remote_address = r->sge.address,
    };
    struct iw_qp *qp = p->opcode == RDMA_OP_RECEIVE ? r->b : r->a;
    int result = iw_qp_post(qp, &q, NULL);

    if (result == EFAULT && unstable) {
        q.sge_count = 0;
        result = iw_qp_post(qp, &q, NULL);
    }
    return result;
}

static void *post_all(void *argument)
{
    struct poster *p = argument;

    for (unsigned tries = 0; p->posted < POSTS && tries < 40000000; tries++) {
        if (post_one(p) == 0)
            p->posted++;
        else
            sched_yield();
    }
    atomic_fetch_sub(&p->race->running, 1);
    return NULL;
}

static void on_done(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

/* Registers the region, publishes and invalidates it, and writes to its memory when that is released. */
static void *churn_region(void *argument)
{
    struct race *r = argument;

    while (!atomic_load(&r->over)) {
        atomic_bool done = false;
        struct mem_region *mr;
        uint32_t stag;
        if (register_memory(r->memory, &r->domain, r->unstable, sizeof r->unstable, r->transient_to, 7, &mr, &stag))
            break;
        atomic_store_explicit(&r->transient_stag, stag, memory_order_relaxed);
        for (int i = 0; i < 50; i++)
            sched_yield();
        if (!mem_invalidate(mr, on_done, &done))
            while (!atomic_load(&done))
                sched_yield();
        memset(r->unstable, 1, sizeof r->unstable);
    }
    return NULL;
}

static void carry(struct iw_qp *from, struct iw_qp *to, struct iw_scratch *s)
{
    static uint8_t bytes[1 << 20];
    struct iovec iov[IW_MAX_IOV];
    size_t len = 0, at = 0;
    int n = iw_qp_tx_want(from, s, iov, IW_MAX_IOV);

    for (int i = 0; i < n; i++) {
        memcpy(bytes + len, iov[i].iov_base, iov[i].iov_len);
        len += iov[i].iov_len;
    }
    iw_qp_tx_done(from, s, len);
    while (at < len) {
        size_t got = 0;
        n = iw_qp_rx_want(to, s, iov, IW_MAX_IOV);
        if (n == 0)
            return;
        for (int i = 0; i < n && at < len; i++) {
            size_t part = iov[i].iov_len < len - at ? iov[i].iov_len : len - at;
            memcpy(iov[i].iov_base, bytes + at, part);
            at += part;
            got += part;
        }
        iw_qp_rx_done(to, s, got);
    }
}

static struct iw_qp *open_qp(struct race *r)
{
    struct iw_qp_config c = {
        .receive_depth = 32,
        .initiator_depth = 32,
        .receive_sges = 1,
        .initiator_sges = 1,
        .max_ird = 4,
        .max_ord = 4,
        .memory = r->memory,
        .domain = &r->domain,
        .events = &events,
        .owner = r,
    };
    return iw_qp_create(&c);
}

static void own(struct race *r, struct iw_scratch *s)
{
    struct iw_stream stream = { .crc = true, .ird = 4, .ord = 4, .max_segment = 1448 };

    iw_qp_start(r->a, &stream);
    iw_qp_start(r->b, &stream);
    for (unsigned turn = 1; atomic_load(&r->running) > 0; turn++) {
        carry(r->a, r->b, s);
        carry(r->b, r->a, s);
        if (turn % 50 == 0)
            iw_qp_flush(turn % 100 ? r->a : r->b, RDMA_STATUS_FLUSHED);
        if (turn % 97 == 0) {
            iw_qp_stop(r->a, RDMA_STATUS_FLUSHED);
            iw_qp_stop(r->b, RDMA_STATUS_FLUSHED);
            iw_qp_start(r->a, &stream);
            iw_qp_start(r->b, &stream);
        }
    }
    iw_qp_stop(r->a, RDMA_STATUS_FLUSHED);
    iw_qp_stop(r->b, RDMA_STATUS_FLUSHED);
}

/* covers: QPR-02 QPR-16 QPR-17 MEM-03 */
static void test_race(void **state)
{
    static const enum rdma_op opcodes[POSTERS] = { RDMA_OP_RECEIVE, RDMA_OP_WRITE, RDMA_OP_READ };
    struct race *r = calloc(1, sizeof *r);
    struct iw_scratch *s = iw_scratch_create();
    pthread_t threads[POSTERS], region;
    struct mem_region *mr;

    (void)state;
    assert_non_null(r);
    r->memory = mem_table_create(1);
    r->sge = (struct rdma_sge){ (uint64_t)(uintptr_t)r->data, sizeof r->data, 0 };
    r->transient_to = (uint64_t)(uintptr_t)r->unstable;
    assert_int_equal(
        register_memory(r->memory, &r->domain, r->data, sizeof r->data, r->sge.address, 7, &mr, &r->sge.token), 0);
    r->a = open_qp(r);
    r->b = open_qp(r);
    atomic_store(&r->running, POSTERS);
    assert_int_equal(pthread_create(&region, NULL, churn_region, r), 0);
    for (int i = 0; i < POSTERS; i++) {
        r->posters[i] = (struct poster){ .race = r, .opcode = opcodes[i] };
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &r->posters[i]), 0);
    }
    own(r, s);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&r->over, true);
    pthread_join(region, NULL);
    for (int i = 0; i < POSTERS; i++) {
        assert_int_equal(r->posters[i].posted, POSTS);
        assert_int_equal(r->posters[i].completed, POSTS);
        assert_int_equal(r->posters[i].disorder, 0);
    }
    assert_true(mem_invalidate(mr, NULL, NULL));
    iw_qp_destroy(r->a);
    iw_qp_destroy(r->b);
    mem_table_destroy(r->memory);
    iw_scratch_destroy(s);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_race) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
