/* SPDX-License-Identifier: MIT */
/* The events of a connection as sentences, in the order of time. */
#ifndef NDKTRACE_TIMELINE_H
#define NDKTRACE_TIMELINE_H

#include "story.h"

/*
 * Prints the lines. Marks the lines of the record `wrong` and of the cause's record, unless they are END_NONE. Returns
 * false if out of memory.
 */
bool timeline_print(FILE *out, const struct story *s, size_t wrong, struct story_cause cause);

#endif
