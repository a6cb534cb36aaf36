/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines of the sockets' dispatch tables. A routine copies its arguments into a request and posts the
 * request to the socket thread. If the request cannot be posted, the routine completes the IRP itself. Address queries
 * and WskInspectComplete complete their IRPs before they return, and post no request. No routine uses the members of a
 * socket that are for the socket thread.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

enum { MAX_CONNECT_DATA = 65535 };

/* Returns the number of bytes in the buffer, for the trace event of the driver's call. */
static uint64_t wsk_buf_bytes(const WSK_BUF *buffer)
{
    return buffer ? buffer->Length : 0;
}

static uint64_t wsk_buf_list_bytes(const WSK_BUF_LIST *list)
{
    uint64_t bytes = 0;

    for (; list; list = list->Next)
        bytes += list->Buffer.Length;
    return bytes;
}

/* ---- Any socket -------------------------------------------------------------------------------------------------- */

/* Closes the socket. `by` is the return address of the driver's call. */
static NTSTATUS wsk_call_close(const struct kernel_call *call, PWSK_SOCKET socket, PIRP irp, const void *by)
{
    struct wsk_socket *s = (struct wsk_socket *)socket;
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, WSK_CLOSE, irp, &status);

    if (!r)
        return status;
    if (check_on())
        stack_capture(&s->closed_by, by);
    atomic_store(&s->closed, true);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskCloseSocket(PWSK_SOCKET Socket, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskCloseSocket, .object = (uintptr_t)Socket, .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_close(&call, Socket, Irp, __builtin_return_address(0)));
}

static NTSTATUS wsk_call_bind(const struct kernel_call *call, PWSK_SOCKET socket, PSOCKADDR local, ULONG flags,
                              PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, WSK_BIND, irp, &status);

    if (!r)
        return status;
    if (flags || !wsk_address_copy(&r->address, r->socket->family, local))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskBind(PWSK_SOCKET Socket, PSOCKADDR LocalAddress, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskBind, .object = (uintptr_t)Socket,
                                                .local = kernel_call_addr(LocalAddress), .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_bind(&call, Socket, LocalAddress, Flags, Irp));
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static NTSTATUS wsk_call_get_address(const struct kernel_call *call, PWSK_SOCKET socket, PSOCKADDR out, PIRP irp,
                                     int (*query)(int fd, struct wsk_address *address))
{
    struct wsk_socket *s = (struct wsk_socket *)socket;
    struct wsk_address address;
    NTSTATUS status;

    irql_check_max(call->routine, DISPATCH_LEVEL);
    if (!irp)
        return STATUS_INVALID_PARAMETER;
    if (!wsk_socket_is_usable(call->routine, socket))
        return wsk_complete_irp(irp, STATUS_INVALID_HANDLE, 0);
    if (!out)
        return wsk_complete_irp(irp, STATUS_INVALID_PARAMETER, 0);
    status = wsk_state(s) == WSK_OPEN ? STATUS_INVALID_DEVICE_STATE : wsk_status(query(s->fd, &address));
    if (NT_SUCCESS(status))
        memcpy(out, address.bytes, wsk_address_size(s->family));
    return wsk_complete_irp(irp, status, 0);
}

static NTSTATUS WSKAPI WskGetLocalAddress(PWSK_SOCKET Socket, PSOCKADDR LocalAddress, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskGetLocalAddress, .object = (uintptr_t)Socket, .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_get_address(&call, Socket, LocalAddress, Irp, wsk_host_local));
}

static NTSTATUS WSKAPI WskGetRemoteAddress(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskGetRemoteAddress, .object = (uintptr_t)Socket,
                                                .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_get_address(&call, Socket, RemoteAddress, Irp, wsk_host_remote));
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

static NTSTATUS wsk_call_connect(const struct kernel_call *call, PWSK_SOCKET socket, PSOCKADDR remote, PWSK_BUF buffer,
                                 ULONG flags, PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, WSK_CONNECT, irp, &status);

    if (!r)
        return status;
    if (buffer && buffer->Length > MAX_CONNECT_DATA)
        return wsk_request_refuse(r, STATUS_BUFFER_OVERFLOW);
    if ((buffer && !wsk_cursor_set(&r->cursor, buffer)) || flags ||
        !wsk_address_copy(&r->address, r->socket->family, remote))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskConnect(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskConnect, .object = (uintptr_t)Socket,
                                                .remote = kernel_call_addr(RemoteAddress), .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_connect(&call, Socket, RemoteAddress, NULL, Flags, Irp));
}

