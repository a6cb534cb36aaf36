/* SPDX-License-Identifier: MIT */
/* Other programs that ndkrun starts. */
#ifndef NDKRUN_PROGRAM_H
#define NDKRUN_PROGRAM_H

#include <stdbool.h>

/* Is a program of this name in a folder of PATH? */
bool program_is_installed(const char *name);

#endif
