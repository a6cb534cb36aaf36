/* SPDX-License-Identifier: MIT */
/*
 * Escapes text from a peer or a driver for printing. Otherwise a terminal would interpret escape sequences in the text,
 * and text after a line break would look like a line of the tool.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>

/* The most bytes that one byte of the text can become. */
enum { PRINTABLE_MAX_GROWTH = 4 };

/*
 * Copies `text` to `out`, which has room for `room` bytes including the terminating 0. Printable ASCII, tabs and
 * printable UTF-8 are copied; each other byte becomes \xNN. Returns the length of the result.
 */
size_t printable_copy(char *out, size_t room, const char *text, size_t len);
/* Returns a whole text as printable_copy escapes it, in memory that the caller frees, or NULL if out of memory. */
char *printable_dup(const char *text);
/* Replaces each byte that is not printable ASCII by '?', so that a table's columns stay aligned. */
void printable_replace(char *text);

#endif
