/* SPDX-License-Identifier: MIT */
/*
 * Begins the trace of this process: see trace_start and trace_attach. The invariant: at most one thread at a time
 * begins the trace, and `recording` does not change after ring_is_on has become true.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/descriptors.h"
#include "base/fork.h"
#include "trace/attach.h"
#include "trace/file.h"
#include "trace/last.h"
#include "trace/ring.h"
#include "trace/setting.h"

enum { START_WAIT_MS = 1000 };

static struct {
    int fd;
    dev_t device; /* device and inode identify the file, because the program may close fd */
    ino_t inode;
    bool is_late;
} recording;

/*
 * Returns true in the first call of this process. In that call, sets *is_child to true if a parent process called this
 * function before the fork.
 */
static bool start_claim(bool *is_child)
{
    static _Atomic uint64_t claimed; /* 1 + fork_generation of the process that has claimed the start; 0: none */
    uint64_t now = (uint64_t)fork_generation() + 1, before = atomic_exchange(&claimed, now);

    *is_child = before != 0 && before != now;
    return before != now;
}

/*
 * If the value is 1 + fork_generation of this process, a thread of this process is beginning the trace. Any other value
 * means that no thread of this process is beginning the trace.
 */
static _Atomic uint64_t start_busy;

/*
 * Waits while another thread begins the trace. Then excludes other threads until start_release. Returns false if the
 * wait takes too long.
 */
static bool start_acquire(void)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    uint64_t now = (uint64_t)fork_generation() + 1;

    for (int tries = 0; tries < START_WAIT_MS; tries++) {
        uint64_t before = atomic_load(&start_busy);

        if (before != now && atomic_compare_exchange_strong(&start_busy, &before, now))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static void start_release(void)
{
    atomic_store(&start_busy, 0);
}

/* Begins to record. Requires start_acquire. On failure, writes the reason to `problem` and returns false. */
static bool start_with(const struct trace_setting *setting, bool is_late, char problem[TRACE_MAX_PROBLEM])
{
    struct trace_mapping mapping;
    struct stat now = { 0 };

    if (!trace_file_create(setting, &mapping, problem, TRACE_MAX_PROBLEM))
        return !problem[0]; /* true if another copy of this library in this process records to the file */
    (void)fstat(mapping.fd, &now);
    recording.fd = mapping.fd;
    recording.device = now.st_dev;
    recording.inode = now.st_ino;
    recording.is_late = is_late;
    trace_last_prepare(mapping.fd);
    trace_set_payload_limit(setting->payload);
    if (ring_start(mapping.header)) {
        trace_set_on();
        return true;
    }
    trace_file_discard(setting, &mapping);
    snprintf(problem, TRACE_MAX_PROBLEM, "ONDK_TRACE: nothing is traced, because memory ran out");
    return false;
}

bool trace_start(char problem[TRACE_MAX_PROBLEM])
{
    const char *text = secure_getenv("ONDK_TRACE");
    struct trace_setting setting;
    bool is_child, ok;

    if (!text || !trace_setting_parse(text, &setting))
        return true; /* ondk_config_check_environment reports an invalid value */
    /* start_acquire waits while another thread begins the trace, so that the trace includes this caller's adapter. */
    if (ring_is_on() || !start_acquire())
        return true;
    /* In a child of fork, a name without %p is the parent's file, so the child does not record. */
    ok = !start_claim(&is_child) || (is_child && !setting.has_pid) || ring_is_on() ||
         start_with(&setting, false, problem);
    start_release();
    return ok;
}

/*
 * Begins to record into a ring if this process does not record. On failure, writes the reason to `problem` and returns
 * false.
 */
static bool start_ring(char problem[TRACE_MAX_PROBLEM])
{
    struct trace_setting setting;
    bool ok;

    if (ring_is_on()) /* makes the stores to `recording` visible */
        return true;
    if (!start_acquire()) {
        snprintf(problem, TRACE_MAX_PROBLEM, "a thread of the process begins to record");
        return false;
    }
    trace_setting_use_ring(&setting);
    ok = ring_is_on() || start_with(&setting, true, problem);
    start_release();
    return ok;
}

int trace_attach(bool *is_late, char problem[TRACE_MAX_PROBLEM])
{
    char path[64];
    struct stat now;
    int fd;

    if (!start_ring(problem))
        return -1;
    *is_late = recording.is_late;
    if (fstat(recording.fd, &now) != 0 || now.st_dev != recording.device || now.st_ino != recording.inode) {
        snprintf(problem, TRACE_MAX_PROBLEM, "the process has closed the descriptor of what it records to");
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", recording.fd);
    fd = descriptors_open(path, O_RDONLY, 0);
    if (fd < 0)
        snprintf(problem, TRACE_MAX_PROBLEM, "%s cannot be opened: %s", path, strerrordesc_np(errno));
    return fd;
}
