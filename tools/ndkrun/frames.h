/* SPDX-License-Identifier: MIT */
/* The stacks of threads of this process, in the form that output.c completes with files and lines. */
#ifndef NDKRUN_FRAMES_H
#define NDKRUN_FRAMES_H

#include <pthread.h>
#include <stdio.h>

/* Prints a line for the function that contains the address. Async-signal-safe as far as fprintf to out is. */
void frames_print_line(FILE *out, int number, const char *at);

/*
 * Prints the stack of another thread, which has not been joined, from the driver's function on. The other thread
 * captures its stack in a handler of SIGURG, a signal that debuggers pass on silently. If the thread does not answer
 * within a second, prints a line about that instead.
 */
void frames_print_thread(FILE *out, pthread_t thread);

#endif
