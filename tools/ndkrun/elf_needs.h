/* SPDX-License-Identifier: MIT */
/* Finds the shared libraries that a shared object needs. */
#ifndef NDKRUN_ELF_NEEDS_H
#define NDKRUN_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a needed library whose name begins with `prefix`. Writes the library's name to `name`, a buffer of `room`
 * bytes, and returns true. If a directory of the object's run path (DT_RUNPATH) contains the library, the name includes
 * the first such directory. In the run path, $ORIGIN means the object's directory. Returns false if the object needs no
 * such library, or if the file is not a shared object that can be read.
 */
bool elf_needs(const char *path, const char *prefix, char *name, size_t room);

#endif
