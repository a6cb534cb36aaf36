/* SPDX-License-Identifier: MIT */
/*
 * Handles Ctrl-C. The first SIGINT or SIGTERM requests that the tool prints its results so far and ends. If the tool
 * does not end within two seconds, a line on stderr reports what the tool waits for. The second signal ends the process
 * at once.
 */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

/*
 * Starts a thread that waits for the signals. Blocks the signals in the calling thread, and in the threads that it
 * creates later. So the tool must call interrupt_catch before it creates other threads. When a signal arrives,
 * interrupt_received becomes true, and then the new thread calls on_interrupt once. on_interrupt may be NULL. It may
 * acquire locks, because it is not a signal handler.
 */
void interrupt_catch(void (*on_interrupt)(void));
bool interrupt_received(void); /* returns true after a signal; may be called by any thread */
/*
 * Sets the words after "interrupted, waiting" in the line on stderr, for example "for the server". The text must stay
 * valid. May be called by any thread.
 */
void interrupt_set_wait(const char *text);
/* Waits for `seconds`, or until a signal arrives. Returns false after a signal. */
bool interrupt_sleep(double seconds);

#endif
