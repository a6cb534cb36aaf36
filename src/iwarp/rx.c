/* SPDX-License-Identifier: MIT */
/*
 * Implements receiving. One receive call stores the bytes of many FPDUs in the shard's staging area. Each whole FPDU is
 * verified, and then its payload is copied to its destination. The last FPDU in the staging area may be incomplete:
 *
 *   - If rx.needs_whole is false (no CRC) and the FPDU's header has arrived, its payload is placed directly (`direct`).
 *     The payload bytes in the staging area are copied. The next receive calls store the other payload bytes at their
 *     destination. Control messages are never placed directly.
 *   - Otherwise the bytes of the FPDU are stored in the queue pair: up to MAX_PARTIAL bytes in partial_small, more in
 *     partial_buffer. If they are in partial_buffer, the next receive calls store the rest of the FPDU there.
 *
 * A turn of receiving processes at most as many FPDUs as iw_qp_rx_set_limit allows. If staged bytes remain, the queue
 * pair becomes the owner of the staging area, and the next turns process those bytes.
 *
 * The invariant: validation of a segment (segment.c) changes nothing. Placement writes only to memory that a lookup
 * protects (memory.h), so that the end of the registration waits for the placement. A valid segment can fail later for
 * three reasons only: the lookup of its destination fails, the contents of a Read Request are not valid, or the STag of
 * a send with invalidate was invalidated after the validation. A fault ends the stream, and the Terminate contains the
 * segment's header.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/qp_internal.h"
#include "wire/crc32c.h"

/*
 * Returns true if the payload goes to the consumer's memory. Otherwise the segment is a control message, which is
 * staged whole.
 */
static bool segment_is_placed(const struct ddp_header *h)
{
    return h->tagged || h->queue == DDP_QUEUE_SEND;
}

/* Returns the read or the receive to which the segment belongs. The segment must not be a write. */
static struct entry *segment_entry(const struct iw_qp *qp, const struct rx_segment *g)
{
    return g->header.tagged ? reads_oldest(qp) : queue_at(&qp->rq, queue_head(&qp->rq));
}

/* Faults */

/*
 * Ends the stream with a Terminate for an error in a segment. The first `len` bytes of the segment are at `ulpdu`.
 * WIRE_DDP_CATASTROPHIC means that the memory of this side's receive or read was no longer valid.
 */
static void rx_fault_segment(struct iw_qp *qp, const struct rx_segment *g, enum wire_error error, const uint8_t *ulpdu,
                             size_t len)
{
    if (error == WIRE_DDP_UNTAGGED_TOO_LONG && !g->header.tagged && g->header.queue == DDP_QUEUE_SEND)
        entry_fail(segment_entry(qp, g), RDMA_STATUS_TOO_LONG, error);
    terminate_queue(qp, error, ulpdu, len, g->ulpdu);
    stream_end(qp, error == WIRE_DDP_CATASTROPHIC ? IW_END_LOCAL_REQUEST : IW_END_LOCAL_ERROR, error);
}

/*
 * Ends the stream because of an error outside of any valid segment, for example a wrong checksum. So the Terminate does
 * not contain the headers of a segment.
 */
static void rx_fault_stream(struct iw_qp *qp, enum wire_error error)
{
    terminate_queue(qp, error, NULL, 0, 0);
    stream_end(qp, IW_END_LOCAL_ERROR, error);
}

/* Placement */

/*
 * Adds to *p the memory where the segment's next `len` bytes must be placed. If this memory has more than `max` pieces,
 * adds only the first `max` pieces.
 */
static enum wire_error segment_map(const struct iw_qp *qp, const struct rx_segment *g, struct pieces *p, uint32_t len,
                                   unsigned max)
{
    const struct ddp_header *h = &g->header;
    enum wire_error error;
    struct entry *e;
    uint32_t offset;

    if (h->tagged && h->opcode == RDMAP_WRITE) {
        unsigned access = RDMA_ACCESS_REMOTE_WRITE;
        return pieces_add_region(qp, p, h->stag, h->to + g->placed, len, access, max);
    }
    e = segment_entry(qp, g);
    offset = (h->tagged ? e->received : qp->rx.mo) + g->placed;
    error = pieces_add_entry(qp, p, e, offset, len, RDMA_ACCESS_LOCAL_WRITE, max);
    if (error == WIRE_OK)
        return WIRE_OK;
    entry_fail(e, RDMA_STATUS_LOCAL_ACCESS, error);
    return WIRE_DDP_CATASTROPHIC;
}

