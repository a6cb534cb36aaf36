/* SPDX-License-Identifier: MIT */
/*
 * Abstract: MPA start-up. Frames are written as hexadecimal text, without the key: "flags revision length rest". There
 * are frames that Linux siw sends and answers, that other peers may send, and that no peer should send.
 * covers: WIR-02
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/handshake.h"
#include "iwarp/startup.h"
#include "wire/mpa.h"

/* Makes a frame of the key, the bytes of the hexadecimal text, and `filler` bytes of 0x5a. Returns its length. */
static size_t frame(uint8_t *bytes, bool reply, const char *hex, size_t filler)
{
    size_t n = 16;

    memcpy(bytes, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
    while (*hex) {
        unsigned byte;
        int used;

        assert_int_equal(sscanf(hex, " %2x%n", &byte, &used), 1);
        bytes[n++] = (uint8_t)byte;
        hex += used;
    }
    memset(bytes + n, 0x5a, filler);
    return n + filler;
}

static void assert_frame(const uint8_t *got, size_t len, bool reply, const char *hex)
{
    uint8_t want[MPA_MAX_FRAME];
    size_t n = frame(want, reply, hex, 0);

    assert_int_equal(len, n);
    assert_memory_equal(got, want, n);
}

struct request_case {
    const char *request;
    size_t filler;
    enum iw_startup_event event;
    const char *reply; /* the reply to an accept with limits 16, 16, or that is pending after MALFORMED; NULL: none */
    bool crc, peer_to_peer;
    enum mpa_rtr rtr;
    uint16_t ird, ord; /* effective */
};

static const struct request_case requests[] = {
    /* revisions 0 and 1 have no limits: this side's remain */
    { "40 01 0000", 0, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 },
    { "00 01 0000", 0, IW_STARTUP_REQUEST, "00 01 0000", false, false, 0, 16, 16 },
    { "40 00 0000", 0, IW_STARTUP_REQUEST, "40 00 0000", true, false, 0, 16, 16 },
    { "40 01 0005 68656c6c6f", 0, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 },
    { "50 01 0004 00010001", 0, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 }, /* S is reserved here */
    /* revision 2 */
    { "40 02 0000", 0, IW_STARTUP_REQUEST, "40 02 0000", true, false, 0, 16, 16 },
    { "10 02 0004 00010001", 0, IW_STARTUP_REQUEST, "10 02 0004 00010001", false, false, 0, 1, 1 }, /* siw's own */
    { "50 02 0004 00010001", 0, IW_STARTUP_REQUEST, "50 02 0004 00010001", true, false, 0, 1, 1 },
    { "10 02 0004 00040008", 0, IW_STARTUP_REQUEST, "10 02 0004 00080004", false, false, 0, 8, 4 },
    { "10 02 0004 00000008", 0, IW_STARTUP_REQUEST, "10 02 0004 00080000", false, false, 0, 8, 0 },
    { "50 02 0004 3fff3fff", 0, IW_STARTUP_REQUEST, "50 02 0004 00100010", true, false, 0, 16, 16 },
    { "50 02 0004 3ffe3ffe", 0, IW_STARTUP_REQUEST, "50 02 0004 00100010", true, false, 0, 16, 16 },
    { "50 02 0009 00010001 68656c6c6f", 0, IW_STARTUP_REQUEST, "50 02 0004 00010001", true, false, 0, 1, 1 },
    /* A with each set of forms is answered with A and one form */
    { "50 02 0004 8001c001", 0, IW_STARTUP_REQUEST, "50 02 0004 80018001", true, true, MPA_RTR_WRITE, 1, 1 },
    { "50 02 0004 c001c001", 0, IW_STARTUP_REQUEST, "50 02 0004 c0010001", true, true, MPA_RTR_ZERO_FPDU, 1, 1 },
    { "50 02 0004 80018001", 0, IW_STARTUP_REQUEST, "50 02 0004 80018001", true, true, MPA_RTR_WRITE, 1, 1 },
    { "50 02 0004 80014001", 0, IW_STARTUP_REQUEST, "50 02 0004 80014001", true, true, MPA_RTR_READ, 1, 1 },
    { "50 02 0004 c0014001", 0, IW_STARTUP_REQUEST, "50 02 0004 c0010001", true, true, MPA_RTR_ZERO_FPDU, 1, 1 },
    { "50 02 0004 c0010001", 0, IW_STARTUP_REQUEST, "50 02 0004 c0010001", true, true, MPA_RTR_ZERO_FPDU, 1, 1 },
    /* without reads allowed, a read is selected only if there is no other form */
    { "10 02 0004 c0014000", 0, IW_STARTUP_REQUEST, "10 02 0004 c0000001", false, true, MPA_RTR_ZERO_FPDU, 0, 1 },
    { "10 02 0004 80014000", 0, IW_STARTUP_REQUEST, "10 02 0004 80004001", false, true, MPA_RTR_READ, 0, 1 },
    /* forms without A are ignored */
    { "10 02 0004 4001c001", 0, IW_STARTUP_REQUEST, "10 02 0004 00010001", false, false, 0, 1, 1 },
    /* reserved bits and R are ignored, and sent as 0 */
    { "4f 01 0000", 0, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 },
    { "60 01 0000", 0, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 },
    { "7f 02 0004 00010001", 0, IW_STARTUP_REQUEST, "50 02 0004 00010001", true, false, 0, 1, 1 },
    /* private data up to the adapter's limit, which does not count the four bytes of the limits */
    { "40 01 00fc", 252, IW_STARTUP_REQUEST, "40 01 0000", true, false, 0, 16, 16 },
    { "50 02 0100 00010001", 252, IW_STARTUP_REQUEST, "50 02 0004 00010001", true, false, 0, 1, 1 },
    { "40 01 00fd", 253, IW_STARTUP_MALFORMED, "60 01 0000", .crc = true },
    { "50 02 0101 00010002", 253, IW_STARTUP_MALFORMED, "70 02 0004 00020001", .crc = true },
    { "40 01 0200", 512, IW_STARTUP_MALFORMED, "60 01 0000", .crc = true },
    /* rejected: markers, S without limits, A without a form of this side */
    { "c0 01 0000", 0, IW_STARTUP_MALFORMED, "60 01 0000", .crc = true },
    { "90 02 0004 00010001", 0, IW_STARTUP_MALFORMED, "30 02 0004 00010001", .crc = false },
    { "50 02 0000", 0, IW_STARTUP_MALFORMED, "70 02 0004 00100010", .crc = true },
    { "50 02 0003 000100", 0, IW_STARTUP_MALFORMED, "70 02 0004 00100010", .crc = true },
    { "50 02 0004 80010001", 0, IW_STARTUP_MALFORMED, "70 02 0004 c001c001", .crc = true },
    /* closed without a reply: revision, length */
    { "40 03 0000", 0, IW_STARTUP_MALFORMED, NULL, .crc = true },
    { "50 ff 0004 00010001", 0, IW_STARTUP_MALFORMED, NULL, .crc = true },
    { "40 01 0201", 0, IW_STARTUP_MALFORMED, NULL, .crc = true },
    { "40 01 ffff", 0, IW_STARTUP_MALFORMED, NULL, .crc = true },
};

static void serve(const struct request_case *c, size_t piece)
{
    struct iw_startup *s = iw_startup_responder(&usual);
    uint8_t bytes[MPA_MAX_FRAME + 1], reply[MPA_MAX_FRAME];
    struct iw_startup_result r;
    enum iw_startup_event e;
    uint16_t ird, ord;
    size_t len = frame(bytes, false, c->request, c->filler);
    const uint8_t *at;

    assert_non_null(s);
    assert_int_equal(iw_startup_tx_want(s, &at), 0);
    assert_int_equal(feed(s, bytes, len, piece), c->event);
    if (c->event == IW_STARTUP_REQUEST) {
        assert_idle(s);
        iw_startup_limits(s, &ird, &ord);
        assert_int_equal(ird, c->ird);
        assert_int_equal(ord, c->ord);
        iw_startup_accept(s, 16, 16, NULL, 0);
    }
    len = drain(s, reply, piece, &e);
    assert_int_equal(e, c->reply ? IW_STARTUP_SENT : IW_STARTUP_NONE);
    if (c->reply)
        assert_frame(reply, len, true, c->reply);
    if (c->event == IW_STARTUP_REQUEST) {
        iw_startup_result(s, &r);
        assert_int_equal(r.crc, c->crc);
        assert_int_equal(r.peer_to_peer, c->peer_to_peer);
        assert_int_equal(r.rtr, c->rtr);
        assert_int_equal(r.ird, c->ird);
        assert_int_equal(r.ord, c->ord);
    }
    assert_idle(s);
    iw_startup_free(s);
}

static void test_requests(void **state)
{
    static const size_t pieces[] = { MPA_MAX_FRAME, 1, 3 };

    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        print_message("%s\n", requests[i].request); /* the last one that is printed failed */
        for (size_t p = 0; p < COUNT(pieces); p++)
            serve(&requests[i], pieces[p]);
    }
}

