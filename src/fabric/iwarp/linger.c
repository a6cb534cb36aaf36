/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the last frame of a connection that is over: it leaves, and input is read to its end, which is not
 * processed any more. Loops are bounded: input that is left is reported again by the transport.
 */
#include "fabric/iwarp/conn_phase.h"

#include <errno.h>

enum { MAX_READS = 16 }; /* in one turn */

/* True: everything has left. False: not yet, or it failed (and then there is nothing to wait for: *broken). */
static bool linger_send(struct fabric_conn *c, bool *broken)
{
    struct iovec iov[IW_IOV_MAX];
    const uint8_t *at;
    ssize_t sent;
    int n = 1;

    while (!c->blocked) {
        if (c->streams) {
            n = iw_qp_tx_want(c->qp->iw, c->home->scratch, iov, IW_IOV_MAX);
        } else {
            iov[0].iov_len = iw_startup_tx_want(c->startup, &at);
            iov[0].iov_base = (void *)at;
        }
        if (n == 0 || iov[0].iov_len == 0) {
            if (c->streams)
                iw_qp_tx_done(c->qp->iw, c->home->scratch, 0);
            return true;
        }
        sent = c->fabric->net->ops->send(&c->socket, iov, n);
        c->blocked = sent == -EAGAIN || (sent >= 0 && (size_t)sent < iwarp_iov_len(iov, n));
        *broken = sent < 0 && sent != -EAGAIN;
        if (c->streams)
            iw_qp_tx_done(c->qp->iw, c->home->scratch, sent > 0 ? (size_t)sent : 0);
        else if (sent > 0)
            (void)iw_startup_tx_done(c->startup, (size_t)sent);
        if (*broken)
            return false;
    }
    return false;
}

/*
 * A reset, which unread input would cause, could destroy our last frame on the peer's side: input is read to its end.
 */
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
 * Who sent a good request and is rejected has nothing on its way, and hangs up when it has the reject; its connector's
 * close waits for that a moment only. Linux siw loses a reject's private data where our end of stream comes right
 * behind.
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
