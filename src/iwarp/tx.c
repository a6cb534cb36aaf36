/* SPDX-License-Identifier: MIT */
/*
 * Implements sending. tx_want frames a batch of FPDUs, and advances only a copy of the state of sending. tx_done
 * (tx_commit.c) commits the state for the bytes that have been sent:
 *
 *   tx_want   header, payload, trailer; header, payload, trailer; ...     headers, trailers and copies are in the arena
 *   tx_done   |<--- sent whole --->|                                      whole FPDUs: their state is committed
 *                                   |<-- sent -->|                        a half-sent FPDU: its state is committed,
 *                                                |<- the rest ->|         because the rest is copied to the queue pair
 *
 * The invariant: registered memory is accessed only between want and done. The consumer's inline data is accessed only
 * during the post. So after a flush or an invalidation, the rest of a half-sent FPDU can still be sent, unchanged. A
 * request is done when its last byte has been sent or copied.
 *
 * The source of a Read Response may change at any time, because the consumer may write to it. So with CRC the payload
 * of a Read Response is copied to the arena, and the copy is summed and sent.
 */
#include <assert.h>
#include <string.h>

#include "iwarp/qp_internal.h"
#include "iwarp/tx_plan.h"
#include "wire/crc32c.h"

_Static_assert(IW_OUT_SEND == (int)RDMA_OP_SEND && IW_OUT_WRITE == (int)RDMA_OP_WRITE &&
                   IW_OUT_READ == (int)RDMA_OP_READ,
               "an opcode is the index of its count");

enum frame_result {
    FRAMED,      /* one FPDU was added */
    CARRIED_OUT, /* one local request was carried out */
    IDLE,        /* nothing can be sent now */
    FULL,        /* the batch ends here, although there is more to send */
    FAULT,       /* the memory of the next message is not valid: see tx_batch.error */
};

/* The sizes of the batch before an FPDU is added. frame_undo restores them. */
struct frame_mark {
    unsigned iov_count;
    size_t last_len, arena_used;
};

static void fpdu_put_length(uint8_t *bytes, size_t ulpdu)
{
    bytes[0] = (uint8_t)(ulpdu >> 8);
    bytes[1] = (uint8_t)ulpdu;
}

static size_t fpdu_padding(size_t ulpdu)
{
    return mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC - MPA_FPDU_LENGTH - ulpdu;
}

/*
 * Writes padding and CRC, and returns the FPDU's size. The first `first` bytes were stored separately from the rest, so
 * they are also summed separately. A load of bytes from both parts would wait until both stores have left the
 * processor's store buffer: see ddp_fpdu_begin.
 */
static size_t fpdu_write_trailer(bool crc, uint8_t *bytes, size_t first, size_t ulpdu)
{
    size_t covered = mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC;

    for (size_t i = MPA_FPDU_LENGTH + ulpdu; i < covered; i++)
        bytes[i] = 0;
    if (crc) {
        uint32_t sum = crc32c_update(CRC32C_INIT, bytes, first);
        crc32c_final(crc32c_update(sum, bytes + first, covered - first), bytes + covered);
    } else {
        memset(bytes + covered, 0, MPA_FPDU_CRC);
    }
    return covered + MPA_FPDU_CRC;
}

size_t fpdu_finish(bool crc, uint8_t *bytes, size_t ulpdu)
{
    fpdu_put_length(bytes, ulpdu);
    return fpdu_write_trailer(crc, bytes, MPA_FPDU_LENGTH + ulpdu, ulpdu);
}

/* The batch */

/*
 * Adds bytes to the batch's iovec. Extends the last entry if the bytes follow it in memory. Returns false if all
 * `limit` entries are used.
 */
static bool batch_append(struct tx_batch *b, uint8_t *bytes, size_t len, unsigned limit)
{
    struct iovec *last = b->iov_count > 0 ? &b->iov[b->iov_count - 1] : NULL;

    if (last && (uint8_t *)last->iov_base + last->iov_len == bytes) {
        last->iov_len += len;
        return true;
    }
    if (b->iov_count >= limit)
        return false;
    b->iov[b->iov_count++] = (struct iovec){ .iov_base = bytes, .iov_len = len };
    return true;
}

void tx_batch_release(struct tx_batch *b)
{
    while (b->ref_count > 0)
        mem_release(&b->ref[--b->ref_count]);
    mem_release(&b->cached.ref);
    b->cached_is_listed = false;
    b->source_len = 0;
}

