/* SPDX-License-Identifier: MIT */
/* Sending over a connection: in the order of the calls, straight from the driver's memory, a disconnect behind its
 * data. */
#include <errno.h>

#include "wdm.h"

#include "wdk/wsk/socket.h"

enum { OCTETS_AT_ONCE = 4 << 20 }; /* then other sockets have their turn */

static SIZE_T total(const struct iovec *parts, int n)
{
    SIZE_T octets = 0;

    for (int i = 0; i < n; i++)
        octets += parts[i].iov_len;
    return octets;
}

/* 0: all of the request's data has gone. */
static int send_data(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_PARTS];

    while (r->cursor.left) {
        int n = wsk_cursor_parts(&r->cursor, parts);
        ssize_t sent = wsk_host_send(s->fd, parts, n, total(parts, n) < r->cursor.left);

        if (sent < 0)
            return (int)sent;
        wsk_cursor_advance(&r->cursor, (SIZE_T)sent);
        r->done += (SIZE_T)sent;
    }
    return 0;
}

/* It is over when the peer's host has the end: then nothing that comes afterwards can take any of the data. */
static int disconnect(struct wsk_socket *s)
{
    int error = s->fin_sent ? 0 : wsk_host_shutdown_send(s->fd);

    if (error)
        return error;
    s->fin_sent = true;
    return wsk_host_is_end_taken(s->fd);
}

/* Else as the driver has set it: it may do so at any time. */
static void set_no_delay(struct wsk_socket *s, bool at_once)
{
    pthread_mutex_lock(&s->lock);
    wsk_host_set_no_delay(s->fd, at_once || s->no_delay);
    pthread_mutex_unlock(&s->lock);
}

static int send_one(struct wsk_socket *s, struct wsk_request *r)
{
    const bool at_once = r->flags & WSK_FLAG_NODELAY;
    int error;

    if (at_once)
        set_no_delay(s, true);
    error = send_data(s, r);
    if (at_once)
        set_no_delay(s, false);
    return !error && r->operation == WSK_DISCONNECT ? disconnect(s) : error;
}

/* The host has kept why the connection has gone, or it has told that before and has none any more. */
static void lose(struct wsk_socket *s, int error)
{
    int kept = wsk_host_take_error(s->fd);
    NTSTATUS status = wsk_status(kept ? kept : error == -ENOTCONN ? ECONNRESET : error);

    wsk_connect_lose(s, status, status, true);
}

void wsk_send_pump(struct wsk_socket *s)
{
    SIZE_T octets = 0;
    struct wsk_request *r;

    while (wsk_state(s) == WSK_CONNECTED && (r = wsk_request_first(&s->sends))) {
        int error = send_one(s, r);

        if (error == -EAGAIN)
            break;
        if (error) {
            lose(s, error);
            break;
        }
        octets += r->done;
        wsk_request_finish(r, STATUS_SUCCESS, r->operation == WSK_SEND ? r->done : 0);
        if (octets >= OCTETS_AT_ONCE) {
            wsk_thread_again(s, false);
            break;
        }
    }
    wsk_event_backlog(s);
}
