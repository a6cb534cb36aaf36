/* SPDX-License-Identifier: MIT */
/*
 * Counters of an adapter: the members of NDIS_NDK_PERFORMANCE_COUNTERS, which Windows shows as RDMA Activity, and two
 * more. ndkstat shows the counters of other processes.
 * See also: docs/observe.md
 */
#ifndef OPENNDK_COUNTERS_H
#define OPENNDK_COUNTERS_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The counters of an adapter.
 * All counters are 0 when the adapter is opened. A field's comment begins with the name of the counter in Windows, if
 * Windows has the counter. Each event is counted before its completion or callback begins.
 * See also: docs/observe.md
 */
typedef struct ondk_counters {
    /* Connect. Connections that this side initiated and that were established (NdkCompleteConnect succeeded). */
    uint64_t initiated_connections;
    /* Accept. Connections that this side accepted and that were established (NdkAccept succeeded). */
    uint64_t accepted_connections;
    /*
     * ConnectFailure. Calls of NdkConnect, NdkConnectWithSharedEndpoint, NdkCompleteConnect and NdkAccept that began
     * and then failed for any reason, including a close of the connector. Each attempt counts once. Not counted: calls
     * that the provider refused at once, peers' requests that this side's consumer rejected, and connections that the
     * consumer rejected or closed after NdkConnect had succeeded.
     */
    uint64_t failed_connection_attempts;
    /*
     * Not a Windows counter. Connection requests that no consumer received, because the request was malformed, the
     * backlog was full, or the listener was paused.
     */
    uint64_t refused_requests;
    /*
     * Not a Windows counter. Peers that were dropped before they had sent a complete connection request, because they
     * were too slow or too many.
     */
    uint64_t dropped_peers;
    /*
     * RDMAInOctets, RDMAOutOctets. All bytes of FPDUs read from TCP and handed to TCP: headers, payload, padding and
     * CRC. Start-up frames and the headers of TCP and below are not included. The values may lag behind completions
     * while a connection is up; they are complete once the connection's connector is closed.
     */
    uint64_t rdma_in_octets, rdma_out_octets;
    /* RDMAInFrames, RDMAOutFrames. The number of FPDUs in and out. Invalid FPDUs that arrived are not counted. */
    uint64_t rdma_in_frames, rdma_out_frames;
    /*
     * ActiveConnection. Connections that are established now: counted as initiated or accepted, and not ended by
     * NdkDisconnect, a close or a loss. Only this value can decrease.
     */
    uint64_t active_connections;
    /*
     * ConnectionError. Established connections that were lost before either side disconnected and before this side's
     * consumer closed them. Causes: a reset, a Terminate of either side, a failed request of this side, an overflowed
     * completion queue, a peer whose process or host died or stalled, a removed network interface.
     */
    uint64_t connection_errors;
    /*
     * CQError. Completion queues that overflowed. Each queue is counted once, because a queue that has overflowed stays
     * unusable.
     */
    uint64_t completion_queue_errors;
} ondk_counters_t;

/*
 * Reads the counters of an adapter.
 *   adapter   an open adapter
 *   counters  receives the counters; owned by the caller
 * Each value is exact; the values need not be of one instant.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ondk_counters_t
 */
ONDK_API void ondk_adapter_counters_sized(NDK_ADAPTER *adapter, ondk_counters_t *counters, size_t size);
static inline void ondk_adapter_counters(NDK_ADAPTER *adapter_, ondk_counters_t *counters_)
{
    ondk_adapter_counters_sized(adapter_, counters_, sizeof(*counters_));
}

#ifdef __cplusplus
}
#endif

#endif
