/* SPDX-License-Identifier: MIT */
/*
 * Prints events to standard error as they happen, one line for each call, as strace does with system calls. The
 * invariant: a thread that records an event waits only for the lock of the printer and for the write. So it may hold
 * any other lock. Nothing is allocated. Each line is written as a whole.
 *
 *     [15:36:02.575908 1974] NdkConnect(connector1, qp1, local=192.168.1.2:0, ...) = STATUS_PENDING <12 us>
 *     [15:36:02.577111 1971] -> NdkConnect completes: connector1, STATUS_SUCCESS after 1.2 ms <3.0 us>
 *
 *   filter.h    which events are printed
 *   print.c     the lines of events
 *   thread.h    the calls that each thread is in, and lines that are held back
 *   object.h    short names of objects
 *   fields.h    values
 *   table.h     a table without memory allocation
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <stdbool.h>

#include "base/private_export.h"

enum { LIVE_MAX_PROBLEM = 400 };

/*
 * Selects the events that are printed. `list` has words with commas between them. A word is a group of events, or the
 * name of a routine, in which * and ? are wildcards. Each word adds events to the selection. A word that begins with
 * '-' removes its events from the selection. The words apply in their order. If the list begins with '-', the selection
 * begins with all drivers' calls. If a call is selected, its return and its completion are printed, too. If a word is
 * not valid, writes the reason to `problem` and returns false.
 */
bool live_select(const char *list, char problem[LIVE_MAX_PROBLEM]) PRIVATE_EXPORT(live_select);
/*
 * Begins to print the selected events. Must be called at most once. If `holds` is true, the line of a call is held back
 * until the call returns. `holds` must be false if the process can end without a call of live_before_text, because the
 * line would then be lost. Returns false if no thread can be created.
 */
bool live_start(bool holds) PRIVATE_EXPORT(live_start);

/*
 * Writes the line that is held back, if there is one. Must be called before a text is written to standard error, so
 * that the line comes first.
 */
void live_before_text(void) PRIVATE_EXPORT(live_before_text);

#endif
