/* SPDX-License-Identifier: MIT */
/*
 * Sending. A batch of FPDUs is framed on a copy of the sending state; what the transport took of it is committed.
 *
 *   tx_want   header, payload, trailer; header, payload, trailer; ...     small things and copies are in the arena
 *   tx_done   |<-------- taken -------->|                                 whole FPDUs: their state is committed
 *                              |<------>|<-- the tail -->|                the half-sent one: committed too, as its rest
 *                                                                         is copied to the queue pair (struct tx_tail)
 *
 * So the consumer's memory is touched only between want and done, the bytes behind a half-sent FPDU's checksum cannot
 * change, and a flush or an invalidated region never tears an FPDU. A request whose last octet was taken or copied is
 * done. The source of a Read Response may change at any time (that is what reading remote memory is for), and then the
 * checksum has to be that of what is sent: with CRC its payload goes through the arena.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "iwarp/qp_internal.h"
#include "iwarp/tx_plan.h"
#include "wire/crc32c.h"

enum frame_result { FRAMED, CARRIED_OUT, IDLE, FULL, FAULT };

/* Where a batch was before an FPDU that did not come to be. */
struct mark {
    unsigned count;
    size_t last_len, arena_used;
};

static void put_length(uint8_t *bytes, size_t ulpdu)
{
    bytes[0] = (uint8_t)(ulpdu >> 8);
    bytes[1] = (uint8_t)ulpdu;
}

static size_t padding(size_t ulpdu)
{
    return mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC - MPA_FPDU_LENGTH - ulpdu;
}

/* Padding and checksum. What was written apart, first octets and the rest, is summed apart: see ddp_fpdu_begin. */
static size_t seal(bool crc, uint8_t *bytes, size_t first, size_t ulpdu)
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

size_t fpdu_seal(bool crc, uint8_t *bytes, size_t ulpdu)
{
    put_length(bytes, ulpdu);
    return seal(crc, bytes, MPA_FPDU_LENGTH + ulpdu, ulpdu);
}

void tx_drop_tail(struct iw_qp *qp)
{
    free(qp->tail.buffer);
    qp->tail.buffer = NULL;
    qp->tail.sent = 0;
    qp->tail.len = 0;
}

/* The batch as a list of bytes */

static bool batch_list(struct tx_batch *b, uint8_t *bytes, size_t len, unsigned limit)
{
    struct iovec *last = b->count > 0 ? &b->iov[b->count - 1] : NULL;

    if (last && (uint8_t *)last->iov_base + last->iov_len == bytes) {
        last->iov_len += len;
        return true;
    }
    if (b->count >= limit)
        return false;
    b->iov[b->count++] = (struct iovec){ .iov_base = bytes, .iov_len = len };
    return true;
}

static void batch_release(struct tx_batch *b)
{
    while (b->refs > 0)
        mem_release(&b->ref[--b->refs]);
    mem_release(&b->cached.ref);
    b->listed = false;
    b->window_left = 0;
}

static void batch_begin(struct iw_qp *qp, struct iw_scratch *s, unsigned limit)
{
    struct tx_batch *b = &s->batch;

    batch_release(b);
    b->state = qp->tx;
    b->fpdus = 0;
    b->count = 0;
    b->octets = 0;
    b->arena_used = 0;
    b->limit = limit;
    b->all = false;
    b->first = qp->tail.len - qp->tail.sent;
    b->fresh = qp->tx.offset == 0 && b->first == 0;
    /* Without a buffer to keep the rest of a large FPDU in, only small ones are made. */
    b->max_ulpdu = scratch_reserve(s) ? qp->max_ulpdu : TAIL_SMALL - MPA_FPDU_OVERHEAD;
    if (b->first > 0)
        batch_list(b, qp->tail.bytes + qp->tail.sent, b->first, limit);
    if (qp->terminate_len > qp->terminate_sent) {
        size_t left = qp->terminate_len - qp->terminate_sent;
        batch_list(b, qp->terminate + qp->terminate_sent, left, limit);
        b->first += left;
    }
}

/* Payload: from the message in progress to the batch */

