/* SPDX-License-Identifier: MIT */
/*
 * Shows a full-screen display on a terminal: a title line, lines of text that can be scrolled, and a few lines of
 * messages. Uses the terminal's alternate screen. Restores the terminal at the end, before a suspension (Ctrl-Z), and
 * at Ctrl-C.
 */
#ifndef NDKSTAT_SCREEN_H
#define NDKSTAT_SCREEN_H

#include <stdbool.h>

enum screen_event {
    SCREEN_TIMEOUT, /* the time has elapsed, or the user has requested the next reading */
    SCREEN_QUIT,
    SCREEN_INTERRUPTED, /* the user pressed Ctrl-C */
    SCREEN_LOST,        /* the terminal can no longer be read or written, or memory ran out */
};

/*
 * Opens the display. Returns false if stdin or stdout is no terminal, or if the terminal cannot move its cursor
 * (TERM=dumb).
 */
bool screen_open(void);
void screen_close(void); /* restores the terminal; may be called by any thread, and several times */
/*
 * Shows the lines of `text` until the time has elapsed, or until the user presses a key that ends the display. Scrolls
 * and redraws in the meantime. `text` must be printable. `messages` contains lines about processes that were not read.
 */
enum screen_event screen_show(const char *title, const char *text, const char *messages, double seconds);

#endif
