/* SPDX-License-Identifier: MIT */
/* MPA frames: those that Linux siw sends, all combinations of flags, all truncations; and the sizes of FPDUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hex.h"
#include "wire/mpa.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const request_key = "4d504120494420526571204672616d65";
static const char *const reply_key = "4d504120494420526570204672616d65";

struct vector {
    bool reply;
    const char *hex; /* behind the key */
    struct mpa_frame want;
    bool exact; /* encoding returns the same bytes: no reserved bit, and limits with S */
};

/* clang-format off */
static const struct vector vectors[] = {
    { false, "40010000", { .crc = true, .revision = 1 }, true },
    { false, "00010000", { .revision = 1 }, true },
    { false, "50020004 00010001",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .ird = 1, .ord = 1 }, true },
    { true, "10020004 00080004",
      { .revision = 2, .enhanced = true, .has_limits = true, .ird = 8, .ord = 4 }, true },
    { false, "50020004 3fff3fff",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .ird = 0x3fff, .ord = 0x3fff }, true },
    { true, "50020004 00800080",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .ird = 128, .ord = 128 }, true },
    { false, "50020004 8001c001",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .peer_to_peer = true,
        .rtr = MPA_RTR_WRITE | MPA_RTR_READ, .ird = 1, .ord = 1 }, true },
    { true, "50020004 80018001",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .peer_to_peer = true,
        .rtr = MPA_RTR_WRITE, .ird = 1, .ord = 1 }, true },
    { true, "50020004 80014001",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .peer_to_peer = true,
        .rtr = MPA_RTR_READ, .ird = 1, .ord = 1 }, true },
    { false, "50020004 c0010001",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .peer_to_peer = true,
        .rtr = MPA_RTR_ZERO_FPDU, .ird = 1, .ord = 1 }, true },
    { false, "40020000", { .crc = true, .revision = 2 }, true },
    { false, "50020000", { .crc = true, .revision = 2, .enhanced = true }, false },
    { true, "70020000", { .crc = true, .rejected = true, .revision = 2, .enhanced = true }, false },
    { false, "50020009 00010001 68656c6c6f",
      { .crc = true, .revision = 2, .enhanced = true, .has_limits = true, .ird = 1, .ord = 1, .private_len = 5 },
      true },
    { false, "40010005 68656c6c6f", { .crc = true, .revision = 1, .private_len = 5 }, true },
    { false, "c0010000", { .markers = true, .crc = true, .revision = 1 }, true },
    { true, "60010000", { .crc = true, .rejected = true, .revision = 1 }, true },
    { false, "40000000", { .crc = true, .revision = 0 }, true },
    { false, "4f010000", { .crc = true, .revision = 1 }, false },
    { false, "50010004 00010001", { .crc = true, .revision = 1, .private_len = 4 }, false },
    { false, "40030000", { .crc = true, .revision = 3 }, true },
    { false, "10020004 00010001",
      { .revision = 2, .enhanced = true, .has_limits = true, .ird = 1, .ord = 1 }, true },
    { true, "90020004 00010001",
      { .markers = true, .revision = 2, .enhanced = true, .has_limits = true, .ird = 1, .ord = 1 }, true },
};
/* clang-format on */

static size_t frame_bytes(uint8_t *b, bool reply, const char *hex)
{
    size_t n = hex_bytes(b, 16, reply ? reply_key : request_key);

    return n + hex_bytes(b + n, MPA_MAX_PRIVATE_DATA, hex);
}

static void assert_same_frame(const struct mpa_frame *a, const struct mpa_frame *b)
{
    assert_int_equal(a->reply, b->reply);
    assert_int_equal(a->markers, b->markers);
    assert_int_equal(a->crc, b->crc);
    assert_int_equal(a->rejected, b->rejected);
    assert_int_equal(a->enhanced, b->enhanced);
    assert_int_equal(a->revision, b->revision);
    assert_int_equal(a->has_limits, b->has_limits);
    assert_int_equal(a->peer_to_peer, b->peer_to_peer);
    assert_int_equal(a->rtr, b->rtr);
    assert_int_equal(a->ird, b->ird);
    assert_int_equal(a->ord, b->ord);
    assert_int_equal(a->private_len, b->private_len);
}

