/* SPDX-License-Identifier: MIT */
/* Writes the results of align_create: the ends of connections, and the two events of each frame. */
#ifndef NDKTRACE_HTML_LINKS_H
#define NDKTRACE_HTML_LINKS_H

#include <stdio.h>

#include "align.h"

#define HTML_NO_EVENT SIZE_MAX

/*
 * Writes the members "ends", "endOfEvent" and "partners" of a JSON object. event_of[i] is the index of record i's event
 * in the page, or HTML_NO_EVENT.
 */
void html_links_write(FILE *out, const struct align *a, const struct trace_file *files, const size_t *event_of);

#endif
