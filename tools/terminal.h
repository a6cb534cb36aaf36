/* SPDX-License-Identifier: MIT */
/* Output that only a terminal gets: colours, and a line of progress. */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/*
 * Returns the escape sequence of a style, or "" if the stream is no terminal, TERM is "dumb", or NO_COLOR is set and
 * not empty. STYLE_NONE ends a style.
 */
const char *terminal_style(FILE *stream, enum terminal_style style);

/*
 * Shows a line of progress on stderr, at most five times a second, beginning two seconds after the first call. Prints
 * nothing if stderr is no terminal. May be called by any thread.
 */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Must be called before a call that blocks. Updates the line of progress once a second, from two seconds after
 * progress_begin until progress_end. The line has the text and the seconds since progress_begin.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);
/*
 * Removes the line of progress. Must be called before other output to a terminal, and at the end. May be called by any
 * thread.
 */
void progress_clear(void);

#endif