static void test_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint8_t b[MPA_MAX_FRAME], again[MPA_MAX_FRAME];
        size_t len = frame_bytes(b, vectors[i].reply, vectors[i].hex), need;
        struct mpa_frame f, want = vectors[i].want;

        want.reply = vectors[i].reply;
        assert_int_equal(mpa_frame_decode(&f, want.reply, b, len, &need), MPA_DECODED);
        assert_int_equal(need, len);
        assert_same_frame(&f, &want);
        assert_ptr_equal(f.private_data, b + len - f.private_len);
        if (!vectors[i].exact)
            continue;
        assert_int_equal(mpa_frame_encode(&f, again, sizeof again), len);
        assert_memory_equal(again, b, len);
    }
}

/*
 * With fewer bytes than a frame has, more are requested, but never more than it has. Each truncation has its own heap
 * block.
 */
static void test_truncated(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint8_t b[MPA_MAX_FRAME];
        size_t full = frame_bytes(b, vectors[i].reply, vectors[i].hex), need;
        struct mpa_frame f;

        for (size_t len = 0; len < full; len++) {
            uint8_t *copy = malloc(len ? len : 1);

            assert_non_null(copy);
            memcpy(copy, b, len);
            assert_int_equal(mpa_frame_decode(&f, vectors[i].reply, copy, len, &need), MPA_MORE);
            assert_int_equal(need, len < MPA_FRAME_HEADER ? MPA_FRAME_HEADER : full);
            free(copy);
        }
    }
}

static void test_more_than_the_frame(void **state)
{
    uint8_t b[MPA_MAX_FRAME] = { 0 };
    size_t len = frame_bytes(b, false, "50020009 00010001 68656c6c6f"), need;
    struct mpa_frame f;

    (void)state;
    assert_int_equal(mpa_frame_decode(&f, false, b, sizeof b, &need), MPA_DECODED);
    assert_int_equal(need, len);
    assert_int_equal(f.private_len, 5);
    assert_memory_equal(f.private_data, "hello", 5);
}

static void test_keys(void **state)
{
    uint8_t b[MPA_MAX_FRAME];
    struct mpa_frame f;
    size_t need;

    (void)state;
    for (int reply = 0; reply <= 1; reply++) {
        for (size_t wrong = 0; wrong < 16; wrong++) {
            frame_bytes(b, reply, "40010000");
            b[wrong]++;
            for (size_t len = 1; len <= 20; len++)
                assert_int_equal(mpa_frame_decode(&f, reply, b, len, &need), len <= wrong ? MPA_MORE : MPA_BAD_KEY);
        }
        /* The two keys differ in their tenth byte. */
        frame_bytes(b, reply, "40010000");
        assert_int_equal(mpa_frame_decode(&f, !reply, b, 9, &need), MPA_MORE);
        assert_int_equal(mpa_frame_decode(&f, !reply, b, 10, &need), MPA_BAD_KEY);
    }
}

