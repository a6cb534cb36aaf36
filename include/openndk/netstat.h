/* SPDX-License-Identifier: MIT */
/*
 * Lists of an adapter's connections, listeners and shared endpoints, as `netstat -xan` shows them on Windows. The
 * program ndkstat shows those of other processes.
 *
 * Each function fills at most capacity entries and returns how many exist, which may be more and may differ at the next
 * call. entries may be NULL if capacity is 0. A list is a snapshot of one instant. Any thread, up to DISPATCH_LEVEL.
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

/* A connector with a connection: from NdkConnect or the peer's request until its local address is free again. */
typedef struct ondk_connection {
    struct sockaddr_storage local, foreign; /* while connecting: as passed to NdkConnect, so the local port may be 0 */
    /*
     * "connecting", "replied" (NdkConnect has succeeded), "completing", "requested" (a peer's request waits for the
     * consumer), "accepting", "established", "peer-gone" (the peer has disconnected or was lost, and this side has not
     * disconnected), "disconnecting", "ended" (only close is left), "closing". Static storage.
     */
    const char *state;
    uint32_t initiated;                     /* 1: by this side; 0: by the peer */
    uint32_t if_index;                      /* the adapter's interface */
    uint32_t inbound_reads, outbound_reads; /* read limits as in NdkGetConnectionData; 0 before they are known */
    uint32_t owner_pid;
} ondk_connection_t;
ONDK_API uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                                 size_t entry_size);
static inline uint32_t ondk_adapter_connections(NDK_ADAPTER *adapter_, ondk_connection_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_connections_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

typedef struct ondk_listener {
    struct sockaddr_storage local; /* family 0 before NdkListen has succeeded */
    const char *state;             /* "idle", "starting", "listening", "closing". Static storage */
    uint32_t if_index;
    uint32_t owner_pid;
} ondk_listener_t;
ONDK_API uint32_t ondk_adapter_listeners_sized(NDK_ADAPTER *adapter, ondk_listener_t *entries, uint32_t capacity,
                                               size_t entry_size);
static inline uint32_t ondk_adapter_listeners(NDK_ADAPTER *adapter_, ondk_listener_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_listeners_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

typedef struct ondk_endpoint {
    struct sockaddr_storage local;
    uint32_t if_index;
    uint32_t owner_pid;
} ondk_endpoint_t;
ONDK_API uint32_t ondk_adapter_endpoints_sized(NDK_ADAPTER *adapter, ondk_endpoint_t *entries, uint32_t capacity,
                                               size_t entry_size);
static inline uint32_t ondk_adapter_endpoints(NDK_ADAPTER *adapter_, ondk_endpoint_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_endpoints_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/*
 * Describes the process that holds a local address and port, for a person to read after STATUS_SHARING_VIOLATION. For
 * example "process 4711 (ndkping) of user 1000, by OpenNDK", or, for another program's TCP socket, "a process that
 * cannot be seen from here of user 0". Writes at most size bytes, including the terminating 0; text may be NULL if size
 * is 0. Returns the length of the whole text, or 0 if no process holds the address or the kernel does not report it.
 * The result may be out of date when the call returns. PASSIVE_LEVEL: reads the lists of sockets and processes.
 */
ONDK_API uint32_t ondk_address_holder(const struct sockaddr *address, uint32_t address_length, char *text,
                                      uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
