/* SPDX-License-Identifier: MIT */
/*
 * Sends over a connection. Sends run in the order of the calls, from the driver's memory and without a copy. A
 * WskDisconnect with a buffer sends the buffer before the FIN.
 */
#include <errno.h>

#include "wdm.h"

#include "wdk/wsk/socket.h"

enum { MAX_BYTES_AT_ONCE = 4 << 20 }; /* number of bytes after which the socket thread serves the other sockets */

static SIZE_T wsk_send_total(const struct iovec *parts, int n)
{
    SIZE_T bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* Sends the request's remaining data. Returns 0 if the host has accepted all data, otherwise an errno negated. */
static int wsk_send_data(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_MAX_PARTS];

    while (r->cursor.remaining) {
        int n = wsk_cursor_parts(&r->cursor, parts);
        ssize_t sent = wsk_host_send(s->fd, parts, n, wsk_send_total(parts, n) < r->cursor.remaining);

        if (sent < 0)
            return (int)sent;
        wsk_cursor_advance(&r->cursor, (SIZE_T)sent);
        r->done += (SIZE_T)sent;
    }
    return 0;
}

/*
 * Sends the FIN, unless it is already sent. Returns 0 if the peer's host has acknowledged the FIN, so that a reset can
 * no longer lose data. Returns -EAGAIN if it has not acknowledged the FIN yet, or another errno negated.
 */
static int wsk_send_disconnect(struct wsk_socket *s)
{
    int error = s->fin_sent ? 0 : wsk_host_shutdown_send(s->fd);

    if (error)
        return error;
    s->fin_sent = true;
    return wsk_host_check_fin_acked(s->fd);
}

/*
 * If `at_once` is true, sets TCP_NODELAY. Otherwise restores the driver's value. Acquires the lock, because the driver
 * may change its value at the same time.
 */
static void wsk_send_set_no_delay(struct wsk_socket *s, bool at_once)
{
    pthread_mutex_lock(&s->lock);
    wsk_host_set_no_delay(s->fd, at_once || s->no_delay);
    pthread_mutex_unlock(&s->lock);
}

static int wsk_send_request(struct wsk_socket *s, struct wsk_request *r)
{
    const bool at_once = r->flags & WSK_FLAG_NODELAY;
    int error;

    if (at_once)
        wsk_send_set_no_delay(s, true);
    error = wsk_send_data(s, r);
    if (at_once)
        wsk_send_set_no_delay(s, false);
    return !error && r->operation == WSK_DISCONNECT ? wsk_send_disconnect(s) : error;
}

/*
 * Handles the loss of the connection after a send has failed with `error`, an errno negated. The socket's pending error
 * (SO_ERROR) is the cause of the loss. If there is no pending error, `error` is the cause.
 */
static void wsk_send_lose(struct wsk_socket *s, int error)
{
    int pending_error = wsk_host_pop_error(s->fd);
    NTSTATUS status = wsk_status(pending_error ? pending_error : error == -ENOTCONN ? ECONNRESET : error);

    wsk_connect_lose(s, status, status, true);
}

void wsk_send_pump(struct wsk_socket *s)
{
    SIZE_T bytes = 0;
    struct wsk_request *r;

    while (wsk_state(s) == WSK_CONNECTED && (r = wsk_request_first(&s->sends))) {
        int error = wsk_send_request(s, r);

        if (error == -EAGAIN)
            break;
        if (error) {
            wsk_send_lose(s, error);
            break;
        }
        bytes += r->done;
        wsk_request_finish(r, STATUS_SUCCESS, r->operation == WSK_SEND ? r->done : 0);
        if (bytes >= MAX_BYTES_AT_ONCE) {
            wsk_thread_pump_again(s, false);
            break;
        }
    }
    wsk_event_backlog(s);
}