/* Begins a batch with the bytes ahead of its FPDUs: the rest of a half-sent FPDU, and the Terminate. */
static void batch_begin(struct iw_qp *qp, struct iw_scratch *s, unsigned limit)
{
    struct tx_batch *b = &s->batch;

    tx_batch_release(b);
    b->state = qp->tx;
    b->fpdu_count = 0;
    b->iov_count = 0;
    b->bytes = 0;
    b->arena_used = 0;
    b->iov_limit = limit;
    b->is_complete = false;
    b->ahead_len = qp->rest.len - qp->rest.sent;
    b->begins_message = qp->tx.offset == 0 && b->ahead_len == 0;
    /* If there is no buffer for the rest of a large FPDU, each FPDU must fit into tx_rest.small. */
    b->max_ulpdu = scratch_reserve_buffer(s) ? qp->max_ulpdu : MAX_SMALL_REST - MPA_FPDU_OVERHEAD;
    if (b->ahead_len > 0)
        batch_append(b, qp->rest.bytes + qp->rest.sent, b->ahead_len, limit);
    if (qp->terminate_len > qp->terminate_sent) {
        size_t bytes_left = qp->terminate_len - qp->terminate_sent;
        batch_append(b, qp->terminate + qp->terminate_sent, bytes_left, limit);
        b->ahead_len += bytes_left;
    }
}

/* The source: the memory of the payload of the message in progress */

/*
 * Looks up the first piece of the range. Stores the piece's address in b->source, and its length in b->source_len.
 * `local` means that the range is in a request's own SGE. The region of the piece stays protected until the next
 * lookup. If the iovec references the region, the region stays protected until the batch ends.
 */
static enum wire_error source_lookup(const struct iw_qp *qp, struct tx_batch *b, bool local, uint32_t stag, uint64_t to,
                                     uint32_t len)
{
    unsigned access = local ? RDMA_ACCESS_LOCAL_READ : RDMA_ACCESS_REMOTE_READ;
    struct mem_ref *ref = &b->cached.ref;
    enum wire_error error;

    if (mem_cached_covers(&b->cached, stag, to, len, access, &b->source)) {
        b->source_len = len;
        return WIRE_OK;
    }
    if (b->cached_is_listed)
        b->ref[b->ref_count++] = *ref;
    else
        mem_release(ref);
    b->cached_is_listed = false;
    b->cached.stag = stag;
    b->cached.access = access;
    error = local ? mem_lookup_local(qp->memory, qp->domain, stag, to, len, access, ref)
                  : mem_lookup(qp->memory, qp->domain, stag, to, len, access, ref);
    b->source = ref->at;
    b->source_len = (uint32_t)ref->run;
    return error;
}

/*
 * Sets b->source to the address of the message's byte `offset`. Sets b->source_len to the number of bytes from there to
 * the end of the SGE or of the piece of memory.
 */
static enum wire_error source_open(const struct iw_qp *qp, struct tx_batch *b, uint32_t offset)
{
    const struct rdma_sge *sge;
    uint32_t within;

    if (b->state.kind == TX_RESPONSE) {
        const struct rdmap_read_request *r = &qp->inbound[b->state.response & qp->inbound_mask];
        return source_lookup(qp, b, false, r->source_stag, r->source_to + offset, r->length - offset);
    }
    struct entry *e = queue_at(&qp->sq, b->state.next);
    if (e->flags & RDMA_FLAG_INLINE) {
        b->source = (uint8_t *)e->sges + offset;
        b->source_len = e->length - offset;
        return WIRE_OK;
    }
    sge = entry_find_sge(e, offset, &within);
    return source_lookup(qp, b, true, sge->token, sge->address + within, sge->length - within);
}

/*
 * Adds n bytes of the source to the batch. If `copied` is set, copies them to the arena; otherwise the iovec references
 * them. Returns false if there is no room for the bytes and the FPDU's trailer.
 */
static bool source_append(struct iw_scratch *s, uint32_t n, bool copied)
{
    struct tx_batch *b = &s->batch;
    uint8_t *copy = s->arena + b->arena_used;

    if (copied) {
        if (n + 2 * TERMINATE_FPDU > ARENA_SIZE - b->arena_used || !batch_append(b, copy, n, b->iov_limit - 1))
            return false;
        if (b->is_summed)
            b->sum = crc32c_copy(b->sum, copy, b->source, n);
        else
            memcpy(copy, b->source, n);
        b->arena_used += n;
    } else {
        if (!batch_append(b, b->source, n, b->iov_limit - 1))
            return false;
        b->cached_is_listed = true;
    }
    b->source += n;
    b->source_len -= n;
    return true;
}

