/* SPDX-License-Identifier: MIT */
/* Matches the frames that one end of a connection sent with the frames that the other end received. */
#ifndef NDKTRACE_MATCH_H
#define NDKTRACE_MATCH_H

#include "ends.h"

/*
 * Sets partner[i] of each matched record to the index of the record with which it is matched. `is_whole` must be false
 * if a file lacks events; then matches only frames that certainly belong together. Returns false if out of memory.
 */
bool match_frames(const struct trace_records *records, const struct end *from, const struct end *to, bool is_whole,
                  size_t *partner);
/*
 * Returns true if the start-up frames permit that these are the two ends of one connection. If is_whole is false, an
 * end may lack a start-up frame.
 */
bool match_is_possible(const struct trace_records *records, const struct end *initiator, const struct end *acceptor,
                       bool is_whole);

#endif
