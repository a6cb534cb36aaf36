/* SPDX-License-Identifier: MIT */
/* Gives another process access to what this process records, for `ndktrace attach`. */
#ifndef TRACE_ATTACH_H
#define TRACE_ATTACH_H

#include "trace/trace.h"

/*
 * Opens the file or ring that this process records to, for reading alone. If the process records nothing, begins to
 * record into a ring first. Returns the descriptor, which the caller closes with descriptors_close. Returns -1 if that
 * fails, and writes the reason to `problem`. Sets *is_late to true if this function has begun the recording, now or in
 * an earlier call.
 */
int trace_attach(bool *is_late, char problem[TRACE_MAX_PROBLEM]);

#endif
