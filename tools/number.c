/* SPDX-License-Identifier: MIT */
/* Parses numbers on a command line: see number.h. Refuses blanks and signs, which the C library's functions accept. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool number_parse_base(const char *text, int base, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    unsigned long long number;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    number = strtoull(text, &end, base);
    if (errno || *end || number < low || number > high)
        return false;
    *value = number;
    return true;
}

bool number_parse(const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
    uint64_t wide;

    if (!number_parse_base(text, 10, low, high, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

bool number_parse_c(const char *text, uint64_t high, uint64_t *value)
{
    return number_parse_base(text, 0, 0, high, value);
}

/* Parses a decimal number with an optional fraction. Returns the text after it, or NULL if there is no such number. */
static const char *number_parse_digits(const char *text, double *number)
{
    size_t len = strspn(text, "0123456789");
    char *end;

    len += text[len] == '.';
    len += strspn(text + len, "0123456789");
    *number = strtod(text, &end);
    /*
     * strtod reads more than these `len` characters if an exponent or an "x" follows. strtod reads fewer if the
     * locale's decimal point is not ".".
     */
    return len > 0 && end == text + len ? end : NULL;
}

bool number_parse_duration(const char *text, double low, double high, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "min", 60 }, { "h", 3600 } };
    double number;
    const char *unit = number_parse_digits(text, &number);

    for (size_t i = 0; unit && i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(unit, units[i].name) == 0) {
            number *= units[i].seconds;
            if (!(number >= low && number <= high))
                return false;
            *seconds = number;
            return true;
        }
    return false;
}

bool number_parse_fraction(const char *text, double low, double high, double *number)
{
    double parsed;
    const char *end = number_parse_digits(text, &parsed);

    if (!end || *end || !(parsed >= low && parsed <= high))
        return false;
    *number = parsed;
    return true;
}

/*
 * Returns the number of bits by which a number with this suffix is shifted left to get bytes. Returns -1 for an unknown
 * suffix.
 */
static int number_size_shift(const char *suffix)
{
    static const char *const letters = "KMGT";
    const char *at;

    if (!*suffix || strcasecmp(suffix, "B") == 0)
        return 0;
    at = strchr(letters, toupper((unsigned char)*suffix));
    if (!at || (suffix[1] && strcasecmp(suffix + 1, "iB") != 0 && strcasecmp(suffix + 1, "B") != 0))
        return -1;
    return 10 * (int)(at - letters + 1);
}

bool number_parse_size(const char *text, uint64_t low, uint64_t high, uint64_t *bytes)
{
    char digits[24];
    size_t len = strspn(text, "0123456789");
    int shift = number_size_shift(text + len);
    uint64_t number;

    if (len == 0 || len >= sizeof digits || shift < 0)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (!number_parse_base(digits, 10, 0, UINT64_MAX >> shift, &number))
        return false;
    number <<= shift;
    if (number < low || number > high)
        return false;
    *bytes = number;
    return true;
}

/* Divides *bytes by 1024 while the result is exact. Returns the suffix for the result, or 0 for bytes. */
static char number_shorten_size(uint64_t *bytes)
{
    char letter = 0;

    for (const char *next = "KMGT"; *next && *bytes && *bytes % 1024 == 0; next++) {
        *bytes /= 1024;
        letter = *next;
    }
    return letter;
}

const char *number_write_size(uint64_t bytes, char *text, size_t room)
{
    char letter = number_shorten_size(&bytes);

    snprintf(text, room, letter ? "%" PRIu64 "%c" : "%" PRIu64, bytes, letter);
    return text;
}

const char *number_write_size_iec(uint64_t bytes, char *text, size_t room)
{
    char letter = number_shorten_size(&bytes);

    snprintf(text, room, letter ? "%" PRIu64 " %ciB" : "%" PRIu64 " bytes", bytes, letter);
    return text;
}
