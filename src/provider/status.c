/* SPDX-License-Identifier: MIT */
/* Converts the fabric's results to NTSTATUS (status.h), and has a table with the name and the advice of each status. */
#include "provider/status.h"

#include <errno.h>
#include <stdio.h>

#include "openndk/adapter.h"
#include "provider/reason.h"
#include "trace/trace.h"

NTSTATUS status_of_reason(enum fabric_reason why)
{
    switch (why) {
    case FABRIC_OK:
        return STATUS_SUCCESS;
    case FABRIC_NO_ROUTE:
        return STATUS_NETWORK_UNREACHABLE;
    case FABRIC_NO_HOST:
    case FABRIC_PROHIBITED:
        return STATUS_HOST_UNREACHABLE;
    case FABRIC_REFUSED:
    case FABRIC_REJECTED:
    case FABRIC_NO_PROTOCOL:
    case FABRIC_UNSUPPORTED_REQUEST:
    case FABRIC_REQUEST_NO_LIMITS:
    case FABRIC_REQUEST_DATA:
    case FABRIC_REQUEST_NO_FORM:
    case FABRIC_BACKLOG_FULL:
    case FABRIC_LISTENER_PAUSED:
    case FABRIC_LOCAL_REJECT:
        return STATUS_CONNECTION_REFUSED;
    case FABRIC_CONNECT_TIMEOUT:
    case FABRIC_REPLY_TIMEOUT:
    case FABRIC_ESTABLISH_TIMEOUT:
    case FABRIC_DISCONNECT_TIMEOUT:
    case FABRIC_REQUEST_TIMEOUT:
        return STATUS_IO_TIMEOUT;
    case FABRIC_ADDRESS_TAKEN:
    case FABRIC_PORT_FORBIDDEN: /* as for a port in use: consumers then try another port */
        return STATUS_SHARING_VIOLATION;
    case FABRIC_ADDRESS_FOREIGN:
        return STATUS_INVALID_ADDRESS;
    case FABRIC_PORTS_EXHAUSTED:
        return STATUS_TOO_MANY_ADDRESSES;
    case FABRIC_FOUR_TUPLE:
        return STATUS_ADDRESS_ALREADY_EXISTS;
    case FABRIC_RESOURCES:
    case FABRIC_DESCRIPTORS:
    case FABRIC_CROWDED_OUT:
    case FABRIC_NOT_DELIVERED:
        return STATUS_INSUFFICIENT_RESOURCES;
    case FABRIC_SYSTEM:
        return STATUS_UNSUCCESSFUL;
    case FABRIC_PEER_RESET:
    case FABRIC_PEER_CLOSED:
    case FABRIC_PEER_GAVE_UP:
    case FABRIC_UNANSWERED:
    case FABRIC_PEER_TERMINATE:
    case FABRIC_PROTOCOL:
    case FABRIC_BAD_REPLY:
    case FABRIC_READ_LIMITS:
    case FABRIC_NO_READY_FORM:
    case FABRIC_LOCAL_ERROR:
    case FABRIC_LOCAL_FLUSH:
    case FABRIC_CQ_OVERFLOW:
    case FABRIC_PEER_SILENT:
    case FABRIC_FRAME_STALLED:
    case FABRIC_MESSAGE_STALLED:
    case FABRIC_SRQ_SHARE:
    case FABRIC_INTERFACE_GONE:
    case FABRIC_BAD_REQUEST:
    case FABRIC_BAD_REVISION:
        return STATUS_CONNECTION_ABORTED;
    case FABRIC_NOT_CONNECTING:
        return STATUS_CONNECTION_INVALID;
    case FABRIC_LOCAL_CLOSE:
    case FABRIC_LOCAL_DISCONNECT:
    case FABRIC_LISTENER_CLOSED:
        return STATUS_CANCELLED;
    case FABRIC_TOKEN:
    case FABRIC_TOKEN_DOMAIN:
    case FABRIC_TOKEN_RIGHT:
    case FABRIC_TOKEN_RANGE:
    case FABRIC_TOKEN_LASTING:
    case FABRIC_REGION_GONE:
    case FABRIC_PEER_TOKEN:
        return STATUS_ACCESS_VIOLATION;
    case FABRIC_RECEIVE_SHORT:
        return STATUS_DATA_OVERRUN;
    case FABRIC_PEER_RANGE:
        return STATUS_REMOTE_RESOURCES;
    case FABRIC_REASON_COUNT:
        break;
    }
    return STATUS_INTERNAL_ERROR;
}

