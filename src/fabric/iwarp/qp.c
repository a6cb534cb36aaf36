/* SPDX-License-Identifier: MIT */
/* Abstract: queue pairs: posts and their doorbell, flush, the end by an overflowed completion queue, close. */
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/qp.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/zeroed.h"

enum {
    BEHIND = 2,   /* results that a consumer has not read: it is busy, and will look */
    PATIENCE = 4, /* polls of one that stays behind */
    MANY = 32,    /* requests that left at once: their consumer fills its window, and will again */
    MAX_UNSENT = 64,    /* what one system call sends */
    MAX_WAIT_NS = 20000,   /* nanoseconds: some system calls */
    MAX_SMALL = 4096, /* what is larger is worth a system call of its own */
    MAX_READ_BYTES = 32768, /* what reads that wait together may ask for */
};

static struct fabric_qp *qp_of_task(struct task *task, size_t offset)
{
    return (struct fabric_qp *)((char *)task - offset);
}

/* Posted since the last transmission. */
static uint32_t qp_unsent(struct fabric_qp *qp)
{
    return iw_qp_posted(qp->iw) - atomic_load_explicit(&qp->sent_to, memory_order_relaxed);
}

static void qp_note_batch(struct fabric_qp *qp, unsigned requests)
{
    bool many = requests >= MANY;
    unsigned until = many ? iwarp_cq_empty_polls(qp->initiator_cq) + 1 : 0;

    atomic_store_explicit(&qp->busy_until, until, memory_order_relaxed);
}

static void qp_run_transmit(struct task *task)
{
    struct fabric_qp *qp = qp_of_task(task, offsetof(struct fabric_qp, transmit));

    qp_note_batch(qp, qp_unsent(qp));
    atomic_store_explicit(&qp->sent_to, iw_qp_posted(qp->iw), memory_order_relaxed);
    atomic_store_explicit(&qp->asked_to, iw_qp_asked(qp->iw), memory_order_relaxed);
    atomic_store_explicit(&qp->waiting, 0, memory_order_relaxed);
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
        conn_transmit(qp->conn); /* the flush may have ended the stream */
}

void iwarp_qp_ref(struct fabric_qp *qp)
{
    atomic_fetch_add_explicit(&qp->refs, 1, memory_order_relaxed);
}

/* The last one frees it. */
void iwarp_qp_unref(struct fabric_qp *qp)
{
    void (*closed)(void *context);
    void *context;

    if (atomic_fetch_sub_explicit(&qp->refs, 1, memory_order_acq_rel) != 1)
        return;
    closed = qp->closed;
    context = qp->close_context;
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

/* Once for both queues. */
static bool qp_claim_overflow(void *owner)
{
    struct fabric_qp *qp = owner;

    if (atomic_exchange(&qp->has_overflow, true))
        return false;
    iwarp_qp_ref(qp);
    return true;
}

/* Enqueued, not run here: who completes may hold memory that the shard's work waits for. */
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
        .events = stream_events(),
        .owner = owner,
        .qp_context = c->qp_context,
    };

    return iw_qp_create(&core);
}

int iwarp_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    struct fabric_qp *qp = zeroed(sizeof *qp);

    if (!qp)
        return ENOMEM;
    qp->iw = qp_create_core(fabric, c, qp);
    if (!qp->iw) {
        free(qp);
        return ENOMEM;
    }
    qp->home = iwarp_cq_settle(fabric, c->receive_cq, NULL);
    qp->is_seen = iwarp_cq_settle(fabric, c->initiator_cq, qp->home) == qp->home;
    qp->receive_cq = c->receive_cq;
    qp->initiator_cq = c->initiator_cq;
    qp->srq = c->srq;
    iwarp_srq_partial_init(&qp->partial);
    atomic_init(&qp->refs, 1);
    qp->transmit.run = qp_run_transmit;
    qp->flush.run = qp_run_flush;
    qp->overflow.run = qp_run_overflow;
    qp->close.run = qp_run_close;
    qp->receive_user = qp->initiator_user =
        (struct cq_user){ .owner = qp, .claim_overflow = qp_claim_overflow, .overflowed = qp_on_overflow };
    iwarp_cq_add(qp->receive_cq, &qp->receive_user);
    iwarp_cq_add(qp->initiator_cq, &qp->initiator_user);
    *out = qp;
    return 0;
}

static bool qp_queue_has_overflowed(const struct fabric_qp *qp)
{
    return iwarp_cq_has_overflowed(qp->receive_cq) || iwarp_cq_has_overflowed(qp->initiator_cq);
}

/* Relaxed: the queue is closed after this, by a lock that whoever is refused has had after that. */
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
    *terminate = FABRIC_NO_TERMINATE; /* and the connection ends for it in a moment */
    return FABRIC_CQ_OVERFLOW;
}

