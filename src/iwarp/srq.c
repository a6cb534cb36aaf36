/* SPDX-License-Identifier: MIT */
/*
 * Implements shared receive queues. A queue is a ring of receives that a spin lock guards. Any thread posts receives,
 * and the owners of the queue pairs remove them.
 *
 * A queue pair that uses a shared queue also has its own receive queue, of depth 1. When a message begins, the oldest
 * shared receive moves to the queue pair's own queue, and is filled, completed, failed or flushed there.
 * The invariant: a receive stays in the ring, available to all queue pairs, until a queue pair begins to fill it.
 * Messages use the receives in the order in which the receives were posted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/qp_internal.h"

struct iw_srq {
    struct iw_srq_config config;
    size_t stride;
    struct spin lock; /* guards everything below */
    uint8_t *slots;
    uint32_t depth, head, count;
    uint32_t threshold;
    bool armed;
};

static struct entry *srq_at(const struct iw_srq *srq, uint32_t nth)
{
    uint64_t at = ((uint64_t)srq->head + nth) % srq->depth;

    return (struct entry *)(void *)(srq->slots + (size_t)at * srq->stride);
}

static size_t srq_entry_size(const struct entry *e)
{
    return sizeof *e + e->sge_count * sizeof *e->sges;
}

struct iw_srq *iw_srq_create(const struct iw_srq_config *c)
{
    struct iw_srq *srq = calloc(1, sizeof *srq);

    if (!srq)
        return NULL;
    srq->config = *c;
    srq->stride = sizeof(struct entry) + c->sges * sizeof(struct rdma_sge);
    srq->depth = c->depth ? c->depth : 1;
    srq->slots = calloc(srq->depth, srq->stride);
    if (!srq->slots) {
        free(srq);
        return NULL;
    }
    spin_init(&srq->lock);
    srq->threshold = c->threshold;
    srq->armed = c->threshold > 0;
    return srq;
}

void iw_srq_destroy(struct iw_srq *srq)
{
    if (!srq)
        return;
    free(srq->slots);
    free(srq);
}

uint32_t srq_sges(const struct iw_srq *srq)
{
    return srq->config.sges;
}

/* Checks a receive as iw_qp_post does. Returns 0, EINVAL or EFAULT. */
static int srq_check_receive(const struct iw_srq *srq, const struct rdma_request *r, uint32_t *length)
{
    uint64_t sum = 0;

    if (r->op != RDMA_OP_RECEIVE || (r->flags & RDMA_FLAG_INLINE) || r->sge_count > srq->config.sges)
        return EINVAL;
    for (uint32_t i = 0; i < r->sge_count; i++)
        sum += r->sges[i].length;
    if (sum > UINT32_MAX)
        return EINVAL;
    *length = (uint32_t)sum;
    for (uint32_t i = 0; i < r->sge_count; i++) {
        const struct rdma_sge *g = &r->sges[i];

        if (g->length > 0 && mem_check(srq->config.memory, srq->config.domain, g->token, g->address, g->length,
                                       RDMA_ACCESS_LOCAL_WRITE) != WIRE_OK)
            return EFAULT;
    }
    return 0;
}

int iw_srq_post(struct iw_srq *srq, const struct rdma_request *r)
{
    uint32_t length;
    int result = srq_check_receive(srq, r, &length);

    if (result != 0)
        return result;
    spin_lock(&srq->lock);
    if (srq->count >= srq->depth) {
        result = ENOSPC;
    } else {
        struct entry *e = srq_at(srq, srq->count);

        *e = (struct entry){
            .context = r->context,
            .length = length,
            .sge_count = r->sge_count,
            .opcode = RDMA_OP_RECEIVE,
            .state = ENTRY_QUEUED,
        };
        if (entry_copy_sges(e, r, length))
            srq->count++;
        else
            result = EINVAL;
    }
    spin_unlock(&srq->lock);
    return result;
}

