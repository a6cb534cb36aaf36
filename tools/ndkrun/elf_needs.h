/* SPDX-License-Identifier: MIT */
/* Finds out which shared libraries a shared object needs. */
#ifndef NDKRUN_ELF_NEEDS_H
#define NDKRUN_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a needed library whose name begins with prefix. Returns true and writes the library's name, at most room bytes,
 * to name. If the library exists in a directory of the object's run path, the name includes that directory. Returns
 * false if no such library is needed, or if the file is not a shared object.
 */
bool elf_needs(const char *path, const char *prefix, char *name, size_t room);

#endif