/* The fault of each malformed request. */
static void test_faults(void **state)
{
    static const struct {
        const char *request;
        size_t filler;
        enum iw_startup_fault fault;
    } faults[] = {
        { "40 01 0201", 0, IW_FAULT_FRAME },
        { "40 03 0000", 0, IW_FAULT_REVISION },
        { "50 ff 0004 00010001", 0, IW_FAULT_REVISION },
        { "c0 01 0000", 0, IW_FAULT_MARKERS },
        { "90 02 0004 00010001", 0, IW_FAULT_MARKERS },
        { "50 02 0000", 0, IW_FAULT_NO_LIMITS },
        { "50 02 0003 000100", 0, IW_FAULT_NO_LIMITS },
        { "40 01 00fd", 253, IW_FAULT_PRIVATE_DATA },
        { "50 02 0101 00010002", 253, IW_FAULT_PRIVATE_DATA },
        { "50 02 0004 80010001", 0, IW_FAULT_NO_FORM },
    };
    uint8_t bytes[MPA_MAX_FRAME + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct iw_startup *s = iw_startup_responder(&usual);
        size_t len = frame(bytes, false, faults[i].request, faults[i].filler);

        assert_non_null(s);
        assert_int_equal(feed(s, bytes, len, len), IW_STARTUP_MALFORMED);
        assert_int_equal(iw_startup_fault(s), faults[i].fault);
        iw_startup_free(s);
    }
}

