/* SPDX-License-Identifier: MIT */
/* Names for addresses, by addr2line or one that is called like it. */
#ifndef NDKRUN_SYMBOL_H
#define NDKRUN_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts "function at file:line" of the offset in a loaded module, told by the last part of its path, into text.
 * False: there is no tool, or it does not know. The calls are the caller's to keep apart.
 */
bool symbol_find(const char *module, unsigned long offset, char *text, size_t room);

/* The first tool that is installed; NULL if none is. */
const char *symbol_tool(void);

#endif
