/* SPDX-License-Identifier: MIT */
/*
 * Abstract: garbage. What a real peer sends is spoilt by a seed (bits, lengths, pieces left out, doubled or made up),
 * with the checksum made right again, so that it gets past it. Whatever comes, no octet outside the posted and
 * registered memory changes (canaries, and the sanitizer), everything completes once, and it comes to rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "wire/mpa.h"

enum { ROUNDS = 3000, LEN = 6000 };

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

/* A made-up segment with a header that is nearly right. */
static void make_up(struct pump *p, bool crc, const struct region *r)
{
    static uint8_t out[70000], payload[66000];
    struct ddp_header h = {
        .tagged = pump_random(p, 2),
        .last = pump_random(p, 2),
        .opcode = (uint8_t)pump_random(p, 9),
        .stag = pump_random(p, 2) ? r->stag : pump_random(p, UINT32_MAX),
        .to = (uint64_t)(uintptr_t)r->at + pump_random(p, 2 * LEN) - LEN / 2,
        .queue = pump_random(p, 4),
        .msn = pump_random(p, 6),
        .mo = pump_random(p, 3) ? 0 : pump_random(p, LEN),
    };
    uint32_t len = pump_random(p, 10) ? pump_random(p, 60) : pump_random(p, 65000);

    if (p->b.in.to - p->b.in.from < PUMP_PIPE / 4 && p->b.in.to < PUMP_PIPE / 2)
        pump_inject(&p->b, out, pump_fpdu(out, crc, pump_random(p, 20) ? &h : NULL, payload, len));
}

static void spoil(struct pump *p, bool crc, const struct region *r)
{
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
        make_up(p, crc, r);
        return;
    default:
        return;
    }
}

static void round_of(uint64_t seed)
{
    bool crc = seed & 1;
    struct region src, dst, receive;
    struct pump p;

    pump_open(&p, &(struct pump_config){ .crc = crc, .seed = seed, .max_segment = seed % 3 ? 1448 : 40000 });
    region_open(&p, &src, LEN, MEM_REMOTE_READ);
    region_open(&p, &dst, LEN, MEM_LOCAL_WRITE | MEM_REMOTE_WRITE);
    region_open(&p, &receive, LEN, MEM_LOCAL_WRITE);
    fill(&src, (uint32_t)seed);
    struct side *sides[2] = { &p.a, &p.b };
    for (unsigned k = 0; k < 8; k++) {
        for (unsigned i = 0; i < 2; i++) {
            struct iw_sge sges[PUMP_SGES];
            enum iw_opcode op = (enum iw_opcode)pump_random(&p, 3);
            uint32_t count = cut(&p, &receive, pump_random(&p, LEN), sges, 6);
            assert_int_equal(post(sides[i], IW_RECEIVE, 0, k, sges, count, NULL), 0);
            count = cut(&p, op == IW_READ ? &dst : &src, pump_random(&p, LEN), sges, 6);
            assert_int_equal(post(sides[i], op, 0, k, sges, count, op == IW_READ ? &src : &dst), 0);
        }
    }
    uint32_t spoils = 1 + pump_random(&p, 3), when = pump_random(&p, 12);
    for (uint32_t k = 0; k < 100; k++) {
        /* At the start of the pipe is a whole FPDU only while everything was sent at once. */
        p.whole = k < when;
        pump_send(&p.a);
        if (k == when / 2 && p.b.in.to - p.b.in.from > 30 && p.b.in.from == 0 && k == 0)
            spoil_fpdu(&p, p.b.in.bytes, crc);
        if (k >= when && spoils > 0) {
            spoil(&p, crc, &dst);
            spoils--;
        }
        pump_receive(&p.b);
        pump_send(&p.b);
        pump_receive(&p.a);
    }
    pump_run(&p);
    if (pump_random(&p, 2))
        iw_qp_rx_eof(p.b.qp);
    iw_qp_stop(p.a.qp, IW_FLUSHED);
    iw_qp_stop(p.b.qp, IW_FLUSHED);
    assert_int_equal(p.a.completions, 16);
    assert_int_equal(p.b.completions, 16);
    assert_true(p.a.ends <= 1 && p.b.ends <= 1);
    region_close(&src);
    region_close(&dst);
    region_close(&receive);
    pump_close(&p);
}

/* covers: WIR-05 */
static void test_spoilt(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        round_of(seed);
}

/* Nothing but garbage. covers: WIR-05 */
static void test_noise(void **state)
{
    uint8_t noise[2000];
    struct region to;
    struct pump p;

    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        pump_open(&p, &(struct pump_config){ .crc = seed & 1, .seed = seed });
        region_open(&p, &to, 64, MEM_LOCAL_WRITE);
        struct iw_sge sge = whole(&to);
        assert_int_equal(post(&p.b, IW_RECEIVE, 0, 1, &sge, 1, NULL), 0);
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)pump_random(&p, 256);
        noise[0] = 0;
        noise[2] = (uint8_t)(0x01 | (noise[2] & 0xc0)); /* so that more than the version is looked at */
        noise[3] = (uint8_t)(0x40 | (noise[3] & 0x07));
        if (seed & 1)
            pump_seal(noise, true, noise[1]);
        pump_inject(&p.b, noise, sizeof noise);
        pump_run(&p);
        iw_qp_rx_eof(p.b.qp);
        iw_qp_stop(p.b.qp, IW_FLUSHED);
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
