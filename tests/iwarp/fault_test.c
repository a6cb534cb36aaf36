/* SPDX-License-Identifier: MIT */
/*
 * Abstract: each message that a peer must not send: the exact Terminate (layer, type, code, headers of the faulty
 * segment), the end of the stream, how each request ends, and no byte written outside the permitted memory. Also what a
 * peer's Terminate means for this side's requests.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/stage.h"
#include "wire/mpa.h"

/* One faulty segment, the first of its stream. */
struct fault {
    const char *name;
    struct ddp_header h;
    int region; /* 1 target, 2 source, 3 foreign: h.stag and h.to are relative to it */
    uint32_t payload;
    uint8_t flip[2]; /* XORed into the two control bytes */
    enum wire_error error;
    bool too_long; /* the receive completes as RDMA_STATUS_TOO_LONG */
};

/* clang-format off */
static const struct fault faults[] = {
    { "DDP version, tagged", TAGGED(RDMAP_WRITE, true, 0, 0), 1, 8, { 0x01, 0 }, WIRE_DDP_TAGGED_VERSION, false },
    { "DDP version, untagged", UNTAGGED(RDMAP_SEND, true, 0, 1, 0), 0, 8, { 0x03, 0 }, WIRE_DDP_UNTAGGED_VERSION,
      false },
    { "RDMAP version", UNTAGGED(RDMAP_SEND, true, 0, 1, 0), 0, 8, { 0, 0x40 }, WIRE_RDMAP_VERSION, false },
    { "RDMAP version, tagged", TAGGED(RDMAP_WRITE, true, 0, 0), 1, 8, { 0, 0xc0 }, WIRE_RDMAP_VERSION, false },
    { "opcode 8", UNTAGGED(8, true, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "opcode 15, tagged", TAGGED(15, true, 0, 0), 1, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "tagged send", TAGGED(RDMAP_SEND, true, 0, 0), 1, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "untagged write", UNTAGGED(RDMAP_WRITE, true, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "untagged read response", UNTAGGED(RDMAP_READ_RESP, true, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "queue 3", UNTAGGED(RDMAP_SEND, true, 3, 1, 0), 0, 8, { 0, 0 }, WIRE_DDP_UNTAGGED_QN, false },
    { "queue 2^31", UNTAGGED(RDMAP_SEND, true, 0x80000000u, 1, 0), 0, 8, { 0, 0 }, WIRE_DDP_UNTAGGED_QN, false },
    { "send on queue 1", UNTAGGED(RDMAP_SEND, true, 1, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "send on queue 2", UNTAGGED(RDMAP_SEND, true, 2, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "read on queue 0", UNTAGGED(RDMAP_READ_REQ, true, 0, 1, 0), 0, 28, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "terminate on queue 0", UNTAGGED(RDMAP_TERMINATE, true, 0, 1, 0), 0, 4, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "send number 0", UNTAGGED(RDMAP_SEND, true, 0, 0, 0), 0, 8, { 0, 0 }, WIRE_DDP_UNTAGGED_MSN_RANGE, false },
    { "send number 2", UNTAGGED(RDMAP_SEND, true, 0, 2, 0), 0, 8, { 0, 0 }, WIRE_DDP_UNTAGGED_MSN_RANGE, false },
    { "read number 2", UNTAGGED(RDMAP_READ_REQ, true, 1, 2, 0), 0, 28, { 0, 0 }, WIRE_DDP_UNTAGGED_MSN_RANGE, false },
    { "terminate number 2", UNTAGGED(RDMAP_TERMINATE, true, 2, 2, 0), 0, 4, { 0, 0 }, WIRE_DDP_UNTAGGED_MSN_RANGE,
      false },
    { "send from the middle", UNTAGGED(RDMAP_SEND, true, 0, 1, 4), 0, 8, { 0, 0 }, WIRE_DDP_UNTAGGED_MO, false },
    { "read from the middle", UNTAGGED(RDMAP_READ_REQ, true, 1, 1, 4), 0, 28, { 0, 0 }, WIRE_DDP_UNTAGGED_MO, false },
    { "terminate from the middle", UNTAGGED(RDMAP_TERMINATE, true, 2, 1, 1), 0, 4, { 0, 0 }, WIRE_DDP_UNTAGGED_MO,
      false },
    { "send too long by one", UNTAGGED(RDMAP_SEND, true, 0, 1, 0), 0, LEN + 1, { 0, 0 },
      WIRE_DDP_UNTAGGED_TOO_LONG, true },
    { "send too long by far", UNTAGGED(RDMAP_SEND, false, 0, 1, 0), 0, 20000, { 0, 0 }, WIRE_DDP_UNTAGGED_TOO_LONG,
      true },
    { "send too long, solicited", UNTAGGED(RDMAP_SEND_SE, true, 0, 1, 0), 0, LEN + 1, { 0, 0 },
      WIRE_DDP_UNTAGGED_TOO_LONG, true },
    { "read too long", UNTAGGED(RDMAP_READ_REQ, true, 1, 1, 0), 0, 29, { 0, 0 }, WIRE_DDP_UNTAGGED_TOO_LONG, false },
    { "read too short", UNTAGGED(RDMAP_READ_REQ, true, 1, 1, 0), 0, 27, { 0, 0 }, WIRE_RDMAP_STREAM_CATASTROPHIC,
      false },
    { "read in two segments", UNTAGGED(RDMAP_READ_REQ, false, 1, 1, 0), 0, 28, { 0, 0 },
      WIRE_RDMAP_STREAM_CATASTROPHIC, false },
    { "terminate too long", UNTAGGED(RDMAP_TERMINATE, true, 2, 1, 0), 0, TERMINATE_MAX_PAYLOAD + 1, { 0, 0 },
      WIRE_DDP_UNTAGGED_TOO_LONG, false },
    { "invalidate no STag", UNTAGGED(RDMAP_SEND_INV, true, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_INVALID_STAG, false },
    { "with an event", UNTAGGED(RDMAP_SEND_SE_INV, true, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_INVALID_STAG, false },
    { "invalidate in the middle", UNTAGGED(RDMAP_SEND_INV, false, 0, 1, 0), 0, 8, { 0, 0 }, WIRE_RDMAP_INVALID_STAG,
      false },
    { "invalidate a lasting one", UNTAGGED(RDMAP_SEND_INV, true, 0, 1, 0), 1, 8, { 0, 0 },
      WIRE_RDMAP_CANNOT_INVALIDATE, false },
    { "invalidate another domain's", UNTAGGED(RDMAP_SEND_SE_INV, true, 0, 1, 0), 3, 8, { 0, 0 },
      WIRE_RDMAP_STAG_NOT_ASSOCIATED, false },
    { "invalidate, too long", UNTAGGED(RDMAP_SEND_INV, true, 0, 1, 0), 1, LEN + 1, { 0, 0 },
      WIRE_DDP_UNTAGGED_TOO_LONG, true },
    { "invalidate on queue 1", UNTAGGED(RDMAP_SEND_INV, true, 1, 1, 0), 1, 8, { 0, 0 }, WIRE_RDMAP_OPCODE, false },
    { "write to no STag", TAGGED(RDMAP_WRITE, true, 0, 0), 0, 8, { 0, 0 }, WIRE_DDP_TAGGED_STAG, false },
    { "write to another STag", TAGGED(RDMAP_WRITE, true, 0x5a5a5a5a, 0), 1, 8, { 0, 0 }, WIRE_DDP_TAGGED_STAG, false },
    { "write across the end", TAGGED(RDMAP_WRITE, true, 0, LEN - 7), 1, 8, { 0, 0 }, WIRE_DDP_TAGGED_BOUNDS, false },
    { "write behind the end", TAGGED(RDMAP_WRITE, true, 0, LEN), 1, 1, { 0, 0 }, WIRE_DDP_TAGGED_BOUNDS, false },
    { "write before the start", TAGGED(RDMAP_WRITE, true, 0, (uint64_t)-1), 1, 8, { 0, 0 }, WIRE_DDP_TAGGED_BOUNDS,
      false },
    { "write beyond by far", TAGGED(RDMAP_WRITE, true, 0, 0), 1, 20000, { 0, 0 }, WIRE_DDP_TAGGED_BOUNDS, false },
    { "write without the right", TAGGED(RDMAP_WRITE, true, 0, 0), 2, 8, { 0, 0 }, WIRE_RDMAP_ACCESS, false },
    { "write to another domain", TAGGED(RDMAP_WRITE, true, 0, 0), 3, 8, { 0, 0 }, WIRE_DDP_TAGGED_STREAM, false },
    { "response to nothing", TAGGED(RDMAP_READ_RESP, true, 0, 0), 1, 8, { 0, 0 }, WIRE_DDP_TAGGED_STAG, false },
};
/* clang-format on */

/* Makes the ULPDU at out + 2, and returns its length. */
static size_t fault_build(const struct stage *s, const struct fault *f, uint8_t *out)
{
    const struct region *regions[] = { NULL, &s->target, &s->source, &s->foreign };
    struct ddp_header h = f->h;
    size_t size;

    if (f->region) {
        h.stag ^= regions[f->region]->stag;
        h.to += (uint64_t)(uintptr_t)regions[f->region]->at;
    }
    size = ddp_header_encode(&h, out + 2, DDP_MAX_HEADER);
    assert_true(size > 0);
    memset(out + 2 + size, 0x11, f->payload);
    out[2] ^= f->flip[0];
    out[3] ^= f->flip[1];
    return size + f->payload;
}

/* covers: QPR-05 QPR-13 MEM-02 MEM-04 WIR-04 WIR-05 */
static void test_segments(void **state)
{
    static uint8_t fpdu[32768];
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *f = &faults[i];
        bool read = f->h.opcode == RDMAP_READ_REQ && f->h.queue == 1 && f->payload >= RDMAP_READ_REQUEST;

        for (uint64_t seed = 0; seed < 16; seed++) {
            stage_open(&s, seed & 1, seed);
            s.p.whole = seed < 2;
            size_t len = fault_build(&s, f, fpdu);
            pump_inject(&s.p.b, fpdu, pump_seal(fpdu, s.crc, len));
            receive_all(&s.p.b);
            if (s.p.b.error != f->error)
                print_error("%s\n", f->name);
            assert_terminated(&s, &s.p.b, f->error, read ? HEADERS_READ : HEADERS_DDP, fpdu + 2, len);
            assert_int_equal(s.p.b.why, IW_END_LOCAL_ERROR);
            assert_int_equal(s.p.b.completions, 1);
            assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, f->too_long ? RDMA_STATUS_TOO_LONG : RDMA_STATUS_LOST);
            assert_int_equal(s.p.b.completed[0].error, f->error);
            assert_true(is_untouched(&s.receive));
            assert_true(is_untouched(&s.target));
            assert_true(is_untouched(&s.source));
            assert_true(is_untouched(&s.foreign));
            assert_int_equal(s.p.b.first_fpdus, 0);
            stage_close(&s);
        }
    }
}

/* Reads of memory that the peer must not read return no byte. covers: QPR-12 MEM-02 MEM-04 WIR-04 */
static void test_read_sources(void **state)
{
    static const struct {
        int region;
        uint32_t stag, length;
        uint64_t to;
        enum wire_error error;
    } reads[] = {
        { 0, 0x5a5a5a5a, 8, 0, WIRE_RDMAP_INVALID_STAG }, { 2, 0, LEN + 1, 0, WIRE_RDMAP_BOUNDS },
        { 2, 0, 8, LEN - 7, WIRE_RDMAP_BOUNDS },          { 2, 0, 8, (uint64_t)-1, WIRE_RDMAP_BOUNDS },
        { 2, 0, UINT32_MAX, 0, WIRE_RDMAP_BOUNDS },       { 1, 0, 8, 0, WIRE_RDMAP_ACCESS },
        { 3, 0, 8, 0, WIRE_RDMAP_STAG_NOT_ASSOCIATED },
    };
    uint8_t fpdu[256];
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 4 * sizeof reads / sizeof reads[0]; i++) {
        stage_open(&s, i & 1, i);
        const struct region *regions[] = { NULL, &s.target, &s.source, &s.foreign };
        unsigned k = i / 4;
        const struct region *r = regions[reads[k].region];
        struct ddp_header h = UNTAGGED(RDMAP_READ_REQ, true, 1, 1, 0);
        struct rdmap_read_request q = {
            .sink_stag = 7,
            .sink_to = 9,
            .length = reads[k].length,
            .source_stag = r ? r->stag : reads[k].stag,
            .source_to = (r ? (uint64_t)(uintptr_t)r->at : 0) + reads[k].to,
        };
        uint8_t payload[RDMAP_READ_REQUEST];
        rdmap_read_encode(&q, payload, sizeof payload);
        pump_inject(&s.p.b, fpdu, pump_fpdu(fpdu, s.crc, &h, payload, sizeof payload));
        receive_all(&s.p.b);
        assert_terminated(&s, &s.p.b, reads[k].error, HEADERS_READ, fpdu + 2, 46);
        stage_close(&s);
    }
}

/* Faults that depend on an earlier message. covers: QPR-05 WIR-04 */
static void test_sequences(void **state)
{
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        /* There is no receive for the second send. */
        struct ddp_header first = UNTAGGED(RDMAP_SEND, true, 0, 1, 0), second = UNTAGGED(RDMAP_SEND, true, 0, 2, 0),
                          again = UNTAGGED(RDMAP_SEND, true, 0, 1, 0);
        uint8_t ulpdu[64];
        stage_open(&s, i & 1, i);
        inject(&s, &first, LEN);
        inject(&s, &second, 0);
        receive_all(&s.p.b);
        ddp_header_encode(&second, ulpdu, sizeof ulpdu);
        assert_terminated(&s, &s.p.b, WIRE_DDP_UNTAGGED_NO_BUFFER, HEADERS_DDP, ulpdu, 18);
        assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, RDMA_STATUS_OK);
        assert_int_equal(s.p.b.completed[0].length, LEN);
        stage_close(&s);

        /* A message number is repeated. */
        stage_open(&s, i & 1, i);
        assert_int_equal(post(&s.p.b, RDMA_OP_RECEIVE, 0, 2, NULL, 0, NULL), 0);
        inject(&s, &first, 4);
        inject(&s, &again, 0);
        receive_all(&s.p.b);
        ddp_header_encode(&again, ulpdu, sizeof ulpdu);
        assert_terminated(&s, &s.p.b, WIRE_DDP_UNTAGGED_MSN_RANGE, HEADERS_DDP, ulpdu, 18);
        stage_close(&s);

        /* The second segment exceeds the receive, leaves a gap, or repeats the first. */
        for (int kind = 0; kind < 3; kind++) {
            struct ddp_header part = UNTAGGED(RDMAP_SEND, false, 0, 1, 0);
            uint32_t at = kind == 0 ? 60 : kind == 1 ? 61 : 0;
            struct ddp_header more = UNTAGGED(RDMAP_SEND, true, 0, 1, at);
            stage_open(&s, i & 1, i);
            inject(&s, &part, 60);
            inject(&s, &more, kind == 0 ? LEN - 59 : 4);
            receive_all(&s.p.b);
            ddp_header_encode(&more, ulpdu, sizeof ulpdu);
            assert_terminated(&s, &s.p.b, kind == 0 ? WIRE_DDP_UNTAGGED_TOO_LONG : WIRE_DDP_UNTAGGED_MO, HEADERS_DDP,
                              ulpdu, 18 + (kind == 0 ? LEN - 59 : 4));
            assert_completed(&s.p.b, 0, RDMA_OP_RECEIVE, 1, kind == 0 ? RDMA_STATUS_TOO_LONG : RDMA_STATUS_LOST);
            for (uint32_t k = 0; k < LEN; k++)
                assert_int_equal(s.receive.at[k], k < 60 ? 0x22 : 0xca);
            stage_close(&s);
        }
    }
}

/* Faults whose Terminate contains no header. covers: WIR-04 */
static void test_framing(void **state)
{
    struct stage s;
    uint8_t fpdu[64];

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        size_t len = 1 + i % 13;
        /* A ULPDU shorter than its header, tagged or not. */
        stage_open(&s, i & 1, i);
        memset(fpdu, 0, sizeof fpdu);
        fpdu[2] = i & 2 ? 0xc1 : 0x41;
        fpdu[3] = 0x40;
        pump_inject(&s.p.b, fpdu, pump_seal(fpdu, s.crc, len));
        receive_all(&s.p.b);
        assert_terminated(&s, &s.p.b, WIRE_RDMAP_STREAM_CATASTROPHIC, HEADERS_NONE, NULL, 0);
        stage_close(&s);

        /* The empty FPDU is valid once, at the beginning. */
        stage_open(&s, i & 1, i);
        size_t size = pump_fpdu(fpdu, s.crc, NULL, NULL, 0);
        pump_inject(&s.p.b, fpdu, size);
        receive_all(&s.p.b);
        assert_int_equal(s.p.b.first_fpdus, 1);
        assert_int_equal(s.p.b.ends, 0);
        pump_inject(&s.p.b, fpdu, size);
        receive_all(&s.p.b);
        assert_terminated(&s, &s.p.b, WIRE_RDMAP_STREAM_CATASTROPHIC, HEADERS_NONE, NULL, 0);
        stage_close(&s);

        /* One wrong bit, anywhere but in the length: nothing is placed. */
        struct ddp_header h = UNTAGGED(RDMAP_SEND, true, 0, 1, 0);
        uint8_t data[20] = { 1, 2, 3 };
        stage_open(&s, true, i);
        size = pump_fpdu(fpdu, true, &h, data, sizeof data);
        fpdu[2 + pump_random(&s.p, (uint32_t)size - 2)] ^= (uint8_t)(1 << pump_random(&s.p, 8));
        pump_inject(&s.p.b, fpdu, size);
        receive_all(&s.p.b);
        assert_terminated(&s, &s.p.b, WIRE_MPA_CRC, HEADERS_NONE, NULL, 0);
        assert_true(is_untouched(&s.receive));
        stage_close(&s);
    }
}

/* One read more than the limit. covers: QPR-11 CON-03 WIR-04 */
static void test_ird(void **state)
{
    struct stage s;
    uint8_t fpdu[64], payload[RDMAP_READ_REQUEST] = { 0 };

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        stage_open(&s, i & 1, i); /* four are allowed, and b answers none */
        for (uint32_t msn = 1; msn <= 5; msn++) {
            struct ddp_header h = UNTAGGED(RDMAP_READ_REQ, true, 1, msn, 0);
            assert_int_equal(s.p.b.ends, 0);
            pump_inject(&s.p.b, fpdu, pump_fpdu(fpdu, s.crc, &h, payload, sizeof payload));
            receive_all(&s.p.b);
        }
        assert_int_equal(s.p.b.ends, 1);
        assert_int_equal(s.p.b.error, WIRE_DDP_UNTAGGED_NO_BUFFER);
        stage_close(&s);
    }
}