NTSTATUS status_of_connect(enum fabric_reason why)
{
    NTSTATUS status = status_of_reason(why);

    if (why == FABRIC_PEER_SILENT)
        return STATUS_IO_TIMEOUT;
    if (why == FABRIC_INTERFACE_GONE)
        return STATUS_NETWORK_UNREACHABLE;
    /* NdkConnect has no status for an abort. So a connection that the peer ends without an accept counts as refused. */
    return status == STATUS_CONNECTION_ABORTED ? STATUS_CONNECTION_REFUSED : status;
}

NTSTATUS status_of_completion(enum rdma_status status)
{
    switch (status) {
    case RDMA_STATUS_OK:
        return STATUS_SUCCESS;
    case RDMA_STATUS_FLUSHED:
        return STATUS_CANCELLED;
    case RDMA_STATUS_LOST:
        return STATUS_CONNECTION_ABORTED;
    case RDMA_STATUS_LOCAL_ACCESS:
    case RDMA_STATUS_REMOTE_ACCESS:
        return STATUS_ACCESS_VIOLATION;
    case RDMA_STATUS_TOO_LONG:
        return STATUS_DATA_OVERRUN;
    case RDMA_STATUS_REMOTE_RANGE:
        return STATUS_REMOTE_RESOURCES;
    }
    return STATUS_INTERNAL_ERROR;
}

