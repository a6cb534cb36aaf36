/* SPDX-License-Identifier: MIT */
/* Parses KEY\VALUE=TYPE:DATA, and loads .reg files: see registry.h. */
#include "registry.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "hex.h"
#include "number.h"

enum { MAX_KEY = 1024, MAX_DATA = 4096 };
enum { REG_TEXT = 1, REG_EXPAND = 2, REG_BYTES = 3, REG_NUMBER = 4, REG_TEXTS = 7, REG_WIDE_NUMBER = 11 };

/*
 * Writes the registry key of a driver's service to `key`. The service's name is the driver's file name without
 * extension.
 */
static void registry_service_key(const char *driver, char *key, size_t room)
{
    const char *base = strrchr(driver, '/'), *dot;

    base = base ? base + 1 : driver;
    dot = strrchr(base, '.');
    snprintf(key, room, "HKLM\\System\\CurrentControlSet\\Services\\%.*s",
             (int)(dot && dot != base ? (size_t)(dot - base) : strlen(base)), base);
}

static bool registry_is_whole_key(const char *key)
{
    return !strncasecmp(key, "\\Registry\\", 10) || !strncasecmp(key, "HKLM\\", 5) || !strncasecmp(key, "HKEY_", 5);
}

static bool registry_set_bytes(const char *key, const char *name, const char *hex)
{
    uint8_t data[MAX_DATA];
    uint32_t length;

    return hex_parse(hex, data, sizeof data, &length) && !ondk_wdk_registry_set(key, name, REG_BYTES, data, length);
}

/* Stores several strings, which '|' separates in `bars`. So a string cannot contain this character. */
static bool registry_set_texts(const char *key, const char *name, const char *bars)
{
    char data[MAX_DATA];
    size_t length = strlen(bars);

    if (length >= sizeof data)
        return false;
    memcpy(data, bars, length + 1);
    for (char *bar = data; (bar = strchr(bar, '|')); bar++)
        *bar = '\0';
    return !ondk_wdk_registry_set_text(key, name, REG_TEXTS, data, (uint32_t)length + 1);
}

static bool registry_set_value(const char *key, const char *name, const char *type, const char *data)
{
    uint64_t value;
    uint32_t narrow;

    if (!strcmp(type, "dword") && number_parse_c(data, UINT32_MAX, &value)) {
        narrow = (uint32_t)value;
        return !ondk_wdk_registry_set(key, name, REG_NUMBER, &narrow, sizeof narrow);
    }
    if (!strcmp(type, "qword") && number_parse_c(data, UINT64_MAX, &value))
        return !ondk_wdk_registry_set(key, name, REG_WIDE_NUMBER, &value, sizeof value);
    if (!strcmp(type, "sz") || !strcmp(type, "expand_sz"))
        return !ondk_wdk_registry_set_text(key, name, type[0] == 's' ? REG_TEXT : REG_EXPAND, data,
                                           (uint32_t)strlen(data));
    if (!strcmp(type, "multi_sz"))
        return registry_set_texts(key, name, data);
    return !strcmp(type, "hex") && registry_set_bytes(key, name, data);
}

/*
 * Parses KEY\VALUE=TYPE:DATA, and stores the value. Splits a copy at the first '=', at the last '\' before the '=', and
 * at the first ':' after the '='.
 */
static bool registry_set(const struct options *o, const char *given)
{
    char words[MAX_KEY + MAX_DATA], key[2 * MAX_KEY], *data, *type, *name;
    size_t length;

    if (snprintf(words, sizeof words, "%s", given) >= (int)sizeof words || !(type = strchr(words, '=')))
        return false;
    *type++ = '\0';
    data = strchr(type, ':');
    if (!data)
        return false;
    *data++ = '\0';
    name = strrchr(words, '\\');
    if (name)
        *name = '\0';
    key[0] = '\0';
    if (!name || !registry_is_whole_key(words))
        registry_service_key(o->drivers[0], key, MAX_KEY);
    length = strlen(key);
    if (name && snprintf(key + length, sizeof key - length, "%s%s", length ? "\\" : "", words) >= MAX_KEY)
        return false;
    return registry_set_value(key, name ? name + 1 : words, type, data);
}

bool registry_prepare(const struct options *o, FILE *out)
{
    if (o->reg_file && ondk_wdk_registry_load(o->reg_file)) {
        fprintf(out, "ndkrun: --reg-file %s: %s\n", o->reg_file, ondk_wdk_error());
        return false;
    }
    for (uint32_t i = 0; i < o->reg_count; i++)
        if (!registry_set(o, o->reg[i])) {
            fprintf(out, "ndkrun: --reg %s: expected KEY\\VALUE=TYPE:DATA, for example Parameters\\Port=dword:54321\n",
                    o->reg[i]);
            return false;
        }
    return true;
}
