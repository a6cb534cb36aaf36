/* SPDX-License-Identifier: MIT */
/* Matches the frames that one end of a connection sent with those that the other end received. */
#ifndef NDKTRACE_MATCH_H
#define NDKTRACE_MATCH_H

#include "ends.h"

/*
 * Sets partner[i] of each matched record to the index of the other record. `is_whole`: neither file lacks events. If it
 * is false, only frames are matched that certainly belong together. Returns false if out of memory.
 */
bool match_frames(const struct trace_records *records, const struct end *from, const struct end *to, bool is_whole,
                  size_t *partner);
/*
 * Can these be two ends of the same connection, as far as their start-up frames show? An end of a file that is not
 * whole may lack its frame.
 */
bool match_is_possible(const struct trace_records *records, const struct end *initiator, const struct end *acceptor,
                       bool is_whole);

#endif
