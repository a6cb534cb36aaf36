/* SPDX-License-Identifier: MIT */
/* The last events of a program that ndktrace run has run. */
#ifndef NDKTRACE_RUN_LAST_H
#define NDKTRACE_RUN_LAST_H

#include <stdint.h>

/* Prints the last `max` events of a trace file to standard error, or why they cannot be read. */
void run_last_print(const char *path, uint32_t max);

#endif
