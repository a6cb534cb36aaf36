/* SPDX-License-Identifier: MIT */
/* Captures the stack of another thread as plain addresses, for programs that print stacks themselves. */
#ifndef VERIFY_THREAD_FRAMES_H
#define VERIFY_THREAD_FRAMES_H

#include "base/private_export.h"

enum { THREAD_FRAMES_RUNS = -1 };

/*
 * Stores at most `max` addresses of the stack of the thread with the ID `thread`, the innermost first. The first is the
 * program counter, the others are return addresses. The thread is neither stopped nor signalled. Returns the number of
 * addresses, 0 if the stack cannot be read, or THREAD_FRAMES_RUNS if the thread does not wait.
 */
int thread_frames(int thread, void *frames[], int max) PRIVATE_EXPORT(thread_frames);

#endif
