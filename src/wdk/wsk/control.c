/* SPDX-License-Identifier: MIT */
/*
 * Implements WskControlSocket: options and I/O controls. The calls run on the driver's thread, not on the socket
 * thread. This is safe because a socket keeps the same host socket until the close. Each call completes before it
 * returns, with one exception: a call that disables an event returns STATUS_PENDING if a callback of that event is
 * running.
 */
#include <string.h>

#include "wdm.h"
#include "ws2ipdef.h"

#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

struct wsk_control {
    struct wsk_socket *s;
    ULONG code, level;
    const VOID *in;
    SIZE_T in_size;
    PVOID out;
    SIZE_T out_size, returned;
};

bool wsk_address_copy(struct wsk_address *address, ADDRESS_FAMILY family, const VOID *sockaddr)
{
    if (!sockaddr || ((const SOCKADDR *)sockaddr)->sa_family != family)
        return false;
    memset(address, 0, sizeof *address);
    memcpy(address->bytes, sockaddr, wsk_address_size(family));
    return true;
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static bool wsk_control_is_packet_info(const struct wsk_control *c)
{
    return (c->level == IPPROTO_IP && c->code == IP_PKTINFO) || (c->level == IPPROTO_IPV6 && c->code == IPV6_PKTINFO);
}

/*
 * Sets the host's TCP_NODELAY, and stores the driver's value. A send with WSK_FLAG_NODELAY sets the host's option and
 * restores the stored value afterwards.
 */
static NTSTATUS wsk_control_set_no_delay(struct wsk_control *c)
{
    struct wsk_socket *s = c->s;
    int error;

    pthread_mutex_lock(&s->lock);
    error = wsk_host_set_option(s->fd, s->family, c->level, c->code, c->in, c->in_size);
    if (!error)
        s->no_delay = wsk_host_has_no_delay(s->fd);
    pthread_mutex_unlock(&s->lock);
    return wsk_status(error);
}

static NTSTATUS wsk_control_set_option(struct wsk_control *c)
{
    NTSTATUS status;

    if (!c->in_size || !c->in)
        return STATUS_INVALID_PARAMETER;
    if (wsk_control_is_packet_info(c) && !c->s->stream) { /* the host's option is always set: see wsk_host_open */
        atomic_store(&c->s->packet_info, *(const UCHAR *)c->in != 0);
        return STATUS_SUCCESS;
    }
    if (c->level == IPPROTO_TCP && c->code == TCP_NODELAY && c->s->stream)
        return wsk_control_set_no_delay(c);
    status = wsk_status(wsk_host_set_option(c->s->fd, c->s->family, c->level, c->code, c->in, c->in_size));
    if (NT_SUCCESS(status) && c->level == SOL_SOCKET && c->code == SO_SNDBUF)
        wsk_socket_post_pump(c->s); /* the ideal backlog has changed, so WskSendBacklogEvent may be due */
    return status;
}

static NTSTATUS wsk_control_get_option(struct wsk_control *c)
{
    SIZE_T size = c->out_size;
    NTSTATUS status;

    if (!c->out || !size)
        return STATUS_INVALID_PARAMETER;
    status = wsk_status(wsk_host_get_option(c->s->fd, c->s->family, c->level, c->code, c->out, &size));
    if (NT_SUCCESS(status))
        c->returned = size;
    return status;
}

/* ---- I/O controls ------------------------------------------------------------------------------------------------ */

/* Writes `bytes` as a SIZE_T, or as a ULONG if the output buffer is smaller than a SIZE_T. */
static NTSTATUS wsk_control_get_backlog(struct wsk_control *c, SIZE_T bytes)
{
    enum wsk_state state = wsk_state(c->s);

    if (!c->s->stream || (state != WSK_CONNECTED && state != WSK_LOST))
        return STATUS_INVALID_DEVICE_STATE;
    if (!c->out || c->out_size < sizeof(ULONG))
        return STATUS_INVALID_PARAMETER;
    c->returned = c->out_size < sizeof bytes ? sizeof(ULONG) : sizeof bytes;
    memcpy(c->out, &bytes, c->returned);
    return STATUS_SUCCESS;
}

/*
 * Copies the input to *to, which is the fixed remote address or the send-to address. If the input is empty, clears *to.
 */
static NTSTATUS wsk_control_set_remote(struct wsk_control *c, struct wsk_address *to, bool *has)
{
    struct wsk_socket *s = c->s;
    struct wsk_address address = { { 0 } };

    if (s->stream || wsk_state(s) != WSK_BOUND)
        return STATUS_INVALID_DEVICE_STATE;
    if (c->in_size && (c->in_size < wsk_address_size(s->family) || !wsk_address_copy(&address, s->family, c->in)))
        return STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&s->lock);
    *to = address;
    *has = c->in_size > 0;
    pthread_mutex_unlock(&s->lock);
    return STATUS_SUCCESS;
}

