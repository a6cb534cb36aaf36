/* SPDX-License-Identifier: MIT */
/* Observes asynchronous calls: see async_call.h. */
#include <stdlib.h>

#include "verify/argument.h"
#include "verify/async_call.h"

struct async_call {
    struct pending pending;
    struct proxy *object;
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    async_call_completed *on_completed;
    void *subject;
};

struct async_call *async_call_begin(struct proxy *p, const char *routine, NDK_FN_REQUEST_COMPLETION done, void *context,
                                    async_call_completed *on_completed)
{
    struct async_call *c = done ? calloc(1, sizeof *c) : NULL;

    argument_check_completion(p, routine, done);
    if (!c)
        return NULL;
    *c = (struct async_call){ .object = p, .done = done, .context = context, .on_completed = on_completed };
    pending_begin(&c->pending, &(struct pending_object){ proxy_type_name(p), p, proxy_adapter(p) }, routine, context,
                  __builtin_return_address(0));
    return c;
}

void async_call_set_subject(struct async_call *c, void *subject)
{
    if (c)
        c->subject = subject;
}

void async_call_set_mdls(struct async_call *c, const MDL *mdl)
{
    if (c)
        pending_set_mdls(&c->pending, mdl);
}

static void async_call_on_completion(PVOID context, NTSTATUS status)
{
    struct async_call *c = context;
    const struct proxy *adapter = proxy_adapter(c->object);
    NDK_FN_REQUEST_COMPLETION done = c->done;
    void *consumer_context = c->context;

    pending_complete(&c->pending, __builtin_frame_address(0));
    call_set_completed(c->object);
    if (c->on_completed)
        c->on_completed(c->object, status, c->subject);
    free(c);
    PROXY_CALLBACK(adapter, "NdkRequestCompletion", done, consumer_context, status);
}

NDK_FN_REQUEST_COMPLETION async_call_routine(const struct async_call *c, NDK_FN_REQUEST_COMPLETION done)
{
    return c ? async_call_on_completion : done;
}

void *async_call_context(struct async_call *c, void *context)
{
    return c ? c : context;
}

NTSTATUS async_call_end(struct async_call *c, NTSTATUS status)
{
    if (!c || status == STATUS_PENDING)
        return status;
    pending_remove(&c->pending);
    if (c->on_completed)
        c->on_completed(c->object, status, c->subject);
    free(c);
    return status;
}