/* Copies the segment's next `len` bytes to their destination. */
static enum wire_error segment_place(const struct iw_qp *qp, struct iw_scratch *s, struct rx_segment *g,
                                     const uint8_t *data, uint32_t len)
{
    while (len > 0) {
        enum wire_error error = segment_map(qp, g, &s->pieces, len, IW_MAX_IOV);
        uint32_t placed = s->pieces.length;

        for (unsigned i = 0; error == WIRE_OK && i < s->pieces.count; i++) {
            memcpy(s->pieces.iov[i].iov_base, data, s->pieces.iov[i].iov_len);
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

/* The end of a segment */

/*
 * Invalidates the send's STag. The caller has placed the whole message, and must have released all its lookups, because
 * mem_revoke waits until nothing protects the memory.
 */
static enum wire_error segment_finish_invalidate(const struct iw_qp *qp, const struct ddp_header *h, struct entry *e)
{
    enum wire_error error = mem_revoke(qp->memory, qp->domain, h->stag, true);

    e->invalidated = true;
    e->stag = h->stag;
    return error;
}

static enum wire_error segment_finish_send(struct iw_qp *qp, const struct rx_segment *g)
{
    struct entry *e = queue_at(&qp->rq, queue_head(&qp->rq));
    const struct ddp_header *h = &g->header;
    enum wire_error error = WIRE_OK;

    qp->rx.mo += g->payload;
    if (!h->last)
        return WIRE_OK;
    if (segment_has_invalidate(h))
        error = segment_finish_invalidate(qp, h, e);
    if (error != WIRE_OK)
        return error;
    message_count(qp, IW_IN_SEND);
    e->received = qp->rx.mo;
    qp->rx.mo = 0;
    qp->rx.send_msn++;
    queue_complete(qp, &qp->rq, RDMA_STATUS_OK, WIRE_OK, h->opcode == RDMAP_SEND_SE || h->opcode == RDMAP_SEND_SE_INV);
    return WIRE_OK;
}

/* Counts a valid FPDU. Reports the first one. */
static void rx_note_fpdu(struct iw_qp *qp)
{
    counter_add(&qp->fpdus_received, 1);
    if (qp->rx.has_begun)
        return;
    qp->rx.has_begun = true;
    qp->awaits_first_fpdu = false;
    queue_set_open(&qp->sq, true);
    qp->events->first_fpdu(qp);
}

/*
 * Returns true if finishing the segment can end a registration. If so, the caller must first release the cached lookup
 * (pieces.cached), because the end of a registration waits until no thread protects it.
 */
static bool segment_ends_region(const struct iw_qp *qp, const struct ddp_header *h)
{
    const struct entry *read = h->opcode == RDMAP_READ_RESP ? reads_oldest(qp) : NULL;

    return segment_has_invalidate(h) || (read && read->flags & RDMA_FLAG_READ_INVALIDATE);
}

/*
 * Finishes a segment. Its payload has been placed, or the segment is a control message with its payload at `payload`.
 */
static enum wire_error segment_finish(struct iw_qp *qp, struct iw_scratch *s, const struct rx_segment *g,
                                      const uint8_t *payload)
{
    const struct ddp_header *h = &g->header;

    if (segment_ends_region(qp, h))
        mem_release(&s->pieces.cached.ref);
    rx_note_fpdu(qp);
    switch (h->opcode) {
    case RDMAP_WRITE:
        qp->rx.write_open = !h->last;
        if (h->last)
            message_count(qp, IW_IN_WRITE);
        return WIRE_OK;
    case RDMAP_READ_RESP:
        reads_finish_response(qp, h, g->payload);
        return WIRE_OK;
    case RDMAP_TERMINATE:
        terminate_received(qp, payload, g->payload);
        return WIRE_OK;
    default:
        return segment_finish_send(qp, g);
    }
}

/* FPDUs */

static bool fpdu_crc_is_valid(const uint8_t *fpdu, uint32_t ulpdu)
{
    size_t covered = mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC;
    uint8_t sum[MPA_FPDU_CRC];

    crc32c_final(crc32c_update(CRC32C_INIT, fpdu, covered), sum);
    return memcmp(sum, fpdu + covered, sizeof sum) == 0;
}

/* Processes an empty FPDU. An empty FPDU is a form of ready-to-receive, so it is valid only as the first FPDU. */
static void rx_process_empty_fpdu(struct iw_qp *qp)
{
    if (qp->rx.has_begun)
        rx_fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
    else
        rx_note_fpdu(qp);
}

/* Accepts a Read Request. The FPDU counts as valid only if the request's contents are valid. */
static enum wire_error rx_process_read_request(struct iw_qp *qp, const uint8_t *payload)
{
    enum wire_error error = reads_accept(qp, payload);

    if (error == WIRE_OK)
        rx_note_fpdu(qp);
    return error;
}

/*
 * Processes a whole FPDU. The FPDU must not be in rx.partial_buffer or rx.staged, because the end of the stream frees
 * both.
 */
static void rx_process_fpdu(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, uint32_t ulpdu)
{
    struct rx_segment g = { .ulpdu = ulpdu };
    const uint8_t *bytes = fpdu + MPA_FPDU_LENGTH;
    enum wire_error error;
    size_t size;

    if (qp->crc && !fpdu_crc_is_valid(fpdu, ulpdu)) {
        frame_report_received(qp, IW_CRC_BAD, bytes, ulpdu, ulpdu);
        rx_fault_stream(qp, WIRE_MPA_CRC);
        return;
    }
    frame_report_received(qp, qp->crc ? IW_CRC_GOOD : IW_CRC_NONE, bytes, ulpdu, ulpdu);
    if (ulpdu == 0) {
        rx_process_empty_fpdu(qp);
        return;
    }
    if (!ddp_header_decode(&g.header, bytes, ulpdu, &size)) {
        rx_fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
        return;
    }
    g.payload = ulpdu - (uint32_t)size;
    srq_supply(qp, &g.header);
    error = segment_validate(qp, &g.header, g.payload);
    if (error == WIRE_OK && segment_is_placed(&g.header))
        error = segment_place(qp, s, &g, bytes + size, g.payload);
    if (error == WIRE_OK && g.header.opcode == RDMAP_READ_REQ)
        error = rx_process_read_request(qp, bytes + size);
    else if (error == WIRE_OK)
        error = segment_finish(qp, s, &g, bytes + size);
    if (error != WIRE_OK)
        rx_fault_segment(qp, &g, error, bytes, ulpdu);
}

/*
 * Predicts whether the next FPDU is large. A single short FPDU does not change the prediction, because the last FPDU of
 * a message is usually short.
 */
static void rx_note_fpdu_size(struct iw_qp *qp, size_t size)
{
    if (size >= MIN_LARGE_FPDU)
        qp->rx.expects_large = MAX_SHORT_FPDUS;
    else if (qp->rx.expects_large > 0)
        qp->rx.expects_large--;
}

/* Direct placement */

/*
 * Checks the segment's whole destination before any byte is placed, so that no byte is placed if the segment does not
 * fit.
 */
static enum wire_error segment_check_destination(const struct iw_qp *qp, struct iw_scratch *s,
                                                 const struct rx_segment *g)
{
    enum wire_error error = g->payload > 0 ? segment_map(qp, g, &s->pieces, g->payload, IW_MAX_IOV) : WIRE_OK;

    pieces_release(&s->pieces);
    return error;
}

/*
 * Begins direct placement of a segment whose FPDU is incomplete. Returns the number of bytes used. Returns 0 if the
 * header is incomplete, if the segment must be staged whole, or after a fault.
 */
static size_t direct_begin(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, size_t len, uint32_t ulpdu)
{
    size_t avail = len - MPA_FPDU_LENGTH < ulpdu ? len - MPA_FPDU_LENGTH : ulpdu;
    const uint8_t *bytes = fpdu + MPA_FPDU_LENGTH;
    struct rx_segment g = { .ulpdu = ulpdu };
    enum wire_error error;
    size_t size;

    if (avail == 0 || !ddp_header_decode(&g.header, bytes, avail, &size)) {
        if (avail == ulpdu && ulpdu > 0)
            rx_fault_stream(qp, WIRE_RDMAP_STREAM_CATASTROPHIC);
        return 0;
    }
    g.payload = ulpdu - (uint32_t)size;
    if (!segment_is_placed(&g.header) && g.payload <= TERMINATE_MAX_PAYLOAD)
        return 0;
    frame_report_received(qp, IW_CRC_NONE, bytes, avail, ulpdu);
    srq_supply(qp, &g.header);
    /* segment_validate refuses a control message here, because its payload is larger than TERMINATE_MAX_PAYLOAD. */
    error = segment_validate(qp, &g.header, g.payload);
    if (error == WIRE_OK)
        error = segment_check_destination(qp, s, &g);
    if (error != WIRE_OK) {
        rx_fault_segment(qp, &g, error, bytes, avail);
        return 0;
    }
    g.trailer = (uint32_t)(mpa_fpdu_size(ulpdu) - MPA_FPDU_LENGTH - ulpdu);
    memcpy(g.raw, bytes, size);
    qp->rx.segment = g;
    qp->rx.direct = true;
    return MPA_FPDU_LENGTH + size;
}

/* Ends the stream because the segment in progress has an error. */
static void direct_fault(struct iw_qp *qp, enum wire_error error)
{
    struct rx_segment g = qp->rx.segment;

    rx_fault_segment(qp, &g, error, g.raw, g.ulpdu - g.payload);
}

/*
 * Places staged bytes of the segment in progress. Finishes the segment if it is complete. Returns the number of bytes
 * used.
 */
static size_t direct_continue(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    struct rx_segment *g = &qp->rx.segment;
    uint32_t bytes_left = g->payload - g->placed;
    uint32_t n = len < bytes_left ? (uint32_t)len : bytes_left;
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
        rx_note_fpdu_size(qp, done.ulpdu);
        error = segment_finish(qp, s, &done, NULL);
        if (error != WIRE_OK)
            rx_fault_segment(qp, &done, error, done.raw, done.ulpdu - done.payload);
    }
    return n + trailer;
}

/* The staging area */

static uint32_t fpdu_get_length(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

/*
 * Processes one FPDU, or a part of it if its payload is placed directly. Returns the number of bytes used, or 0 if more
 * bytes are needed.
 */
static size_t rx_process_one(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    if (qp->rx.direct)
        return direct_continue(qp, s, bytes, len);
    if (len < MPA_FPDU_LENGTH)
        return 0;
    uint32_t ulpdu = fpdu_get_length(bytes);
    size_t size = mpa_fpdu_size(ulpdu);
    if (len < size)
        return qp->rx.needs_whole ? 0 : direct_begin(qp, s, bytes, len, ulpdu);
    rx_process_fpdu(qp, s, bytes, ulpdu);
    rx_note_fpdu_size(qp, size);
    return size;
}

/* Stores the beginning of an incomplete FPDU in the queue pair. */
static void rx_store_partial(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *bytes, size_t len)
{
    uint8_t *to = qp->rx.partial_small;

    if (len > MAX_PARTIAL) {
        to = qp->rx.partial_buffer = scratch_alloc_buffer(s);
        if (!to) {
            rx_fault_stream(qp, WIRE_MPA_LOCAL_CATASTROPHIC);
            return;
        }
        qp->rx.partial_size = (uint32_t)mpa_fpdu_size(fpdu_get_length(bytes));
    }
    memcpy(to, bytes, len);
    qp->rx.partial_len = (uint32_t)len;
}

static inline bool rx_is_at_limit(const struct iw_qp *qp)
{
    return atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed) >= qp->rx.limit;
}

/*
 * Makes the queue pair the owner of the staging area, because the turn has reached its limit and bytes remain. If there
 * is no memory for another staging area, removes the limit instead and returns false.
 */
static bool rx_store_staged(struct iw_qp *qp, struct iw_scratch *s, uint8_t *area, const uint8_t *bytes, size_t len)
{
    if (area == s->stage && !scratch_replace_stage(s)) {
        qp->rx.limit = UINT64_MAX;
        return false;
    }
    qp->rx.staged = area;
    qp->rx.staged_at = (uint32_t)(bytes - area);
    qp->rx.staged_len = (uint32_t)len;
    return true;
}

/* Processes the bytes at `bytes` in the staging area `area`. Stops early if the turn reaches its limit (rx.limit). */
static void rx_process(struct iw_qp *qp, struct iw_scratch *s, uint8_t *area, const uint8_t *bytes, size_t len)
{
    while (qp->rx.open && len > 0) {
        if (rx_is_at_limit(qp) && rx_store_staged(qp, s, area, bytes, len))
            return;
        size_t used = rx_process_one(qp, s, bytes, len);
        if (used == 0)
            break;
        bytes += used;
        len -= used;
    }
    if (qp->rx.open && len > 0)
        rx_store_partial(qp, s, bytes, len);
}

/* Processes the FPDU in partial_buffer, which is complete now. */
static void rx_finish_partial(struct iw_qp *qp, struct iw_scratch *s)
{
    uint8_t *buffer = qp->rx.partial_buffer;

    qp->rx.partial_buffer = NULL;
    qp->rx.partial_len = 0;
    rx_note_fpdu_size(qp, qp->rx.partial_size);
    rx_process_fpdu(qp, s, buffer, fpdu_get_length(buffer));
    scratch_free_buffer(s, buffer);
}

void iw_qp_rx_set_limit(struct iw_qp *qp, unsigned fpdus)
{
    qp->rx.limit = atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed) + fpdus;
}

bool iw_qp_rx_is_at_limit(const struct iw_qp *qp)
{
    return rx_is_at_limit(qp);
}

bool iw_qp_rx_has_staged(const struct iw_qp *qp)
{
    return qp->rx.staged != NULL;
}

void iw_qp_rx_resume(struct iw_qp *qp, struct iw_scratch *s)
{
    uint8_t *area = qp->rx.staged;

    if (!area)
        return;
    qp->rx.staged = NULL; /* otherwise the end of the stream in rx_process would free the area */
    pieces_set_caching(&s->pieces, true);
    rx_process(qp, s, area, area + qp->rx.staged_at, qp->rx.staged_len);
    pieces_set_caching(&s->pieces, false);
    if (qp->rx.staged != area)
        scratch_free_stage(s, area);
}

int iw_qp_rx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max)
{
    size_t stage = qp->rx.expects_large && !qp->rx.needs_whole ? SHORT_STAGE_SIZE : STAGE_SIZE;
    struct rx_segment *g = &qp->rx.segment;
    int n = 0;

    s->rx_before_stage = 0;
    assert(!qp->rx.staged);
    if (!qp->rx.open)
        return 0;
    if (qp->rx.partial_buffer) {
        s->rx_before_stage = qp->rx.partial_size - qp->rx.partial_len;
        iov[n++] = (struct iovec){ qp->rx.partial_buffer + qp->rx.partial_len, s->rx_before_stage };
    } else if (qp->rx.direct && g->placed < g->payload) {
        uint32_t bytes_left = g->payload - g->placed;
        enum wire_error error = segment_map(qp, g, &s->pieces, bytes_left, (unsigned)max - 1);

        if (error != WIRE_OK) {
            pieces_release(&s->pieces);
            direct_fault(qp, error);
            return 0;
        }
        s->rx_before_stage = s->pieces.length;
        n = (int)s->pieces.count;
        memcpy(iov, s->pieces.iov, s->pieces.count * sizeof *iov);
        if (s->rx_before_stage < bytes_left)
            return n;
        stage = g->ulpdu >= MIN_LARGE_FPDU ? SHORT_STAGE_SIZE : STAGE_SIZE;
    }
    iov[n++] = (struct iovec){ s->stage + MAX_PARTIAL, stage };
    queue_prefetch(&qp->rq, queue_head(&qp->rq));
    return n;
}

