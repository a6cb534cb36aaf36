/* SPDX-License-Identifier: MIT */
/*
 * Prints events as they happen, one line for each call, to standard error, as strace does with system calls. The
 * invariant: a thread that records an event waits for nothing but the lock of the printer and the write, so it may hold
 * any other lock. Nothing is allocated. A line is written whole.
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
 * Selects what is printed. `list` has words with commas between them. A word is a group of events or the name of a
 * routine, with the wildcards * and ?. Each word adds events to the selection, or removes them if '-' precedes the
 * word, in the order of the words. If the list begins with '-', all drivers' calls are selected first. A call's return
 * and completion are printed like the call. Returns false if a word is wrong, and then writes the reason to `problem`.
 */
bool live_select(const char *list, char problem[LIVE_MAX_PROBLEM]) PRIVATE_EXPORT(live_select);
/*
 * Begins to print what was selected. Must be called once at most. If `holds` is true, the line of a call is held back
 * until the call returns. `holds` must be false if the process may end without a call of live_before_text. Returns
 * false if no thread can be created.
 */
bool live_start(bool holds) PRIVATE_EXPORT(live_start);

/*
 * Must be called before a text is written to standard error, so that a line that is held back comes first. Does nothing
 * if nothing is printed.
 */
void live_before_text(void) PRIVATE_EXPORT(live_before_text);

#endif