/* b reads 60 bytes of a; the test makes up the response. */
struct answer {
    const char *name;
    bool other_stag, write;
    uint32_t to, payload;
    bool last;
    enum wire_error error;
};

static const struct answer answers[] = {
    { "another STag", true, false, 0, 60, true, WIRE_DDP_TAGGED_STAG },
    { "a write to the sink", false, true, 0, 60, true, WIRE_DDP_TAGGED_STAG },
    { "from the second octet", false, false, 1, 59, true, WIRE_DDP_TAGGED_BOUNDS },
    { "one octet too many", false, false, 0, 61, true, WIRE_DDP_TAGGED_BOUNDS },
    { "many octets too many", false, false, 0, 30000, false, WIRE_DDP_TAGGED_BOUNDS },
    { "too short", false, false, 0, 59, true, WIRE_RDMAP_STREAM_CATASTROPHIC },
    { "without an end", false, false, 0, 60, false, WIRE_RDMAP_STREAM_CATASTROPHIC },
};

static uint32_t sink_asked_for(struct stage *s)
{
    struct rdmap_read_request r;
    struct pipe *in = &s->p.a.in;

    while (pump_send(&s->p.b))
        continue;
    assert_true(rdmap_read_decode(&r, in->bytes + in->from + 2 + DDP_UNTAGGED_HEADER, RDMAP_READ_REQUEST));
    assert_int_equal(r.sink_to, 0);
    in->from = in->to;
    return r.sink_stag;
}

