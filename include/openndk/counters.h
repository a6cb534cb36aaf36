/* SPDX-License-Identifier: MIT */
/* What an adapter has done, under the names of Windows' RDMA Activity counters. */
#ifndef OPENNDK_COUNTERS_H
#define OPENNDK_COUNTERS_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Since the adapter was opened. */
typedef struct ondk_counters {
    uint64_t initiated_connections; /* by NdkConnect, established */
    uint64_t accepted_connections;  /* by NdkAccept, established */
    uint64_t failed_connection_attempts;
    uint64_t refused_requests;      /* malformed, beyond the backlog, or while the listener was paused */
    uint64_t dropped_peers;         /* no complete request in time, or the oldest of too many */
    uint64_t rdma_in_octets, rdma_out_octets;
    uint64_t rdma_in_frames, rdma_out_frames; /* FPDUs */
} ondk_counters_t;

/* Any thread, up to DISPATCH_LEVEL. Each value is exact, their combination a snapshot that need not be of one instant. */
ONDK_API void ondk_adapter_counters(NDK_ADAPTER *adapter, ondk_counters_t *counters);

#ifdef __cplusplus
}
#endif

#endif
