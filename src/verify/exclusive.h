/* SPDX-License-Identifier: MIT */
/*
 * Calls that a consumer must make one at a time, for example the posts to one queue. No lock is used, because two
 * calls that are made at once must also reach the provider at once. The report has the stacks of both calls. Each call
 * captures its stack when it ends, and the call that ends last reports.
 *
 * `word` changes atomically and has:
 *
 *   bits 0 to 15    how many calls are inside
 *   bits 16 to 31   EXCLUSIVE_*: the state of the breach that is about to be reported
 *   bits 32 to 63   the number of the latest breach
 */
#ifndef VERIFY_EXCLUSIVE_H
#define VERIFY_EXCLUSIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verify/rules.h"
#include "verify/stack.h"

struct call;

/* One of the two calls of a breach. */
struct exclusive_side {
    const char *routine;
    int thread;
    struct stack stack;
};

struct exclusive {
    _Atomic uint64_t word;
    struct exclusive_side later, earlier; /* each call writes its own side, and then sets its EXCLUSIVE_*_WRITTEN */
    enum verify_rule rule;
    const char *what; /* "the receive queue"; NULL: the object itself */
};

/* The part of a call's state that exclusive_begin sets. */
struct exclusive_visit {
    struct exclusive *in; /* NULL: the call has entered none */
    bool is_later;        /* another call was inside: this is the later call of a breach */
    bool can_release;     /* see exclusive_release */
    uint32_t seen;        /* the number of a breach that was not reported yet when the call entered; 0: none */
};

void exclusive_init(struct exclusive *e, enum verify_rule rule, const char *what);
/*
 * The calling thread's innermost call enters *e, and leaves *e when it ends. If an outer call of the thread is inside
 * *e, the innermost call does not enter, because it was made in a callback of the provider. If `can_release` is true,
 * exclusive_release may make the call leave *e before it ends.
 */
void exclusive_begin(struct exclusive *e, bool can_release);
/* Called when the call ends. */
void exclusive_end(struct call *c);
/*
 * Called before a notification, in which the consumer may call again. From now on, the call that has requested the
 * notification counts as returned.
 */
void exclusive_release(struct exclusive *e);

#endif
