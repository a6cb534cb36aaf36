/* SPDX-License-Identifier: MIT */
/* Writes JSON into HTML pages: see html_json.h. */
#include "html_json.h"

#include <stdlib.h>

#include "base/printable.h"

bool html_json_string(FILE *out, const char *text)
{
    char *printable = printable_dup(text);

    if (!printable)
        return false;
    fputc('"', out);
    for (const char *c = printable; *c; c++)
        switch (*c) {
        case '"':
        case '\\':
            fputc('\\', out);
            fputc(*c, out);
            break;
        case '<':
        case '>':
        case '&':
        case '\t':
        case 0x7f:
            fprintf(out, "\\u%04x", (unsigned)*c);
            break;
        default:
            fputc(*c, out);
        }
    fputc('"', out);
    free(printable);
    return true;
}

bool html_json_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\":", name);
    return html_json_string(out, text);
}
