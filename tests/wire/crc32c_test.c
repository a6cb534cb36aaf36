/* SPDX-License-Identifier: MIT */
/*
 * CRC32c: published check values, every length against a bitwise reference, any split into pieces, and copies with
 * their sums, also of memory that changes meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void fill(uint8_t *b, size_t len)
{
    uint32_t x = 7;

    for (size_t i = 0; i < len; i++) {
        x = x * 1664525u + 1013904223u;
        b[i] = (uint8_t)(x >> 24);
    }
}

/* Covers all paths, which depend on length and alignment. */
static void test_every_length(void **state)
{
    static uint8_t b[5000 + 16];

    (void)state;
    fill(b, sizeof b);
    for (size_t len = 0; len <= 5000; len += len < 2100 ? 1 : 97) {
        for (size_t at = 0; at < 16; at += 5)
            assert_int_equal(sum(b + at, len), reference(b + at, len));
    }
}

static void test_pieces(void **state)
{
    uint8_t b[1000];
    uint32_t whole;

    (void)state;
    fill(b, sizeof b); /* without a period that a fold has too */
    whole = reference(b, sizeof b);
    for (size_t i = 0; i <= sizeof b; i += i < 300 ? 1 : 7) {
        for (size_t k = i; k <= sizeof b; k += 13) {
            uint32_t crc = crc32c_update(CRC32C_INIT, b, i);
            crc = crc32c_update(crc, b + i, k - i);
            assert_int_equal(read_final(crc32c_update(crc, b + k, sizeof b - k)), whole);
        }
    }
}

/* The copy is complete, has its own sum from any begin, and no byte beside it is written. */
static void copy_once(const uint8_t *from, uint8_t *to, size_t len, uint32_t begin)
{
    memset(to - 1, 0x5a, len + 2);
    assert_int_equal(crc32c_copy(begin, to, from, len), crc32c_update(begin, from, len));
    assert_memory_equal(to, from, len);
    assert_int_equal(to[-1], 0x5a);
    assert_int_equal(to[len], 0x5a);
}

static void test_copies(void **state)
{
    enum { MOST = 65536 + 300, ALIGN = 64 };
    static uint8_t from[MOST + ALIGN], to[MOST + ALIGN + 2];
    static const size_t large[] = { 16384, 32768, 65480, 65536 };

    (void)state;
    fill(from, sizeof from);
    for (uint32_t len = 0; len <= 3000; len++)
        copy_once(from + len % ALIGN, to + 1 + len / 3 % ALIGN, len, len & 1 ? CRC32C_INIT : len * 2654435761u);
    for (size_t at = 0; at < ALIGN; at++) {
        copy_once(from + at, to + 1, 2047, CRC32C_INIT);
        copy_once(from, to + 1 + at, 2049, CRC32C_INIT);
    }
    for (unsigned i = 0; i < sizeof large / sizeof large[0]; i++) {
        for (size_t len = large[i] - 257; len <= large[i] + 257; len += 2)
            copy_once(from + len % 16, to + 1 + len % 7, len, CRC32C_INIT);
    }
}

/* Another process changes the memory, so that no sanitizer sees a race. It ends with the test at the latest. */
static pid_t scribble(volatile uint8_t *at, size_t len)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0)
        return child;
    alarm(60);
    for (uint8_t value = 1;; value++) {
        for (size_t i = 0; i < len; i += 61)
            at[i] = value;
    }
}

/* The sum is that of the copy, although the source changes while both are made. */
static void test_changing(void **state)
{
    enum { LEN = 64 << 10, TIMES = 4000 };
    static uint8_t to[LEN];
    uint8_t *from = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    bool same = true;

    (void)state;
    assert_true(from != MAP_FAILED);
    child = scribble(from, LEN);
    for (unsigned i = 0; i < TIMES && same; i++) {
        size_t len = LEN - i % 70;
        same = crc32c_copy(CRC32C_INIT, to, from, len) == crc32c_update(CRC32C_INIT, to, len);
        len = 200 + i % 700;
        same = same && crc32c_copy(CRC32C_INIT, to, from, len) == crc32c_update(CRC32C_INIT, to, len);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    munmap(from, LEN);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published), cmocka_unit_test(test_every_length), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_copies),    cmocka_unit_test(test_changing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
