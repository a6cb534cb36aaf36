/* SPDX-License-Identifier: MIT */
/*
 * Creates, pumps and closes the sockets of Winsock Kernel: see socket.h. A socket is freed only when it is closed and
 * none of its requests is pending.
 */
#include <errno.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

/* While checks are on, the last QUARANTINE_SIZE closed sockets stay allocated, so that a later use is detected. */
enum { QUARANTINE_SIZE = 64 };

static struct wsk_socket *quarantine[QUARANTINE_SIZE];
static atomic_uint quarantine_next;
static pthread_mutex_t quarantine_lock = PTHREAD_MUTEX_INITIALIZER;

NTSTATUS wsk_status(int host_error)
{
    switch (host_error < 0 ? -host_error : host_error) {
    case 0:
        return STATUS_SUCCESS;
    case ECONNREFUSED:
        return STATUS_CONNECTION_REFUSED;
    case ECONNRESET:
    case EPIPE:
        return STATUS_CONNECTION_RESET;
    case ECONNABORTED:
        return STATUS_CONNECTION_ABORTED;
    case ETIMEDOUT:
        return STATUS_IO_TIMEOUT;
    case EADDRINUSE:
        return STATUS_ADDRESS_ALREADY_EXISTS;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return STATUS_INVALID_ADDRESS_COMPONENT;
    case EHOSTUNREACH:
    case EHOSTDOWN:
        return STATUS_HOST_UNREACHABLE;
    case ENETUNREACH:
    case ENETDOWN:
        return STATUS_NETWORK_UNREACHABLE;
    case EACCES:
    case EPERM:
        return STATUS_ACCESS_DENIED;
    case EISCONN:
        return STATUS_CONNECTION_ACTIVE;
    case ENOTCONN:
        return STATUS_INVALID_DEVICE_STATE;
    case EMSGSIZE:
        return STATUS_INVALID_BUFFER_SIZE;
    case EINVAL:
    case ENODEV:
    case ENXIO:
        return STATUS_INVALID_PARAMETER;
    case ENOPROTOOPT:
    case EOPNOTSUPP:
        return STATUS_NOT_SUPPORTED;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOSPC:
    case ENOMEM:
        return STATUS_INSUFFICIENT_RESOURCES;
    default:
        return STATUS_UNSUCCESSFUL;
    }
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static const VOID *wsk_socket_dispatch_of(ULONG category)
{
    switch (category) {
    case WSK_FLAG_LISTEN_SOCKET:
        return &wsk_listen_dispatch;
    case WSK_FLAG_CONNECTION_SOCKET:
        return &wsk_connection_dispatch;
    case WSK_FLAG_DATAGRAM_SOCKET:
        return &wsk_datagram_dispatch;
    case WSK_FLAG_STREAM_SOCKET:
        return &wsk_stream_dispatch;
    default:
        return &wsk_basic_dispatch;
    }
}

static void wsk_socket_init(struct wsk_socket *s)
{
    LIST_ENTRY *const lists[] = { &s->disables, &s->connects, &s->accepts, &s->sends, &s->receives, &s->pump_again };

    for (size_t i = 0; i < RTL_NUMBER_OF(lists); i++)
        link_init(lists[i]);
    pthread_mutex_init(&s->lock, NULL);
    s->static_events = wsk_client_static_events(s->client) & wsk_event_mask(s->category);
    s->events = s->static_events;
    s->handle.Dispatch = wsk_socket_dispatch_of(s->category);
}

struct wsk_socket *wsk_socket_new(struct wsk_client *client, ULONG category, ADDRESS_FAMILY family, bool stream, int fd,
                                  NTSTATUS *status)
{
    struct wsk_socket *s = calloc(1, sizeof *s);

    *status = STATUS_INSUFFICIENT_RESOURCES;
    if (!s)
        return NULL;
    s->client = client;
    s->category = category;
    s->family = family;
    s->stream = stream;
    s->fd = fd >= 0 ? fd : wsk_host_open(family, stream);
    if (s->fd < 0 || !wsk_thread_acquire()) {
        *status = s->fd < 0 ? wsk_status(s->fd) : STATUS_INSUFFICIENT_RESOURCES;
        if (s->fd >= 0 && fd < 0)
            wsk_host_close(s->fd, false);
        free(s);
        return NULL;
    }
    wsk_socket_init(s);
    wsk_client_ref(client);
    *status = STATUS_SUCCESS;
    return s;
}

/* ---- Pumping ----------------------------------------------------------------------------------------------------- */

static void wsk_socket_pump_connection(struct wsk_socket *s)
{
    wsk_send_pump(s);
    wsk_receive_pump(s);
    wsk_event_disconnect(s);
}

void wsk_socket_pump(struct wsk_socket *s)
{
    if (s->closing || s->delivering)
        return;
    if (!s->stream)
        wsk_datagram_pump(s);
    else if (wsk_state(s) == WSK_LISTENING)
        wsk_listen_pump(s);
    else
        wsk_socket_pump_connection(s);
}

void wsk_socket_handle_ready(struct wsk_socket *s, bool failed)
{
    int error;

    if (s->closing || s->delivering)
        return;
    error = failed ? wsk_host_pop_error(s->fd) : 0;
    if (s->stream && wsk_state(s) == WSK_CONNECTING)
        wsk_connect_handle_result(s, error);
    else if (s->stream && wsk_state(s) == WSK_CONNECTED && error)
        wsk_connect_lose(s, wsk_status(error), wsk_status(error), true);
    else
        wsk_socket_pump(s);
}

static void wsk_socket_run_pump(struct wsk_post *post)
{
    struct wsk_socket *s = CONTAINING_RECORD(post, struct wsk_socket, pump_post);

    pthread_mutex_lock(&s->lock);
    s->pump_posted = false;
    pthread_mutex_unlock(&s->lock);
    wsk_socket_pump(s);
}

void wsk_socket_post_pump(struct wsk_socket *s)
{
    bool was;

    pthread_mutex_lock(&s->lock);
    was = s->pump_posted;
    s->pump_posted = true;
    pthread_mutex_unlock(&s->lock);
    if (!was)
        wsk_thread_post(&s->pump_post, wsk_socket_run_pump);
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

static void wsk_socket_quarantine(struct wsk_socket *s)
{
    struct wsk_socket *oldest = s;

    if (check_on()) {
        pthread_mutex_lock(&quarantine_lock);
        oldest = quarantine[quarantine_next % QUARANTINE_SIZE];
        quarantine[quarantine_next % QUARANTINE_SIZE] = s;
        quarantine_next++;
        pthread_mutex_unlock(&quarantine_lock);
    }
    if (oldest)
        pthread_mutex_destroy(&oldest->lock);
    free(oldest);
}

static void wsk_socket_free(struct wsk_socket *s)
{
    struct wsk_request *r = s->close_request;
    struct wsk_client *client = s->client;
    PIRP irp = r ? r->irp : NULL;

    (void)live_remove(LIVE_WSK_SOCKET, s);
    atomic_store(&s->closed, true);
    if (s->refused)
        wsk_datagrams_free(s->refused);
    if (r)
        wsk_trace_completed(&r->call, irp, STATUS_SUCCESS, 0);
    wsk_socket_quarantine(s);
    free(r);
    if (irp) {
        irp->IoStatus.Status = STATUS_SUCCESS;
        irp->IoStatus.Information = 0;
        irp_complete(irp);
    }
    wsk_thread_release();
    wsk_client_unref(client);
}

NTSTATUS wsk_indication_remove(PWSK_SOCKET handle, void *list, const char *event)
{
    irql_check_max("WskRelease", DISPATCH_LEVEL);
    if (!wsk_socket_is_usable("WskRelease", handle))
        return STATUS_INVALID_HANDLE;
    if (list && live_remove(LIVE_WSK_INDICATION, list))
        return STATUS_SUCCESS;
    if (check_on())
        check_failed(CHECK_WSK_INDICATION, "WskRelease", (uintptr_t)list, 0, 0, 0,
                     "%p is not a list that %s has indicated and the driver has retained", list, event);
    return STATUS_INVALID_PARAMETER;
}

static void wsk_socket_cancel_all(struct wsk_socket *s)
{
    wsk_request_finish_all(&s->connects, STATUS_CANCELLED);
    wsk_request_finish_all(&s->accepts, STATUS_CANCELLED);
    wsk_request_finish_all(&s->sends, STATUS_CANCELLED);
    wsk_request_finish_all(&s->receives, STATUS_CANCELLED);
}

static void wsk_socket_check_retained(struct wsk_socket *s)
{
    SIZE_T retained = atomic_load(&s->retained);

    if (!retained || !check_on())
        return;
    report_add_stack("closed by", &s->closed_by);
    check_failed(CHECK_WSK_INDICATION, "WskCloseSocket", (uintptr_t)s, retained, 0, 0,
                 "the driver has not released %llu bytes that socket %p has indicated", (unsigned long long)retained,
                 (void *)s);
}

/*
 * Closes the host's socket and cancels the pending requests. If requests are still pending afterwards, the completion
 * of the last one calls this function again, which then frees the socket.
 */
void wsk_socket_close(struct wsk_socket *s)
{
    if (!s->closing) {
        s->pending++; /* keeps the completions of cancelled requests from freeing the socket */
        s->closing = true;
        wsk_socket_check_retained(s);
        wsk_thread_unwatch(s);
        /* Resets a stream that has not sent its FIN. After the FIN, the host still sends the data that it has. */
        wsk_host_close(s->fd, s->stream && !s->fin_sent);
        link_remove(&s->pump_again);
        wsk_socket_cancel_all(s);
        s->pending--;
    }
    if (!s->pending)
        wsk_socket_free(s);
}

static void wsk_socket_run_close(struct wsk_post *post)
{
    wsk_socket_close(CONTAINING_RECORD(post, struct wsk_socket, close_post));
}

void wsk_socket_abandon(struct wsk_socket *s)
{
    wsk_thread_post(&s->close_post, wsk_socket_run_close);
}
