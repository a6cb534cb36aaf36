/* SPDX-License-Identifier: MIT */
/* Reads what the kernel reports about a process. */
#ifndef TOOLS_PROCESS_H
#define TOOLS_PROCESS_H

#include <jansson.h>
#include <sys/types.h>

/*
 * Returns the process's id in its own PID namespace, which may differ from `pid`, its id in the tool's PID namespace.
 */
long process_pid_inside(long pid);
/* Returns the letter of the process's state, for example 'T' for a stopped process; 0 if it cannot be read. */
char process_state(long pid);
/* Returns the process's user, or (uid_t)-1. */
uid_t process_uid(long pid);
/*
 * Sets the member "program" of the object to the process's name, which has at most 15 bytes and is "" if it cannot be
 * read. Bytes that are not printable ASCII become '?'.
 */
void process_describe(long pid, json_t *object);

#endif
