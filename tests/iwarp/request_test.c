/* SPDX-License-Identifier: MIT */
/*
 * Abstract: requests that make and end registrations: fast register, bind, invalidate, send with invalidate, read with
 * local invalidate, and SGEs with the privileged token. In order, fenced, flushed at every moment, over a transport that
 * takes what a seed says, with checksums and without; and everything that a peer has no right to end.
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
#include "wire/terminate.h"

enum {
    PAGES = 10,
    LEN = PAGES * MEM_PAGE,
    REMOTE = MEM_LOCAL_WRITE | MEM_REMOTE_READ | MEM_REMOTE_WRITE,
    SEEDS = 24,
};

static const uint64_t base = 0x1234567890000u;

/* Side a owns memory that is registered by requests, with its pages in reverse; side b an ordinary region. */
struct desk {
    struct pump p;
    bool crc;
    uint8_t *memory;
    struct mem_region *mapping;
    uint64_t logical[PAGES];
    struct mem_group group, windows;
    struct region far;
    char other_domain;
};

static void desk_open_with(struct desk *d, const struct pump_config *c)
{
    pump_open(&d->p, c);
    d->crc = c->crc;
    d->memory = aligned_alloc(MEM_PAGE, LEN);
    assert_non_null(d->memory);
    for (uint32_t i = 0; i < LEN; i++)
        d->memory[i] = (uint8_t)(i * 2654435761u >> 13);
    mem_group_init(&d->group);
    mem_group_init(&d->windows);
    uint64_t first;
    assert_int_equal(mem_map(d->p.memory, d->memory, LEN, &d->mapping, &first), 0);
    for (int i = 0; i < PAGES; i++)
        d->logical[i] = first + (uint64_t)(PAGES - 1 - i) * MEM_PAGE;
    region_open(&d->p, &d->far, LEN, REMOTE);
}

static void desk_open(struct desk *d, uint64_t seed)
{
    desk_open_with(d, &(struct pump_config){
        .crc = seed & 1, .seed = seed, .whole = seed < 2, .max_segment = seed % 3 ? 1448 : 30000,
    });
}

static void desk_close(struct desk *d)
{
    iw_qp_stop(d->p.a.qp, IW_FLUSHED);
    iw_qp_stop(d->p.b.qp, IW_FLUSHED);
    mem_group_kill(&d->windows);
    mem_group_kill(&d->group);
    assert_true(mem_group_close(&d->windows, NULL, NULL)); /* nothing is protected or forgotten */
    assert_true(mem_group_close(&d->group, NULL, NULL));
    region_close(&d->far);
    mem_unmap(d->mapping);
    free(d->memory);
    pump_close(&d->p);
}

/* Octet `at` of the registered range. */
static uint8_t *octet(const struct desk *d, uint64_t at)
{
    return d->memory + (PAGES - 1 - at / MEM_PAGE) * MEM_PAGE + at % MEM_PAGE;
}

static uint32_t prepare(struct desk *d, unsigned access)
{
    struct mem_pages p = { .logical = d->logical, .count = PAGES, .len = LEN, .base_to = base, .access = access };
    uint32_t stag;

    assert_int_equal(mem_prepare_pages(d->p.memory, &d->group, &d->p.domain, &p, &stag), 0);
    return stag;
}

static uint32_t prepare_window(struct desk *d, uint32_t of, uint64_t at, uint64_t len, unsigned access)
{
    uint32_t stag;

    assert_int_equal(mem_prepare_window(d->p.memory, &d->windows, &d->p.domain, of, base + at, len, access, &stag), 0);
    return stag;
}

static uint32_t make_alive(struct desk *d, unsigned access)
{
    uint32_t stag = prepare(d, access);

    assert_true(mem_activate(d->p.memory, &d->p.domain, stag, 0));
    return stag;
}

static bool alive(struct desk *d, uint32_t stag, uint64_t at)
{
    struct mem_ref ref;
    bool found = mem_lookup(d->p.memory, &d->p.domain, stag, base + at, 1, 0, &ref) == WIRE_OK;

    mem_release(&ref);
    return found;
}

