/* SPDX-License-Identifier: MIT */
/*
 * Implements the passive side from TCP accept to the reply. The functions return an outcome, and do not change the
 * connection's state.
 */
#include <errno.h>

#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/listener.h"
#include "fabric/iwarp/reason.h"
#include "trace/trace.h"

static struct conn_outcome passive_admit(struct fabric_conn *c)
{
    enum fabric_reason why = listener_refusal(c->listener);

    if (why != FABRIC_OK) {
        iwarp_count(c->home, COUNT_REFUSED, 1);
        return (struct conn_outcome){ CONN_REFUSE, why };
    }
    listener_count_request(c);
    return (struct conn_outcome){ CONN_REQUEST, FABRIC_OK };
}

static enum fabric_reason passive_fault_reason(enum iw_startup_fault fault)
{
    switch (fault) {
    case IW_FAULT_REVISION:
        return FABRIC_BAD_REVISION;
    case IW_FAULT_MARKERS:
        return FABRIC_UNSUPPORTED_REQUEST;
    case IW_FAULT_NO_LIMITS:
        return FABRIC_REQUEST_NO_LIMITS;
    case IW_FAULT_PRIVATE_DATA:
        return FABRIC_REQUEST_DATA;
    case IW_FAULT_NO_FORM:
        return FABRIC_REQUEST_NO_FORM;
    case IW_FAULT_FRAME:
        break;
    }
    return FABRIC_BAD_REQUEST;
}

/*
 * Returns the event for a malformed request. Bytes that are no MPA frame get no answer. A malformed MPA frame gets the
 * reject that start-up has made.
 */
static struct conn_outcome passive_malformed(struct fabric_conn *c)
{
    bool is_answered;
    const uint8_t *at;

    if (iw_startup_fault(c->startup) == IW_FAULT_PRIVATE_DATA)
        TRACE(private_data_limit, c->number, .max_size = c->fabric->config.max_private);
    iwarp_count(c->home, COUNT_REFUSED, 1);
    is_answered = iw_startup_tx_want(c->startup, &at) > 0;
    return (struct conn_outcome){ is_answered ? CONN_REFUSE : CONN_LOST,
                                  passive_fault_reason(iw_startup_fault(c->startup)) };
}

struct conn_outcome passive_request(struct fabric_conn *c)
{
    enum iw_startup_event event;
    struct conn_outcome out = handshake_receive(c, &event);

    if (out.event != CONN_NOTHING)
        return out;
    if (event == IW_STARTUP_REQUEST)
        return passive_admit(c);
    return event == IW_STARTUP_MALFORMED ? passive_malformed(c) : conn_nothing;
}

void passive_report_request(struct fabric_conn *c)
{
    struct fabric_listener *l = c->listener;
    struct fabric_peer peer = { .local = c->local, .remote = c->remote };

    iw_startup_limits(c->startup, &peer.limits.inbound, &peer.limits.outbound);
    peer.private_data = iw_startup_private(c->startup, &peer.private_len);
    conn_ref(c); /* the handle's reference */
    c->owner = l->events->request(l->owner, c, &peer);
    TRACE(connector, c->number, .object = (uintptr_t)c->owner);
    if (c->owner)
        listener_finished(l, c); /* a refused request stays in the listener's list until c ends */
}

/*
 * Handles input and the end of the stream until the consumer has answered the request. If the listener's owner has
 * refused the request, rejects the peer. If the peer sends bytes before the answer, the connection ends with a protocol
 * error. If the peer ends or resets the stream, the reason is FABRIC_UNANSWERED, because most such peers have waited
 * too long for the answer.
 */
struct conn_outcome passive_wait(struct fabric_conn *c)
{
    uint8_t byte;
    struct iovec iov = { &byte, 1 };
    enum fabric_reason why;
    ssize_t n;

    if (!c->owner)
        return (struct conn_outcome){ CONN_REFUSE, FABRIC_NOT_DELIVERED };
    if (c->early_len > 0) {
        c->early_len = 0;
        return (struct conn_outcome){ CONN_LOST, FABRIC_PROTOCOL };
    }
    if (!c->readable)
        return conn_nothing;
    n = c->fabric->net->ops->recv(&c->socket, &iov, 1);
    if (n == -EAGAIN) {
        c->readable = false;
        return conn_nothing;
    }
    if (n > 0)
        return (struct conn_outcome){ CONN_LOST, FABRIC_PROTOCOL };
    why = n < 0 ? iwarp_reason_stream((int)-n) : FABRIC_PEER_GAVE_UP;
    return (struct conn_outcome){ CONN_LOST,
                                  why == FABRIC_PEER_GAVE_UP || why == FABRIC_PEER_RESET ? FABRIC_UNANSWERED : why };
}

struct conn_outcome passive_reply(struct fabric_conn *c)
{
    enum iw_startup_event event;
    struct conn_outcome out = handshake_send(c, &event);

    if (out.event != CONN_NOTHING || event != IW_STARTUP_SENT)
        return out;
    if (c->result.peer_to_peer)
        return (struct conn_outcome){ CONN_REPLY_SENT, FABRIC_OK };
    return (struct conn_outcome){ CONN_UP, FABRIC_OK };
}
