/* SPDX-License-Identifier: MIT */
/*
 * Implements the public functions that open and close adapters. An adapter that is opened while verification is on is
 * wrapped: the consumer receives the verify layer's objects. Otherwise the consumer receives the provider's own
 * objects. While tracing is on, the calltrace layer replaces the dispatch tables of the provider's objects. So a call
 * of the consumer passes first through the verify layer, then through the calltrace layer.
 */
#include <pthread.h>

#include "calltrace/calltrace.h"
#include "front/last_events.h"
#include "front/open.h"
#include "front/trace.h"
#include "openndk/adapter.h"
#include "provider/activity.h"
#include "provider/open.h"
#include "verify/setting.h"
#include "verify/verify.h"

static NTSTATUS front_open_traced(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                                  NDK_ADAPTER **adapter)
{
    NTSTATUS status;

    last_events_start();
    status = provider_open_adapter(version, if_index, options, adapter);
    if (NT_SUCCESS(status))
        front_trace_calls(*adapter);
    return status;
}

NTSTATUS front_open_provider(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return front_open_traced(version, if_index, NULL, adapter);
}

void front_close_provider(NDK_ADAPTER *adapter)
{
    provider_close_adapter(adapter);
    (void)calltrace_end(adapter);
}

void front_add_closed_activity(struct activity *sum)
{
    provider_add_closed_activity(sum);
}

void front_add_activity(NDK_ADAPTER *adapter, struct activity *sum, bool crashed)
{
    provider_add_activity(adapter, sum, crashed);
}

static void front_start(void)
{
    (void)verify_read_environment(VERIFY_OFF);
    provider_set_unwrap(verify_unwrap);
}

/* Opens an adapter, and wraps it if verification is on. `by` is the return address of the consumer's call. */
static NTSTATUS front_open(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options, const void *by,
                           NDK_ADAPTER **adapter)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    NDK_ADAPTER *opened, *wrapped;
    struct stack_call outer;
    NTSTATUS status = front_open_traced(version, if_index, options, adapter ? &opened : NULL);

    if (!NT_SUCCESS(status))
        return status;
    (void)pthread_once(&once, front_start);
    outer = stack_begin_call(by, "ondk_open_adapter");
    wrapped = verify_on() ? verify_wrap(opened, "ondk_open_adapter") : opened;
    stack_end_call(&outer);
    if (!wrapped) {
        front_close_provider(opened);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *adapter = wrapped;
    return status;
}

NTSTATUS ondk_open_adapter_with(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                                NDK_ADAPTER **adapter)
{
    return front_open(version, if_index, options, __builtin_return_address(0), adapter);
}

NTSTATUS ondk_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return front_open(version, if_index, NULL, __builtin_return_address(0), adapter);
}

void ondk_close_adapter(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER *opened;

    if (!verify_is_wrapped(adapter)) {
        front_close_provider(adapter);
        return;
    }
    STACK_CALL("ondk_close_adapter");
    opened = verify_close(adapter, "ondk_close_adapter");
    if (opened)
        front_close_provider(opened);
}