static bool known(struct desk *d, uint32_t stag)
{
    return mem_check(d->p.memory, &d->p.domain, stag, base, 1, 0) == WIRE_OK;
}

static int local(struct side *s, enum iw_opcode op, unsigned flags, unsigned context, uint32_t stag, uint32_t replaces)
{
    struct iw_request r = { .opcode = op, .flags = flags, .context = tag(context), .stag = stag, .replaces = replaces };

    return iw_qp_post(s->qp, &r);
}

static struct iw_sge part(uint32_t stag, uint64_t at, uint32_t len)
{
    return (struct iw_sge){ base + at, len, stag };
}

static int send_invalidate(struct side *s, unsigned flags, unsigned context, const struct iw_sge *sges, uint32_t count,
                           uint32_t stag)
{
    struct region named = { .stag = stag };

    return post(s, IW_SEND, flags | IW_SEND_INVALIDATE, context, sges, count, &named);
}

/* ---- in order ---- */

/* Registered, used and ended, over and over in one queue: each sees what was before it. covers: QPR-02 INV-03 INV-09 */
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
            struct iw_sge to = { (uint64_t)(uintptr_t)d.far.at + k * SIZE, SIZE, d.far.stag };
            stags[k] = prepare(&d, REMOTE);
            struct iw_sge from = part(stags[k], k * SIZE, SIZE);
            assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, k, &to, 1, NULL), 0);
            assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, 0, n++, stags[k], 0), 0);
            assert_int_equal(post(&d.p.a, IW_SEND, 0, n++, &from, 1, NULL), 0);
            assert_int_equal(local(&d.p.a, IW_INVALIDATE, 0, n++, stags[k], 0), 0);
        }
        pump_run(&d.p);
        assert_int_equal(d.p.a.completions, n);
        for (unsigned k = 0; k < TIMES; k++) {
            assert_completed(&d.p.a, 3 * k, IW_FAST_REGISTER, 3 * k, IW_OK);
            assert_completed(&d.p.a, 3 * k + 1, IW_SEND, 3 * k + 1, IW_OK);
            assert_completed(&d.p.a, 3 * k + 2, IW_INVALIDATE, 3 * k + 2, IW_OK);
            assert_completed(&d.p.b, k, IW_RECEIVE, k, IW_OK);
            assert_false(d.p.b.completed[k].invalidated);
            assert_false(known(&d, stags[k]));
        }
        for (uint32_t i = 0; i < TIMES * SIZE; i++)
            assert_int_equal(d.far.at[i], *octet(&d, i));
        assert_true(iw_qp_initiator_idle(d.p.a.qp));
        /* What cannot be carried out says so, and the stream goes on. */
        assert_int_equal(local(&d.p.a, IW_INVALIDATE, IW_SILENT, n, stags[0], 0), 0);
        assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, 0, n + 1, stags[1], 0), 0);
        assert_int_equal(local(&d.p.a, IW_INVALIDATE, 0, n + 2, d.far.stag, 0), 0);
        assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, 50, NULL, 0, NULL), 0);
        assert_int_equal(post(&d.p.a, IW_SEND, 0, 50, NULL, 0, NULL), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, n, IW_INVALIDATE, n, IW_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 1, IW_FAST_REGISTER, n + 1, IW_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 2, IW_INVALIDATE, n + 2, IW_LOCAL_ACCESS);
        assert_completed(&d.p.a, n + 3, IW_SEND, 50, IW_OK);
        assert_completed(&d.p.b, TIMES, IW_RECEIVE, 50, IW_OK);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
        desk_close(&d);
    }
}

