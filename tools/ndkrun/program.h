/* SPDX-License-Identifier: MIT */
/* Other programs that ndkrun starts. */
#ifndef NDKRUN_PROGRAM_H
#define NDKRUN_PROGRAM_H

#include <stdbool.h>

/* Returns whether a folder of PATH has a program of this name. */
bool program_is_installed(const char *name);

#endif
