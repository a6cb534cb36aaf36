/* SPDX-License-Identifier: MIT */
/* Gives another process access to the events that this process records, for `ndktrace attach`. */
#ifndef TRACE_ATTACH_H
#define TRACE_ATTACH_H

#include "trace/trace.h"

/*
 * Opens the file or ring to which this process records, for reading only. If the process does not record, first begins
 * to record into a ring. Sets *is_late to true if this call or an earlier call of this function has begun the
 * recording. Returns the descriptor, which the caller closes with descriptors_close. On failure, writes the reason to
 * `problem` and returns -1.
 */
int trace_attach(bool *is_late, char problem[TRACE_MAX_PROBLEM]);

#endif