/* Each registration takes the last one's place: what was sent from that had left by then. covers: INV-09 */
static void test_replaces(void **state)
{
    enum { TIMES = 10, SIZE = 3000 };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t last = 0, stag;

        desk_open(&d, seed);
        for (unsigned k = 0; k < TIMES; k++, last = stag) {
            struct iw_sge to = { (uint64_t)(uintptr_t)d.far.at + k * SIZE, SIZE, d.far.stag };
            stag = prepare(&d, REMOTE);
            struct iw_sge from = part(stag, k * SIZE, SIZE);
            assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, k, &to, 1, NULL), 0);
            assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, IW_SILENT, k, stag, last), 0);
            assert_int_equal(post(&d.p.a, IW_SEND, 0, k, &from, 1, NULL), 0);
            if (k > 0 && k % 3 == 0) { /* the last one has had its turn, and is dead */
                from = part(last, 0, 1);
                assert_int_equal(post(&d.p.a, IW_SEND, 0, 100 + k, &from, 1, NULL), 0);
            }
        }
        pump_run(&d.p);
        for (unsigned k = 0, at = 0; k < TIMES; k++) {
            assert_completed(&d.p.a, at++, IW_SEND, k, IW_OK);
            if (k > 0 && k % 3 == 0)
                assert_completed(&d.p.a, at++, IW_SEND, 100 + k, IW_LOCAL_ACCESS);
        }
        for (uint32_t i = 0; i < TIMES * SIZE; i++)
            assert_int_equal(d.far.at[i], *octet(&d, i));
        assert_true(alive(&d, last, 0));
        desk_close(&d);
    }
}

/* A window: the peer gets at its part alone, and at nothing when the region has ended. covers: INV-08 */
static void test_bind(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        uint32_t stag = prepare(&d, MEM_LOCAL_WRITE);
        uint32_t window = prepare_window(&d, stag, 100, 5000, MEM_REMOTE_WRITE);
        struct iw_sge from = { (uint64_t)(uintptr_t)d.far.at, 5000, d.far.stag };
        struct region to = { .stag = window, .at = (uint8_t *)(uintptr_t)(base + 100) };

        fill(&d.far, (uint32_t)seed + 1);
        assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, IW_SILENT, 1, stag, 0), 0);
        assert_int_equal(local(&d.p.a, IW_BIND, 0, 2, window, 0), 0);
        assert_false(alive(&d, window, 100));
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, IW_BIND, 2, IW_OK);
        assert_int_equal(post(&d.p.b, IW_WRITE, 0, 3, &from, 1, &to), 0);
        pump_run(&d.p);
        for (uint32_t i = 0; i < 5000; i++)
            assert_int_equal(*octet(&d, 100 + i), d.far.at[i]);
        uint8_t before = *octet(&d, 5100);
        if (seed & 2) {
            assert_int_equal(local(&d.p.a, IW_INVALIDATE, IW_READ_FENCE, 4, stag, 0), 0);
            pump_run(&d.p);
            assert_completed(&d.p.a, 1, IW_INVALIDATE, 4, IW_OK);
        } else {
            to.at++;
        }
        d.far.at[4999] ^= 0xff;
        assert_int_equal(post(&d.p.b, IW_WRITE, 0, 5, &from, 1, &to), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.error, seed & 2 ? WIRE_DDP_TAGGED_STAG : WIRE_DDP_TAGGED_BOUNDS);
        assert_int_equal(*octet(&d, 5100), before);
        assert_int_not_equal(*octet(&d, 5099), d.far.at[4999]);
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
        struct iw_sge into = part(sink, 0, 3000);

        fill(&d.far, i + 5);
        assert_int_equal(post(&d.p.a, IW_READ, 0, 1, &into, 1, &d.far), 0);
        assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, 0, 2, early, 0), 0);
        assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, IW_READ_FENCE, 3, late, 0), 0);
        assert_int_equal(local(&d.p.a, IW_INVALIDATE, 0, 4, sink, 0), 0);
        for (int k = 0; k < 10; k++)
            pump_send(&d.p.a);
        assert_true(alive(&d, early, 0));
        assert_false(alive(&d, late, 0));
        assert_true(alive(&d, sink, 0));
        assert_int_equal(d.p.a.completions, 0); /* in order: behind the read */
        assert_false(iw_qp_initiator_idle(d.p.a.qp));
        if (i < 2) {
            pump_run(&d.p);
            assert_completed(&d.p.a, 0, IW_READ, 1, IW_OK);
            assert_completed(&d.p.a, 1, IW_FAST_REGISTER, 2, IW_OK);
            assert_completed(&d.p.a, 2, IW_FAST_REGISTER, 3, IW_OK);
            assert_completed(&d.p.a, 3, IW_INVALIDATE, 4, IW_OK);
            assert_false(known(&d, sink));
            for (uint32_t k = 0; k < 3000; k++)
                assert_int_equal(*octet(&d, k), d.far.at[k]);
        } else { /* and when the stream ends, each as far as it came */
            iw_qp_flush(d.p.a.qp, IW_FLUSHED);
            assert_completed(&d.p.a, 0, IW_READ, 1, IW_FLUSHED);
            assert_completed(&d.p.a, 1, IW_FAST_REGISTER, 2, IW_OK);
            assert_completed(&d.p.a, 2, IW_FAST_REGISTER, 3, IW_FLUSHED);
            assert_completed(&d.p.a, 3, IW_INVALIDATE, 4, IW_FLUSHED);
            assert_true(alive(&d, early, 0));
            assert_false(known(&d, late));
            assert_true(alive(&d, sink, 0));
        }
        desk_close(&d);
    }
}

