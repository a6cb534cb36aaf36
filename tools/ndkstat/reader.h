/* SPDX-License-Identifier: MIT */
/* Finds the processes that publish their adapters, and reads them (docs/observe.md). */
#ifndef NDKSTAT_READER_H
#define NDKSTAT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * processes: an array with one object for each process, ordered by process id. Their members "pid", "uid" and "foreign"
 * (the process is another user's) come from the kernel, all others from the process.
 */
struct snapshots {
    json_t *processes;
    unsigned foreign; /* processes of other users that were not read */
    bool failed;      /* a process of this user, or the requested one, could not be read; stderr has the reason */
};

/*
 * Reads the process pid, or all processes if pid is 0. Returns false if out of memory, or if the list of sockets could
 * not be read (stderr has the reason).
 */
bool reader_read(struct snapshots *s, long pid);
void reader_free(struct snapshots *s);

#endif
