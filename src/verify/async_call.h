/* SPDX-License-Identifier: MIT */
/* Observes asynchronous calls, which have a completion routine of the type NDK_FN_REQUEST_COMPLETION. */
#ifndef VERIFY_ASYNC_CALL_H
#define VERIFY_ASYNC_CALL_H

#include "verify/proxy.h"

struct async_call;
/*
 * The type of `on_completed`, a parameter of async_call_begin. Such a function runs when a call on p has its final
 * status, before the consumer's completion routine. `subject` is the value that async_call_set_subject has set.
 */
typedef void async_call_completed(struct proxy *p, NTSTATUS status, void *subject);

/*
 * Begins an asynchronous call. `done` is the consumer's completion routine. Must be called before the provider's
 * function. `on_completed` may be NULL. Returns NULL if `done` is NULL or memory ran out; the completion is then not
 * observed.
 */
struct async_call *async_call_begin(struct proxy *p, const char *routine, NDK_FN_REQUEST_COMPLETION done, void *context,
                                    async_call_completed *on_completed);
/* Sets the `subject` that on_completed receives. Must be called before the provider's function. c may be NULL. */
void async_call_set_subject(struct async_call *c, void *subject);
/* Stores the MDL chain that the call uses. Must be called before the provider's function. c may be NULL. */
void async_call_set_mdls(struct async_call *c, const MDL *mdl);
/*
 * These functions return the completion routine and the context that the caller passes to the provider. `done` and
 * `context` are those of the consumer. c may be NULL.
 */
NDK_FN_REQUEST_COMPLETION async_call_routine(const struct async_call *c, NDK_FN_REQUEST_COMPLETION done);
void *async_call_context(struct async_call *c, void *context);
/*
 * Handles the return of the provider's function, which returned `status`. Frees c unless `status` is STATUS_PENDING. c
 * may be NULL. Returns `status`.
 */
NTSTATUS async_call_end(struct async_call *c, NTSTATUS status);

#endif