/* On the accepting side nothing is carried out before the first FPDU. */
static void test_hold(void **state)
{
    static struct desk d;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        desk_open_with(&d, &(struct pump_config){ .crc = i, .seed = i, .hold = true });
        uint32_t stag = prepare(&d, REMOTE);

        assert_int_equal(local(&d.p.b, IW_FAST_REGISTER, 0, 1, stag, 0), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.b.completions, 0);
        assert_false(alive(&d, stag, 0));
        assert_int_equal(post(&d.p.a, IW_WRITE, 0, 2, NULL, 0, &d.far), 0);
        pump_run(&d.p);
        assert_completed(&d.p.b, 0, IW_FAST_REGISTER, 1, IW_OK);
        assert_true(alive(&d, stag, 0));
        desk_close(&d);
    }
}

static void post_another(struct side *s, const struct iw_completion *c)
{
    (void)c;
    if (s->completions < 200)
        (void)local(s, IW_INVALIDATE, 0, s->completions, 1, 0);
}

/* A consumer that posts from inside its completion gets its turn with the next call, not in this one. */
static void test_posting_for_ever(void **state)
{
    static struct desk d;

    (void)state;
    desk_open(&d, 0);
    d.p.a.seen = post_another;
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(local(&d.p.a, IW_INVALIDATE, 0, k, 1, 0), 0);
    pump_send(&d.p.a);
    assert_int_equal(d.p.a.completions, 3);
    pump_send(&d.p.a);
    assert_int_equal(d.p.a.completions, 6);
    d.p.a.seen = NULL;
    desk_close(&d);
}

/* covers: QPR-03 */
static void test_posts_refused(void **state)
{
    static struct desk d;

    (void)state;
    desk_open(&d, 0);
    uint32_t stag = prepare(&d, REMOTE);
    struct iw_sge sge = part(stag, 0, 16), lasting = whole(&d.far);
    struct iw_request r = { .opcode = IW_FAST_REGISTER, .stag = stag, .sges = &sge, .sge_count = 1 };

    assert_int_equal(iw_qp_post(d.p.a.qp, &r), EINVAL);
    assert_int_equal(post(&d.p.a, IW_READ, IW_READ_INVALIDATE, 1, NULL, 0, &d.far), EINVAL);
    assert_int_equal(post(&d.p.a, IW_READ, IW_READ_INVALIDATE, 1, &lasting, 1, &d.far), EFAULT);
    sge.length = LEN + 1;
    assert_int_equal(post(&d.p.a, IW_READ, IW_READ_INVALIDATE, 1, &sge, 1, &d.far), EFAULT);
    for (unsigned k = 0; k < 64; k++)
        assert_int_equal(local(&d.p.a, IW_INVALIDATE, IW_SILENT, k, 1, 0), 0);
    assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, 0, 64, stag, 0), ENOSPC);
    assert_true(known(&d, stag)); /* the caller's still */
    iw_qp_stop(d.p.a.qp, IW_FLUSHED);
    assert_int_equal(local(&d.p.a, IW_BIND, 0, 65, stag, 0), ENOTCONN);
    assert_true(known(&d, stag));
    desk_close(&d);
}

