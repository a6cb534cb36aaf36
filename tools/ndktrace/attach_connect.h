/* SPDX-License-Identifier: MIT */
/*
 * Obtains a descriptor of the file or ring to which another process records. docs/trace.md describes the protocol. The
 * invariant: the tool waits at most a few seconds and uses limited memory, even if the process has ended, is stopped or
 * is hostile.
 */
#ifndef NDKTRACE_ATTACH_CONNECT_H
#define NDKTRACE_ATTACH_CONNECT_H

#include <stdbool.h>
#include <stddef.h>

struct attached {
    int fd;       /* descriptor of the trace; the caller must close it */
    int pidfd;    /* pidfd of the process, which the caller must close; -1: the kernel has no pidfds */
    bool is_late; /* an attach has started the recording, so the trace lacks earlier events */
};

/*
 * Connects to the process `pid`, receives the descriptor of its trace, and fills *out. After a failure, writes the
 * reason to `error`, a buffer of `room` bytes, and returns false.
 */
bool attach_connect(long pid, struct attached *out, char *error, size_t room);

#endif
