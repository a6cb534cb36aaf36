/* SPDX-License-Identifier: MIT */
/* DDP and RDMAP headers: frames recorded from Linux siw, round trips, and every truncation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/hex.h"
#include "wire/mpa.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Whole FPDUs with CRC. */
/* clang-format off */
static const struct {
    const char *hex;
    struct ddp_header want;
    size_t size, payload;
} recorded[] = {
    { "000e c140 00000000 0000000000000000 a30572ab",
      { .tagged = true, .last = true, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_WRITE },
      DDP_TAGGED_HEADER, 0 },
    { "002e 4141 00000000 00000001 00000001 00000000"
      "00000000 0000000000000000 00000000 00000000 0000000000000000 f2c6dd3d",
      { .last = true, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_READ_REQ,
        .queue = DDP_QUEUE_READ, .msn = 1 },
      DDP_UNTAGGED_HEADER, RDMAP_READ_REQUEST },
    { "000e c142 00000000 0000000000000000 6975d6ca",
      { .tagged = true, .last = true, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_READ_RESP },
      DDP_TAGGED_HEADER, 0 },
    { "0022 4143 00000000 00000000 00000001 00000000 00005644626c9d50 24882000 00000040 0a2cfc97",
      { .last = true, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_SEND,
        .queue = DDP_QUEUE_SEND, .msn = 1 },
      DDP_UNTAGGED_HEADER, 16 },
};
/* clang-format on */

static void assert_same_header(const struct ddp_header *a, const struct ddp_header *b)
{
    assert_int_equal(a->tagged, b->tagged);
    assert_int_equal(a->last, b->last);
    assert_int_equal(a->ddp_version, b->ddp_version);
    assert_int_equal(a->rdmap_version, b->rdmap_version);
    assert_int_equal(a->opcode, b->opcode);
    assert_int_equal(a->stag, b->stag);
    assert_int_equal(a->to, b->to);
    assert_int_equal(a->queue, b->queue);
    assert_int_equal(a->msn, b->msn);
    assert_int_equal(a->mo, b->mo);
}

static void test_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        uint8_t b[128], again[DDP_MAX_HEADER], crc[4];
        size_t len = hex_bytes(b, sizeof b, recorded[i].hex), size;
        size_t ulpdu = (size_t)b[0] << 8 | b[1];
        struct ddp_header h;

        assert_int_equal(len, mpa_fpdu_size(ulpdu));
        crc32c_final(crc32c_update(CRC32C_INIT, b, len - 4), crc);
        assert_memory_equal(crc, b + len - 4, 4);
        assert_true(ddp_header_decode(&h, b + 2, ulpdu, &size));
        assert_int_equal(size, recorded[i].size);
        assert_int_equal(ulpdu - size, recorded[i].payload);
        assert_same_header(&h, &recorded[i].want);
        assert_int_equal(ddp_header_encode(&h, again, sizeof again), size);
        assert_memory_equal(again, b + 2, size);
    }
}

/* Every value of the first two bytes: bits get to their fields, and reserved bits do not matter. */
static void test_control_bits(void **state)
{
    (void)state;
    for (unsigned control = 0; control < 65536; control++) {
        uint8_t b[DDP_MAX_HEADER] = { (uint8_t)(control >> 8), (uint8_t)control }, again[DDP_MAX_HEADER];
        struct ddp_header h;
        size_t size;

        assert_true(ddp_header_decode(&h, b, sizeof b, &size));
        assert_int_equal(size, control & 0x8000 ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER);
        assert_int_equal(h.tagged, (control & 0x8000) != 0);
        assert_int_equal(h.last, (control & 0x4000) != 0);
        assert_int_equal(h.ddp_version, control >> 8 & 3);
        assert_int_equal(h.rdmap_version, control >> 6 & 3);
        assert_int_equal(h.opcode, control & 15);
        assert_int_equal(ddp_header_encode(&h, again, sizeof again), size);
        assert_int_equal(again[0], (control >> 8 & 0xc0) | DDP_VERSION);
        assert_int_equal(again[1], RDMAP_VERSION << 6 | (control & 15));
    }
}

