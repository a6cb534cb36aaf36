/* SPDX-License-Identifier: MIT */
/*
 * Receiving. Bytes come into the shard's staging area, many FPDUs at once, except where their destination is known:
 *
 *   - With CRC, an FPDU is staged whole, verified, then placed. The incomplete one at the end is kept in the queue
 *     pair, a large one in a buffer, where the next bytes then go directly.
 *   - Without, as soon as an FPDU's header is there the rest of its payload goes from the transport to its destination
 *     (`direct`); only headers, trailers, and control messages are staged.
 *
 * A turn processes no more frames than iw_qp_rx_limit says. Staged bytes beyond keep their staging area, which belongs
 * to the queue pair until the next turns have processed them.
 *
 * Judging a segment changes nothing, placing touches only memory that is protected for it, finishing cannot fail except
 * for a Read Request, whose source is looked up there, and for the end of a send with invalidate, whose STag may have
 * gone since it was judged. A fault ends the stream, and names the segment in the Terminate.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "iwarp/qp_internal.h"
#include "wire/crc32c.h"

/* Judging */

static enum wire_error judge_send(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    const struct entry *e = queue_at(&qp->rq, queue_head(&qp->rq));

    if (h->msn != qp->rx.send_msn)
        return WIRE_DDP_UNTAGGED_MSN_RANGE;
    if (queue_head(&qp->rq) == queue_tail(&qp->rq))
        return WIRE_DDP_UNTAGGED_NO_BUFFER;
    if (h->mo != qp->rx.mo)
        return WIRE_DDP_UNTAGGED_MO;
    if (payload > e->length - qp->rx.mo)
        return WIRE_DDP_UNTAGGED_TOO_LONG;
    return WIRE_OK;
}

static bool invalidates(const struct ddp_header *h)
{
    return h->opcode == RDMAP_SEND_INV || h->opcode == RDMAP_SEND_SE_INV;
}

/* Segment by segment: what the last one says decides, but none may name what it has no right to. */
static enum wire_error judge_invalidate(const struct iw_qp *qp, const struct ddp_header *h)
{
    if (!invalidates(h))
        return WIRE_OK;
    return mem_check_revoke(qp->memory, qp->domain, h->stag, true);
}

static enum wire_error judge_terminate(const struct ddp_header *h, uint32_t payload)
{
    if (h->msn != 1)
        return WIRE_DDP_UNTAGGED_MSN_RANGE;
    if (h->mo != 0)
        return WIRE_DDP_UNTAGGED_MO;
    return payload > TERMINATE_MAX_PAYLOAD ? WIRE_DDP_UNTAGGED_TOO_LONG : WIRE_OK;
}

static enum wire_error judge_untagged(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    enum wire_error error;

    switch (h->queue) {
    case DDP_QUEUE_SEND:
        if (h->opcode < RDMAP_SEND || h->opcode > RDMAP_SEND_SE_INV)
            return WIRE_RDMAP_OPCODE;
        error = judge_send(qp, h, payload);
        return error == WIRE_OK ? judge_invalidate(qp, h) : error;
    case DDP_QUEUE_READ:
        return h->opcode == RDMAP_READ_REQ ? reads_check_request(qp, h, payload) : WIRE_RDMAP_OPCODE;
    default:
        return h->opcode == RDMAP_TERMINATE ? judge_terminate(h, payload) : WIRE_RDMAP_OPCODE;
    }
}

/* DDP's own fields first, then RDMAP's, then what they refer to. */
static enum wire_error judge(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload)
{
    if (h->ddp_version != DDP_VERSION)
        return h->tagged ? WIRE_DDP_TAGGED_VERSION : WIRE_DDP_UNTAGGED_VERSION;
    if (!h->tagged && h->queue > DDP_QUEUE_TERMINATE)
        return WIRE_DDP_UNTAGGED_QN;
    if (h->rdmap_version != RDMAP_VERSION)
        return WIRE_RDMAP_VERSION;
    if (!h->tagged)
        return judge_untagged(qp, h, payload);
    if (h->opcode == RDMAP_WRITE)
        return WIRE_OK;
    return h->opcode == RDMAP_READ_RESP ? reads_check_response(qp, h, payload) : WIRE_RDMAP_OPCODE;
}

/* Control messages are taken whole, everything else is placed. */
static bool is_placed(const struct ddp_header *h)
{
    return h->tagged || h->queue == DDP_QUEUE_SEND;
}

