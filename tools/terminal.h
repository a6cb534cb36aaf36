/* SPDX-License-Identifier: MIT */
/* Prints output that only a terminal receives: styles, and a progress line. */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/*
 * Returns the escape sequence that begins a style; STYLE_NONE ends a style. Returns "" if the stream is no terminal,
 * TERM is "dumb", or NO_COLOR is set and not empty.
 */
const char *terminal_style(FILE *stream, enum terminal_style style);

/*
 * Shows a progress line on stderr, at most five times a second, beginning two seconds after the first call. Prints
 * nothing if stderr is no terminal. May be called by any thread.
 */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Starts to update the progress line once a second, until progress_end. The first update comes two seconds after this
 * call. The line contains the text and the seconds since this call. Must be called before a call that blocks.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);
/*
 * Removes the progress line. Must be called before other output to a terminal, and at the end. May be called by any
 * thread.
 */
void progress_clear(void);

#endif
