/* SPDX-License-Identifier: MIT */
/*
 * Finds the last events: see last.h. All memory is allocated when the trace begins. Only the thread whose ID is in
 * `last_user` uses this memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/last.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace/ring.h"
#include "trace/trace.h"
#include "trace_reader/print_text.h"
#include "trace_reader/tail.h"

enum { LAST_WAIT_MS = 1000 };
_Static_assert((int)TRACE_MAX_LAST_EVENTS == (int)TAIL_MAX_EVENTS, "a tail has room for all events");

static struct last_state {
    struct trace_file file;
    dev_t device; /* device and inode identify the file, because the program may close file.fd */
    ino_t inode;
    struct tail tail;
} * last_state;

static _Atomic long last_user; /* ID of the thread that uses last_state; 0: none */

void trace_last_prepare(int fd)
{
    struct last_state *old = last_state, *s = calloc(1, sizeof *s);
    char error[64];
    struct stat now;

    last_state = NULL;
    if (old) { /* from the parent process; no thread of this process uses it */
        trace_file_close(&old->file);
        free(old);
    }
    atomic_store(&last_user, 0);
    if (s && fstat(fd, &now) == 0 && trace_file_borrow_fd(&s->file, fd, error, sizeof error)) {
        s->device = now.st_dev;
        s->inode = now.st_ino;
        last_state = s;
    } else {
        free(s);
    }
}

/*
 * Acquires last_state for this thread. Returns false if another thread uses it for too long, or if a signal has
 * interrupted this thread in trace_last.
 */
static bool last_acquire(void)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    long self = syscall(SYS_gettid);

    for (int tries = 0; tries < LAST_WAIT_MS; tries++) {
        long user = 0;

        if (atomic_compare_exchange_strong(&last_user, &user, self))
            return true;
        if (user == self)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static void last_copy(struct last_event *to, const struct tail_event *e)
{
    const struct trace_record *r = &e->record;

    to->seconds = (double)(int64_t)(r->time_ns - r->file->monotonic_ns) / 1e9;
    to->thread = r->thread;
    to->connection = r->id;
    to->is_related = e->is_related;
    if (r->event)
        snprintf(to->name, sizeof to->name, "%s", r->event->name);
    else
        snprintf(to->name, sizeof to->name, "event-%u", (unsigned)r->number);
    print_fields(to->fields, sizeof to->fields, r);
}

unsigned trace_last(const uint64_t addresses[2], struct last_event *events, unsigned max)
{
    struct last_state *s;
    struct stat now;
    unsigned n = 0;

    if (!ring_is_on() || !last_acquire()) /* ring_is_on makes the stores to last_state visible */
        return 0;
    s = last_state;
    if (s && fstat(s->file.fd, &now) == 0 && now.st_dev == s->device && now.st_ino == s->inode) {
        s->tail.max = max < TAIL_MAX_EVENTS ? max : TAIL_MAX_EVENTS;
        s->tail.max_related = s->tail.max / 2;
        s->tail.addresses[0] = addresses ? addresses[0] : 0;
        s->tail.addresses[1] = addresses ? addresses[1] : 0;
        tail_read(&s->tail, &s->file);
        for (n = 0; n < s->tail.count; n++)
            last_copy(&events[n], s->tail.sorted[n]);
    }
    atomic_store(&last_user, 0);
    return n;
}
