/* SPDX-License-Identifier: MIT */
/*
 * Checks the memory of inline data: see inline_data.h. Memory counts as paged only if the host reports it as paged. The
 * host does not report locked memory as paged.
 */
#include "verify/inline_data.h"

static bool sge_is_paged(const NDK_SGE *sge)
{
    const ondk_verify_host_t *host = verify_host();
    const char *data = sge->VirtualAddress;

    return sge->Length &&
           ((host->memory_state(data) | host->memory_state(data + sge->Length - 1)) & ONDK_VERIFY_MEMORY_PAGED);
}

static void inline_data_report(const struct proxy *queue, const struct post *post, ULONG i, int irql)
{
    const NDK_SGE *sge = &post->sgl[i];

    proxy_set_report_object(queue);
    report_breach(&verify_rules[RULE_INLINE_PAGED], post->routine, (uintptr_t)sge->VirtualAddress, (uint64_t)irql,
                  (uintptr_t)queue, 0, "SGE %u, %u bytes at %p, is in paged memory, and the IRQL is %d", i, sge->Length,
                  sge->VirtualAddress, irql);
}

void inline_data_check(const struct proxy *queue, const struct post *post)
{
    int irql;

    if (!(post->flags & NDK_OP_FLAG_INLINE) || !post->sgl || !verify_on())
        return;
    irql = verify_host()->irql();
    if (irql < VERIFY_DISPATCH_LEVEL)
        return;
    for (ULONG i = 0; i < post->sges; i++) {
        if (sge_is_paged(&post->sgl[i])) {
            inline_data_report(queue, post, i, irql);
            return;
        }
    }
}
