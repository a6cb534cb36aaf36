/* SPDX-License-Identifier: MIT */
/*
 * Gets a descriptor of what another process records. docs/trace.md has the protocol. The invariant: neither a process
 * that has ended, is stopped or is hostile, nor what it passes, makes the tool wait for more than a few seconds, or use
 * memory without a limit.
 */
#ifndef NDKTRACE_ATTACH_CONNECT_H
#define NDKTRACE_ATTACH_CONNECT_H

#include <stdbool.h>
#include <stddef.h>

struct attached {
    int fd;       /* of the trace; owned by the caller */
    int pidfd;    /* -1: the kernel has no such descriptors; owned by the caller */
    bool is_late; /* the recording was begun by an attach */
};

/* Returns false, and writes the reason to `error`, if that fails. */
bool attach_connect(long pid, struct attached *out, char *error, size_t room);

#endif
