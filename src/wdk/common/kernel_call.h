/* SPDX-License-Identifier: MIT */
/*
 * Records the drivers' calls of this kernel, and the kernel's calls of drivers, as events of trace/wdk_events.h. While
 * tracing is off, recording costs one branch when a call begins and one branch when the call returns.
 */
#ifndef WDK_KERNEL_CALL_H
#define WDK_KERNEL_CALL_H

#include "ntdef.h"

#include "base/private_export.h"
#include "trace/trace.h"

/* A call that has begun. */
struct kernel_call {
    const char *routine; /* the name of the routine, for reports */
    uint16_t type;       /* the number of its event */
    uint64_t object;     /* the event's field `object` */
    uint64_t begun_ns;   /* 0 if tracing was off when the call began */
};

/*
 * Records that the call of a routine begins. The other arguments initialize the event's fields. They are evaluated only
 * while tracing is on.
 *   const struct kernel_call call = KERNEL_CALL(WskListen, .object = (uintptr_t)Socket, .irp = (uintptr_t)Irp);
 */
#define KERNEL_CALL(name, ...)                                                                                         \
    __extension__({                                                                                                    \
        struct kernel_call call_ = { .routine = #name, .type = TRACE_TYPE_##name };                                    \
        if (trace_is_on()) {                                                                                           \
            const struct trace_fields_##name fields_ = { __VA_ARGS__ };                                                \
            call_.object = fields_.object;                                                                             \
            kernel_call_record(&call_, &fields_, sizeof fields_);                                                      \
        }                                                                                                              \
        call_;                                                                                                         \
    })

/* Called by KERNEL_CALL while tracing is on. Records the event and sets call->begun_ns. */
void kernel_call_record(struct kernel_call *call, const void *fields, size_t size) PRIVATE_EXPORT(kernel_call_record);

/* The results of a call, other than its status. */
struct kernel_call_result {
    const void *created; /* the object that the call has created, or NULL */
    uint64_t bytes;
};
void kernel_call_record_return(const struct kernel_call *call, NTSTATUS status, struct kernel_call_result result);

/* Records the return of the call, unless tracing was off when the call began. Returns `status`. */
static inline NTSTATUS kernel_call_return_with(const struct kernel_call *call, NTSTATUS status,
                                               struct kernel_call_result result)
{
    if (__builtin_expect(call->begun_ns != 0, 0))
        kernel_call_record_return(call, status, result);
    return status;
}

static inline NTSTATUS kernel_call_return(const struct kernel_call *call, NTSTATUS status)
{
    return kernel_call_return_with(call, status, (struct kernel_call_result){ NULL, 0 });
}

/* Records the return of a call without a status, unless tracing was off when the call began. */
void kernel_call_record_done(const struct kernel_call *call);
static inline void kernel_call_done(const struct kernel_call *call)
{
    if (__builtin_expect(call->begun_ns != 0, 0))
        kernel_call_record_done(call);
}

/* Returns the nanoseconds since the call began. Requires that call->begun_ns is set. */
uint64_t kernel_call_duration(const struct kernel_call *call);

/* Converts Windows' sockaddr. Returns a field without an address if `sockaddr` is NULL or of another family. */
struct trace_addr kernel_call_addr(const void *sockaddr);
/* Converts a text from UTF-16 to UTF-8. Characters that do not fit into the field are cut off. The text may be NULL. */
struct trace_text16 kernel_call_text(const UNICODE_STRING *text);

#endif