/*
 * Adds `want` bytes of the message from `offset` on, or as many as fit into the batch. Sets *got to how many were
 * added.
 */
static enum wire_error source_gather(const struct iw_qp *qp, struct iw_scratch *s, uint32_t offset, uint32_t want,
                                     uint32_t *got)
{
    struct tx_batch *b = &s->batch;

    for (*got = 0; *got < want;) {
        if (b->source_len == 0) {
            if (b->ref_count == IW_MAX_IOV)
                return WIRE_OK;
            enum wire_error error = source_open(qp, b, offset + *got);
            if (error != WIRE_OK)
                return error;
        }
        uint32_t n = want - *got < b->source_len ? want - *got : b->source_len;
        if (!source_append(s, n, b->is_summed || n <= MAX_COPY))
            return WIRE_OK;
        *got += n;
    }
    return WIRE_OK;
}

/* FPDUs */

/* Checks all SGEs of a request before its first FPDU, so that a request with an invalid SGE sends nothing. */
static enum wire_error message_check(const struct iw_qp *qp, const struct tx_state *t)
{
    const struct entry *e = queue_at(&qp->sq, t->next);

    if (t->kind != TX_REQUEST || t->offset > 0 || e->flags & RDMA_FLAG_INLINE)
        return WIRE_OK;
    if (e->opcode == RDMA_OP_READ)
        return sges_check(qp, e->sges, e->sge_count, RDMA_ACCESS_LOCAL_WRITE, false);
    /* A single SGE needs no check here, because it is looked up before anything is sent. */
    return e->sge_count < 2 ? WIRE_OK : sges_check(qp, e->sges, e->sge_count, RDMA_ACCESS_LOCAL_READ, false);
}

/* Returns the CRC of the batch's bytes from `header` on. The header is in iov[from]. */
static uint32_t frame_crc(const struct tx_batch *b, unsigned from, const uint8_t *header)
{
    uint32_t sum = CRC32C_INIT;

    for (unsigned i = from; i < b->iov_count; i++) {
        const uint8_t *at = i == from ? header : b->iov[i].iov_base;
        sum = crc32c_update(sum, at, (size_t)((uint8_t *)b->iov[i].iov_base + b->iov[i].iov_len - at));
    }
    return sum;
}

/* Adds an FPDU's padding and CRC to the batch. The FPDU begins at `header`, which is in iov[from]. */
static void frame_add_trailer(struct iw_scratch *s, bool crc, unsigned from, const uint8_t *header, size_t ulpdu)
{
    struct tx_batch *b = &s->batch;
    uint8_t *trailer = s->arena + b->arena_used;
    size_t pad = fpdu_padding(ulpdu);

    memset(trailer, 0, pad + MPA_FPDU_CRC);
    if (crc) {
        uint32_t sum = b->is_summed ? b->sum : frame_crc(b, from, header);
        crc32c_final(crc32c_update(sum, trailer, pad), trailer + pad);
    }
    batch_append(b, trailer, pad + MPA_FPDU_CRC, b->iov_limit); /* cannot fail: the payload leaves an entry free */
    b->arena_used += pad + MPA_FPDU_CRC;
}

/* Removes an FPDU that cannot be completed. */
static void frame_undo(struct tx_batch *b, const struct frame_mark *m)
{
    b->iov_count = m->iov_count;
    if (m->iov_count > 0)
        b->iov[m->iov_count - 1].iov_len = m->last_len;
    b->arena_used = m->arena_used;
    b->source_len = 0;
}

/* Writes the headers of an FPDU with `payload` bytes of payload, and sets p->h.last. */
static void frame_put_headers(uint8_t *fpdu, struct tx_plan *p, size_t headers, uint32_t payload)
{
    p->h.last = payload == p->bytes_left;
    if (p->read) {
        struct rdmap_read_request r = {
            .sink_stag = p->sink,
            .length = p->length,
            .source_stag = p->stag,
            .source_to = p->to,
        };
        rdmap_read_fpdu(&p->h, &r, fpdu);
    } else if (p->header > 0) {
        ddp_fpdu_begin(&p->h, headers + payload, fpdu);
    } else {
        fpdu_put_length(fpdu, payload);
    }
}

static void batch_add_fpdu(const struct iw_qp *qp, struct tx_batch *b, const uint8_t *fpdu, size_t ulpdu,
                           uint32_t bytes, bool last)
{
    tx_plan_advance(qp, &b->state, bytes, last);
    b->bytes += mpa_fpdu_size(ulpdu);
    b->fpdu[b->fpdu_count++] = (struct tx_fpdu){ .end = b->bytes, .begin = fpdu, .after = b->state };
}

