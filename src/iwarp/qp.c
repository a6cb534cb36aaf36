/* SPDX-License-Identifier: MIT */
/*
 * Implements a queue pair's creation, its two queues, posts by any thread, completion in order, and the end of a
 * stream. The invariant: a posting thread writes only the slot at the tail, with the lock held. Only the owner advances
 * the head.
 */
#include "iwarp/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/qp_internal.h"

/* Returns the smallest power of two that is at least depth. */
static uint32_t ring_slots(uint32_t depth)
{
    uint32_t size = 1;

    while (size < depth)
        size <<= 1;
    return size;
}

static size_t queue_slot_size(uint32_t max_sges, uint32_t inline_size)
{
    size_t sges = (size_t)max_sges * sizeof(struct rdma_sge);
    size_t room = sges > inline_size ? sges : inline_size;
    size_t unit = _Alignof(struct entry);

    return (sizeof(struct entry) + room + unit - 1) / unit * unit;
}

/*
 * Sets *bytes to the size of a ring of this depth. Returns false in two cases:
 *   - The depth is more than 2^31. For such a depth ring_slots would never return.
 *   - The size is more than a quarter of SIZE_MAX. One block contains the queue pair and three rings.
 */
static bool ring_bytes(uint32_t depth, size_t slot, size_t *bytes)
{
    if (depth > UINT32_C(1) << 31 || ring_slots(depth) > SIZE_MAX / 4 / slot)
        return false;
    *bytes = ring_slots(depth) * slot;
    return true;
}

static void queue_init(struct queue *q, uint32_t depth, uint32_t max_sges, uint32_t inline_size, uint8_t *slots)
{
    spin_init(&q->lock);
    q->depth = depth;
    q->mask = ring_slots(depth) - 1;
    q->max_sges = max_sges;
    q->inline_size = inline_size;
    q->stride = queue_slot_size(max_sges, inline_size);
    q->slots = slots;
}

/*
 * Allocates the queue pair and its three rings in one block. Does not clear the rings. Clearing them would access most
 * of the block, and a connection with few requests never uses most of the slots.
 */
struct iw_qp *iw_qp_create(const struct iw_qp_config *c)
{
    uint32_t receives = c->srq ? 1 : c->receive_depth;
    uint32_t receive_sges = c->srq ? srq_sges(c->srq) : c->receive_sges;
    /* The ring has at least one slot, because a ready-to-receive read is answered even with a limit of 0. */
    uint32_t reads = ring_slots(c->max_ird ? c->max_ird : 1);
    size_t out, in;
    struct iw_qp *qp;

    if (!ring_bytes(c->initiator_depth, queue_slot_size(c->initiator_sges, c->inline_size), &out) ||
        !ring_bytes(receives, queue_slot_size(receive_sges, 0), &in))
        return NULL;
    qp = malloc(sizeof *qp + out + in + reads * sizeof *qp->inbound);
    if (!qp)
        return NULL;
    memset(qp, 0, sizeof *qp);
    qp->events = c->events;
    qp->memory = c->memory;
    qp->domain = c->domain;
    qp->srq = c->srq;
    qp->owner = c->owner;
    qp->qp_context = c->qp_context;
    qp->secret = c->secret;
    qp->max_ird = c->max_ird;
    qp->max_ord = c->max_ord;
    queue_init(&qp->sq, c->initiator_depth, c->initiator_sges, c->inline_size, (uint8_t *)(qp + 1));
    queue_init(&qp->rq, receives, receive_sges, 0, qp->sq.slots + out);
    qp->inbound = (struct rdmap_read_request *)(void *)(qp->rq.slots + in);
    qp->inbound_mask = reads - 1;
    qp->rq.open = true;
    return qp;
}

/* Waits until no post holds the lock. A post may still hold the lock although its request has completed. */
static void queue_wait_for_posters(struct queue *q)
{
    spin_lock(&q->lock);
    spin_unlock(&q->lock);
}

void iw_qp_destroy(struct iw_qp *qp)
{
    if (!qp)
        return;
    queue_wait_for_posters(&qp->sq);
    queue_wait_for_posters(&qp->rq);
    tx_drop_rest(qp);
    free(qp->rx.partial_buffer);
    free(qp->rx.staged);
    free(qp);
}

void *iw_qp_owner(const struct iw_qp *qp)
{
    return qp->owner;
}