static struct entry *segment_entry(const struct iw_qp *qp, const struct rx_segment *g)
{
    return g->header.tagged ? reads_oldest(qp) : queue_at(&qp->rq, queue_head(&qp->rq));
}

/* Faults */

/* WIRE_DDP_CATASTROPHIC is a fault of ours: the destination that our own request named. */
static void fault(struct iw_qp *qp, const struct rx_segment *g, enum wire_error error, const uint8_t *ulpdu, size_t len)
{
    if (error == WIRE_DDP_UNTAGGED_TOO_LONG && !g->header.tagged && g->header.queue == DDP_QUEUE_SEND)
        entry_fail(segment_entry(qp, g), RDMA_STATUS_TOO_LONG, error);
    terminate_queue(qp, error, ulpdu, len, g->ulpdu);
    stream_end(qp, error == WIRE_DDP_CATASTROPHIC ? IW_END_LOCAL_REQUEST : IW_END_LOCAL_ERROR, error);
}

/* A fault of the framing: there is no segment to name. */
static void fault_stream(struct iw_qp *qp, enum wire_error error)
{
    terminate_queue(qp, error, NULL, 0, 0);
    stream_end(qp, IW_END_LOCAL_ERROR, error);
}

/* Placing */

/* The destination of the next octets of the segment, len of them at most (less where SGEs are many). */
static enum wire_error segment_map(const struct iw_qp *qp, const struct rx_segment *g, struct pieces *p, uint32_t len,
                                   unsigned max)
{
    const struct ddp_header *h = &g->header;
    enum wire_error error;
    struct entry *e;
    uint32_t offset;

    if (h->tagged && h->opcode == RDMAP_WRITE) {
        unsigned access = RDMA_ACCESS_REMOTE_WRITE;
        return pieces_of_region(qp, p, h->stag, h->to + g->placed, len, access, max);
    }
    e = segment_entry(qp, g);
    offset = (h->tagged ? e->received : qp->rx.mo) + g->placed;
    error = pieces_of_entry(qp, p, e, offset, len, RDMA_ACCESS_LOCAL_WRITE, max);
    if (error == WIRE_OK)
        return WIRE_OK;
    entry_fail(e, RDMA_STATUS_LOCAL_ACCESS, error);
    return WIRE_DDP_CATASTROPHIC;
}

static enum wire_error segment_place(const struct iw_qp *qp, struct iw_scratch *s, struct rx_segment *g,
                                     const uint8_t *data, uint32_t len)
{
    while (len > 0) {
        enum wire_error error = segment_map(qp, g, &s->pieces, len, IW_IOV_MAX);
        uint32_t placed = s->pieces.length;

        for (unsigned i = 0; error == WIRE_OK && i < s->pieces.count; i++) {
            copy_bytes(s->pieces.iov[i].iov_base, data, s->pieces.iov[i].iov_len);
            data += s->pieces.iov[i].iov_len;
        }
        pieces_release(&s->pieces);
        if (error != WIRE_OK)
            return error;
        g->placed += placed;
        len -= placed;
    }
    return WIRE_OK;
}

/* Finishing */

/* The message's last octet is placed, and no protection is held. */
static enum wire_error finish_invalidate(const struct iw_qp *qp, const struct ddp_header *h, struct entry *e)
{
    enum wire_error error = WIRE_OK;

    error = mem_revoke(qp->memory, qp->domain, h->stag, true);
    e->invalidated = true;
    e->stag = h->stag;
    return error;
}

static enum wire_error finish_send(struct iw_qp *qp, const struct rx_segment *g)
{
    struct entry *e = queue_at(&qp->rq, queue_head(&qp->rq));
    const struct ddp_header *h = &g->header;
    enum wire_error error = WIRE_OK;

    qp->rx.mo += g->payload;
    if (!h->last)
        return WIRE_OK;
    if (invalidates(h))
        error = finish_invalidate(qp, h, e);
    if (error != WIRE_OK)
        return error;
    e->received = qp->rx.mo;
    qp->rx.mo = 0;
    qp->rx.send_msn++;
    queue_complete(qp, &qp->rq, RDMA_STATUS_OK, WIRE_OK, h->opcode == RDMAP_SEND_SE || h->opcode == RDMAP_SEND_SE_INV);
    return WIRE_OK;
}

static void fpdu_seen(struct iw_qp *qp)
{
    count(&qp->fpdus_received, 1);
    if (qp->rx.seen)
        return;
    qp->rx.seen = true;
    qp->awaits_first_fpdu = false;
    queue_open(&qp->sq, true);
    qp->events->first_fpdu(qp);
}

