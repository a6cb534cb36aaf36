/* SPDX-License-Identifier: MIT */
/*
 * Parses the value of ONDK_TRACE: see setting.h. The name can contain commas. So the options are parsed from the end of
 * the value, and the text before them is the name. If the value has a comma, its last word must be an option.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace.h"

/*
 * Parses the digits at *text, and advances *text beyond them. Returns false if there are none, or if the number exceeds
 * `max`.
 */
static bool setting_parse_number(const char **text, uint64_t max, uint64_t *number)
{
    const char *first = *text;

    *number = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        *number = *number * 10 + (uint64_t)(**text - '0');
        if (*number > max)
            return false;
    }
    return *text > first;
}

/* Parses a size in MiB, for example "64", "64M" or "1G". Returns false if it is not valid. */
static bool setting_parse_size(const char *text, uint32_t *mib)
{
    uint64_t number;

    if (!setting_parse_number(&text, TRACE_MAX_MIB, &number))
        return false;
    if (*text == 'G')
        number *= 1024;
    if (*text == 'G' || *text == 'M')
        text++;
    *mib = (uint32_t)number;
    return !*text && number >= TRACE_MIN_MIB && number <= TRACE_MAX_MIB;
}

/* Parses a number of bytes, for example "256" or "16K". Returns false if it is not valid. */
static bool setting_parse_payload(const char *text, uint32_t *payload)
{
    uint64_t number;

    if (!setting_parse_number(&text, TRACE_MAX_PAYLOAD, &number))
        return false;
    if (*text == 'K') {
        number *= 1024;
        text++;
    }
    *payload = (uint32_t)number;
    return !*text && number <= TRACE_MAX_PAYLOAD;
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

/* The options that a value has. */
struct setting_options {
    bool has_size, has_payload, is_wrong;
    uint32_t mib, payload;
};

/*
 * Parses a word after a comma. Returns false if the word is not a valid option, or if it repeats an option. In that
 * case sets o->is_wrong if the word begins with "payload="; the whole value is then refused.
 */
static bool setting_parse_option(const char *word, size_t len, struct setting_options *o)
{
    static const char payload[] = "payload=";
    const size_t prefix = sizeof payload - 1;
    bool is_payload = len >= prefix && memcmp(word, payload, prefix) == 0, ok;
    char copy[32] = "";

    memcpy(copy, word, len < sizeof copy ? len : sizeof copy - 1);
    if (is_payload) {
        ok = !o->has_payload && len < sizeof copy && setting_parse_payload(copy + prefix, &o->payload);
        o->has_payload = true;
        o->is_wrong = o->is_wrong || !ok;
        return ok;
    }
    ok = !o->has_size && len < sizeof copy && setting_parse_size(copy, &o->mib);
    o->has_size = o->has_size || ok;
    return ok;
}

/* Parses the options at the end of the value. Returns the length of the name before them. */
static size_t setting_parse_options(const char *text, struct setting_options *o)
{
    size_t len = strlen(text);
    const char *comma;

    while ((comma = memrchr(text, ',', len)) && setting_parse_option(comma + 1, len - (size_t)(comma + 1 - text), o))
        len = (size_t)(comma - text);
    return len;
}

bool trace_setting_parse(const char *text, struct trace_setting *setting)
{
    static const char ring[] = "ring";
    struct setting_options o = { 0 };
    size_t len = setting_parse_options(text, &o);

    if (len == sizeof ring - 1 && memcmp(text, ring, len) == 0)
        trace_setting_use_ring(setting);
    else
        *setting = (struct trace_setting){ .mib = TRACE_FILE_MIB };
    setting->payload = o.payload;
    if (o.has_size)
        setting->mib = o.mib;
    if (o.is_wrong || (!o.has_size && !o.has_payload && strchr(text, ',')))
        return false;
    return setting->is_ring || setting_expand_name(text, len, setting);
}