static NTSTATUS WSKAPI WskConnectEx(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskConnectEx, .object = (uintptr_t)Socket,
                                                .remote = kernel_call_addr(RemoteAddress),
                                                .bytes = wsk_buf_bytes(Buffer), .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_connect(&call, Socket, RemoteAddress, Buffer, Flags, Irp));
}

static NTSTATUS wsk_call_send(const struct kernel_call *call, PWSK_SOCKET socket, PWSK_BUF buffer, ULONG flags,
                              ULONG control, PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, WSK_SEND, irp, &status);

    if (!r)
        return status;
    if (flags & ~WSK_FLAG_NODELAY || control)
        return wsk_request_refuse(r, STATUS_NOT_SUPPORTED);
    if (!wsk_cursor_set(&r->cursor, buffer))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    r->flags = flags;
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskSend(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSend, .object = (uintptr_t)Socket, .bytes = wsk_buf_bytes(Buffer),
                                                .flags = Flags, .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_send(&call, Socket, Buffer, Flags, 0, Irp));
}

static NTSTATUS WSKAPI WskSendEx(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, ULONG ControlInfoLength,
                                 CMSGHDR *ControlInfo, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSendEx, .object = (uintptr_t)Socket, .bytes = wsk_buf_bytes(Buffer),
                                                .flags = Flags, .irp = (uintptr_t)Irp);

    UNREFERENCED_PARAMETER(ControlInfo);
    return kernel_call_return(&call, wsk_call_send(&call, Socket, Buffer, Flags, ControlInfoLength, Irp));
}

static NTSTATUS wsk_call_receive(const struct kernel_call *call, PWSK_SOCKET socket, PWSK_BUF buffer, ULONG flags,
                                 PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, WSK_RECEIVE, irp, &status);
    const ULONG both = WSK_FLAG_WAITALL | WSK_FLAG_DRAIN;

    if (!r)
        return status;
    if (flags & ~both)
        return wsk_request_refuse(r, STATUS_NOT_SUPPORTED);
    if (flags == both || !wsk_cursor_set(&r->cursor, buffer) || (flags & WSK_FLAG_DRAIN && buffer->Length))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    r->flags = flags;
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskReceive(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskReceive, .object = (uintptr_t)Socket, .bytes = wsk_buf_bytes(Buffer),
                                                .flags = Flags, .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_receive(&call, Socket, Buffer, Flags, Irp));
}

/* Receives like WskReceive. Returns no control information, because TCP has none. */
static NTSTATUS WSKAPI WskReceiveEx(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PULONG ControlInfoLength,
                                    CMSGHDR *ControlInfo, PULONG ControlFlags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskReceiveEx, .object = (uintptr_t)Socket,
                                                .bytes = wsk_buf_bytes(Buffer), .flags = Flags, .irp = (uintptr_t)Irp);

    UNREFERENCED_PARAMETER(ControlInfo);
    if (ControlInfoLength)
        *ControlInfoLength = 0;
    if (ControlFlags)
        *ControlFlags = 0;
    return kernel_call_return(&call, wsk_call_receive(&call, Socket, Buffer, Flags, Irp));
}

static NTSTATUS wsk_call_disconnect(const struct kernel_call *call, PWSK_SOCKET socket, PWSK_BUF buffer, ULONG flags,
                                    PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(call, socket, flags & WSK_FLAG_ABORTIVE ? WSK_ABORT : WSK_DISCONNECT, irp,
                                              &status);

    if (!r)
        return status;
    if (flags & ~WSK_FLAG_ABORTIVE || (flags && buffer) || (buffer && !wsk_cursor_set(&r->cursor, buffer)))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskDisconnect(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskDisconnect, .object = (uintptr_t)Socket,
                                                .bytes = wsk_buf_bytes(Buffer), .flags = Flags, .irp = (uintptr_t)Irp);

    return kernel_call_return(&call, wsk_call_disconnect(&call, Socket, Buffer, Flags, Irp));
}

/* ---- Listening --------------------------------------------------------------------------------------------------- */

