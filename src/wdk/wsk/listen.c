/* SPDX-License-Identifier: MIT */
/*
 * Accepts incoming connections. A connection is accepted from the host only for a waiting WskAccept or an enabled
 * WskAcceptEvent. Until then it waits in the host's backlog, which also limits the number of waiting connections.
 */
#include <errno.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

static void wsk_listen_copy_address(struct wsk_socket *s, const struct wsk_address *from, PSOCKADDR to)
{
    if (to)
        memcpy(to, from->bytes, wsk_address_size(s->family));
}

static bool wsk_listen_has_event(struct wsk_socket *s)
{
    return s->on_listen && s->on_listen->WskAcceptEvent && wsk_event_enabled(s, WSK_EVENT_ACCEPT);
}

static struct wsk_socket *wsk_listen_create_accepted(struct wsk_socket *listener, int fd, NTSTATUS *status)
{
    struct wsk_socket *s = wsk_socket_new(listener->client, WSK_FLAG_CONNECTION_SOCKET, listener->family, true, fd,
                                          status);

    if (!s) {
        wsk_host_close(fd, true);
        return NULL;
    }
    s->no_delay = wsk_host_has_no_delay(fd); /* the host's socket inherits the option from the listener */
    atomic_store(&s->state, WSK_CONNECTED);
    return s;
}

static void wsk_listen_finish_accept(struct wsk_request *r, struct wsk_socket *s)
{
    struct wsk_address local, remote;

    (void)wsk_host_local(s->fd, &local);
    if (wsk_host_remote(s->fd, &remote))
        memset(&remote, 0, sizeof remote); /* the connection is already closed */
    wsk_listen_copy_address(s, &local, r->local_out);
    wsk_listen_copy_address(s, &remote, r->remote_out);
    s->context = r->context;
    s->on_connection = r->dispatch;
    s->opened = r->by;
    live_add_made(LIVE_WSK_SOCKET, s, "WSK_SOCKET", &s->opened);
    wsk_request_finish_connected(r, s);
}

static NTSTATUS wsk_listen_call_event(struct wsk_socket *listener, struct wsk_socket *s)
{
    struct wsk_address local, remote;
    PFN_WSK_ACCEPT_EVENT routine = listener->on_listen->WskAcceptEvent;
    struct kernel_call call;
    struct thread_mark mark;
    NTSTATUS status;

    (void)wsk_host_local(s->fd, &local);
    if (wsk_host_remote(s->fd, &remote))
        memset(&remote, 0, sizeof remote);
    call = KERNEL_CALL(WskAcceptEvent, .object = (uintptr_t)listener, .socket = (uintptr_t)s,
                       .local = kernel_call_addr(local.bytes), .remote = kernel_call_addr(remote.bytes));
    mark = thread_mark_get();
    status = routine(listener->context, WSK_FLAG_AT_DISPATCH_LEVEL, (PSOCKADDR)local.bytes, (PSOCKADDR)remote.bytes,
                     &s->handle, &s->context, &s->on_connection);
    thread_mark_check(&mark, "WskAcceptEvent", (const void *)(uintptr_t)routine);
    return kernel_call_return(&call, status);
}

/*
 * Passes the connection to WskAcceptEvent. The driver may post requests for the new socket during the event and then
 * refuse the connection. wsk_socket_abandon posts the close later, so these requests run first.
 */
static void wsk_listen_indicate(struct wsk_socket *listener, struct wsk_socket *s)
{
    s->opened = listener->opened;
    live_add_made(LIVE_WSK_SOCKET, s, "WSK_SOCKET", &s->opened);
    pthread_mutex_lock(&listener->lock);
    s->events |= listener->inherited;
    pthread_mutex_unlock(&listener->lock);
    if (wsk_listen_call_event(listener, s) == STATUS_SUCCESS)
        wsk_connect_handle_delivered(s);
    else
        wsk_socket_abandon(s);
}

/*
 * Accepts a connection for the request r, or for the event if r is NULL. Returns false if no connection waits, or if
 * memory or file descriptors ran out during an accept for the event.
 */
static bool wsk_listen_accept_one(struct wsk_socket *s, struct wsk_request *r)
{
    struct wsk_socket *accepted = NULL;
    NTSTATUS status = STATUS_SUCCESS;
    int fd = wsk_host_accept(s->fd);

    if (fd == -EAGAIN)
        return false;
    if (fd >= 0)
        accepted = wsk_listen_create_accepted(s, fd, &status);
    else
        status = wsk_status(fd);
    if (accepted && r)
        wsk_listen_finish_accept(r, accepted);
    else if (accepted)
        wsk_listen_indicate(s, accepted);
    else if (status != STATUS_INSUFFICIENT_RESOURCES)
        return true; /* the peer has already closed this connection; another one may wait */
    else if (r)
        wsk_request_finish(r, status, 0);
    else
        wsk_thread_pump_again(s, true);
    return accepted || r;
}

void wsk_listen_pump(struct wsk_socket *s)
{
    bool more = true;

    while (more) {
        struct wsk_request *r = wsk_request_first(&s->accepts);

        if (r) {
            more = wsk_listen_accept_one(s, r);
        } else {
            more = wsk_listen_has_event(s) && wsk_event_begin(s, WSK_EVENT_ACCEPT);
            if (more) {
                more = wsk_listen_accept_one(s, NULL);
                wsk_event_end(s);
            }
        }
    }
}
