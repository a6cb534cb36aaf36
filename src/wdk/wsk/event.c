/* SPDX-License-Identifier: MIT */
/*
 * Enables and disables the events of Winsock Kernel's sockets, records the running event, and calls WskDisconnectEvent
 * and WskSendBacklogEvent. Only the socket thread calls events, so a socket has at most one running event. Any thread
 * may enable or disable events.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

enum { CONNECTION_EVENTS = WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT | WSK_EVENT_SEND_BACKLOG };

ULONG wsk_event_mask(ULONG category)
{
    switch (category) {
    case WSK_FLAG_LISTEN_SOCKET:
        return WSK_EVENT_ACCEPT | CONNECTION_EVENTS; /* accepted sockets inherit CONNECTION_EVENTS */
    case WSK_FLAG_CONNECTION_SOCKET:
        return CONNECTION_EVENTS;
    case WSK_FLAG_DATAGRAM_SOCKET:
        return WSK_EVENT_RECEIVE_FROM;
    case WSK_FLAG_STREAM_SOCKET:
        return WSK_EVENT_ACCEPT | CONNECTION_EVENTS;
    default:
        return 0;
    }
}

/* ---- Calling ----------------------------------------------------------------------------------------------------- */

bool wsk_event_enabled(struct wsk_socket *s, ULONG event)
{
    bool enabled;

    pthread_mutex_lock(&s->lock);
    enabled = s->events & event;
    pthread_mutex_unlock(&s->lock);
    return enabled;
}

bool wsk_event_begin(struct wsk_socket *s, ULONG event)
{
    bool enabled;

    pthread_mutex_lock(&s->lock);
    enabled = s->events & event;
    if (enabled)
        s->running = event;
    pthread_mutex_unlock(&s->lock);
    return enabled;
}

