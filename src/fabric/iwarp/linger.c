/* SPDX-License-Identifier: MIT */
/*
 * Sends the last frame of a connection that has ended, and discards input until the peer's end of stream or the time
 * limit. Invariant: the input is read before the socket is closed. If a socket with unread input is closed, TCP sends a
 * reset, which could destroy the last frame at the peer. One call of linger_discard reads at most MAX_READS times. The
 * transport then reports the remaining input again.
 */
#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/conn_trace.h"

#include <errno.h>

enum { MAX_READS = 16 }; /* maximum number of reads in one call of linger_discard */

/* Records the start-up frame at `at`, and counts `sent` of its bytes as sent. */
static void linger_frame_sent(struct fabric_conn *c, const uint8_t *at, size_t sent)
{
    conn_trace_frame(c, true, at, iw_startup_tx_want(c->startup, &at));
    (void)iw_startup_tx_done(c->startup, sent);
}

/* Returns true if everything has been sent. Sets *broken if the socket failed. */
static bool linger_send(struct fabric_conn *c, bool *broken)
{
    struct iovec iov[IW_MAX_IOV];
    const uint8_t *at;
    ssize_t sent;
    int n = 1;

    while (!c->blocked) {
        if (c->streams) {
            n = iw_qp_tx_want(c->qp->iw, c->home->scratch, iov, IW_MAX_IOV);
        } else {
            iov[0].iov_len = iw_startup_tx_want(c->startup, &at);
            iov[0].iov_base = (void *)at;
        }
        if (n == 0 || iov[0].iov_len == 0) {
            if (c->streams)
                iw_qp_tx_done(c->qp->iw, c->home->scratch, 0);
            return true;
        }
        conn_trace_begin_send(c);
        sent = c->fabric->net->ops->send(&c->socket, iov, n);
        c->blocked = sent == -EAGAIN || (sent >= 0 && (size_t)sent < iwarp_iov_len(iov, n));
        *broken = sent < 0 && sent != -EAGAIN;
        if (c->streams)
            iw_qp_tx_done(c->qp->iw, c->home->scratch, sent > 0 ? (size_t)sent : 0);
        else if (sent > 0)
            linger_frame_sent(c, at, (size_t)sent);
        if (*broken)
            return false;
    }
    return false;
}

static void linger_discard(struct fabric_conn *c)
{
    struct iovec iov = { c->home->sink, IWARP_SINK_SIZE };
    ssize_t n = 1;

    for (int i = 0; i < MAX_READS && c->readable && !c->eof; i++) {
        n = c->fabric->net->ops->recv(&c->socket, &iov, 1);
        if (n == -EAGAIN)
            c->readable = false;
        else if (n <= 0)
            stream_end_input(c);
    }
}

void linger_hang_up(struct fabric_conn *c)
{
    if (!c->shut)
        c->fabric->net->ops->shut_write(&c->socket);
    c->shut = true;
    linger_discard(c);
}

/*
 * Sends the last frame, discards input, and then half-closes. After a reject of a valid request, this side half-closes
 * only after the peer's end of stream, or after SHORT_LINGER_MS. If the half-close followed the reject at once, Linux
 * siw would lose the reject's private data. A rejected peer sends nothing more, so no reset can destroy the reject.
 */
struct conn_outcome linger_pump(struct fabric_conn *c)
{
    bool broken = false, is_sent = c->shut || linger_send(c, &broken);

    linger_discard(c);
    if (is_sent && (!c->short_linger || c->eof))
        linger_hang_up(c);
    if (broken || (c->shut && c->eof))
        return (struct conn_outcome){ CONN_LOST, c->ended };
    return conn_nothing;
}
