/* SPDX-License-Identifier: MIT */
/* The stacks of threads of this process, in the form that output.c completes with files and lines. */
#ifndef NDKRUN_FRAMES_H
#define NDKRUN_FRAMES_H

#include <pthread.h>
#include <stdio.h>

/* Prints a line for the function that contains the address. Not async-signal-safe: calls dladdr and fprintf. */
void frames_print_line(FILE *out, int number, const char *at);

/*
 * Prints the stack of another thread, which must not have been joined, from the driver's function on. The other thread
 * captures its stack in a handler of SIGURG, a signal that debuggers pass on silently. If the stack is not captured
 * within a second, prints a line about this instead.
 */
void frames_print_thread(FILE *out, pthread_t thread);

#endif
