/* SPDX-License-Identifier: MIT */
/* Parses ndktrace's command line: see options.h. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "number.h"
#include "traces.h"

/* ---- values ---- */

/* Parses a list of numbers. Returns NULL, or a text that describes the mistake. */
static const char *options_parse_numbers(const char *value, uint32_t *list, size_t *n)
{
    static const char expected[] = "a list of numbers is expected, for example 1,2";
    char word[16];

    do {
        size_t len = strcspn(value, ",");

        if (*n == FILTER_MAX_ENTRIES)
            return "at most 64 numbers are expected";
        if (len >= sizeof word)
            return expected;
        memcpy(word, value, len);
        word[len] = '\0';
        if (!number_parse(word, 0, UINT32_MAX, &list[(*n)++]))
            return expected;
        value += len + (value[len] == ',');
    } while (*value);
    return NULL;
}

/* Splits a list of words at its commas. Returns NULL, or a text that describes the mistake. */
static const char *options_parse_words(const char *value, const char **list, size_t *n)
{
    char *copy = strdup(value); /* never freed, because `list` points into it */

    for (char *word = copy ? strtok(copy, ",") : NULL; word; word = strtok(NULL, ",")) {
        if (*n == FILTER_MAX_ENTRIES)
            return "at most 64 words are expected";
        list[(*n)++] = word;
    }
    return *n ? NULL : "a list of words is expected, for example state,outcome";
}

static const char *options_set_connections(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    return options_parse_numbers(value, f->connections, &f->n_connections);
}

static const char *options_set_threads(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    return options_parse_numbers(value, f->threads, &f->n_threads);
}

static const char *options_set_events(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    return options_parse_words(value, f->events, &f->n_events);
}

static const char *options_set_values(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    return options_parse_words(value, f->values, &f->n_values);
}

static const char *options_set_object(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;
    char *end;

    errno = 0;
    f->object = strtoull(value, &end, 16);
    return errno || *end || !f->object ? "the address of an object is expected, for example 0x55d0c2a14e50" : NULL;
}

static const char *options_set_since(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    f->has_since = true;
    return number_parse_duration(value, 0, 1e9, &f->since) ? NULL : "a time is expected, for example 1.5 or 20ms";
}

static const char *options_set_until(void *options, const char *value)
{
    struct filter *f = &((struct options *)options)->filter;

    f->has_until = true;
    return number_parse_duration(value, 0, 1e9, &f->until) ? NULL : "a time is expected, for example 1.5 or 20ms";
}

static const char *options_set_last(void *options, const char *value)
{
    struct options *o = options;

    o->has_last = true;
    return number_parse(value, 0, 1000000, &o->last) ? NULL : "a number from 0 to 1000000 is expected";
}

#define EXPECTED_COMMAND "the command is expected: run, show, attach, explain, html, pcap or perfetto"

static enum options_command options_find_command(const char *word)
{
    static const char *const commands[] = {
        [COMMAND_RUN] = "run",       [COMMAND_SHOW] = "show",       [COMMAND_HTML] = "html",
        [COMMAND_PCAP] = "pcap",     [COMMAND_EXPLAIN] = "explain", [COMMAND_PERFETTO] = "perfetto",
        [COMMAND_ATTACH] = "attach",
    };

    for (int i = COMMAND_RUN; i <= COMMAND_ATTACH; i++)
        if (strcmp(word, commands[i]) == 0)
            return (enum options_command)i;
    return COMMAND_NONE;
}

/* Stores an argument. The first argument is the command. Returns NULL, or a text that describes the mistake. */
static const char *options_add_argument(void *options, const char *word)
{
    struct options *o = options;

    if (o->command == COMMAND_NONE) {
        o->command = options_find_command(word);
        return o->command == COMMAND_NONE ? EXPECTED_COMMAND : NULL;
    }
    if (o->n_arguments == OPTIONS_MAX_ARGUMENTS)
        return "there are more than 4096 arguments";
    o->arguments[o->n_arguments++] = (char *)(uintptr_t)word;
    return NULL;
}

/* ---- the command line ---- */

#define AT(field) .at = offsetof(struct options, field)