void wsk_event_end(struct wsk_socket *s)
{
    struct wsk_request *r;

    pthread_mutex_lock(&s->lock);
    s->running = 0;
    while ((r = wsk_request_first(&s->disables))) {
        link_remove(&r->link);
        pthread_mutex_unlock(&s->lock);
        s->pending++;
        wsk_request_finish(r, STATUS_SUCCESS, 0);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

void wsk_event_disconnect(struct wsk_socket *s)
{
    bool abortive = wsk_state(s) == WSK_LOST && s->lost_by_peer;
    PFN_WSK_DISCONNECT_EVENT routine = s->on_connection ? s->on_connection->WskDisconnectEvent : NULL;
    struct kernel_call call;
    struct thread_mark mark;
    NTSTATUS status;
    ULONG flags;

    if (s->disconnect_indicated || !routine || (!abortive && (!s->fin_received || wsk_state(s) == WSK_LOST)) ||
        !wsk_event_begin(s, WSK_EVENT_DISCONNECT))
        return;
    s->disconnect_indicated = true;
    flags = WSK_FLAG_AT_DISPATCH_LEVEL | (abortive ? WSK_FLAG_ABORTIVE : 0);
    call = KERNEL_CALL(WskDisconnectEvent, .object = (uintptr_t)s, .flags = flags);
    mark = thread_mark_get();
    status = routine(s->context, flags);
    thread_mark_check(&mark, "WskDisconnectEvent", (const void *)(uintptr_t)routine);
    (void)kernel_call_return(&call, status);
    wsk_event_end(s);
}

/* Reports the ideal backlog: the size of the host's send buffer, which the host enlarges if the connection needs it. */
void wsk_event_backlog(struct wsk_socket *s)
{
    PFN_WSK_SEND_BACKLOG_EVENT routine = s->on_connection ? s->on_connection->WskSendBacklogEvent : NULL;
    struct kernel_call call;
    struct thread_mark mark;
    NTSTATUS status;
    ULONG size;

    if (!routine || wsk_state(s) != WSK_CONNECTED || !wsk_event_enabled(s, WSK_EVENT_SEND_BACKLOG))
        return;
    size = (ULONG)wsk_host_send_room(s->fd);
    if (size == s->backlog_indicated || !wsk_event_begin(s, WSK_EVENT_SEND_BACKLOG))
        return;
    s->backlog_indicated = size;
    call = KERNEL_CALL(WskSendBacklogEvent, .object = (uintptr_t)s, .bytes = size);
    mark = thread_mark_get();
    status = routine(s->context, size);
    thread_mark_check(&mark, "WskSendBacklogEvent", (const void *)(uintptr_t)routine);
    (void)kernel_call_return(&call, status);
    wsk_event_end(s);
}

/* ---- Enabling and disabling -------------------------------------------------------------------------------------- */

static NTSTATUS wsk_event_enable(struct wsk_socket *s, ULONG events)
{
    bool listens = wsk_state(s) == WSK_LISTENING;

    pthread_mutex_lock(&s->lock);
    if (listens)
        s->inherited |= events & CONNECTION_EVENTS;
    s->events |= listens ? events & ~(ULONG)CONNECTION_EVENTS : events;
    pthread_mutex_unlock(&s->lock);
    wsk_socket_post_pump(s); /* data or a connection may have arrived before this call */
    return STATUS_SUCCESS;
}

/*
 * Disables the event. Returns STATUS_SUCCESS if the driver's routine for the event is not running. If the routine is
 * running and `r` is NULL, returns STATUS_EVENT_PENDING. If the routine is running and `r` is not NULL, returns
 * STATUS_PENDING; the request `r` completes when the routine has returned.
 */
static NTSTATUS wsk_event_disable(struct wsk_socket *s, ULONG event, struct wsk_request *r)
{
    NTSTATUS status = STATUS_SUCCESS;

    pthread_mutex_lock(&s->lock);
    s->events &= ~event;
    if (s->running == event)
        status = r ? STATUS_PENDING : STATUS_EVENT_PENDING;
    if (status == STATUS_PENDING) {
        IoMarkIrpPending(r->irp);
        link_insert_before(&s->disables, &r->link);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static bool wsk_event_is_single(ULONG events)
{
    return events && !(events & (events - 1));
}

/* Returns true if the socket can have events: a bound datagram socket, a listener, or a connection. */
static bool wsk_event_is_controllable(struct wsk_socket *s)
{
    enum wsk_state state = wsk_state(s);

    return state == WSK_LISTENING || state == WSK_CONNECTED || state == WSK_LOST || (!s->stream && state == WSK_BOUND);
}

static NTSTATUS wsk_event_check_control(struct wsk_socket *s, const WSK_EVENT_CALLBACK_CONTROL *control, SIZE_T size)
{
    ULONG events;

    if (!control || size < sizeof *control || !control->NpiId ||
        memcmp(control->NpiId, &NPI_WSK_INTERFACE_ID, sizeof(NPIID)))
        return STATUS_INVALID_PARAMETER;
    events = control->EventMask & ~WSK_EVENT_DISABLE;
    if (!events || events & ~wsk_event_mask(s->category))
        return STATUS_INVALID_PARAMETER;
    if (!wsk_event_is_controllable(s))
        return STATUS_INVALID_DEVICE_STATE;
    if (control->EventMask & WSK_EVENT_DISABLE && (!wsk_event_is_single(events) || events & s->static_events ||
                                                   (wsk_state(s) == WSK_LISTENING && events & CONNECTION_EVENTS)))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

NTSTATUS wsk_event_control(const struct kernel_call *call, struct wsk_socket *s,
                           const WSK_EVENT_CALLBACK_CONTROL *control, SIZE_T size, PIRP irp)
{
    struct wsk_request *r = NULL;
    NTSTATUS status = wsk_event_check_control(s, control, size);

    if (!NT_SUCCESS(status))
        return wsk_complete_irp(irp, status, 0);
    if (!(control->EventMask & WSK_EVENT_DISABLE))
        return wsk_complete_irp(irp, wsk_event_enable(s, control->EventMask), 0);
    if (irp) {
        r = wsk_request_alloc(call, s, WSK_DISABLE, irp);
        if (!r)
            return wsk_complete_irp(irp, STATUS_INSUFFICIENT_RESOURCES, 0);
    }
    status = wsk_event_disable(s, control->EventMask & ~WSK_EVENT_DISABLE, r);
    return r && status != STATUS_PENDING ? wsk_request_refuse(r, status) : status;
}