struct reply_case {
    const char *reply;
    enum iw_startup_event event;
    uint8_t revision;
    bool crc, peer_to_peer;
    enum mpa_rtr rtr;
    uint16_t ird, ord;
    size_t private_len;
};

/* The request: revision 2, no CRC, IRD 4, ORD 8, A with write and read. */
static const struct reply_case replies[] = {
    { "10 02 0004 00080004", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },
    { "50 02 0004 00080004", IW_STARTUP_ACCEPTED, 2, true, false, 0, 4, 8, 0 }, /* CRC, which was not requested */
    { "10 02 0004 00030002", IW_STARTUP_ACCEPTED, 2, false, false, 0, 2, 3, 0 },
    { "10 02 0004 00000000", IW_STARTUP_ACCEPTED, 2, false, false, 0, 0, 0, 0 },
    { "10 02 0004 00800004", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },
    { "10 02 0004 3fff3fff", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },
    { "1f 02 0004 00080004", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },
    { "10 02 0007 00080004 616263", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 3 },
    { "10 02 0004 80088004", IW_STARTUP_ACCEPTED, 2, false, true, MPA_RTR_WRITE, 4, 8, 0 },
    { "10 02 0004 80084004", IW_STARTUP_ACCEPTED, 2, false, true, MPA_RTR_READ, 4, 8, 0 },
    { "10 02 0004 8008c004", IW_STARTUP_ACCEPTED, 2, false, true, MPA_RTR_WRITE, 4, 8, 0 },
    { "10 02 0004 c0084004", IW_STARTUP_ACCEPTED, 2, false, true, MPA_RTR_READ, 4, 8, 0 }, /* B was not offered */
    { "10 02 0004 4008c004", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },           /* forms without A */
    /* a lower revision, or no S: the missing limits do not change this side's */
    { "00 02 0000", IW_STARTUP_ACCEPTED, 2, false, false, 0, 4, 8, 0 },
    { "40 01 0000", IW_STARTUP_ACCEPTED, 1, true, false, 0, 4, 8, 0 },
    { "50 01 0004 80018001", IW_STARTUP_ACCEPTED, 1, true, false, 0, 4, 8, 4 },
    { "00 00 0000", IW_STARTUP_ACCEPTED, 0, false, false, 0, 4, 8, 0 },
    /* R rejects, whatever the other fields are */
    { "70 02 0004 00010001", IW_STARTUP_REJECTED, .private_len = 0 },
    { "70 02 0000", IW_STARTUP_REJECTED, .private_len = 0 },
    { "30 02 0009 00010001 68656c6c6f", IW_STARTUP_REJECTED, .private_len = 5 },
    { "20 02 0005 68656c6c6f", IW_STARTUP_REJECTED, .private_len = 5 },
    { "60 01 0005 68656c6c6f", IW_STARTUP_REJECTED, .private_len = 5 },
    { "a0 01 0000", IW_STARTUP_REJECTED, .private_len = 0 },
    { "30 02 0004 c0090009", IW_STARTUP_REJECTED, .private_len = 0 },
    /* invalid */
    { "90 02 0004 00010001", IW_STARTUP_MALFORMED, .private_len = 0 },
    { "80 01 0000", IW_STARTUP_MALFORMED, .private_len = 0 },
    { "10 02 0000", IW_STARTUP_MALFORMED, .private_len = 0 },
    { "10 02 0003 000100", IW_STARTUP_MALFORMED, .private_len = 3 },
    { "10 03 0004 00010001", IW_STARTUP_MALFORMED, .private_len = 0 },
    { "30 03 0004 00010001", IW_STARTUP_MALFORMED, .private_len = 0 },
    { "10 02 0201", IW_STARTUP_MALFORMED, .private_len = 0 },
    /* more reads than offered; a form that was not offered */
    { "10 02 0004 00080005", IW_STARTUP_NO_IRD, 2, false, false, 0, 4, 8, 0 },
    { "50 02 0004 80083ffe", IW_STARTUP_NO_IRD, 2, true, false, 0, 4, 8, 0 },
    { "10 02 0004 c0080004", IW_STARTUP_NO_RTR, 2, false, false, 0, 4, 8, 0 },
    { "50 02 0004 80080004", IW_STARTUP_NO_RTR, 2, true, false, 0, 4, 8, 0 },
};

