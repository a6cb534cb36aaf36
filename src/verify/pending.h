/* SPDX-License-Identifier: MIT */
/*
 * Records pending calls with their contexts. A call is pending until its completion callback runs. Before the host
 * frees memory, verify_find_use searches that memory for contexts of pending calls. A context that is a local variable
 * is dead as soon as the variable's function returns. A dead context is detected when the call completes, or when the
 * thread that made the call calls NDK again.
 */
#ifndef VERIFY_PENDING_H
#define VERIFY_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "verify/stack.h"
#include "verify/verify.h"

/*
 * The object that a call creates, closes or uses. Each pending call has its own copy of this struct, because the
 * object's proxy may be freed before the call completes.
 */
struct pending_object {
    const char *type; /* for example "NDK_QP" */
    const void *proxy, *adapter;
};

enum { PENDING_MAX_MDLS = 8 }; /* maximum number of watched MDLs of one call */

/* A pending call. Each struct that represents a call contains this struct. */
struct pending {
    TAILQ_ENTRY(pending) list;
    const char *routine; /* name of the call, for example "NdkConnect"; NULL if the call is not in a list */
    struct pending_object object;
    const void *context;
    int thread;          /* ID of the calling thread if the context is on that thread's stack; otherwise 0 */
    uintptr_t stack_end; /* the end of the stack that contains the context; 0: the context is on no stack */
    bool reported;
    int caller;           /* ID of the thread that made the call */
    const char *callback; /* name of the callback in which the call was made; NULL: the call was made in no callback */
    uint64_t since_ns;
    bool stalled; /* pending_copy_stalled has copied this call */
    const struct _MDL *mdls[PENDING_MAX_MDLS];
    unsigned mdl_count;
    struct stack by;
};

/* Makes each later fork acquire the lock of the pending calls, so that the lock is free in the child. */
void pending_guard_fork(void);
/*
 * Adds a pending call. Must be called before the provider's function. The recorded stack begins at the return address
 * `by`. Does nothing while verification is off.
 */
void pending_begin(struct pending *p, const struct pending_object *object, const char *routine, const void *context,
                   const void *by);
/* Stores the MDL chain that the call uses. Must be called after pending_begin, and before the provider's function. */
void pending_set_mdls(struct pending *p, const struct _MDL *mdl);
/*
 * Finds a pending call of the calling thread that uses an MDL of `chain`. Sets *found to a copy of the call, and *used
 * to the MDL. Returns false if there is no such call. Calls of other threads are not searched: the provider's function
 * may still be running in the other thread, and may fail.
 */
bool pending_find_mdl(const struct _MDL *chain, struct pending *found, const struct _MDL **used);
/* Removes a call that has completed inline, that is, without its callback. */
void pending_remove(struct pending *p);
/*
 * Removes a call before its completion callback runs. Reports the call if its context is dead. `frame` is the caller's
 * stack frame. A context below that frame on the same stack is dead.
 */
void pending_complete(struct pending *p, const void *frame);
/*
 * Reports a pending call of the calling thread if its context is dead. Reports each call at most once. Must run at each
 * NDK call. `frame` is the stack frame of the function that the consumer has called. A context below that frame on the
 * same stack is dead.
 */
void pending_check_stack(const char *routine, const void *frame);
/*
 * Copies calls to `out`, at most `room`. Copies a call only once, and only if it began at the time `before` or earlier.
 * Returns the number of copied calls. Sets *oldest to the start time of the oldest call that was never copied, or to
 * UINT64_MAX if every call was copied.
 */
unsigned pending_copy_stalled(uint64_t before, struct pending *out, unsigned room, uint64_t *oldest);
/*
 * Finds a pending call whose context or MDL is in [start, start + size), and describes it in *use: see verify_find_use.
 * Returns false if there is none.
 */
bool pending_find_use(const void *start, size_t size, struct verify_use *use);
/*
 * Copies at most `room` pending calls to `out`. Returns the number of all pending calls, which may be more than `room`.
 */
unsigned pending_copy(struct verify_open *out, unsigned room);

#endif
