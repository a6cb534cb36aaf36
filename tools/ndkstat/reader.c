/* SPDX-License-Identifier: MIT */
/*
 * See reader.h. A name that is listed may be gone when it is asked: a process that has ended is no error. What is read
 * comes from another process and is believed no more than its syntax and its owner deserve.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "openndk.stat.";

enum {
    ANSWER_MS = 5000,          /* for a whole snapshot; another reader may be served first */
    ANSWER_MAX = 256 << 20,
};

/* Why a process was not read. */
enum outcome { READ, GONE, FOREIGN, FAILED };

static long now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- who is there ---- */

/* The process of a line of /proc/net/unix that is a listening socket of that name; 0: another line. */
static long pid_of_line(const char *line)
{
    unsigned long flags;
    char *end;
    const char *name = strchr(line, '@');
    long pid;

    if (sscanf(line, "%*s %*s %*s %lx", &flags) != 1 || !(flags & 0x10000) || !name)
        return 0;
    if (strncmp(name + 1, prefix, sizeof prefix - 1) != 0)
        return 0;
    pid = strtol(name + sizeof prefix, &end, 10);
    return (*end == '\n' || *end == '\0') && pid > 0 ? pid : 0;
}

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

/* All of them in order, to be freed; NULL: said why. */
static long *list_pids(size_t *count)
{
    FILE *f = fopen("/proc/net/unix", "re");
    size_t room = 64, line_size = 0;
    long *pids = malloc(room * sizeof *pids);
    char *line = NULL;

    *count = 0;
    while (f && pids && getline(&line, &line_size, f) > 0) {
        long pid = pid_of_line(line);
        if (!pid)
            continue;
        if (*count == room) {
            long *more = realloc(pids, (room *= 2) * sizeof *pids);
            if (!more)
                free(pids);
            pids = more;
        }
        if (pids)
            pids[(*count)++] = pid;
    }
    if (!f || !pids)
        fprintf(stderr, "ndkstat: /proc/net/unix: %s\n", strerror(errno));
    if (!f) {
        free(pids);
        pids = NULL;
    }
    free(line);
    if (f)
        fclose(f);
    if (pids)
        qsort(pids, *count, sizeof *pids, by_value);
    return pids;
}

/* ---- one of them ---- */

/* Connected; else why not, in *why. A process that has as many readers as may wait is tried again. */
static int connect_to(long pid, long end, enum outcome *why)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s%ld", prefix, pid);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = errno;

    while (s >= 0 && connect(s, (struct sockaddr *)&name, len) != 0) {
        error = errno;
        if ((error == EAGAIN || error == EINTR) && now_ms() < end) {
            (void)poll(NULL, 0, 10);
            continue;
        }
        close(s);
        s = -1;
    }
    *why = error == ECONNREFUSED ? GONE : FAILED;
    if (s < 0 && *why == FAILED)
        fprintf(stderr, "ndkstat: process %ld: %s\n", pid, strerror(error));
    return s;
}

/* Whoever took the name could say anything: everybody listens to processes of his own user alone, root to all. */
static bool is_foreign(int s)
{
    struct ucred owner;
    socklen_t len = sizeof owner;

    if (geteuid() == 0)
        return false;
    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &owner, &len) != 0 || owner.uid != geteuid();
}

/* Everything up to the end, to be freed. NULL: *error says why; 0: the process ended meanwhile. */
static char *read_text(int s, long end, size_t *size, int *error)
{
    struct pollfd readable = { .fd = s, .events = POLLIN };
    size_t room = 1 << 16;
    char *text = malloc(room);

    *size = 0;
    *error = ENOMEM;
    while (text) {
        long left = end - now_ms();
        ssize_t n = read(s, text + *size, room - *size);
        if (n == 0 && *size > 0)
            return text;
        *error = n == 0 || (n < 0 && errno == ECONNRESET) ? 0 : errno;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            break;
        *error = n < 0 ? ETIMEDOUT : EFBIG;
        if (n < 0 ? left <= 0 || poll(&readable, 1, (int)left) < 0 : (*size += (size_t)n) > ANSWER_MAX)
            break;
        if (*size == room) {
            char *more = realloc(text, room *= 2);
            *error = ENOMEM;
            if (!more)
                break;
            text = more;
        }
    }
    free(text);
    return NULL;
}

static enum outcome read_process(long pid, json_t **process)
{
    long end = now_ms() + ANSWER_MS;
    enum outcome why = FAILED;
    json_error_t fault;
    size_t size;
    int error, s = connect_to(pid, end, &why);

    if (s < 0)
        return why;
    if (is_foreign(s)) {
        close(s);
        return FOREIGN;
    }
    char *text = read_text(s, end, &size, &error);
    close(s);
    if (!text && !error)
        return GONE;
    *process = text ? json_loadb(text, size, 0, &fault) : NULL;
    if (!text)
        fprintf(stderr, "ndkstat: process %ld: %s\n", pid, strerror(error));
    else if (!*process)
        fprintf(stderr, "ndkstat: process %ld: what it wrote cannot be read: %s\n", pid, fault.text);
    free(text);
    return *process ? READ : FAILED;
}

bool reader_read(struct snapshots *s, long pid)
{
    size_t count = 1;
    long *pids = pid ? malloc(sizeof *pids) : list_pids(&count);
    bool good = pids;

    *s = (struct snapshots){ .processes = json_array() };
    if (pid && pids)
        *pids = pid;
    for (size_t i = 0; good && i < count; i++) {
        json_t *process = NULL;
        enum outcome outcome = read_process(pids[i], &process);
        if (outcome == READ)
            good = json_array_append_new(s->processes, process) == 0;
        s->foreign += outcome == FOREIGN;
        s->failed += outcome == FAILED;
        if (outcome == GONE && pid) {
            fprintf(stderr, "ndkstat: process %ld has no open adapter that can be seen\n", pid);
            s->failed++;
        }
    }
    free(pids);
    if (!s->processes || !good)
        reader_free(s);
    return s->processes;
}

void reader_free(struct snapshots *s)
{
    json_decref(s->processes);
    s->processes = NULL;
}
