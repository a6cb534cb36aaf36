/* SPDX-License-Identifier: MIT */
/* The verifier in front of a foreign provider: see verified_provider.h. */
#include "consumer/verified_provider.h"

#include "ndkconform/provider.h"
#include "openndk/verify.h"

static const struct ndkconform_provider *behind;

static NTSTATUS open_verified(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    NDK_ADAPTER *opened;
    NTSTATUS status = behind->open_adapter(version, if_index, adapter ? &opened : NULL);

    if (!NT_SUCCESS(status))
        return status;
    status = ondk_verify_wrap(opened, adapter);
    if (!NT_SUCCESS(status))
        behind->close_adapter(opened);
    return status;
}

static void close_verified(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER *opened = ondk_verify_unwrap(adapter);

    if (opened)
        behind->close_adapter(opened);
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
