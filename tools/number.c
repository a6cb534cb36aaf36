/* SPDX-License-Identifier: MIT */
/* Numbers on a command line: see number.h. The C library's functions also accept blanks and signs, and wrap around. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

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

bool number_parse_seconds(const char *text, double low, double high, double *seconds)
{
    char *end;
    double number;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high))
        return false;
    *seconds = number;
    return true;
}
