/* SPDX-License-Identifier: MIT */
/* Writes traces for the viewer Perfetto. */
#ifndef NDKTRACE_PERFETTO_H
#define NDKTRACE_PERFETTO_H

#include <stdio.h>

#include "traces.h"

/*
 * Writes the events of all files in JSON, and sets *n_events to the number of written events. Returns false if out of
 * memory. The caller must check the stream for write errors.
 */
bool perfetto_write(FILE *out, const struct traces *traces, size_t *n_events);

#endif
