/* SPDX-License-Identifier: MIT */
/*
 * Implements queue pairs: posts and their doorbell, flush, the end after a CQ overflow, and close. The invariant: only
 * the owner of the home shard uses the connection. Other threads post tasks to the home shard.
 */
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/qp.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static struct fabric_qp *qp_of_task(struct task *task, size_t offset)
{
    return (struct fabric_qp *)((char *)task - offset);
}

static void qp_run_transmit(struct task *task)
{
    struct fabric_qp *qp = qp_of_task(task, offsetof(struct fabric_qp, transmit));

    doorbell_note_transmission(qp);
    if (qp->conn)
        conn_transmit(qp->conn);
}

void iwarp_qp_flush_now(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate)
{
    qp->stopped = why;
    qp->terminate = terminate;
    iw_qp_flush(qp->iw, RDMA_STATUS_FLUSHED);
    if (qp->srq)
        iwarp_srq_update(qp);
}

static void qp_run_flush(struct task *task)
{
    struct fabric_qp *qp = qp_of_task(task, offsetof(struct fabric_qp, flush));

    iwarp_qp_flush_now(qp, FABRIC_LOCAL_FLUSH, FABRIC_NO_TERMINATE);
    if (qp->conn)
        conn_transmit(qp->conn); /* sends the Terminate if the flush has ended the stream */
}

void iwarp_qp_ref(struct fabric_qp *qp)
{
    atomic_fetch_add_explicit(&qp->refs, 1, memory_order_relaxed);
}

/* Adds the counts of requests to those of the home shard, because the queue pair ends. */
static void qp_add_counts(struct fabric_qp *qp)
{
    struct iw_qp_state s;

    iw_qp_get_state(qp->iw, &s);
    for (int i = 0; i < RDMA_KINDS; i++) {
        iwarp_count(qp->home, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i), s.requests[i].succeeded);
        iwarp_count(qp->home, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i + 1), s.requests[i].failed);
        iwarp_count(qp->home, (enum iwarp_count_kind)(COUNT_REQUESTS + 3 * i + 2), s.requests[i].bytes);
    }
}

/* Releases a reference on the queue pair. If no reference remains, frees the queue pair and calls `closed`. */
void iwarp_qp_unref(struct fabric_qp *qp)
{
    void (*closed)(void *context);
    void *context;

    if (atomic_fetch_sub_explicit(&qp->refs, 1, memory_order_acq_rel) != 1)
        return;
    closed = qp->closed;
    context = qp->close_context;
    qp_add_counts(qp);
    iw_qp_destroy(qp->iw);
    free(qp);
    closed(context);
}

static void qp_run_overflow(struct task *task)
{
    struct fabric_qp *qp = qp_of_task(task, offsetof(struct fabric_qp, overflow));

    if (qp->conn)
        conn_abort(qp->conn, FABRIC_CQ_OVERFLOW);
    iwarp_qp_unref(qp);
}

/*
 * Claims the queue pair for the report of a CQ overflow. Only the first call returns true, even if both CQs overflow.
 * That call acquires a reference, which qp_run_overflow releases.
 */
static bool qp_claim_overflow(void *owner)
{
    struct fabric_qp *qp = owner;

    if (atomic_exchange(&qp->has_overflow, true))
        return false;
    iwarp_qp_ref(qp);
    return true;
}

/*
 * Queues the task that ends the queue pair after a CQ overflow. The task may wait until no thread accesses a memory
 * region. The task must not run in this thread, because this thread may be accessing that region.
 */
static void qp_on_overflow(void *owner)
{
    struct fabric_qp *qp = owner;

    shard_enqueue(qp->home->shard, &qp->overflow);
}

static void qp_run_close(struct task *task)
{
    struct fabric_qp *qp = qp_of_task(task, offsetof(struct fabric_qp, close));

    iwarp_qp_flush_now(qp, FABRIC_LOCAL_FLUSH, FABRIC_NO_TERMINATE);
    iwarp_cq_remove(qp->receive_cq, &qp->receive_user);
    iwarp_cq_remove(qp->initiator_cq, &qp->initiator_user);
    iwarp_qp_unref(qp);
}

static struct iw_qp *qp_create_core(struct iwarp_fabric *f, const struct fabric_qp_config *c, struct fabric_qp *owner)
{
    struct iw_qp_config core = {
        .receive_depth = c->receive_depth,
        .initiator_depth = c->initiator_depth,
        .receive_sges = c->receive_sges,
        .initiator_sges = c->initiator_sges,
        .inline_size = c->inline_size,
        .max_ird = f->config.max_inbound_reads,
        .max_ord = f->config.max_outbound_reads,
        .memory = f->memory,
        .domain = c->domain,
        .secret = random_u64(),
        .srq = c->srq ? c->srq->iw : NULL,
        .events = &stream_events,
        .owner = owner,
        .qp_context = c->qp_context,
    };

    return iw_qp_create(&core);
}

