/* SPDX-License-Identifier: MIT */
/* Terminate: codes against the RFCs' tables written out as bytes, round trips, truncations, control words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hex.h"
#include "wire/terminate.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* RFC 5040 section 4.8 (layer 0), RFC 5041 section 7.2 (layer 1), RFC 5044 section 8 and RFC 6581 (layer 2). */
static const struct {
    enum wire_error error;
    const char *hex;
} codes[] = {
    { WIRE_RDMAP_CATASTROPHIC, "0000" },
    { WIRE_RDMAP_INVALID_STAG, "0100" },
    { WIRE_RDMAP_BOUNDS, "0101" },
    { WIRE_RDMAP_ACCESS, "0102" },
    { WIRE_RDMAP_STAG_NOT_ASSOCIATED, "0103" },
    { WIRE_RDMAP_TO_WRAP, "0104" },
    { WIRE_RDMAP_STAG_NOT_INVALIDATED, "0109" },
    { WIRE_RDMAP_PROTECTION, "01ff" },
    { WIRE_RDMAP_VERSION, "0205" },
    { WIRE_RDMAP_OPCODE, "0206" },
    { WIRE_RDMAP_STREAM_CATASTROPHIC, "0207" },
    { WIRE_RDMAP_GLOBAL_CATASTROPHIC, "0208" },
    { WIRE_RDMAP_CANNOT_INVALIDATE, "0209" },
    { WIRE_RDMAP_OPERATION, "02ff" },
    { WIRE_DDP_CATASTROPHIC, "1000" },
    { WIRE_DDP_TAGGED_STAG, "1100" },
    { WIRE_DDP_TAGGED_BOUNDS, "1101" },
    { WIRE_DDP_TAGGED_STREAM, "1102" },
    { WIRE_DDP_TAGGED_WRAP, "1103" },
    { WIRE_DDP_TAGGED_VERSION, "1104" },
    { WIRE_DDP_UNTAGGED_QN, "1201" },
    { WIRE_DDP_UNTAGGED_NO_BUFFER, "1202" },
    { WIRE_DDP_UNTAGGED_MSN_RANGE, "1203" },
    { WIRE_DDP_UNTAGGED_MO, "1204" },
    { WIRE_DDP_UNTAGGED_TOO_LONG, "1205" },
    { WIRE_DDP_UNTAGGED_VERSION, "1206" },
    { WIRE_MPA_TCP_LOST, "2001" },
    { WIRE_MPA_CRC, "2002" },
    { WIRE_MPA_MARKER, "2003" },
    { WIRE_MPA_FRAME, "2004" },
    { WIRE_MPA_LOCAL_CATASTROPHIC, "2005" },
    { WIRE_MPA_INSUFFICIENT_IRD, "2006" },
    { WIRE_MPA_NO_RTR, "2007" },
};

static void test_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(codes); i++) {
        struct terminate t = { .error = codes[i].error }, again;
        uint8_t b[TERMINATE_MAX_PAYLOAD], want[4] = { 0 };

        assert_int_equal(hex_bytes(want, 2, codes[i].hex), 2);
        assert_int_equal(terminate_encode(&t, b, sizeof b), 4);
        assert_memory_equal(b, want, 4);
        assert_true(terminate_decode(&again, b, 4));
        assert_int_equal(again.error, codes[i].error);
        assert_false(again.has_header);
    }
}

/* No code on the wire means that there is no error. */
static void test_all_codes(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 65536; code++) {
        uint8_t b[4] = { (uint8_t)(code >> 8), (uint8_t)code };
        struct terminate t;

        assert_true(terminate_decode(&t, b, sizeof b));
        assert_int_equal(t.error, code);
        assert_int_not_equal(t.error, WIRE_OK);
    }
}

