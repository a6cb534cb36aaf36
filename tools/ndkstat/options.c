/* SPDX-License-Identifier: MIT */
/* Parses ndkstat's command line: see options.h. */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "number.h"
#include "view.h"

#define STATES                                                                                                         \
    "connecting, replied, completing, requested, accepting, established, peer-gone, disconnecting, ended, closing, "   \
    "idle, starting, listening, open, overflowed, connected, empty, prepared, registered, deregistering, unbound, "    \
    "bound"

/* Returns true if the word is one of STATES. */
static bool state_is_known(const char *word)
{
    size_t len;

    for (const char *state = STATES; *state; state += len + strspn(state + len, ", ")) {
        len = strcspn(state, ",");
        if (strlen(word) == len && strncasecmp(word, state, len) == 0)
            return true;
    }
    return false;
}

/* Parses a list of states such as "established,ended". Returns NULL, or a text that describes the mistake. */
static const char *options_set_state(void *options, const char *value)
{
    static const char expected[] = "a list is expected, for example established,ended. The states are " STATES;
    struct options *o = options;

    o->state = true;
    if (!value)
        return NULL;
    if (strlen(value) >= sizeof o->states_text)
        return "the list of states is too long";
    snprintf(o->states_text, sizeof o->states_text, "%s", value);
    o->n_states = 0;
    for (char *word = strtok(o->states_text, ","); word; word = strtok(NULL, ",")) {
        if (!state_is_known(word))
            return expected;
        if (o->n_states == MAX_STATES)
            return "at most 16 states are expected";
        o->states[o->n_states++] = word;
    }
    return o->n_states ? NULL : expected;
}

static const char *options_set_objects(void *options, const char *value)
{
    struct options *o = options;

    o->objects = true;
    while (value && *value) {
        size_t len = strcspn(value, ","), type = 0;

        while (view_object_types[type] &&
               (strlen(view_object_types[type]) != len || strncasecmp(view_object_types[type], value, len) != 0))
            type++;
        if (!view_object_types[type])
            return "a list of adapter, pd, cq, qp, srq, mr, mw, listener and endpoint is expected";
        o->object_types |= 1u << type;
        value += len;
        value += *value == ',';
    }
    return NULL;
}

/* Parses HOST, HOST:PORT or :PORT. Returns NULL, or a text that describes the mistake. */
static const char *options_set_address(void *options, const char *value)
{
    static const char expected[] = "a host, a host and a port, or a colon and a port is expected";
    struct options *o = options;
    char any_host[ENDPOINT_MAX_TEXT];
    uint32_t port;

    o->has_address = true;
    if (value[0] == ':' && value[1] != ':') {
        snprintf(any_host, sizeof any_host, "[::]%s", value); /* endpoint_parse requires a host before the port */
        if (number_parse(value + 1, 1, UINT16_MAX, &port))
            o->address.port = (uint16_t)port;
        else if (endpoint_parse(&o->address, any_host, true) || !o->address.port)
            return expected;
        o->address.text[0] = '\0';
        return NULL;
    }
    return endpoint_parse(&o->address, value, false) && endpoint_parse(&o->address, value, true) ? expected : NULL;
}

static const char *options_set_watch(void *options, const char *value)
{
    struct options *o = options;

    o->watch = true;
    return !value || number_parse_duration(value, 0.01, 86400, &o->seconds)
               ? NULL
               : "a time from 0.01 to 86400 seconds is expected; it may have the unit us, ms, s, min or h";
}

#define AT(field) .at = offsetof(struct options, field)