enum iw_end iw_qp_end(const struct iw_qp *qp)
{
    return qp->end;
}

void iw_qp_counters(const struct iw_qp *qp, struct iw_counters *c)
{
    c->fpdus_sent = atomic_load_explicit(&qp->fpdus_sent, memory_order_relaxed);
    c->fpdus_received = atomic_load_explicit(&qp->fpdus_received, memory_order_relaxed);
    c->bytes_sent = atomic_load_explicit(&qp->bytes_sent, memory_order_relaxed);
    c->bytes_received = atomic_load_explicit(&qp->bytes_received, memory_order_relaxed);
}

static uint32_t queue_count(const struct queue *q)
{
    /* The head is read first. The tail only grows, so the tail that is read afterwards is not behind this head. */
    uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

    return queue_tail(q) - head;
}

void iw_qp_get_state(struct iw_qp *qp, struct iw_qp_state *s)
{
    iw_qp_counters(qp, &s->counters);
    for (int i = 0; i < IW_MESSAGES; i++)
        s->messages[i] = atomic_load_explicit(&qp->messages[i], memory_order_relaxed);
    for (int i = 0; i < RDMA_KINDS; i++)
        s->requests[i] = (struct rdma_counts){
            .succeeded = atomic_load_explicit(&qp->requests[i].succeeded, memory_order_relaxed),
            .failed = atomic_load_explicit(&qp->requests[i].failed, memory_order_relaxed),
            .bytes = atomic_load_explicit(&qp->requests[i].bytes, memory_order_relaxed),
        };
    s->initiators = queue_count(&qp->sq);
    s->receives = queue_count(&qp->rq);
    spin_lock(&qp->sq.lock);
    s->is_open = qp->sq.open;
    spin_unlock(&qp->sq.lock);
}

/* Posting */

/*
 * Checks a read with RDMA_FLAG_READ_INVALIDATE. The read must have an SGE, and requests must be allowed to invalidate
 * the token of that SGE.
 */
static int request_check_read_invalidate(const struct iw_qp *qp, const struct rdma_request *r)
{
    bool asked = r->flags & RDMA_FLAG_READ_INVALIDATE;

    /*
     * The members `flags` and `op` are loaded separately, because a wide load of both would wait for the caller's two
     * stores.
     */
    if (!asked || r->op != RDMA_OP_READ)
        return 0;
    if (r->sge_count == 0)
        return EINVAL;
    return mem_check_revoke(qp->memory, qp->domain, r->sges[0].token, false) == WIRE_OK ? 0 : EFAULT;
}

/*
 * Checks everything that can be checked without the lock, and sets *length to the sum of the SGEs' lengths. Returns 0,
 * EINVAL or EFAULT.
 */
static int request_check(const struct iw_qp *qp, const struct queue *q, const struct rdma_request *r, uint32_t *length)
{
    bool is_inline = r->flags & RDMA_FLAG_INLINE;
    bool is_written = r->op == RDMA_OP_RECEIVE || r->op == RDMA_OP_READ;
    uint64_t sum = 0;

    if (r->op >= RDMA_OP_FAST_REGISTER) {
        *length = 0;
        return r->sge_count > 0 ? EINVAL : 0;
    }
    if (r->op == RDMA_OP_RECEIVE && qp->srq)
        return EINVAL;
    if ((is_inline && is_written) || (!is_inline && r->sge_count > q->max_sges))
        return EINVAL;
    for (uint32_t i = 0; i < r->sge_count; i++)
        sum += r->sges[i].length;
    if (sum > (is_inline ? q->inline_size : UINT32_MAX))
        return EINVAL;
    *length = (uint32_t)sum;
    if (is_inline)
        return 0;
    if (sges_check(qp, r->sges, r->sge_count, is_written ? RDMA_ACCESS_LOCAL_WRITE : RDMA_ACCESS_LOCAL_READ, true) !=
        WIRE_OK)
        return EFAULT;
    return request_check_read_invalidate(qp, r);
}

/* Copies inline data to the entry. Returns false if the sum of the SGEs' lengths is no longer `length`. */
static bool entry_copy_inline(struct entry *e, const struct rdma_request *r, uint32_t length)
{
    uint8_t *to = (uint8_t *)e->sges;
    uint32_t bytes_left = length;

    for (uint32_t i = 0; i < r->sge_count; i++) {
        uint32_t n = r->sges[i].length;

        if (n > bytes_left)
            return false;
        if (n > 0)
            memcpy(to, (const void *)(uintptr_t)r->sges[i].address, n);
        to += n;
        bytes_left -= n;
    }
    return bytes_left == 0;
}

