/* SPDX-License-Identifier: MIT */
/* Finds the processes that publish their adapters, and reads them (docs/observe.md). */
#ifndef NDKSTAT_READER_H
#define NDKSTAT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * processes: an array of their objects, in the order of process ids. "pid", "uid" and "foreign" (of another user) in
 * each come from the kernel, not from the process.
 */
struct snapshots {
    json_t *processes;
    unsigned foreign;   /* processes of other users that were not read */
    bool failed;        /* a process of this user, or the requested one, could not be read; stderr has the reason */
};

/*
 * pid 0: all processes. Returns false if out of memory, or if the list of sockets could not be read (stderr has the
 * reason).
 */
bool reader_read(struct snapshots *s, long pid);
void reader_free(struct snapshots *s);

#endif
