/* SPDX-License-Identifier: MIT */
/*
 * Ctrl-C. The first SIGINT or SIGTERM requests that the tool prints its results so far and ends. If the tool does not
 * end within two seconds, a line on stderr reports what it waits for. The second signal ends the process at once.
 */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

/*
 * Starts a thread that waits for the signals. Blocks the signals in the calling thread and in the threads that it
 * creates later. Therefore the tool must call interrupt_catch before it creates other threads. After
 * interrupt_received has become true, the waiting thread calls on_interrupt once. on_interrupt may take locks, because
 * it is no signal handler; it may be NULL.
 */
void interrupt_catch(void (*on_interrupt)(void));
bool interrupt_received(void); /* may be called by any thread */
/*
 * Sets the words after "interrupted, waiting" in the line on stderr, for example "for the server". The text must stay
 * valid. May be called by any thread.
 */
void interrupt_set_wait(const char *text);
/* Waits for `seconds`, or until an interrupt. Returns false after an interrupt. */
bool interrupt_sleep(double seconds);

#endif
