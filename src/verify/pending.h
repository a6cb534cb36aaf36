/* SPDX-License-Identifier: MIT */
/*
 * Calls whose completion callback has not come yet, and their contexts. The host finds a context in memory that goes
 * away by verify_find_use. A context on the caller's stack is dead when the thread has returned from the function that
 * the context belongs to. That is seen when the completion comes, or at the thread's next NDK call.
 */
#ifndef VERIFY_PENDING_H
#define VERIFY_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "verify/stack.h"
#include "verify/verify.h"

/* Embedded in what represents the call. */
struct pending {
    TAILQ_ENTRY(pending) list;
    const char *routine;  /* "NdkConnect"; NULL: not in the list */
    const void *context;
    int thread;           /* that called, if the context is on its stack; else 0 */
    bool reported;
    struct stack by;
};

/* Before the provider's call. The stack begins at the return address `by`. Does nothing while verification is off. */
void pending_begin(struct pending *p, const char *routine, const void *context, const void *by);
/* The call was answered inline. */
void pending_remove(struct pending *p);
/* Before the call's completion callback. frame is the caller's; a context below it on the same stack is dead. */
void pending_complete(struct pending *p, const void *frame);
/* The thread makes another call, from the frame: reports a context on its stack that is dead. */
void pending_check_stack(const char *routine, const void *frame);
/* See verify_find_use. */
bool pending_find_use(const void *start, size_t size, struct verify_use *use);
/* Copies the pending calls, as far as there is room; returns how many there are. */
unsigned pending_copy(struct verify_open *out, unsigned room);

#endif