bool entry_copy_sges(struct entry *e, const struct rdma_request *r, uint32_t length)
{
    uint64_t sum = 0;

    if (r->sge_count > 0)
        memcpy(e->sges, r->sges, r->sge_count * sizeof *r->sges);
    for (uint32_t i = 0; i < r->sge_count; i++)
        sum += e->sges[i].length;
    return sum == length;
}

/*
 * Fills the entry of a new request. Returns false if the consumer has changed the request's SGEs since they were
 * checked.
 */
static bool entry_fill(struct entry *e, const struct rdma_request *r, uint32_t length)
{
    *e = (struct entry){
        .context = r->context,
        .remote_to = r->remote_address,
        .remote_stag = r->remote_token,
        .stag = r->token,
        .length = length,
        .sge_count = r->sge_count,
        .opcode = (uint8_t)r->op,
        .flags = (uint8_t)r->flags,
        .state = ENTRY_QUEUED,
    };
    return r->flags & RDMA_FLAG_INLINE ? entry_copy_inline(e, r, length) : entry_copy_sges(e, r, length);
}

int iw_qp_post(struct iw_qp *qp, const struct rdma_request *r, uint32_t *bytes)
{
    struct queue *q = r->op == RDMA_OP_RECEIVE ? &qp->rq : &qp->sq;
    uint32_t length;
    int result = request_check(qp, q, r, &length);

    if (result != 0)
        return result;
    if (bytes)
        *bytes = length;
    spin_lock(&q->lock);
    uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    if (!q->open) {
        result = ENOTCONN;
    } else if (r->op == RDMA_OP_READ && qp->ord == 0) {
        result = EOPNOTSUPP; /* with an ORD of 0 the read would never be sent, and a graceful end would wait for it */
    } else if (tail - atomic_load_explicit(&q->head, memory_order_acquire) >= q->depth) {
        result = ENOSPC;
    } else if (!entry_fill(queue_at(q, tail), r, length)) {
        result = EINVAL;
    } else {
        if (r->op == RDMA_OP_READ)
            atomic_store_explicit(&q->read_bytes, atomic_load_explicit(&q->read_bytes, memory_order_relaxed) + length,
                                  memory_order_relaxed);
        atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
        queue_prefetch(q, tail + 1);
        /*
         * `deferred` is stored with release, after the tail. iw_qp_clear_deferred reads `deferred` with acquire. So if
         * iw_qp_clear_deferred finds `deferred` set, the owner that transmits next reads this tail or a newer one.
         */
        if (r->flags & RDMA_FLAG_DEFER)
            atomic_store_explicit(&q->deferred, true, memory_order_release);
    }
    spin_unlock(&q->lock);
    return result;
}

bool iw_qp_has_deferred(struct iw_qp *qp)
{
    return atomic_load_explicit(&qp->sq.deferred, memory_order_acquire);
}

uint32_t iw_qp_posted(const struct iw_qp *qp)
{
    return atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
}

uint64_t iw_qp_read_bytes(const struct iw_qp *qp)
{
    return atomic_load_explicit(&qp->sq.read_bytes, memory_order_relaxed);
}

uint32_t iw_qp_outstanding(const struct iw_qp *qp)
{
    return queue_count(&qp->sq);
}

void iw_qp_clear_deferred(struct iw_qp *qp)
{
    /*
     * A post may set `deferred` again between the load and the exchange. The exchange synchronizes with that post. So
     * the owner, which transmits next, reads the tail that the post has stored.
     */
    if (iw_qp_has_deferred(qp))
        (void)atomic_exchange_explicit(&qp->sq.deferred, false, memory_order_acq_rel);
}

void queue_set_open(struct queue *q, bool open)
{
    spin_lock(&q->lock);
    q->open = open;
    spin_unlock(&q->lock);
}

/* Completion */

void entry_fail(struct entry *e, enum rdma_status status, enum wire_error error)
{
    e->state = ENTRY_FAILED;
    e->received = error;
    e->status = (uint8_t)status;
}

