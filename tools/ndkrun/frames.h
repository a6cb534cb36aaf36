/* SPDX-License-Identifier: MIT */
/* Prints the stacks of this process's threads. output.c adds files and lines to the printed frames. */
#ifndef NDKRUN_FRAMES_H
#define NDKRUN_FRAMES_H

#include <pthread.h>
#include <stdio.h>

/* Prints a line for the function that contains the address. Not async-signal-safe: calls dladdr and fprintf. */
void frames_print_line(FILE *out, int number, const char *at);

/*
 * Prints the stack of another thread, beginning with the innermost function of the driver. The other thread must not
 * have been joined. It captures its stack in a handler of SIGURG, a signal that debuggers pass on silently. If the
 * stack is not captured within a second, prints a line about this instead.
 */
void frames_print_thread(FILE *out, pthread_t thread);

#endif
