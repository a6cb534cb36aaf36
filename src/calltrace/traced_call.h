/* SPDX-License-Identifier: MIT */
/*
 * The events of a call: one when it begins, `returned` when it returns, and `completed` when its completion routine is
 * called. The invariant: after the provider's function has returned, nothing accesses the object, because a completion
 * routine may have closed it.
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
    uint64_t begin_ns; /* 0: tracing is off */
    const void *object;
    const void *context;            /* the RequestContext of a call that may be pending */
    struct traced_request *request; /* NULL: the provider receives the consumer's own completion routine */
    uint16_t routine;               /* the number of the event */
    NDK_OBJECT_TYPE creates;        /* the type of the object that the call creates */
    bool has_completion;            /* for a call that creates an object: the consumer passed a completion routine */
};

/* Returns the time of an event, or 0 if the call is not to be recorded. */
static inline uint64_t traced_now(void)
{
    return trace_is_on() && !own_calls ? trace_now_ns() : 0;
}

/* Records the event of a call or a callback that begins. The first field must be the object. */
struct traced_call traced_call_begin(uint16_t routine, const void *fields, size_t size);
#define TRACED_CALL(call, event, ...)                                                                                  \
    const struct trace_fields_##event call##_fields = { __VA_ARGS__ };                                                 \
    struct traced_call call = traced_call_begin(TRACE_TYPE_##event, &call##_fields, sizeof call##_fields)

/* Records `returned`. If the call is not pending, also frees c->request. Returns `status`. */
NTSTATUS traced_call_end(const struct traced_call *c, NTSTATUS status);
/* Records that the consumer's callback, which TRACED_CALL has begun, has returned. */
void traced_call_end_callback(const struct traced_call *c);

/* ---- calls that complete by NDK_FN_REQUEST_COMPLETION ---- */

/* Must be called before the provider's function. `done` and `context` are the consumer's. */
void traced_call_set_request(struct traced_call *c, NDK_FN_REQUEST_COMPLETION done, void *context);
/* Return the routine and the context for the provider. */
NDK_FN_REQUEST_COMPLETION traced_call_routine(const struct traced_call *c, NDK_FN_REQUEST_COMPLETION done);
void *traced_call_context(const struct traced_call *c, void *context);

/* ---- calls that create an object ---- */

/*
 * Must be called before the provider's function. Returns what will be stored for the object, or NULL if out of memory.
 * The caller may use the result as the context of a callback only if the consumer passed a completion routine.
 * Otherwise traced_create_end frees the result if the call is pending.
 */
struct traced_object *traced_create_begin(struct traced_call *c, NDK_OBJECT_TYPE type, NDK_FN_CREATE_COMPLETION done,
                                          void *context);
/* Return the routine and the context for the provider. `done` and `context` are the consumer's. */
NDK_FN_CREATE_COMPLETION traced_create_routine(const struct traced_object *o, NDK_FN_CREATE_COMPLETION done);
void *traced_create_context(struct traced_object *o, void *context);
/*
 * Must be called after the provider's function. `status` is what that function returned. If the call was successful,
 * the provider has stored the object at `out`. Returns `status`.
 */
NTSTATUS traced_create_end(const struct traced_call *c, struct traced_object *o, NTSTATUS status, const void *out);

/* ---- calls that close an object ---- */

/* Closes the object with the provider's routine, and records this. */
NTSTATUS traced_close(struct traced_call *c, NDK_FN_CLOSE_OBJECT close, NDK_OBJECT_HEADER *object,
                      NDK_FN_CLOSE_COMPLETION done, void *context);

/* ---- calls with one event ---- */

/* Records a call that has returned, in one event whose last two fields are the status and the duration. */
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

/* Returns the field for a consumer's sockaddr. If it is not valid, the field has no address. */
struct trace_addr traced_addr(const void *sockaddr, size_t length);

#endif
