/* SPDX-License-Identifier: MIT */
/* Function names for addresses, from addr2line or a compatible program. */
#ifndef NDKRUN_SYMBOL_H
#define NDKRUN_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes "function at file:line" to text for an offset in a loaded module, which is named by the last part of its path.
 * If the function is inlined, a line for each function that it is inlined into follows, the outermost one last.
 * Returns false if there is no such program, or if the program finds nothing. The caller must serialize the calls.
 */
bool symbol_find(const char *module, unsigned long offset, char *text, size_t room);

/* Returns the first of these programs that is installed, or NULL. */
const char *symbol_tool(void);

#endif