uint32_t iw_srq_posted(struct iw_srq *srq)
{
    uint32_t count;

    spin_lock(&srq->lock);
    count = srq->count;
    spin_unlock(&srq->lock);
    return count;
}

void iw_srq_get_state(struct iw_srq *srq, struct iw_srq_state *s)
{
    spin_lock(&srq->lock);
    *s = (struct iw_srq_state){
        .depth = srq->depth,
        .posted = srq->count,
        .threshold = srq->armed ? srq->threshold : 0,
    };
    spin_unlock(&srq->lock);
}

/*
 * If the queue is armed and has fewer receives than the threshold, disarms the queue and returns true. The caller must
 * then release the lock and call `low`. Requires the lock.
 */
static bool srq_disarm_if_low(struct iw_srq *srq)
{
    if (!srq->armed || srq->count >= srq->threshold)
        return false;
    srq->armed = false;
    return true;
}

/* Moves the oldest receive to a slot with room for config.sges SGEs. Returns false if the queue is empty. */
static bool srq_pop(struct iw_srq *srq, struct entry *to)
{
    bool found, low = false;

    spin_lock(&srq->lock);
    found = srq->count > 0;
    if (found) {
        const struct entry *oldest = srq_at(srq, 0);

        memcpy(to, oldest, srq_entry_size(oldest));
        srq->head = srq->head + 1 < srq->depth ? srq->head + 1 : 0;
        srq->count--;
        low = srq_disarm_if_low(srq);
    }
    spin_unlock(&srq->lock);
    if (low)
        srq->config.low(srq->config.owner);
    return found;
}

/*
 * Returns true if `h` begins the next send. The caller then moves a receive to the queue pair before the segment is
 * validated, so that an invalid segment makes that receive fail.
 */
static bool srq_begins_message(const struct iw_qp *qp, const struct ddp_header *h)
{
    return !h->tagged && h->queue == DDP_QUEUE_SEND && h->ddp_version == DDP_VERSION &&
           h->rdmap_version == RDMAP_VERSION && h->opcode >= RDMAP_SEND && h->opcode <= RDMAP_SEND_SE_INV &&
           h->msn == qp->rx.send_msn && queue_head(&qp->rq) == queue_tail(&qp->rq);
}

void srq_supply(struct iw_qp *qp, const struct ddp_header *h)
{
    uint32_t tail = queue_tail(&qp->rq);

    if (qp->srq && srq_begins_message(qp, h) && srq_pop(qp->srq, queue_at(&qp->rq, tail)))
        atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
}

/* Moves all receives to `slots`, which has room for `depth` receives. Returns the old array. Requires the lock. */
static uint8_t *srq_move(struct iw_srq *srq, uint8_t *slots, uint32_t depth)
{
    uint8_t *old = srq->slots;

    for (uint32_t i = 0; i < srq->count; i++) {
        const struct entry *e = srq_at(srq, i);
        memcpy(slots + i * srq->stride, e, srq_entry_size(e));
    }
    srq->slots = slots;
    srq->depth = depth;
    srq->head = 0;
    return old;
}

int iw_srq_modify(struct iw_srq *srq, uint32_t depth, uint32_t threshold)
{
    uint8_t *slots = depth > 0 ? calloc(depth, srq->stride) : NULL;
    bool low = false;
    int result = 0;

    if (depth > 0 && !slots)
        return ENOMEM;
    spin_lock(&srq->lock);
    if (depth > 0 && depth < srq->count) {
        result = EINVAL;
    } else {
        if (depth > 0)
            slots = srq_move(srq, slots, depth);
        if (threshold > 0) {
            srq->threshold = threshold;
            srq->armed = true;
        }
        low = threshold > 0 && srq_disarm_if_low(srq);
    }
    spin_unlock(&srq->lock);
    free(slots);
    if (low)
        srq->config.low(srq->config.owner);
    return result;
}
