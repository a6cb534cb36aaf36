/* SPDX-License-Identifier: MIT */
/* A line of text in the making. Text beyond its room is cut off. */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { LIVE_MAX_LINE = 1024 };

struct live_text {
    size_t used;
    char bytes[LIVE_MAX_LINE];
};

__attribute__((format(printf, 2, 3))) void live_text_add(struct live_text *t, const char *format, ...);
/* Adds bytes of a driver or a peer: those that a terminal would interpret become \xNN. */
void live_text_add_safely(struct live_text *t, const char *bytes, size_t len);
/* Adds a duration with its unit, for example "1.2 ms". */
void live_text_add_duration(struct live_text *t, uint64_t ns);
/* Writes the line to standard error, with a line break. */
void live_text_write(const struct live_text *t);

#endif
