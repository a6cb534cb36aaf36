/* SPDX-License-Identifier: MIT */
/* A line of text that is being built. Text that does not fit is cut off. */
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
/* Adds bytes that come from a driver or a peer. Replaces each byte that a terminal would interpret by \xNN. */
void live_text_add_safely(struct live_text *t, const char *bytes, size_t len);
/* Adds a duration with its unit, for example "1.2 ms". */
void live_text_add_duration(struct live_text *t, uint64_t ns);
/* Writes the line and a line break to standard error. */
void live_text_write(const struct live_text *t);

#endif
