/* SPDX-License-Identifier: MIT */
/* Converts UTF-8 and UTF-16: see text.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wdk/common/text.h"

enum { REPLACEMENT = 0xfffd, SURROGATE_HIGH = 0xd800, SURROGATE_LOW = 0xdc00, SURROGATES_END = 0xe000 };

struct decoded {
    uint32_t code;
    size_t used;
    bool bad;
};

static struct decoded text_bad_input(size_t used)
{
    return (struct decoded){ REPLACEMENT, used, true };
}

/*
 * Decodes the first character of `in`. A malformed sequence counts as one character. The sequence has at least one
 * byte, and ends before the first byte that cannot follow in a valid sequence (Unicode, chapter 3.9).
 */
static struct decoded text_decode_utf8(const unsigned char *in, size_t length)
{
    unsigned char first = in[0];
    size_t more = first < 0x80                    ? 0
                  : first >= 0xc2 && first < 0xe0 ? 1
                  : (first & 0xf0) == 0xe0        ? 2
                  : first >= 0xf0 && first < 0xf5 ? 3
                                                  : 4;
    uint32_t code = first < 0x80 ? first : first & (0x3fu >> more);

    if (more == 4)
        return text_bad_input(1);
    for (size_t i = 1; i <= more; i++) {
        if (i >= length || (in[i] & 0xc0) != 0x80)
            return text_bad_input(i);
        code = code << 6 | (in[i] & 0x3f);
        if (i == 1 && ((first == 0xe0 && in[1] < 0xa0) || (first == 0xed && in[1] >= 0xa0) ||
                       (first == 0xf0 && in[1] < 0x90) || (first == 0xf4 && in[1] >= 0x90)))
            return text_bad_input(1);
    }
    return (struct decoded){ code, more + 1, false };
}

static struct decoded text_decode_utf16(const WCHAR *in, size_t length)
{
    uint32_t first = (uint16_t)in[0];

    if (first < SURROGATE_HIGH || first >= SURROGATES_END)
        return (struct decoded){ first, 1, false };
    if (first >= SURROGATE_LOW || length < 2 || (uint16_t)in[1] < SURROGATE_LOW || (uint16_t)in[1] >= SURROGATES_END)
        return text_bad_input(1);
    return (struct decoded){ 0x10000 + ((first - SURROGATE_HIGH) << 10) + ((uint16_t)in[1] - SURROGATE_LOW), 2, false };
}

static size_t text_encode_utf16(WCHAR unit[2], uint32_t code)
{
    if (code < 0x10000) {
        unit[0] = (WCHAR)code;
        return 1;
    }
    code -= 0x10000;
    unit[0] = (WCHAR)(SURROGATE_HIGH + (code >> 10));
    unit[1] = (WCHAR)(SURROGATE_LOW + (code & 0x3ff));
    return 2;
}

static size_t text_encode_utf8(char unit[4], uint32_t code)
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        unit[i] = (char)(0x80 | (code & 0x3f));
    unit[0] = (char)(mark[n] | code);
    return n;
}

size_t text_to_utf16(WCHAR *out, size_t cap, const char *in, size_t length, size_t *written, bool *bad)
{
    size_t needed = 0, wrote = 0;

    for (size_t at = 0; at < length;) {
        struct decoded d = text_decode_utf8((const unsigned char *)in + at, length - at);
        WCHAR unit[2];
        size_t n = text_encode_utf16(unit, d.code);

        if (needed == wrote && n <= cap - wrote) {
            memcpy(out + wrote, unit, n * sizeof *out);
            wrote += n;
        }
        needed += n;
        at += d.used;
        if (d.bad && bad)
            *bad = true;
    }
    if (written)
        *written = wrote;
    return needed;
}

size_t text_to_utf8(char *out, size_t cap, const WCHAR *in, size_t length, size_t *written, bool *bad)
{
    size_t needed = 0, wrote = 0;

    for (size_t at = 0; at < length;) {
        struct decoded d = text_decode_utf16(in + at, length - at);
        char unit[4];
        size_t n = text_encode_utf8(unit, d.code);

        if (needed == wrote && n <= cap - wrote) {
            memcpy(out + wrote, unit, n);
            wrote += n;
        }
        needed += n;
        at += d.used;
        if (d.bad && bad)
            *bad = true;
    }
    if (written)
        *written = wrote;
    return needed;
}

size_t text_length(const void *text, size_t unit, size_t max)
{
    const WCHAR *wide = text;
    size_t n = 0;

    if (unit == 1)
        return strnlen(text, max);
    while (n < max && wide[n])
        n++;
    return n;
}

size_t text_wide_length(const WCHAR *s)
{
    return text_length(s, sizeof *s, SIZE_MAX);
}

WCHAR *text_wide_copy(const char *s)
{
    size_t n = text_to_utf16(NULL, 0, s, strlen(s), NULL, NULL);
    WCHAR *copy = malloc((n + 1) * sizeof *copy);

    if (!copy)
        return NULL;
    text_to_utf16(copy, n, s, strlen(s), NULL, NULL);
    copy[n] = 0;
    return copy;
}

char *text_narrow_copy(const WCHAR *s, size_t length)
{
    size_t n = text_to_utf8(NULL, 0, s, length, NULL, NULL);
    char *copy = malloc(n + 1);

    if (!copy)
        return NULL;
    text_to_utf8(copy, n, s, length, NULL, NULL);
    copy[n] = 0;
    return copy;
}

/*
 * Maps Latin, Greek and Cyrillic letters to upper case, and returns other characters unchanged. The C library's
 * functions are not used, because they depend on the host's locale. The mapping of Windows' kernel does not depend on a
 * locale.
 */
WCHAR text_upcase(WCHAR c)
{
    uint16_t u = (uint16_t)c;

    if (u < 0x80)
        return u >= 'a' && u <= 'z' ? (WCHAR)(u - 32) : c;
    if (u >= 0xe0 && u <= 0xfe && u != 0xf7)
        return (WCHAR)(u - 32);
    if (u == 0xff)
        return (WCHAR)0x178;
    if ((u >= 0x3b1 && u <= 0x3c9 && u != 0x3c2) || (u >= 0x430 && u <= 0x44f))
        return (WCHAR)(u - 32);
    if (u >= 0x450 && u <= 0x45f)
        return (WCHAR)(u - 80);
    if ((u >= 0x100 && u <= 0x137 && u != 0x131 && u % 2) || (u >= 0x14a && u <= 0x177 && u % 2))
        return (WCHAR)(u - 1);
    return c;
}

WCHAR text_downcase(WCHAR c)
{
    uint16_t u = (uint16_t)c;

    if (u < 0x80)
        return u >= 'A' && u <= 'Z' ? (WCHAR)(u + 32) : c;
    if (u >= 0xc0 && u <= 0xde && u != 0xd7)
        return (WCHAR)(u + 32);
    if (u == 0x178)
        return (WCHAR)0xff;
    if ((u >= 0x391 && u <= 0x3a9 && u != 0x3a2) || (u >= 0x410 && u <= 0x42f))
        return (WCHAR)(u + 32);
    if (u >= 0x400 && u <= 0x40f)
        return (WCHAR)(u + 80);
    if ((u >= 0x100 && u <= 0x137 && u != 0x130 && u % 2 == 0) || (u >= 0x14a && u <= 0x177 && u % 2 == 0))
        return (WCHAR)(u + 1);
    return c;
}
