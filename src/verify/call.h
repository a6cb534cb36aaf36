/* SPDX-License-Identifier: MIT */
/*
 * A consumer's call, from its entry to its return. The proxy's function has the struct on its stack, and the calls of a
 * thread form a chain: a callback that runs inside a call may call again. During the call the proxy stays in memory.
 *
 * No lock is held while the provider's function runs, so calls that race in the consumer also race in the provider.
 */
#ifndef VERIFY_CALL_H
#define VERIFY_CALL_H

#include <stdatomic.h>
#include <stdint.h>

#include "verify/exclusive.h"
#include "verify/stack.h"

struct proxy;

struct call {
    struct proxy *p;      /* the called object's proxy; NULL if the consumer passed NULL or a closed object */
    const char *routine;  /* "NdkSend" */
    const void *by;       /* the return address in the consumer */
    unsigned completions; /* the value of p->completions when the call began: see call_set_completed */
    struct exclusive_visit visit;
    struct call *outer;
    struct stack_call outer_stack; /* the stack_call of `outer` or of a callback; call_end restores it */
};

/*
 * Begins a call on the object `pub`: checks the IRQL, the caller's stack, and that the object is open. A closed object
 * is reported, and c->p is then NULL. `frame` is the stack frame of the function that the consumer has called.
 */
void call_begin(struct call *c, const void *pub, const char *routine, const void *by, const void *frame);
/* Ends the call, and reports an object that another thread has closed during the call. */
void call_end(struct call *c);

/*
 * Defines p_, the called proxy, for the rest of the function: see call_begin. The call ends when the function returns.
 */
#define PROXY_CALL(p_, pub_, routine_)                                                                                 \
    struct call call_ __attribute__((cleanup(call_end)));                                                              \
    call_begin(&call_, pub_, routine_, __builtin_return_address(0), __builtin_frame_address(0));                       \
    struct proxy *p_ = call_.p

/* Returns the calling thread's innermost call, or NULL. */
struct call *call_current(void);

/*
 * Called before a callback about p: the completion routine of an asynchronous call on p, or a notification. From then
 * on the consumer may close p, even if the function that caused the callback has not returned yet.
 */
void call_set_completed(struct proxy *p);

/*
 * A callback of the consumer, which runs between callback_begin and callback_end. `name` is the type of the callback,
 * for example "NdkConnectEventCallback". `adapter` is the adapter of the object that the callback concerns.
 */
struct callback {
    const char *name;
    const struct proxy *adapter;
    uint64_t mark; /* the result of the host's callback_begin, for the host's callback_end */
    const struct callback *outer;
    struct stack_call stack; /* of the outer call; callback_end restores it */
};
void callback_begin(struct callback *c, const struct proxy *adapter, const char *name);
void callback_end(struct callback *c, const void *routine);
/* Returns the name of the calling thread's innermost callback, or NULL if no callback runs. */
const char *callback_current(void);
/* Returns the name of the adapter's innermost callback on the calling thread, or NULL if none of its callbacks runs. */
const char *callback_of(const struct proxy *adapter);

/* Returns the ID of the calling thread. */
int verify_this_thread(void);
/* Makes verify_this_thread return the right ID in later children of fork, too. */
void call_follow_fork(void);

enum { CALL_HISTORY = 4 };

/*
 * The latest calls on an object. Written without a lock: if several threads call at once, an entry may have the
 * routine of one call and the thread of another.
 */
struct call_history {
    atomic_uint count; /* of all calls */
    struct {
        _Atomic(const char *) routine;
        atomic_int thread; /* ID of the calling thread */
    } last[CALL_HISTORY];  /* a ring: call n is at n % CALL_HISTORY */
};

#endif
