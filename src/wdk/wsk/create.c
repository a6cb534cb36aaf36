/* SPDX-License-Identifier: MIT */
/*
 * Implements WskSocket and WskSocketConnect. The driver receives a socket when the IRP of the call completes. Before
 * that completion, no event callback is called for a socket of WskSocketConnect.
 */
#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

struct wsk_create_params {
    ADDRESS_FAMILY family;
    USHORT type;
    ULONG protocol, category;
    PVOID context;
    const VOID *dispatch;
};

/*
 * Returns true if the kind of socket is supported: TCP or UDP, over IPv4 or IPv6. A basic socket, which supports only
 * options and I/O controls, may be of TCP or UDP.
 */
static bool wsk_create_is_supported(const struct wsk_create_params *w)
{
    const bool stream = w->type == SOCK_STREAM && (w->protocol == IPPROTO_TCP || !w->protocol);
    const bool datagram = w->type == SOCK_DGRAM && (w->protocol == IPPROTO_UDP || !w->protocol);

    if (w->family != AF_INET && w->family != AF_INET6)
        return false;
    switch (w->category) {
    case WSK_FLAG_BASIC_SOCKET:
        return stream || datagram;
    case WSK_FLAG_DATAGRAM_SOCKET:
        return datagram;
    case WSK_FLAG_LISTEN_SOCKET:
    case WSK_FLAG_CONNECTION_SOCKET:
    case WSK_FLAG_STREAM_SOCKET:
        return stream;
    default:
        return false;
    }
}

static void wsk_create_set_dispatch(struct wsk_socket *s, const struct wsk_create_params *w)
{
    const WSK_CLIENT_STREAM_DISPATCH *both = w->dispatch;

    s->context = w->context;
    if (!w->dispatch)
        return;
    switch (w->category) {
    case WSK_FLAG_LISTEN_SOCKET:
        s->on_listen = w->dispatch;
        break;
    case WSK_FLAG_CONNECTION_SOCKET:
        s->on_connection = w->dispatch;
        break;
    case WSK_FLAG_DATAGRAM_SOCKET:
        s->on_datagram = w->dispatch;
        break;
    case WSK_FLAG_STREAM_SOCKET:
        s->on_listen = both->Listen;
        s->on_connection = both->Connect;
        break;
    default:
        break;
    }
}

static struct wsk_socket *wsk_create_socket(struct wsk_client *c, const struct wsk_create_params *w, NTSTATUS *status)
{
    struct wsk_socket *s;

    *status = STATUS_INVALID_PARAMETER;
    if (!wsk_create_is_supported(w))
        return NULL;
    s = wsk_socket_new(c, w->category, w->family, w->type == SOCK_STREAM, -1, status);
    if (!s)
        return NULL;
    wsk_create_set_dispatch(s, w);
    return s;
}

/* Registers the socket as live. `by` is the return address of the driver's call. */
static void wsk_create_record_opener(struct wsk_socket *s, const void *by)
{
    if (check_on())
        stack_capture(&s->opened, by);
    live_add_made(LIVE_WSK_SOCKET, s, "WSK_SOCKET", &s->opened);
}

/* Creates a socket for WskSocket and completes the IRP. `by` is the return address of the driver's call. */
static NTSTATUS wsk_create_for_call(const struct wsk_create_params *w, PWSK_CLIENT client, PIRP irp, const void *by,
                                    struct wsk_socket **created)
{
    struct wsk_client *c = wsk_client_begin_call("WskSocket", client);
    NTSTATUS status;

    irql_check_max("WskSocket", DISPATCH_LEVEL);
    if (!c)
        return wsk_complete_irp(irp, STATUS_INVALID_HANDLE, 0);
    if (!irp) {
        wsk_client_end_call(c);
        return STATUS_INVALID_PARAMETER;
    }
    *created = wsk_create_socket(c, w, &status);
    if (*created)
        wsk_create_record_opener(*created, by);
    status = wsk_complete_irp(irp, status, (ULONG_PTR)*created);
    wsk_client_end_call(c);
    return status;
}

