/* SPDX-License-Identifier: MIT */
/* ndktrace attach: shows or saves the events that running processes record. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_connect.h"
#include "command.h"
#include "interrupt.h"
#include "number.h"
#include "roles.h"
#include "traces.h"

/* The processes that the command line names. */
static struct {
    size_t n;
    long pids[TRACES_MAX_FILES];
    int pidfds[TRACES_MAX_FILES]; /* -1: the kernel has no pidfds */
} attach;

static int attach_report(long pid, const char *why)
{
    fprintf(stderr, "ndktrace: process %ld: %s\n", pid, why);
    return COMMAND_FAILED;
}

static bool attach_has_ended(size_t i)
{
    struct pollfd ready = { .fd = attach.pidfds[i], .events = POLLIN };

    if (attach.pidfds[i] >= 0)
        return poll(&ready, 1, 0) > 0;
    return kill((pid_t)attach.pids[i], 0) != 0 && errno == ESRCH;
}

static bool attach_have_all_ended(void)
{
    for (size_t i = 0; i < attach.n; i++)
        if (!attach_has_ended(i))
            return false;
    return true;
}

static bool attach_parse_pid(const char *word, long *pid)
{
    uint32_t number = 0;

    *pid = 0;
    if (!number_parse(word, 1, 1 << 22, &number)) {
        fprintf(stderr, "ndktrace: %s: the ID of a process is expected\n", word);
        return false;
    }
    *pid = (long)number;
    return true;
}

/* Attaches to a process, and appends its trace. Returns COMMAND_OK, or another exit code after a message. */
static int attach_add(struct traces *t, const char *word, FILE *notes)
{
    struct trace_file *f = &t->files[t->n_files];
    struct attached a;
    char error[512];
    long pid;

    if (!attach_parse_pid(word, &pid))
        return COMMAND_USAGE;
    if (!attach_connect(pid, &a, error, sizeof error))
        return attach_report(pid, error);
    attach.pids[attach.n] = pid;
    attach.pidfds[attach.n++] = a.pidfd;
    if (!trace_file_open_fd(f, a.fd, error, sizeof error))
        return attach_report(pid, error);
    t->n_files++;
    if (a.is_late)
        fprintf(notes,
                "# process %ld: recording began at the attach; NDK calls are not recorded on adapters that were open, "
                "start the process with ONDK_TRACE=ring to have them\n",
                pid);
    return COMMAND_OK;
}

static int attach_show(struct options *o, struct traces *t, FILE *notes)
{
    int code = show_traces(o, t, attach_have_all_ended);

    for (size_t i = 0; code == COMMAND_OK && o->follow && i < attach.n; i++)
        fprintf(notes, "# process %ld has ended\n", attach.pids[i]);
    return fflush(stdout) == 0 ? code : COMMAND_LOST;
}

/* ---- --output ---- */

static int attach_save_failed(const char *path, const char *why)
{
    fprintf(stderr, "ndktrace: %s: %s\n", path, why);
    return COMMAND_LOST;
}

static int attach_save(const struct options *o, struct traces *t)
{
    bool ok;
    int out;

    if (o->follow)
        interrupt_catch(NULL); /* before the file is created, and before a message asks the user to press Ctrl-C */
    out = open(o->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) {
        fprintf(stderr, "ndktrace: %s: %s\n", o->output, strerror(errno));
        return COMMAND_FAILED;
    }
    if (o->follow) {
        fprintf(stderr, "ndktrace: Ctrl-C, or the end of process %ld, saves its last events in %s\n", attach.pids[0],
                o->output);
        while (!attach_have_all_ended() && interrupt_sleep(0.1))
            ;
    }
    ok = trace_file_save(&t->files[0], out);
    ok = close(out) == 0 && ok;
    if (!ok) {
        (void)unlink(o->output);
        return attach_save_failed(o->output, "not all of the trace was written");
    }
    fprintf(stderr, "ndktrace: ndktrace show %s\n", o->output);
    return COMMAND_OK;
}

int attach_processes(struct options *o)
{
    static struct traces traces;
    FILE *notes = o->style.json || o->output[0] ? stderr : stdout;
    int code = COMMAND_OK;

    o->follow = !o->is_once;
    o->style.text.has_process = o->n_arguments > 1;
    (void)traces_open(&traces, 0, NULL);
    for (size_t i = 0; code == COMMAND_OK && i < o->n_arguments; i++)
        code = attach_add(&traces, o->arguments[i], notes);
    if (code == COMMAND_OK)
        code = o->output[0] ? attach_save(o, &traces) : attach_show(o, &traces, notes);
    traces_close(&traces);
    for (size_t i = 0; i < attach.n; i++)
        if (attach.pidfds[i] >= 0)
            close(attach.pidfds[i]);
    free(o->filter.tied);
    return code;
}