static void test_lengths(void **state)
{
    uint8_t b[MPA_MAX_FRAME + 1] = { 0 }, data[MPA_MAX_PRIVATE_DATA + 1] = { 0 };
    struct mpa_frame f, again;
    size_t need;

    (void)state;
    frame_bytes(b, false, "40010200");
    assert_int_equal(mpa_frame_decode(&f, false, b, MPA_MAX_FRAME, &need), MPA_DECODED);
    assert_int_equal(f.private_len, MPA_MAX_PRIVATE_DATA);
    for (unsigned len = MPA_MAX_PRIVATE_DATA + 1; len < 65536; len += 999) {
        b[18] = (uint8_t)(len >> 8);
        b[19] = (uint8_t)len;
        assert_int_equal(mpa_frame_decode(&f, false, b, MPA_FRAME_HEADER, &need), MPA_BAD_LENGTH);
    }
    f = (struct mpa_frame){ .revision = 2, .enhanced = true, .private_data = data, .private_len = 508 };
    assert_int_equal(mpa_frame_encode(&f, b, sizeof b), MPA_MAX_FRAME);
    assert_int_equal(mpa_frame_decode(&again, false, b, MPA_MAX_FRAME, &need), MPA_DECODED);
    assert_int_equal(again.private_len, 508);
    assert_int_equal(mpa_frame_encode(&f, b, MPA_MAX_FRAME - 1), 0);
    f.private_len++;
    assert_int_equal(mpa_frame_encode(&f, b, sizeof b), 0);
    f.enhanced = false;
    f.private_len = MPA_MAX_PRIVATE_DATA;
    assert_int_equal(mpa_frame_encode(&f, b, sizeof b), MPA_MAX_FRAME);
    f.private_len++;
    assert_int_equal(mpa_frame_encode(&f, b, sizeof b), 0);
    f.private_len = SIZE_MAX;
    assert_int_equal(mpa_frame_encode(&f, b, sizeof b), 0);
}

static struct mpa_frame combination(unsigned bits, const uint8_t *data)
{
    static const uint16_t limits[] = { 0, 1, 0x1234, 0x3fff };
    struct mpa_frame f = {
        .reply = bits & 1,
        .markers = bits & 2,
        .crc = bits & 4,
        .rejected = bits & 8,
        .enhanced = bits & 16,
        .private_data = data,
        .private_len = bits & 32 ? 37 : 0,
        .revision = bits & 16 ? 2 : (uint8_t)(bits >> 6 & 3),
    };

    if (f.enhanced) {
        f.has_limits = true;
        f.peer_to_peer = bits & 256;
        f.rtr = bits >> 9 & 7;
        f.ird = limits[bits >> 12 & 3];
        f.ord = limits[bits >> 14 & 3];
    }
    return f;
}

/* Every combination of flags, forms, revisions and some limits survives a round trip, if the buffer is large enough. */
static void test_round_trips(void **state)
{
    uint8_t b[MPA_MAX_FRAME], data[37];

    (void)state;
    memset(data, 0xa5, sizeof data);
    for (unsigned bits = 0; bits < 65536; bits++) {
        struct mpa_frame f = combination(bits, data), again;
        size_t len = mpa_frame_encode(&f, b, sizeof b), need;

        assert_int_equal(len, MPA_FRAME_HEADER + (f.enhanced ? MPA_LIMITS : 0) + f.private_len);
        assert_int_equal(mpa_frame_decode(&again, f.reply, b, len, &need), MPA_DECODED);
        assert_same_frame(&again, &f);
        assert_memory_equal(again.private_data, data, f.private_len);
        assert_int_equal(mpa_frame_encode(&f, b, len), len);
        assert_int_equal(mpa_frame_encode(&f, b, bits % len), 0);
    }
}

static void test_fpdu_sizes(void **state)
{
    (void)state;
    assert_int_equal(mpa_fpdu_size(0), 8);
    assert_int_equal(mpa_fpdu_size(2), 8);
    assert_int_equal(mpa_fpdu_size(3), 12);
    assert_int_equal(mpa_fpdu_size(14), 20);
    assert_int_equal(mpa_fpdu_size(46), 52);
    assert_int_equal(mpa_max_ulpdu(1460), 1454);
    assert_int_equal(mpa_max_ulpdu(1448), 1442);
    assert_int_equal(mpa_max_ulpdu(0), 128);
    assert_int_equal(mpa_max_ulpdu(SIZE_MAX), 65526);
    for (size_t emss = 0; emss < 70000; emss++) {
        size_t max = mpa_max_ulpdu(emss);

        assert_in_range(max, 128, 65526);
        if (max > 128)
            assert_true(mpa_fpdu_size(max) <= emss);
        if (max < 65526 && emss >= 134)
            assert_true(mpa_fpdu_size(max + 1) > emss);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),   cmocka_unit_test(test_truncated), cmocka_unit_test(test_more_than_the_frame),
        cmocka_unit_test(test_keys),       cmocka_unit_test(test_lengths),   cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_fpdu_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
