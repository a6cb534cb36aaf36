/* SPDX-License-Identifier: MIT */
/* Copies an adapter's counters into the public struct. */
#include "openndk/counters.h"

#include "base/sized.h"
#include "provider/adapter.h"

void ondk_adapter_counters_sized(NDK_ADAPTER *adapter, ondk_counters_t *counters, size_t size)
{
    struct fabric *fabric = adapter_behind(adapter)->fabric;
    struct fabric_counters c;

    fabric->ops->counters(fabric, &c);
    ondk_counters_t ours = {
        .initiated_connections = c.connects,
        .accepted_connections = c.accepts,
        .failed_connection_attempts = c.failures,
        .active_connections = c.active,
        .connection_errors = c.connection_errors,
        .completion_queue_errors = c.cq_errors,
        .refused_requests = c.refused,
        .dropped_peers = c.dropped,
        .rdma_in_octets = c.in_bytes,
        .rdma_out_octets = c.out_bytes,
        .rdma_in_frames = c.in_frames,
        .rdma_out_frames = c.out_frames,
    };
    sized_write(counters, size, &ours, sizeof(ours));
}