/* clang-format off */
static const struct {
    const char *hex;
    struct terminate want;
} layouts[] = {
    /* MPA, CRC: nothing follows */
    { "2002 0000", { .error = WIRE_MPA_CRC } },
    /* a length alone */
    { "1100 8000 0100", { .error = WIRE_DDP_TAGGED_STAG, .has_header = true, .segment_len = 0x100 } },
    /* a write with a bad STag: length and tagged header */
    { "1100 c000 002a c140 01020304 05060708090a0b0c",
      { .error = WIRE_DDP_TAGGED_STAG, .has_header = true, .segment_len = 42, .header_len = DDP_TAGGED_HEADER } },
    /* a send without a receive: length and untagged header */
    { "1202 c000 0022 4143 00000000 00000000 00000007 00000000",
      { .error = WIRE_DDP_UNTAGGED_NO_BUFFER, .has_header = true, .segment_len = 34,
        .header_len = DDP_UNTAGGED_HEADER } },
    /* a read without the right: the Read Request too */
    { "0102 e000 002e 4141 00000000 00000001 00000001 00000000"
      "11121314 1516171800000000 00001000 21222324 2526272800000000",
      { .error = WIRE_RDMAP_ACCESS, .has_header = true, .segment_len = 46,
        .header_len = DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST } },
};
/* clang-format on */

static void test_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const struct terminate *want = &layouts[i].want;
        uint8_t b[TERMINATE_MAX_PAYLOAD], again[TERMINATE_MAX_PAYLOAD];
        size_t len = hex_bytes(b, sizeof b, layouts[i].hex);
        struct terminate t;

        assert_true(terminate_decode(&t, b, len));
        assert_int_equal(t.error, want->error);
        assert_int_equal(t.has_header, want->has_header);
        assert_int_equal(t.segment_len, want->segment_len);
        assert_int_equal(t.header_len, want->header_len);
        assert_memory_equal(t.header, b + 6, t.header_len);
        assert_int_equal(terminate_encode(&t, again, sizeof again), len);
        assert_memory_equal(again, b, len);
        for (size_t less = 0; less < len; less++) {
            uint8_t *copy = malloc(less ? less : 1);

            assert_non_null(copy);
            memcpy(copy, b, less);
            assert_false(terminate_decode(&t, copy, less));
            free(copy);
            t = (struct terminate){ 0 };
            assert_true(terminate_decode(&t, b, len));
            assert_int_equal(terminate_encode(&t, again, less), 0);
        }
    }
}

/*
 * Control words with every length: no byte beyond the end is read, and no more is stored than the header has room for.
 */
static void test_all_controls(void **state)
{
    (void)state;
    for (size_t len = 0; len <= TERMINATE_MAX_PAYLOAD + 2; len++) {
        uint8_t *b = calloc(1, len ? len : 1);

        assert_non_null(b);
        for (unsigned control = 0; control < 65536; control += 0x0801) {
            struct terminate t;

            if (len >= 4) {
                b[2] = (uint8_t)(control >> 8);
                b[3] = (uint8_t)control;
            }
            if (len >= 7)
                b[6] = control & 1 ? 0x80 : 0;
            if (!terminate_decode(&t, b, len))
                continue;
            assert_in_range(t.header_len, 0, sizeof t.header);
            assert_true(len >= 4 + (t.has_header ? 2 + t.header_len : 0));
        }
        free(b);
    }
}

static void test_not_encodable(void **state)
{
    struct terminate t = { .error = WIRE_OK };
    uint8_t b[TERMINATE_MAX_PAYLOAD];

    (void)state;
    assert_int_equal(terminate_encode(&t, b, sizeof b), 0);
    t = (struct terminate){ .error = WIRE_RDMAP_OPCODE, .has_header = true };
    for (t.header_len = 0; t.header_len <= sizeof t.header; t.header_len++) {
        bool fits = t.header_len == 0 || t.header_len == 18 || t.header_len == 18 + 28;
        assert_int_equal(terminate_encode(&t, b, sizeof b), fits ? 6 + t.header_len : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),        cmocka_unit_test(test_all_codes),     cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_all_controls), cmocka_unit_test(test_not_encodable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
