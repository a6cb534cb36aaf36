/* SPDX-License-Identifier: MIT */
/*
 * Transfers the frames of start-up between struct iw_startup and the socket, for both sides. Invariant: if a read
 * returns more bytes than the frame has, the bytes behind the frame are stored in c->early, and are used before the
 * socket is read again.
 */
#include <errno.h>
#include <string.h>

#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/reason.h"

struct conn_outcome handshake_send(struct fabric_conn *c, enum iw_startup_event *event)
{
    struct iovec iov;
    const uint8_t *at;
    ssize_t n;

    *event = IW_STARTUP_NONE;
    while (!c->blocked && (iov.iov_len = iw_startup_tx_want(c->startup, &at)) > 0) {
        iov.iov_base = (void *)at;
        conn_trace_begin_send(c);
        n = c->fabric->net->ops->send(&c->socket, &iov, 1);
        if (n == -EAGAIN || (n >= 0 && (size_t)n < iov.iov_len))
            c->blocked = true;
        if (n < 0 && n != -EAGAIN)
            return (struct conn_outcome){ CONN_LOST, iwarp_reason_stream((int)-n) };
        if (n > 0) {
            conn_trace_frame(c, true, at, iov.iov_len);
            *event = iw_startup_tx_done(c->startup, (size_t)n);
        }
    }
    return conn_nothing;
}

static size_t handshake_read_early(struct fabric_conn *c, uint8_t *at, size_t want)
{
    size_t n = c->early_len < want ? c->early_len : want;

    memcpy(at, c->early, n);
    memmove(c->early, c->early + n, c->early_len - n);
    c->early_len -= n;
    return n;
}

/*
 * Reads bytes for start-up, from c->early if there are any, otherwise from the socket. Returns what recv returns.
 * Start-up first requests only the fixed part of a frame, but usually the whole frame has arrived. So a read of the
 * socket receives as many bytes as fit into c->early.
 */
static ssize_t handshake_read(struct fabric_conn *c, uint8_t *at, size_t want)
{
    bool ahead = want < sizeof c->early;
    struct iovec iov = { ahead ? c->early : at, ahead ? sizeof c->early : want };
    ssize_t n;

    if (c->early_len > 0)
        return (ssize_t)handshake_read_early(c, at, want);
    if (!c->readable)
        return -EAGAIN;
    n = c->fabric->net->ops->recv(&c->socket, &iov, 1);
    if (n < (ssize_t)iov.iov_len)
        c->readable = false; /* the socket is empty; the transport reports further input */
    if (n <= 0 || !ahead)
        return n;
    c->early_len = (size_t)n;
    return (ssize_t)handshake_read_early(c, at, want);
}

struct conn_outcome handshake_receive(struct fabric_conn *c, enum iw_startup_event *event)
{
    const uint8_t *frame;
    size_t want, received;
    uint8_t *at;
    ssize_t n;

    *event = IW_STARTUP_NONE;
    while (*event == IW_STARTUP_NONE && (want = iw_startup_rx_want(c->startup, &at)) > 0) {
        n = handshake_read(c, at, want);
        if (n == -EAGAIN)
            return conn_nothing;
        if (n <= 0)
            return (struct conn_outcome){ CONN_LOST, n == 0 ? FABRIC_PEER_GAVE_UP : iwarp_reason_stream((int)-n) };
        frame = iw_startup_rx_frame(c->startup, &received);
        conn_trace_frame(c, false, frame, received + (size_t)n);
        *event = iw_startup_rx_done(c->startup, (size_t)n);
    }
    return conn_nothing;
}