int iwarp_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    struct fabric_qp *qp = calloc(1, sizeof *qp);

    if (!qp)
        return ENOMEM;
    qp->iw = qp_create_core(fabric, c, qp);
    if (!qp->iw) {
        free(qp);
        return ENOMEM;
    }
    qp->home = iwarp_cq_set_home(fabric, c->receive_cq, NULL);
    qp->cq_drives_home = iwarp_cq_set_home(fabric, c->initiator_cq, qp->home) == qp->home;
    qp->receive_cq = c->receive_cq;
    qp->initiator_cq = c->initiator_cq;
    qp->srq = c->srq;
    iwarp_srq_partial_init(&qp->partial);
    atomic_init(&qp->refs, 1);
    qp->transmit.run = qp_run_transmit;
    qp->flush.run = qp_run_flush;
    qp->overflow.run = qp_run_overflow;
    qp->close.run = qp_run_close;
    qp->receive_user = qp->initiator_user = (struct cq_user){ .owner = qp,
                                                              .claim_overflow = qp_claim_overflow,
                                                              .overflowed = qp_on_overflow };
    iwarp_cq_add(qp->receive_cq, &qp->receive_user);
    iwarp_cq_add(qp->initiator_cq, &qp->initiator_user);
    *out = qp;
    return 0;
}

static bool qp_queue_has_overflowed(const struct fabric_qp *qp)
{
    return iwarp_cq_has_overflowed(qp->receive_cq) || iwarp_cq_has_overflowed(qp->initiator_cq);
}

/*
 * Stores the reason why posts are refused. A relaxed store suffices: the caller later closes the send queue under the
 * queue's lock, and a post acquires this lock before it is refused.
 */
void iwarp_qp_set_reason(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate)
{
    atomic_store_explicit(&qp->refuses, (unsigned)why << 16 | terminate, memory_order_relaxed);
}

enum fabric_reason iwarp_qp_reason(struct fabric_qp *qp, uint16_t *terminate)
{
    unsigned refuses = atomic_load_explicit(&qp->refuses, memory_order_relaxed);
    enum fabric_reason why = (enum fabric_reason)(refuses >> 16);

    *terminate = (uint16_t)refuses;
    if (why != FABRIC_OK || !qp_queue_has_overflowed(qp))
        return why;
    *terminate = FABRIC_NO_TERMINATE; /* the overflow has not yet ended the connection, so there is no Terminate */
    return FABRIC_CQ_OVERFLOW;
}

void iwarp_qp_info(struct fabric_qp *qp, struct fabric_qp_info *info)
{
    struct iw_qp_state s;

    iw_qp_get_state(qp->iw, &s);
    *info = (struct fabric_qp_info){
        .out_sends = s.messages[IW_OUT_SEND],
        .out_writes = s.messages[IW_OUT_WRITE],
        .out_reads = s.messages[IW_OUT_READ],
        .in_sends = s.messages[IW_IN_SEND],
        .in_writes = s.messages[IW_IN_WRITE],
        .in_reads = s.messages[IW_IN_READ],
        .out_bytes = s.counters.bytes_sent,
        .in_bytes = s.counters.bytes_received,
        .out_frames = s.counters.fpdus_sent,
        .in_frames = s.counters.fpdus_received,
        .initiators = s.initiators,
        .receives = s.receives,
        .accepts = s.is_open && !qp_queue_has_overflowed(qp),
    };
    memcpy(info->requests, s.requests, sizeof info->requests);
}

enum fabric_reason iwarp_qp_first_cause(struct fabric_qp *qp, enum fabric_reason why)
{
    uint16_t unused;
    enum fabric_reason first = iwarp_qp_reason(qp, &unused);

    return first == FABRIC_OK ? why : first;
}

void iwarp_qp_ring(struct fabric_qp *qp)
{
    if (!iw_qp_has_deferred(qp->iw))
        return;
    iw_qp_clear_deferred(qp->iw);
    shard_post_once(qp->home->shard, &qp->transmit);
}

int iwarp_qp_post(struct fabric_qp *qp, const struct rdma_request *r)
{
    struct doorbell_post post = { .op = r->op };
    int result = qp_queue_has_overflowed(qp) ? ENOTCONN : iw_qp_post(qp->iw, r, &post.bytes);

    if (result != 0 || r->op == RDMA_OP_RECEIVE || r->flags & RDMA_FLAG_DEFER)
        return result; /* qp is not used here: it may have been freed if the caller has no reference (fabric.h) */
    iw_qp_clear_deferred(qp->iw);
    if (doorbell_may_wait(qp, &post))
        doorbell_defer_to_poll(qp);
    else
        shard_post_once(qp->home->shard, &qp->transmit);
    return 0;
}

void iwarp_qp_flush(struct fabric_qp *qp)
{
    shard_post_once(qp->home->shard, &qp->flush);
}

void iwarp_qp_close(struct fabric_qp *qp, void (*done)(void *context), void *context)
{
    qp->closed = done;
    qp->close_context = context;
    shard_post(qp->home->shard, &qp->close);
}
