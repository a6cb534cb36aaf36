/* SPDX-License-Identifier: MIT */
/* Parses the value of ONDK_TRACE: see setting.h. The last comma of the value separates the size from the name. */
#include "trace/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parses a size in MiB, for example "64", "64M" or "1G". Returns false if it is not valid. */
static bool setting_parse_size(const char *text, uint32_t *mib)
{
    uint64_t number = 0;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > TRACE_MAX_MIB)
            return false;
    }
    if (*text == 'G')
        number *= 1024;
    if (*text == 'G' || *text == 'M')
        text++;
    *mib = (uint32_t)number;
    return !*text && number >= TRACE_MIN_MIB && number <= TRACE_MAX_MIB;
}

/* Appends `len` bytes to s->path and adds `len` to *used, the path's length. Returns false if they do not fit. */
static bool setting_append(struct trace_setting *s, size_t *used, const char *bytes, size_t len)
{
    if (len >= sizeof s->path - *used)
        return false;
    memcpy(s->path + *used, bytes, len);
    *used += len;
    s->path[*used] = '\0';
    return true;
}

static bool setting_expand_name(const char *name, size_t len, struct trace_setting *s)
{
    size_t used = 0;
    char pid[16];

    for (size_t i = 0; i < len; i++) {
        if (name[i] != '%') {
            if (!setting_append(s, &used, &name[i], 1))
                return false;
            continue;
        }
        i++;
        if (i == len || (name[i] != 'p' && name[i] != '%'))
            return false;
        s->has_pid = s->has_pid || name[i] == 'p';
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        if (!setting_append(s, &used, name[i] == 'p' ? pid : "%", name[i] == 'p' ? strlen(pid) : 1))
            return false;
    }
    return used > 0;
}

void trace_setting_use_ring(struct trace_setting *setting)
{
    *setting = (struct trace_setting){ .is_ring = true, .has_pid = true, .mib = TRACE_RING_MIB };
}

bool trace_setting_parse(const char *text, struct trace_setting *setting)
{
    static const char ring[] = "ring";
    const char *comma = strrchr(text, ',');
    size_t len = comma ? (size_t)(comma - text) : strlen(text);

    if (len == sizeof ring - 1 && memcmp(text, ring, len) == 0)
        trace_setting_use_ring(setting);
    else
        *setting = (struct trace_setting){ .mib = TRACE_FILE_MIB };
    if (comma && !setting_parse_size(comma + 1, &setting->mib))
        return false;
    return setting->is_ring || setting_expand_name(text, len, setting);
}