/* Writes the local address from which the host would send to the input address. */
static NTSTATUS wsk_control_get_route(struct wsk_control *c)
{
    struct wsk_address remote, local;
    SIZE_T size = wsk_address_size(c->s->family);
    NTSTATUS status;

    if (c->in_size < size || !wsk_address_copy(&remote, c->s->family, c->in) || !c->out || c->out_size < size)
        return STATUS_INVALID_PARAMETER;
    status = wsk_status(wsk_host_route(c->s->family, &remote, &local));
    if (!NT_SUCCESS(status))
        return status;
    memcpy(c->out, local.bytes, size);
    c->returned = size;
    return STATUS_SUCCESS;
}

static NTSTATUS wsk_control_io(struct wsk_control *c)
{
    struct wsk_socket *s = c->s;

    switch (c->code) {
    case SIO_WSK_QUERY_RECEIVE_BACKLOG:
        return wsk_control_get_backlog(c, wsk_host_available(s->fd));
    case SIO_WSK_QUERY_IDEAL_SEND_BACKLOG:
        return wsk_control_get_backlog(c, wsk_host_send_room(s->fd));
    case SIO_WSK_SET_REMOTE_ADDRESS:
        return wsk_control_set_remote(c, &s->fixed_remote, &s->has_fixed_remote);
    case SIO_WSK_SET_SENDTO_ADDRESS:
        return wsk_control_set_remote(c, &s->send_to, &s->has_send_to);
    case SIO_ROUTING_INTERFACE_QUERY:
        return wsk_control_get_route(c);
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

static NTSTATUS wsk_control_dispatch(struct wsk_control *c, WSK_CONTROL_SOCKET_TYPE type)
{
    switch (type) {
    case WskSetOption:
        return wsk_control_set_option(c);
    case WskGetOption:
        return wsk_control_get_option(c);
    case WskIoctl:
        return wsk_control_io(c);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

/* Returns the option or I/O control code in the form of the event's field `option`. */
static uint32_t wsk_control_option(WSK_CONTROL_SOCKET_TYPE type, ULONG code, ULONG level)
{
    return type == WskIoctl ? code : level << 16 | (code & 0xffff);
}

static NTSTATUS wsk_control_run(const struct kernel_call *call, struct wsk_control *c, WSK_CONTROL_SOCKET_TYPE type,
                                SIZE_T *returned, PIRP irp)
{
    NTSTATUS status;

    irql_check_max("WskControlSocket", DISPATCH_LEVEL);
    if (!wsk_socket_is_usable("WskControlSocket", (PWSK_SOCKET)c->s))
        return wsk_complete_irp(irp, STATUS_INVALID_HANDLE, 0);
    if (type == WskSetOption && c->level == SOL_SOCKET && c->code == SO_WSK_EVENT_CALLBACK)
        return wsk_event_control(call, c->s, c->in, c->in_size, irp);
    status = wsk_control_dispatch(c, type);
    if (returned)
        *returned = c->returned;
    return wsk_complete_irp(irp, status, c->returned);
}

NTSTATUS WSKAPI wsk_control_socket(PWSK_SOCKET Socket, WSK_CONTROL_SOCKET_TYPE RequestType, ULONG ControlCode,
                                   ULONG Level, SIZE_T InputSize, PVOID InputBuffer, SIZE_T OutputSize,
                                   PVOID OutputBuffer, SIZE_T *OutputSizeReturned, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskControlSocket, .object = (uintptr_t)Socket,
                                                .request = (uint8_t)RequestType,
                                                .option = wsk_control_option(RequestType, ControlCode, Level),
                                                .in = InputSize, .out = OutputSize, .irp = (uintptr_t)Irp);
    struct wsk_control c = {
        (struct wsk_socket *)Socket, ControlCode, Level, InputBuffer, InputSize, OutputBuffer, OutputSize, 0
    };
    NTSTATUS status = wsk_control_run(&call, &c, RequestType, OutputSizeReturned, Irp);

    return kernel_call_return_with(&call, status, (struct kernel_call_result){ .bytes = c.returned });
}
