/* SPDX-License-Identifier: MIT */
/*
 * The routines of the sockets' dispatch tables. A routine copies its arguments into a request and posts the request to
 * the socket thread. If the request cannot be posted, the routine completes the IRP itself. Address queries and
 * WskInspectComplete post no request: they complete their IRPs before they return. No routine uses the members of a
 * socket that only the socket thread uses.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

enum { MAX_CONNECT_DATA = 65535 };

/* ---- Any socket -------------------------------------------------------------------------------------------------- */

static NTSTATUS WSKAPI WskCloseSocket(PWSK_SOCKET Socket, PIRP Irp)
{
    struct wsk_socket *s = (struct wsk_socket *)Socket;
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskCloseSocket", Socket, WSK_CLOSE, Irp, &status);

    if (!r)
        return status;
    if (check_on())
        stack_capture(&s->closed_by, __builtin_return_address(0));
    atomic_store(&s->closed, true);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskBind(PWSK_SOCKET Socket, PSOCKADDR LocalAddress, ULONG Flags, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskBind", Socket, WSK_BIND, Irp, &status);

    if (!r)
        return status;
    if (Flags || !wsk_address_copy(&r->address, r->socket->family, LocalAddress))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static NTSTATUS wsk_call_get_address(const char *routine, PWSK_SOCKET socket, PSOCKADDR out, PIRP irp,
                                     int (*query)(int fd, struct wsk_address *address))
{
    struct wsk_socket *s = (struct wsk_socket *)socket;
    struct wsk_address address;
    NTSTATUS status;

    irql_check_max(routine, DISPATCH_LEVEL);
    if (!irp)
        return STATUS_INVALID_PARAMETER;
    if (!wsk_socket_is_usable(routine, socket))
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
    return wsk_call_get_address("WskGetLocalAddress", Socket, LocalAddress, Irp, wsk_host_local);
}

static NTSTATUS WSKAPI WskGetRemoteAddress(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, PIRP Irp)
{
    return wsk_call_get_address("WskGetRemoteAddress", Socket, RemoteAddress, Irp, wsk_host_remote);
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

static NTSTATUS wsk_call_connect(struct wsk_request *r, PSOCKADDR remote, ULONG flags)
{
    if (flags || !wsk_address_copy(&r->address, r->socket->family, remote))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

static NTSTATUS WSKAPI WskConnect(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, ULONG Flags, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskConnect", Socket, WSK_CONNECT, Irp, &status);

    return r ? wsk_call_connect(r, RemoteAddress, Flags) : status;
}

static NTSTATUS WSKAPI WskConnectEx(PWSK_SOCKET Socket, PSOCKADDR RemoteAddress, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskConnectEx", Socket, WSK_CONNECT, Irp, &status);

    if (!r)
        return status;
    if (Buffer && Buffer->Length > MAX_CONNECT_DATA)
        return wsk_request_refuse(r, STATUS_BUFFER_OVERFLOW);
    if (Buffer && !wsk_cursor_set(&r->cursor, Buffer))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_call_connect(r, RemoteAddress, Flags);
}

static NTSTATUS wsk_call_send(const char *routine, PWSK_SOCKET socket, PWSK_BUF buffer, ULONG flags, ULONG control,
                              PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(routine, socket, WSK_SEND, irp, &status);

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
    return wsk_call_send("WskSend", Socket, Buffer, Flags, 0, Irp);
}

static NTSTATUS WSKAPI WskSendEx(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, ULONG ControlInfoLength,
                                 CMSGHDR *ControlInfo, PIRP Irp)
{
    UNREFERENCED_PARAMETER(ControlInfo);
    return wsk_call_send("WskSendEx", Socket, Buffer, Flags, ControlInfoLength, Irp);
}

static NTSTATUS wsk_call_receive(const char *routine, PWSK_SOCKET socket, PWSK_BUF buffer, ULONG flags, PIRP irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin(routine, socket, WSK_RECEIVE, irp, &status);
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
    return wsk_call_receive("WskReceive", Socket, Buffer, Flags, Irp);
}

/* Returns no control information, because TCP has none. */
static NTSTATUS WSKAPI WskReceiveEx(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PULONG ControlInfoLength,
                                    CMSGHDR *ControlInfo, PULONG ControlFlags, PIRP Irp)
{
    UNREFERENCED_PARAMETER(ControlInfo);
    if (ControlInfoLength)
        *ControlInfoLength = 0;
    if (ControlFlags)
        *ControlFlags = 0;
    return wsk_call_receive("WskReceiveEx", Socket, Buffer, Flags, Irp);
}

static NTSTATUS WSKAPI WskDisconnect(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskDisconnect", Socket,
                                              Flags & WSK_FLAG_ABORTIVE ? WSK_ABORT : WSK_DISCONNECT, Irp, &status);

    if (!r)
        return status;
    if (Flags & ~WSK_FLAG_ABORTIVE || (Flags && Buffer) || (Buffer && !wsk_cursor_set(&r->cursor, Buffer)))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    return wsk_request_post(r);
}

/* ---- Listening --------------------------------------------------------------------------------------------------- */

static NTSTATUS WSKAPI WskListen(PWSK_SOCKET Socket, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskListen", Socket, WSK_LISTEN, Irp, &status);

    return r ? wsk_request_post(r) : status;
}

static NTSTATUS WSKAPI WskAccept(PWSK_SOCKET ListenSocket, ULONG Flags, PVOID AcceptSocketContext,
                                 const WSK_CLIENT_CONNECTION_DISPATCH *AcceptSocketDispatch, PSOCKADDR LocalAddress,
                                 PSOCKADDR RemoteAddress, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskAccept", ListenSocket, WSK_ACCEPT, Irp, &status);

    if (!r)
        return status;
    if (Flags)
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    r->context = AcceptSocketContext;
    r->dispatch = AcceptSocketDispatch;
    r->local_out = LocalAddress;
    r->remote_out = RemoteAddress;
    if (check_on())
        stack_capture(&r->by, __builtin_return_address(0));
    return wsk_request_post(r);
}

/* Conditional acceptance cannot be enabled, so no connection is ever being inspected. */
static NTSTATUS WSKAPI WskInspectComplete(PWSK_SOCKET ListenSocket, PWSK_INSPECT_ID InspectID,
                                          WSK_INSPECT_ACTION Action, PIRP Irp)
{
    UNREFERENCED_PARAMETER(InspectID);
    UNREFERENCED_PARAMETER(Action);
    irql_check_max("WskInspectComplete", DISPATCH_LEVEL);
    return wsk_complete_irp(Irp,
                            wsk_socket_is_usable("WskInspectComplete", ListenSocket) ? STATUS_INVALID_DEVICE_STATE
                                                                                     : STATUS_INVALID_HANDLE,
                            0);
}

/* ---- Datagrams --------------------------------------------------------------------------------------------------- */

/*
 * Sets the destination to the call's address. If the call has no address, uses the address of
 * SIO_WSK_SET_SENDTO_ADDRESS, or else the address of SIO_WSK_SET_REMOTE_ADDRESS. Returns false if there is no address,
 * or if the call's address is invalid.
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
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskSendTo", Socket, WSK_SEND_TO, Irp, &status);

    return r ? wsk_call_send_to(r, Buffer, Flags, RemoteAddress, ControlInfoLength, ControlInfo) : status;
}

static NTSTATUS WSKAPI WskSendMessages(PWSK_SOCKET Socket, PWSK_BUF_LIST BufferList, ULONG Flags,
                                       PSOCKADDR RemoteAddress, ULONG ControlInfoLength, CMSGHDR *ControlInfo, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskSendMessages", Socket, WSK_SEND_TO, Irp, &status);

    if (!r)
        return status;
    for (PWSK_BUF_LIST b = BufferList; b; b = b->Next)
        if (!wsk_cursor_set_whole(&r->cursor, &b->Buffer))
            return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    r->list = BufferList;
    return wsk_call_send_to(r, BufferList ? &BufferList->Buffer : NULL, Flags, RemoteAddress, ControlInfoLength,
                            ControlInfo);
}

static NTSTATUS WSKAPI WskReceiveFrom(PWSK_SOCKET Socket, PWSK_BUF Buffer, ULONG Flags, PSOCKADDR RemoteAddress,
                                      PULONG ControlLength, CMSGHDR *ControlInfo, PULONG ControlFlags, PIRP Irp)
{
    NTSTATUS status;
    struct wsk_request *r = wsk_request_begin("WskReceiveFrom", Socket, WSK_RECEIVE_FROM, Irp, &status);

    if (!r)
        return status;
    if (Flags || !wsk_cursor_set_whole(&r->cursor, Buffer))
        return wsk_request_refuse(r, STATUS_INVALID_PARAMETER);
    r->remote_out = RemoteAddress;
    r->control_length = ControlLength;
    r->control = ControlInfo;
    r->control_flags = ControlFlags;
    return wsk_request_post(r);
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
