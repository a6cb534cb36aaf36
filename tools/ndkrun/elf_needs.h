/* SPDX-License-Identifier: MIT */
/* Shared libraries that a shared object needs. */
#ifndef NDKRUN_ELF_NEEDS_H
#define NDKRUN_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a needed library whose name begins with prefix. Returns true and writes its name (at most room bytes), with the
 * directory of the object's run path if it lies there. Returns false if there is none, or the file is not a shared
 * object.
 */
bool elf_needs(const char *path, const char *prefix, char *name, size_t room);

#endif
