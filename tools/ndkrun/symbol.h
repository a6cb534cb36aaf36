/* SPDX-License-Identifier: MIT */
/* Finds function names for addresses with addr2line or a compatible program. */
#ifndef NDKRUN_SYMBOL_H
#define NDKRUN_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the source line of an offset in a loaded module, and writes "function at file:line" to `text`. `module` is the
 * last component of the module's path. If the function is inlined, one line follows for each function that contains the
 * inlined code, the outermost function last. Returns false if no addr2line is installed, or if it finds nothing. Calls
 * from several threads must not overlap.
 */
bool symbol_find(const char *module, unsigned long offset, char *text, size_t room);

/*
 * Returns the name of the installed program that symbol_find uses, for example "addr2line". Returns NULL if none is
 * installed.
 */
const char *symbol_tool(void);

#endif
