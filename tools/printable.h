/* SPDX-License-Identifier: MIT */
/*
 * Text that a peer or a driver has chosen, made safe to print: a terminal obeys escape sequences, and a line break
 * would let the text pass for a line of the tool's own.
 */
#ifndef TOOLS_PRINTABLE_H
#define TOOLS_PRINTABLE_H

#include <stddef.h>

/* The bytes that each byte of a text needs at most. */
enum { PRINTABLE_MOST = 4 };

/*
 * Copies the text, at most room - 1 bytes of the result, and ends it with a NUL. Printable ASCII, tabs and printable
 * UTF-8 stay; each other byte becomes \xNN. Returns the length of the result.
 */
size_t printable_copy(char *out, size_t room, const char *text, size_t len);

#endif