/* Counts a request that ends with this completion. */
static void request_count(struct iw_qp *qp, const struct entry *e, const struct rdma_completion *c)
{
    bool is_invalidating = e->opcode == RDMA_OP_SEND && e->flags & RDMA_FLAG_SEND_INVALIDATE;
    struct request_counts *counts = &qp->requests[is_invalidating ? RDMA_KIND_SEND_AND_INVALIDATE : (int)c->op];

    if (c->status != RDMA_STATUS_OK) {
        owner_count(&counts->failed, 1);
        return;
    }
    owner_count(&counts->succeeded, 1);
    owner_count(&counts->bytes, e->opcode == RDMA_OP_RECEIVE ? e->received : e->length);
}

/*
 * Fills the completion of the oldest request, and frees the request's slot, so that the consumer may post in the
 * upcall. Returns false if the request has no completion.
 */
static bool queue_pop_head(struct iw_qp *qp, struct queue *q, enum rdma_status status, enum wire_error error,
                           bool solicited, struct rdma_completion *c)
{
    uint32_t head = queue_head(q);
    const struct entry *e = queue_at(q, head);
    bool is_silent = status == RDMA_STATUS_OK && (e->flags & RDMA_FLAG_SILENT);
    bool is_invalidated = status == RDMA_STATUS_OK && e->invalidated;

    *c = (struct rdma_completion){
        .context = e->context,
        .qp_context = qp->qp_context,
        .op = is_invalidated ? RDMA_OP_RECEIVE_AND_INVALIDATE : e->opcode,
        .status = status,
        .length = status == RDMA_STATUS_OK ? e->received : 0,
        .token = e->stag,
        .error = error,
        .solicited = solicited,
    };
    request_count(qp, e, c);
    atomic_store_explicit(&q->head, head + 1, memory_order_release);
    return !is_silent;
}

void queue_complete(struct iw_qp *qp, struct queue *q, enum rdma_status status, enum wire_error error, bool solicited)
{
    struct rdma_completion c;

    if (queue_pop_head(qp, q, status, error, solicited, &c))
        qp->events->complete(qp, &c, 1);
}

/*
 * Completes the initiator requests at the head that are done or failed. Reports up to MAX_COMPLETIONS completions in
 * one upcall, so that a burst takes the completion queue's lock only once.
 */
void requests_complete(struct iw_qp *qp)
{
    struct rdma_completion done[MAX_COMPLETIONS];
    unsigned n = 0;

    while (queue_head(&qp->sq) != qp->tx.next) {
        const struct entry *e = queue_at(&qp->sq, queue_head(&qp->sq));
        bool failed = e->state == ENTRY_FAILED;

        if (e->state != ENTRY_DONE && !failed)
            break;
        if (queue_pop_head(qp, &qp->sq, failed ? e->status : RDMA_STATUS_OK, failed ? e->received : WIRE_OK, false,
                           &done[n]))
            n++;
        if (n == MAX_COMPLETIONS) {
            qp->events->complete(qp, done, n);
            n = 0;
        }
    }
    if (n > 0)
        qp->events->complete(qp, done, n);
}

/*
 * Returns the status with which a flushed request completes: its own result if it has failed or is a local request that
 * was carried out, otherwise `status`. Discards the registration of a local request that was not carried out.
 */
static enum rdma_status entry_drain_status(struct iw_qp *qp, const struct entry *e, enum rdma_status status)
{
    if (e->state == ENTRY_FAILED)
        return e->status;
    if (!entry_is_local(e))
        return status;
    if (e->state == ENTRY_DONE)
        return RDMA_STATUS_OK;
    local_discard(qp, e);
    return status;
}

/* Completes the requests up to the position `limit`. Later posts stay queued. */
static void queue_drain(struct iw_qp *qp, struct queue *q, uint32_t limit, enum rdma_status status,
                        enum wire_error error)
{
    while (queue_head(q) != limit) {
        const struct entry *e = queue_at(q, queue_head(q));
        bool failed = e->state == ENTRY_FAILED;
        enum rdma_status ended = entry_drain_status(qp, e, status);

        queue_complete(qp, q, ended, failed ? e->received : ended == RDMA_STATUS_OK ? WIRE_OK : error, false);
    }
}

/*
 * Completes all requests that were posted before the call. Updates tx.next before the first upcall, because an upcall
 * may post.
 */