/* It waits until nobody touches what it ends. */
static bool ends_memory(const struct iw_qp *qp, const struct ddp_header *h)
{
    const struct entry *read = h->opcode == RDMAP_READ_RESP ? reads_oldest(qp) : NULL;

    return invalidates(h) || (read && read->flags & RDMA_FLAG_READ_INVALIDATE);
}

/* payload: of a control message. */
static enum wire_error segment_finish(struct iw_qp *qp, struct iw_scratch *s, const struct rx_segment *g,
                                      const uint8_t *payload)
{
    const struct ddp_header *h = &g->header;

    if (ends_memory(qp, h))
        mem_release(&s->pieces.cached.ref);
    fpdu_seen(qp);
    switch (h->opcode) {
    case RDMAP_WRITE:
        qp->rx.write_open = !h->last;
        return WIRE_OK;
    case RDMAP_READ_RESP:
        reads_finish_response(qp, h, g->payload);
        return WIRE_OK;
    case RDMAP_TERMINATE:
        terminate_received(qp, payload, g->payload);
        return WIRE_OK;
    default:
        return finish_send(qp, g);
    }
}

/* FPDUs */

static bool crc_is_right(const uint8_t *fpdu, uint32_t ulpdu)
{
    size_t covered = mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC;
    uint8_t sum[MPA_FPDU_CRC];

    crc32c_final(crc32c_update(CRC32C_INIT, fpdu, covered), sum);
    return memcmp(sum, fpdu + covered, sizeof sum) == 0;
}

static void empty_fpdu(struct iw_qp *qp)
{
    /* Only a form of ready-to-receive, so only at the beginning. */
    if (qp->rx.seen)
        fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
    else
        fpdu_seen(qp);
}

/* A Read Request is judged by its content too, and only then the FPDU was a valid one. */
static enum wire_error read_requested(struct iw_qp *qp, const uint8_t *payload)
{
    enum wire_error error = reads_accept(qp, payload);

    if (error == WIRE_OK)
        fpdu_seen(qp);
    return error;
}

/* A whole FPDU. The bytes are not the queue pair's own: ending the stream does not free them. */
static void fpdu_whole(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, uint32_t ulpdu)
{
    struct rx_segment g = { .ulpdu = ulpdu };
    const uint8_t *bytes = fpdu + MPA_FPDU_LENGTH;
    enum wire_error error;
    size_t size;

    if (qp->crc && !crc_is_right(fpdu, ulpdu)) {
        fault_stream(qp, WIRE_MPA_CRC);
        return;
    }
    if (ulpdu == 0) {
        empty_fpdu(qp);
        return;
    }
    if (!ddp_header_decode(&g.header, bytes, ulpdu, &size)) {
        fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
        return;
    }
    g.payload = ulpdu - (uint32_t)size;
    srq_supply(qp, &g.header);
    error = judge(qp, &g.header, g.payload);
    if (error == WIRE_OK && is_placed(&g.header))
        error = segment_place(qp, s, &g, bytes + size, g.payload);
    if (error == WIRE_OK && g.header.opcode == RDMAP_READ_REQ)
        error = read_requested(qp, bytes + size);
    else if (error == WIRE_OK)
        error = segment_finish(qp, s, &g, bytes + size);
    if (error != WIRE_OK)
        fault(qp, &g, error, bytes, ulpdu);
}

/* A message's last FPDU mostly is a short one, and says nothing of what follows. */
static void remember_size(struct iw_qp *qp, size_t size)
{
    if (size >= SHORT_FPDU)
        qp->rx.large = FEW_SHORT;
    else if (qp->rx.large > 0)
        qp->rx.large--;
}

/* Direct placement */

/* Looks at the whole destination, so that no octet is placed of a segment that does not fit. */
static enum wire_error segment_check(const struct iw_qp *qp, struct iw_scratch *s, const struct rx_segment *g)
{
    enum wire_error error = g->payload > 0 ? segment_map(qp, g, &s->pieces, g->payload, IW_IOV_MAX) : WIRE_OK;

    pieces_release(&s->pieces);
    return error;
}

