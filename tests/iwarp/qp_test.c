/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the operations of a queue pair, each over sizes at every boundary, with and without CRC, with SGEs and byte
 * streams split at places that seeds choose; completion order, silence, fences, limits, flush.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/pump.h"
#include "wire/mpa.h"

enum { SGES = 40, MEGABYTE = 1 << 20 };

static void *tag(unsigned n)
{
    return (void *)(uintptr_t)n;
}

static void fill(struct region *r, uint32_t seed)
{
    for (uint32_t i = 0; i < r->len; i++)
        r->at[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
}

/* Cuts [0, len) of a region into at most max SGEs of uneven sizes, empty ones among them. */
static uint32_t cut(struct pump *p, const struct region *r, uint32_t len, struct iw_sge *sges, uint32_t max)
{
    uint32_t n = 0, at = 0;

    if (len == 0)
        return 0;
    while (n + 1 < max && at < len) {
        uint32_t part = pump_random(p, 3) == 0 ? pump_random(p, 8) : pump_random(p, len / 2 + 2);
        part = part < len - at ? part : len - at;
        sges[n++] = (struct iw_sge){ (uint64_t)(uintptr_t)r->at + at, part, r->stag };
        at += part;
    }
    sges[n++] = (struct iw_sge){ (uint64_t)(uintptr_t)r->at + at, len - at, r->stag };
    return n;
}

static int post(struct side *s, enum iw_opcode op, unsigned flags, unsigned context, const struct iw_sge *sges,
                uint32_t count, const struct region *remote)
{
    struct iw_request r = {
        .opcode = op,
        .flags = flags,
        .context = tag(context),
        .sges = sges,
        .sge_count = count,
        .remote_stag = remote ? remote->stag : 0,
        .remote_to = remote ? (uint64_t)(uintptr_t)remote->at : 0,
    };
    return iw_qp_post(s->qp, &r);
}

static void assert_completed(const struct side *s, unsigned at, enum iw_opcode op, unsigned context,
                             enum iw_status status)
{
    assert_true(at < s->completions);
    assert_int_equal(s->completed[at].opcode, op);
    assert_ptr_equal(s->completed[at].context, tag(context));
    assert_int_equal(s->completed[at].status, status);
}

/* A send, a write and a read of len octets each: everything arrives, is told in order, with the right length. */
static void one_round(struct pump *p, uint32_t len)
{
    struct region from, to, target, sink;
    struct iw_sge sges[SGES];
    uint32_t room = len ? len : 1, n, max = 1 + pump_random(p, SGES);

    region_open(p, &from, room, MEM_REMOTE_READ);
    region_open(p, &to, room, MEM_LOCAL_WRITE);
    region_open(p, &target, room, MEM_REMOTE_WRITE);
    region_open(p, &sink, room, MEM_LOCAL_WRITE);
    fill(&from, len + max);
    p->a.completions = p->b.completions = 0;
    n = cut(p, &to, len, sges, max);
    assert_int_equal(post(&p->b, IW_RECEIVE, 0, 1, sges, n, NULL), 0);
    n = cut(p, &from, len, sges, max);
    assert_int_equal(post(&p->a, IW_WRITE, 0, 2, sges, n, &target), 0);
    assert_int_equal(post(&p->a, IW_SEND, IW_SOLICIT, 3, sges, n, NULL), 0);
    pump_run(p);
    assert_int_equal(p->a.completions, 2);
    assert_completed(&p->a, 0, IW_WRITE, 2, IW_OK);
    assert_completed(&p->a, 1, IW_SEND, 3, IW_OK);
    assert_int_equal(p->b.completions, 1);
    assert_completed(&p->b, 0, IW_RECEIVE, 1, IW_OK);
    assert_int_equal(p->b.completed[0].length, len);
    assert_true(p->b.completed[0].solicited);
    assert_memory_equal(to.at, from.at, len);
    assert_memory_equal(target.at, from.at, len);

    n = cut(p, &sink, len, sges, max);
    assert_int_equal(post(&p->b, IW_READ, 0, 4, sges, n, &from), 0);
    pump_run(p);
    assert_int_equal(p->b.completions, 2);
    assert_completed(&p->b, 1, IW_READ, 4, IW_OK);
    assert_memory_equal(sink.at, from.at, len);
    assert_true(iw_qp_initiator_idle(p->a.qp));
    assert_true(iw_qp_initiator_idle(p->b.qp));
    region_close(&from);
    region_close(&to);
    region_close(&target);
    region_close(&sink);
}

static void sizes(bool crc, bool whole, size_t segment, uint64_t seed)
{
    uint32_t ulpdu = (uint32_t)mpa_max_ulpdu(segment);
    uint32_t lens[] = { 0, 1, 3, 4, 5, 64, 511, 513, ulpdu - 19, ulpdu - 18, ulpdu - 17, ulpdu - 15, ulpdu - 14,
                        ulpdu - 13, 3 * ulpdu + 1, 100000, MEGABYTE };
    struct pump p;

    pump_open(&p, &(struct pump_config){ .crc = crc, .whole = whole, .max_segment = segment, .seed = seed });
    for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++)
        one_round(&p, lens[i]);
    assert_int_equal(p.a.ends + p.b.ends, 0);
    pump_close(&p);
}

/* covers: QPR-04 QPR-11 QPR-13 QPR-19 */
static void test_sizes(void **state)
{
    static const size_t segments[] = { 536, 1448, 9000, 65483 };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            sizes(true, false, segments[i], seed);
            sizes(false, false, segments[i], seed);
        }
        sizes(true, true, segments[i], 9);
        sizes(false, true, segments[i], 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
