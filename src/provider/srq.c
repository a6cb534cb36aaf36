/* SPDX-License-Identifier: MIT */
/* Shared receive queues: a capability that the adapter lacks (MaxSrqDepth 0). */
#include "provider/provider.h"

NTSTATUS srq_create(NDK_PD *pd, ULONG depth, ULONG max_sge, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK notify,
                    PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                    NDK_SRQ **out)
{
    (void)pd, (void)depth, (void)max_sge, (void)threshold, (void)notify, (void)notify_context, (void)affinity;
    (void)done, (void)context, (void)out;
    return STATUS_NOT_SUPPORTED;
}