/* ---- flush and the stream's end, at any moment ---- */

/*
 * What a registration's completion says is what became of it: after OK it is alive, after a flush nobody knows it.
 * covers: QPR-02 QPR-16
 */
static void test_flush_anywhere(void **state)
{
    enum { TIMES = 12 };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        uint32_t stags[TIMES];

        desk_open_with(&d, &(struct pump_config){ .crc = seed & 1, .seed = seed, .max_segment = seed % 3 ? 1448 : 30000 });
        for (unsigned k = 0; k < TIMES; k++) {
            struct iw_sge from = whole(&d.far);
            stags[k] = pump_random(&d.p, 3) ? prepare(&d, REMOTE) : 0;
            from.length = pump_random(&d.p, 20000);
            if (stags[k]) {
                unsigned flags = pump_random(&d.p, 2) ? IW_READ_FENCE : 0;
                assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, flags, k, stags[k], 0), 0);
            } else if (pump_random(&d.p, 3) == 0) {
                assert_int_equal(local(&d.p.a, IW_INVALIDATE, 0, k, k > 0 ? stags[k - 1] : 1, 0), 0);
                if (k > 0)
                    stags[k - 1] = 0;
            } else {
                enum iw_opcode op = pump_random(&d.p, 2) ? IW_READ : IW_WRITE;
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
            iw_qp_flush(d.p.a.qp, IW_FLUSHED);
        else
            iw_qp_stop(d.p.a.qp, IW_FLUSHED);
        assert_int_equal(d.p.a.completions, TIMES);
        for (unsigned k = 0; k < TIMES; k++) {
            const struct iw_completion *c = &d.p.a.completed[k];
            assert_ptr_equal(c->context, tag(k));
            if (c->opcode != IW_FAST_REGISTER || !stags[k])
                continue;
            assert_true(c->status == IW_OK || c->status == IW_FLUSHED);
            assert_int_equal(alive(&d, stags[k], 0), c->status == IW_OK);
            assert_int_equal(known(&d, stags[k]), c->status == IW_OK);
        }
        desk_close(&d);
    }
}

/* ---- send with invalidate ---- */

static struct desk *watched;
static uint32_t watched_stag;

static void assert_dead(struct side *s, const struct iw_completion *c)
{
    (void)s;
    if (c->invalidated)
        assert_false(alive(watched, watched_stag, 0));
}

