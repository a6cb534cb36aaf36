/* SPDX-License-Identifier: MIT */
/* Reads what the kernel reports about a process. */
#ifndef TOOLS_PROCESS_H
#define TOOLS_PROCESS_H

#include <jansson.h>
#include <sys/types.h>

/* Returns the ID that the process has in its own PID namespace. `pid` is its ID in the tool's PID namespace. */
long process_pid_inside(long pid);
/*
 * Returns the letter of the process's state, for example 'T' for a stopped process. Returns 0 if the state cannot be
 * read.
 */
char process_state(long pid);
/* Returns the ID of the process's user. Returns (uid_t)-1 if the ID cannot be read. */
uid_t process_uid(long pid);
/*
 * Sets the object's member "program" to the process's name, which has at most 15 bytes. Uses "" if the name cannot be
 * read. Bytes that are not printable ASCII become '?'.
 */
void process_describe(long pid, json_t *object);

#endif
