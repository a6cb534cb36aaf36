/* SPDX-License-Identifier: MIT */
/* Records the drivers' calls of this kernel: see kernel_call.h. */
#include "wdk/common/kernel_call.h"

#include <string.h>

#include "wdm.h"
#include "ws2def.h"
#include "ws2ipdef.h"

#include "wdk/common/text.h"

void kernel_call_record(struct kernel_call *call, const void *fields, size_t size)
{
    trace_append(call->type, 0, fields, size);
    call->begun_ns = trace_now_ns();
}

uint64_t kernel_call_duration(const struct kernel_call *call)
{
    return trace_now_ns() - call->begun_ns;
}

void kernel_call_record_return(const struct kernel_call *call, NTSTATUS status, struct kernel_call_result result)
{
    TRACE(kernel_returned, 0, .object = call->object, .routine = call->type, .status = (uint32_t)status,
          .created = (uintptr_t)result.created, .bytes = result.bytes, .duration = kernel_call_duration(call));
}

void kernel_call_record_done(const struct kernel_call *call)
{
    TRACE(kernel_done, 0, .object = call->object, .routine = call->type, .duration = kernel_call_duration(call));
}

struct trace_addr kernel_call_addr(const void *sockaddr)
{
    struct trace_addr field = { 0 };
    const SOCKADDR_IN *v4 = sockaddr;
    const SOCKADDR_IN6 *v6 = sockaddr;

    if (sockaddr && v4->sin_family == AF_INET) {
        field.family = 4;
        memcpy(field.port, &v4->sin_port, sizeof field.port);
        memcpy(field.host, &v4->sin_addr, sizeof v4->sin_addr);
    } else if (sockaddr && v6->sin6_family == AF_INET6) {
        field.family = 6;
        memcpy(field.port, &v6->sin6_port, sizeof field.port);
        memcpy(field.host, &v6->sin6_addr, sizeof field.host);
        field.scope = v6->sin6_scope_id;
    }
    return field;
}

struct trace_text16 kernel_call_text(const UNICODE_STRING *text)
{
    struct trace_text16 field = { { 0 } };

    if (text && text->Buffer)
        (void)text_to_utf8(field.bytes, sizeof field.bytes, text->Buffer, text->Length / sizeof(WCHAR), NULL, NULL);
    return field;
}
