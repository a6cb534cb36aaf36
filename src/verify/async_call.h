/* SPDX-License-Identifier: MIT */
/* Calls on an object that complete by NDK_FN_REQUEST_COMPLETION. */
#ifndef VERIFY_ASYNC_CALL_H
#define VERIFY_ASYNC_CALL_H

#include "verify/proxy.h"

struct async_call;
/*
 * Runs with the final status of a call on p, before the consumer's routine. `subject` is what async_call_set_subject
 * set.
 */
typedef void async_call_completed(struct proxy *p, NTSTATUS status, void *subject);

/*
 * Begins a call that completes by the consumer's routine `done`. Must be called before the provider's function is
 * called. on_completed may be NULL. Returns NULL if out of memory, or if `done` is NULL; the completion is then not
 * checked.
 */
struct async_call *async_call_begin(struct proxy *p, const char *routine, NDK_FN_REQUEST_COMPLETION done, void *context,
                                    async_call_completed *on_completed);
/* Sets what the call is about, for on_completed. c may be NULL. Must be called before the provider's function. */
void async_call_set_subject(struct async_call *c, void *subject);
/* Sets the MDL chain that the call uses. c may be NULL. Must be called before the provider's function. */
void async_call_set_mdls(struct async_call *c, const MDL *mdl);
/* Return the routine and the context to pass to the provider. `done` and `context` are the consumer's. */
NDK_FN_REQUEST_COMPLETION async_call_routine(const struct async_call *c, NDK_FN_REQUEST_COMPLETION done);
void *async_call_context(struct async_call *c, void *context);
/*
 * Must be called after the provider's function, which returned `status`. Frees c unless `status` is STATUS_PENDING.
 * Returns `status`.
 */
NTSTATUS async_call_end(struct async_call *c, NTSTATUS status);

#endif
