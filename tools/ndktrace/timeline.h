/* SPDX-License-Identifier: MIT */
/* The events of a connection as sentences, in the order of time. */
#ifndef NDKTRACE_TIMELINE_H
#define NDKTRACE_TIMELINE_H

#include "story.h"

/* Prints the lines. If `wrong` is not END_NONE, marks the line of this record. Returns false if out of memory. */
bool timeline_print(FILE *out, const struct story *s, size_t wrong);

#endif
