/* SPDX-License-Identifier: MIT */
/* Checks limits: see limits.h. A limit of 0 means that the adapter has not reported the limit. */
#include <string.h>

#include "verify/limits.h"
#include "verify/rules.h"

/* ---- creation ---- */

static void limits_check(const struct proxy *p, const char *routine, enum verify_rule rule, ULONG value, ULONG limit,
                         const char *name)
{
    if (!verify_on() || limit == 0 || value <= limit)
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[rule], routine, (uintptr_t)proxy_adapter(p), value, limit, 0,
                  "%u is more than %s of the adapter, which is %u", value, name, limit);
}

void limits_check_cq(const struct proxy *p, const char *routine, ULONG depth)
{
    limits_check(p, routine, RULE_QUEUE_DEPTH, depth, proxy_adapter_info(p)->MaxCqDepth, "MaxCqDepth");
}

void limits_check_srq(const struct proxy *p, const char *routine, ULONG depth, ULONG sges)
{
    const NDK_ADAPTER_INFO *info = proxy_adapter_info(p);

    limits_check(p, routine, RULE_QUEUE_DEPTH, depth, info->MaxSrqDepth, "MaxSrqDepth");
    limits_check(p, routine, RULE_SGE_LIMIT, sges, info->MaxReceiveRequestSge, "MaxReceiveRequestSge");
}

void limits_check_qp(const struct proxy *p, const char *routine, const struct queue_size *sizes, ULONG inline_size)
{
    const NDK_ADAPTER_INFO *info = proxy_adapter_info(p);

    limits_check(p, routine, RULE_QUEUE_DEPTH, sizes[QUEUE_RECEIVE].depth, info->MaxReceiveQueueDepth,
                 "MaxReceiveQueueDepth");
    limits_check(p, routine, RULE_QUEUE_DEPTH, sizes[QUEUE_INITIATE].depth, info->MaxInitiatorQueueDepth,
                 "MaxInitiatorQueueDepth");
    limits_check(p, routine, RULE_SGE_LIMIT, sizes[QUEUE_RECEIVE].sges, info->MaxReceiveRequestSge,
                 "MaxReceiveRequestSge");
    limits_check(p, routine, RULE_SGE_LIMIT, sizes[QUEUE_INITIATE].sges, info->MaxInitiatorRequestSge,
                 "MaxInitiatorRequestSge");
    limits_check(p, routine, RULE_INLINE_LIMIT, inline_size, info->MaxInlineDataSize, "MaxInlineDataSize");
}

/* ---- posts ---- */

/* Every initiator request may have these flags. */
#define REQUEST_FLAGS (NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER)

/*
 * The flags that each routine supports besides REQUEST_FLAGS. Microsoft's page about NdkCreateQp documents
 * NDK_OP_FLAG_INLINE for NdkWrite.
 */
static const struct {
    const char *routine;
    ULONG flags;
} more_flags[] = {
    { "NdkSend", NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE },
    { "NdkSendAndInvalidate", NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE },
    { "NdkWrite", NDK_OP_FLAG_INLINE },
    { "NdkRead", NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE },
    { "NdkBind", NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE },
    { "NdkFastRegister", NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_LOCAL_WRITE |
                             NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_RDMA_READ_SINK },
};

static void limits_check_flags(const struct proxy *p, const char *routine, ULONG flags, ULONG known)
{
    if (!verify_on() || !(flags & ~known))
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_FLAGS_UNKNOWN], routine, (uintptr_t)p, flags, flags & ~known, 0,
                  "0x%x is not among its flags", flags & ~known);
}

static ULONG limits_flags_of(const char *routine)
{
    for (size_t i = 0; i < sizeof more_flags / sizeof more_flags[0]; i++)
        if (strcmp(more_flags[i].routine, routine) == 0)
            return REQUEST_FLAGS | more_flags[i].flags;
    return REQUEST_FLAGS;
}

static void limits_check_sges(const struct queue *q, int use, const struct post *post)
{
    ULONG limit = q->size[use].sges, read = proxy_adapter_info(&q->p)->MaxReadRequestSge;
    const char *name = "of the queue";

    if (read && read < limit && strcmp(post->routine, "NdkRead") == 0) {
        limit = read;
        name = "of the adapter for reads";
    }
    if (post->sges <= limit)
        return;
    proxy_set_report_object(&q->p);
    report_breach(&verify_rules[RULE_SGE_LIMIT], post->routine, (uintptr_t)q, post->sges, limit, 0,
                  "the request has %u SGEs, and the limit %s is %u", post->sges, name, limit);
}

static void limits_check_length(const struct queue *q, const struct post *post)
{
    bool is_inline = post->flags & NDK_OP_FLAG_INLINE;
    uint64_t limit = is_inline ? q->inline_size : proxy_adapter_info(&q->p)->MaxTransferLength;

    if (post->length <= limit || (!is_inline && limit == 0))
        return;
    proxy_set_report_object(&q->p);
    report_breach(
        &verify_rules[is_inline ? RULE_INLINE_LIMIT : RULE_TRANSFER_LENGTH], post->routine, (uintptr_t)q, post->length,
        limit, 0, "the request has %llu bytes, and %s is %llu", (unsigned long long)post->length,
        is_inline ? "InlineDataSize of the queue pair" : "MaxTransferLength of the adapter", (unsigned long long)limit);
}

void limits_check_post(const struct queue *q, int use, const struct post *post)
{
    if (!verify_on() || (use == QUEUE_RECEIVE && q->srq))
        return;
    if (post->flags & ~(ULONG)REQUEST_FLAGS)
        limits_check_flags(&q->p, post->routine, post->flags, limits_flags_of(post->routine));
    if (!(post->flags & NDK_OP_FLAG_INLINE))
        limits_check_sges(q, use, post);
    limits_check_length(q, post);
}

void limits_check_registration(const struct proxy *mr, ULONG flags)
{
    limits_check_flags(mr, "NdkRegisterMr", flags,
                       NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
                           NDK_MR_FLAG_RDMA_READ_SINK);
}
