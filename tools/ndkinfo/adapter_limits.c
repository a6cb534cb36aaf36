/* SPDX-License-Identifier: MIT */
/* Lists the members of NDK_ADAPTER_INFO: see adapter_limits.h. */
#include "adapter_limits.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

#define LIMIT(member, text, unit)                                                                                      \
    {                                                                                                                  \
#member, text, unit, offsetof(NDK_ADAPTER_INFO, member), sizeof(((NDK_ADAPTER_INFO *)0)->member)               \
    }

const struct limit limits[] = {
    LIMIT(VendorId, "vendor", "id"),
    LIMIT(DeviceId, "device", "id"),
    LIMIT(MaxRegistrationSize, "memory region", "bytes"),
    LIMIT(MaxWindowSize, "memory window", "bytes"),
    LIMIT(FRMRPageCount, "fast registration", "pages"),
    LIMIT(MaxInitiatorRequestSge, "SGEs of a send or write", ""),
    LIMIT(MaxReceiveRequestSge, "SGEs of a receive", ""),
    LIMIT(MaxReadRequestSge, "SGEs of a read", ""),
    LIMIT(MaxTransferLength, "one request", "bytes"),
    LIMIT(MaxInlineDataSize, "inline data of a request", "bytes"),
    LIMIT(MaxInboundReadLimit, "reads of the peer in progress", ""),
    LIMIT(MaxOutboundReadLimit, "own reads in progress", ""),
    LIMIT(MaxReceiveQueueDepth, "receive queue", "entries"),
    LIMIT(MaxInitiatorQueueDepth, "initiator queue", "entries"),
    LIMIT(MaxSrqDepth, "shared receive queue", "entries"),
    LIMIT(MaxCqDepth, "completion queue", "entries"),
    LIMIT(LargeRequestThreshold, "read and write beat send from", "bytes"),
    LIMIT(MaxCallerData, "private data of a connect", "bytes"),
    LIMIT(MaxCalleeData, "private data of an accept", "bytes"),
    { NULL, NULL, NULL, 0, 0 },
};

const struct flag flags[] = {
    { "IN_ORDER_DMA_SUPPORTED", "the last byte of a buffer is written last", NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED },
    { "RDMA_READ_SINK_NOT_REQUIRED", "the destination of a read needs no RDMA_READ_SINK flag",
      NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED },
    { "CQ_INTERRUPT_MODERATION_SUPPORTED", "NdkControlCqInterruptModeration",
      NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED },
    { "MULTI_ENGINE_SUPPORTED", "connections are processed in parallel", NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED },
    { "RDMA_READ_LOCAL_INVALIDATE_SUPPORTED", "NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE",
      NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED },
    { "CQ_RESIZE_SUPPORTED", "NdkResizeCq", NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED },
    { "LOOPBACK_CONNECTIONS_SUPPORTED", "the adapter connects to its own addresses",
      NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED },
    { NULL, NULL, 0 },
};

uint64_t limit_value(const struct limit *l, const NDK_ADAPTER_INFO *info)
{
    uint64_t wide = 0;
    uint32_t narrow;

    if (l->size == sizeof wide) {
        memcpy(&wide, (const char *)info + l->at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)info + l->at, sizeof narrow);
    return narrow;
}

const char *limit_write(const struct limit *l, const NDK_ADAPTER_INFO *info, char *text, size_t room)
{
    uint64_t value = limit_value(l, info);

    if (strcmp(l->unit, "id") == 0)
        snprintf(text, room, "0x%llx", (unsigned long long)value);
    else if (!value)
        snprintf(text, room, "none");
    else if (strcmp(l->unit, "bytes") != 0)
        snprintf(text, room, "%llu%s%s", (unsigned long long)value, *l->unit ? " " : "", l->unit);
    else
        number_write_size_iec(value, text, room);
    return text;
}

const char *technology_name(NDK_RDMA_TECHNOLOGY technology)
{
    static const char *const names[] = { "undefined", "iWARP", "InfiniBand", "RoCE", "RoCE v2" };

    return (size_t)technology < sizeof names / sizeof names[0] ? names[technology] : "unknown";
}
