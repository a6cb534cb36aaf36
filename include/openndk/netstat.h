/* SPDX-License-Identifier: MIT */
/*
 * Lists of an adapter's objects, and of the latest connections that failed or were refused. The lists of connections,
 * listeners and shared endpoints are like the output of `netstat -xan` on Windows. The lists of other objects are like
 * the output of `rdma resource show` on Linux. The program ndkstat shows the lists of other processes.
 *
 * The ids of an adapter's objects of one type begin with 1, in the order of creation. The id 0 names no object.
 * "closing" is the state of an object whose close has begun and has not ended.
 *
 * Each function fills at most capacity entries and returns how many objects exist. This number may be larger than
 * capacity and may differ at the next call. Each entry is a snapshot of one instant. The entries of a list may be of
 * different instants. An object that exists during the whole call is listed once, unless the result is larger than
 * capacity.
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
 * A connector with a connection. It is listed from NdkConnect or the peer's request until its local address is free.
 */
typedef struct ondk_connection {
    /* The two addresses. In the state "connecting" they are as passed to NdkConnect, so the local port may be 0. */
    struct sockaddr_storage local, foreign;
    /*
     * "connecting", "replied" (NdkConnect has succeeded), "completing", "requested" (a peer's request waits for the
     * consumer), "accepting", "established", "peer-gone" (the peer has disconnected or was lost, and this side has not
     * disconnected), "disconnecting", "ended" (only close is left), "closing". Static storage.
     */
    const char *state;
    /* 1: initiated by this side; 0: by the peer. */
    uint32_t initiated;
    /* The index of the adapter's interface. */
    uint32_t if_index;
    /* Read limits as in NdkGetConnectionData; 0 before they are known. */
    uint32_t inbound_reads, outbound_reads;
    /* The ID of the process that opened the adapter. */
    uint32_t owner_pid;
    /* The connector's id. */
    uint32_t id;
    /* The time since NdkConnect was called or the peer's request arrived, in nanoseconds. */
    uint64_t age_ns;
    /*
     * Messages of the connection's queue pair. Out: requests whose last byte TCP has taken. In: messages that have
     * arrived completely, and reads that the peer has requested. A ready-to-receive message from the peer counts, too,
     * if it is a write or a read. All values are 0 before there is a queue pair, and may lag by a moment.
     */
    uint64_t out_sends, out_writes, out_reads, in_sends, in_writes, in_reads;
    /* The bytes and the number of FPDUs, as ondk_counters_t counts them. */
    uint64_t out_octets, in_octets, out_frames, in_frames;
    /* The id of the connection's queue pair; 0 before the connection has a queue pair. */
    uint32_t qp;
    /* The id of the listener that received the request; 0: initiated by this side. */
    uint32_t listener;
    /* 1: the connection has been established, and the next two members are valid. 0: the next two members are 0. */
    uint32_t was_established;
    /* The MPA revision that the two sides use: 0, 1 or 2. */
    uint32_t mpa_revision;
    /* 1: every FPDU has a CRC. */
    uint32_t crc;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_connection_t;

/*
 * Lists the connections of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
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
    /* The index of the adapter's interface. */
    uint32_t if_index;
    /* The ID of the process that opened the adapter. */
    uint32_t owner_pid;
    /* The listener's id. */
    uint32_t id;
    /* The number of connectors that peers' requests have created and that the consumer has not closed. */
    uint32_t connections;
    /*
     * The number of connection requests that the consumer has neither accepted nor rejected, and the maximum of that
     * number (backlog of ondk_config_t). These and the following members are 0 while the listener is being closed.
     */
    uint32_t waiting, backlog;
    /* The number of connection requests that the consumer has not answered and whose peer has left. */
    uint32_t abandoned;
    /* The limit max_unfinished (ondk_config_t) that is in effect; 0 before NdkListen has succeeded. */
    uint32_t max_unfinished;
    /* 1: the consumer has paused the listener, so the listener refuses peers. */
    uint32_t paused;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_listener_t;

/*
 * Lists the listeners of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
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
    /* The address that the connections of the endpoint share. */
    struct sockaddr_storage local;
    /* The index of the adapter's interface. */
    uint32_t if_index;
    /* The ID of the process that opened the adapter. */
    uint32_t owner_pid;
    /* The shared endpoint's id. */
    uint32_t id;
    /* The number of connectors that use the shared endpoint. */
    uint32_t connections;
    /* "open", "closing". Static storage. */
    const char *state;
} ondk_endpoint_t;

/*
 * Lists the shared endpoints of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
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

/* A protection domain of an adapter. */
typedef struct ondk_protection_domain {
    /* "open", "closing". Static storage. */
    const char *state;
    /* The protection domain's id. */
    uint32_t id;
    /* The number of objects that depend on the protection domain. */
    uint32_t users;
} ondk_protection_domain_t;

