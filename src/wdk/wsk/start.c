/* SPDX-License-Identifier: MIT */
/* Starts and cancels requests on the socket thread. A request is started only if the socket's state allows it. */
#include "wdm.h"

#include "wdk/common/missing.h"
#include "wdk/wsk/socket.h"

static const uint32_t REUSE_LEVEL = SOL_SOCKET, REUSE_NAME = SO_REUSEADDR;

/*
 * Binds the host's socket. If the socket can listen, first sets SO_REUSEADDR. Otherwise the host would refuse the
 * address while connections of an earlier listener linger. Windows does not refuse it.
 */
static int wsk_bind_host(struct wsk_socket *s, const struct wsk_address *local)
{
    const int yes = 1;

    if (s->category & (WSK_FLAG_LISTEN_SOCKET | WSK_FLAG_STREAM_SOCKET))
        (void)wsk_host_set_option(s->fd, s->family, REUSE_LEVEL, REUSE_NAME, &yes, sizeof yes);
    return wsk_host_bind(s->fd, local);
}

static NTSTATUS wsk_listen_socket(struct wsk_socket *s)
{
    NTSTATUS status = wsk_status(wsk_host_listen(s->fd));

    if (NT_SUCCESS(status))
        status = wsk_thread_watch(s);
    if (NT_SUCCESS(status))
        atomic_store(&s->state, WSK_LISTENING);
    return status;
}

static NTSTATUS wsk_bind_socket(struct wsk_socket *s, const struct wsk_address *local)
{
    NTSTATUS status;

    if (wsk_state(s) != WSK_OPEN)
        return STATUS_INVALID_DEVICE_STATE;
    status = wsk_status(wsk_bind_host(s, local));
    if (!NT_SUCCESS(status)) {
        missing_check_address("WskBind", local->bytes, sizeof local->bytes, true);
        return status;
    }
    if (s->category == WSK_FLAG_LISTEN_SOCKET)
        return wsk_listen_socket(s);
    if (!s->stream)
        status = wsk_thread_watch(s);
    if (NT_SUCCESS(status))
        atomic_store(&s->state, WSK_BOUND);
    return status;
}

static void wsk_request_start_bind(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;

    wsk_request_finish(r, wsk_bind_socket(s, &r->address), 0);
    wsk_socket_pump(s); /* static events are enabled before the bind, so an event may be due already */
}

static void wsk_request_start_listen(struct wsk_request *r)
{
    wsk_request_finish(
        r, wsk_state(r->socket) == WSK_BOUND ? wsk_listen_socket(r->socket) : STATUS_INVALID_DEVICE_STATE, 0);
}

/* Returns STATUS_SUCCESS if the socket's state allows the request. Otherwise returns the status of the failure. */
static NTSTATUS wsk_request_check_state(const struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    enum wsk_state state = wsk_state(s);

    if (r->operation == WSK_ACCEPT)
        return state == WSK_LISTENING ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    if (!s->stream)
        return state == WSK_BOUND ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    if (state == WSK_LOST)
        return s->lost;
    if (state != WSK_CONNECTED)
        return STATUS_INVALID_DEVICE_STATE;
    return s->disconnect_queued && r->operation != WSK_RECEIVE ? STATUS_CONNECTION_DISCONNECTED : STATUS_SUCCESS;
}

static void wsk_request_queue(LIST_ENTRY *requests, struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    NTSTATUS status = wsk_request_check_state(r);

    if (!NT_SUCCESS(status)) {
        wsk_request_finish(r, status, 0);
        return;
    }
    if (r->operation == WSK_DISCONNECT)
        s->disconnect_queued = true;
    else if (r->operation == WSK_RECEIVE)
        s->paused = false;
    link_insert_before(requests, &r->link);
    wsk_socket_pump(s);
}

static void wsk_request_start_abort(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    enum wsk_state state = wsk_state(s);

    if (state == WSK_CONNECTED) {
        (void)wsk_host_disconnect(s->fd);
        wsk_connect_lose(s, STATUS_CANCELLED, STATUS_CONNECTION_ABORTED, false);
    }
    wsk_request_finish(r, state == WSK_CONNECTED || state == WSK_LOST ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE,
                       0);
}

void wsk_request_start(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;

    switch (r->operation) {
    case WSK_BIND:
        wsk_request_start_bind(r);
        break;
    case WSK_LISTEN:
        wsk_request_start_listen(r);
        break;
    case WSK_CONNECT:
    case WSK_SOCKET_CONNECT:
        wsk_connect_start(r);
        break;
    case WSK_ACCEPT:
        wsk_request_queue(&s->accepts, r);
        break;
    case WSK_SEND:
    case WSK_DISCONNECT:
    case WSK_SEND_TO:
        wsk_request_queue(&s->sends, r);
        break;
    case WSK_RECEIVE:
    case WSK_RECEIVE_FROM:
        wsk_request_queue(&s->receives, r);
        break;
    case WSK_ABORT:
        wsk_request_start_abort(r);
        break;
    case WSK_CLOSE:
    case WSK_DISABLE:
        break; /* such requests are never started: see wsk_request_run and wsk_event_control */
    }
}

/*
 * Cancels the request. If a part of a send was already sent, also resets the connection, because the peer would not
 * receive the rest.
 */
void wsk_request_cancel(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    bool half_sent = s->stream && r->done && r->operation != WSK_RECEIVE && !s->fin_sent;

    if (wsk_state(s) == WSK_CONNECTING && (r->operation == WSK_CONNECT || r->operation == WSK_SOCKET_CONNECT)) {
        wsk_connect_cancel(r);
        return;
    }
    if (half_sent)
        (void)wsk_host_disconnect(s->fd);
    if (r->operation == WSK_DISCONNECT)
        s->disconnect_queued = s->fin_sent;
    s->pending++; /* keeps the completion of the request from freeing the socket */
    wsk_request_finish(r, STATUS_CANCELLED, r->done);
    s->pending--;
    if (half_sent)
        wsk_connect_lose(s, STATUS_CONNECTION_ABORTED, STATUS_CONNECTION_ABORTED, false);
}
