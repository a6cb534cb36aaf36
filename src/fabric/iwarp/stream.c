/* SPDX-License-Identifier: MIT */
/*
 * Abstract: bytes between a connection's socket and its queue pair.
 *
 * The queue pair's upcalls may do nothing, so they leave signals, which stream_take_signal turns into events. Loops
 * are bounded: input that is left is reported again by the transport, output that is left rings the doorbell again, or
 * waits for the poller while there is one.
 */
#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/reason.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
    NUDGES = 6,
    RX_BATCH = 16,
    RX_NS = 200000,          /* after the first read */
    TX_BATCH = 16,
    TX_BYTES = 1024 * 1024, /* a fifth of a millisecond: others wait for their turn */
    LONG_COPY = 32 * 1024,   /* bytes in one call */
};

/* ---- upcalls ---- */

static struct fabric_conn *stream_conn(struct iw_qp *iw)
{
    return ((struct fabric_qp *)iw_qp_owner(iw))->conn;
}

/* Says why a request failed: the protocol does not know why the stream was stopped or flushed from outside. */
static void stream_complete_reason(const struct fabric_qp *qp, struct rdma_completion *c)
{
    enum iw_end end = iw_qp_end(qp->iw);

    c->reason = (uint16_t)iwarp_reason_completion(c, end, qp->stopped);
    if (c->status == RDMA_STATUS_FLUSHED || (c->status == RDMA_STATUS_LOST && end == IW_END_NONE))
        c->error = qp->terminate;
    else if (c->status == RDMA_STATUS_LOCAL_ACCESS || c->error == WIRE_OK)
        c->error = FABRIC_NO_TERMINATE;
    c->solicited = true;
}

static void stream_on_complete(struct iw_qp *iw, struct rdma_completion *c, unsigned n)
{
    const struct fabric_qp *qp = iw_qp_owner(iw);
    bool receives = c->op == RDMA_OP_RECEIVE || c->op == RDMA_OP_RECEIVE_AND_INVALIDATE;

    for (unsigned i = 0; i < n; i++) {
        if (c[i].status != RDMA_STATUS_OK)
            stream_complete_reason(qp, &c[i]);
    }
    iwarp_cq_push(receives ? qp->receive_cq : qp->initiator_cq, c, n);
}

static void stream_on_first_fpdu(struct iw_qp *iw)
{
    stream_conn(iw)->signals |= SIGNAL_FIRST;
}

static void stream_on_rtr_answered(struct iw_qp *iw)
{
    stream_conn(iw)->signals |= SIGNAL_ANSWERED;
}

static void stream_on_peer_closed(struct iw_qp *iw)
{
    stream_conn(iw)->signals |= SIGNAL_CLOSED;
}

static void stream_on_ended(struct iw_qp *iw, enum iw_end why, enum wire_error error)
{
    struct fabric_conn *c = stream_conn(iw);

    if (error != WIRE_OK)
        c->terminate = (uint16_t)error;
    iwarp_qp_set_reason(c->qp, iwarp_qp_first_cause(c->qp, iwarp_reason_end(why)), c->terminate);
    c->signals |= SIGNAL_ENDED;
    c->end = why;
}

const struct iw_qp_events *stream_events(void)
{
    static const struct iw_qp_events events = {
        .complete = stream_on_complete,
        .first_fpdu = stream_on_first_fpdu,
        .rtr_answered = stream_on_rtr_answered,
        .peer_closed = stream_on_peer_closed,
        .ended = stream_on_ended,
    };
    return &events;
}

static enum fabric_reason stream_notice_reason(const struct fabric_conn *c)
{
    switch (c->state) {
    case CONN_COMPLETING:
        return FABRIC_PEER_GAVE_UP;
    case CONN_WAIT_RTR:
        return FABRIC_PEER_GAVE_UP;
    case CONN_NOTICE_SENT:
        return FABRIC_OK;
    default:
        return FABRIC_PEER_CLOSED;
    }
}

static struct conn_outcome stream_ended(const struct fabric_conn *c)
{
    bool ours = c->end != IW_END_PEER_TERMINATE && c->end != IW_END_TRUNCATED; /* a Terminate has to leave */

    return (struct conn_outcome){ ours ? CONN_FAULT : CONN_LOST, iwarp_reason_end(c->end) };
}

/* What the queue pair's upcalls have left. After CONN_UP others may still be there. */
static struct conn_outcome stream_take_signal(struct fabric_conn *c)
{
    unsigned signals = c->signals;

