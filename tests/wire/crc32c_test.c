/* SPDX-License-Identifier: MIT */
/* CRC32c: published check values, every length against a bitwise reference, and any split into pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "wire/crc32c.h"

static uint32_t read_final(uint32_t crc)
{
    uint8_t b[4];

    crc32c_final(crc, b);
    return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static uint32_t sum(const void *data, size_t len)
{
    return read_final(crc32c_update(CRC32C_INIT, data, len));
}

static uint32_t reference(const uint8_t *data, size_t len)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* The examples of RFC 3720, appendix B.4, and the customary check value. */
static void test_published(void **state)
{
    uint8_t b[32];

    (void)state;
    assert_int_equal(sum("123456789", 9), 0xe3069283u);
    memset(b, 0, sizeof b);
    assert_int_equal(sum(b, sizeof b), 0x8a9136aau);
    memset(b, 0xff, sizeof b);
    assert_int_equal(sum(b, sizeof b), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)i;
    assert_int_equal(sum(b, sizeof b), 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)(31 - i);
    assert_int_equal(sum(b, sizeof b), 0x113fdb5cu);
    assert_int_equal(sum(NULL, 0), 0);
}

/* The library has paths by length and alignment: all of them. */
static void test_every_length(void **state)
{
    static uint8_t b[5000 + 16];
    uint32_t x = 7;

    (void)state;
    for (size_t i = 0; i < sizeof b; i++) {
        x = x * 1664525u + 1013904223u;
        b[i] = (uint8_t)(x >> 24);
    }
    for (size_t len = 0; len <= 5000; len += len < 1200 ? 1 : 97) {
        for (size_t at = 0; at < 16; at += 5)
            assert_int_equal(sum(b + at, len), reference(b + at, len));
    }
}

static void test_pieces(void **state)
{
    uint8_t b[200];
    uint32_t whole;

    (void)state;
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (uint8_t)(i * i);
    whole = sum(b, sizeof b);
    for (size_t i = 0; i <= sizeof b; i++) {
        for (size_t k = i; k <= sizeof b; k += 13) {
            uint32_t crc = crc32c_update(CRC32C_INIT, b, i);
            crc = crc32c_update(crc, b + i, k - i);
            assert_int_equal(read_final(crc32c_update(crc, b + k, sizeof b - k)), whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
