/* SPDX-License-Identifier: MIT */
/* Implements the completion queues' dispatch table. A poll that returns no result records nothing. */
#include "calltrace/entries.h"
#include "calltrace/traced_call.h"

static NTSTATUS traced_cq_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, (NDK_CQ *)object);
    TRACED_CALL(call, NdkCloseCq, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseCq, object, done, context);
}

static NTSTATUS traced_cq_resize(NDK_CQ *cq, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, cq);
    TRACED_CALL(call, NdkResizeCq, .object = (uintptr_t)cq, .depth = depth);

    traced_call_set_request(&call, done, context);
    return traced_call_end(
        &call, real->NdkResizeCq(cq, depth, traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static VOID traced_cq_arm(NDK_CQ *cq, ULONG type)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, cq);
    uint64_t begin_ns = traced_now();

    real->NdkArmCq(cq, type);
    TRACED_RETURN(NdkArmCq, begin_ns, STATUS_SUCCESS, .object = (uintptr_t)cq,
                  .type = (uint8_t)(type < UINT8_MAX ? type : UINT8_MAX));
}

static ULONG traced_cq_get_results(NDK_CQ *cq, NDK_RESULT results[], ULONG count)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, cq);
    ULONG got = real->NdkGetCqResults(cq, results, count);
    uint64_t now = got ? traced_now() : 0;

    for (ULONG i = 0; now && i < got; i++)
        TRACE_AT(now, result, 0, .object = (uintptr_t)cq, .context = (uintptr_t)results[i].RequestContext,
                 .qp_context = (uintptr_t)results[i].QPContext, .status = (uint32_t)results[i].Status,
                 .bytes = results[i].BytesTransferred);
    return got;
}

/* Returns true if the result's BytesTransferred is valid. Microsoft's NDKPI reference defines it only for receives. */
static bool traced_cq_has_bytes(const NDK_RESULT_EX *result)
{
    return result->Type == NdkOperationTypeReceive || result->Type == NdkOperationTypeReceiveAndInvalidate;
}

static ULONG traced_cq_get_results_ex(NDK_CQ *cq, NDK_RESULT_EX results[], ULONG count)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, cq);
    ULONG got = real->NdkGetCqResultsEx(cq, results, count);
    uint64_t now = got ? traced_now() : 0;

    for (ULONG i = 0; now && i < got; i++)
        TRACE_AT(now, result, 0, .object = (uintptr_t)cq, .context = (uintptr_t)results[i].RequestContext,
                 .qp_context = (uintptr_t)results[i].QPContext, .status = (uint32_t)results[i].Status,
                 .bytes = traced_cq_has_bytes(&results[i]) ? results[i].BytesTransferred : 0,
                 .operation = (uint16_t)results[i].Type);
    return got;
}

static NTSTATUS traced_cq_control_moderation(NDK_CQ *cq, ULONG interval, ULONG count)
{
    const NDK_CQ_DISPATCH *real = TRACED_REAL(Cq, cq);
    TRACED_CALL(call, NdkControlCqInterruptModeration, .object = (uintptr_t)cq, .interval = interval, .count = count);

    return traced_call_end(&call, real->NdkControlCqInterruptModeration(cq, interval, count));
}

const NDK_CQ_DISPATCH traced_cq_entries = {
    .NdkCloseCq = traced_cq_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkResizeCq = traced_cq_resize,
    .NdkArmCq = traced_cq_arm,
    .NdkGetCqResults = traced_cq_get_results,
    .NdkControlCqInterruptModeration = traced_cq_control_moderation,
    .NdkGetCqResultsEx = traced_cq_get_results_ex,
};