    c->signals = 0;
    if (!signals || !conn_state_streams(c->state))
        return conn_nothing; /* or its last frame is leaving */
    if ((signals & SIGNAL_FIRST && c->state == CONN_WAIT_RTR) ||
        (signals & SIGNAL_ANSWERED && c->state == CONN_COMPLETING)) {
        c->signals = signals & (SIGNAL_ENDED | SIGNAL_CLOSED);
        return (struct conn_outcome){ CONN_UP, FABRIC_OK };
    }
    if (signals & SIGNAL_ENDED)
        return stream_ended(c);
    if (signals & SIGNAL_CLOSED)
        return (struct conn_outcome){ CONN_NOTICE, stream_notice_reason(c) };
    return conn_nothing;
}

/* ---- beginning and end ---- */

static void stream_add_counts(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    iwarp_count(c->home, COUNT_FPDUS_SENT, now.fpdus_sent - c->counted.fpdus_sent);
    iwarp_count(c->home, COUNT_FPDUS_RECEIVED, now.fpdus_received - c->counted.fpdus_received);
    iwarp_count(c->home, COUNT_BYTES_SENT, now.octets_sent - c->counted.octets_sent);
    iwarp_count(c->home, COUNT_BYTES_RECEIVED, now.octets_received - c->counted.octets_received);
    c->counted = now;
}

static void stream_stop_nudging(struct fabric_conn *c)
{
    c->nudges_left = 0;
    if (c->nudge.armed)
        shard_timer_stop(c->home->shard, &c->nudge);
}

static size_t stream_segment(struct fabric_conn *c)
{
    uint32_t configured = c->fabric->config.iwarp.max_fpdu;

    return configured ? configured : c->fabric->net->ops->max_segment(&c->socket);
}

/* Called when there is room again after output was held up, which a path that got narrower causes as well. */
void stream_resize(struct fabric_conn *c)
{
    if (c->streams)
        iw_qp_set_segment(c->qp->iw, stream_segment(c));
}

void stream_start(struct fabric_conn *c)
{
    const struct fabric_config *config = &c->fabric->config;
    struct iw_stream s = {
        .crc = c->result.crc,
        .ird = c->result.ird,
        .ord = c->result.ord,
        .max_segment = stream_segment(c),
        .hold = !c->active,
        .shut = !c->active && c->result.peer_to_peer,
    };

    c->qp->conn = c;
    c->streams = true;
    c->signals = 0;
    c->sent_all = false;
    c->terminate = FABRIC_NO_TERMINATE;
    iwarp_qp_set_reason(c->qp, FABRIC_OK, FABRIC_NO_TERMINATE);
    iw_qp_start(c->qp->iw, &s);
    iw_qp_counters(c->qp->iw, &c->counted);
    c->at_start = c->counted;
    if (c->active && c->result.peer_to_peer)
        iw_qp_send_rtr(c->qp->iw, c->result.rtr);
    /* Who takes an empty FPDU as ready-to-receive is not siw; peers of this provider take it, and are never nudged. */
    c->nudges_left = c->active && c->result.rtr != MPA_RTR_ZERO_FPDU && config->iwarp.nudge_ms ? NUDGES : 0;
}

/* The socket is fresh, its buffer empty: the Terminate fits. The queue pair is left as it is, for the next attempt. */
void stream_terminate(struct fabric_conn *c, enum wire_error error)
{
    uint8_t fpdu[IW_TERMINATE_FPDU];
    struct iovec iov = { fpdu, iw_terminate_frame(c->result.crc, error, fpdu) };

    (void)c->fabric->net->ops->send(&c->socket, &iov, 1);
}

void stream_stop(struct fabric_conn *c, enum rdma_status status, enum fabric_reason why)
{
    if (!c->streams)
        return;
    stream_stop_nudging(c);
    liveness_stop(c);
    c->qp->stopped = why;
    c->qp->terminate = c->terminate;
    iwarp_qp_set_reason(c->qp, why, c->terminate);
    iw_qp_stop(c->qp->iw, status);
    if (c->qp->srq)
        iwarp_srq_update(c->qp);
    stream_add_counts(c);
    c->signals = 0;
    c->streams = false;
    c->qp->conn = NULL;
}

/* Copying much takes long: a lease must not run out while its poller is in this very turn. */
static void stream_keep_lease(struct fabric_conn *c, ssize_t moved)
{
    if (moved >= LONG_COPY)
        shard_renew_lease(c->home->shard);
}

/* ---- input ---- */

