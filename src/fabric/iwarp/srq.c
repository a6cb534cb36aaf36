/* SPDX-License-Identifier: MIT */
/*
 * Implements the fabric's shared receive queues on top of the protocol core's shared receive queues (iwarp/srq.c). Each
 * queue has a home shard. The home shard notifies the consumer when few receives are left. It also limits the number of
 * receives that partial messages occupy.
 *
 * If a message is incomplete (partial) when a receive turn ends, its queue pair is inserted at the end of a list.
 * Partial messages may occupy only a share of all receives, posted or occupied. If they occupy more, the home shard
 * checks the first queue pair of the list when stall_ns have passed since its insertion. For the check, the queue pair
 * is removed from the list, and its own shard reads the input that waits in the socket. If too few bytes of the message
 * have arrived since the insertion, the connection ends. Otherwise the queue pair is inserted again. Invariant: a
 * connection does not end if enough bytes of its message arrive, or if its message is the only partial message.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/srq.h"

static struct fabric_srq *delivery_srq(struct delivery *d)
{
    return (struct fabric_srq *)((char *)d - offsetof(struct fabric_srq, delivery));
}

/*
 * Causes a delivery to the consumer. Called by iwarp_srq_modify, or by the owner of a queue pair that removed a
 * receive.
 */
static void srq_on_low(void *owner)
{
    struct fabric_srq *srq = owner;

    delivery_add(&srq->delivery);
}

static void srq_deliver(struct delivery *d)
{
    struct fabric_srq *srq = delivery_srq(d);

    srq->config.notify(srq->config.owner);
}

/*
 * Releases a reference on the queue. If no reference remains, frees the queue and calls `closed`. Called by the home
 * shard's owner.
 */
static void srq_unref(struct fabric_srq *srq)
{
    void (*closed)(void *owner) = srq->closed;
    void *owner = srq->config.owner;

    if (atomic_fetch_sub_explicit(&srq->refs, 1, memory_order_acq_rel) != 1)
        return;
    shard_timer_stop(srq->delivery.home->shard, &srq->timer);
    iw_srq_destroy(srq->iw);
    free(srq);
    closed(owner);
}

static void srq_finish(struct delivery *d)
{
    srq_unref(delivery_srq(d));
}

/* ---- partial messages ---- */

static struct fabric_qp *partial_qp(struct srq_partial *partial)
{
    return (struct fabric_qp *)((char *)partial - offsetof(struct fabric_qp, partial));
}

/*
 * Returns true if partial messages occupy more than their share. The share is a percentage of the largest number of
 * receives in the last stall_ns, not of their present number. If a connection ends, its receive is not counted until
 * the consumer posts it again. This short decrease must not cause the end of another connection. Requires the lock.
 */
static bool srq_is_crowded(struct fabric_srq *srq, uint32_t posted, uint64_t now)
{
    uint32_t receives = srq->partial_count + posted;

    if (receives > srq->receives || (int64_t)(now - srq->receives_since) >= (int64_t)srq->stall_ns) {
        srq->receives = receives;
        srq->receives_since = now;
    }
    return srq->partial_count > 1 && srq->partial_count * UINT64_C(100) > srq->receives * (uint64_t)srq->share_percent;
}

/*
 * Marks srq->watch as queued and the queue as watched. Returns true if the caller must post srq->watch after releasing
 * the lock. Requires the lock.
 */
static bool srq_begin_watch(struct fabric_srq *srq)
{
    bool post = !srq->is_queued;

    srq->is_queued = srq->is_watched = true;
    if (post)
        atomic_fetch_add_explicit(&srq->refs, 1, memory_order_relaxed);
    return post;
}

/* Removes the partial message from the list, if it is in the list. Requires the lock. */
static void partial_remove(struct fabric_srq *srq, struct srq_partial *partial)
{
    if (!partial->is_listed)
        return;
    partial->is_listed = false;
    TAILQ_REMOVE(&srq->partials, partial, link);
    srq->partial_count--;
}

/*
 * Inserts a partial message at the end of the list. Does nothing if a check of the message is queued or running,
 * because partial_check then inserts it. If the queue is crowded and `watch` is not queued, posts `watch` in two cases:
 * the timer is not armed, or was_checked is true. Only partial_check passes true for was_checked.
 */
static void partial_insert(struct fabric_srq *srq, struct srq_partial *partial, uint64_t now, bool was_checked)
{
    uint32_t posted = iw_srq_posted(srq->iw);
    bool post = false;

    spin_lock(&srq->lock);
    if (!partial->is_checked) {
        iw_qp_rx_mark(partial_qp(partial)->iw, &partial->mark);
        partial->has_moved = false;
        partial->since = now;
        partial->is_listed = true;
        TAILQ_INSERT_TAIL(&srq->partials, partial, link);
        srq->partial_count++;
        post = srq_is_crowded(srq, posted, now) && (!srq->is_watched || was_checked) && srq_begin_watch(srq);
    }
    spin_unlock(&srq->lock);
    if (post)
        shard_enqueue(srq->delivery.home->shard, &srq->watch);
}

static void partial_update(struct fabric_qp *qp, bool was_checked)
{
    bool is_partial = iw_qp_has_partial_shared(qp->iw);

    if (is_partial == qp->partial.is_partial)
        return;
    qp->partial.is_partial = is_partial;
    if (is_partial) {
        partial_insert(qp->srq, &qp->partial, shard_now(qp->home->shard), was_checked);
    } else {
        qp->partial.has_moved = true;
        spin_lock(&qp->srq->lock);
        partial_remove(qp->srq, &qp->partial);
        spin_unlock(&qp->srq->lock);
    }
}

