/* SPDX-License-Identifier: MIT */
/* Connections of Winsock Kernel's sockets: how they come, and how they are lost. The thread alone is here. */
#include <errno.h>

#include "wdm.h"

#include "wdk/wsk/socket.h"

/*
 * The host has to be told, so that it lets the socket try again. It also lets go of a port that it had chosen itself:
 * the socket takes it again. One of WskSocketConnect's has been given to nobody: it goes with the request.
 */
static void fail(struct wsk_request *r, NTSTATUS status)
{
    struct wsk_socket *s = r->socket;

    (void)wsk_host_disconnect(s->fd);
    if (r->operation == WSK_CONNECT)
        (void)wsk_host_bind(s->fd, &r->local); /* refused where it still has it */
    atomic_store(&s->state, WSK_BOUND);
    link_remove(&r->link);
    if (r->operation == WSK_SOCKET_CONNECT)
        wsk_socket_end(s);
    wsk_request_finish(r, status, 0);
}

/* One that would never hear of its peer is lost. */
void wsk_connect_begin(struct wsk_socket *s)
{
    NTSTATUS status = STATUS_SUCCESS;

    s->withheld = false;
    if (!s->watched && !s->ending)
        status = wsk_thread_watch(s);
    s->watched = s->watched || NT_SUCCESS(status);
    if (NT_SUCCESS(status)) {
        wsk_socket_ready(s, true); /* whatever the host has told of it already */
    } else {
        (void)wsk_host_disconnect(s->fd);
        wsk_connect_lose(s, status, status, true);
    }
}

static void succeed(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;

    atomic_store(&s->state, WSK_CONNECTED);
    if (!r->cursor.left) {
        wsk_request_give(r, s);
        return;
    }
    link_remove(&r->link);
    link_insert_before(&s->sends, &r->link); /* WskConnectEx: it is over when its data is sent */
    wsk_socket_pump(s);
}

/* One that is not connected yet and has no error: the host told of something earlier. */
void wsk_connect_done(struct wsk_socket *s, int host_error)
{
    struct wsk_request *r = wsk_request_first(&s->connects);
    struct wsk_address remote;

    if (host_error)
        fail(r, wsk_status(host_error));
    else if (!wsk_host_remote(s->fd, &remote))
        succeed(r);
}

static NTSTATUS connect_to(struct wsk_socket *s, const struct wsk_address *remote)
{
    int error = wsk_host_connect(s->fd, remote);
    NTSTATUS status = error == -EINPROGRESS ? STATUS_SUCCESS : wsk_status(error);

    if (NT_SUCCESS(status) && !s->watched) {
        status = wsk_thread_watch(s);
        s->watched = NT_SUCCESS(status);
    }
    return status;
}

void wsk_connect_start(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    NTSTATUS status = STATUS_SUCCESS;

    if (r->operation == WSK_SOCKET_CONNECT)
        status = wsk_status(wsk_host_bind(s->fd, &r->local));
    else if (wsk_state(s) != WSK_BOUND)
        status = STATUS_INVALID_DEVICE_STATE;
    if (!NT_SUCCESS(status) && r->operation == WSK_CONNECT) {
        wsk_request_finish(r, status, 0);
        return;
    }
    if (r->operation == WSK_CONNECT)
        (void)wsk_host_local(s->fd, &r->local);
    atomic_store(&s->state, WSK_CONNECTING);
    link_insert_before(&s->connects, &r->link);
    if (NT_SUCCESS(status))
        status = connect_to(s, &r->address);
    if (!NT_SUCCESS(status))
        fail(r, status);
    else
        wsk_connect_done(s, 0); /* it may have been fast */
}

void wsk_connect_cancel(struct wsk_request *r)
{
    fail(r, STATUS_CANCELLED);
}

void wsk_connect_lose(struct wsk_socket *s, NTSTATUS pending, NTSTATUS lost, bool by_peer)
{
    atomic_store(&s->state, WSK_LOST);
    s->lost = lost;
    s->lost_by_peer = by_peer;
    wsk_request_finish_all(&s->sends, pending);
    wsk_request_finish_all(&s->receives, pending);
    wsk_event_disconnect(s);
}
