/* SPDX-License-Identifier: MIT */
/* Creates and writes JSON objects: see json_output.h. */
#include "json_output.h"

#include <stdlib.h>

#include "base/printable.h"

json_t *json_output_begin(const char *tool, int format)
{
    return json_pack("{s:s, s:s, s:i}", "tool", tool, "version", TOOL_VERSION, "format", format);
}

json_t *json_output_text(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    char *escaped = value ? NULL : printable_dup(text);

    if (escaped)
        value = json_string(escaped);
    free(escaped);
    return value;
}

bool json_output_write(FILE *out, const json_t *object, size_t flags)
{
    return object && json_dumpf(object, out, flags | JSON_ENSURE_ASCII) == 0 && fputc('\n', out) != EOF;
}
