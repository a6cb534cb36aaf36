/* SPDX-License-Identifier: MIT */
/* Matches the frames that one end of a connection sent with the frames that the other end received. */
#ifndef NDKTRACE_MATCH_H
#define NDKTRACE_MATCH_H

#include "ends.h"

/*
 * Sets partner[i] of each matched record to the index of the other record. `is_whole`: neither file lacks events. If it
 * is false, matches only frames that certainly belong together. Returns false if out of memory.
 */
bool match_frames(const struct trace_records *records, const struct end *from, const struct end *to, bool is_whole,
                  size_t *partner);
/*
 * Returns whether these can be two ends of one connection, as far as their start-up frames show. If is_whole is false,
 * an end may lack a start-up frame.
 */
bool match_is_possible(const struct trace_records *records, const struct end *initiator, const struct end *acceptor,
                       bool is_whole);

#endif