static void qp_drain(struct iw_qp *qp, enum rdma_status status, enum wire_error error)
{
    uint32_t sends = queue_tail(&qp->sq), receives = queue_tail(&qp->rq);

    qp->tx.next = sends;
    queue_drain(qp, &qp->sq, sends, status, error);
    queue_drain(qp, &qp->rq, receives, status, error);
}

/* Refuses initiator posts, ends receiving, and drops the messages in progress in both directions. */
static void stream_close(struct iw_qp *qp)
{
    qp->running = false;
    queue_set_open(&qp->sq, false);
    qp->rx.open = false;
    free(qp->rx.partial_buffer);
    free(qp->rx.staged);
    qp->rx = (struct rx_state){ 0 };
    qp->tx = (struct tx_state){ .next = qp->tx.next };
    qp->inbound_tail = 0;
}

void stream_end(struct iw_qp *qp, enum iw_end why, enum wire_error error)
{
    if (!qp->running)
        return;
    qp->events->ended(qp, why, error);
    stream_close(qp);
    if (qp->terminate_len == 0)
        tx_drop_rest(qp);
    qp->end = why;
    qp_drain(qp, RDMA_STATUS_LOST, error);
    qp->end = IW_END_NONE;
}

/* The stream's beginning and end */

void iw_qp_start(struct iw_qp *qp, const struct iw_stream *s)
{
    stream_close(qp);
    tx_drop_rest(qp);
    qp->terminate_len = 0;
    qp->terminate_sent = 0;
    qp->crc = s->crc;
    qp->awaits_first_fpdu = s->send_after_first_fpdu;
    qp->ird = s->ird < qp->max_ird ? s->ird : qp->max_ird;
    qp->ord = s->ord < qp->max_ord ? s->ord : qp->max_ord;
    iw_qp_set_segment(qp, s->max_segment);
    qp->tx.next = queue_head(&qp->sq);
    qp->tx.send_msn = 1;
    qp->tx.read_msn = 1;
    qp->rx.send_msn = 1;
    qp->rx.read_msn = 1;
    qp->rx.open = true;
    qp->rx.needs_whole = qp->crc || qp->max_payload > 0;
    qp->rx.limit = UINT64_MAX;
    qp->running = true;
    qp->sink_base += 0x10000;
    queue_set_open(&qp->sq, !s->post_after_first_fpdu);
}

void iw_qp_set_segment(struct iw_qp *qp, size_t max_segment)
{
    qp->max_ulpdu = (uint32_t)mpa_max_ulpdu(max_segment);
}

void iw_qp_send_rtr(struct iw_qp *qp, enum mpa_rtr form)
{
    if (qp->running)
        qp->tx.rtr = (uint8_t)form;
}

bool iw_qp_initiator_is_idle(const struct iw_qp *qp)
{
    return queue_head(&qp->sq) == queue_tail(&qp->sq) && qp->tx.kind == TX_NONE && qp->tx.rtr == MPA_RTR_NONE &&
           qp->tx.reads == 0 && qp->rest.len == 0;
}

bool iw_qp_tx_is_clean(const struct iw_qp *qp)
{
    return qp->rest.len == 0 && qp->terminate_sent == qp->terminate_len;
}

/* Returns true if a flush ends the stream: a request is partly sent, a receive partly filled, or a read in flight. */
static bool qp_flush_ends_stream(const struct iw_qp *qp)
{
    uint32_t reads = qp->tx.reads - (qp->tx.rtr_read ? 1 : 0);
    bool sending = qp->tx.kind == TX_REQUEST || reads > 0;
    bool receiving = qp->rx.mo > 0 || (qp->rx.direct && !qp->rx.segment.header.tagged);

    return qp->running && (sending || receiving);
}

void iw_qp_flush(struct iw_qp *qp, enum rdma_status status)
{
    bool ends_stream = qp_flush_ends_stream(qp);

    if (ends_stream) {
        terminate_queue(qp, WIRE_RDMAP_CATASTROPHIC, NULL, 0, 0);
        qp->events->ended(qp, IW_END_FLUSH, WIRE_RDMAP_CATASTROPHIC);
        stream_close(qp);
    }
    qp_drain(qp, status, WIRE_OK);
}

void iw_qp_stop(struct iw_qp *qp, enum rdma_status status)
{
    stream_close(qp);
    tx_drop_rest(qp);
    qp->terminate_len = 0;
    qp->terminate_sent = 0;
    qp_drain(qp, status, WIRE_OK);
}
