/* SPDX-License-Identifier: MIT */
/*
 * What an adapter has done: the members of NDIS_NDK_PERFORMANCE_COUNTERS, which Windows shows as RDMA Activity, and two
 * of our own. docs/observe.md says more.
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
 * Since the adapter was opened; what is counted for a step is counted before the step's completion or callback begins.
 */
typedef struct ondk_counters {
    /* Connect. Connections that this side initiated and that were established (NdkCompleteConnect succeeded). */
    uint64_t initiated_connections;
    /* Accept. Connections that this side accepted and that were established (NdkAccept succeeded). */
    uint64_t accepted_connections;
    /*
     * ConnectFailure. NdkConnect, NdkConnectWithSharedEndpoint, NdkCompleteConnect and NdkAccept that had begun and
     * then failed, whatever the reason, a close meanwhile included; once for each attempt. Not: calls that were refused
     * inline, requests that this side's consumer rejected, and what it gave up after NdkConnect had succeeded.
     */
    uint64_t failed_connection_attempts;
    /* Not among Windows' counters. Requests that no consumer saw: malformed, beyond the backlog, listener paused. */
    uint64_t refused_requests;
    /* Nor this. Peers that were disconnected before they had sent a complete request: out of time, or too many. */
    uint64_t dropped_peers;
    /*
     * RDMAInOctets, RDMAOutOctets. All bytes of FPDUs that were read from and given to TCP: headers, payload, padding
     * and CRC of DDP and MPA; not start-up frames, nor the headers of TCP and below, which a program does not see.
     * While a connection is up they may lag behind the completions of its requests; once its connector is closed they
     * do not.
     */
    uint64_t rdma_in_octets, rdma_out_octets;
    /* RDMAInFrames, RDMAOutFrames. Those FPDUs, each once; of those that came, the valid ones alone. */
    uint64_t rdma_in_frames, rdma_out_frames;
    /*
     * ActiveConnection. Connections that are established at the moment: from the counting as initiated or accepted to
     * the end, which is the end of NdkDisconnect, the close, or the loss. The one value here that also falls.
     */
    uint64_t active_connections;
    /*
     * ConnectionError. Established connections that ended before this side's consumer disconnected or closed them, by
     * anything but the peer's notice: a reset, a Terminate of either side, a failed request of our own, an overflowed
     * completion queue, a peer whose process or host died or stalled, a network interface that is gone.
     */
    uint64_t connection_errors;
    /* CQError. Completion queues that overflowed; each once, as it is dead from then on. */
    uint64_t completion_queue_errors;
} ondk_counters_t;

/*
 * Any thread, up to DISPATCH_LEVEL. Each value is exact, their combination a snapshot that need not be of one instant.
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
