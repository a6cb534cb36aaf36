/* SPDX-License-Identifier: MIT */
/*
 * Calls into a driver, each on a thread of its own because a driver may hang, and Ctrl-C. The program's own thread only
 * waits for calls, so it can report a call that hangs and end the program in spite of it.
 */
#ifndef NDKRUN_CALL_H
#define NDKRUN_CALL_H

#include <pthread.h>
#include <stdbool.h>

/* Owned by the program's thread, except for what call.c guards. Must stay valid if the call does not return. */
struct call {
    void (*routine)(void *context);
    void *context;
    pthread_t thread;
    unsigned id;   /* the thread's ID, as DbgPrint's lines have it; guarded by call.c */
    bool returned; /* guarded by call.c */
};

/* Handles Ctrl-C (SIGINT, SIGTERM). The second one ends the program, with CALL_INTERRUPTED_TWICE. */
enum { CALL_INTERRUPTED_TWICE = 130 };
void calls_init(void);
bool call_interrupted(void);

/* Sets *c and runs routine(context) on a new thread. Returns false if there is none. */
bool call_start(struct call *c, void (*routine)(void *context), void *context);

/*
 * Waits until the call has returned, and joins its thread. Returns false if it has not returned within limit_ms
 * (negative: no limit), or, with until_interrupt, before a Ctrl-C. Must not be called again after it returned true.
 */
bool call_wait(struct call *c, int limit_ms, bool until_interrupt);

/* Any thread. */
bool call_has_returned(struct call *c);
/* Returns 0 if the thread has not begun. */
unsigned call_thread_id(struct call *c);

#endif