/* covers: QPR-12 WIR-04 */
static void test_answers(void **state)
{
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 8 * sizeof answers / sizeof answers[0]; i++) {
        const struct answer *a = &answers[i / 8];
        uint8_t ulpdu[64];
        struct rdma_sge at;

        stage_open(&s, i & 1, i);
        at = (struct rdma_sge){ (uint64_t)(uintptr_t)s.receive.at, 60, s.receive.stag };
        assert_int_equal(post(&s.p.b, RDMA_OP_READ, 0, 5, &at, 1, &s.source), 0);
        uint32_t stag = sink_asked_for(&s);
        struct ddp_header h = {
            .tagged = true,
            .last = a->last,
            .opcode = a->write ? RDMAP_WRITE : RDMAP_READ_RESP,
            .stag = a->other_stag ? stag ^ 1 : stag,
            .to = a->to,
        };
        inject(&s, &h, a->payload);
        receive_all(&s.p.b);
        if (s.p.b.error != a->error)
            print_error("%s\n", a->name);
        ddp_header_encode(&h, ulpdu, sizeof ulpdu);
        assert_terminated(&s, &s.p.b, a->error, HEADERS_DDP, ulpdu, DDP_TAGGED_HEADER + a->payload);
        assert_completed(&s.p.b, 0, RDMA_OP_READ, 5, RDMA_STATUS_LOST);
        assert_true(is_untouched(&s.receive));
        stage_close(&s);
    }
}

