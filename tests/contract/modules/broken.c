/* SPDX-License-Identifier: MIT */
/*
 * A bad provider, for the test of ndkconform itself: OpenNDK with a wrong status for a short buffer. It also prints
 * bytes that are not text, crashes when version 0.0 is opened, and never returns when version 1.0 is opened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contract/modules/openndk.h"
#include "ndkconform/provider.h"

static openndk_query_info *real;

static NTSTATUS query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NTSTATUS status = real(adapter, info, size);

    return status == STATUS_BUFFER_TOO_SMALL ? STATUS_BUFFER_OVERFLOW : status;
}

static NTSTATUS open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    puts("\x1b[31m<&\"\\> \xff\xc3( ]]>\x01");
    fflush(stdout);
    if (version.Major == 0)
        abort();
    while (version.Major == 1 && version.Minor == 0)
        pause();
    return openndk_open_with(query_info, &real, version, if_index, adapter);
}

const struct ndkconform_provider *ndkconform_provider(void)
{
    static struct ndkconform_provider p;

    p = *openndk_provider();
    p.name = "a \"broken\" <provider> & more: \xe2\x82\xac \xff";
    p.open_adapter = open_adapter;
    return &p;
}