void iw_qp_rx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    size_t first = n < s->rx_before_stage ? n : s->rx_before_stage;
    size_t before = 0;

    pieces_release(&s->pieces);
    if (!qp->rx.open)
        return;
    counter_add(&qp->bytes_received, n);
    pieces_set_caching(&s->pieces, true);
    if (qp->rx.partial_buffer) {
        qp->rx.partial_len += (uint32_t)first;
        if (qp->rx.partial_len == qp->rx.partial_size)
            rx_finish_partial(qp, s);
    } else if (qp->rx.direct) {
        qp->rx.segment.placed += (uint32_t)first;
    } else {
        before = qp->rx.partial_len;
        memcpy(s->stage + MAX_PARTIAL - before, qp->rx.partial_small, before);
        qp->rx.partial_len = 0;
    }
    if (n - first + before > 0)
        rx_process(qp, s, s->stage, s->stage + MAX_PARTIAL - before, n - first + before);
    pieces_set_caching(&s->pieces, false);
}

void iw_qp_rx_eof(struct iw_qp *qp)
{
    const struct entry *read = reads_oldest(qp);
    bool fpdu = qp->rx.partial_len > 0 || qp->rx.direct;
    bool message = qp->rx.mo > 0 || qp->rx.write_open || (read && read->received > 0);

    if (!qp->rx.open)
        return;
    qp->rx.open = false;
    if (fpdu || message)
        stream_end(qp, IW_END_TRUNCATED, WIRE_OK);
    else
        qp->events->peer_closed(qp);
}