static struct iw_startup *initiator(const struct iw_startup_config *c, const char *request)
{
    struct iw_startup *s = iw_startup_initiator(c, 4, 8, NULL, 0);
    uint8_t bytes[MPA_MAX_FRAME], *at;
    enum iw_startup_event e;

    assert_non_null(s);
    assert_int_equal(iw_startup_rx_want(s, &at), 0);
    size_t len = drain(s, bytes, 7, &e);
    assert_int_equal(e, IW_STARTUP_NONE);
    assert_frame(bytes, len, false, request);
    return s;
}

static void answer(const struct reply_case *c, size_t piece)
{
    struct iw_startup_config config = usual;
    uint8_t bytes[MPA_MAX_FRAME + 1];
    struct iw_startup_result r;
    size_t len = frame(bytes, true, c->reply, 0), private_len;

    config.rtr = MPA_RTR_WRITE | MPA_RTR_READ;
    struct iw_startup *s = initiator(&config, "10 02 0004 8004c008");
    assert_int_equal(feed(s, bytes, len, piece), c->event);
    const uint8_t *data = iw_startup_private(s, &private_len);
    assert_int_equal(private_len, c->private_len);
    assert_memory_equal(data ? data : bytes, bytes + len - private_len, private_len);
    if (c->event != IW_STARTUP_REJECTED && c->event != IW_STARTUP_MALFORMED) {
        iw_startup_result(s, &r);
        assert_int_equal(r.revision, c->revision);
        assert_int_equal(r.crc, c->crc);
        assert_int_equal(r.peer_to_peer, c->peer_to_peer);
        assert_int_equal(r.rtr, c->rtr);
        assert_int_equal(r.ird, c->ird);
        assert_int_equal(r.ord, c->ord);
    }
    assert_idle(s);
    iw_startup_free(s);
}