static NTSTATUS WSKAPI WskListen(PWSK_SOCKET Socket, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskListen, .object = (uintptr_t)Socket, .irp = (uintptr_t)Irp);
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(&call, Socket, WSK_LISTEN, Irp, &status);

    return kernel_call_return(&call, r ? wsk_request_post(r) : status);
}

static NTSTATUS WSKAPI WskAccept(PWSK_SOCKET ListenSocket, ULONG Flags, PVOID AcceptSocketContext,
                                 const WSK_CLIENT_CONNECTION_DISPATCH *AcceptSocketDispatch, PSOCKADDR LocalAddress,
                                 PSOCKADDR RemoteAddress, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskAccept, .object = (uintptr_t)ListenSocket, .irp = (uintptr_t)Irp);
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(&call, ListenSocket, WSK_ACCEPT, Irp, &status);

    if (!r)
        return kernel_call_return(&call, status);
    r->context = AcceptSocketContext;
    r->dispatch = AcceptSocketDispatch;
    r->local_out = LocalAddress;
    r->remote_out = RemoteAddress;
    if (check_on())
        stack_capture(&r->by, __builtin_return_address(0));
    status = Flags ? wsk_request_refuse(r, STATUS_INVALID_PARAMETER) : wsk_request_post(r);
    return kernel_call_return(&call, status);
}

/*
 * Always fails, because no connection is being inspected. A listener inspects connections only with conditional
 * acceptance, an option that OpenNDK does not support.
 */
static NTSTATUS WSKAPI WskInspectComplete(PWSK_SOCKET ListenSocket, PWSK_INSPECT_ID InspectID,
                                          WSK_INSPECT_ACTION Action, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskInspectComplete, .object = (uintptr_t)ListenSocket,
                                                .action = (uint8_t)Action, .irp = (uintptr_t)Irp);
    NTSTATUS status = STATUS_INVALID_HANDLE;

    UNREFERENCED_PARAMETER(InspectID);
    irql_check_max("WskInspectComplete", DISPATCH_LEVEL);
    if (wsk_socket_is_usable("WskInspectComplete", ListenSocket))
        status = STATUS_INVALID_DEVICE_STATE;
    return kernel_call_return(&call, wsk_complete_irp(Irp, status, 0));
}

/* ---- Datagrams --------------------------------------------------------------------------------------------------- */

/*
 * Sets the destination to the call's address. If the call has none, uses the address of SIO_WSK_SET_SENDTO_ADDRESS,
 * otherwise that of SIO_WSK_SET_REMOTE_ADDRESS. Returns false if there is no address, or if the call's address is
 * invalid.
 */
static bool wsk_call_set_remote(struct wsk_request *r, PSOCKADDR remote)
{
    struct wsk_socket *s = r->socket;
    bool has;

    if (remote)
        return wsk_address_copy(&r->address, s->family, remote);
    pthread_mutex_lock(&s->lock);
    has = s->has_send_to || s->has_fixed_remote;
    r->address = s->has_send_to ? s->send_to : s->fixed_remote;
    pthread_mutex_unlock(&s->lock);
    return has;
}

static NTSTATUS wsk_call_send_to(struct wsk_request *r, PWSK_BUF buffer, ULONG flags, PSOCKADDR remote,
                                 ULONG control_length, CMSGHDR *control)
{
    if (flags || !wsk_cursor_set_whole(&r->cursor, buffer) || !wsk_call_set_remote(r, remote))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    if (!wsk_datagram_parse_control(control, control_length, &r->info))
        return wsk_request_refuse(r, STATUS_NOT_SUPPORTED);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskSendTo(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PSOCKADDR RemoteAddress,
                                 ULONG ControlInfoLength, CMSGHDR *ControlInfo, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSendTo, .object = (uintptr_t)Socket,
                                                .remote = kernel_call_addr(RemoteAddress),
                                                .bytes = wsk_buf_bytes(Buffer), .irp = (uintptr_t)Irp);
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(&call, Socket, WSK_SEND_TO, Irp, &status);

    if (r)
        status = wsk_call_send_to(r, Buffer, Flags, RemoteAddress, ControlInfoLength, ControlInfo);
    return kernel_call_return(&call, status);
}

/*
 * Checks and maps all buffers of the list, and stores the list in the request. The caller must set the cursor to the
 * first buffer afterwards. Returns false if a buffer is not valid.
 */