/* Frames one FPDU with references to its payload. The FPDU is short if the iovec or the arena becomes full. */
static enum frame_result frame_pieces(struct iw_qp *qp, struct iw_scratch *s, struct tx_plan *p, size_t headers)
{
    struct tx_batch *b = &s->batch;
    struct frame_mark m = { b->iov_count, b->iov_count ? b->iov[b->iov_count - 1].iov_len : 0, b->arena_used };
    uint8_t *fpdu = s->arena + b->arena_used;
    uint32_t want, got;

    if (!batch_append(b, fpdu, MPA_FPDU_LENGTH + headers, b->iov_limit - 2))
        return FULL;
    b->arena_used += MPA_FPDU_LENGTH + headers;
    unsigned from = b->iov_count - 1;
    want = p->bytes_left < b->max_ulpdu - headers ? p->bytes_left : b->max_ulpdu - (uint32_t)headers;
    frame_put_headers(fpdu, p, headers, want);
    b->is_summed = qp->crc && b->state.kind == TX_RESPONSE;
    if (b->is_summed)
        b->sum = crc32c_update(CRC32C_INIT, fpdu, MPA_FPDU_LENGTH + headers);
    b->error = source_gather(qp, s, b->state.offset, want, &got);
    if (b->error != WIRE_OK) {
        frame_undo(b, &m);
        return FAULT;
    }
    if (got < want && (got == 0 || b->fpdu_count > 0)) {
        frame_undo(b, &m);
        return FULL;
    }
    if (got < want) {
        frame_put_headers(fpdu, p, headers, got);
        b->is_summed = false; /* the sum includes the old headers */
    }
    frame_add_trailer(s, qp->crc, from, fpdu, headers + got);
    batch_add_fpdu(qp, b, fpdu, headers + got, got, p->h.last);
    return FRAMED;
}

/* Copies the whole message to `to`. */
static enum wire_error source_copy_message(const struct iw_qp *qp, struct tx_batch *b, uint8_t *to, uint32_t len)
{
    for (uint32_t done = 0; done < len;) {
        enum wire_error error = source_open(qp, b, done);
        if (error != WIRE_OK)
            return error;
        uint32_t n = len - done < b->source_len ? len - done : b->source_len;
        memcpy(to + done, b->source, n);
        b->source_len = 0;
        done += n;
    }
    return WIRE_OK;
}

/* Frames a short message as one FPDU, which is one piece of the arena. */
static enum frame_result frame_short(struct iw_qp *qp, struct iw_scratch *s, struct tx_plan *p, size_t headers)
{
    struct tx_batch *b = &s->batch;
    uint8_t *fpdu = s->arena + b->arena_used;
    size_t ulpdu = headers + p->bytes_left;

    b->error = source_copy_message(qp, b, fpdu + MPA_FPDU_LENGTH + headers, p->bytes_left);
    if (b->error != WIRE_OK)
        return FAULT;
    if (!batch_append(b, fpdu, mpa_fpdu_size(ulpdu), b->iov_limit))
        return FULL;
    frame_put_headers(fpdu, p, headers, p->bytes_left);
    b->arena_used += fpdu_write_trailer(qp->crc, fpdu, MPA_FPDU_LENGTH + headers, ulpdu);
    batch_add_fpdu(qp, b, fpdu, ulpdu, p->bytes_left, true);
    return FRAMED;
}

/*
 * Returns true if the beginning of a long message must be sent before the rest is framed. The peer can then process the
 * beginning while this side sums and copies the rest. This happens once for each message, because afterwards the peer
 * always has bytes to process.
 */
static bool batch_ends_early(const struct tx_batch *b, uint32_t bytes_left)
{
    return b->begins_message && b->bytes >= MIN_EARLY && b->state.offset > 0 && bytes_left >= MIN_EARLY;
}

/* Frames one FPDU of the message in progress. */
static enum frame_result frame_message(struct iw_qp *qp, struct iw_scratch *s)
{
    struct tx_batch *b = &s->batch;
    struct tx_plan p;

    tx_plan_fpdu(qp, &b->state, &p);
    if (batch_ends_early(b, p.bytes_left))
        return FULL;
    size_t headers = p.header + (p.read ? RDMAP_READ_REQUEST : 0), ulpdu = headers + p.bytes_left;
    bool is_short = b->state.offset == 0 && p.bytes_left <= MAX_COPY && ulpdu <= b->max_ulpdu &&
                    b->ref_count < IW_MAX_IOV && ulpdu + MPA_FPDU_OVERHEAD <= ARENA_SIZE - b->arena_used;

