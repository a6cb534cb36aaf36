/* SPDX-License-Identifier: MIT */
/*
 * Abstract: this initiator against this responder, in every combination of revision, CRC, ready-to-receive forms and
 * limits.
 * covers: WIR-02
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "iwarp/handshake.h"

/* One cell of the matrix: the configuration of each side. */
struct sides {
    struct iw_startup_config a, p;
    uint16_t a_ird, a_ord, p_ird, p_ord;
    size_t piece, data;
};

static uint16_t min(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static void check_agreement(const struct sides *m, const struct iw_startup_result *a, const struct iw_startup_result *p)
{
    uint16_t a_ird = min(m->a_ird, m->a.max_ird), a_ord = min(m->a_ord, m->a.max_ord);
    uint16_t p_ird = min(m->p_ird, m->p.max_ird), p_ord = min(m->p_ord, m->p.max_ord);
    bool limits = m->a.revision == 2;

    assert_int_equal(a->revision, m->a.revision);
    assert_int_equal(p->revision, m->a.revision);
    assert_int_equal(a->crc, m->a.crc || m->p.crc);
    assert_int_equal(p->crc, a->crc);
    assert_int_equal(a->peer_to_peer, limits && m->a.rtr != 0);
    assert_int_equal(p->peer_to_peer, a->peer_to_peer);
    assert_int_equal(p->rtr, a->rtr);
    assert_int_equal(a->rtr & ~(m->a.rtr & m->p.rtr), 0);
    assert_int_equal(a->rtr != MPA_RTR_NONE, a->peer_to_peer);
    assert_int_equal(a->ird, limits ? min(a_ird, p_ord) : a_ird);
    assert_int_equal(a->ord, limits ? min(a_ord, p_ird) : a_ord);
    assert_int_equal(p->ird, limits ? a->ord : p_ird);
    assert_int_equal(p->ord, limits ? a->ird : p_ord);
}

static void assert_private(const struct iw_startup *s, const uint8_t *want, size_t len)
{
    size_t got;
    const uint8_t *data = iw_startup_private(s, &got);

    assert_int_equal(got, len);
    assert_memory_equal(data, want, len);
}

static void agree(const struct sides *m)
{
    uint8_t there[MPA_MAX_PRIVATE_DATA], back[MPA_MAX_PRIVATE_DATA], bytes[MPA_MAX_FRAME];
    struct iw_startup_result ra, rp;
    enum iw_startup_event e;
    size_t n;

    for (size_t i = 0; i < sizeof there; i++) {
        there[i] = (uint8_t)i;
        back[i] = (uint8_t)(255 - i);
    }
    struct iw_startup *a = iw_startup_initiator(&m->a, m->a_ird, m->a_ord, there, m->data);
    struct iw_startup *p = iw_startup_responder(&m->p);
    assert_true(a && p);
    n = drain(a, bytes, m->piece, &e);
    e = feed(p, bytes, n, m->piece);
    bool in_common = m->a.revision < 2 || !m->a.rtr || (m->a.rtr & m->p.rtr);
    assert_int_equal(e, in_common ? IW_STARTUP_REQUEST : IW_STARTUP_MALFORMED);
    if (in_common) {
        assert_private(p, there, m->data);
        iw_startup_accept(p, m->p_ird, m->p_ord, back, m->data);
    }
    n = drain(p, bytes, m->piece, &e);
    assert_int_equal(e, IW_STARTUP_SENT);
    assert_int_equal(feed(a, bytes, n, m->piece), in_common ? IW_STARTUP_ACCEPTED : IW_STARTUP_REJECTED);
    if (in_common) {
        iw_startup_result(a, &ra);
        iw_startup_result(p, &rp);
        check_agreement(m, &ra, &rp);
        assert_private(a, back, m->data);
    }
    assert_idle(a);
    assert_idle(p);
    iw_startup_free(a);
    iw_startup_free(p);
}

static const uint16_t limit_values[][2] = { { 16, 16 }, { 1, 7 }, { 7, 1 }, { 0, 3 }, { 40, 0x3fff } };

static void agree_on_limits(struct sides *m)
{
    static const size_t lengths[] = { 0, 252, 508 };
    static const size_t pieces[] = { MPA_MAX_FRAME, 1, 17 };
    static unsigned turn;

    for (size_t i = 0; i < COUNT(limit_values); i++) {
        for (size_t k = 0; k < COUNT(limit_values); k++) {
            m->a_ird = limit_values[i][0];
            m->a_ord = limit_values[i][1];
            m->p_ird = limit_values[k][0];
            m->p_ord = limit_values[k][1];
            m->piece = pieces[turn % 3];
            m->data = lengths[turn / 3 % 3];
            turn++;
            agree(m);
        }
    }
}

static void test_matrix(void **state)
{
    struct sides m = { .a = usual, .p = usual };

    (void)state;
    m.p.max_private = 508;
    m.p.max_ird = 20;
    m.p.max_ord = 10;
    for (unsigned bits = 0; bits < 3 * 4 * 8 * 8; bits++) {
        m.a.revision = (uint8_t)(bits % 3);
        m.a.crc = bits / 3 & 1;
        m.p.crc = bits / 3 & 2;
        m.a.rtr = bits / 12 % 8;
        m.p.rtr = bits / 96;
        agree_on_limits(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