void iwarp_srq_update(struct fabric_qp *qp)
{
    partial_update(qp, false);
}

/*
 * Runs on the queue pair's shard. Ends the connection if its message has stalled. Otherwise inserts the message into
 * the list again if it is still partial.
 */
static void partial_check(struct task *task)
{
    struct fabric_qp *qp = partial_qp((struct srq_partial *)((char *)task - offsetof(struct srq_partial, check)));
    struct fabric_srq *srq = qp->srq;

    if (qp->conn && !qp->partial.has_moved)
        conn_check_send(qp->conn, &qp->partial.mark);
    spin_lock(&srq->lock);
    qp->partial.is_checked = false;
    spin_unlock(&srq->lock);
    qp->partial.is_partial = false; /* srq_next_stalled has removed the message; partial_update inserts it again */
    partial_update(qp, true);
    iwarp_qp_unref(qp);
}

void iwarp_srq_partial_init(struct srq_partial *partial)
{
    partial->check.run = partial_check;
}

/*
 * Removes and returns the first queue pair in the list, with a reference, if the queue is crowded and the queue pair
 * was inserted at least stall_ns ago. Otherwise returns NULL, and sets *next to the time when stall_ns will have
 * passed, or to UINT64_MAX if the queue is not crowded.
 */
static struct fabric_qp *srq_next_stalled(struct fabric_srq *srq, uint64_t now, uint64_t *next)
{
    uint32_t posted = iw_srq_posted(srq->iw);
    struct fabric_qp *found = NULL;

    *next = UINT64_MAX;
    spin_lock(&srq->lock);
    srq->is_watched = srq_is_crowded(srq, posted, now);
    if (srq->is_watched) {
        struct srq_partial *first = TAILQ_FIRST(&srq->partials);

        *next = first->since + srq->stall_ns;
        if (*next <= now) {
            partial_remove(srq, first);
            first->is_checked = true;
            found = partial_qp(first);
            iwarp_qp_ref(found); /* alive, because a queue pair leaves the list before its last reference is released */
        }
    }
    spin_unlock(&srq->lock);
    return found;
}

static void srq_check_share(struct fabric_srq *srq)
{
    struct shard *home = srq->delivery.home->shard;
    uint64_t now = shard_now(home), next;
    struct fabric_qp *qp;

    while ((qp = srq_next_stalled(srq, now, &next)) != NULL)
        shard_enqueue(qp->home->shard, &qp->partial.check);
    if (next == UINT64_MAX)
        shard_timer_stop(home, &srq->timer);
    else
        shard_timer_set(home, &srq->timer, next);
}

static void srq_run_watch(struct task *task)
{
    struct fabric_srq *srq = (struct fabric_srq *)((char *)task - offsetof(struct fabric_srq, watch));

    spin_lock(&srq->lock);
    srq->is_queued = false;
    spin_unlock(&srq->lock);
    srq_check_share(srq);
    srq_unref(srq);
}

static void srq_on_timer(struct shard_timer *timer)
{
    srq_check_share((struct fabric_srq *)((char *)timer - offsetof(struct fabric_srq, timer)));
}

/* ---- calls of the provider ---- */

int iwarp_srq_create(struct fabric *base, const struct fabric_srq_config *c, struct fabric_srq **out)
{
    struct iwarp_fabric *f = (struct iwarp_fabric *)base;
    struct fabric_srq *srq = calloc(1, sizeof *srq);
    struct iw_srq_config core = {
        .depth = c->depth,
        .sges = c->sges,
        .threshold = c->threshold,
        .memory = f->memory,
        .domain = c->domain,
        .low = srq_on_low,
        .owner = srq,
    };

    if (!srq)
        return ENOMEM;
    srq->iw = iw_srq_create(&core);
    if (!srq->iw) {
        free(srq);
        return ENOMEM;
    }
    srq->config = *c;
    srq->share_percent = f->config.srq_share_percent;
    srq->stall_ns = f->config.srq_stall_ms * UINT64_C(1000000);
    srq->watch.run = srq_run_watch;
    srq->timer.fire = srq_on_timer;
    atomic_init(&srq->refs, 1);
    spin_init(&srq->lock);
    TAILQ_INIT(&srq->partials);
    delivery_init(&srq->delivery, iwarp_home(f, c->affinity, &f->next_srq), srq_deliver, srq_finish);
    *out = srq;
    return 0;
}

int iwarp_srq_post(struct fabric_srq *srq, const struct rdma_request *r)
{
    return iw_srq_post(srq->iw, r);
}

int iwarp_srq_modify(struct fabric_srq *srq, uint32_t depth, uint32_t threshold)
{
    return iw_srq_modify(srq->iw, depth, threshold);
}

void iwarp_srq_info(struct fabric_srq *srq, struct fabric_srq_info *info)
{
    struct iw_srq_state s;

    iw_srq_get_state(srq->iw, &s);
    *info = (struct fabric_srq_info){ .depth = s.depth, .queued = s.posted, .threshold = s.threshold };
}

struct shard *iwarp_srq_shard(struct fabric_srq *srq)
{
    return srq->delivery.home->shard;
}

void iwarp_srq_close(struct fabric_srq *srq, void (*done)(void *owner))
{
    srq->closed = done;
    delivery_close(&srq->delivery);
}