NTSTATUS WSKAPI wsk_socket(PWSK_CLIENT Client, ADDRESS_FAMILY AddressFamily, USHORT SocketType, ULONG Protocol,
                           ULONG Flags, PVOID SocketContext, const VOID *Dispatch, PEPROCESS OwningProcess,
                           PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSocket, .object = (uintptr_t)Client, .family = AddressFamily,
                                                .type = SocketType, .protocol = Protocol, .kind = Flags,
                                                .irp = (uintptr_t)Irp);
    const struct wsk_create_params w = { AddressFamily, SocketType, Protocol, Flags, SocketContext, Dispatch };
    struct wsk_socket *s = NULL;
    NTSTATUS status = wsk_create_for_call(&w, Client, Irp, __builtin_return_address(0), &s);

    (void)OwningProcess, (void)OwningThread, (void)SecurityDescriptor;
    return kernel_call_return_with(&call, status, (struct kernel_call_result){ .created = s });
}

static struct wsk_request *wsk_create_connect_request(const struct kernel_call *call, struct wsk_client *c,
                                                      const struct wsk_create_params *w, PSOCKADDR local,
                                                      PSOCKADDR remote, PIRP irp, NTSTATUS *status)
{
    struct wsk_address from, to;
    struct wsk_socket *s;
    struct wsk_request *r;

    *status = STATUS_INVALID_PARAMETER;
    if (!wsk_address_copy(&from, w->family, local) || !wsk_address_copy(&to, w->family, remote))
        return NULL;
    s = wsk_create_socket(c, w, status);
    if (!s)
        return NULL;
    r = wsk_request_alloc(call, s, WSK_SOCKET_CONNECT, irp);
    if (!r) {
        *status = STATUS_INSUFFICIENT_RESOURCES;
        wsk_socket_abandon(s);
        return NULL;
    }
    r->local = from;
    r->address = to;
    return r;
}

NTSTATUS WSKAPI wsk_socket_connect(PWSK_CLIENT Client, USHORT SocketType, ULONG Protocol, PSOCKADDR LocalAddress,
                                   PSOCKADDR RemoteAddress, ULONG Flags, PVOID SocketContext,
                                   const WSK_CLIENT_CONNECTION_DISPATCH *Dispatch, PEPROCESS OwningProcess,
                                   PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskSocketConnect, .object = (uintptr_t)Client, .type = SocketType,
                                                .protocol = Protocol, .local = kernel_call_addr(LocalAddress),
                                                .remote = kernel_call_addr(RemoteAddress), .irp = (uintptr_t)Irp);
    const struct wsk_create_params w = { LocalAddress ? LocalAddress->sa_family : AF_UNSPEC,
                                         SocketType,
                                         Protocol,
                                         WSK_FLAG_CONNECTION_SOCKET,
                                         SocketContext,
                                         Dispatch };
    struct wsk_client *c = wsk_client_begin_call("WskSocketConnect", Client);
    struct wsk_request *r = NULL;
    NTSTATUS status = STATUS_INVALID_PARAMETER;

    (void)OwningProcess, (void)OwningThread, (void)SecurityDescriptor;
    irql_check_max("WskSocketConnect", DISPATCH_LEVEL);
    if (!c)
        return kernel_call_return(&call, wsk_complete_irp(Irp, STATUS_INVALID_HANDLE, 0));
    if (Irp && !Flags)
        r = wsk_create_connect_request(&call, c, &w, LocalAddress, RemoteAddress, Irp, &status);
    if (r)
        wsk_create_record_opener(r->socket, __builtin_return_address(0));
    status = r ? wsk_request_post(r) : wsk_complete_irp(Irp, status, 0);
    wsk_client_end_call(c);
    return kernel_call_return(&call, status);
}
