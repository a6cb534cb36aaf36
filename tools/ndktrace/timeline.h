/* SPDX-License-Identifier: MIT */
/* The events of a connection as sentences, in the order of time. */
#ifndef NDKTRACE_TIMELINE_H
#define NDKTRACE_TIMELINE_H

#include "story.h"

/*
 * Prints the lines. Those of the record `wrong` and of the cause, if they are not END_NONE, are marked. Returns false if
 * out of memory.
 */
bool timeline_print(FILE *out, const struct story *s, size_t wrong, struct story_cause cause);

#endif
