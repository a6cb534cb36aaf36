/* SPDX-License-Identifier: MIT */
/* Which shared libraries a shared object asks for. */
#ifndef NDKRUN_ELF_NEEDS_H
#define NDKRUN_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Looks for a needed library whose name begins with prefix. True: name (of room octets) is it, with the directory of
 * the object's run path in front if it lies there. False: there is none, or the file is no shared object.
 */
bool elf_needs(const char *path, const char *prefix, char *name, size_t room);

#endif
