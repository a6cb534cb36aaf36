/* SPDX-License-Identifier: MIT */
/*
 * A call by the consumer, from entry to return. The struct is on the stack of the function that the consumer has
 * called. The calls of a thread form a chain, because a callback that runs inside a call may call again. The proxy
 * stays in memory during the call.
 *
 * No lock is held while the provider's function runs. So calls that race in the consumer also race in the provider.
 */
#ifndef VERIFY_CALL_H
#define VERIFY_CALL_H

#include <stdatomic.h>
#include <stdint.h>

#include "verify/exclusive.h"
#include "verify/stack.h"

struct proxy;

struct call {
    struct proxy *p;      /* the proxy of the called object; NULL if the consumer has passed NULL or a closed object */
    const char *routine;  /* the name of the called routine, for example "NdkSend" */
    const void *by;       /* the return address in the consumer */
    unsigned completions; /* the value of p->completions when the call began: see call_set_completed */
    struct exclusive_visit visit;
    struct call *outer;
    struct stack_call outer_stack; /* the thread's stack_call from before call_begin; call_end restores this value */
};

/*
 * Begins a call of `routine` on the object `pub`. Checks the IRQL, the stack of the caller, and that the object is
 * open. If the object is closed, reports this and sets c->p to NULL. `by` is the return address in the consumer.
 * `frame` is the stack frame of the function that the consumer has called.
 */
void call_begin(struct call *c, const void *pub, const char *routine, const void *by, const void *frame);
/* Ends the call. If another thread has closed the object during the call, reports this. */
void call_end(struct call *c);

/*
 * Calls call_begin for the object pub_, and defines p_. p_ is the proxy of that object, or NULL. The call ends when the
 * enclosing function returns.
 */
#define PROXY_CALL(p_, pub_, routine_)                                                                                 \
    struct call call_ __attribute__((cleanup(call_end)));                                                              \
    call_begin(&call_, pub_, routine_, __builtin_return_address(0), __builtin_frame_address(0));                       \
    struct proxy *p_ = call_.p

/* Returns the innermost call of the calling thread, or NULL if the thread is in no call. */
struct call *call_current(void);

/*
 * Records that the consumer may now close p, even if the function that caused the callback has not returned. Runs
 * before each callback about p: a notification, or the completion routine of an asynchronous call on p.
 */
void call_set_completed(struct proxy *p);

/*
 * A callback of the consumer that runs between callback_begin and callback_end. `name` is the callback's type, for
 * example "NdkConnectEventCallback". `adapter` is the adapter of the object that the callback concerns.
 */
struct callback {
    const char *name;
    const struct proxy *adapter;
    uint64_t mark; /* the value that the host's callback_begin has returned; the host's callback_end receives it */
    const struct callback *outer;
    struct stack_call stack; /* the thread's stack_call from before callback_begin; callback_end restores this value */
};
void callback_begin(struct callback *c, const struct proxy *adapter, const char *name);
void callback_end(struct callback *c, const void *routine);
/* Returns the name of the calling thread's innermost callback, or NULL if the thread is in no callback. */
const char *callback_current(void);
/*
 * Returns the name of the innermost callback of `adapter` that the calling thread is in. Returns NULL if there is none.
 */
const char *callback_of(const struct proxy *adapter);

/* Returns the ID of the calling thread. */
int verify_this_thread(void);
/* Makes verify_this_thread return the right ID in children of fork, too. Must run before the fork. */
void call_follow_fork(void);

enum { CALL_HISTORY = 4 };

/*
 * The latest calls on an object. No lock guards the ring. So if several threads call at the same time, an entry may
 * have the routine of one call and the thread of another.
 */
struct call_history {
    atomic_uint count; /* number of all calls on the object so far */
    struct {
        _Atomic(const char *) routine;
        atomic_int thread; /* ID of the thread that called */
    } last[CALL_HISTORY];  /* ring: call n is in element n % CALL_HISTORY */
};

#endif
