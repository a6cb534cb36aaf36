/* SPDX-License-Identifier: MIT */
/*
 * Abstract: garbage. A seed changes what a real peer sends: bits, lengths, pieces omitted, doubled or made up. The
 * checksum is corrected, so that the message passes it. Invariants: no byte outside the posted and registered memory
 * changes (canaries, and the sanitizer), every request completes once, and the streams come to rest. Meanwhile both
 * sides register memory by requests, bind windows, invalidate, and use tokens that are alive, prepared or invalid.
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

enum { ROUNDS = 3000, LEN = 6000, PAGES = 4, SPAN = 2 * MEM_PAGE - 24, OFFSET = 8, TOKENS = 64, GUARD = 0x5c };

static const uint64_t base = 0x7654321000u;

/*
 * Memory that requests register: the two inner pages in reverse order, without the ends of the range. stags has every
 * token that was prepared.
 */
struct play {
    struct pump p;
    bool crc;
    uint8_t *memory;
    struct mem_region *mapping;
    uint64_t logical[2];
    struct mem_group regions, windows;
    uint32_t stags[TOKENS], known;
    unsigned posted[2];
};

static void play_open(struct play *g, uint64_t seed)
{
    uint64_t first;

    g->crc = seed & 1;
    g->known = 0;
    g->posted[0] = g->posted[1] = 0;
    pump_open(&g->p, &(struct pump_config){ .crc = g->crc, .seed = seed, .max_segment = seed % 3 ? 1448 : 40000 });
    g->memory = aligned_alloc(MEM_PAGE, PAGES * MEM_PAGE);
    assert_non_null(g->memory);
    memset(g->memory, GUARD, PAGES * MEM_PAGE);
    assert_int_equal(mem_map(g->p.memory, g->memory, PAGES * MEM_PAGE, &g->mapping, &first), 0);
    g->logical[0] = first + 2 * MEM_PAGE;
    g->logical[1] = first + 1 * MEM_PAGE;
    mem_group_init(&g->regions);
    mem_group_init(&g->windows);
}

static void assert_guarded(const uint8_t *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        assert_int_equal(at[i], GUARD);
}

static void play_close(struct play *g)
{
    mem_group_kill(&g->regions);
    mem_group_kill(&g->windows);
    assert_true(mem_group_close(&g->windows, NULL, NULL));
    assert_true(mem_group_close(&g->regions, NULL, NULL));
    mem_unmap(g->mapping);
    assert_guarded(g->memory, MEM_PAGE);
    assert_guarded(g->memory + 2 * MEM_PAGE - 16, 16); /* behind the end of the range, in its second page */
    assert_guarded(g->memory + 2 * MEM_PAGE, OFFSET);  /* before the beginning of the range */
    assert_guarded(g->memory + 3 * MEM_PAGE, MEM_PAGE);
    free(g->memory);
    pump_close(&g->p);
}

/* Returns often the last token that was prepared, else a random earlier one. */
static uint32_t any_stag(struct play *g, const struct region *r)
{
    if (g->known == 0 || pump_random(&g->p, 10) == 0)
        return r->stag;
    return g->stags[pump_random(&g->p, 3) ? g->known - 1 : pump_random(&g->p, g->known)];
}

static void play_post(struct play *g, unsigned side, const struct rdma_request *r)
{
    int result = iw_qp_post((side ? &g->p.b : &g->p.a)->qp, r, NULL);

    if (result == 0)
        g->posted[side]++;
    else if (r->op == RDMA_OP_FAST_REGISTER || r->op == RDMA_OP_BIND)
        mem_discard(g->p.memory, &g->p.domain, r->token);
    assert_true(result == 0 || result == EFAULT);
}

static void prepare(struct play *g, struct rdma_request *r, const struct region *plain)
{
    unsigned access = RDMA_ACCESS_LOCAL_WRITE |
                      (pump_random(&g->p, 4) ? RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE : 0);
    struct rdma_pages p = {
        .logical = g->logical,
        .count = 2,
        .offset = OFFSET,
        .len = SPAN,
        .base_address = base,
        .access = access,
    };
    int error = 0;

    if (r->op == RDMA_OP_BIND)
        error = mem_prepare_window(g->p.memory, &g->windows, &g->p.domain, any_stag(g, plain),
                                   base + pump_random(&g->p, 100), 1 + pump_random(&g->p, 4000), access, &r->token);
    else
        assert_int_equal(mem_prepare_pages(g->p.memory, &g->regions, &g->p.domain, &p, &r->token), 0);
    if (error) { /* no region for a window: revoke something instead */
        r->op = RDMA_OP_INVALIDATE;
        r->token = any_stag(g, plain);
    } else if (g->known < TOKENS) {
        g->stags[g->known++] = r->token;
    }
}

