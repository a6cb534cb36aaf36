/* SPDX-License-Identifier: MIT */
/*
 * Runs each call into a driver on a thread of its own, because a driver may hang. Also handles Ctrl-C. The program's
 * own thread only waits for calls. If a call hangs, the program's thread reports the call, and can end the program.
 */
#ifndef NDKRUN_CALL_H
#define NDKRUN_CALL_H

#include <pthread.h>
#include <stdbool.h>

/* A call into a driver. Must stay valid until the call has returned. Its thread sets only `id` and `returned`. */
struct call {
    void (*routine)(void *context);
    void *context;
    pthread_t thread;
    unsigned id;   /* the thread's ID, as DbgPrint's lines have it; protected by call.c's lock */
    bool returned; /* protected by call.c's lock */
};

/* Handles Ctrl-C (SIGINT, SIGTERM). The second Ctrl-C ends the program with the exit code CALL_INTERRUPTED_TWICE. */
enum { CALL_INTERRUPTED_TWICE = 130 };
void calls_init(void);
bool call_interrupted(void);
/* Ends all waits for Ctrl-C, as Ctrl-C does. */
void call_interrupt(void);

/* Sets *c and runs routine(context) on a new thread. Returns false if no thread can be created. */
bool call_start(struct call *c, void (*routine)(void *context), void *context);

/*
 * Waits until the call has returned, joins its thread, and returns true. Returns false after limit_ms (negative: no
 * limit). If until_interrupt is true, also returns false after Ctrl-C. After call_wait has returned true, it must not
 * be called again for this call.
 */
bool call_wait(struct call *c, int limit_ms, bool until_interrupt);

/* Any thread may call call_has_returned and call_thread_id. */
bool call_has_returned(struct call *c);
/* Returns c->id, or 0 if the thread has not begun. */
unsigned call_thread_id(struct call *c);

#endif
