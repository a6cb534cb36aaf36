/* SPDX-License-Identifier: MIT */
/* Implements what completion queues, shared receive queues and queue pairs share: see queue.h. */
#include <string.h>

#include "base/own_call.h"
#include "verify/completed.h"
#include "verify/messages.h"
#include "verify/queue.h"
#include "verify/region.h"

static _Atomic uint64_t closed_pairs; /* number of queue pairs that were closed */

/* ---- posted requests ---- */

/* Returns true if p is a queue pair or shared receive queue that is open and not disconnected. */
static bool queue_is_live(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    return (p->type == NdkObjectTypeQp || p->type == NdkObjectTypeSrq) && atomic_load(&p->state) == PROXY_OPEN &&
           !atomic_load(&q->disconnected);
}

bool queue_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use)
{
    struct queue *q = (struct queue *)p;

    return queue_is_live(p) && (posted_find_use(&q->posted[QUEUE_RECEIVE], start, size, use) ||
                                posted_find_use(&q->posted[QUEUE_INITIATE], start, size, use));
}

const char *queue_find_logical_use(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at)
{
    struct queue *q = (struct queue *)p;
    const char *routine;

    if (!queue_is_live(p))
        return NULL;
    routine = posted_find_logical_use(&q->posted[QUEUE_RECEIVE], first, size, at);
    return routine ? routine : posted_find_logical_use(&q->posted[QUEUE_INITIATE], first, size, at);
}

void queue_set_link(struct queue *qp, int link)
{
    int before = atomic_load(&qp->link);

    while (before < link && !atomic_compare_exchange_weak(&qp->link, &before, link))
        ;
}

void queue_set_flushed(struct queue *qp)
{
    for (int use = 0; use < QUEUE_USES; use++)
        posted_set_ended(&qp->posted[use]);
}

void queue_set_disconnected(struct proxy *qp)
{
    struct queue *q = (struct queue *)qp;

    atomic_store(&q->disconnected, true);
    queue_set_flushed(q);
}

/* ---- the queue pairs of a completion queue ---- */

void queue_add_pair(struct queue *cq, struct queue *qp, int use)
{
    if (!cq)
        return;
    proxy_ref(&cq->p); /* released when the queue pair is freed */
    qp->cq[use] = cq;
    qp->posted[use].users = &cq->users;
    qp->posted[use].chain.open = &cq->open_chains;
    proxy_ref(&qp->p); /* released when a poll or the close of cq removes the queue pair from cq->pairs */
    proxy_lock_all();
    qp->next[use] = cq->pairs[use];
    cq->pairs[use] = qp;
    proxy_unlock_all();
}

/*
 * Frees the records of closed queue pairs, and releases the completion queue's references to them. `first` is the first
 * queue pair of a list for `use`. Requires that the completion queue has no more results of these queue pairs.
 */
static void queue_unref_pairs(struct queue *first, int use)
{
    for (struct queue *qp = first, *next; qp; qp = next) {
        next = qp->next[use];
        posted_drop(&qp->posted[use]);
        proxy_unref(&qp->p);
    }
}

/*
 * Removes the queue pairs whose closed_as is at most `closed` from the list of cq, and returns them as a list. Requires
 * the proxies' lock.
 */
static struct queue *queue_remove_closed(struct queue *cq, int use, uint64_t closed)
{
    struct queue *removed = NULL, **at = &cq->pairs[use], *qp;

    while ((qp = *at)) {
        if (qp->closed_as == 0 || qp->closed_as > closed) {
            at = &qp->next[use];
            continue;
        }
        *at = qp->next[use];
        qp->next[use] = removed;
        removed = qp;
    }
    return removed;
}

uint64_t queue_poll_begin(struct queue *cq)
{
    atomic_store_explicit(&cq->polled_ms, posted_now_ms(), memory_order_relaxed);
    atomic_fetch_add(&cq->polls, 1);
    return atomic_load(&closed_pairs);
}

/*
 * Checks the buffers of a request that has succeeded. `context` is the RequestContext that the provider has returned.
 */
static void queue_check_completed(struct queue *qp, void *context, const char *routine)
{
    completed_check(qp, &qp->posted[QUEUE_RECEIVE], context, routine);
    completed_check(qp, &qp->posted[QUEUE_INITIATE], context, routine);
    if (qp->srq)
        completed_check(qp->srq, &qp->srq->posted[QUEUE_RECEIVE], context, routine);
}