/* Posts a fast register, bind, invalidate, or a request with such a token, which may or may not be alive. */
static void play_request(struct play *g, unsigned side, unsigned context, const struct region *plain)
{
    struct rdma_sge sge = { base + pump_random(&g->p, 100), pump_random(&g->p, SPAN - 100), any_stag(g, plain) };
    struct rdma_request r = { .context = tag(context), .remote_token = any_stag(g, plain), .remote_address = base };

    switch (pump_random(&g->p, 8)) {
    case 0:
    case 1:
    case 2:
        r.op = RDMA_OP_FAST_REGISTER;
        prepare(g, &r, plain);
        break;
    case 3:
    case 4:
        r.op = RDMA_OP_BIND;
        prepare(g, &r, plain);
        break;
    case 5:
        r.op = RDMA_OP_INVALIDATE;
        r.token = any_stag(g, plain);
        break;
    case 6:
        r.op = RDMA_OP_SEND;
        r.flags = RDMA_FLAG_SEND_INVALIDATE;
        r.sges = &sge;
        r.sge_count = 1;
        break;
    default:
        r.op = RDMA_OP_READ;
        r.flags = RDMA_FLAG_READ_INVALIDATE;
        r.sges = &sge;
        r.sge_count = 1;
        break;
    }
    play_post(g, side, &r);
}

static void spoil_fpdu(struct pump *p, uint8_t *fpdu, bool crc)
{
    size_t ulpdu = (size_t)fpdu[0] << 8 | fpdu[1];
    uint32_t where = ulpdu < 20 || pump_random(p, 4) == 0 ? (uint32_t)ulpdu : 20;

    if (ulpdu == 0)
        return;
    fpdu[2 + pump_random(p, where)] ^= (uint8_t)(1u << pump_random(p, 8));
    if (crc || pump_random(p, 8) > 0)
        pump_seal(fpdu, crc, ulpdu);
}

/* Injects a made-up segment whose header is nearly valid. */
static void make_up(struct play *g, const struct region *r)
{
    static uint8_t out[70000], payload[66000];
    struct pump *p = &g->p;
    bool crc = g->crc, plain = pump_random(p, 2);
    struct ddp_header h = {
        .tagged = pump_random(p, 2),
        .last = pump_random(p, 2),
        .opcode = (uint8_t)pump_random(p, 9),
        .stag = plain               ? r->stag
                : pump_random(p, 4) ? any_stag(g, r)
                                    : pump_random(p, UINT32_MAX),
        .to = (plain ? (uint64_t)(uintptr_t)r->at : base) + pump_random(p, 2 * LEN) - LEN / 2,
        .queue = pump_random(p, 4),
        .msn = pump_random(p, 6),
        .mo = pump_random(p, 3) ? 0 : pump_random(p, LEN),
    };
    uint32_t len = pump_random(p, 10) ? pump_random(p, 60) : pump_random(p, 65000);

    if (p->b.in.to - p->b.in.from < PUMP_PIPE / 4 && p->b.in.to < PUMP_PIPE / 2)
        pump_inject(&p->b, out, pump_fpdu(out, crc, pump_random(p, 20) ? &h : NULL, payload, len));
}

static void spoil(struct play *g, const struct region *r)
{
    struct pump *p = &g->p;
    struct pipe *in = &p->b.in;

    switch (pump_random(p, 8)) {
    case 0:
        if (in->to > in->from)
            in->bytes[in->from + pump_random(p, (uint32_t)(in->to - in->from))] ^= (uint8_t)(1u << pump_random(p, 8));
        return;
    case 1:
        if (in->to > in->from)
            in->from += pump_random(p, (uint32_t)(in->to - in->from));
        return;
    case 2:
        make_up(g, r);
        return;
    default:
        return;
    }
}

static void post_all(struct play *g, const struct region *src, const struct region *dst, const struct region *receive)
{
    struct pump *p = &g->p;

    for (unsigned k = 0; k < 8; k++) {
        for (unsigned i = 0; i < 2; i++) {
            struct rdma_sge sges[PUMP_SGES];
            enum rdma_op op = (enum rdma_op)pump_random(p, 3);
            struct side *side = i ? &p->b : &p->a;
            uint32_t count = split_sges(p, receive, pump_random(p, LEN), sges, 6);

            assert_int_equal(post(side, RDMA_OP_RECEIVE, 0, k, sges, count, NULL), 0);
            if (pump_random(p, 2))
                play_request(g, i, k, dst);
            count = split_sges(p, op == RDMA_OP_READ ? dst : src, pump_random(p, LEN), sges, 6);
            assert_int_equal(post(side, op, 0, k, sges, count, op == RDMA_OP_READ ? src : dst), 0);
            g->posted[i] += 2;
        }
    }
}