/* The region stays protected to the end of the batch; where it is not listed, until another one is looked up. */
static enum wire_error window_look_up(const struct iw_qp *qp, struct tx_batch *b, bool own, uint32_t stag, uint64_t to,
                                      uint32_t len)
{
    unsigned access = own ? RDMA_ACCESS_LOCAL_READ : RDMA_ACCESS_REMOTE_READ;
    struct mem_ref *ref = &b->cached.ref;
    enum wire_error error;

    if (mem_cached_covers(&b->cached, stag, to, len, access, &b->window)) {
        b->window_left = len;
        return WIRE_OK;
    }
    if (b->listed)
        b->ref[b->refs++] = *ref;
    else
        mem_release(ref);
    b->listed = false;
    b->cached.stag = stag;
    b->cached.access = access;
    error = own ? mem_lookup_local(qp->memory, qp->domain, stag, to, len, access, ref)
                : mem_lookup(qp->memory, qp->domain, stag, to, len, access, ref);
    b->window = ref->at;
    b->window_left = (uint32_t)ref->run;
    return error;
}

static enum wire_error window_open(const struct iw_qp *qp, struct tx_batch *b, uint32_t offset)
{
    const struct rdma_sge *sge;
    uint32_t within;

    if (b->state.kind == TX_RESPONSE) {
        const struct rdmap_read_request *r = &qp->inbound[b->state.response & qp->inbound_mask];
        return window_look_up(qp, b, false, r->source_stag, r->source_to + offset, r->length - offset);
    }
    struct entry *e = queue_at(&qp->sq, b->state.next);
    if (e->flags & RDMA_FLAG_INLINE) {
        b->window = (uint8_t *)e->sges + offset;
        b->window_left = e->length - offset;
        return WIRE_OK;
    }
    sge = entry_sge(e, offset, &within);
    return window_look_up(qp, b, true, sge->token, sge->address + within, sge->length - within);
}

static bool window_list(struct iw_scratch *s, uint32_t n, bool copied)
{
    struct tx_batch *b = &s->batch;
    uint8_t *copy = s->arena + b->arena_used;

    if (copied) {
        if (n + 2 * TERMINATE_FPDU > ARENA_SIZE - b->arena_used || !batch_list(b, copy, n, b->limit - 1))
            return false;
        if (b->summed)
            b->sum = crc32c_copy(b->sum, copy, b->window, n);
        else
            copy_bytes(copy, b->window, n);
        b->arena_used += n;
    } else {
        if (!batch_list(b, b->window, n, b->limit - 1))
            return false;
        b->listed = true;
    }
    b->window += n;
    b->window_left -= n;
    return true;
}

/* Adds up to want octets from offset on; *got: how many there was room for. */
static enum wire_error gather(const struct iw_qp *qp, struct iw_scratch *s, uint32_t offset, uint32_t want,
                              uint32_t *got)
{
    struct tx_batch *b = &s->batch;

    for (*got = 0; *got < want;) {
        if (b->window_left == 0) {
            if (b->refs == IW_IOV_MAX)
                return WIRE_OK;
            enum wire_error error = window_open(qp, b, offset + *got);
            if (error != WIRE_OK)
                return error;
        }
        uint32_t n = want - *got < b->window_left ? want - *got : b->window_left;
        if (!window_list(s, n, b->summed || n <= COPY_BELOW))
            return WIRE_OK;
        *got += n;
    }
    return WIRE_OK;
}

/* FPDUs */

/* All SGEs are looked at before the first octet of a message leaves: a request with a bad one sends nothing. */
static bool request_sound(const struct iw_qp *qp, const struct tx_state *t)
{
    const struct entry *e = queue_at(&qp->sq, t->next);

    if (t->kind != TX_REQUEST || t->offset > 0 || e->flags & RDMA_FLAG_INLINE)
        return true;
    if (e->opcode == RDMA_OP_READ)
        return entry_check(qp, e->sges, e->sge_count, RDMA_ACCESS_LOCAL_WRITE, false) == WIRE_OK;
    return e->sge_count < 2 || entry_check(qp, e->sges, e->sge_count, RDMA_ACCESS_LOCAL_READ, false) == WIRE_OK;
}

