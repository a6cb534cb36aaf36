/* SPDX-License-Identifier: MIT */
/* What the kernel reports about a process. */
#ifndef NDKSTAT_PROCESS_H
#define NDKSTAT_PROCESS_H

#include <jansson.h>

/* Returns the process id that the process has in its own PID namespace, which may differ from the id here. */
long process_pid_inside(long pid);
/*
 * Sets the member "program" of the object to the process's name, which has at most 15 bytes and is "" if it cannot be
 * read. Bytes that are not printable ASCII become '?'.
 */
void process_describe(long pid, json_t *object);

#endif
