/* SPDX-License-Identifier: MIT */
/*
 * A full-screen display on a terminal: the alternate screen, with a title line, lines of text that can be scrolled, and
 * a few lines of messages. The terminal is restored at the end, at a suspension (Ctrl-Z) and at Ctrl-C.
 */
#ifndef NDKSTAT_SCREEN_H
#define NDKSTAT_SCREEN_H

#include <stdbool.h>

enum screen_event {
    SCREEN_TIMEOUT, /* the time has passed, or the user has requested the next reading */
    SCREEN_QUIT,
    SCREEN_INTERRUPTED, /* Ctrl-C */
    SCREEN_LOST,        /* the terminal cannot be written */
};

/* Returns false if stdin or stdout is no terminal, or if the terminal has no cursor addressing (TERM=dumb). */
bool screen_open(void);
void screen_close(void); /* may be called by any thread, and several times */
/*
 * Shows the lines of `text`, which must be printable, until the user presses a key that ends the display, or until
 * the time has passed. Meanwhile scrolls and redraws. `messages` has lines about processes that were not read.
 */
enum screen_event screen_show(const char *title, const char *text, const char *messages, double seconds);

#endif
