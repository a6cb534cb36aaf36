/* SPDX-License-Identifier: MIT */
/* Prints the stacks of this process's threads. output.c then adds the source files and lines to the printed frames. */
#ifndef NDKRUN_FRAMES_H
#define NDKRUN_FRAMES_H

#include <stdint.h>
#include <stdio.h>

/*
 * Prints a line for the function that contains the address. Not async-signal-safe, because it calls dladdr and fprintf.
 */
void frames_print_line(FILE *out, int number, const char *at);

/*
 * Prints the stack of another thread of this process, beginning with the driver's innermost function. `thread` is the
 * thread's ID as gettid returns it. The thread captures its stack in a handler of SIGURG, which debuggers pass on
 * without a message. If the stack is not captured within a second, prints a line that reports this.
 */
void frames_print_thread(FILE *out, int thread);

/*
 * Prints the stack of each thread that is in a function of a module which was loaded from one of `files`. Omits the
 * calling thread. Returns the number of threads whose stacks were printed.
 */
uint32_t frames_print_drivers(FILE *out, const char *const *files, uint32_t count);

#endif
