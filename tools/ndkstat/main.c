/* SPDX-License-Identifier: MIT */
/* ndkstat: shows the NDK adapters of other processes, like netstat -xan and the RDMA Activity counters on Windows. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "show.h"
#include "reader.h"

enum { OK = 0, NOT_READ = 1, USAGE = 2 };

static const char help[] =
    "ndkstat shows the connections, listeners, shared endpoints and counters of processes that use OpenNDK: those in\n"
    "this network namespace, of the same user (root: of all; those of other users are marked \"uid\").\n"
    "\n"
    "  ndkstat [--state] [--pid PID] [--watch [SECONDS]] [--rounds N]\n"
    "  ndkstat --counters [--pid PID] [--watch [SECONDS]] [--rounds N]\n"
    "  ndkstat --json [--pid PID] [--watch [SECONDS]] [--rounds N]\n"
    "\n"
    "  (nothing)             connections, listeners and shared endpoints in the layout of netstat -xan\n"
    "  -s, --state           also the state of each, and ended connections whose address is still in use\n"
    "  -c, --counters        the RDMA Activity counters, a block for each adapter\n"
    "  -j, --json            everything, one JSON object on a line (docs/observe.md has its members)\n"
    "  -p, --pid PID         only this process\n"
    "  -w, --watch[=SECONDS] repeat every SECONDS (1) until Ctrl-C; bytes and frames of --counters are\n"
    "                        rates from the second round on\n"
    "  -r, --rounds N        end after N rounds\n"
    "  -x, -a, -n            accepted as in netstat; always in effect\n"
    "  -h, --help\n"
    "\n"
    "A process is shown while it has an open adapter, unless ONDK_STAT=0 is in its environment.\n"
    "\n"
    "Exit: 0 everything was shown, even if there is nothing; 1 a process of this user could not be read, or the one\n"
    "of --pid has no adapter or could not be read; 2 wrong usage.\n";

struct options {
    bool state, counters, json, watch;
    long pid, rounds;
    double seconds;
};

static bool ndkstat_parse_seconds(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && !*end && *value >= 0.01 && *value <= 86400;
}

static int ndkstat_usage_error(const char *what, const char *value)
{
    fprintf(stderr, "ndkstat: %s%s%s; see ndkstat --help\n", what, value ? ": " : "", value ? value : "");
    return USAGE;
}

/* Parses the option's argument as a positive number. `error` is the message for any other. */
static int ndkstat_parse_number(const char *error, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(optarg, &end, 10);
    return !errno && end != optarg && !*end && *value > 0 ? OK : ndkstat_usage_error(error, optarg);
}

/* Also accepts "--watch 2", which getopt does not recognize as an optional value. */
static int ndkstat_parse_watch(struct options *o, int argc, char **argv)
{
    const char *value = optarg;

    if (!value && optind < argc && *argv[optind] != '-')
        value = argv[optind++];
    o->watch = true;
    if (value && !ndkstat_parse_seconds(value, &o->seconds))
        return ndkstat_usage_error("not a number of seconds", value);
    return OK;
}

static int ndkstat_parse(struct options *o, int argc, char **argv, bool *done)
{
    static const struct option known[] = {
        { "state", no_argument, NULL, 's' },       { "counters", no_argument, NULL, 'c' },
        { "json", no_argument, NULL, 'j' },        { "pid", required_argument, NULL, 'p' },
        { "watch", optional_argument, NULL, 'w' }, { "rounds", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 },
    };
    int code = OK, c;

    *o = (struct options){ .seconds = 1 };
    while (code == OK && (c = getopt_long(argc, argv, "scjp:w::r:hxan", known, NULL)) != -1) {
        switch (c) {
        case 's':
            o->state = true;
            break;
        case 'c':
            o->counters = true;
            break;
        case 'j':
            o->json = true;
            break;
        case 'p':
            code = ndkstat_parse_number("not a process id", &o->pid);
            break;
        case 'w':
            code = ndkstat_parse_watch(o, argc, argv);
            break;
        case 'r':
            code = ndkstat_parse_number("not a number of rounds", &o->rounds);
            break;
        case 'h':
            fputs(help, stdout);
            *done = true;
            return OK;
        case 'x':
        case 'a':
        case 'n':
            break;
        default:
            return ndkstat_usage_error("unknown option", NULL);
        }
    }
    if (code == OK && optind < argc)
        code = ndkstat_usage_error("unexpected argument", argv[optind]);
    if (code == OK && o->state + o->counters + o->json > 1)
        code = ndkstat_usage_error("--state, --counters and --json exclude each other", NULL);
    if (code == OK && o->rounds && !o->watch)
        code = ndkstat_usage_error("--rounds needs --watch", NULL);
    return code;
}

static void ndkstat_show(const struct options *o, const struct snapshots *now, const json_t *before)
{
    if (o->json)
        show_json(now->processes);
    else if (o->counters)
        show_counters(now->processes, before);
    else
        show_lists(now->processes, o->state);
    if (now->foreign && !o->json)
        printf("\n%u process%s of other users: not shown\n", now->foreign, now->foreign == 1 ? "" : "es");
    if (!json_array_size(now->processes) && !o->json)
        printf("no process with an open adapter\n");
    fflush(stdout);
}

static void ndkstat_wait(double seconds)
{
    struct timespec rest = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}

static int ndkstat_run(const struct options *o)
{
    long rounds = o->watch ? o->rounds : 1;
    json_t *before = NULL;
    int code = OK;

    for (long round = 0; !rounds || round < rounds; round++) {
        struct snapshots now;
        if (round)
            ndkstat_wait(o->seconds);
        if (!reader_read(&now, o->pid)) {
            json_decref(before);
            return NOT_READ;
        }
        if (now.failed)
            code = NOT_READ;
        ndkstat_show(o, &now, before);
        json_decref(before);
        before = now.processes;
    }
    json_decref(before);
    return ferror(stdout) ? NOT_READ : code;
}

int main(int argc, char **argv)
{
    struct options o;
    bool done = false;
    int code = ndkstat_parse(&o, argc, argv, &done);

    return code != OK || done ? code : ndkstat_run(&o);
}