static void test_replies(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(replies); i++) {
        print_message("%s\n", replies[i].reply);
        answer(&replies[i], MPA_MAX_FRAME);
        answer(&replies[i], 1);
    }
}

/* The request of each configuration. */
static void test_requests_of_ours(void **state)
{
    static const struct {
        uint8_t revision;
        bool crc;
        unsigned rtr;
        uint16_t max_ird, max_ord;
        const char *request;
    } cases[] = {
        { 2, false, 0, 16, 16, "10 02 0004 00040008" },
        { 2, true, 0, 16, 16, "50 02 0004 00040008" },
        { 2, false, ALL_FORMS, 16, 16, "10 02 0004 c004c008" },
        { 2, false, MPA_RTR_ZERO_FPDU, 16, 16, "10 02 0004 c0040008" },
        { 2, false, MPA_RTR_WRITE, 16, 16, "10 02 0004 80048008" },
        { 2, false, MPA_RTR_READ, 16, 16, "10 02 0004 80044008" },
        { 2, false, ALL_FORMS, 3, 2, "10 02 0004 c003c002" },
        { 2, false, ALL_FORMS, 3, 0, "10 02 0004 c0038000" },
        { 2, false, MPA_RTR_READ, 3, 0, "10 02 0004 80034000" },
        { 1, false, ALL_FORMS, 16, 16, "00 01 0000" },
        { 1, true, ALL_FORMS, 16, 16, "40 01 0000" },
        { 0, true, ALL_FORMS, 16, 16, "40 00 0000" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iw_startup_config config = {
            .revision = cases[i].revision,
            .crc = cases[i].crc,
            .rtr = cases[i].rtr,
            .max_ird = cases[i].max_ird,
            .max_ord = cases[i].max_ord,
            .max_private = 252,
        };
        iw_startup_free(initiator(&config, cases[i].request));
    }
}

/* No limit is ever stated as 0x3fff, which would mean that there is none. */
static void test_large_limits(void **state)
{
    struct iw_startup_config config = { .revision = 2, .max_ird = 0xffff, .max_ord = 0x7fff, .max_private = 252 };
    struct iw_startup *s = iw_startup_initiator(&config, 0xffff, 0x3fff, NULL, 0);
    uint8_t bytes[MPA_MAX_FRAME];
    enum iw_startup_event e;
    size_t len;

    (void)state;
    assert_non_null(s);
    len = drain(s, bytes, sizeof bytes, &e);
    assert_frame(bytes, len, false, "10 02 0004 3ffe3ffe");
    iw_startup_free(s);
}

/* A reply in a higher revision than the request's. */
static void test_higher_revision(void **state)
{
    static const char *const bad[][2] = {
        { "00 01 0000", "10 02 0004 00010001" },
        { "00 01 0000", "00 02 0000" },
        { "00 00 0000", "00 01 0000" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct iw_startup_config config = usual;
        uint8_t bytes[MPA_MAX_FRAME];
        size_t len = frame(bytes, true, bad[i][1], 0);

        config.revision = bad[i][0][4] == '1' ? 1 : 0;
        struct iw_startup *s = initiator(&config, bad[i][0]);
        assert_int_equal(feed(s, bytes, len, sizeof bytes), IW_STARTUP_MALFORMED);
        assert_idle(s);
        iw_startup_free(s);
    }
}

/* A wrong byte in the key ends start-up at that byte. The key of the other kind of frame is wrong too. */
static void test_wrong_keys(void **state)
{
    uint8_t bytes[MPA_MAX_FRAME];

    (void)state;
    for (size_t wrong = 0; wrong < 16; wrong++) {
        struct iw_startup *s = iw_startup_responder(&usual);
        size_t private_len;

        assert_non_null(s);
        frame(bytes, false, "40 01 0000", 0);
        bytes[wrong] ^= 0x20;
        assert_int_equal(feed(s, bytes, wrong + 1, 1), IW_STARTUP_MALFORMED);
        iw_startup_private(s, &private_len);
        assert_int_equal(private_len, 0);
        assert_idle(s);
        iw_startup_free(s);
    }
    struct iw_startup *s = iw_startup_responder(&usual);
    size_t len = frame(bytes, true, "40 01 0000", 0);
    assert_int_equal(feed(s, bytes, len, len), IW_STARTUP_MALFORMED);
    iw_startup_free(s);
}

/* rx_want never asks for more than the frame, so that the bytes behind it belong to the stream. */
static void test_wants_exactly_the_frame(void **state)
{
    struct iw_startup *s = iw_startup_responder(&usual);
    uint8_t bytes[MPA_MAX_FRAME], *at;
    size_t len = frame(bytes, false, "50 02 0009 00010001 68656c6c6f", 0);

    (void)state;
    assert_non_null(s);
    assert_int_equal(iw_startup_rx_want(s, &at), MPA_FRAME_HEADER);
    assert_int_equal(feed(s, bytes, 19, 19), IW_STARTUP_NONE);
    assert_int_equal(iw_startup_rx_want(s, &at), 1);
    assert_int_equal(feed(s, bytes + 19, 1, 1), IW_STARTUP_NONE);
    assert_int_equal(iw_startup_rx_want(s, &at), 9);
    assert_int_equal(iw_startup_rx_done(s, 0), IW_STARTUP_NONE);
    assert_int_equal(feed(s, bytes + 20, len - 20, 9), IW_STARTUP_REQUEST);
    iw_startup_free(s);
}

static void exchange_reject(uint8_t revision, size_t len)
{
    struct iw_startup_config config = usual;
    uint8_t data[MPA_MAX_PRIVATE_DATA], bytes[MPA_MAX_FRAME];
    enum iw_startup_event e;
    size_t n, got;

    config.revision = revision;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(i * 7 + len);
    struct iw_startup *a = iw_startup_initiator(&config, 4, 8, NULL, 0);
    struct iw_startup *p = iw_startup_responder(&config);
    assert_true(a && p);
    n = drain(a, bytes, sizeof bytes, &e);
    assert_int_equal(feed(p, bytes, n, n), IW_STARTUP_REQUEST);
    iw_startup_reject(p, data, len);
    n = drain(p, bytes, sizeof bytes, &e);
    assert_int_equal(e, IW_STARTUP_SENT);
    assert_int_equal(feed(a, bytes, n, n), IW_STARTUP_REJECTED);
    const uint8_t *received = iw_startup_private(a, &got);
    assert_int_equal(got, len);
    assert_memory_equal(received, data, len);
    assert_idle(a);
    assert_idle(p);
    iw_startup_free(a);
    iw_startup_free(p);
}

/* A reject has its private data behind the limits, if there are any. */
static void test_reject_data(void **state)
{
    static const size_t lengths[] = { 0, 1, 4, 252, MPA_MAX_PRIVATE_DATA - MPA_LIMITS };

    (void)state;
    for (uint8_t revision = 0; revision <= 2; revision++) {
        for (size_t i = 0; i < COUNT(lengths); i++)
            exchange_reject(revision, lengths[i]);
    }
}

/* Both tables can be printed for the documentation, and are complete. */
static void test_tables(void **state)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    iw_startup_print_tables(out);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; (at = strstr(at, "\n|")) != NULL; at++)
        lines++;
    assert_int_equal(lines, 2 + 5 + 2 + 7);
    assert_non_null(strstr(text, "| READING | - | AGREED / ACCEPTED | REJECTED / REJECTED |"));
    assert_non_null(strstr(text, "| DECIDING | - | - | - | ACCEPTING | REJECTING | - |"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_faults),
        cmocka_unit_test(test_replies),      cmocka_unit_test(test_requests_of_ours),
        cmocka_unit_test(test_large_limits), cmocka_unit_test(test_higher_revision),
        cmocka_unit_test(test_wrong_keys),   cmocka_unit_test(test_wants_exactly_the_frame),
        cmocka_unit_test(test_reject_data),  cmocka_unit_test(test_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