static const struct command_option known_options[] = {
    { NULL, NULL, "What is shown. Without one of these: connections, listeners and shared endpoints", .kind = 0 },
    { "-C, --connections", NULL, "connections with state and counters", COMMAND_FLAG, AT(connections) },
    { "-o, --objects", "[TYPES]",
      "all objects, or those of the types: a list of adapter, pd, cq, qp, srq, mr, mw, "
      "listener and endpoint",
      .kind = COMMAND_CALL, .set = options_set_objects },
    { "-c, --counters", NULL, "the RDMA Activity counters, a block for each adapter", COMMAND_FLAG, AT(counters) },
    { "-f, --failures", NULL, "the connections that failed or were refused last", COMMAND_FLAG, AT(failures) },
    { "-s, --state", "[STATES]",
      "also states, and ended connections whose address is still in use; with a list of "
      "states, only what is in one of them",
      .kind = COMMAND_CALL, .set = options_set_state },
    { "-v, --verbose", NULL, "more columns; with --failures also what to check, below each line", COMMAND_FLAG,
      AT(verbose) },
    { NULL, NULL, "Which processes and connections", .kind = 0 },
    { "-p, --pid", "PID", "only this process", COMMAND_NUMBER, AT(pid), 1, INT32_MAX },
    { "-A, --address", "ADDRESS", "only what has this local or foreign address: HOST, HOST:PORT or :PORT",
      .kind = COMMAND_CALL, .set = options_set_address },
    { "--here", NULL, "only this network namespace", COMMAND_FLAG, AT(here) },
    { NULL, NULL, "Output", .kind = 0 },
    { "-j, --json", NULL, "one JSON object on a line, with everything, or with what the option above selects",
      COMMAND_FLAG, AT(json) },
    { "--csv", NULL, "tables as CSV, with all columns", COMMAND_FLAG, AT(csv) },
    { "-w, --watch", "[SECONDS]",
      "repeat, on a terminal as a full-screen table; counters of traffic are rates from "
      "the second round on (default 1; 0.01 to 86400)",
      .kind = COMMAND_CALL, .set = options_set_watch },
    { "-r, --rounds", "N", "end after N rounds of --watch", COMMAND_NUMBER, AT(rounds), 1, UINT32_MAX },
    { "-x, -a, -n", NULL, "accepted as in netstat; always in effect", COMMAND_FLAG, AT(netstat) },
};

static const char *const usage[] = { "[OPTION]...", NULL };

static const struct command_status statuses[] = {
    { COMMAND_OK, "everything was shown, even if that is nothing" },
    { COMMAND_FAILED, "a process or a network namespace of this user could not be read, the process of --pid has no "
                      "open adapter or could not be read, or a name has no address" },
    { COMMAND_USAGE, "wrong usage" },
    { COMMAND_LOST, "the output could not be written completely" },
    { COMMAND_INTERRUPTED, "Ctrl-C ended --watch" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkstat",
    .summary = "ndkstat shows the connections, listeners, shared endpoints, counters and objects of processes that use "
               "OpenNDK: those of the same user, in all network namespaces that this user may enter. Root sees those "
               "of all users; the ones of other users are marked \"uid\".",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .statuses = statuses,
    .notes = "A process is shown while it has an open adapter, unless ONDK_STAT=0 is in its\n"
             "environment. Keys of the full-screen table: q quits, space reads again, arrows, Page Up,\n"
             "Page Down, Home and End move. docs/observe.md has the columns and the JSON members.\n",
};

int options_parse(struct options *o, int argc, char **argv)
{
    char error[ENDPOINT_MAX_TEXT];
    int code;

    *o = (struct options){ .seconds = 1 };
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    if (o->connections + o->counters + o->failures + o->objects > 1)
        return command_usage_error(&command, "--connections, --objects, --counters and --failures exclude each other");
    if (o->json && o->csv)
        return command_usage_error(&command, "--json and --csv exclude each other");
    if (o->rounds && !o->watch)
        return command_usage_error(&command, "--rounds needs --watch");
    if (o->has_address && o->address.text[0] && !endpoint_resolve(&o->address, error, sizeof error)) {
        fprintf(stderr, "ndkstat: --address: %s\n", error);
        return COMMAND_FAILED;
    }
    return -1;
}
