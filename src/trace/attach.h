/* SPDX-License-Identifier: MIT */
/* Gives another process access to the events that this process records. `ndktrace attach` uses this. */
#ifndef TRACE_ATTACH_H
#define TRACE_ATTACH_H

#include "trace/trace.h"

/*
 * Opens the file or ring to which this process records, for reading only. If the process does not record, first begins
 * to record into a ring. Sets *is_late to true if this function has begun the recording, now or in an earlier call.
 * Returns the descriptor, which the caller closes with descriptors_close. On failure, writes the reason to `problem`
 * and returns -1.
 */
int trace_attach(bool *is_late, char problem[TRACE_MAX_PROBLEM]);

#endif
