/* SPDX-License-Identifier: MIT */
/*
 * Expands the %variables% of REG_EXPAND_SZ values: see registry.h. Variables in the value of a variable are not
 * expanded.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/text.h"

/* The system's environment. */
static const WCHAR standard[] = L"SystemDrive=C:\0SystemRoot=C:\\Windows\0windir=C:\\Windows\0";

struct piece {
    const WCHAR *at;
    size_t units;
};

/* Returns the value of the variable, or a piece whose `at` is NULL if the variable does not exist. */
static struct piece registry_find_variable(const WCHAR *environment, const WCHAR *name, size_t units)
{
    for (const WCHAR *at = environment; *at; at += text_wide_length(at) + 1)
        if (text_length(at, sizeof *at, units + 1) > units && at[units] == '=' &&
            !RtlCompareUnicodeStrings(at, units, name, units, TRUE))
            return (struct piece){ at + units + 1, text_wide_length(at + units + 1) };
    return (struct piece){ NULL, 0 };
}

/*
 * Expands the first part of `text`. If `text` begins with the %NAME% of an existing variable, the part is %NAME%, and
 * *piece receives the variable's value. Otherwise the part is one unit, and *piece receives that unit. Returns the
 * length of the part in units.
 */
static size_t registry_expand_next(const WCHAR *text, size_t units, const WCHAR *environment, struct piece *piece)
{
    size_t name = 0;

    *piece = (struct piece){ NULL, 0 };
    if (text[0] == '%') {
        while (1 + name < units && text[1 + name] != '%')
            name++;
        if (name && 1 + name < units)
            *piece = registry_find_variable(environment, text + 1, name);
    }
    if (piece->at)
        return name + 2;
    *piece = (struct piece){ text, 1 };
    return 1;
}

static size_t registry_expand_to(WCHAR *out, const WCHAR *text, size_t units, const WCHAR *environment)
{
    struct piece piece;
    size_t n = 0;

    for (size_t i = 0; i < units;) {
        i += registry_expand_next(text + i, units - i, environment, &piece);
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
    *expanded = registry_expand_to(NULL, text, units, environment);
    out = malloc((*expanded + 1) * sizeof *out);
    if (!out)
        return NULL;
    (void)registry_expand_to(out, text, units, environment);
    out[*expanded] = 0;
    return out;
}