    return is_short ? frame_short(qp, s, &p, headers) : frame_pieces(qp, s, &p, headers);
}

/*
 * Carries out a local request. The request completes with the FPDU before it, or at once if the batch has no FPDU. The
 * batch ends before a request that would end a registration, because FPDUs of the batch may reference the
 * registration's memory.
 */
static enum frame_result frame_local(struct iw_qp *qp, struct tx_batch *b)
{
    struct entry *e = queue_at(&qp->sq, b->state.next);

    assert(b->fpdu_count > 0 || !b->cached.ref.region);
    if (e->state == ENTRY_QUEUED && !local_carry_out(qp, e, b->fpdu_count == 0))
        return FULL;
    b->state.kind = TX_NONE;
    b->state.next++;
    if (b->fpdu_count > 0) {
        b->fpdu[b->fpdu_count - 1].after.next = b->state.next;
    } else {
        qp->tx.next = b->state.next;
        requests_complete(qp);
    }
    return CARRIED_OUT;
}

static enum frame_result frame_next(struct iw_qp *qp, struct iw_scratch *s)
{
    struct tx_batch *b = &s->batch;
    struct tx_state *t = &b->state;

    if (b->fpdu_count == MAX_BATCH_FPDUS || b->bytes >= MAX_BATCH_BYTES ||
        ARENA_SIZE - b->arena_used < 4 * TERMINATE_FPDU)
        return FULL;
    if (t->kind == TX_NONE) {
        t->kind = (uint8_t)tx_plan_choose(qp, t, b->tail);
        if (t->kind == TX_NONE)
            return IDLE;
    }
    if (t->kind == TX_REQUEST && entry_is_local(queue_at(&qp->sq, t->next)))
        return frame_local(qp, b);
    b->error = message_check(qp, t);
    return b->error == WIRE_OK ? frame_message(qp, s) : FAULT;
}

/* Fails the next message, because its memory is no longer valid. */
static void message_fail(struct iw_qp *qp, const struct tx_state *t, enum wire_error error)
{
    if (t->kind == TX_RESPONSE) {
        reads_refuse(qp, t->response, mem_error_for_read(error));
        return;
    }
    entry_fail(queue_at(&qp->sq, t->next), RDMA_STATUS_LOCAL_ACCESS, error);
    if (t->offset == 0) {
        qp->tx.next++;
        requests_complete(qp);
        return;
    }
    terminate_queue(qp, WIRE_RDMAP_CATASTROPHIC, NULL, 0, 0);
    stream_end(qp, IW_END_LOCAL_REQUEST, WIRE_RDMAP_CATASTROPHIC);
}

/*
 * Fills the batch with FPDUs. Returns false if the next message failed before any FPDU was framed. The failure has
 * changed the state of sending, so the caller must begin the batch again.
 */
static bool batch_fill(struct iw_qp *qp, struct iw_scratch *s)
{
    enum frame_result result;

    do {
        result = frame_next(qp, s);
    } while (result == FRAMED || result == CARRIED_OUT);
    s->batch.is_complete = result == IDLE;
    /* If a message fails after other FPDUs, this batch is sent. The next batch begins with that message. */
    if (result != FAULT || s->batch.fpdu_count > 0)
        return true;
    tx_batch_release(&s->batch);
    message_fail(qp, &s->batch.state, s->batch.error);
    return false;
}

bool iw_qp_tx_has_work(const struct iw_qp *qp)
{
    if (!iw_qp_tx_is_clean(qp))
        return true;
    return qp->running && !qp->awaits_first_fpdu &&
           (qp->tx.kind != TX_NONE || tx_plan_choose(qp, &qp->tx, queue_tail(&qp->sq)) != TX_NONE);
}

int iw_qp_tx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max)
{
    struct tx_batch *b = &s->batch;
    unsigned limit = max < IW_MAX_IOV ? (unsigned)max : IW_MAX_IOV;

    b->tail = queue_tail(&qp->sq);
    do {
        batch_begin(qp, s, limit);
    } while (qp->running && !qp->awaits_first_fpdu && !batch_fill(qp, s));
    if (b->iov_count > 0)
        iov[0] = b->iov[0]; /* copied without memcpy, because it is often the only entry */
    if (b->iov_count > 1)
        memcpy(iov + 1, b->iov + 1, (b->iov_count - 1) * sizeof *iov);
    return (int)b->iov_count;
}

bool iw_qp_tx_framed_all(const struct iw_scratch *s)
{
    return s->batch.is_complete;
}