static const struct command_option known_options[] = {
    { NULL, NULL, "run: records a program and its children", .kind = 0 },
    { "-o, --output", "FILE",
      "run: the trace file, ndktrace.%p without the option; %p becomes the process ID. attach: saves what the process "
      "has recorded in a new trace file, in place of showing it. The others: what they write, - "
      "is "
      "standard output; ndktrace.html, ndktrace.pcapng or ndktrace.perfetto.json without the option",
      COMMAND_TEXT, AT(output) },
    { "--size", "MIB", "the file's size, which limits how far back it goes", COMMAND_NUMBER, AT(size_mib), 1, 2048,
      "16" },
    { "--payload", "BYTES",
      "also records the first bytes of each frame's payload, at most 64000. The file then has data of the program: see "
      "docs/trace.md",
      COMMAND_SIZE, AT(payload), 0, 64000, "0" },
    { NULL, NULL, "attach: shows what running processes record, until they end or until Ctrl-C", .kind = 0 },
    { "--once", NULL, "show or save what has been recorded until now, and end", COMMAND_FLAG, AT(is_once) },
    { NULL, NULL, "pcap: writes a capture for Wireshark", .kind = 0 },
    { "--zeros", "BYTES",
      "FPDUs up to this size get zeros for payload that was not recorded, so that Wireshark dissects them; larger "
      "ones are truncated",
      COMMAND_SIZE, AT(zeros), 0, 65536, "2K" },
    { "--roce", NULL,
      "packets of RoCE v2 in place of iWARP's, for dissectors that Wireshark calls for InfiniBand alone, as that of "
      "NVMe over Fabrics",
      COMMAND_FLAG, AT(is_roce) },
    { NULL, NULL, "show, attach and html: which events; without one of these: all", .kind = 0 },
    { "-c, --connection", "NUMBERS", "those of these connections; also for explain and pcap", .kind = COMMAND_CALL,
      .set = options_set_connections },
    { "-O, --object", "POINTER", "those of an NDK object, and of its connections", .kind = COMMAND_CALL,
      .set = options_set_object },
    { "-t, --thread", "NUMBERS", "those that these threads recorded", .kind = COMMAND_CALL,
      .set = options_set_threads },
    { "-e, --event", "NAMES",
      "those with these names, for example state,outcome; the name of a call also selects its return and its "
      "completion",
      .kind = COMMAND_CALL, .set = options_set_events },
    { "--value", "VALUES", "those with one of these values in a field, for example refused or ESTABLISHED",
      .kind = COMMAND_CALL, .set = options_set_values },
    { "--since", "SECONDS", "those from this time on, after the beginning of the trace", .kind = COMMAND_CALL,
      .set = options_set_since },
    { "--until", "SECONDS", "those until this time", .kind = COMMAND_CALL, .set = options_set_until },
    { "--last", "N",
      "show and attach: only the last N of them. run: the last N events when the program has ended; without the "
      "option 20 if a signal has ended it",
      .kind = COMMAND_CALL, .set = options_set_last },
    { NULL, NULL, "show and attach: output", .kind = 0 },
    { "-v, --verbose", NULL, "also fields that are ok, none or a null pointer, and the bytes of frames", COMMAND_FLAG,
      AT(style.text.verbose) },
    { "-f, --follow", NULL, "show: continue with new events until Ctrl-C", COMMAND_FLAG, AT(follow) },
    { "-j, --json", NULL, "one JSON object on a line for each event", COMMAND_FLAG, AT(style.json) },
};

static const char *const usage[] = { "run [OPTION]... -- PROGRAM [ARGUMENT]...",
                                     "show [OPTION]... FILE...",
                                     "attach [OPTION]... PID...",
                                     "explain [-c NUMBERS] FILE...",
                                     "html [OPTION]... FILE...",
                                     "pcap [OPTION]... FILE...",
                                     "perfetto [-o FILE] FILE...",
                                     NULL };

static const struct command_status statuses[] = {
    { COMMAND_OK,
      "everything that the files have was shown or written; run: the program's exit status, or 128 and the number of "
      "the signal that ended it" },
    { COMMAND_FAILED,
      "a file does not exist, cannot be read, or is no trace file; attach: a process has no adapter, is "
      "of another user, or does not answer" },
    { COMMAND_USAGE, "wrong usage" },
    { COMMAND_LOST, "the output could not be written completely" },
    { 126, "run: the program cannot be executed" },
    { 127, "run: the program was not found" },
    { COMMAND_INTERRUPTED, "Ctrl-C ended --follow or attach" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndktrace",
    .summary =
        "ndktrace records what the NDK connections of a program do, and shows it, also as a picture: states, frames, "
        "time limits, and why a connection failed. A file may be shown while its process runs, after the process "
        "was killed, and if the file is truncated or damaged.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = options_add_argument,
    .statuses = statuses,
    .notes = "The -- is needed if an argument of the program begins with a hyphen. Without ndktrace,\n"
             "ONDK_TRACE=FILE in its environment makes a program record. docs/trace.md explains the\n"
             "events.\n",
};

int options_parse(struct options *o, int argc, char **argv)
{
    static const char *const default_outputs[] = { [COMMAND_RUN] = "ndktrace.%p",
                                                   [COMMAND_SHOW] = "",
                                                   [COMMAND_HTML] = "ndktrace.html",
                                                   [COMMAND_PCAP] = "ndktrace.pcapng",
                                                   [COMMAND_EXPLAIN] = "",
                                                   [COMMAND_PERFETTO] = "ndktrace.perfetto.json",
                                                   [COMMAND_ATTACH] = "" };
    int code;

    *o = (struct options){ .size_mib = 16, .zeros = 2048 };
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    if (o->command == COMMAND_NONE)
        return command_usage_error(&command, EXPECTED_COMMAND);
    if (!o->n_arguments)
        return command_usage_error(&command, "%s is expected",
                                   o->command == COMMAND_RUN      ? "a program"
                                   : o->command == COMMAND_ATTACH ? "the ID of a process"
                                                                  : "a file");
    if (o->output && strlen(o->output) >= PATH_MAX)
        return command_usage_error(&command, "--output: the name is too long");
    if (o->command == COMMAND_PCAP && o->n_arguments > PCAP_MAX_FILES)
        return command_usage_error(&command, "there are more than 64 files");
    if (o->command == COMMAND_ATTACH && o->n_arguments > TRACES_MAX_FILES)
        return command_usage_error(&command, "there are more than 64 processes");
    if (o->command == COMMAND_ATTACH && o->output && o->n_arguments > 1)
        return command_usage_error(&command, "--output: one process is expected");
    if (!o->output)
        o->output = default_outputs[o->command];
    return -1;
}
