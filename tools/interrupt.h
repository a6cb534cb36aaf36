/* SPDX-License-Identifier: MIT */
/*
 * Ctrl-C. The first SIGINT or SIGTERM asks the tool to end and to print what it has so far. If that takes longer than two
 * seconds, a line on stderr reports what the tool waits for. The second signal ends the process at once.
 */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

/*
 * Starts a thread that waits for the signals, and blocks them in the calling thread and in those that it creates. Must
 * be called before other threads are created. on_interrupt, which may be NULL, runs once on that thread after
 * interrupt_received has become true, so it may take locks.
 */
void interrupt_catch(void (*on_interrupt)(void));
bool interrupt_received(void); /* any thread */
/* Sets what the tool waits for after an interrupt: "for the server". The text must stay valid. Any thread. */
void interrupt_set_wait(const char *text);
/* Waits for a time or until the interrupt. Returns false if it was interrupted. */
bool interrupt_sleep(double seconds);

#endif
