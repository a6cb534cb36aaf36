/* SPDX-License-Identifier: MIT */
/*
 * Connects sockets of Winsock Kernel and handles the loss of connections. Only the socket thread runs this code. A
 * socket in state WSK_CONNECTING has exactly one request in `connects`.
 */
#include <errno.h>

#include "wdm.h"

#include "wdk/common/missing.h"
#include "wdk/common/tally.h"
#include "wdk/wsk/socket.h"

/*
 * Returns the socket to WSK_BOUND and fails the request. wsk_host_disconnect makes another connect possible, but frees
 * a port that the host has chosen at the bind. So the socket is bound to its address again. A socket of
 * WskSocketConnect is closed instead, because the driver has never received it.
 */
static void wsk_connect_fail(struct wsk_request *r, NTSTATUS status)
{
    struct wsk_socket *s = r->socket;

    tally_add(TALLY_WSK, TALLY_WSK_CONNECT, (uint32_t)status, 0);
    (void)wsk_host_disconnect(s->fd);
    if (r->operation == WSK_CONNECT)
        (void)wsk_host_bind(s->fd, &r->local); /* fails without harm if the socket is still bound */
    atomic_store(&s->state, WSK_BOUND);
    link_remove(&r->link);
    if (r->operation == WSK_SOCKET_CONNECT)
        wsk_socket_close(s);
    wsk_request_finish(r, status, 0);
}

/*
 * Starts to watch the host's socket, and then handles data and errors that arrived before the watch began. If the watch
 * cannot be started, handles the connection as lost.
 */
void wsk_connect_handle_delivered(struct wsk_socket *s)
{
    NTSTATUS status = STATUS_SUCCESS;

    s->delivering = false;
    if (!s->watched && !s->closing)
        status = wsk_thread_watch(s);
    s->watched = s->watched || NT_SUCCESS(status);
    if (NT_SUCCESS(status)) {
        wsk_socket_handle_ready(s, true);
    } else {
        (void)wsk_host_disconnect(s->fd);
        wsk_connect_lose(s, status, status, true);
    }
}

static void wsk_connect_succeed(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;

    tally_add(TALLY_WSK, TALLY_WSK_CONNECT, STATUS_SUCCESS, 0);
    atomic_store(&s->state, WSK_CONNECTED);
    if (!r->cursor.remaining) {
        wsk_request_finish_connected(r, s);
        return;
    }
    link_remove(&r->link);
    link_insert_before(&s->sends, &r->link); /* WskConnectEx completes when its data is sent */
    wsk_socket_pump(s);
}

/*
 * If the host has connected the socket or has reported an error, ends the connect request. Otherwise does nothing,
 * because the socket was reported as ready for an earlier change.
 */
void wsk_connect_handle_result(struct wsk_socket *s, int host_error)
{
    struct wsk_request *r = wsk_request_first(&s->connects);
    struct wsk_address remote;

    if (host_error)
        wsk_connect_fail(r, wsk_status(host_error));
    else if (!wsk_host_remote(s->fd, &remote))
        wsk_connect_succeed(r);
}

static NTSTATUS wsk_connect_host(struct wsk_socket *s, const struct wsk_address *remote)
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

    missing_check_address(r->call.routine, r->address.bytes, sizeof r->address.bytes, false);
    if (r->operation == WSK_SOCKET_CONNECT) {
        missing_check_address(r->call.routine, r->local.bytes, sizeof r->local.bytes, true);
        status = wsk_status(wsk_host_bind(s->fd, &r->local));
    } else if (wsk_state(s) != WSK_BOUND) {
        status = STATUS_INVALID_DEVICE_STATE;
    }
    if (!NT_SUCCESS(status) && r->operation == WSK_CONNECT) {
        wsk_request_finish(r, status, 0);
        return;
    }
    if (r->operation == WSK_CONNECT)
        (void)wsk_host_local(s->fd, &r->local);
    atomic_store(&s->state, WSK_CONNECTING);
    link_insert_before(&s->connects, &r->link);
    if (NT_SUCCESS(status))
        status = wsk_request_may_send(r) ? wsk_connect_host(s, &r->address) : STATUS_NETWORK_UNREACHABLE;
    if (!NT_SUCCESS(status))
        wsk_connect_fail(r, status);
    else
        wsk_connect_handle_result(s, 0); /* the host may already have connected the socket */
}

void wsk_connect_cancel(struct wsk_request *r)
{
    wsk_connect_fail(r, STATUS_CANCELLED);
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
