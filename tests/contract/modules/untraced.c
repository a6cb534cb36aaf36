/* SPDX-License-Identifier: MIT */
/*
 * OpenNDK as a provider that records no trace of its own, as other providers do: the program that loads the module
 * records the calls. Opens must not run at the same time, because they change the environment.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/modules/openndk.h"
#include "ndkconform/provider.h"

static NTSTATUS open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    const char *setting = getenv("ONDK_TRACE");
    char *copy = setting ? strdup(setting) : NULL;
    NTSTATUS status;

    if (copy)
        unsetenv("ONDK_TRACE");
    status = openndk_provider()->open_adapter(version, if_index, adapter);
    if (copy)
        setenv("ONDK_TRACE", copy, 1);
    free(copy);
    return status;
}

const struct ndkconform_provider *ndkconform_provider(void)
{
    static struct ndkconform_provider p;

    p = *openndk_provider();
    p.name = "untraced";
    p.open_adapter = open_adapter;
    return &p;
}
