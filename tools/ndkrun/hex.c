/* SPDX-License-Identifier: MIT */
/* Parses and prints hexadecimal data: see hex.h. */
#include "hex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DUMP = 256 };

bool hex_parse(const char *hex, uint8_t *data, uint32_t room, uint32_t *length)
{
    size_t digits = strlen(hex);

    if (digits % 2 || digits / 2 > room || strspn(hex, "0123456789abcdefABCDEF") != digits)
        return false;
    for (*length = 0; *length < digits / 2; (*length)++) {
        char pair[3] = { hex[2 * *length], hex[2 * *length + 1], '\0' };

        data[*length] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

void hex_dump(const uint8_t *data, uint32_t length, FILE *out)
{
    uint32_t shown = length < MAX_DUMP ? length : MAX_DUMP;

    for (uint32_t i = 0; i < shown; i += 16) {
        fprintf(out, "  %04x ", i);
        for (uint32_t k = i; k < i + 16; k++)
            fprintf(out, k < shown ? " %02x" : "   ", k < shown ? data[k] : 0);
        fprintf(out, "  ");
        for (uint32_t k = i; k < i + 16 && k < shown; k++)
            fputc(isprint(data[k]) ? data[k] : '.', out);
        fputc('\n', out);
    }
    if (shown < length)
        fprintf(out, "  ... %u bytes in total\n", length);
}
