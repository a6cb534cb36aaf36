/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes between a connection's socket and its queue pair. The invariant: the upcalls of the queue pair do not
 * change the connection's state, because the queue pair is still in use while they run. The upcalls only queue
 * completions and set signals. After the upcalls, stream_next_event turns the signals into events.
 *
 * The number of reads and writes in one turn is limited. If input remains after a turn, the socket is reported as
 * readable again. If output remains, the queue pair's task `transmit` is posted again (doorbell_defer_to_poll).
 */
#include "fabric/iwarp/conn_phase.h"
#include "fabric/iwarp/conn_trace.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/reason.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
    MAX_NUDGES = 6,
    MAX_READS = 16,                /* maximum number of reads in one turn */
    MAX_READ_NS = 200000,          /* further reads may begin until this time has passed since the turn's first read */
    MAX_WRITES = 16,               /* maximum number of writes in one turn */
    MAX_WRITE_BYTES = 1024 * 1024, /* a turn ends when it has written this many bytes, after about 0.2 ms */
    LONG_COPY = 32 * 1024,         /* a system call that copies at least this many bytes renews the polling lease */
};

/* ---- upcalls ---- */

static struct fabric_conn *stream_conn(struct iw_qp *iw)
{
    return ((struct fabric_qp *)iw_qp_owner(iw))->conn;
}

static_assert(FABRIC_REASON_COUNT <= UINT8_MAX, "rdma_completion.reason has room for every reason");

/* Sets the reason of a failed request. The reason of a stopped or flushed request is qp->stopped. */
static void stream_set_reason(const struct fabric_qp *qp, struct rdma_completion *c)
{
    enum iw_end end = iw_qp_end(qp->iw);

    c->reason = (uint8_t)iwarp_reason_completion(c, end, qp->stopped);
    if (c->status == RDMA_STATUS_FLUSHED || (c->status == RDMA_STATUS_LOST && end == IW_END_NONE))
        c->terminate = qp->terminate;
    else if (c->status == RDMA_STATUS_LOCAL_ACCESS || c->error == WIRE_OK)
        c->terminate = FABRIC_NO_TERMINATE;
    else
        c->terminate = (uint16_t)c->error;
    c->solicited = true;
}

static void stream_on_complete(struct iw_qp *iw, struct rdma_completion *c, unsigned n)
{
    const struct fabric_qp *qp = iw_qp_owner(iw);
    bool receives = c->op == RDMA_OP_RECEIVE || c->op == RDMA_OP_RECEIVE_AND_INVALIDATE;

    for (unsigned i = 0; i < n; i++) {
        if (c[i].status != RDMA_STATUS_OK)
            stream_set_reason(qp, &c[i]);
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

    if (error != WIRE_OK) {
        c->terminate = (uint16_t)error;
        conn_trace_terminate(c, why != IW_END_PEER_TERMINATE, c->terminate);
    }
    iwarp_qp_set_reason(c->qp, iwarp_qp_first_cause(c->qp, iwarp_reason_end(why)), c->terminate);
    c->signals |= SIGNAL_ENDED;
    c->end = why;
}

static void stream_on_frame(struct iw_qp *iw, const struct iw_frame *f)
{
    conn_trace_fpdu(stream_conn(iw), f);
}

const struct iw_qp_events stream_events = { .complete = stream_on_complete,
                                            .first_fpdu = stream_on_first_fpdu,
                                            .rtr_answered = stream_on_rtr_answered,
                                            .peer_closed = stream_on_peer_closed,
                                            .ended = stream_on_ended,
                                            .frame = stream_on_frame };

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
    bool ours = c->end != IW_END_PEER_TERMINATE && c->end != IW_END_TRUNCATED; /* this side must send a Terminate */

    return (struct conn_outcome){ ours ? CONN_FAULT : CONN_LOST, iwarp_reason_end(c->end) };
}

/*
 * Clears the signals and returns the event that they cause. If the event is CONN_UP, the signals of the stream's end
 * stay set: a later call returns the end.
 */
static struct conn_outcome stream_next_event(struct fabric_conn *c)
{
    unsigned signals = c->signals;

