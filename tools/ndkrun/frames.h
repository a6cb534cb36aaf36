/* SPDX-License-Identifier: MIT */
/* Prints the stacks of this process's threads. output.c then adds the source files and lines to the printed frames. */
#ifndef NDKRUN_FRAMES_H
#define NDKRUN_FRAMES_H

#include <pthread.h>
#include <stdio.h>

/*
 * Prints a line for the function that contains the address. Not async-signal-safe, because it calls dladdr and fprintf.
 */
void frames_print_line(FILE *out, int number, const char *at);

/*
 * Prints the stack of another thread, beginning with the driver's innermost function. The other thread must not have
 * been joined. The thread captures its stack in a handler of SIGURG, which debuggers pass on without a message. If the
 * stack is not captured within a second, prints a line that reports this.
 */
void frames_print_thread(FILE *out, pthread_t thread);

#endif