/* After its response the sink STag of a read is invalid, so that no byte is placed twice. covers: QPR-12 */
static void test_answer_twice(void **state)
{
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct rdma_sge at;
        stage_open(&s, i & 1, i);
        at = (struct rdma_sge){ (uint64_t)(uintptr_t)s.receive.at, 60, s.receive.stag };
        assert_int_equal(post(&s.p.b, RDMA_OP_READ, 0, 5, &at, 1, &s.source), 0);
        uint32_t stag = sink_asked_for(&s);
        struct ddp_header half = TAGGED(RDMAP_READ_RESP, false, stag, 0);
        struct ddp_header rest = TAGGED(RDMAP_READ_RESP, true, stag, 30);
        inject(&s, &half, 30);
        if (i & 2) {
            inject(&s, &half, 30);
            receive_all(&s.p.b);
            assert_int_equal(s.p.b.error, WIRE_DDP_TAGGED_BOUNDS);
            assert_completed(&s.p.b, 0, RDMA_OP_READ, 5, RDMA_STATUS_LOST);
        } else {
            inject(&s, &rest, 30);
            inject(&s, &rest, 30);
            receive_all(&s.p.b);
            assert_int_equal(s.p.b.error, WIRE_DDP_TAGGED_STAG);
            assert_completed(&s.p.b, 0, RDMA_OP_READ, 5, RDMA_STATUS_OK);
        }
        assert_int_equal(s.p.b.ends, 1);
        stage_close(&s);
    }
}