static void move_and_spoil(struct play *g, const struct region *dst)
{
    struct pump *p = &g->p;
    uint32_t spoils = pump_random(p, 4), when = pump_random(p, 12);

    for (uint32_t k = 0; k < 100; k++) {
        /* The pipe begins with a whole FPDU only as long as everything is sent at once. */
        p->whole = k < when;
        pump_send(&p->a);
        if (k == when / 2 && p->b.in.to - p->b.in.from > 30 && p->b.in.from == 0 && k == 0)
            spoil_fpdu(p, p->b.in.bytes, g->crc);
        if (k >= when && spoils > 0) {
            spoil(g, dst);
            spoils--;
        }
        pump_receive(&p->b);
        pump_send(&p->b);
        pump_receive(&p->a);
        if (pump_random(p, 40) == 0 && g->known > 0) /* the consumer revokes a token through another queue pair */
            (void)mem_revoke(p->memory, &p->domain, any_stag(g, dst), false);
    }
    pump_run(p);
}

/* Successful requests of each kind. If a kind never succeeds, its rounds test nothing. */
static unsigned worked[RDMA_OP_RECEIVE_AND_INVALIDATE + 1];

static void tally(const struct side *s)
{
    for (unsigned i = 0; i < s->completions; i++) {
        worked[s->completed[i].op] += s->completed[i].status == RDMA_STATUS_OK;
    }
}

static void round_of(uint64_t seed)
{
    struct region src, dst, receive;
    static struct play g;
    struct pump *p = &g.p;

    play_open(&g, seed);
    region_open(p, &src, LEN, RDMA_ACCESS_REMOTE_READ);
    region_open(p, &dst, LEN, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
    region_open(p, &receive, LEN, RDMA_ACCESS_LOCAL_WRITE);
    fill(&src, (uint32_t)seed);
    post_all(&g, &src, &dst, &receive);
    move_and_spoil(&g, &dst);
    if (pump_random(p, 2))
        iw_qp_rx_eof(p->b.qp);
    iw_qp_stop(p->a.qp, RDMA_STATUS_FLUSHED);
    iw_qp_stop(p->b.qp, RDMA_STATUS_FLUSHED);
    assert_int_equal(p->a.completions, g.posted[0]);
    assert_int_equal(p->b.completions, g.posted[1]);
    assert_true(p->a.ends <= 1 && p->b.ends <= 1);
    tally(&p->a);
    tally(&p->b);
    region_close(&src);
    region_close(&dst);
    region_close(&receive);
    play_close(&g);
}

/* covers: WIR-05 */
static void test_spoilt(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        round_of(seed);
    for (unsigned op = 0; op <= RDMA_OP_INVALIDATE; op++)
        assert_in_range(worked[op], 100, UINT32_MAX);
    assert_in_range(worked[RDMA_OP_RECEIVE_AND_INVALIDATE], 20, UINT32_MAX);
}

/* The peer sends nothing but garbage. covers: WIR-05 */
static void test_noise(void **state)
{
    uint8_t noise[2000];
    struct region to;
    struct pump p;

    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        pump_open(&p, &(struct pump_config){ .crc = seed & 1, .seed = seed });
        region_open(&p, &to, 64, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge sge = one_sge(&to);
        assert_int_equal(post(&p.b, RDMA_OP_RECEIVE, 0, 1, &sge, 1, NULL), 0);
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)pump_random(&p, 256);
        noise[0] = 0;
        noise[2] = (uint8_t)(0x01 | (noise[2] & 0xc0)); /* a valid version, so that more than the version is checked */
        noise[3] = (uint8_t)(0x40 | (noise[3] & 0x07));
        if (seed & 1)
            pump_seal(noise, true, noise[1]);
        pump_inject(&p.b, noise, sizeof noise);
        pump_run(&p);
        iw_qp_rx_eof(p.b.qp);
        iw_qp_stop(p.b.qp, RDMA_STATUS_FLUSHED);
        assert_int_equal(p.b.completions, 1);
        region_close(&to);
        pump_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spoilt),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
