/* SPDX-License-Identifier: MIT */
/*
 * Calls whose completion callback has not run yet, and their contexts. Before the host frees memory, verify_find_use
 * finds the contexts in that memory. A context on the caller's stack is dead as soon as the function that has it as a
 * variable returns. A dead context is detected when the call completes, or at the thread's next NDK call.
 */
#ifndef VERIFY_PENDING_H
#define VERIFY_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "verify/stack.h"
#include "verify/verify.h"

/*
 * The object that a call creates, closes or uses. Each pending call has a copy of this struct, because the object's
 * proxy may be freed before the call completes.
 */
struct pending_object {
    const char *type; /* "NDK_QP" */
    const void *proxy, *adapter;
};

enum { PENDING_MAX_MDLS = 8 }; /* only the first MDLs of a call's chain are watched */

/* Embedded in the struct that represents the call. */
struct pending {
    TAILQ_ENTRY(pending) list;
    const char *routine; /* for example "NdkConnect"; NULL if the call is not in the list */
    struct pending_object object;
    const void *context;
    int thread;          /* ID of the calling thread if the context is on its stack, else 0 */
    uintptr_t stack_end; /* the end of that stack */
    bool reported;
    int caller;           /* ID of the calling thread */
    const char *callback; /* the callback that the call was made in, or NULL */
    uint64_t since_ns;
    bool stalled; /* pending_copy_stalled has copied the call */
    const struct _MDL *mdls[PENDING_MAX_MDLS];
    unsigned mdl_count;
    struct stack by;
};

/* From now on, fork acquires the lock of the pending calls, so that a child finds it released. */
void pending_guard_fork(void);
/*
 * Adds a pending call. Must be called before the provider's function is called. The recorded stack begins at the return
 * address `by`. Does nothing while verification is off.
 */
void pending_begin(struct pending *p, const struct pending_object *object, const char *routine, const void *context,
                   const void *by);
/* Stores the MDL chain that the call uses. Must be called after pending_begin, before the provider's function. */
void pending_set_mdls(struct pending *p, const struct _MDL *mdl);
/*
 * Finds a pending call that uses an MDL of the chain. Searches only the calls that this thread made, because their
 * functions have returned. A function that another thread called may still be running. Returns false if there is no
 * such call. *found receives a copy of the call, and *used the MDL.
 */
bool pending_find_mdl(const struct _MDL *chain, struct pending *found, const struct _MDL **used);
/* Removes a call that completed inline. */
void pending_remove(struct pending *p);
/*
 * Must be called before the call's completion callback. Removes the call. If the call's context is dead, reports that.
 * `frame` is the caller's stack frame. A context below that frame on the same stack is dead.
 */
void pending_complete(struct pending *p, const void *frame);
/*
 * Must be called at each NDK call. `frame` is the stack frame of the function that the consumer has called. A pending
 * context below that frame on the same stack is dead, and is reported once.
 */
void pending_check_stack(const char *routine, const void *frame);
/*
 * Copies at most `room` calls that began at `before` or earlier. A call that was copied once is not copied again.
 * Returns how many calls were copied. *oldest receives the start time of the oldest call that was never copied, or
 * UINT64_MAX if every call was copied.
 */
unsigned pending_copy_stalled(uint64_t before, struct pending *out, unsigned room, uint64_t *oldest);
/* Finds a pending call whose context or MDL is in [start, start + size). See verify_find_use. */
bool pending_find_use(const void *start, size_t size, struct verify_use *use);
/* Copies at most `room` of the pending calls. Returns how many calls are pending. */
unsigned pending_copy(struct verify_open *out, unsigned room);

#endif
