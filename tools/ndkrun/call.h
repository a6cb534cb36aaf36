/* SPDX-License-Identifier: MIT */
/*
 * Runs each call into a driver on its own thread, because a driver may hang. Also handles Ctrl-C. The program's thread
 * only waits for calls. If a call hangs, the program's thread reports the call, and can end the program.
 */
#ifndef NDKRUN_CALL_H
#define NDKRUN_CALL_H

#include <pthread.h>
#include <stdbool.h>

/*
 * A call into a driver. It must stay valid until the call has returned. The call's thread writes only `id` and
 * `returned`.
 */
struct call {
    void (*routine)(void *context);
    void *context;
    pthread_t thread;
    unsigned id;   /* the thread's ID, which DbgPrint prints in its lines; protected by the lock in call.c */
    bool returned; /* protected by the lock in call.c */
};

/*
 * Installs the handler of SIGINT (Ctrl-C) and SIGTERM. The second signal ends the program with the exit code
 * CALL_INTERRUPTED_TWICE.
 */
enum { CALL_INTERRUPTED_TWICE = 130 };
void calls_init(void);
bool call_interrupted(void);
/* Has the same effect as Ctrl-C. */
void call_interrupt(void);

/* Sets *c and runs routine(context) on a new thread. Returns false if no thread can be created. */
bool call_start(struct call *c, void (*routine)(void *context), void *context);

/*
 * Waits until the call has returned, joins its thread, and returns true. Returns false after limit_ms milliseconds; a
 * negative limit_ms means no limit. If until_interrupt is true, also returns false after Ctrl-C. After call_wait has
 * returned true, the caller must not call it again for this call.
 */
bool call_wait(struct call *c, int limit_ms, bool until_interrupt);

/* Returns true if the call has returned. Any thread may call this and call_thread_id. */
bool call_has_returned(struct call *c);
/* Returns c->id, or 0 if the call's thread has not begun. */
unsigned call_thread_id(struct call *c);

#endif
