/* SPDX-License-Identifier: MIT */
/* Implements the public functions of openndk/trace.h, which record the calls on another provider's adapters. */
#include "openndk/trace.h"

#include "base/interface_name.h"
#include "calltrace/calltrace.h"
#include "front/last_events.h"
#include "front/trace.h"
#include "provider/open.h"
#include "trace/trace.h"
#include "verify/verify.h"

static void front_on_proxy(const void *object, const void *proxy)
{
    TRACE(proxy, 0, .object = (uintptr_t)object, .proxy = (uintptr_t)proxy);
}

void front_trace_calls(NDK_ADAPTER *adapter)
{
    if (!trace_is_on())
        return;
    verify_set_on_proxy(front_on_proxy);
    calltrace_begin(adapter);
}

int ondk_trace_begin(NDK_ADAPTER *adapter, uint32_t if_index)
{
    char name[IF_NAMESIZE] = "";

    last_events_start();
    provider_start_trace();
    if (!adapter || !trace_is_on())
        return 0;
    if (if_index)
        interface_name(if_index, name);
    TRACE(adapter, 0, .object = (uintptr_t)adapter, .interface = if_index, .name = trace_text16(name),
          .major = adapter->Header.Version.Major, .minor = adapter->Header.Version.Minor);
    front_trace_calls(adapter);
    return 1;
}

void ondk_trace_end(NDK_ADAPTER *adapter)
{
    if (calltrace_end(adapter))
        TRACE(adapter_close, 0, .object = (uintptr_t)adapter);
}
