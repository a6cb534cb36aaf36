/* SPDX-License-Identifier: MIT */
/* Opens and closes the provider's adapters for drivers: see open.h. */
#include "wdk/ndk/open.h"

#include <stdio.h>

#include "verify/verify.h"
#include "wdk/common/address_map.h"
#include "wdk/common/check.h"
#include "wdk/common/interface_map.h"
#include "wdk/common/live.h"
#include "wdk/common/missing.h"
#include "wdk/common/outside.h"
#include "wdk/ke/thread.h"
#include "wdk/ndk/adapters.h"
#include "wdk/ndk/provider.h"
#include "wdk/ndk/verify_host.h"

/* Prints which argument is wrong. Does not explain the status of a foreign provider, whose reason is not known. */
static void ndk_explain_invalid(NET_IFINDEX index, NDK_ADAPTER **out)
{
    static const char routine[] = "WskOpenNdkAdapter returns STATUS_INVALID_PARAMETER";

    if (!out) {
        fprintf(report_output(), "%s: ppNdkAdapter is NULL.\n", routine);
        fflush(report_output());
    } else if (!ndk_provider_is_foreign()) {
        missing_report_interface(routine, index, interface_map_host(index));
    }
}

NTSTATUS ndk_adapter_give(NDK_ADAPTER *provider, const char *routine, NDK_ADAPTER **out)
{
    NDK_ADAPTER *wrapped;

    if (!check_on() && !address_map_has_entries() && !ndk_provider_is_foreign() && !outside_is_forbidden()) {
        live_add(LIVE_NDK_OBJECT, provider, "NDK_ADAPTER"); /* idempotent: the adapter may have been open already */
        *out = provider;
        return STATUS_SUCCESS;
    }
    ndk_verify_host_start(); /* from now on, the driver's unload reports a wrapped adapter that is still open */
    wrapped = verify_wrap(provider, routine);
    if (!wrapped)
        return STATUS_INSUFFICIENT_RESOURCES;
    *out = wrapped;
    return STATUS_SUCCESS;
}

NTSTATUS ndk_adapter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out)
{
    NDK_ADAPTER *provider = NULL;
    NTSTATUS status = adapters_open(version, interface_map_host(index), out ? &provider : NULL);

    if (status == STATUS_INVALID_PARAMETER && check_on())
        ndk_explain_invalid(index, out);
    if (!NT_SUCCESS(status))
        return status;
    status = ndk_adapter_give(provider, "WskOpenNdkAdapter", out);
    if (!NT_SUCCESS(status))
        adapters_close(provider);
    return status;
}

void ndk_adapter_check_close_irql(const char *routine, const NDK_ADAPTER *adapter)
{
    if (!verify_is_in_callback(adapter))
        irql_check_max(routine, PASSIVE_LEVEL);
}

static bool ndk_close_wrapped(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER *provider = verify_close(adapter, "WskCloseNdkAdapter");

    if (provider)
        adapters_close(provider);
    return provider || verify_close_gave_up(adapter);
}

bool ndk_adapter_close(NDK_ADAPTER *adapter)
{
    enum adapters_closed closed;

    if (verify_is_wrapped(adapter))
        return ndk_close_wrapped(adapter);
    closed = adapters_close(adapter);
    if (closed == ADAPTERS_CLOSED)
        live_remove(LIVE_NDK_OBJECT, adapter);
    if (closed != ADAPTERS_UNKNOWN)
        return true;
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskCloseNdkAdapter", (uintptr_t)adapter, 0, 0, 0,
                     "%p is no open NDK_ADAPTER", (void *)adapter);
    return false;
}
