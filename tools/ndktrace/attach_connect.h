/* SPDX-License-Identifier: MIT */
/*
 * Gets a descriptor of the file or ring that another process records to. docs/trace.md has the protocol. The invariant:
 * the tool waits at most a few seconds and uses limited memory, even if the process has ended, is stopped or is
 * hostile.
 */
#ifndef NDKTRACE_ATTACH_CONNECT_H
#define NDKTRACE_ATTACH_CONNECT_H

#include <stdbool.h>
#include <stddef.h>

struct attached {
    int fd;       /* the descriptor of the trace; owned by the caller */
    int pidfd;    /* -1: the kernel has no such descriptors; owned by the caller */
    bool is_late; /* an attach has begun the recording */
};

/* Returns false, and writes the reason to `error`, if that fails. */
bool attach_connect(long pid, struct attached *out, char *error, size_t room);

#endif