/* Any size; the data is there, the STag is dead when the completion is seen, and the completion says so. covers: INV-01 */
static void test_send_invalidate(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 100, 1400, 5000, 30000, LEN };
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            desk_open(&d, seed);
            uint32_t inside = make_alive(&d, REMOTE), stag = make_alive(&d, seed & 4 ? MEM_REMOTE_READ : REMOTE);
            uint32_t ended = seed & 2 ? inside : stag; /* also the very region that the message goes into */
            struct iw_sge from = { (uint64_t)(uintptr_t)d.far.at, sizes[k], d.far.stag };
            struct iw_sge into = part(inside, 0, LEN);
            unsigned flags = seed % 5 ? 0 : IW_SOLICIT;

            fill(&d.far, (uint32_t)seed + k);
            watched = &d;
            watched_stag = ended;
            d.p.a.seen = assert_dead;
            assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &into, 1, NULL), 0);
            assert_int_equal(send_invalidate(&d.p.b, flags, 2, &from, sizes[k] > 0, ended), 0);
            pump_run(&d.p);
            assert_completed(&d.p.b, 0, IW_SEND, 2, IW_OK);
            assert_completed(&d.p.a, 0, IW_RECEIVE, 1, IW_OK);
            assert_true(d.p.a.completed[0].invalidated);
            assert_int_equal(d.p.a.completed[0].stag, ended);
            assert_int_equal(d.p.a.completed[0].length, sizes[k]);
            assert_int_equal(d.p.a.completed[0].solicited, flags != 0);
            assert_false(known(&d, ended));
            assert_true(alive(&d, seed & 2 ? stag : inside, 0));
            for (uint32_t i = 0; i < sizes[k]; i++)
                assert_int_equal(*octet(&d, i), d.far.at[i]);
            /* A silent receive is silent, and invalidates all the same; the slot tells nothing of the one before. */
            uint32_t second = make_alive(&d, REMOTE);
            assert_int_equal(post(&d.p.a, IW_RECEIVE, IW_SILENT, 3, NULL, 0, NULL), 0);
            assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 4, NULL, 0, NULL), 0);
            assert_int_equal(send_invalidate(&d.p.b, 0, 3, NULL, 0, second), 0);
            assert_int_equal(post(&d.p.b, IW_SEND, 0, 4, NULL, 0, NULL), 0);
            pump_run(&d.p);
            assert_int_equal(d.p.a.completions, 2);
            assert_completed(&d.p.a, 1, IW_RECEIVE, 4, IW_OK);
            assert_false(d.p.a.completed[1].invalidated);
            assert_false(known(&d, second));
            assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
            desk_close(&d);
        }
    }
}

enum wrong { NONE, PREPARED, ENDED, LOCAL_ONLY, LASTING, FOREIGN, KINDS };

static uint32_t wrong_stag(struct desk *d, enum wrong kind)
{
    struct mem_pages p = { .logical = d->logical, .count = 1, .len = 8, .base_to = base, .access = REMOTE };
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
        return make_alive(d, MEM_LOCAL_WRITE);
    case LASTING:
        return d->far.stag;
    default:
        assert_int_equal(mem_prepare_pages(d->p.memory, &d->group, &d->other_domain, &p, &stag), 0);
        assert_true(mem_activate(d->p.memory, &d->other_domain, stag, 0));
        return stag;
    }
}

/* What the peer has no right to end: the exact Terminate, no octet placed, both sides told. covers: INV-02 WIR-04 */
static void test_wrong_stags(void **state)
{
    static const enum wire_error errors[KINDS] = {
        [NONE] = WIRE_RDMAP_INVALID_STAG,
        [PREPARED] = WIRE_RDMAP_INVALID_STAG,
        [ENDED] = WIRE_RDMAP_INVALID_STAG,
        [LOCAL_ONLY] = WIRE_RDMAP_CANNOT_INVALIDATE,
        [LASTING] = WIRE_RDMAP_CANNOT_INVALIDATE,
        [FOREIGN] = WIRE_RDMAP_STAG_NOT_ASSOCIATED,
    };
    static const uint32_t sizes[] = { 0, 100, 9000 };
    static struct desk d;

    (void)state;
    for (unsigned i = 0; i < KINDS * 3 * 8; i++) {
        enum wrong kind = (enum wrong)(i % KINDS);
        uint32_t size = sizes[i / KINDS % 3];

        desk_open(&d, i / KINDS / 3);
        uint32_t stag = wrong_stag(&d, kind), into_stag = make_alive(&d, REMOTE);
        struct iw_sge from = { (uint64_t)(uintptr_t)d.far.at, size, d.far.stag }, into = part(into_stag, 0, LEN);
        uint8_t before = *octet(&d, 0);

        d.far.at[0] = (uint8_t)~before;
        assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, 1, NULL, 0, NULL), 0);
        assert_int_equal(send_invalidate(&d.p.b, 0, 2, &from, size > 0, stag), 0);
        pump_run(&d.p);
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.why, IW_END_LOCAL_ERROR);
        assert_int_equal(d.p.a.error, errors[kind]);
        assert_completed(&d.p.a, 0, IW_RECEIVE, 1, IW_LOST);
        assert_int_equal(d.p.a.completed[0].error, errors[kind]);
        assert_false(d.p.a.completed[0].invalidated);
        assert_int_equal(*octet(&d, 0), before);
        assert_int_equal(d.p.b.ends, 1);
        assert_int_equal(d.p.b.why, IW_END_PEER_TERMINATE);
        assert_int_equal(d.p.b.error, errors[kind]);
        assert_int_equal(d.p.b.completions, 2);
        desk_close(&d);
    }
}