    c->signals = 0;
    if (!signals || !conn_state_streams(c->state))
        return conn_nothing; /* no signal, or a state in which only the last frame is sent */
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
    iwarp_count(c->home, COUNT_BYTES_SENT, now.bytes_sent - c->counted.bytes_sent);
    iwarp_count(c->home, COUNT_BYTES_RECEIVED, now.bytes_received - c->counted.bytes_received);
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

/* Reads the segment size again. Called after output was blocked, because the path's MTU may have become smaller. */
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
        .send_after_first_fpdu = !c->active,
        .post_after_first_fpdu = !c->active && c->result.peer_to_peer,
    };

    c->qp->conn = c;
    c->streams = true;
    c->signals = 0;
    c->sent_all = false;
    c->terminate = FABRIC_NO_TERMINATE;
    iwarp_qp_set_reason(c->qp, FABRIC_OK, FABRIC_NO_TERMINATE);
    TRACE(stream, c->number, .revision = c->result.revision, .crc = s.crc, .ird = s.ird, .ord = s.ord,
          .ready = (uint8_t)c->result.rtr, .max_segment = (uint32_t)s.max_segment);
    if (trace_is_on())
        iw_qp_report_frames(c->qp->iw, trace_payload_limit());
    iw_qp_start(c->qp->iw, &s);
    iw_qp_counters(c->qp->iw, &c->counted);
    c->at_start = c->counted;
    if (c->active && c->result.peer_to_peer)
        iw_qp_send_rtr(c->qp->iw, c->result.rtr);
    /*
     * Only Linux siw needs nudges: see fabric/config.h. siw never selects the empty FPDU as ready-to-receive form, so a
     * peer that has selected it needs no nudge.
     */
    c->nudges_left = c->active && c->result.rtr != MPA_RTR_ZERO_FPDU && config->iwarp.nudge_ms ? MAX_NUDGES : 0;
}

/*
 * Sends a Terminate although no stream runs. It fits into the socket's buffer, because this side has sent only the
 * request, and the peer has received the request. Does not change the queue pair.
 */
