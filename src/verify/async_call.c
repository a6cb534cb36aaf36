/* SPDX-License-Identifier: MIT */
/* NDK calls that complete by a callback with a status: see proxy.h. */
#include <stdlib.h>

#include "verify/proxy.h"

struct request {
    struct ndk_pending pending;
    struct proxy *object;
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    pend_then *then;
};

struct request *pend_begin(struct proxy *p, const char *routine, NDK_FN_REQUEST_COMPLETION done, void *context,
                              pend_then *then)
{
    struct request *r = done ? calloc(1, sizeof *r) : NULL;

    if (!r)
        return NULL;
    *r = (struct request){ .object = p, .done = done, .context = context, .then = then };
    ndk_pending_begin(&r->pending, routine, context);
    return r;
}

static void completed(PVOID request, NTSTATUS status)
{
    struct request *r = request;
    NDK_FN_REQUEST_COMPLETION done = r->done;
    void *context = r->context;

    ndk_pending_end(&r->pending, __builtin_frame_address(0));
    if (r->then)
        r->then(r->object, status);
    free(r);
    CALL_DRIVER("NdkRequestCompletion", done, context, status);
}

NDK_FN_REQUEST_COMPLETION pend_routine(const struct request *r, NDK_FN_REQUEST_COMPLETION done)
{
    return r ? completed : done;
}

void *pend_context(struct request *r, void *context)
{
    return r ? r : context;
}

NTSTATUS pend_answer(struct request *r, NTSTATUS status)
{
    if (!r || status == STATUS_PENDING)
        return status;
    ndk_pending_drop(&r->pending);
    if (r->then)
        r->then(r->object, status);
    free(r);
    return status;
}