/* Over everything from header (inside iov[from]) on. */
static uint32_t frame_sum(const struct tx_batch *b, unsigned from, const uint8_t *header)
{
    uint32_t sum = CRC32C_INIT;

    for (unsigned i = from; i < b->count; i++) {
        const uint8_t *at = i == from ? header : b->iov[i].iov_base;
        sum = crc32c_update(sum, at, (size_t)((uint8_t *)b->iov[i].iov_base + b->iov[i].iov_len - at));
    }
    return sum;
}

/* Padding and checksum. */
static void frame_seal(struct iw_scratch *s, bool crc, unsigned from, const uint8_t *header, size_t ulpdu)
{
    struct tx_batch *b = &s->batch;
    uint8_t *trailer = s->arena + b->arena_used;
    size_t pad = padding(ulpdu);

    memset(trailer, 0, pad + MPA_FPDU_CRC);
    if (crc) {
        uint32_t sum = b->summed ? b->sum : frame_sum(b, from, header);
        crc32c_final(crc32c_update(sum, trailer, pad), trailer + pad);
    }
    batch_list(b, trailer, pad + MPA_FPDU_CRC, b->limit); /* its place was kept free */
    b->arena_used += pad + MPA_FPDU_CRC;
}

static void frame_undo(struct tx_batch *b, const struct mark *m)
{
    b->count = m->count;
    if (m->count > 0)
        b->iov[m->count - 1].iov_len = m->last_len;
    b->arena_used = m->arena_used;
    b->window_left = 0;
}

static void put_headers(uint8_t *fpdu, struct plan *p, size_t headers, uint32_t payload)
{
    p->h.last = payload == p->left;
    if (p->read) {
        struct rdmap_read_request r = {
            .sink_stag = p->sink, .length = p->length, .source_stag = p->stag, .source_to = p->to,
        };
        rdmap_read_fpdu(&p->h, &r, fpdu);
    } else if (p->header > 0) {
        ddp_fpdu_begin(&p->h, headers + payload, fpdu);
    } else {
        put_length(fpdu, payload);
    }
}

static void frame_add(const struct iw_qp *qp, struct tx_batch *b, size_t ulpdu, uint32_t octets, bool last)
{
    tx_plan_advance(qp, &b->state, octets, last);
    b->octets += mpa_fpdu_size(ulpdu);
    b->fpdu[b->fpdus++] = (struct tx_fpdu){ .end = b->octets, .after = b->state };
}

static enum frame_result frame_pieces(struct iw_qp *qp, struct iw_scratch *s, struct plan *p, size_t headers)
{
    struct tx_batch *b = &s->batch;
    struct mark m = { b->count, b->count ? b->iov[b->count - 1].iov_len : 0, b->arena_used };
    uint8_t *fpdu = s->arena + b->arena_used;
    uint32_t want, got;

    if (!batch_list(b, fpdu, MPA_FPDU_LENGTH + headers, b->limit - 2))
        return FULL;
    b->arena_used += MPA_FPDU_LENGTH + headers;
    unsigned from = b->count - 1;
    want = p->left < b->max_ulpdu - headers ? p->left : b->max_ulpdu - (uint32_t)headers;
    put_headers(fpdu, p, headers, want);
    b->summed = qp->crc && b->state.kind == TX_RESPONSE;
    if (b->summed)
        b->sum = crc32c_update(CRC32C_INIT, fpdu, MPA_FPDU_LENGTH + headers);
    b->error = gather(qp, s, b->state.offset, want, &got);
    if (b->error != WIRE_OK) {
        frame_undo(b, &m);
        return FAULT;
    }
    if (got < want && (got == 0 || b->fpdus > 0)) {
        frame_undo(b, &m);
        return FULL;
    }
    if (got < want) {
        put_headers(fpdu, p, headers, got);
        b->summed = false; /* it was with other headers */
    }
    frame_seal(s, qp->crc, from, fpdu, headers + got);
    frame_add(qp, b, headers + got, got, p->h.last);
    return FRAMED;
}

