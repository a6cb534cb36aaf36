/* SPDX-License-Identifier: MIT */
/*
 * ndkstat: shows the NDK adapters of other processes, like netstat -xan, rdma resource show and the RDMA Activity
 * counters. options.c parses the command line.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "filter.h"
#include "interrupt.h"
#include "options.h"
#include "reader.h"
#include "screen.h"
#include "view.h"

/* Prints a message. First closes the screen, because a later close would erase the message. Returns the exit code. */
static int ndkstat_fail(const char *what, int error)
{
    screen_close();
    fprintf(stderr, "ndkstat: %s: %s\n", what, strerror(error));
    return COMMAND_FAILED;
}

static void ndkstat_print_count(FILE *out, const struct options *o, const struct snapshots *now)
{
    if (o->json || o->csv)
        return;
    if (now->foreign)
        fprintf(out, "\n%u process%s of other users: not shown\n", now->foreign, now->foreign == 1 ? "" : "es");
    else if (!json_array_size(now->processes) && !*now->messages)
        fprintf(out, "no process with an open adapter\n");
}

/* Prints the reading `now`. Returns false if out of memory. */
static bool ndkstat_print(FILE *out, const struct options *o, const struct snapshots *now, const json_t *before)
{
    bool ok;

    if (o->pid && !o->json && !o->csv && !json_array_size(now->processes))
        return true; /* now->messages contains the reason why the process was not read */
    ok = o->json ? view_print_json(out, o, now->processes) : view_print(out, o, now->processes, before);
    ndkstat_print_count(out, o, now);
    return ok;
}

static void ndkstat_print_messages(const char *messages)
{
    while (*messages) {
        int len = (int)strcspn(messages, "\n");
        fprintf(stderr, "ndkstat: %.*s\n", len, messages);
        messages += len + (messages[len] == '\n');
    }
}

/* Prints a reading to stdout. Returns the exit code after a failure, otherwise -1. */
static int ndkstat_print_plain(const struct options *o, const struct snapshots *now, const json_t *before)
{
    bool ok = ndkstat_print(stdout, o, now, before);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ndkstat: standard output: %s: not all of the output was written\n", strerror(errno));
        return COMMAND_LOST;
    }
    ndkstat_print_messages(now->messages);
    return ok ? -1 : ndkstat_fail("not everything is shown", ENOMEM);
}

/* Shows a reading on the screen until the next reading. Returns the exit code if the tool must end, otherwise -1. */
static int ndkstat_show(const struct options *o, const struct snapshots *now, const json_t *before)
{
    char title[160], hour[32] = "", *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    time_t seconds = time(NULL);
    enum screen_event event;
    struct tm tm;

    if (!out)
        return ndkstat_fail("the screen", errno);
    (void)ndkstat_print(out, o, now, before);
    if (fclose(out) != 0) {
        free(text);
        return ndkstat_fail("the screen", ENOMEM);
    }
    if (localtime_r(&seconds, &tm))
        (void)strftime(hour, sizeof hour, "%H:%M:%S", &tm);
    snprintf(title, sizeof title, "ndkstat  %s  every %g s  %zu processes", hour, o->seconds,
             json_array_size(now->processes));
    event = screen_show(title, text + strspn(text, "\n"), now->messages, o->seconds);
    free(text);
    switch (event) {
    case SCREEN_QUIT:
        return COMMAND_OK;
    case SCREEN_INTERRUPTED:
        return COMMAND_INTERRUPTED;
    case SCREEN_LOST:
        return COMMAND_LOST;
    case SCREEN_TIMEOUT:
        break;
    }
    return -1;
}

/*
 * Reads and prints once. Sets *failed to true if a process could not be read. Returns the exit code if the tool must
 * end, otherwise -1.
 */
static int ndkstat_round(const struct options *o, bool has_screen, json_t **before, bool *failed)
{
    struct reader_request request = { .pid = o->pid, .here = o->here };
    struct snapshots now;
    int code;

    if (!reader_read(&now, &request))
        return ndkstat_fail("reading the processes", errno);
    *failed = *failed || now.failed;
    if (!filter_apply(o, now.processes))
        code = ndkstat_fail("selecting objects", ENOMEM);
    else
        code = has_screen ? ndkstat_show(o, &now, *before) : ndkstat_print_plain(o, &now, *before);
    json_decref(*before);
    *before = json_incref(now.processes);
    reader_free(&now);
    return code;
}

static int ndkstat_run(const struct options *o)
{
    bool has_screen = o->watch && !o->json && !o->csv && isatty(STDOUT_FILENO), failed = false;
    uint32_t n_rounds = o->watch ? o->rounds : 1;
    json_t *before = NULL;
    int code = -1;

    if (o->watch)
        interrupt_catch(has_screen ? screen_close : NULL);
    has_screen = has_screen && screen_open();
    for (uint32_t round = 0; code < 0 && (!n_rounds || round < n_rounds); round++) {
        if (round && !has_screen && !interrupt_sleep(o->seconds))
            break;
        code = ndkstat_round(o, has_screen, &before, &failed);
    }
    screen_close();
    json_decref(before);
    if (code > 0)
        return code;
    if (o->watch && interrupt_received())
        return COMMAND_INTERRUPTED;
    return failed ? COMMAND_FAILED : COMMAND_OK;
}

int main(int argc, char **argv)
{
    struct options o;
    int code = options_parse(&o, argc, argv);

    return code >= 0 ? code : ndkstat_run(&o);
}