/*
 * Lists the protection domains of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of protection domains, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_protection_domains_sized(NDK_ADAPTER *adapter, ondk_protection_domain_t *entries,
                                                        uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_adapter_protection_domains(NDK_ADAPTER *adapter_, ondk_protection_domain_t *entries_,
                                                       uint32_t capacity_)
{
    return ondk_adapter_protection_domains_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A completion queue of an adapter. */
typedef struct ondk_completion_queue {
    /* "open", "overflowed", "closing". Static storage. */
    const char *state;
    /* The event that the consumer has armed: "none", "errors", "solicited", "any". Static storage. */
    const char *armed;
    /* The completion queue's id. */
    uint32_t id;
    /* The number of queue pairs that use the completion queue. */
    uint32_t users;
    /* How many completions the queue can hold, and how many the consumer has not polled. */
    uint32_t depth, queued;
    /* The processor that the consumer prefers, or -1. */
    int32_t affinity;
    /* The limits that NdkControlCqInterruptModeration has set; 0 without moderation. */
    uint32_t moderation_interval_us, moderation_count;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_completion_queue_t;

/*
 * Lists the completion queues of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of completion queues, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_completion_queues_sized(NDK_ADAPTER *adapter, ondk_completion_queue_t *entries,
                                                       uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_adapter_completion_queues(NDK_ADAPTER *adapter_, ondk_completion_queue_t *entries_,
                                                      uint32_t capacity_)
{
    return ondk_adapter_completion_queues_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A queue pair of an adapter. */
typedef struct ondk_queue_pair {
    /*
     * "idle" (no connector uses it), "connecting" (initiator requests are still refused), "connected", "ended" (its
     * connection has ended), "closing". Static storage.
     */
    const char *state;
    /* The queue pair's id. */
    uint32_t id;
    /* The ids of the objects that the queue pair uses; srq may be 0. */
    uint32_t pd, receive_cq, initiator_cq, srq;
    /* How many requests each queue can hold; receive_depth is 0 with a shared receive queue. */
    uint32_t receive_depth, initiator_depth;
    /* Limits of one request: the SGEs of a receive, the SGEs of any other request, the inline bytes of a request. */
    uint32_t receive_sges, initiator_sges, inline_size;
    /* How many posted requests have not completed. */
    uint32_t receives, initiators;
} ondk_queue_pair_t;

/*
 * Lists the queue pairs of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of queue pairs, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_queue_pairs_sized(NDK_ADAPTER *adapter, ondk_queue_pair_t *entries, uint32_t capacity,
                                                 size_t entry_size);
static inline uint32_t ondk_adapter_queue_pairs(NDK_ADAPTER *adapter_, ondk_queue_pair_t *entries_, uint32_t capacity_)
{
    return ondk_adapter_queue_pairs_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A shared receive queue of an adapter. */
typedef struct ondk_shared_receive_queue {
    /* "open", "closing". Static storage. */
    const char *state;
    /* The shared receive queue's id. */
    uint32_t id;
    /* The id of the shared receive queue's protection domain. */
    uint32_t pd;
    /* The number of queue pairs that use the shared receive queue. */
    uint32_t users;
    /* How many receives the queue can hold, and how many posted receives are still free for a message. */
    uint32_t depth, queued;
    /* The maximum number of a receive's SGEs. */
    uint32_t sges;
    /* The threshold of the notification; 0: not armed. */
    uint32_t threshold;
    /* The processor that the consumer prefers, or -1. */
    int32_t affinity;
} ondk_shared_receive_queue_t;

/*
 * Lists the shared receive queues of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of shared receive queues, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_shared_receive_queues_sized(NDK_ADAPTER *adapter, ondk_shared_receive_queue_t *entries,
                                                           uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_adapter_shared_receive_queues(NDK_ADAPTER *adapter_, ondk_shared_receive_queue_t *entries_,
                                                          uint32_t capacity_)
{
    return ondk_adapter_shared_receive_queues_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A memory region of an adapter. */
typedef struct ondk_memory_region {
    /* "empty", "prepared" (by a posted fast registration), "registered", "deregistering", "closing". Static storage. */
    const char *state;
    /* The memory that the token names; 0 without a registration. */
    uint64_t address, length;
    /* The memory region's id. */
    uint32_t id;
    /* The id of the memory region's protection domain. */
    uint32_t pd;
    /* The token of the newest registration, even if that registration has ended; 0: none yet. */
    uint32_t token;
    /* 1: created for fast registration. */
    uint32_t fast;
    /* 1: the token grants this right. 0: it does not. */
    uint32_t local_write, remote_read, remote_write;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_memory_region_t;

/*
 * Lists the memory regions of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of memory regions, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_memory_regions_sized(NDK_ADAPTER *adapter, ondk_memory_region_t *entries,
                                                    uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_adapter_memory_regions(NDK_ADAPTER *adapter_, ondk_memory_region_t *entries_,
                                                   uint32_t capacity_)
{
    return ondk_adapter_memory_regions_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A memory window of an adapter. */
typedef struct ondk_memory_window {
    /* "unbound", "prepared" (by a posted bind), "bound", "closing". Static storage. */
    const char *state;
    /* The memory that the token names; 0 without a binding. */
    uint64_t address, length;
    /* The memory window's id. */
    uint32_t id;
    /* The id of the memory window's protection domain. */
    uint32_t pd;
    /* The token of the newest binding, even if that binding has ended; 0: none yet. */
    uint32_t token;
    /* 1: the token grants this right. 0: it does not. */
    uint32_t remote_read, remote_write;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_memory_window_t;

/*
 * Lists the memory windows of an adapter.
 *   adapter   an open adapter
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The entries need not show the same moment, because objects may change during the call.
 * Returns the number of memory windows, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * See also: ndkstat, docs/observe.md
 */
ONDK_API uint32_t ondk_adapter_memory_windows_sized(NDK_ADAPTER *adapter, ondk_memory_window_t *entries,
                                                    uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_adapter_memory_windows(NDK_ADAPTER *adapter_, ondk_memory_window_t *entries_,
                                                   uint32_t capacity_)
{
    return ondk_adapter_memory_windows_sized(adapter_, entries_, capacity_, sizeof(*entries_));
}

/* A connection that failed, or a peer that this side refused. One entry counts all equal failures. */
typedef struct ondk_failure {
    /*
     * The addresses of the newest failure in this entry. The member local has port 0 if no local port was chosen. The
     * member foreign has family 0 if the peer was refused before its address was known.
     */
    struct sockaddr_storage local, foreign;
    /*
     * The phase in which the connection ended. Initiated by this side: "connecting" (the peer's host had not answered),
     * "requesting" (the peer had not answered the request), "replied", "completing". Initiated by the peer: "arriving"
     * (no consumer had received the request), "requested", "accepting". Initiated by either side: "established",
     * "peer-gone", "disconnecting". Static storage.
     */
    const char *phase;
    /* 1: initiated by this side; 0: by the peer. */
    uint32_t initiated;
    /* 1: this side refused the peer's request. */
    uint32_t refused;
    /* The index of the adapter's interface. */
    uint32_t if_index;
    /* The ID of the process that opened the adapter. */
    uint32_t owner_pid;
    /* The status of the failure. If a request of the consumer was pending, the request completed with this status. */
    NTSTATUS status;
    /* The reason (openndk/reason.h). ondk_reason_name, ondk_reason_text and ondk_reason_advice explain it. */
    uint32_t reason;
    /* The times of the first and of the last failure in this entry: CLOCK_REALTIME in nanoseconds. */
    uint64_t first_time_ns, last_time_ns;
    /*
     * How often the failure happened; at least 1. If no descriptor or memory is left, all peers that wait at a listener
     * are refused together, which counts once.
     */
    uint64_t count;
} ondk_failure_t;

/*
 * Lists the latest connections that failed or were refused, the newest first. The list includes peers whose request no
 * consumer received, for example peers that a full backlog refused.
 *   adapter   an open adapter; NULL: all adapters of the process, also those that have been closed
 *   entries   receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * The process has 32 entries for connections that it initiated, and 32 for those that peers initiated. Two failures
 * share an entry if adapter, role, phase, status, reason and local address are equal. The initiating side also
 * compares the foreign address and port. The accepting side also compares the local port and the source. The source
 * of a failure is the peer's IPv4 address, or the /64 of the peer's IPv6 address. If all 32 entries are in use, the
 * source with the most entries loses its oldest entry. So a peer that fails in a loop does not remove the failures of
 * others. A child of fork begins with an empty list.
 * The list is a snapshot of one instant.
 * Returns the number of failures, which may be larger than capacity and may differ at the next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * Example:
 *
 *     ondk_failure_t failures[64];
 *     uint32_t count = ondk_adapter_failures(NULL, failures, 64);
 *
 *     for (uint32_t i = 0; i < count && i < 64; i++)
 *         printf("%s: %s\n", failures[i].phase,
 *                ondk_reason_text(failures[i].reason));
 *
 * See also: ondk_reason_text, ndkstat, openndk-reasons, docs/observe.md
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
 * The text is for a person to read after STATUS_SHARING_VIOLATION. Examples are "process 4711 (ndkping) of user 1000,
 * by OpenNDK" and, for another program's TCP socket, "process 812 (sshd) of user 0". If the caller cannot see the
 * process, the text has only the process's user. The text may be out of date when the call returns.
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
