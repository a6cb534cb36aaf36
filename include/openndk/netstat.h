/* SPDX-License-Identifier: MIT */
/*
 * Lists of an adapter's connections, listeners and shared endpoints, as `netstat -xan` shows them on Windows, and of
 * the connections that failed or were refused last. The program ndkstat shows those of other processes.
 *
 * Each function fills at most capacity entries and returns how many exist, which may be more and may differ at the next
 * call. A list is a snapshot of one instant.
 * See also: docs/observe.md
 */
#ifndef OPENNDK_NETSTAT_H
#define OPENNDK_NETSTAT_H

#include <stdint.h>
#include <sys/socket.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A connector with a connection: from NdkConnect or the peer's request until its local address is free again.
 */
typedef struct ondk_connection {
    /* The two addresses. While connecting: as passed to NdkConnect, so the local port may be 0. */
    struct sockaddr_storage local, foreign;
    /*
     * "connecting", "replied" (NdkConnect has succeeded), "completing", "requested" (a peer's request waits for the
     * consumer), "accepting", "established", "peer-gone" (the peer has disconnected or was lost, and this side has not
     * disconnected), "disconnecting", "ended" (only close is left), "closing". Static storage.
     */
    const char *state;
    /* 1: initiated by this side; 0: by the peer. */
    uint32_t initiated;
    /* The adapter's interface. */
    uint32_t if_index;
    /* Read limits as in NdkGetConnectionData; 0 before they are known. */
    uint32_t inbound_reads, outbound_reads;
    /* The process. */
    uint32_t owner_pid;
} ondk_connection_t;

/*
 * Lists the connections of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The list is a snapshot of one instant.
 * Returns the number of connections, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                                 size_t entry_size);
static inline uint32_t ondk_adapter_connections(NDK_ADAPTER *adapter_, ondk_connection_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_connections_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A listener of an adapter. */
typedef struct ondk_listener {
    /* The address; family 0 before NdkListen has succeeded. */
    struct sockaddr_storage local;
    /* "idle", "starting", "listening", "closing". Static storage. */
    const char *state;
    /* The adapter's interface. */
    uint32_t if_index;
    /* The process. */
    uint32_t owner_pid;
} ondk_listener_t;

/*
 * Lists the listeners of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The list is a snapshot of one instant.
 * Returns the number of listeners, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_listeners_sized(NDK_ADAPTER *adapter, ondk_listener_t *entries, uint32_t capacity,
                                               size_t entry_size);
static inline uint32_t ondk_adapter_listeners(NDK_ADAPTER *adapter_, ondk_listener_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_listeners_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A shared endpoint of an adapter. */
typedef struct ondk_endpoint {
    /* The address that its connections share. */
    struct sockaddr_storage local;
    /* The adapter's interface. */
    uint32_t if_index;
    /* The process. */
    uint32_t owner_pid;
} ondk_endpoint_t;

/*
 * Lists the shared endpoints of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The list is a snapshot of one instant.
 * Returns the number of shared endpoints, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                               size_t entry_size);
static inline uint32_t ondk_adapter_endpoints(NDK_ADAPTER *adapter_, ondk_endpoint_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_endpoints_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A connection that failed, or a peer that this side refused. One entry counts the repetitions of one failure. */
typedef struct ondk_failure {
    /*
     * The addresses of the newest. local: port 0 if none was chosen. foreign: family 0 if the peer was refused before
     * its address was known.
     */
    struct sockaddr_storage local, foreign;
    /*
     * The phase in which it ended. Initiated by this side: "connecting" (the peer's host had not answered),
     * "requesting" (the peer had not answered the request), "replied", "completing". Initiated by the peer: "arriving"
     * (no consumer had received the request), "requested", "accepting". Both: "established", "peer-gone",
     * "disconnecting". Static storage.
     */
    const char *phase;
    /* 1: initiated by this side; 0: by the peer. */
    uint32_t initiated;
    /* 1: this side refused the peer's request. */
    uint32_t refused;
    /* The adapter's interface. */
    uint32_t if_index;
    /* The process. */
    uint32_t owner_pid;
    /* The status that the consumer's request returned. Also set if no consumer had a request. */
    NTSTATUS status;
    /* The reason (openndk/reason.h). ondk_reason_name, ondk_reason_text and ondk_reason_advice explain it. */
    uint32_t reason;
    /* When it happened first, and when last: CLOCK_REALTIME in nanoseconds. */
    uint64_t first_time_ns, last_time_ns;
    /* How often it happened; at least 1. */
    uint64_t count;
} ondk_failure_t;

/*
 * Lists the connections that failed or were refused last, the newest first. It includes peers that no consumer learned
 * of, for example those that a full backlog refused.
 *   adapter   an open adapter; NULL: all adapters of the process, also those that have been closed
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The process has 32 entries for connections that it initiated, and 32 for those that peers initiated. A failure
 * repeats another one if adapter, role, phase, status and reason are the same, and also the foreign address and port
 * (initiated by this side), or the local address and port and the source (initiated by the peer). A source is an IPv4
 * address or an IPv6 /64. If there is no free entry, the source that has most entries loses its oldest one. So a peer
 * that fails in a loop does not remove the failures of others. A child of fork begins with an empty list.
 * The list is a snapshot of one instant.
 * Returns the number of failures, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ondk_reason_text, ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_failures_sized(NDK_ADAPTER *adapter, ondk_failure_t *entries, uint32_t capacity,
                                              size_t entry_size);
static inline uint32_t ondk_adapter_failures(NDK_ADAPTER *adapter_, ondk_failure_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_failures_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/*
 * Describes the process that holds a local address and port.
 *   address         an IPv4 or IPv6 address with a port
 *   address_length  its size in bytes
 *   text            receives at most size bytes, including the terminating 0; may be NULL if size is 0
 *   size            the size of text in bytes
 * The text is for a person to read after STATUS_SHARING_VIOLATION. For example "process 4711 (ndkping) of user 1000, by
 * OpenNDK", or, for another program's TCP socket, "a process that cannot be seen from here of user 0". It may be out of
 * date when the call returns.
 * Returns the length of the whole text without the terminating 0. Returns 0 if no process holds the address or the
 * kernel does not report it.
 * Context: PASSIVE_LEVEL; reads the lists of sockets and processes.
 * See also: docs/addresses.md
 */
ONDK_API uint32_t ondk_address_holder(const struct sockaddr *address, uint32_t address_length, char *text,
                                      uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
