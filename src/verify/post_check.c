/* SPDX-License-Identifier: MIT */
/* Checks the state of a queue when a request is posted: see post_check.h. */
#include "verify/post_check.h"
#include "verify/rules.h"

void post_check_slots(const struct queue *q, int use, const struct post *post)
{
    ULONG depth;

    if (!verify_on())
        return;
    if (use == QUEUE_RECEIVE && q->srq) {
        proxy_set_report_object(&q->p);
        report_breach(&verify_rules[RULE_RECEIVE_WITH_SRQ], post->routine, (uintptr_t)q, (uintptr_t)q->srq, 0, 0,
                      "the queue pair has the shared receive queue %p", (const void *)q->srq);
        return;
    }
    depth = q->size[use].depth;
    if (post->before < depth || q->p.type == NdkObjectTypeSrq)
        return;
    proxy_set_report_object(&q->p);
    if (post->before > 0 && post->silent_before == post->before)
        report_breach(&verify_rules[RULE_SILENT_ONLY], post->routine, (uintptr_t)q, post->silent_before, depth, 0,
                      "the latest %u requests are all silent, and the depth of the queue is %u", post->silent_before,
                      depth);
    else
        report_breach(&verify_rules[RULE_QUEUE_SLOTS], post->routine, (uintptr_t)q, post->before + 1, depth, 0,
                      "with this one, %u requests have no result that was polled, and the depth of the queue is %u",
                      post->before + 1, depth);
}

void post_check_cq(const struct queue *q, int use, const struct post *post)
{
    const struct queue *cq = q->cq[use];
    ULONG depth, users = (ULONG)post->users;

    if (!cq || !users || !verify_on() || atomic_load(&cq->p.state) != PROXY_OPEN)
        return;
    depth = atomic_load(&cq->depth);
    if (users <= depth)
        return;
    proxy_set_report_object(&cq->p);
    report_breach(&verify_rules[RULE_CQ_OVERFLOW], post->routine, (uintptr_t)cq, users, depth, 0,
                  "%u requests of its queue pairs are outstanding, and the depth of NDK_CQ %p is %u", users,
                  (const void *)cq, depth);
}

void post_check_connected(const struct queue *q, int use, const struct post *post, NTSTATUS status)
{
    int link;

    if (status != STATUS_CONNECTION_INVALID || use != QUEUE_INITIATE || !verify_on())
        return;
    link = atomic_load(&q->link);
    if (link == QUEUE_LINKED)
        return;
    proxy_set_report_object(&q->p);
    report_breach(&verify_rules[RULE_POST_UNCONNECTED], post->routine, (uintptr_t)q, (uint32_t)status, 0, 0, "%s",
                  link == QUEUE_UNLINKED ? "the queue pair was passed to neither NdkConnect nor NdkAccept"
                                         : "NdkCompleteConnect was not called after NdkConnect");
}
