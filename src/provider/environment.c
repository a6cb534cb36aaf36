/* SPDX-License-Identifier: MIT */
/*
 * Reads and checks the environment variables that begin with ONDK_. The invariant: config.c's table of numbers and this
 * file's table of words together list all known variables. Any other variable that begins with ONDK_ is reported as
 * unknown, so a new variable must be added to one of the tables.
 */
#include "provider/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/verify_setting.h"
#include "openndk/config.h"
#include "provider/log.h"
#include "trace/setting.h"

extern char **environ;

#define PREFIX "ONDK_"

enum { MAX_NAME = 64, MAX_VALUE = 64, MAX_LINE = 512 };

static bool environment_is_profile(const char *value)
{
    for (uint32_t i = 0; ondk_profile_name(i); i++)
        if (!strcmp(ondk_profile_name(i), value))
            return true;
    return false;
}

static void environment_list_profiles(char *text, size_t room)
{
    size_t len = (size_t)snprintf(text, room, "a profile: ");

    for (uint32_t i = 0; ondk_profile_name(i) && len < room; i++)
        len += (size_t)snprintf(text + len, room - len, "%s%s", i ? ", " : "", ondk_profile_name(i));
}

static bool environment_is_verify(const char *value)
{
    struct verify_setting setting;

    return verify_setting_parse(value, &setting);
}

static void environment_list_verify(char *text, size_t room)
{
    snprintf(text, room, VERIFY_SETTING_EXPECTED);
}

static bool environment_is_trace(const char *value)
{
    struct trace_setting setting;

    return trace_setting_parse(value, &setting);
}

static void environment_list_trace(char *text, size_t room)
{
    snprintf(text, room, TRACE_SETTING_EXPECTED);
}

static bool environment_is_log(const char *value)
{
    const char *file;
    uint32_t level;

    return log_parse(value, &level, &file);
}

static void environment_list_log(char *text, size_t room)
{
    snprintf(text, room, "error, warn, info or debug, and optionally a comma and a file");
}

static const struct environment_word {
    const char *name;
    bool (*is_valid)(const char *value);
    void (*list)(char *text, size_t room); /* writes the valid values */
} environment_words[] = {
    { "ONDK_LOG", environment_is_log, environment_list_log },
    { "ONDK_PROFILE", environment_is_profile, environment_list_profiles },
    { "ONDK_TRACE", environment_is_trace, environment_list_trace },
    { "ONDK_VERIFY", environment_is_verify, environment_list_verify },
};
enum { N_WORDS = sizeof(environment_words) / sizeof(environment_words[0]) };

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

/* ---- reports ---- */

/* Returns the number of characters that must be inserted, removed or replaced to change `a` into `b`. */
static unsigned environment_name_distance(const char *a, const char *b)
{
    size_t len = strlen(b);
    unsigned row[MAX_NAME + 1];

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

static void nearest_add(struct nearest *n, const char *name, const char *candidate)
{
    unsigned d = environment_name_distance(name, candidate);

    if (!n->name || d < n->distance)
        *n = (struct nearest){ candidate, d };
}

/* Returns the most similar known name, or NULL if none is similar. */
static const char *environment_nearest_name(const char *name, const struct environment_number *numbers, uint32_t count)
{
    struct nearest n = { NULL, 0 };

    for (uint32_t i = 0; i < count; i++)
        nearest_add(&n, name, numbers[i].name);
    for (uint32_t i = 0; i < N_WORDS; i++)
        nearest_add(&n, name, environment_words[i].name);
    return n.distance <= (strlen(name) - strlen(PREFIX)) / 2 ? n.name : NULL;
}

/*
 * Copies the text to `out`, shortened to `room` bytes. Each character that is not printable becomes a question mark,
 * because it could control a terminal. Returns `out`.
 */
static const char *environment_printable(const char *text, char *out, size_t room)
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

/* Writes to `line` what is wrong with a variable that must be a number. Returns false if nothing is wrong. */
static bool environment_describe_number(const char *value, const struct environment_number *v, char *line, size_t room)
{
    char text[MAX_VALUE];
    uint32_t ignored;

    snprintf(line, room, "%s=%s is not used: a number from %u to %u is expected", v->name,
             environment_printable(value, text, sizeof text), (unsigned)v->min, (unsigned)v->max);
    return *value && !environment_parse(value, v, &ignored);
}

/* Works like environment_describe_number, for a variable that must be one of several words. */
static bool environment_describe_word(const char *value, const struct environment_word *w, char *line, size_t room)
{
    char text[MAX_VALUE], valid[MAX_LINE / 2];

    w->list(valid, sizeof valid);
    snprintf(line, room, "%s=%s is not used: expected is %s", w->name, environment_printable(value, text, sizeof text),
             valid);
    return *value && !w->is_valid(value);
}

/* Works like environment_describe_number, for any variable. Also describes a variable whose name is unknown. */
static bool environment_describe(const char *name, const char *value, const struct environment_number *numbers,
                                 uint32_t count, char *line, size_t room)
{
    char text[MAX_VALUE], printable[MAX_NAME];
    const char *near;

    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(numbers[i].name, name))
            return environment_describe_number(value, &numbers[i], line, room);
    for (uint32_t i = 0; i < N_WORDS; i++)
        if (!strcmp(environment_words[i].name, name))
            return environment_describe_word(value, &environment_words[i], line, room);
    near = environment_nearest_name(name, numbers, count);
    snprintf(line, room, "%s=%s is not used: there is no such variable%s%s",
             environment_printable(name, printable, sizeof printable), environment_printable(value, text, sizeof text),
             near ? ", the nearest is " : "", near ? near : "");
    return true;
}

uint32_t environment_check(const struct environment_number *numbers, uint32_t count)
{
    static atomic_bool is_reported;
    bool report = !atomic_exchange(&is_reported, true);
    uint32_t wrong = 0;

    log_start();
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        char name[MAX_NAME], line[MAX_LINE];

        if (!equals || strncmp(*at, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *at < MAX_NAME ? equals - *at : MAX_NAME), *at);
        if (!environment_describe(name, equals + 1, numbers, count, line, sizeof line))
            continue;
        wrong++;
        if (report)
            log_line(ONDK_LOG_WARN, "%s", line);
    }
    return wrong;
}