static void test_fields(void **state)
{
    static const struct ddp_header tagged = {
        .tagged = true,
        .ddp_version = 1,
        .rdmap_version = 1,
        .opcode = RDMAP_WRITE,
        .stag = 0x01020304,
        .to = 0x05060708090a0b0cu,
    };
    static const struct ddp_header untagged = {
        .last = true,
        .ddp_version = 1,
        .rdmap_version = 1,
        .opcode = RDMAP_SEND_SE_INV,
        .stag = 0x01020304,
        .queue = 0x05060708,
        .msn = 0x090a0b0c,
        .mo = 0x0d0e0f10,
    };
    uint8_t want[DDP_MAX_HEADER], b[DDP_MAX_HEADER];
    struct ddp_header h;
    size_t size;

    (void)state;
    hex_bytes(want, sizeof want, "8140 01020304 05060708090a0b0c");
    assert_int_equal(ddp_header_encode(&tagged, b, sizeof b), DDP_TAGGED_HEADER);
    assert_memory_equal(b, want, DDP_TAGGED_HEADER);
    assert_true(ddp_header_decode(&h, b, DDP_TAGGED_HEADER, &size));
    assert_same_header(&h, &tagged);
    hex_bytes(want, sizeof want, "4146 01020304 05060708 090a0b0c 0d0e0f10");
    assert_int_equal(ddp_header_encode(&untagged, b, sizeof b), DDP_UNTAGGED_HEADER);
    assert_memory_equal(b, want, DDP_UNTAGGED_HEADER);
    assert_true(ddp_header_decode(&h, b, DDP_UNTAGGED_HEADER, &size));
    assert_same_header(&h, &untagged);
}

/* Length and header written together equal those written separately, and nothing behind them is written. */
static void test_fpdu(void **state)
{
    static const uint64_t to = 0xfedcba9876543210u;
    uint8_t want[RDMAP_READ_FPDU + 1], got[RDMAP_READ_FPDU + 1];

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        struct ddp_header h = { .tagged = i & 1,
                                .last = i & 2,
                                .opcode = (uint8_t)(i >> 2),
                                .stag = 0x89abcdef,
                                .to = to,
                                .queue = 0x80000001,
                                .msn = 0x90000002,
                                .mo = 0xa0000003 };
        struct rdmap_read_request r = { .sink_stag = 0xb0000004,
                                        .sink_to = to + 1,
                                        .length = 0xc0000005,
                                        .source_stag = 0xd0000006,
                                        .source_to = to + 2 };
        size_t ulpdu = i * 1040, size;

        memset(want, 0x5a, sizeof want);
        memset(got, 0x5a, sizeof got);
        want[0] = (uint8_t)(ulpdu >> 8);
        want[1] = (uint8_t)ulpdu;
        size = 2 + ddp_header_encode(&h, want + 2, DDP_MAX_HEADER);
        assert_int_equal(ddp_fpdu_begin(&h, ulpdu, got), size);
        assert_memory_equal(got, want, sizeof want);
        h.tagged = false;
        want[0] = 0;
        want[1] = DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST;
        ddp_header_encode(&h, want + 2, DDP_MAX_HEADER);
        assert_int_equal(rdmap_read_encode(&r, want + 20, RDMAP_READ_REQUEST), RDMAP_READ_REQUEST);
        rdmap_read_fpdu(&h, &r, got);
        assert_memory_equal(got, want, sizeof want);
    }
}

static void test_truncated(void **state)
{
    uint8_t b[DDP_MAX_HEADER] = { 0 };
    struct ddp_header h = { .opcode = RDMAP_SEND };
    size_t size;

    (void)state;
    for (int tagged = 0; tagged <= 1; tagged++) {
        size_t full = tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;

        h.tagged = tagged;
        for (size_t len = 0; len < full; len++) {
            b[0] = tagged ? 0x81 : 0x01;
            assert_false(ddp_header_decode(&h, b, len, &size));
            h.tagged = tagged;
            assert_int_equal(ddp_header_encode(&h, b, len), 0);
        }
        assert_int_equal(ddp_header_encode(&h, b, full), full);
    }
}

static void test_read_request(void **state)
{
    static const struct rdmap_read_request r = {
        .sink_stag = 0x01020304,
        .sink_to = 0x05060708090a0b0cu,
        .length = 0x0d0e0f10,
        .source_stag = 0x11121314,
        .source_to = 0x15161718191a1b1cu,
    };
    uint8_t b[RDMAP_READ_REQUEST + 1] = { 0 };
    struct rdmap_read_request again;

    (void)state;
    for (size_t len = 0; len < RDMAP_READ_REQUEST; len++) {
        assert_int_equal(rdmap_read_encode(&r, b, len), 0);
        assert_false(rdmap_read_decode(&again, b, len));
    }
    assert_int_equal(rdmap_read_encode(&r, b, sizeof b), RDMAP_READ_REQUEST);
    for (size_t i = 0; i < RDMAP_READ_REQUEST; i++)
        assert_int_equal(b[i], i + 1);
    assert_false(rdmap_read_decode(&again, b, sizeof b));
    assert_true(rdmap_read_decode(&again, b, RDMAP_READ_REQUEST));
    assert_int_equal(again.sink_stag, r.sink_stag);
    assert_int_equal(again.sink_to, r.sink_to);
    assert_int_equal(again.length, r.length);
    assert_int_equal(again.source_stag, r.source_stag);
    assert_int_equal(again.source_to, r.source_to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_control_bits), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fpdu),     cmocka_unit_test(test_truncated),    cmocka_unit_test(test_read_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