/* All of the message to `to`. */
static enum wire_error copy_out(const struct iw_qp *qp, struct tx_batch *b, uint8_t *to, uint32_t len)
{
    for (uint32_t done = 0; done < len;) {
        enum wire_error error = window_open(qp, b, done);
        if (error != WIRE_OK)
            return error;
        uint32_t n = len - done < b->window_left ? len - done : b->window_left;
        memcpy(to + done, b->window, n);
        b->window_left = 0;
        done += n;
    }
    return WIRE_OK;
}

/* A small message: header, payload and trailer are one piece of the arena, and summed as one. */
static enum frame_result frame_short(struct iw_qp *qp, struct iw_scratch *s, struct plan *p, size_t headers)
{
    struct tx_batch *b = &s->batch;
    uint8_t *fpdu = s->arena + b->arena_used;
    size_t ulpdu = headers + p->left;

    b->error = copy_out(qp, b, fpdu + MPA_FPDU_LENGTH + headers, p->left);
    if (b->error != WIRE_OK)
        return FAULT;
    if (!batch_list(b, fpdu, mpa_fpdu_size(ulpdu), b->limit))
        return FULL;
    put_headers(fpdu, p, headers, p->left);
    b->arena_used += seal(qp->crc, fpdu, MPA_FPDU_LENGTH + headers, ulpdu);
    frame_add(qp, b, ulpdu, p->left, true);
    return FRAMED;
}

/*
 * The beginning of a long message leaves ahead: the peer reads, verifies and places it while the rest is summed and
 * copied. Once: what follows it, of this message and others, finds a peer that has something to do.
 */
static bool leaves_early(const struct tx_batch *b, uint32_t left)
{
    return b->fresh && b->octets >= EARLY && b->state.offset > 0 &&
           left >= EARLY;
}

/* One FPDU of the message that the state is in. */
static enum frame_result frame_message(struct iw_qp *qp, struct iw_scratch *s)
{
    struct tx_batch *b = &s->batch;
    struct plan p;

    tx_plan_fpdu(qp, &b->state, &p);
    if (leaves_early(b, p.left))
        return FULL;
    size_t headers = p.header + (p.read ? RDMAP_READ_REQUEST : 0), ulpdu = headers + p.left;
    bool is_short = b->state.offset == 0 && p.left <= COPY_BELOW && ulpdu <= b->max_ulpdu && b->refs < IW_IOV_MAX &&
                    ulpdu + MPA_FPDU_OVERHEAD <= ARENA_SIZE - b->arena_used;

    return is_short ? frame_short(qp, s, &p, headers) : frame_pieces(qp, s, &p, headers);
}

/*
 * A local request at its turn. What was taken out of use before is not to be taken from under what is framed, so then
 * the batch ends here. Otherwise the request counts as a part of the FPDU before it.
 */
static enum frame_result carry_out(struct iw_qp *qp, struct tx_batch *b)
{
    struct entry *e = queue_at(&qp->sq, b->state.next);

    assert(b->fpdus > 0 || !b->cached.ref.region);
    if (e->state == ENTRY_QUEUED && !local_carry_out(qp, e, b->fpdus == 0))
        return FULL;
    b->state.kind = TX_NONE;
    b->state.next++;
    if (b->fpdus > 0) {
        b->fpdu[b->fpdus - 1].after.next = b->state.next;
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

    if (b->fpdus == BATCH_FPDUS || b->octets >= BATCH_OCTETS || ARENA_SIZE - b->arena_used < 4 * TERMINATE_FPDU)
        return FULL;
    if (t->kind == TX_NONE) {
        t->kind = (uint8_t)tx_plan_choose(qp, t, b->tail);
        if (t->kind == TX_NONE)
            return IDLE;
    }
    if (t->kind == TX_REQUEST && entry_is_local(queue_at(&qp->sq, t->next)))
        return carry_out(qp, b);
    return request_sound(qp, t) ? frame_message(qp, s) : FAULT;
}

/* The message whose turn it is names memory that is not there any more. */
static void fault_handle(struct iw_qp *qp, const struct tx_state *t, enum wire_error error)
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

/* False: a fault was dealt with, nothing is framed, and the state has changed. */
static bool batch_fill(struct iw_qp *qp, struct iw_scratch *s)
{
    enum frame_result result;

    do {
        result = frame_next(qp, s);
    } while (result == FRAMED || result == CARRIED_OUT);
    s->batch.all = result == IDLE;
    if (result != FAULT || s->batch.fpdus > 0)
        return true; /* a fault behind good FPDUs is met again when they are gone */
    batch_release(&s->batch);
    fault_handle(qp, &s->batch.state, s->batch.error);
    return false;
}

bool iw_qp_tx_wants(const struct iw_qp *qp)
{
    if (!iw_qp_tx_clean(qp))
        return true;
    return qp->running && !qp->awaits_first_fpdu &&
           (qp->tx.kind != TX_NONE || tx_plan_choose(qp, &qp->tx, queue_tail(&qp->sq)) != TX_NONE);
}

int iw_qp_tx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max)
{
    struct tx_batch *b = &s->batch;
    unsigned limit = max < IW_IOV_MAX ? (unsigned)max : IW_IOV_MAX;

    b->tail = queue_tail(&qp->sq);
    do {
        batch_begin(qp, s, limit);
    } while (qp->running && (!qp->awaits_first_fpdu) && !batch_fill(qp, s));
    if (b->count > 0)
        iov[0] = b->iov[0]; /* often it is all */
    if (b->count > 1)
        memcpy(iov + 1, b->iov + 1, (b->count - 1) * sizeof *iov);
    return (int)b->count;
}