NTSTATUS status_of_errno(int error)
{
    switch (error) {
    case 0:
        return STATUS_SUCCESS;
    case ENOTCONN:
        return STATUS_CONNECTION_INVALID;
    case EOPNOTSUPP: /* a read on a connection that allows none */
        return STATUS_NOT_SUPPORTED;
    case EINVAL:
    case ERANGE:
        return STATUS_INVALID_PARAMETER;
    case EFAULT:
    case EACCES:
        return STATUS_ACCESS_VIOLATION;
    case ENOENT:    /* a region without a registration */
    case ECANCELED: /* a region that is being closed */
        return STATUS_INVALID_DEVICE_STATE;
    case ENODEV:
    case ENXIO:
    case EADDRNOTAVAIL:
        return STATUS_INVALID_PARAMETER;
    case ENETDOWN:
        return NDIS_STATUS_ADAPTER_NOT_READY;
    default: /* ENOMEM, ENOSPC, EMFILE and other lacks of resources */
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

uint32_t status_provider_error(const struct rdma_completion *c)
{
    return c->status == RDMA_STATUS_OK ? 0 : reason_code(c->reason, c->terminate);
}

/* clang-format off */
static const struct status_entry {
    NTSTATUS status;
    const char *name, *advice;
} status_entries[] = {
#define ENTRY(status, advice) {status, #status, advice}
    ENTRY(STATUS_SUCCESS, "Success; there is nothing to do."),
    ENTRY(STATUS_PENDING, "The call is pending; wait for its completion callback."),
    ENTRY(STATUS_TIMEOUT, "A wait ended without its event; wait longer, or check why the event does not occur."),
    ENTRY(STATUS_BUFFER_OVERFLOW, "More requests completed than the completion queue holds; create it as deep as all "
                                  "queues that use it together."),
    ENTRY(STATUS_DEVICE_BUSY, "Something still uses the object; end that first."),
    ENTRY(STATUS_NO_MORE_ENTRIES, "No more entries are available; release those that are not needed."),
    ENTRY(STATUS_UNSUCCESSFUL, "It failed for a reason without a status of its own; check the provider's reason."),
    ENTRY(STATUS_ACCESS_VIOLATION, "A memory token is invalid, of another protection domain, or lacks the right; check "
                                   "token, flags of the registration and the range, on both sides."),
    ENTRY(STATUS_INVALID_HANDLE, "The handle is not open; check that it was not closed before."),
    ENTRY(STATUS_INVALID_PARAMETER, "An argument is malformed (for example 0.0.0.0 as the peer, or an interface that "
                                    "does not exist) or beyond the adapter's limits; compare with "
                                    "NdkQueryAdapterInfo."),
    ENTRY(STATUS_INVALID_DEVICE_REQUEST, "The object does not support this request; check its type."),
    ENTRY(STATUS_NO_MEMORY, "Memory ran out; free some, or use fewer and shallower queues."),
    ENTRY(STATUS_BUFFER_TOO_SMALL, "The buffer is too short; try again with the length that was written back."),
    ENTRY(STATUS_INVALID_PARAMETER_MIX, "These arguments exclude each other; change one of them."),
    ENTRY(STATUS_DATA_OVERRUN, "The peer sent a message longer than the receive that was posted for it; post longer "
                               "receives or send shorter messages."),
    ENTRY(STATUS_SHARING_VIOLATION, "The local address and port are in use, or this user may not bind the port; choose "
                                    "another port, or port 0, or check the provider's reason."),
    ENTRY(STATUS_INSUFFICIENT_RESOURCES, "Memory, descriptors or room in a queue ran out; raise the limit (ulimit -n), "
                                         "use deeper queues, or close idle objects."),
    ENTRY(STATUS_DEVICE_NOT_READY, "The device is not ready; bring it up and try again."),
    ENTRY(STATUS_IO_TIMEOUT, "Nothing answered in time; check address and port, that a firewall lets them through, and "
                             "that the peer is alive."),
    ENTRY(STATUS_NOT_SUPPORTED, "The provider does not support this; request less, or check the adapter's flags "
                                "first."),
    ENTRY(STATUS_INTERNAL_ERROR, "The provider failed and the object is unusable; close it and report the case."),
    ENTRY(STATUS_CANCELLED, "This side ended it by a flush, a disconnect or a close; this is not an error."),
    ENTRY(STATUS_REMOTE_RESOURCES, "The request went beyond the peer's memory region; check address and length."),
    ENTRY(STATUS_INVALID_ADDRESS, "The local address is not one of this adapter's; use one of those that the interface "
                                  "has (ip address)."),
    ENTRY(STATUS_INVALID_DEVICE_STATE, "The object is in the wrong state for this call; check the order of the calls."),
    ENTRY(STATUS_INVALID_BUFFER_SIZE, "The data is longer than allowed; shorten it."),
    ENTRY(STATUS_TOO_MANY_ADDRESSES, "All ports from 49152 to 65535 are taken at this address; close connections, or "
                                     "share one endpoint between them."),
    ENTRY(STATUS_ADDRESS_ALREADY_EXISTS, "A connection with these two addresses and ports exists already; close that "
                                         "connection, or use another local port."),
    ENTRY(STATUS_CONNECTION_REFUSED, "Nobody listens there, or the listener is full, paused, or rejected; start the "
                                     "server, and check port and private data."),
    ENTRY(STATUS_CONNECTION_INVALID, "The queue pair is not connected, or not being connected; complete the steps of "
                                     "establishment in order, or make a new connection."),
    ENTRY(STATUS_CONNECTION_ACTIVE, "It is connected already; disconnect first."),
    ENTRY(STATUS_NETWORK_UNREACHABLE, "There is no route to that network; check address and routes (ip route)."),
    ENTRY(STATUS_HOST_UNREACHABLE, "The host cannot be reached, or a firewall forbids the connection; check the "
                                   "address, and that the host is up and answers (ip neighbour)."),
    ENTRY(STATUS_CONNECTION_ABORTED, "The connection broke: the peer gave up, crashed, or one side violated the "
                                     "protocol or the other's memory rights; check the peer's log."),
    ENTRY(STATUS_DEVICE_REMOVED, "The device is gone; close everything and open an adapter that exists."),
    ENTRY(STATUS_IMPLEMENTATION_LIMIT, "The request exceeds what the adapter can do at once; split it."),
    ENTRY(NDIS_STATUS_BAD_VERSION, "The provider does not support this version; use 1.0 to 1.2, 2.0 or 2.1."),
    ENTRY(NDIS_STATUS_ADAPTER_NOT_READY, "The interface is down; bring it up (ip link set up) and try again."),
#undef ENTRY
};
/* clang-format on */

static const struct status_entry *status_find(NTSTATUS status)
{
    for (size_t i = 0; i < sizeof(status_entries) / sizeof(status_entries[0]); i++) {
        if (status_entries[i].status == status)
            return &status_entries[i];
    }
    return NULL;
}

const char *ondk_status_name(NTSTATUS status)
{
    static _Thread_local char number[sizeof("0x00000000")];
    const struct status_entry *e = status_find(status);

    if (e)
        return e->name;
    snprintf(number, sizeof(number), "0x%08X", (unsigned)status);
    return number;
}

const char *ondk_status_advice(NTSTATUS status)
{
    const struct status_entry *e = status_find(status);

    return e ? e->advice : "This library does not return this status; check where it came from.";
}

static const char *status_next_name(unsigned index, unsigned *value)
{
    if (index >= sizeof(status_entries) / sizeof(status_entries[0]))
        return NULL;
    *value = (unsigned)status_entries[index].status;
    return status_entries[index].name;
}

static bool status_next_text(unsigned index, struct trace_text *text)
{
    if (index >= sizeof(status_entries) / sizeof(status_entries[0]))
        return false;
    *text = (struct trace_text){ (unsigned)status_entries[index].status, NULL, status_entries[index].advice };
    return true;
}

__attribute__((constructor)) static void status_set_names(void)
{
    trace_set_names(TRACE_NAMES_status, status_next_name);
    trace_set_texts(TRACE_NAMES_status, status_next_text);
}
