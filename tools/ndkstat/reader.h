/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that publish their adapters, in this and in other network namespaces, and reads the published
 * data (docs/observe.md).
 */
#ifndef NDKSTAT_READER_H
#define NDKSTAT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The result of a reading. `processes` is an array with one object for each process. The processes of this network
 * namespace come first, ordered by process ID. The members "pid", "uid", "foreign" (true for another user's process),
 * "program", "netns", "netns_name" and "netns_other" come from the kernel. All other members come from the process.
 */
struct snapshots {
    json_t *processes;
    unsigned foreign; /* number of other users' processes that were not read */
    /* A process or network namespace of this user, or the requested process, could not be read: see `messages`. */
    bool failed;
    char *messages; /* lines of printable text that describe what was not read; may be empty */
};

struct reader_request {
    long pid;  /* ID of the only process to read; 0: all processes */
    bool here; /* true: read only this network namespace */
};

/*
 * Reads the processes. Returns false and sets errno if out of memory, or if the list of sockets could not be read. Ends
 * early if interrupt_received() becomes true.
 */
bool reader_read(struct snapshots *s, const struct reader_request *request);
void reader_free(struct snapshots *s);

#endif