/* Begins with a segment whose FPDU is not complete. Octets used; 0: more has to come first, or it is taken whole. */
static size_t direct_begin(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, size_t len, uint32_t ulpdu)
{
    size_t avail = len - MPA_FPDU_LENGTH < ulpdu ? len - MPA_FPDU_LENGTH : ulpdu;
    const uint8_t *bytes = fpdu + MPA_FPDU_LENGTH;
    struct rx_segment g = { .ulpdu = ulpdu };
    enum wire_error error;
    size_t size;

    if (avail == 0 || !ddp_header_decode(&g.header, bytes, avail, &size)) {
        if (avail == ulpdu && ulpdu > 0)
            fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
        return 0;
    }
    g.payload = ulpdu - (uint32_t)size;
    if (!is_placed(&g.header) && g.payload <= TERMINATE_MAX_PAYLOAD)
        return 0;
    srq_supply(qp, &g.header);
    error = judge(qp, &g.header, g.payload); /* a longer control message never passes */
    if (error == WIRE_OK)
        error = segment_check(qp, s, &g);
    if (error != WIRE_OK) {
        fault(qp, &g, error, bytes, avail);
        return 0;
    }
    g.trailer = (uint32_t)(mpa_fpdu_size(ulpdu) - MPA_FPDU_LENGTH - ulpdu);
    memcpy(g.raw, bytes, size);
    qp->rx.segment = g;
    qp->rx.direct = true;
    return MPA_FPDU_LENGTH + size;
}

static void direct_fault(struct iw_qp *qp, enum wire_error error)
{
    struct rx_segment g = qp->rx.segment;

    fault(qp, &g, error, g.raw, g.ulpdu - g.payload);
}

/* Takes staged octets of the segment in progress. */
static size_t direct_take(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    struct rx_segment *g = &qp->rx.segment;
    uint32_t left = g->payload - g->placed;
    uint32_t n = len < left ? (uint32_t)len : left;
    size_t trailer = len - n < g->trailer ? len - n : g->trailer;
    enum wire_error error = segment_place(qp, s, g, bytes, n);

    if (error != WIRE_OK) {
        direct_fault(qp, error);
        return len;
    }
    if (g->placed < g->payload)
        return n;
    g->trailer -= (uint32_t)trailer;
    if (g->trailer == 0) {
        struct rx_segment done = *g;
        qp->rx.direct = false;
        remember_size(qp, done.ulpdu);
        error = segment_finish(qp, s, &done, NULL);
        if (error != WIRE_OK)
            fault(qp, &done, error, done.raw, done.ulpdu - done.payload);
    }
    return n + trailer;
}

/* The staging area */

static uint32_t get_length(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

/* Takes what is complete at bytes; 0: nothing is. */
static size_t parse_one(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    if (qp->rx.direct)
        return direct_take(qp, s, bytes, len);
    if (len < MPA_FPDU_LENGTH)
        return 0;
    uint32_t ulpdu = get_length(bytes);
    size_t size = mpa_fpdu_size(ulpdu);
    if (len < size)
        return qp->crc ? 0 : direct_begin(qp, s, bytes, len, ulpdu);
    fpdu_whole(qp, s, bytes, ulpdu);
    remember_size(qp, size);
    return size;
}

/* An incomplete FPDU stays with the queue pair until more of it comes. */
static void keep(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    uint8_t *to = qp->rx.keep;

    if (len > RX_KEEP) {
        to = qp->rx.buffer = scratch_take(s);
        if (!to) {
            fault_stream(qp, WIRE_MPA_LOCAL_CATASTROPHIC);
            return;
        }
        qp->rx.kept_size = (uint32_t)mpa_fpdu_size(get_length(bytes));
    }
    copy_bytes(to, bytes, len);
    qp->rx.kept = (uint32_t)len;
}

static inline bool is_at_limit(const struct iw_qp *qp)
{
    return atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed) >= qp->rx.limit;
}

/*
 * The turn's frames are spent: what is left of the staging area stays with the queue pair, which takes the area over.
 * False: there is no memory for another one, so the turn goes on.
 */
static bool rest_store(struct iw_qp *qp, struct iw_scratch *s, uint8_t *area, const uint8_t *bytes, size_t len)
{
    if (area == s->stage && !scratch_replace_stage(s)) {
        qp->rx.limit = UINT64_MAX;
        return false;
    }
    qp->rx.rest = area;
    qp->rx.rest_at = (uint32_t)(bytes - area);
    qp->rx.rest_len = (uint32_t)len;
    return true;
}

