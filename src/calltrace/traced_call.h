/* SPDX-License-Identifier: MIT */
/*
 * Records the events of a call: one when the call begins, `returned` when it returns, and `completed` when its
 * completion routine is called. The invariant: after the provider's function has returned, nothing accesses the object,
 * because a completion routine may have closed it.
 *
 *     TRACED_CALL(call, NdkResizeCq, .object = (uintptr_t)cq, .depth = depth);
 *     traced_call_set_request(&call, done, context);
 *     return traced_call_end(&call, real->NdkResizeCq(cq, depth, traced_call_routine(&call, done),
 *                                                     traced_call_context(&call, context)));
 */
#ifndef CALLTRACE_TRACED_CALL_H
#define CALLTRACE_TRACED_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "base/own_call.h"
#include "calltrace/traced_object.h"
#include "calltrace/traced_table.h"
#include "trace/trace.h"

struct traced_request;

/* A call or a callback that is in progress. */
struct traced_call {
    uint64_t begin_ns; /* time at which the call began, from trace_now_ns; 0: tracing is off */
    const void *object;
    const void *context;            /* the RequestContext of a call that may be pending */
    struct traced_request *request; /* NULL: the consumer's own routine is passed to the provider */
    uint16_t routine;               /* the call's event type: its number in the schema */
    NDK_OBJECT_TYPE creates;        /* type of the object that the call creates */
    bool has_completion;            /* in a create call: the consumer has passed a completion routine */
};

/* Returns the time for an event, or 0 if the call must not be recorded. */
static inline uint64_t traced_now(void)
{
    return trace_is_on() && !own_calls ? trace_now_ns() : 0;
}

/*
 * Records the event of a call or a callback that begins. The first field must be the address of the object. Returns the
 * state of the call, for the functions below.
 */
struct traced_call traced_call_begin(uint16_t routine, const void *fields, size_t size);
#define TRACED_CALL(call, event, ...)                                                                                  \
    const struct trace_fields_##event call##_fields = { __VA_ARGS__ };                                                 \
    struct traced_call call = traced_call_begin(TRACE_TYPE_##event, &call##_fields, sizeof call##_fields)

/* Records the event `returned`. Frees c->request unless `status` is STATUS_PENDING. Returns `status`. */
NTSTATUS traced_call_end(const struct traced_call *c, NTSTATUS status);
/* Records that a callback of the consumer has returned. TRACED_CALL has begun the callback. */
void traced_call_end_callback(const struct traced_call *c);

/* ---- calls that complete by NDK_FN_REQUEST_COMPLETION ---- */

/* Stores the consumer's completion routine and its context in c->request. Must run before the provider's function. */
void traced_call_set_request(struct traced_call *c, NDK_FN_REQUEST_COMPLETION done, void *context);
/*
 * These two functions return the completion routine and its context that must be passed to the provider. `done` and
 * `context` are the consumer's.
 */
NDK_FN_REQUEST_COMPLETION traced_call_routine(const struct traced_call *c, NDK_FN_REQUEST_COMPLETION done);
void *traced_call_context(const struct traced_call *c, void *context);

/* ---- calls that create an object ---- */

/*
 * Begins a call that creates an object. Must run before the provider's function. Returns a struct for the new object,
 * or NULL if out of memory. If the consumer has passed a completion routine, the struct becomes the context of the
 * completion. If a call without a completion routine returns STATUS_PENDING, traced_create_end frees the struct,
 * because no completion routine can free it.
 */
struct traced_object *traced_create_begin(struct traced_call *c, NDK_OBJECT_TYPE type, NDK_FN_CREATE_COMPLETION done,
                                          void *context);
/*
 * These two functions return the completion routine and its context that must be passed to the provider. `done` and
 * `context` are the consumer's.
 */
NDK_FN_CREATE_COMPLETION traced_create_routine(const struct traced_object *o, NDK_FN_CREATE_COMPLETION done);
void *traced_create_context(struct traced_object *o, void *context);
/*
 * Handles the return of the provider's function, which returned `status`. If `status` is a success, *out must be the
 * address of the object. Returns `status`.
 */
NTSTATUS traced_create_end(const struct traced_call *c, struct traced_object *o, NTSTATUS status, const void *out);

/* ---- calls that close an object ---- */

/* Calls `close`, the provider's routine that closes the object, and records the call. Returns the status of `close`. */
NTSTATUS traced_close(struct traced_call *c, NDK_FN_CLOSE_OBJECT close, NDK_OBJECT_HEADER *object,
                      NDK_FN_CLOSE_COMPLETION done, void *context);

/* ---- calls with one event ---- */

/* Records a call that has returned, as one event. The last two fields of the event are the status and the duration. */
#define TRACED_RETURN(event, begin_ns, result, ...)                                                                    \
    do {                                                                                                               \
        if ((begin_ns) && trace_is_on()) {                                                                             \
            uint64_t traced_end_ns = trace_now_ns();                                                                   \
            const struct trace_fields_##event traced_fields = { __VA_ARGS__, .status = (uint32_t)(result),             \
                                                                .duration = traced_end_ns - (begin_ns) };              \
            trace_append_at(traced_end_ns, TRACE_TYPE_##event, 0, &traced_fields, sizeof traced_fields);               \
        }                                                                                                              \
    } while (0)

/* ---- values of fields ---- */

/* Converts the consumer's sockaddr to the field of an event. If the sockaddr is not valid, the field has no address. */
struct trace_addr traced_addr(const void *sockaddr, size_t length);

#endif
