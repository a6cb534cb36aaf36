/* SPDX-License-Identifier: MIT */
/* Records calls, and the completion routines of pending calls: see traced_call.h. */
#include "calltrace/traced_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

/*
 * The consumer's completion routine of a call that may be pending. The layer's routine, which replaces it, frees the
 * struct when the call completes. If the call does not pend, traced_call_end frees the struct.
 */
struct traced_request {
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    const void *object;
    uint16_t routine;
};

struct traced_call traced_call_begin(uint16_t routine, const void *fields, size_t size)
{
    struct traced_call c = { .begin_ns = traced_now(), .routine = routine };
    uint64_t object;

    memcpy(&object, fields, sizeof object);
    c.object = (const void *)(uintptr_t)object;
    if (c.begin_ns)
        trace_append_at(c.begin_ns, routine, 0, fields, size);
    return c;
}

static void traced_call_record_return(const struct traced_call *c, NTSTATUS status, const void *created)
{
    uint64_t end_ns = traced_now();
    const struct trace_fields_returned fields = { .object = (uintptr_t)c->object,
                                                  .routine = c->routine,
                                                  .status = (uint32_t)status,
                                                  .created = (uintptr_t)created,
                                                  .duration = end_ns - c->begin_ns,
                                                  .context = (uintptr_t)c->context };

    if (c->begin_ns && end_ns)
        trace_append_at(end_ns, TRACE_TYPE_returned, 0, &fields, sizeof fields);
}

NTSTATUS traced_call_end(const struct traced_call *c, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        free(c->request);
    traced_call_record_return(c, status, NULL);
    return status;
}

void traced_call_end_callback(const struct traced_call *c)
{
    uint64_t end_ns = traced_now();
    const struct trace_fields_callback_returned fields = { .object = (uintptr_t)c->object,
                                                           .duration = end_ns - c->begin_ns };

    if (c->begin_ns && end_ns)
        trace_append_at(end_ns, TRACE_TYPE_callback_returned, 0, &fields, sizeof fields);
}

/* ---- requests ---- */

void traced_call_set_request(struct traced_call *c, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    c->context = context;
    c->request = done ? malloc(sizeof *c->request) : NULL;
    if (c->request)
        *c->request = (struct traced_request){ done, context, c->object, c->routine };
}

static VOID traced_on_request(PVOID context, NTSTATUS status)
{
    struct traced_request r = *(struct traced_request *)context;

    free(context);
    TRACED_CALL(callback, completed, .object = (uintptr_t)r.object, .routine = r.routine, .status = (uint32_t)status,
                .context = (uintptr_t)r.context);
    r.done(r.context, status);
    traced_call_end_callback(&callback);
}

NDK_FN_REQUEST_COMPLETION traced_call_routine(const struct traced_call *c, NDK_FN_REQUEST_COMPLETION done)
{
    return c->request ? traced_on_request : done;
}

void *traced_call_context(const struct traced_call *c, void *context)
{
    return c->request ? c->request : context;
}

/* ---- creates ---- */

struct traced_object *traced_create_begin(struct traced_call *c, NDK_OBJECT_TYPE type, NDK_FN_CREATE_COMPLETION done,
                                          void *context)
{
    struct traced_object *o = traced_object_alloc(type);

    c->context = context;
    c->creates = type;
    c->has_completion = done != NULL;
    if (!o)
        return NULL;
    o->done.create = done;
    o->done_context = context;
    o->called = c->object;
    o->routine = c->routine;
    return o;
}

static VOID traced_on_created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *created)
{
    struct traced_object *o = context;
    NDK_FN_CREATE_COMPLETION done = o->done.create;
    void *done_context = o->done_context;
    const struct trace_fields_completed fields = { .object = (uintptr_t)o->called,
                                                   .routine = o->routine,
                                                   .status = (uint32_t)status,
                                                   .created = NT_SUCCESS(status) ? (uintptr_t)created : 0,
                                                   .context = (uintptr_t)done_context };
    struct traced_call callback;

    if (NT_SUCCESS(status))
        traced_object_insert(o, created, o->type);
    else
        traced_object_free(o);
    callback = traced_call_begin(TRACE_TYPE_completed, &fields, sizeof fields);
    done(done_context, status, created);
    traced_call_end_callback(&callback);
}

NDK_FN_CREATE_COMPLETION traced_create_routine(const struct traced_object *o, NDK_FN_CREATE_COMPLETION done)
{
    return o && done ? traced_on_created : done;
}

void *traced_create_context(struct traced_object *o, void *context)
{
    return o && o->done.create ? o : context;
}

NTSTATUS traced_create_end(const struct traced_call *c, struct traced_object *o, NTSTATUS status, const void *out)
{
    NDK_OBJECT_HEADER *created = NULL;

    if (status == STATUS_PENDING) {
        if (!c->has_completion) /* a completion routine would free o */
            traced_object_free(o);
        traced_call_record_return(c, status, NULL);
        return status;
    }
    if (NT_SUCCESS(status)) {
        memcpy(&created, out, sizeof created);
        traced_object_insert(o, created, c->creates);
    } else {
        traced_object_free(o);
    }
    traced_call_record_return(c, status, created);
    return status;
}

/* ---- closes ---- */

static VOID traced_on_closed(PVOID context)
{
    struct traced_object *o = context;
    NDK_FN_CLOSE_COMPLETION done = o->done.close;
    void *done_context = o->done_context;
    const struct trace_fields_completed fields = { .object = (uintptr_t)o->called,
                                                   .routine = o->routine,
                                                   .status = STATUS_SUCCESS,
                                                   .context = (uintptr_t)done_context };
    struct traced_call callback;

    traced_object_free(o);
    callback = traced_call_begin(TRACE_TYPE_completed, &fields, sizeof fields);
    done(done_context);
    traced_call_end_callback(&callback);
}

NTSTATUS traced_close(struct traced_call *c, NDK_FN_CLOSE_OBJECT close, NDK_OBJECT_HEADER *object,
                      NDK_FN_CLOSE_COMPLETION done, void *context)
{
    /* If `done` is NULL, nothing could free the struct later, so it stays in the table. */
    struct traced_object *o = done ? traced_object_remove(object) : NULL;
    NTSTATUS status;

    c->context = context;
    if (o) {
        o->done.close = done;
        o->done_context = context;
        o->called = c->object;
        o->routine = c->routine;
    }
    status = close(object, o ? traced_on_closed : done, o ? o : context);
    if (status != STATUS_PENDING)
        traced_object_free(o);
    traced_call_record_return(c, status, NULL);
    return status;
}

/* ---- values ---- */

struct trace_addr traced_addr(const void *sockaddr, size_t length)
{
    struct trace_addr field = { 0 };
    struct addr a;

    if (!sockaddr || !addr_from(&a, sockaddr, length))
        return field;
    if (a.sa.sa_family == AF_INET) {
        field.family = 4;
        memcpy(field.port, &a.v4.sin_port, sizeof field.port);
        memcpy(field.host, &a.v4.sin_addr, sizeof a.v4.sin_addr);
    } else {
        field.family = 6;
        memcpy(field.port, &a.v6.sin6_port, sizeof field.port);
        memcpy(field.host, &a.v6.sin6_addr, sizeof a.v6.sin6_addr);
        field.scope = a.v6.sin6_scope_id;
    }
    return field;
}