/* It was good at the first segment, and is ended by ourselves before the last: the message does not complete. */
static void test_ended_meanwhile(void **state)
{
    static uint8_t fpdu[8192], payload[4000];
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, REMOTE), into_stag = make_alive(&d, REMOTE);
        struct iw_sge into = part(into_stag, 0, LEN);
        struct ddp_header h = { .opcode = RDMAP_SEND_INV, .queue = DDP_QUEUE_SEND, .msn = 1, .stag = stag };
        struct terminate t;
        size_t size = pump_fpdu(fpdu, d.crc, &h, payload, sizeof payload);

        assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &into, 1, NULL), 0);
        pump_inject(&d.p.a, fpdu, size);
        while (pump_receive(&d.p.a))
            continue;
        h.mo = sizeof payload;
        h.last = true;
        size = pump_fpdu(fpdu, d.crc, &h, payload, sizeof payload);
        /* Without checksums the segment is judged by its header, and its end comes later. */
        bool judged = !d.crc && seed & 2;
        pump_inject(&d.p.a, fpdu, judged ? size - 1 : 0);
        while (pump_receive(&d.p.a))
            continue;
        assert_int_equal(mem_revoke(d.p.memory, &d.p.domain, stag, false), WIRE_OK);
        pump_inject(&d.p.a, judged ? fpdu + size - 1 : fpdu, judged ? 1 : size);
        while (pump_receive(&d.p.a))
            continue;
        assert_int_equal(d.p.a.ends, 1);
        assert_int_equal(d.p.a.error, WIRE_RDMAP_INVALID_STAG);
        assert_completed(&d.p.a, 0, IW_RECEIVE, 1, IW_LOST);
        assert_true(pump_terminate_sent(&d.p.a, d.crc, &t));
        assert_int_equal(t.error, WIRE_RDMAP_INVALID_STAG);
        assert_true(t.has_header);
        assert_int_equal(t.header_len, DDP_UNTAGGED_HEADER);
        assert_memory_equal(t.header, fpdu + MPA_FPDU_LENGTH, DDP_UNTAGGED_HEADER);
        desk_close(&d);
    }
}

/* A receive that is too short for the message invalidates nothing. */
static void test_too_long_invalidates_nothing(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, REMOTE);
        struct iw_sge from = whole(&d.far), into = part(stag, 0, LEN - 1);

        assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(send_invalidate(&d.p.b, 0, 2, &from, 1, stag), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, IW_RECEIVE, 1, IW_TOO_LONG);
        assert_true(alive(&d, stag, 0));
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
            uint32_t stag = prepare(&d, MEM_LOCAL_WRITE), second = make_alive(&d, MEM_LOCAL_WRITE);
            struct iw_sge into[2] = { part(stag, 0, sizes[k] / 2), part(second, sizes[k] / 2, sizes[k] - sizes[k] / 2) };

            fill(&d.far, (uint32_t)seed + k);
            assert_int_equal(local(&d.p.a, IW_FAST_REGISTER, IW_SILENT, 1, stag, 0), 0);
            assert_int_equal(post(&d.p.a, IW_READ, IW_READ_INVALIDATE, 2, into, 2, &d.far), 0);
            assert_int_equal(post(&d.p.a, IW_SEND, IW_READ_FENCE, 3, NULL, 0, NULL), 0);
            assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, 3, NULL, 0, NULL), 0);
            pump_run(&d.p);
            assert_completed(&d.p.a, 0, IW_READ, 2, IW_OK);
            assert_completed(&d.p.a, 1, IW_SEND, 3, IW_OK);
            assert_false(known(&d, stag));
            assert_true(alive(&d, second, 0));
            for (uint32_t i = 0; i < sizes[k]; i++)
                assert_int_equal(*octet(&d, i), d.far.at[i]);
            assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
            desk_close(&d);
        }
    }
}

