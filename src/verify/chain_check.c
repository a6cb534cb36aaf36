/* SPDX-License-Identifier: MIT */
/* Checks the rule about open chains: see chain_check.h. */
#include "verify/chain_check.h"
#include "verify/rules.h"

/* Returns true if the calling thread has begun a chain that is still open. */
static bool chain_is_left(const struct posted_rest *rest)
{
    return rest->deferred > 0 && rest->thread == verify_this_thread();
}

bool chain_check(const struct queue *qp, const struct posted_rest *rest, const char *routine)
{
    if (!chain_is_left(rest))
        return false;
    proxy_set_report_object(&qp->p);
    report_breach(&verify_rules[RULE_DEFER_OPEN], routine, (uintptr_t)qp, rest->deferred, (uintptr_t)rest->context, 0,
                  "%s with RequestContext %p is the last one in a chain of %u with NDK_OP_FLAG_DEFER", rest->routine,
                  rest->context, rest->deferred);
    return true;
}

/*
 * Finds a queue pair whose initiator queue uses cq and has an open chain that the calling thread has begun. Sets *rest
 * for that initiator queue. Returns the queue pair with a reference, or NULL if there is none.
 */
static struct queue *chain_find(struct queue *cq, struct posted_rest *rest)
{
    struct queue *qp;

    proxy_lock_all();
    for (qp = cq->pairs[QUEUE_INITIATE]; qp; qp = qp->next[QUEUE_INITIATE]) {
        if (atomic_load(&qp->p.state) != PROXY_OPEN || atomic_load(&qp->failed))
            continue;
        posted_get_rest(&qp->posted[QUEUE_INITIATE], rest);
        if (chain_is_left(rest)) {
            proxy_ref(&qp->p);
            break;
        }
    }
    proxy_unlock_all();
    return qp;
}

void chain_check_arm(struct queue *cq, ULONG type)
{
    struct posted_rest rest;
    struct queue *qp;

    if (type == NDK_CQ_NOTIFY_ERRORS || atomic_load(&cq->open_chains) <= 0 || !verify_on())
        return;
    qp = chain_find(cq, &rest);
    if (!qp)
        return;
    (void)chain_check(qp, &rest, "NdkArmCq");
    proxy_unref(&qp->p);
}