void queue_translate_result(PVOID *qp_context, PVOID *request_context, NTSTATUS status, const char *routine)
{
    struct queue *qp = *qp_context;

    *qp_context = qp->p.context;
    if (NT_SUCCESS(status)) {
        queue_check_completed(qp, *request_context, routine);
    } else {
        atomic_store(&qp->failed, true);
        messages_set_over(qp);
    }
    if (!posted_complete(&qp->posted[QUEUE_RECEIVE], request_context)) {
        if (posted_complete(&qp->posted[QUEUE_INITIATE], request_context) || !qp->srq)
            return;
        (void)posted_complete(&qp->srq->posted[QUEUE_RECEIVE], request_context);
    }
    posted_uncount_silent(&qp->posted[QUEUE_INITIATE]);
}

/*
 * Removes the queue pairs that were closed before the caller's poll began. The poll has emptied the completion queue,
 * so there are no more results of these queue pairs. If another poll is in progress, it may still have such results.
 * Then nothing is removed, and a later poll tries again.
 */
static void queue_sweep(struct queue *cq, uint64_t closed)
{
    struct queue *removed[QUEUE_USES] = { NULL, NULL };

    proxy_lock_all();
    if (atomic_load(&cq->polls) == 1) {
        for (int use = 0; use < QUEUE_USES; use++)
            removed[use] = queue_remove_closed(cq, use, closed);
        atomic_store(&cq->swept, closed);
    }
    proxy_unlock_all();
    for (int use = 0; use < QUEUE_USES; use++)
        queue_unref_pairs(removed[use], use);
}

void queue_poll_end(struct queue *cq, uint64_t closed, bool emptied)
{
    if (emptied && atomic_load(&cq->swept) != closed)
        queue_sweep(cq, closed);
    atomic_fetch_sub(&cq->polls, 1);
}

/* ---- lifetime ---- */

static void queue_on_closing(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    messages_set_over(q);
    for (int use = 0; use < QUEUE_USES; use++)
        posted_uncount_all(&q->posted[use]);
}

static void queue_end_posting(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    for (int use = 0; use < QUEUE_USES; use++)
        posted_retire(&q->posted[use]);
    if (p->type != NdkObjectTypeQp)
        return;
    proxy_lock_all(); /* a poll that reads the new closed_pairs must also read the new closed_as */
    q->closed_as = atomic_fetch_add(&closed_pairs, 1) + 1;
    proxy_unlock_all();
}

static void queue_end_cq(struct proxy *p)
{
    struct queue *cq = (struct queue *)p, *pairs[QUEUE_USES];

    proxy_lock_all();
    memcpy(pairs, cq->pairs, sizeof pairs);
    memset(cq->pairs, 0, sizeof cq->pairs);
    proxy_unlock_all();
    for (int use = 0; use < QUEUE_USES; use++)
        queue_unref_pairs(pairs[use], use);
}

static void queue_free(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    for (int use = 0; use < QUEUE_USES; use++) {
        posted_fini(&q->posted[use]);
        if (q->cq[use])
            proxy_unref(&q->cq[use]->p);
    }
    if (q->srq)
        proxy_unref(&q->srq->p);
    messages_release(q);
}

static void queue_init_exclusive(struct queue *q)
{
    if (q->p.type == NdkObjectTypeCq) {
        exclusive_init(&q->exclusive[QUEUE_POLL], RULE_CQ_CONCURRENT, NULL, 0);
        exclusive_init(&q->exclusive[QUEUE_MODERATE], RULE_MODERATION_CONCURRENT, NULL, 0);
    } else {
        exclusive_init(&q->exclusive[QUEUE_RECEIVE], RULE_QUEUE_CONCURRENT, "the receive queue", 1);
        exclusive_init(&q->exclusive[QUEUE_INITIATE], RULE_QUEUE_CONCURRENT, "the initiator queue", 2);
    }
}

struct queue *queue_create(NDK_OBJECT_TYPE type, const void *dispatch, const struct queue_size *sizes,
                           struct proxy *parent)
{
    struct queue *q = (struct queue *)proxy_create(sizeof *q, type, dispatch, parent);
    UINT32 privileged = 0;

    if (!q)
        return NULL;
    q->p.on_end = type == NdkObjectTypeCq ? queue_end_cq : queue_end_posting;
    q->p.on_closing = type == NdkObjectTypeCq ? NULL : queue_on_closing;
    q->p.on_free = queue_free;
    queue_init_exclusive(q);
    if (type == NdkObjectTypeQp)
        q->messages = messages_create(q);
    if (type != NdkObjectTypeCq) {
        NDK_PD *pd = parent->real;

        own_calls++;
        pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &privileged);
        own_calls--;
        tokens_set_privileged(region_table(&q->p), privileged);
    }
    for (int use = 0; use < QUEUE_USES; use++) {
        q->size[use] = sizes ? sizes[use] : (struct queue_size){ 0, 0 };
        posted_init(&q->posted[use], privileged, q->size[use].depth, q->size[use].sges);
    }
    return q;
}