/* Bytes that came before complete go through the queue pair first. */
static void stream_take_early(struct fabric_conn *c)
{
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_IOV_MAX];
    size_t at = 0;

    if (!c->early_len)
        return;
    while (at < c->early_len) {
        int n = iw_qp_rx_want(iw, c->home->scratch, iov, IW_IOV_MAX);
        size_t taken = 0;

        for (int i = 0; i < n && at + taken < c->early_len; i++) {
            size_t left = c->early_len - at - taken;
            size_t len = iov[i].iov_len < left ? iov[i].iov_len : left;
            memcpy(iov[i].iov_base, c->early + at + taken, len);
            taken += len;
        }
        if (n <= 0)
            break;
        iw_qp_rx_done(iw, c->home->scratch, taken);
        at += taken;
    }
    c->early_len = 0;
    c->fabric->net->ops->pause_read(&c->socket, false);
    c->readable = true;
}

/* Nobody reads any more: whatever the socket learns from now on, a reset too, is not to be reported for ever. */
void stream_end_input(struct fabric_conn *c)
{
    c->eof = true;
    c->fabric->net->ops->pause_read(&c->socket, true);
}

/* One read. Returns true to go on. *came: it was not in vain. *out: the connection is lost. */
static bool stream_receive_once(struct fabric_conn *c, bool *came, struct conn_outcome *out)
{
    struct iw_scratch *scratch = c->home->scratch;
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_IOV_MAX];
    int n = iw_qp_rx_want(iw, scratch, iov, IW_IOV_MAX);
    ssize_t got;

    if (n == 0)
        return false;
    got = c->fabric->net->ops->recv(&c->socket, iov, n);
    stream_keep_lease(c, got);
    iw_qp_rx_done(iw, scratch, got > 0 ? (size_t)got : 0);
    *came = *came || got != -EAGAIN;
    if (got > 0 && (size_t)got == iwarp_iov_len(iov, n))
        return c->signals == 0;
    c->readable = false;
    if (got == 0) {
        stream_end_input(c);
        iw_qp_rx_eof(iw);
    } else if (got < 0 && got != -EAGAIN && c->signals == 0) {
        *out = (struct conn_outcome){ CONN_LOST, iwarp_reason_stream((int)-got) };
    }
    return false;
}

static bool stream_peer_spoke(const struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    return now.octets_received != c->at_start.octets_received;
}

/* May this turn read once more? The clock is read before a further read alone: most turns read once. */
static bool stream_has_turn_left(struct fabric_conn *c, int reads, uint64_t *until)
{
    uint64_t now;

    if (reads == RX_BATCH || iw_qp_rx_is_at_limit(c->qp->iw))
        return false;
    if (reads == 0)
        return true;
    now = shard_clock(c->home->shard);
    if (reads == 1)
        *until = now + RX_NS;
    return now < *until;
}

/* One turn: bounded by reads, frames and time. What is left comes in turns behind those of the others. */
static struct conn_outcome stream_receive_turn(struct fabric_conn *c, bool *came)
{
    struct conn_outcome out = conn_nothing;
    struct iw_qp *iw = c->qp->iw;
    uint64_t until = 0;
    int reads = 0;

    iw_qp_rx_limit(iw, IWARP_MAX_TURN_FPDUS);
    if (iw_qp_rx_has_rest(iw)) {
        iw_qp_rx_resume(iw, c->home->scratch);
        *came = true;
    }
    while (c->readable && !c->eof && stream_has_turn_left(c, reads, &until) && stream_receive_once(c, came, &out))
        reads++;
    if (out.event == CONN_NOTHING && iw_qp_rx_has_rest(iw))
        c->fabric->net->ops->set_readable(&c->socket);
    return out;
}

/* *came: input has come. */
static struct conn_outcome stream_receive(struct fabric_conn *c, bool *came)
{
    struct conn_outcome out;

    *came = c->early_len > 0;
    stream_take_early(c);
    out = stream_receive_turn(c, came);
    if (out.event != CONN_NOTHING)
        return out;
    if (c->nudges_left && (stream_peer_spoke(c) || c->eof))
        stream_stop_nudging(c);
    if (*came && iw_qp_tx_wants(c->qp->iw))
        c->sent_all = false; /* there is something to answer */
    if (*came)
        liveness_received(c);
    return conn_nothing;
}

/* ---- output ---- */