/* A read that a real peer refuses completes with the refusal's status; the other requests are lost. covers: QPR-12 */
static void test_refused_read(void **state)
{
    static const struct {
        uint32_t length;
        bool stale, right;
        enum rdma_status status;
    } reads[] = {
        { LEN, false, true, RDMA_STATUS_REMOTE_RANGE },
        { 10, true, true, RDMA_STATUS_REMOTE_ACCESS },
        { 10, false, false, RDMA_STATUS_REMOTE_ACCESS },
    };
    struct stage s;

    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        struct region sink;
        unsigned k = i / 8;
        stage_open(&s, i & 1, i);
        region_open(&s.p, &sink, LEN, RDMA_ACCESS_LOCAL_WRITE);
        struct rdma_sge at = { (uint64_t)(uintptr_t)sink.at, reads[k].length, sink.stag };
        struct region remote = *(reads[k].right ? &s.source : &s.target);
        remote.at += reads[k].length == LEN ? 1 : 0;
        remote.stag ^= reads[k].stale ? 1 : 0;
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 1, NULL, 0, &s.source), 0);
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 2, &at, 1, &remote), 0);
        assert_int_equal(post(&s.p.a, RDMA_OP_READ, 0, 3, NULL, 0, &s.source), 0);
        assert_int_equal(post(&s.p.a, RDMA_OP_SEND, RDMA_FLAG_READ_FENCE, 4, NULL, 0, NULL), 0);
        pump_run(&s.p);
        assert_int_equal(s.p.a.completions, 4);
        assert_true(s.p.a.completed[0].status == RDMA_STATUS_OK || s.p.a.completed[0].status == RDMA_STATUS_LOST);
        assert_completed(&s.p.a, 1, RDMA_OP_READ, 2, reads[k].status);
        assert_completed(&s.p.a, 2, RDMA_OP_READ, 3, RDMA_STATUS_LOST);
        assert_completed(&s.p.a, 3, RDMA_OP_SEND, 4, RDMA_STATUS_LOST);
        assert_int_equal(s.p.a.why, IW_END_PEER_TERMINATE);
        assert_int_equal(s.p.a.completed[1].error, s.p.a.error);
        assert_int_equal(s.p.a.ends, 1);
        assert_int_equal(s.p.b.ends, 1);
        assert_true(is_untouched(&sink));
        region_close(&sink);
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),     cmocka_unit_test(test_read_sources), cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_framing),      cmocka_unit_test(test_ird),          cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answer_twice), cmocka_unit_test(test_refused_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
