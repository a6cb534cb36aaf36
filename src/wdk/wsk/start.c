/* SPDX-License-Identifier: MIT */
/* What the thread does with a request when it comes, and when it is cancelled. */
#include "wdm.h"

#include "wdk/wsk/socket.h"

static const uint32_t REUSE_LEVEL = SOL_SOCKET, REUSE_NAME = SO_REUSEADDR;

/* Where an earlier listener's connections linger, Windows lets the next one have the address. */
static int bind_to(struct wsk_socket *s, const struct wsk_address *local)
{
    const int yes = 1;

    if (s->category & (WSK_FLAG_LISTEN_SOCKET | WSK_FLAG_STREAM_SOCKET))
        (void)wsk_host_set_option(s->fd, s->family, REUSE_LEVEL, REUSE_NAME, &yes, sizeof yes);
    return wsk_host_bind(s->fd, local);
}

static NTSTATUS listen_at(struct wsk_socket *s)
{
    NTSTATUS status = wsk_status(wsk_host_listen(s->fd));

    if (NT_SUCCESS(status))
        status = wsk_thread_watch(s);
    if (NT_SUCCESS(status))
        atomic_store(&s->state, WSK_LISTENS);
    return status;
}

static NTSTATUS bind_socket(struct wsk_socket *s, const struct wsk_address *local)
{
    NTSTATUS status;

    if (wsk_state(s) != WSK_OPEN)
        return STATUS_INVALID_DEVICE_STATE;
    status = wsk_status(bind_to(s, local));
    if (!NT_SUCCESS(status))
        return status;
    if (s->category == WSK_FLAG_LISTEN_SOCKET)
        return listen_at(s);
    if (!s->stream)
        status = wsk_thread_watch(s);
    if (NT_SUCCESS(status))
        atomic_store(&s->state, WSK_BOUND);
    return status;
}

static void start_bind(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;

    wsk_request_finish(r, bind_socket(s, &r->address), 0);
    wsk_socket_pump(s); /* static events */
}

static void start_listen(struct wsk_request *r)
{
    wsk_request_finish(r, wsk_state(r->socket) == WSK_BOUND ? listen_at(r->socket) : STATUS_INVALID_DEVICE_STATE, 0);
}

/* Data needs a connection; a datagram needs an address; what comes needs somewhere to come to. */
static NTSTATUS fitness(const struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    enum wsk_state state = wsk_state(s);

    if (r->operation == WSK_ACCEPT)
        return state == WSK_LISTENS ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    if (!s->stream)
        return state == WSK_BOUND ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_STATE;
    if (state == WSK_LOST)
        return s->lost;
    if (state != WSK_CONNECTED)
        return STATUS_INVALID_DEVICE_STATE;
    return s->disconnects && r->operation != WSK_RECEIVE ? STATUS_CONNECTION_DISCONNECTED : STATUS_SUCCESS;
}

static void queue(LIST_ENTRY *requests, struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    NTSTATUS status = fitness(r);

    if (!NT_SUCCESS(status)) {
        wsk_request_finish(r, status, 0);
        return;
    }
    if (r->operation == WSK_DISCONNECT)
        s->disconnects = true;
    else if (r->operation == WSK_RECEIVE)
        s->paused = false;
    link_insert_before(requests, &r->link);
    wsk_socket_pump(s);
}

static void start_abort(struct wsk_request *r)
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
    case WSK_BIND: start_bind(r); break;
    case WSK_LISTEN: start_listen(r); break;
    case WSK_CONNECT:
    case WSK_SOCKET_CONNECT: wsk_connect_start(r); break;
    case WSK_ACCEPT: queue(&s->accepts, r); break;
    case WSK_SEND:
    case WSK_DISCONNECT:
    case WSK_SEND_TO: queue(&s->sends, r); break;
    case WSK_RECEIVE:
    case WSK_RECEIVE_FROM: queue(&s->receives, r); break;
    case WSK_ABORT: start_abort(r); break;
    case WSK_CLOSE:
    case WSK_DISABLE: break; /* they do not come here */
    }
}

/* A stream from whose middle something is missing is none: half a send takes the connection with it. */
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
        s->disconnects = s->fin_sent;
    s->pending++; /* nothing of it goes while this looks at it */
    wsk_request_finish(r, STATUS_CANCELLED, r->done);
    s->pending--;
    if (half_sent)
        wsk_connect_lose(s, STATUS_CONNECTION_ABORTED, STATUS_CONNECTION_ABORTED, false);
}