/* area: the staging area that bytes lie in. */
static void parse(struct iw_qp *qp, struct iw_scratch *s, uint8_t *area, const uint8_t *bytes, size_t len)
{
    while (qp->rx.open && len > 0) {
        if (is_at_limit(qp) && rest_store(qp, s, area, bytes, len))
            return;
        size_t used = parse_one(qp, s, bytes, len);
        if (used == 0)
            break;
        bytes += used;
        len -= used;
    }
    if (qp->rx.open && len > 0)
        keep(qp, s, bytes, len);
}

/* The large FPDU in the buffer is complete. */
static void buffer_done(struct iw_qp *qp, struct iw_scratch *s)
{
    uint8_t *buffer = qp->rx.buffer;

    qp->rx.buffer = NULL;
    qp->rx.kept = 0;
    remember_size(qp, qp->rx.kept_size);
    fpdu_whole(qp, s, buffer, get_length(buffer));
    scratch_give(s, buffer);
}

void iw_qp_rx_limit(struct iw_qp *qp, unsigned frames)
{
    qp->rx.limit = atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed) + frames;
}

bool iw_qp_rx_is_at_limit(const struct iw_qp *qp)
{
    return is_at_limit(qp);
}

bool iw_qp_rx_has_rest(const struct iw_qp *qp)
{
    return qp->rx.rest != NULL;
}

void iw_qp_rx_resume(struct iw_qp *qp, struct iw_scratch *s)
{
    uint8_t *area = qp->rx.rest;

    if (!area)
        return;
    qp->rx.rest = NULL; /* the end of the stream, which frees it, may come in here */
    pieces_keep(&s->pieces, true);
    parse(qp, s, area, area + qp->rx.rest_at, qp->rx.rest_len);
    pieces_keep(&s->pieces, false);
    if (qp->rx.rest != area)
        scratch_give_stage(s, area);
}

int iw_qp_rx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max)
{
    size_t stage = qp->rx.large && !qp->crc ? STAGE_SHORT : STAGE_SIZE;
    struct rx_segment *g = &qp->rx.segment;
    int n = 0;

    s->rx_first = 0;
    assert(!qp->rx.rest);
    if (!qp->rx.open)
        return 0;
    if (qp->rx.buffer) {
        s->rx_first = qp->rx.kept_size - qp->rx.kept;
        iov[n++] = (struct iovec){ qp->rx.buffer + qp->rx.kept, s->rx_first };
    } else if (qp->rx.direct && g->placed < g->payload) {
        uint32_t left = g->payload - g->placed;
        enum wire_error error = segment_map(qp, g, &s->pieces, left, (unsigned)max - 1);

        if (error != WIRE_OK) {
            pieces_release(&s->pieces);
            direct_fault(qp, error);
            return 0;
        }
        s->rx_first = s->pieces.length;
        n = (int)s->pieces.count;
        memcpy(iov, s->pieces.iov, s->pieces.count * sizeof *iov);
        if (s->rx_first < left)
            return n;
        stage = g->ulpdu >= SHORT_FPDU ? STAGE_SHORT : STAGE_SIZE;
    }
    iov[n++] = (struct iovec){ s->stage + RX_KEEP, stage };
    queue_fetch(&qp->rq, queue_head(&qp->rq));
    return n;
}

void iw_qp_rx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    size_t first = n < s->rx_first ? n : s->rx_first;
    size_t before = 0;

    pieces_release(&s->pieces);
    if (!qp->rx.open)
        return;
    count(&qp->octets_received, n);
    pieces_keep(&s->pieces, true);
    if (qp->rx.buffer) {
        qp->rx.kept += (uint32_t)first;
        if (qp->rx.kept == qp->rx.kept_size)
            buffer_done(qp, s);
    } else if (qp->rx.direct) {
        qp->rx.segment.placed += (uint32_t)first;
    } else {
        before = qp->rx.kept;
        memcpy(s->stage + RX_KEEP - before, qp->rx.keep, before);
        qp->rx.kept = 0;
    }
    if (n - first + before > 0)
        parse(qp, s, s->stage, s->stage + RX_KEEP - before, n - first + before);
    pieces_keep(&s->pieces, false);
}

void iw_qp_rx_eof(struct iw_qp *qp)
{
    const struct entry *read = reads_oldest(qp);
    bool fpdu = qp->rx.kept > 0 || qp->rx.direct;
    bool message = qp->rx.mo > 0 || qp->rx.write_open || (read && read->received > 0);

    if (!qp->rx.open)
        return;
    qp->rx.open = false;
    if (fpdu || message)
        stream_end(qp, IW_END_TRUNCATED, WIRE_OK);
    else
        qp->events->peer_closed(qp);
}
