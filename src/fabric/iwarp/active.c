/* SPDX-License-Identifier: MIT */
/*
 * Implements the active side from connect to complete: local address, TCP, MPA request and reply. The functions return
 * an outcome, and do not change the connection's state.
 */
#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/endpoint.h"
#include "fabric/iwarp/reason.h"

#include <assert.h>
#include <errno.h>

/*
 * Sets the local address. If c has a shared endpoint, uses the endpoint's address. Otherwise reserves an address for c.
 */
static enum fabric_reason active_reserve_address(struct fabric_conn *c)
{
    const struct net_ops *net = c->fabric->net->ops;
    enum fabric_reason owned;
    int error;

    if (c->endpoint) {
        c->local = c->endpoint->local;
        c->reservation = c->endpoint->reservation;
        net->reservation_ref(c->reservation);
        return FABRIC_OK;
    }
    c->local = c->connect_local;
    owned = iwarp_check_address(c->fabric, &c->local);
    if (owned != FABRIC_OK)
        return owned;
    error = net->reserve(c->fabric->net, &c->local, &c->remote, NET_USE_CONNECT, &c->reservation);
    return error ? iwarp_reason_reserve(error) : FABRIC_OK;
}

static enum fabric_reason active_create_startup(struct fabric_conn *c)
{
    const struct fabric_config *config = &c->fabric->config;
    struct iw_startup_config s = {
        .revision = config->iwarp.mpa_revision,
        .crc = config->iwarp.crc,
        .rtr = config->iwarp.rtr,
        .max_ird = config->max_inbound_reads,
        .max_ord = config->max_outbound_reads,
        .max_private = MPA_MAX_PRIVATE_DATA - MPA_LIMITS,
    };

    assert(!c->startup);
    c->startup = iw_startup_initiator(&s, c->limits.inbound, c->limits.outbound, c->private_data, c->private_len);
    return c->startup ? FABRIC_OK : FABRIC_RESOURCES;
}

static enum fabric_reason active_open_tcp(struct fabric_conn *c)
{
    const struct net_ops *net = c->fabric->net->ops;
    struct shard *s = c->home->shard;
    const uint8_t *at;
    struct iovec request = { .iov_len = iw_startup_tx_want(c->startup, &at) };
    size_t sent;
    int error;

    request.iov_base = (void *)at;
    c->socket = (struct net_socket){ .ready = c->socket.ready };
    conn_trace_begin_send(c);
    error = net->connect(c->fabric->net, s, c->reservation, &c->remote, &request, &sent, &c->socket);
    if (error)
        return iwarp_reason_connect(error);
    if (sent)
        conn_trace_frame(c, true, at, request.iov_len);
    (void)iw_startup_tx_done(c->startup, sent);
    conn_socket_opened(c);
    conn_ref(c);
    c->readable = c->shut = c->eof = false;
    c->early_len = 0;
    c->result = (struct iw_startup_result){ .revision = 0 };
    return FABRIC_OK;
}

struct conn_outcome active_connect(struct fabric_conn *c)
{
    enum fabric_reason why = FABRIC_NOT_CONNECTING;

    if (c->state == CONN_IDLE) {
        c->remote = c->connect_remote;
        why = active_reserve_address(c);
        conn_trace_begin(c);
        if (why == FABRIC_OK)
            why = active_create_startup(c);
        if (why == FABRIC_OK)
            why = active_open_tcp(c);
    }
    return (struct conn_outcome){ why == FABRIC_OK || c->state != CONN_IDLE ? CONN_START : CONN_LOST, why };
}

struct conn_outcome active_tcp(struct fabric_conn *c)
{
    const struct net_ops *net = c->fabric->net->ops;
    int error = net->connect_result(&c->socket);

    if (error == EINPROGRESS)
        return conn_nothing;
    c->blocked = false;
    if (!error)
        net->set_liveness(&c->socket, &c->fabric->liveness);
    return (struct conn_outcome){ error ? CONN_LOST : CONN_TCP_UP, iwarp_reason_connect(error) };
}

static struct conn_outcome active_reply(struct fabric_conn *c, enum iw_startup_event event)
{
    if (event == IW_STARTUP_ACCEPTED || event == IW_STARTUP_NO_IRD || event == IW_STARTUP_NO_RTR)
        iw_startup_result(c->startup, &c->result);
    switch (event) {
    case IW_STARTUP_ACCEPTED:
        return (struct conn_outcome){ CONN_ACCEPTED, FABRIC_OK };
    case IW_STARTUP_REJECTED:
        return (struct conn_outcome){ CONN_REJECTED, FABRIC_REJECTED };
    case IW_STARTUP_NO_IRD:
        return (struct conn_outcome){ CONN_UNFIT, FABRIC_READ_LIMITS };
    case IW_STARTUP_NO_RTR:
        return (struct conn_outcome){ CONN_UNFIT, FABRIC_NO_READY_FORM };
    case IW_STARTUP_MALFORMED:
        return (struct conn_outcome){ CONN_LOST, FABRIC_BAD_REPLY };
    case IW_STARTUP_NONE:
    case IW_STARTUP_REQUEST:
    case IW_STARTUP_SENT:
        break;
    }
    return conn_nothing;
}

struct conn_outcome active_request(struct fabric_conn *c)
{
    enum iw_startup_event event;
    struct conn_outcome out = handshake_send(c, &event);

    if (out.event == CONN_NOTHING)
        out = handshake_receive(c, &event);
    if (out.event != CONN_NOTHING)
        return out;
    if (event != IW_STARTUP_NONE && c->early_len > 0)
        c->fabric->net->ops->pause_read(&c->socket, true);
    return active_reply(c, event);
}

/*
 * Detects that the peer closes or resets the connection after its reply, before conn_complete is called. A peer must
 * not send in this phase. If a peer sends nevertheless, the first bytes are stored for the stream, and further bytes
 * stay in the socket.
 */
struct conn_outcome active_wait(struct fabric_conn *c)
{
    const struct net_ops *net = c->fabric->net->ops;
    struct iovec iov = { c->early, sizeof c->early };
    ssize_t n;

    if (!c->readable || c->early_len)
        return conn_nothing;
    n = net->recv(&c->socket, &iov, 1);
    if (n > 0) {
        c->early_len = (size_t)n;
        net->pause_read(&c->socket, true);
    } else if (n == -EAGAIN) {
        c->readable = false;
    } else {
        return (struct conn_outcome){ CONN_LOST, n == 0 ? FABRIC_PEER_GAVE_UP : iwarp_reason_stream((int)-n) };
    }
    return conn_nothing;
}
