/* SPDX-License-Identifier: MIT */
/* %variables% of REG_EXPAND_SZ values: see registry.h. */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/text.h"

/* What the system itself has. */
static const WCHAR standard[] = L"SystemDrive=C:\0SystemRoot=C:\\Windows\0windir=C:\\Windows\0";

struct piece {
    const WCHAR *at;
    size_t units;
};

/* The value of what is called `name`; at NULL: there is none. */
static struct piece look_up(const WCHAR *environment, const WCHAR *name, size_t units)
{
    for (const WCHAR *at = environment; *at; at += text_wide_length(at) + 1)
        if (text_length(at, sizeof *at, units + 1) > units && at[units] == '=' &&
            !RtlCompareUnicodeStrings(at, units, name, units, TRUE))
            return (struct piece){ at + units + 1, text_wide_length(at + units + 1) };
    return (struct piece){ NULL, 0 };
}

/* What stands for the text's beginning, and how much of it that is: a variable, or one unit. */
static size_t next_piece(const WCHAR *text, size_t units, const WCHAR *environment, struct piece *piece)
{
    size_t name = 0;

    *piece = (struct piece){ NULL, 0 };
    if (text[0] == '%') {
        while (1 + name < units && text[1 + name] != '%')
            name++;
        if (name && 1 + name < units)
            *piece = look_up(environment, text + 1, name);
    }
    if (piece->at)
        return name + 2;
    *piece = (struct piece){ text, 1 };
    return 1;
}

static size_t write(WCHAR *out, const WCHAR *text, size_t units, const WCHAR *environment)
{
    struct piece piece;
    size_t n = 0;

    for (size_t i = 0; i < units;) {
        i += next_piece(text + i, units - i, environment, &piece);
        if (out && piece.units)
            memcpy(out + n, piece.at, piece.units * sizeof *out);
        n += piece.units;
    }
    return n;
}

WCHAR *registry_expand(const WCHAR *text, size_t units, const WCHAR *environment, size_t *expanded)
{
    WCHAR *out;

    if (!environment)
        environment = standard;
    *expanded = write(NULL, text, units, environment);
    out = malloc((*expanded + 1) * sizeof *out);
    if (!out)
        return NULL;
    (void)write(out, text, units, environment);
    out[*expanded] = 0;
    return out;
}
