/* SPDX-License-Identifier: MIT */
/* Finds the processes that publish what their adapters do, and reads it (docs/observe.md). */
#ifndef NDKSTAT_READER_H
#define NDKSTAT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct snapshots {
    json_t *processes;  /* an array of what they wrote, in the order of their process ids */
    unsigned foreign;   /* processes of other users, which were not asked */
    unsigned failed;    /* that could not be read: it has been said on stderr why */
};

/* pid 0: all there are. False: no memory, or the list of sockets could not be read (said on stderr). */
bool reader_read(struct snapshots *s, long pid);
void reader_free(struct snapshots *s);

#endif
