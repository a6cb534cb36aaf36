/* SPDX-License-Identifier: MIT */
/*
 * Reports initiator requests that are outstanding for too long: see stall_request.h. A report has one of three rules:
 *   RULE_DEFER_OPEN     a chain of deferred requests is open
 *   RULE_CQ_UNATTENDED  no chain is open, and the consumer neither polls nor has armed the completion queue
 *   RULE_STALL          in all other cases: the peer or the network is slow, or the consumer ignores a notification
 */
#include "verify/stall_request.h"

#include "verify/queue.h"
#include "verify/stall.h"

enum { QUEUES_AT_ONCE = 16 };

/*
 * The contents of one report, which is about requests of one queue pair. If has_open_chain is true, the report is about
 * all requests of the open chain. Otherwise the report is about the outstanding requests that are due.
 */
struct late {
    struct queue *qp, *cq; /* queue pair and its completion queue, each with a reference; cq may be NULL */
    /*
     * The next four members describe one request. If has_open_chain is true, this is the latest of the requests,
     * otherwise the oldest.
     */
    const char *routine;
    const void *by, *context;
    uint64_t posted_ms;
    unsigned count; /* number of the requests */
    bool has_open_chain;
};

static bool is_due(uint64_t posted_ms, uint64_t before, uint64_t *oldest)
{
    uint64_t posted_ns = posted_ms * STALL_NS_PER_MS;

    if (posted_ns <= before)
        return true;
    if (posted_ns < *oldest)
        *oldest = posted_ns;
    return false;
}

/*
 * If the open chain is due, sets *late to the chain. If it is due later, lowers *oldest to the post time of the chain's
 * latest request. Requires the proxies' lock and the lock of the posted requests.
 */
static void queue_collect_chain(struct queue *qp, uint64_t before, struct late *late, uint64_t *oldest)
{
    const struct posted *posted = &qp->posted[QUEUE_INITIATE];
    const struct posted_chain *chain = &posted->chain;
    unsigned count = atomic_load_explicit(&chain->count, memory_order_relaxed);

    if (!count || qp->stalled_chain == posted->posts || !is_due(chain->posted_ms, before, oldest))
        return;
    late->routine = chain->routine;
    late->by = chain->by;
    late->context = chain->context;
    late->posted_ms = chain->posted_ms;
    late->count = count;
    late->has_open_chain = true;
    qp->stalled_chain = qp->stalled_place = posted->posts;
}

/*
 * Sets *late to the outstanding requests that are due. Lowers *oldest to the post time of the first request that is not
 * due yet. Requires the proxies' lock and the lock of the posted requests.
 */
static void queue_collect_outstanding(struct queue *qp, uint64_t before, struct late *late, uint64_t *oldest)
{
    const struct posted_record *r;

    TAILQ_FOREACH (r, &qp->posted[QUEUE_INITIATE].outstanding, list) {
        if (r->place <= qp->stalled_place || r->done || r->flags & NDK_OP_FLAG_SILENT_SUCCESS)
            continue;
        if (!is_due(r->posted_ms, before, oldest))
            break; /* later requests are not due either */
        if (!late->count++) {
            late->routine = r->routine;
            late->by = r->by;
            late->context = r->context;
            late->posted_ms = r->posted_ms;
        }
        qp->stalled_place = r->place;
    }
}

/*
 * Stores one element in `out` for each queue pair with requests that are due, at most QUEUES_AT_ONCE elements. A
 * request is due if it was posted at the time `before` or earlier, and was not reported yet. Returns the number of
 * elements. Sets *oldest to the post time of the oldest request that is not due yet, or to UINT64_MAX if there is none.
 */
static unsigned queues_collect_late(uint64_t before, struct late *out, uint64_t *oldest)
{
    unsigned n = 0;

    *oldest = UINT64_MAX;
    proxy_lock_all();
    for (struct proxy *p = proxy_next_open(NULL); p && n < QUEUES_AT_ONCE; p = proxy_next_open(p)) {
        struct queue *qp = (struct queue *)p;

        if (p->type != NdkObjectTypeQp || atomic_load(&p->state) != PROXY_OPEN || proxy_is_inherited(p))
            continue;
        out[n] = (struct late){ .qp = qp, .cq = qp->cq[QUEUE_INITIATE] };
        spin_lock(&qp->posted[QUEUE_INITIATE].lock);
        if (!qp->posted[QUEUE_INITIATE].ended)
            queue_collect_chain(qp, before, &out[n], oldest);
        if (!qp->posted[QUEUE_INITIATE].ended && !out[n].has_open_chain)
            queue_collect_outstanding(qp, before, &out[n], oldest);
        spin_unlock(&qp->posted[QUEUE_INITIATE].lock);
        if (!out[n].count)
            continue;
        proxy_ref(p);
        if (out[n].cq)
            proxy_ref(&out[n].cq->p);
        n++;
    }
    proxy_unlock_all();
    return n;
}

/*
 * Returns true if the completion queue is not armed, and was not polled in the second half of the request's age. An
 * earlier poll does not count, because it may have come before the result.
 */
static bool cq_is_unattended(const struct queue *cq, const struct late *late, uint64_t age_ms)
{
    return cq && atomic_load(&cq->arms) == 0 && atomic_load(&cq->polled_ms) < late->posted_ms + age_ms / 2;
}

static void late_report(const struct late *late, uint64_t now)
{
    unsigned long long age_ms = now / STALL_NS_PER_MS - late->posted_ms;
    struct stack call = {
        .frames = { (void *)(uintptr_t)late->by }, .depth = 1, .is_trimmed = true, .entry = late->routine
    };
    struct breach breach = { .rule = &verify_rules[RULE_STALL], .routine = late->routine };
    const void *qp = late->qp;

    proxy_set_report_object(&late->qp->p);
    if (late->has_open_chain) {
        breach.rule = &verify_rules[RULE_DEFER_OPEN];
        breach.parameters[0] = (uintptr_t)qp;
        breach.parameters[1] = late->count;
        breach.parameters[2] = (uintptr_t)late->context;
        report_breach_at(&breach, &call,
                         "this request, with RequestContext %p, is the last one in a chain of %u with "
                         "NDK_OP_FLAG_DEFER, and for %llu ms no request has ended the chain",
                         late->context, late->count, age_ms);
    } else if (cq_is_unattended(late->cq, late, age_ms)) {
        breach.rule = &verify_rules[RULE_CQ_UNATTENDED];
        breach.parameters[0] = (uintptr_t)late->cq;
        breach.parameters[1] = late->count;
        breach.parameters[2] = age_ms;
        report_breach_at(&breach, &call,
                         "%u request(s), the first with RequestContext %p, for %llu ms: NDK_CQ %p is not polled, and "
                         "not armed",
                         late->count, late->context, age_ms, (const void *)late->cq);
    } else {
        report_breach_at(&breach, &call,
                         "%u request(s), the first with RequestContext %p, for %llu ms: the peer has not answered, or "
                         "the consumer has not polled the result",
                         late->count, late->context, age_ms);
    }
}

uint64_t stall_examine_requests(uint64_t now, uint64_t limit)
{
    struct late due[QUEUES_AT_ONCE];
    uint64_t oldest;
    unsigned n;

    do {
        n = queues_collect_late(now > limit ? now - limit : 0, due, &oldest);
        for (unsigned i = 0; i < n; i++) {
            late_report(&due[i], now);
            if (due[i].cq)
                proxy_unref(&due[i].cq->p);
            proxy_unref(&due[i].qp->p);
        }
    } while (n == QUEUES_AT_ONCE);
    return oldest;
}