/* One write. Returns true to go on. *out: the connection is lost. */
static bool stream_send_once(struct fabric_conn *c, struct conn_outcome *out, size_t *bytes)
{
    struct iw_scratch *scratch = c->home->scratch;
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_IOV_MAX];
    int n = iw_qp_tx_want(iw, scratch, iov, IW_IOV_MAX);
    ssize_t sent;

    c->sent_all = n == 0;
    if (n == 0) {
        iw_qp_tx_done(iw, scratch, 0);
        return false;
    }
    sent = c->fabric->net->ops->send(&c->socket, iov, n);
    stream_keep_lease(c, sent);
    iw_qp_tx_done(iw, scratch, sent > 0 ? (size_t)sent : 0);
    *bytes += sent > 0 ? (size_t)sent : 0;
    if (sent >= 0 && (size_t)sent == iwarp_iov_len(iov, n)) {
        c->sent_all = iw_qp_tx_was_all(scratch);
        return !c->sent_all && c->signals == 0;
    }
    c->blocked = sent >= 0 || sent == -EAGAIN;
    if (!c->blocked && c->signals == 0)
        *out = (struct conn_outcome){ CONN_LOST, iwarp_reason_stream((int)-sent) };
    return false;
}

static void stream_watch_silence(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    if (now.fpdus_sent != c->at_start.fpdus_sent)
        shard_timer_set(c->home->shard, &c->nudge, shard_now(c->home->shard) +
                        (c->fabric->config.iwarp.nudge_ms * UINT64_C(1000000) << (NUDGES - c->nudges_left)));
}

static struct conn_outcome stream_send_turn(struct fabric_conn *c)
{
    struct conn_outcome out = conn_nothing;
    size_t bytes = 0;
    bool more;
    int sent = 0;

    if (c->state == CONN_NOTICE_SENT)
        return conn_nothing;
    do
        more = !c->blocked && stream_send_once(c, &out, &bytes);
    while (more && ++sent < TX_BATCH && bytes < TX_BYTES);
    if (more)
        iwarp_qp_defer_to_poll(c->qp);
    if (out.event == CONN_NOTHING && c->nudges_left && !c->nudge.armed)
        stream_watch_silence(c);
    return out;
}

/*
 * The peer has been silent since our first FPDU. It is sent a zero-length RDMA write: RFC 5041 has a receiver take a
 * zero-length tagged segment without looking at its STag, it completes nothing and moves no data, so that the only
 * thing it can do is to have the peer look at its socket again. One that has given notice may have closed its socket,
 * and would answer with a reset.
 */
bool stream_is_silent(const struct fabric_conn *c)
{
    return c->nudges_left && c->streams && c->state != CONN_NOTICE_SENT;
}

void stream_nudge(struct fabric_conn *c)
{
    c->nudges_left--;
    if (c->sent_all && iw_qp_tx_clean(c->qp->iw)) {
        iw_qp_send_rtr(c->qp->iw, MPA_RTR_WRITE);
        c->sent_all = false;
    }
}

/* ---- both ---- */

/* What was posted before disconnect has gone. After the peer's notice reads are not answered any more. */
static bool stream_is_drained(const struct fabric_conn *c)
{
    const struct iw_qp *iw = c->qp->iw;

    return iw_qp_initiator_idle(iw) || (c->state == CONN_CLOSING && c->sent_all && iw_qp_tx_clean(iw));
}

/* What can be said when everything that could be sent has been. */
static struct conn_outcome stream_progress(const struct fabric_conn *c)
{
    const struct iw_startup_result *r = &c->result;

    switch (c->state) {
    case CONN_COMPLETING:
        if (!r->peer_to_peer || (r->rtr != MPA_RTR_READ && c->sent_all && iw_qp_tx_clean(c->qp->iw)))
            return (struct conn_outcome){ CONN_UP, FABRIC_OK };
        break;
    case CONN_DRAINING:
    case CONN_CLOSING:
        if (stream_is_drained(c))
            return (struct conn_outcome){ CONN_DRAINED, FABRIC_OK };
        break;
    default:
        break;
    }
    return conn_nothing;
}

struct conn_outcome stream_send(struct fabric_conn *c)
{
    struct conn_outcome out = stream_send_turn(c);

    if (out.event != CONN_NOTHING)
        return out;
    stream_add_counts(c);
    out = stream_take_signal(c);
    return out.event == CONN_NOTHING ? stream_progress(c) : out;
}

struct conn_outcome stream_pump(struct fabric_conn *c)
{
    struct conn_outcome out = stream_take_signal(c);
    bool came;

    if (out.event == CONN_NOTHING)
        out = stream_receive(c, &came);
    if (out.event != CONN_NOTHING)
        return out;
    /* Whatever is posted rings by itself. */
    if (c->sent_all && c->signals == 0 && c->state == CONN_ESTABLISHED) {
        if (came)
            stream_add_counts(c);
        return conn_nothing;
    }
    out = stream_take_signal(c);
    return out.event == CONN_NOTHING ? stream_send(c) : out;
}
