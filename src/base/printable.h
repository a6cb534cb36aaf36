/* SPDX-License-Identifier: MIT */
/*
 * Escapes text from a peer or a driver before it is printed. Otherwise a terminal would interpret escape sequences in
 * the text, and text after a line break would look like a line of the tool.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>

/* The maximum number of bytes that replace one byte of the text. */
enum { PRINTABLE_MAX_GROWTH = 4 };

/*
 * Copies `len` bytes of `text` to `out`. Copies printable ASCII, tabs and printable UTF-8, and replaces each other byte
 * by \xNN. `room` is the size of `out`, including the terminating 0, and must be at least 1. Text that does not fit is
 * cut off. Returns the length of the result.
 */
size_t printable_copy(char *out, size_t room, const char *text, size_t len);
/*
 * Returns a copy of the text that is escaped as by printable_copy. The caller frees the copy. Returns NULL if out of
 * memory.
 */
char *printable_dup(const char *text);
/* Replaces each byte that is not printable ASCII by '?', so that a table's columns stay aligned. */
void printable_replace(char *text);

#endif