static bool wsk_call_set_list(struct wsk_request *r, PWSK_BUF_LIST list)
{
    for (PWSK_BUF_LIST b = list; b; b = b->Next)
        if (!wsk_cursor_set_whole(&r->cursor, &b->Buffer))
            return false;
    r->list = list;
    return true;
}

static NTSTATUS WSKAPI WskSendMessages(PWSK_SOCKET Socket, PWSK_BUF_LIST BufferList, ULONG Flags,
                                       PSOCKADDR RemoteAddress, ULONG ControlInfoLength, CMSGHDR *ControlInfo, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSendMessages, .object = (uintptr_t)Socket,
                                                .remote = kernel_call_addr(RemoteAddress),
                                                .bytes = wsk_buf_list_bytes(BufferList), .irp = (uintptr_t)Irp);
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(&call, Socket, WSK_SEND_TO, Irp, &status);

    if (r && !wsk_call_set_list(r, BufferList))
        status = wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    else if (r)
        status = wsk_call_send_to(r, BufferList ? &BufferList->Buffer : NULL, Flags, RemoteAddress, ControlInfoLength,
                                  ControlInfo);
    return kernel_call_return(&call, status);
}

static NTSTATUS WSKAPI WskReceiveFrom(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PSOCKADDR RemoteAddress,
                                      PULONG ControlLength, CMSGHDR *ControlInfo, PULONG ControlFlags, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskReceiveFrom, .object = (uintptr_t)Socket,
                                                .bytes = wsk_buf_bytes(Buffer), .irp = (uintptr_t)Irp);
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(&call, Socket, WSK_RECEIVE_FROM, Irp, &status);

    if (!r)
        return kernel_call_return(&call, status);
    if (Flags || !wsk_cursor_set_whole(&r->cursor, Buffer))
        return kernel_call_return(&call, wsk_request_refuse(r, STATUS_INVALID_PARAMETER));
    r->remote_out = RemoteAddress;
    r->control_length = ControlLength;
    r->control = ControlInfo;
    r->control_flags = ControlFlags;
    return kernel_call_return(&call, wsk_request_post(r));
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

#define BASIC .Basic = { wsk_control_socket, WskCloseSocket }

const WSK_PROVIDER_BASIC_DISPATCH wsk_basic_dispatch = { wsk_control_socket, WskCloseSocket };

const WSK_PROVIDER_LISTEN_DISPATCH wsk_listen_dispatch = {
    BASIC,
    .WskBind = WskBind,
    .WskAccept = WskAccept,
    .WskInspectComplete = WskInspectComplete,
    .WskGetLocalAddress = WskGetLocalAddress,
};

const WSK_PROVIDER_CONNECTION_DISPATCH wsk_connection_dispatch = {
    BASIC,
    .WskBind = WskBind,
    .WskConnect = WskConnect,
    .WskGetLocalAddress = WskGetLocalAddress,
    .WskGetRemoteAddress = WskGetRemoteAddress,
    .WskSend = WskSend,
    .WskReceive = WskReceive,
    .WskDisconnect = WskDisconnect,
    .WskRelease = wsk_receive_release,
    .WskConnectEx = WskConnectEx,
    .WskSendEx = WskSendEx,
    .WskReceiveEx = WskReceiveEx,
};

const WSK_PROVIDER_DATAGRAM_DISPATCH wsk_datagram_dispatch = {
    BASIC,
    .WskBind = WskBind,
    .WskSendTo = WskSendTo,
    .WskReceiveFrom = WskReceiveFrom,
    .WskRelease = wsk_datagram_release,
    .WskGetLocalAddress = WskGetLocalAddress,
    .WskSendMessages = WskSendMessages,
};

const WSK_PROVIDER_STREAM_DISPATCH wsk_stream_dispatch = {
    BASIC,
    .WskBind = WskBind,
    .WskAccept = WskAccept,
    .WskConnect = WskConnect,
    .WskListen = WskListen,
    .WskSend = WskSend,
    .WskReceive = WskReceive,
    .WskDisconnect = WskDisconnect,
    .WskRelease = wsk_receive_release,
    .WskGetLocalAddress = WskGetLocalAddress,
    .WskGetRemoteAddress = WskGetRemoteAddress,
    .WskConnectEx = WskConnectEx,
    .WskSendEx = WskSendEx,
    .WskReceiveEx = WskReceiveEx,
};
