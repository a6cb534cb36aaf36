/* SPDX-License-Identifier: MIT */
/*
 * What an adapter has at the moment, as `netstat -xan` lists it: connections, listeners, shared endpoints. The program
 * ndkstat shows the same of other processes.
 *
 * Each function fills at most capacity entries and returns how many there are, which may be more, and may be another
 * number at the next call. entries may be NULL if capacity is 0. Any thread, up to DISPATCH_LEVEL. A list is of one
 * instant.
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

/* A connector that has a connection: from NdkConnect, or the peer's request, till its address is free again. */
typedef struct ondk_connection {
    struct sockaddr_storage local, foreign; /* while connecting: as asked for; port 0 where any may be taken */
    /*
     * Static storage. "connecting", "replied" (NdkConnect has succeeded), "completing", "requested" (a peer asks),
     * "accepting", "established", "peer-gone" (the peer has disconnected or was lost; this side has not answered),
     * "disconnecting", "ended" (only close is left), "closing".
     */
    const char *state;
    uint32_t initiated;                     /* 1: by this side; 0: by the peer */
    uint32_t if_index;                      /* the adapter's interface */
    uint32_t inbound_reads, outbound_reads; /* as NdkGetConnectionData has them; 0 before it has */
    uint32_t owner_pid;
} ondk_connection_t;
ONDK_API uint32_t ondk_adapter_connections_sized(NDK_ADAPTER *adapter, ondk_connection_t *entries, uint32_t capacity,
                                                 size_t entry_size);
static inline uint32_t ondk_adapter_connections(NDK_ADAPTER *adapter_, ondk_connection_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_connections_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

typedef struct ondk_listener {
    struct sockaddr_storage local;          /* family 0 before it listens */
    const char *state;                      /* "idle", "starting", "listening", "closing". Static storage */
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
 * Who holds a local address and port: for a person to read after STATUS_SHARING_VIOLATION. For example
 * "process 4711 (ndkping) of user 1000, by OpenNDK", or "a process that cannot be seen from here of user 0" of a TCP
 * socket of another program. Writes at most size bytes, a 0 at the end included; text may be NULL if size is 0. Returns
 * the length of the whole text; 0 if nobody holds the address or the kernel does not tell. The answer is of this instant.
 * PASSIVE_LEVEL: reads the lists of sockets and processes.
 */
ONDK_API uint32_t ondk_address_holder(const struct sockaddr *address, uint32_t address_length, char *text,
                                      uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