/* Commitment */

/* Copies what is behind the first `skip` octets of the batch and up to `end`. Cannot fail: see batch_begin. */
static void tail_keep(struct iw_qp *qp, struct iw_scratch *s, size_t skip, size_t end)
{
    const struct tx_batch *b = &s->batch;
    struct tx_tail *t = &qp->tail;
    size_t at = 0;

    t->sent = 0;
    t->len = 0;
    t->buffer = end - skip > TAIL_SMALL ? scratch_take(s) : NULL;
    t->bytes = t->buffer ? t->buffer : t->small;
    for (unsigned i = 0; i < b->count && at < end; i++) {
        size_t from = skip > at ? skip - at : 0, len = b->iov[i].iov_len;
        size_t to = end - at < len ? end - at : len;

        if (from < to) {
            memcpy(t->bytes + t->len, (const uint8_t *)b->iov[i].iov_base + from, to - from);
            t->len += (uint32_t)(to - from);
        }
        at += len;
    }
}

static void batch_commit(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    struct tx_batch *b = &s->batch;
    uint32_t next = qp->tx.next;
    unsigned begun = 0;

    for (size_t start = 0; begun < b->fpdus && start < n; begun++)
        start = b->fpdu[begun].end;
    if (begun == 0)
        return;
    if (b->fpdu[begun - 1].end > n)
        tail_keep(qp, s, b->first + n, b->first + b->fpdu[begun - 1].end);
    qp->tx = b->fpdu[begun - 1].after;
    count(&qp->fpdus_sent, begun);
    for (; next != qp->tx.next; next++) {
        struct entry *e = queue_at(&qp->sq, next);
        if (!entry_is_local(e))
            e->state = e->opcode == RDMA_OP_READ ? ENTRY_IN_FLIGHT : ENTRY_DONE;
    }
}

/* The half-sent FPDU's rest, then the Terminate. */
static size_t first_sent(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    size_t tail = qp->tail.len - qp->tail.sent, used = n < tail ? n : tail, left;

    qp->tail.sent += (uint32_t)used;
    if (qp->tail.len > 0 && qp->tail.sent == qp->tail.len) {
        if (qp->tail.buffer)
            scratch_give(s, qp->tail.buffer);
        qp->tail.buffer = NULL;
        tx_drop_tail(qp);
    }
    left = n - used < qp->terminate_len - qp->terminate_sent ? n - used : qp->terminate_len - qp->terminate_sent;
    qp->terminate_sent += (uint32_t)left;
    if (left && qp->terminate_sent == qp->terminate_len)
        count(&qp->fpdus_sent, 1);
    return n - used - left;
}

void iw_qp_tx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n)
{
    count(&qp->octets_sent, n);
    batch_commit(qp, s, first_sent(qp, s, n));
    batch_release(&s->batch);
    requests_complete(qp);
}

bool iw_qp_tx_was_all(const struct iw_scratch *s)
{
    return s->batch.all;
}
