/* SPDX-License-Identifier: MIT */
/* Abstract: the passive side from TCP accept to the reply. */
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/reason.h"

#include <errno.h>

static void requested(struct fabric_conn *c)
{
    if (!listener_has_room(c->listener)) {
        iwarp_count(c->home, COUNT_REFUSED, 1);
        conn_step(c, CONN_REFUSE, FABRIC_REFUSED);
        return;
    }
    listener_count_request(c);
    conn_step(c, CONN_REQUEST, FABRIC_OK);
    if (c->owner)
        listener_finished(c->listener, c);
    else
        conn_step(c, CONN_REFUSE, FABRIC_REFUSED); /* still the listener's: it goes with it */
}

void passive_request(struct fabric_conn *c)
{
    enum iw_startup_event event;
    const uint8_t *at;

    if (!startup_receive(c, &event))
        return;
    if (event == IW_STARTUP_REQUEST) {
        requested(c);
    } else if (event == IW_STARTUP_MALFORMED) {
        iwarp_count(c->home, COUNT_REFUSED, 1);
        /* What is not MPA is not answered; what is, is rejected. */
        conn_step(c, iw_startup_tx_want(c->startup, &at) ? CONN_REFUSE : CONN_LOST, FABRIC_PROTOCOL);
    }
}

/* The listener's owner becomes the connection's, or does not want it (then there is no owner). */
void passive_tell(struct fabric_conn *c)
{
    struct fabric_listener *l = c->listener;
    struct fabric_peer peer = { .local = c->local, .remote = c->remote };

    iw_startup_limits(c->startup, &peer.limits.inbound, &peer.limits.outbound);
    peer.private_data = iw_startup_private(c->startup, &peer.private_len);
    conn_ref(c); /* the handle */
    c->owner = l->events->request(l->owner, c, &peer);
}

/* Bytes that have arrived but have not been reported are read first: their sender is not silent. */
void passive_drop(struct fabric_conn *c)
{
    conn_enter(c);
    if (c->is_unfinished && c->state == CONN_WAIT_REQUEST)
        conn_socket_ready(&c->socket, NET_READ);
    if (c->is_unfinished && c->state != CONN_CLOSED) {
        iwarp_count(c->home, COUNT_DROPPED, 1);
        conn_drop(c);
    }
    conn_leave(c);
}

/* Until the consumer has answered the peer has nothing to say: bytes are a fault, and an end of stream is the end. */
void passive_wait(struct fabric_conn *c)
{
    uint8_t byte;
    struct iovec iov = { &byte, 1 };
    ssize_t n;

    if (c->early_len > 0) {
        c->early_len = 0;
        conn_step(c, CONN_LOST, FABRIC_PROTOCOL);
        return;
    }
    if (!c->readable)
        return;
    n = c->fabric->net->ops->recv(&c->socket, &iov, 1);
    if (n == -EAGAIN)
        c->readable = false;
    else if (n < 0)
        conn_step(c, CONN_LOST, iwarp_reason_stream((int)-n));
    else
        conn_step(c, CONN_LOST, n == 0 ? FABRIC_PEER_GAVE_UP : FABRIC_PROTOCOL);
}

void passive_reply(struct fabric_conn *c)
{
    enum iw_startup_event event;

    if (!startup_send(c, &event) || event != IW_STARTUP_SENT)
        return;
    if (c->result.peer_to_peer)
        conn_step(c, CONN_REPLY_LEFT, FABRIC_OK);
    else
        conn_step(c, CONN_UP, FABRIC_OK);
}
