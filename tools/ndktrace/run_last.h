/* SPDX-License-Identifier: MIT */
/* Prints the last events of a program that `ndktrace run` has run. */
#ifndef NDKTRACE_RUN_LAST_H
#define NDKTRACE_RUN_LAST_H

#include <stdint.h>

/*
 * Prints the last `max` events of a trace file to standard error. If the file cannot be read, prints the reason
 * instead.
 */
void run_last_print(const char *path, uint32_t max);

#endif
