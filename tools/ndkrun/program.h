/* SPDX-License-Identifier: MIT */
/* Finds out whether a program that ndkrun needs is installed. */
#ifndef NDKRUN_PROGRAM_H
#define NDKRUN_PROGRAM_H

#include <stdbool.h>

/* Returns true if a folder in PATH contains a program with this name. */
bool program_is_installed(const char *name);

#endif
