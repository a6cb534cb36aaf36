/* SPDX-License-Identifier: MIT */
/* One side of start-up by hand: see handshake.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "iwarp/handshake.h"

const struct iw_startup_config usual = {
    .revision = 2,
    .crc = false,
    .rtr = ALL_FORMS,
    .max_ird = 16,
    .max_ord = 16,
    .max_private = 252,
};

enum iw_startup_event feed(struct iw_startup *s, const uint8_t *bytes, size_t len, size_t piece)
{
    enum iw_startup_event e = IW_STARTUP_NONE;

    while (len > 0 && e == IW_STARTUP_NONE) {
        uint8_t *at;
        size_t n = iw_startup_rx_want(s, &at);

        if (n == 0)
            break;
        n = n < piece ? n : piece;
        n = n < len ? n : len;
        memcpy(at, bytes, n);
        bytes += n;
        len -= n;
        e = iw_startup_rx_done(s, n);
    }
    assert_int_equal(len, 0);
    return e;
}

size_t drain(struct iw_startup *s, uint8_t *bytes, size_t piece, enum iw_startup_event *e)
{
    size_t len = 0, n;
    const uint8_t *at;

    *e = IW_STARTUP_NONE;
    while ((n = iw_startup_tx_want(s, &at)) > 0) {
        assert_int_equal(*e, IW_STARTUP_NONE);
        n = n < piece ? n : piece;
        memcpy(bytes + len, at, n);
        len += n;
        *e = iw_startup_tx_done(s, n);
    }
    return len;
}

void assert_idle(struct iw_startup *s)
{
    const uint8_t *out;
    uint8_t *in;

    assert_int_equal(iw_startup_rx_want(s, &in), 0);
    assert_int_equal(iw_startup_tx_want(s, &out), 0);
}