/* It was ended by somebody else before the response came: the read says so, and the stream goes on where it can. */
static void test_read_invalidate_too_late(void **state)
{
    static struct desk d;

    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        desk_open(&d, seed);
        uint32_t stag = make_alive(&d, MEM_LOCAL_WRITE);
        struct iw_sge into = part(stag, 0, 0);

        assert_int_equal(post(&d.p.a, IW_READ, IW_READ_INVALIDATE, 1, &into, 1, &d.far), 0);
        pump_send(&d.p.a);
        assert_int_equal(mem_revoke(d.p.memory, &d.p.domain, stag, false), WIRE_OK);
        assert_int_equal(post(&d.p.a, IW_READ, 0, 2, NULL, 0, &d.far), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 0, IW_READ, 1, IW_LOCAL_ACCESS);
        assert_completed(&d.p.a, 1, IW_READ, 2, IW_OK);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
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
        struct iw_sge from = { first + 5, 9000, 0 }, into = { first + 20000, 9000, 0 }, read = { first + 10000, 9000, 0 };
        struct iw_sge bad = { first + LEN - 8999, 9000, 0 }, none = { 8, 1, 0 }, far = whole(&d.far);

        fill(&d.far, (uint32_t)seed);
        assert_int_equal(post(&d.p.a, IW_SEND, 0, 1, &bad, 1, NULL), EFAULT);
        assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &none, 1, NULL), EFAULT);
        assert_int_equal(post(&d.p.a, IW_RECEIVE, 0, 1, &into, 1, NULL), 0);
        assert_int_equal(post(&d.p.a, IW_SEND, 0, 2, &from, 1, NULL), 0);
        assert_int_equal(post(&d.p.a, IW_READ, 0, 3, &read, 1, &d.far), 0);
        assert_int_equal(post(&d.p.b, IW_RECEIVE, 0, 4, &far, 1, NULL), 0);
        pump_run(&d.p);
        assert_memory_equal(d.far.at, d.memory + 5, 9000);
        assert_completed(&d.p.a, 0, IW_SEND, 2, IW_OK);
        assert_completed(&d.p.a, 1, IW_READ, 3, IW_OK);
        assert_memory_equal(d.memory + 10000, d.far.at, 9000);
        far.length = 9000;
        assert_int_equal(post(&d.p.b, IW_SEND, 0, 5, &far, 1, NULL), 0);
        pump_run(&d.p);
        assert_completed(&d.p.a, 2, IW_RECEIVE, 1, IW_OK);
        assert_memory_equal(d.memory + 20000, d.far.at, 9000);
        /* Unmapped between post and turn. */
        struct mem_region *short_lived;
        assert_int_equal(mem_map(d.p.memory, d.memory, 100, &short_lived, &from.address), 0);
        from.length = 100;
        assert_int_equal(post(&d.p.a, IW_SEND, 0, 6, &from, 1, NULL), 0);
        mem_unmap(short_lived);
        pump_run(&d.p);
        assert_completed(&d.p.a, 3, IW_SEND, 6, IW_LOCAL_ACCESS);
        assert_int_equal(d.p.a.ends + d.p.b.ends, 0);
        desk_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_use_invalidate),
        cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_posting_for_ever),
        cmocka_unit_test(test_posts_refused),
        cmocka_unit_test(test_flush_anywhere),
        cmocka_unit_test(test_send_invalidate),
        cmocka_unit_test(test_wrong_stags),
        cmocka_unit_test(test_ended_meanwhile),
        cmocka_unit_test(test_too_long_invalidates_nothing),
        cmocka_unit_test(test_read_invalidate),
        cmocka_unit_test(test_read_invalidate_too_late),
        cmocka_unit_test(test_privileged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
