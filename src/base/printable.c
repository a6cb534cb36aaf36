/* SPDX-License-Identifier: MIT */
/* Escapes text that is not trusted: see printable.h. */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns true if the character is safe to print. Control characters except the tab are not safe, nor are characters
 * that change the direction of the following text.
 */
static bool printable_is_safe(uint32_t c)
{
    bool control = (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0);
    bool direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);

    return !control && !direction;
}

/* Returns the size of the UTF-8 character that begins with this byte. Returns 0 if no character begins with it. */
static size_t utf8_size(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc0)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
}

/*
 * Returns the size of the UTF-8 character at the start of `text`. Returns 0 if the character is malformed or not safe
 * to print.
 */
static size_t printable_safe_size(const uint8_t *text, size_t len)
{
    static const uint32_t min_code[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t size = utf8_size(text[0]);
    uint32_t c = size == 1 ? text[0] : text[0] & (0x7fu >> size);

    if (!size || size > len)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (text[i] & 0x3f);
    }
    return c >= min_code[size] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) && printable_is_safe(c) ? size : 0;
}

size_t printable_copy(char *out, size_t room, const char *text, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    size_t made = 0;

    while (len) {
        uint8_t byte = (uint8_t)*text;
        char escaped[] = { '\\', 'x', digits[byte >> 4], digits[byte & 0xf] };
        size_t safe = printable_safe_size((const uint8_t *)text, len), size = safe ? safe : sizeof escaped;

        if (size >= room - made)
            break;
        memcpy(out + made, safe ? text : escaped, size);
        made += size;
        text += safe ? safe : 1;
        len -= safe ? safe : 1;
    }
    out[made] = '\0';
    return made;
}

char *printable_dup(const char *text)
{
    size_t len = strlen(text), room = len * PRINTABLE_MAX_GROWTH + 1;
    char *out = malloc(room);

    if (out)
        (void)printable_copy(out, room, text, len);
    return out;
}

void printable_replace(char *text)
{
    for (; *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}
