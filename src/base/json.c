/* SPDX-License-Identifier: MIT */
/* Writes text as JSON: see json.h. Allocates nothing. */
#include "base/json.h"

void json_put_string(FILE *out, const char *value)
{
    if (!value) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at > 0x7e)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

void json_put_text(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\":", key);
    json_put_string(out, value);
}
