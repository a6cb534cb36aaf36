/* SPDX-License-Identifier: MIT */
/* Prints the events of a connection as sentences, in the order of time. */
#ifndef NDKTRACE_TIMELINE_H
#define NDKTRACE_TIMELINE_H

#include "story.h"

/*
 * Prints the lines. Marks the line of the record `wrong` and the line of cause.record, unless these are END_NONE.
 * Returns false if out of memory.
 */
bool timeline_print(FILE *out, const struct story *s, size_t wrong, struct story_cause cause);

#endif