enum fabric_reason iwarp_qp_first_cause(struct fabric_qp *qp, enum fabric_reason why)
{
    uint16_t unused;
    enum fabric_reason first = iwarp_qp_reason(qp, &unused);

    return first == FABRIC_OK ? why : first;
}

/* It has not looked in vain since many of its requests left at once. */
static bool qp_fills_window(struct fabric_qp *qp)
{
    return atomic_load_explicit(&qp->busy_until, memory_order_relaxed) == iwarp_cq_empty_polls(qp->initiator_cq) + 1;
}

static bool qp_is_behind(struct fabric_qp *qp)
{
    return iwarp_cq_ready(qp->initiator_cq) >= BEHIND;
}

/* Looks at the clock with the first, second, fourth that is to wait: a look costs a tenth of what a post does. */
static bool qp_has_waited_long(struct fabric_qp *qp)
{
    unsigned waiting = atomic_load_explicit(&qp->waiting, memory_order_relaxed) + 1;
    uint64_t now;

    atomic_store_explicit(&qp->waiting, waiting, memory_order_relaxed);
    if (waiting & (waiting - 1))
        return false;
    now = shard_now(qp->home->shard);
    if (waiting == 1)
        atomic_store_explicit(&qp->waiting_since, now, memory_order_relaxed);
    now -= atomic_load_explicit(&qp->waiting_since, memory_order_relaxed);
    return now >= MAX_WAIT_NS;
}

/*
 * Of those that are away, that have left and not completed, the oldest is a read, or their turn to leave has not come:
 * the consumer will look for them. As long as more are away than wait here, the peer mostly has something to do
 * meanwhile; responses that take long to send are worth a system call of their own.
 */
static bool qp_awaits_reads(struct fabric_qp *qp)
{
    int32_t waiting = (int32_t)qp_unsent(qp), away = (int32_t)iw_qp_outstanding(qp->iw) - waiting;
    uint64_t asked = iw_qp_asked(qp->iw) - atomic_load_explicit(&qp->asked_to, memory_order_relaxed);

    return away > waiting &&
           asked <= MAX_READ_BYTES;
}

/*
 * A consumer that polls and has results to read which it has not read yet is busy, and comes back to its queue when it
 * is not. So does one that fills its window again, and one that awaits reads. Small requests that it posts meanwhile,
 * of the latter only reads, leave together, when it has caught up or has polled a few times (shard_post_lazy), or
 * when it takes its time. One that it posts when it has looked in vain, and awaits nothing, never waits; nor does any
 * where looks at the initiator's queue drive another shard.
 */
static bool qp_may_wait(struct fabric_qp *qp, const struct rdma_request *r)
{
    uint64_t bytes = 0;

    if (r->op >= RDMA_OP_FAST_REGISTER || qp_unsent(qp) >= MAX_UNSENT)
        return false;
    if (!qp->is_seen)
        return false;
    if (!qp_is_behind(qp) && (!qp_fills_window(qp)) &&
        (r->op != RDMA_OP_READ || !qp_awaits_reads(qp)))
        return false;
    for (uint32_t i = 0; i < r->sge_count; i++)
        bytes += r->sges[i].length;
    return bytes <= MAX_SMALL && !qp_has_waited_long(qp);
}

/* Either queue may be the one that is polled. Without a lease a poll is to drive as well: such polls bring it about. */
void iwarp_qp_defer_to_poll(struct fabric_qp *qp)
{
    unsigned patience = shard_post_lazy(qp->home->shard, &qp->transmit) ? PATIENCE : 1;

    iwarp_cq_defer_to_poll(qp->initiator_cq, patience);
    iwarp_cq_defer_to_poll(qp->receive_cq, patience);
}

static void qp_ring(struct fabric_qp *qp, bool wait)
{
    iw_qp_ring(qp->iw);
    if (wait)
        iwarp_qp_defer_to_poll(qp);
    else
        shard_post_once(qp->home->shard, &qp->transmit);
}

/* A deferred request goes with the next one that is not, and with one that fails. */
void iwarp_qp_release(struct fabric_qp *qp)
{
    if (iw_qp_deferred(qp->iw))
        qp_ring(qp, false);
}

int iwarp_qp_post(struct fabric_qp *qp, const struct rdma_request *r)
{
    int result = qp_queue_has_overflowed(qp) ? ENOTCONN : iw_qp_post(qp->iw, r);

    if (result == 0 && r->op != RDMA_OP_RECEIVE && !(r->flags & RDMA_FLAG_DEFER)) /* else nobody holds it: fabric.h */
        qp_ring(qp, qp_may_wait(qp, r));
    return result;
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