void stream_terminate(struct fabric_conn *c, enum wire_error error)
{
    uint8_t fpdu[IW_TERMINATE_FPDU];
    struct iovec iov = { fpdu, iw_terminate_frame(c->result.crc, error, fpdu) };

    conn_trace_terminate(c, true, (uint16_t)error);
    conn_trace_begin_send(c);
    conn_trace_lone_terminate(c, fpdu);
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

/* After a long copy, renews the polling lease (engine/shard.h), so that the lease does not expire during this turn. */
static void stream_renew_lease(struct fabric_conn *c, ssize_t copied)
{
    if (copied >= LONG_COPY)
        shard_renew_lease(c->home->shard);
}

/* ---- input ---- */

/* Passes the bytes that arrived before NdkCompleteConnect to the queue pair. */
static void stream_receive_early(struct fabric_conn *c)
{
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_MAX_IOV];
    size_t at = 0;

    if (!c->early_len)
        return;
    while (at < c->early_len) {
        int n = iw_qp_rx_want(iw, c->home->scratch, iov, IW_MAX_IOV);
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

/* Stops reading the socket. From now on the transport reports neither input nor a reset. */
void stream_end_input(struct fabric_conn *c)
{
    c->eof = true;
    c->fabric->net->ops->pause_read(&c->socket, true);
}

/*
 * Returns CONN_LOST if the peer has reset the connection in the state PEER_CLOSED. In that state nothing reads the
 * socket, so a reset is detected only by this function, or when this side sends.
 */
struct conn_outcome stream_check_reset(struct fabric_conn *c)
{
    int error = c->state == CONN_PEER_CLOSED ? c->fabric->net->ops->get_error(&c->socket) : 0;

    return error ? (struct conn_outcome){ CONN_LOST, iwarp_reason_stream(error) } : conn_nothing;
}

static bool stream_has_received(const struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    return now.bytes_received != c->at_start.bytes_received;
}

/*
 * Returns true if this turn may read the socket once more. Reads the clock only before the second and later reads,
 * because most turns read only once.
 */
static bool stream_may_read(struct fabric_conn *c, int reads, uint64_t *deadline)
{
    uint64_t now;

    if (!c->readable || c->eof || reads == MAX_READS || iw_qp_rx_is_at_limit(c->qp->iw))
        return false;
    if (reads == 0)
        return true;
    now = shard_clock(c->home->shard);
    if (reads == 1)
        *deadline = now + MAX_READ_NS;
    return now < *deadline;
}

/*
 * Handles a read that has returned `got` and had room for `room` bytes. Returns false if this turn must not read again.
 */
static bool stream_handle_read(struct fabric_conn *c, ssize_t got, size_t room, struct conn_outcome *out)
{
    if (got > 0 && (size_t)got == room)
        return c->signals == 0;
    c->readable = false;
    if (got == 0) {
        stream_end_input(c);
        iw_qp_rx_eof(c->qp->iw);
    } else if (got < 0 && got != -EAGAIN && c->signals == 0) {
        *out = (struct conn_outcome){ CONN_LOST, iwarp_reason_stream((int)-got) };
    }
    return false;
}

/* Begins a turn with input that was read earlier but not processed. Returns false if there is no such input. */
static bool stream_resume(struct fabric_conn *c)
{
    struct iw_qp *iw = c->qp->iw;
    bool has_early = c->early_len > 0, has_staged;

    conn_trace_follow(c);
    stream_receive_early(c);
    iw_qp_rx_set_limit(iw, IWARP_MAX_TURN_FPDUS);
    has_staged = iw_qp_rx_has_staged(iw);
    if (has_staged)
        iw_qp_rx_resume(iw, c->home->scratch);
    return has_early || has_staged;
}

static void stream_end_read_turn(struct fabric_conn *c, bool received)
{
    if (iw_qp_rx_has_staged(c->qp->iw))
        c->fabric->net->ops->set_readable(&c->socket);
    if (c->nudges_left && (stream_has_received(c) || c->eof))
        stream_stop_nudging(c);
    if (received && iw_qp_tx_has_work(c->qp->iw))
        c->sent_all = false; /* the queue pair has an answer to send */
    if (received)
        liveness_received(c);
}

/*
 * Runs one turn of receiving. The turn is limited in the number of reads, the number of FPDUs and the time. Further
 * input is received by a later turn, after the turns of other connections. Sets *received to true if the turn had
 * input. Returns CONN_LOST if the socket failed.
 */
static struct conn_outcome stream_receive(struct fabric_conn *c, bool *received)
{
    struct iw_scratch *scratch = c->home->scratch;
    struct conn_outcome out = conn_nothing;
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_MAX_IOV];
    uint64_t deadline = 0;
    bool more = true;

    *received = stream_resume(c);
    for (int reads = 0; more && stream_may_read(c, reads, &deadline); reads++) {
        int n = iw_qp_rx_want(iw, scratch, iov, IW_MAX_IOV);
        ssize_t got;

        if (n == 0)
            break;
        got = c->fabric->net->ops->recv(&c->socket, iov, n);
        stream_renew_lease(c, got);
        iw_qp_rx_done(iw, scratch, got > 0 ? (size_t)got : 0);
        *received = *received || got != -EAGAIN;
        more = stream_handle_read(c, got, iwarp_iov_len(iov, n), &out);
    }
    if (out.event == CONN_NOTHING)
        stream_end_read_turn(c, *received);
    return out;
}

/* ---- output ---- */

/* Handles a write of `wanted` bytes that has returned `sent`. Returns false if this turn must not write again. */
static bool stream_handle_write(struct fabric_conn *c, ssize_t sent, size_t wanted, struct conn_outcome *out)
{
    c->sent_all = wanted == 0;
    if (wanted == 0)
        return false;
    if (sent >= 0 && (size_t)sent == wanted) {
        c->sent_all = iw_qp_tx_framed_all(c->home->scratch);
        return !c->sent_all && c->signals == 0;
    }
    c->blocked = sent >= 0 || sent == -EAGAIN;
    if (c->blocked)
        TRACE(blocked, c->number, .wanted = (uint32_t)wanted, .sent = sent > 0 ? (uint32_t)sent : 0);
    if (!c->blocked && c->signals == 0)
        *out = (struct conn_outcome){ CONN_LOST, iwarp_reason_stream((int)-sent) };
    return false;
}

static void stream_watch_silence(struct fabric_conn *c)
{
    struct iw_counters now;

    iw_qp_counters(c->qp->iw, &now);
    if (now.fpdus_sent != c->at_start.fpdus_sent)
        shard_timer_set(c->home->shard, &c->nudge,
                        shard_now(c->home->shard) +
                            (c->fabric->config.iwarp.nudge_ms * UINT64_C(1000000) << (MAX_NUDGES - c->nudges_left)));
}

/*
 * Returns true if the peer has not answered since this side's first FPDU, so that a nudge may be sent. A nudge is a
 * zero-length RDMA write that makes the peer read its socket again. RFC 5041 requires the peer to accept such a write
 * with any STag. The nudge transfers no data and has no completion. After this side's half-close the function returns
 * false, because the peer may have closed its socket and would answer a nudge with a reset.
 */
bool stream_is_silent(const struct fabric_conn *c)
{
    return c->nudges_left && c->streams && c->state != CONN_NOTICE_SENT;
}

void stream_nudge(struct fabric_conn *c)
{
    c->nudges_left--;
    TRACE(nudge, c->number, .nudges_left = (uint8_t)c->nudges_left);
    if (c->sent_all && iw_qp_tx_is_clean(c->qp->iw)) {
        iw_qp_send_rtr(c->qp->iw, MPA_RTR_WRITE);
        c->sent_all = false;
    }
}

/* ---- input and output ---- */

/*
 * Returns true if all requests that were posted before the disconnect have been sent and answered. In the state CLOSING
 * they need not be answered: the peer has half-closed and answers no reads.
 */
static bool stream_is_drained(const struct fabric_conn *c)
{
    const struct iw_qp *iw = c->qp->iw;

    return iw_qp_initiator_is_idle(iw) || (c->state == CONN_CLOSING && c->sent_all && iw_qp_tx_is_clean(iw));
}

/*
 * If the present state waits only for bytes to be sent, and all of them have been sent, returns the event that ends the
 * state. Otherwise returns CONN_NOTHING.
 */
static struct conn_outcome stream_progress(const struct fabric_conn *c)
{
    const struct iw_startup_result *r = &c->result;

    switch (c->state) {
    case CONN_COMPLETING:
        if (!r->peer_to_peer || (r->rtr != MPA_RTR_READ && c->sent_all && iw_qp_tx_is_clean(c->qp->iw)))
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

/* Returns the event that is due after a turn of writes. */
static struct conn_outcome stream_end_write_turn(struct fabric_conn *c)
{
    struct conn_outcome out;

    stream_add_counts(c);
    out = stream_next_event(c);
    return out.event == CONN_NOTHING ? stream_progress(c) : out;
}

/* Runs one turn of writes to the socket. The turn is limited in the number of writes and bytes. */
struct conn_outcome stream_send(struct fabric_conn *c)
{
    bool more = !c->blocked && c->state != CONN_NOTICE_SENT;
    struct iw_scratch *scratch = c->home->scratch;
    struct conn_outcome out = conn_nothing;
    struct iw_qp *iw = c->qp->iw;
    struct iovec iov[IW_MAX_IOV];
    size_t bytes = 0;

    for (int writes = 0; more && writes < MAX_WRITES && bytes < MAX_WRITE_BYTES; writes++) {
        int n = iw_qp_tx_want(iw, scratch, iov, IW_MAX_IOV);
        ssize_t sent;

        conn_trace_begin_send(c);
        sent = n > 0 ? c->fabric->net->ops->send(&c->socket, iov, n) : 0;
        stream_renew_lease(c, sent);
        iw_qp_tx_done(iw, scratch, sent > 0 ? (size_t)sent : 0);
        bytes += sent > 0 ? (size_t)sent : 0;
        more = stream_handle_write(c, sent, iwarp_iov_len(iov, n), &out);
    }
    if (more)
        doorbell_defer_to_poll(c->qp);
    if (c->nudges_left && !c->nudge.armed && out.event == CONN_NOTHING && c->state != CONN_NOTICE_SENT)
        stream_watch_silence(c);
    return out.event == CONN_NOTHING ? stream_end_write_turn(c) : out;
}

struct conn_outcome stream_pump(struct fabric_conn *c)
{
    struct conn_outcome out = stream_next_event(c);
    bool received;

    if (out.event == CONN_NOTHING)
        out = stream_receive(c, &received);
    if (out.event != CONN_NOTHING)
        return out;
    /* If there is nothing to send, stream_send need not run. The next post of a request rings the doorbell itself. */
    if (c->sent_all && c->signals == 0 && c->state == CONN_ESTABLISHED) {
        if (received)
            stream_add_counts(c);
        return conn_nothing;
    }
    out = stream_next_event(c);
    return out.event == CONN_NOTHING ? stream_send(c) : out;
}
