/* SPDX-License-Identifier: MIT */
/*
 * The ONDK_ environment variables. This file has the one list of the names that are known: config.c's numbers, the
 * variables that hold a word, and the prefixes that belong to the tests of this tree. Any other variable is reported,
 * so a new one must be added here or to config.c's table.
 */
#include "provider/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/config.h"

extern char **environ;

#define PREFIX "ONDK_"

enum { NAME_MOST = 64, VALUE_MOST = 64, LINE_MOST = 512 };

static bool is_profile(const char *value)
{
    for (uint32_t i = 0; ondk_profile_name(i); i++)
        if (!strcmp(ondk_profile_name(i), value))
            return true;
    return false;
}

static void list_profiles(char *text, size_t room)
{
    size_t len = (size_t)snprintf(text, room, "a profile: ");

    for (uint32_t i = 0; ondk_profile_name(i) && len < room; i++)
        len += (size_t)snprintf(text + len, room - len, "%s%s", i ? ", " : "", ondk_profile_name(i));
}

static bool is_wdk_checks(const char *value)
{
    return !strcmp(value, "off") || !strcmp(value, "go-on") || !strcmp(value, "stop");
}

static void list_wdk_checks(char *text, size_t room)
{
    snprintf(text, room, "off, go-on or stop");
}

static const struct environment_word {
    const char *name;
    bool (*is_valid)(const char *value);
    void (*list)(char *text, size_t room); /* what is valid */
} words[] = {
    { "ONDK_PROFILE", is_profile, list_profiles },
    { "ONDK_WDK_CHECKS", is_wdk_checks, list_wdk_checks },
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* Variables of tests and fuzzers, which programs that they start inherit. */
static const char *const prefixes[] = { "ONDK_CHECK_", "ONDK_FUZZ_", "ONDK_TEST_" };

static bool environment_parse(const char *text, const struct environment_number *v, uint32_t *value)
{
    char *end;
    unsigned long long number;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    number = strtoull(text, &end, 0);
    if (errno || *end || number < v->min || number > v->max)
        return false;
    *value = (uint32_t)number;
    return true;
}

bool environment_number(const struct environment_number *variable, uint32_t *value)
{
    const char *text = getenv(variable->name);

    return text && environment_parse(text, variable, value);
}

/* ---- what is wrong ---- */

/* How many characters must be inserted, removed or replaced to make one name of the other. */
static unsigned name_distance(const char *a, const char *b)
{
    size_t len = strlen(b);
    unsigned row[NAME_MOST + 1];

    for (size_t k = 0; k <= len; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; a[i]; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < len; k++) {
            unsigned replaced = corner + (a[i] != b[k]), other = 1 + (row[k] < row[k + 1] ? row[k] : row[k + 1]);
            corner = row[k + 1];
            row[k + 1] = replaced < other ? replaced : other;
        }
    }
    return row[len];
}

struct nearest {
    const char *name;
    unsigned distance;
};

static void nearest_add(struct nearest *n, const char *name, const char *known)
{
    unsigned d = name_distance(name, known);

    if (!n->name || d < n->distance)
        *n = (struct nearest){ known, d };
}

/* The known name that the variable was probably meant to have; NULL if none is similar. */
static const char *nearest_name(const char *name, const struct environment_number *numbers, uint32_t count)
{
    struct nearest n = { NULL, 0 };

    for (uint32_t i = 0; i < count; i++)
        nearest_add(&n, name, numbers[i].name);
    for (uint32_t i = 0; i < WORDS; i++)
        nearest_add(&n, name, words[i].name);
    return n.distance <= (strlen(name) - strlen(PREFIX)) / 2 ? n.name : NULL;
}

/* The text without what a terminal would obey. */
static const char *shown(const char *text, char *out, size_t room)
{
    size_t len = strlen(text);

    snprintf(out, room, "%s", text);
    if (len >= room)
        memcpy(out + room - 4, "...", 4);
    for (char *c = out; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
    return out;
}

/* Writes what is wrong with the variable to line. Returns false if nothing is wrong. */
static bool environment_describe(const char *name, const char *value, const struct environment_number *numbers,
                                 uint32_t count, char *line, size_t room)
{
    char text[VALUE_MOST], valid[LINE_MOST / 2];
    const char *near;
    uint32_t ignored;

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return false;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(numbers[i].name, name)) {
            snprintf(line, room, "%s=%s is not used: a number from %u to %u is expected", name,
                     shown(value, text, sizeof text), (unsigned)numbers[i].min, (unsigned)numbers[i].max);
            return *value && !environment_parse(value, &numbers[i], &ignored);
        }
    for (uint32_t i = 0; i < WORDS; i++)
        if (!strcmp(words[i].name, name)) {
            words[i].list(valid, sizeof valid);
            snprintf(line, room, "%s=%s is not used: expected is %s", name, shown(value, text, sizeof text), valid);
            return *value && !words[i].is_valid(value);
        }
    near = nearest_name(name, numbers, count);
    snprintf(line, room, "%s=%s is not used: there is no such variable%s%s", shown(name, valid, NAME_MOST),
             shown(value, text, sizeof text), near ? ", the nearest is " : "", near ? near : "");
    return true;
}

uint32_t environment_check(const struct environment_number *numbers, uint32_t count)
{
    static atomic_bool is_reported;
    bool report = !atomic_exchange(&is_reported, true);
    uint32_t wrong = 0;

    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        char name[NAME_MOST], line[LINE_MOST];

        if (!equals || strncmp(*at, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *at < NAME_MOST ? equals - *at : NAME_MOST), *at);
        if (!environment_describe(name, equals + 1, numbers, count, line, sizeof line))
            continue;
        wrong++;
        if (report)
            fprintf(stderr, "openndk: %s\n", line);
    }
    return wrong;
}
