/* SPDX-License-Identifier: MIT */
/*
 * Reports calls that a consumer makes at the same time but must make one after the other, for example posts to one
 * queue. Nothing here waits, so calls that the consumer makes at the same time also reach the provider at the same
 * time. The report has the stacks of both calls. Each call captures its stack when it ends, and the call that ends last
 * reports.
 *
 * `word` changes atomically and has:
 *
 *   bits 0 to 15    the number of calls that are inside: they have begun and not ended
 *   bits 16 to 31   EXCLUSIVE_*: the state of the breach that is not reported yet
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

/* One of the two calls of a breach. A breach is a call that enters a struct exclusive while another call is inside. */
struct exclusive_side {
    const char *routine;
    int thread;
    struct stack stack;
};

struct exclusive {
    _Atomic uint64_t word;
    struct exclusive_side later, earlier; /* each call writes its own side, then sets EXCLUSIVE_*_WRITTEN */
    enum verify_rule rule;
    const char *what; /* the thing that the calls share, for example "the receive queue"; NULL: the object itself */
    uint64_t p3;      /* parameter p3 of the report */
};

/* The state of one call between exclusive_begin and exclusive_end. */
struct exclusive_visit {
    struct exclusive *in; /* the struct that the call has entered, or NULL */
    bool is_later;        /* another call was inside when this call entered: this is the later call of a breach */
    bool can_release;     /* exclusive_release may end this visit before the call ends */
    uint32_t seen;        /* number of the breach that was not reported yet when the call entered; 0: none */
};

void exclusive_init(struct exclusive *e, enum verify_rule rule, const char *what, uint64_t p3);
/*
 * Makes the innermost call of the calling thread enter *e. The call leaves *e when it ends. If an outer call of the
 * thread is inside *e, the innermost call does not enter, because it was made in a callback of the provider. If
 * `can_release` is true, exclusive_release may make the call leave *e before it ends.
 */
void exclusive_begin(struct exclusive *e, bool can_release);
/*
 * Makes c, which is about to end, leave the struct that it has entered. Reports the breach if both of its sides are now
 * stored. Does nothing if c has entered no struct.
 */
void exclusive_end(struct call *c);
/*
 * Makes the call that has requested a notification leave *e early. Must run before the notification's callback, because
 * the consumer may call again in the callback.
 */
void exclusive_release(struct exclusive *e);

#endif
