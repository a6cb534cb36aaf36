/* SPDX-License-Identifier: MIT */
/* Finds the processes that publish what their adapters do, and reads it (docs/observe.md). */
#ifndef NDKSTAT_READER_H
#define NDKSTAT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * processes: an array of what they wrote, in the order of their process ids. "pid", "uid" and "foreign" (another
 * user's) in each are the kernel's word, not the process's.
 */
struct snapshots {
    json_t *processes;
    unsigned foreign;   /* processes of other users, which were not asked */
    bool failed;        /* a process of this user, or the one that was asked for, could not be read: stderr has why */
};

/* pid 0: all there are. False: no memory, or the list of sockets could not be read (stderr has it). */
bool reader_read(struct snapshots *s, long pid);
void reader_free(struct snapshots *s);

#endif
