/* SPDX-License-Identifier: MIT */
/* Puts the verifier and the trace in front of a foreign provider: see verified_provider.h. */
#include "consumer/verified_provider.h"

#include "ndkconform/provider.h"
#include "openndk/trace.h"
#include "openndk/verify.h"

static const struct ndkconform_provider *behind;

static void close_provider(NDK_ADAPTER *adapter)
{
    ondk_trace_end(adapter);
    behind->close_adapter(adapter);
}

static NTSTATUS open_verified(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    NDK_ADAPTER *opened;
    NTSTATUS status = behind->open_adapter(version, if_index, adapter ? &opened : NULL);

    if (!NT_SUCCESS(status))
        return status;
    (void)ondk_trace_begin(opened, if_index);
    status = ondk_verify_wrap(opened, adapter);
    if (!NT_SUCCESS(status))
        close_provider(opened);
    return status;
}

static void close_verified(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER *opened = ondk_verify_unwrap(adapter);

    if (opened)
        close_provider(opened);
}

const struct ndkconform_provider *verified_provider(const struct ndkconform_provider *provider)
{
    static struct ndkconform_provider verified;

    behind = provider;
    verified = *provider;
    verified.open_adapter = open_verified;
    verified.close_adapter = close_verified;
    return &verified;
}
