/* SPDX-License-Identifier: MIT */
/* Implements the dispatch tables of protection domains, memory regions and memory windows. */
#include "calltrace/entries.h"
#include "calltrace/traced_call.h"

/* ---- protection domains ---- */

/* Stores the SGE limits of the object in *o. Does nothing if `o` is NULL because memory ran out. */
static void traced_create_set_sges(struct traced_object *o, ULONG receive, ULONG initiator)
{
    if (o)
        o->sges = (struct traced_sges){ receive, initiator };
}

static NTSTATUS traced_pd_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, (NDK_PD *)object);
    TRACED_CALL(call, NdkClosePd, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkClosePd, object, done, context);
}

static NTSTATUS traced_pd_create_mr(NDK_PD *pd, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                    NDK_MR **out)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    TRACED_CALL(call, NdkCreateMr, .object = (uintptr_t)pd, .fast_register = fast);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeMr, done, context);

    return traced_create_end(
        &call, o, real->NdkCreateMr(pd, fast, traced_create_routine(o, done), traced_create_context(o, context), out),
        out);
}

static NTSTATUS traced_pd_create_mw(NDK_PD *pd, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    TRACED_CALL(call, NdkCreateMw, .object = (uintptr_t)pd);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeMw, done, context);

    return traced_create_end(
        &call, o, real->NdkCreateMw(pd, traced_create_routine(o, done), traced_create_context(o, context), out), out);
}

/*
 * Records a notification and calls the consumer's callback. If the create call has not returned yet, the event has no
 * object.
 */
static VOID traced_on_srq_notification(PVOID context, NTSTATUS status)
{
    const struct traced_object *o = context;
    NDK_FN_SRQ_NOTIFICATION_CALLBACK notify = o->callback.srq;
    void *notify_context = o->callback_context;
    TRACED_CALL(callback, srq_notification, .object = (uintptr_t)o->address, .status = (uint32_t)status);

    notify(notify_context, status);
    traced_call_end_callback(&callback);
}

static NTSTATUS traced_pd_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, ULONG threshold,
                                     NDK_FN_SRQ_NOTIFICATION_CALLBACK notify, PVOID notify_context,
                                     GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                     NDK_SRQ **out)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    TRACED_CALL(call, NdkCreateSrq, .object = (uintptr_t)pd, .depth = depth, .sges = sges, .threshold = threshold);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeSrq, done, context);
    bool is_traced = o && notify && done;

    traced_create_set_sges(o, sges, 0);
    if (is_traced) {
        o->callback.srq = notify;
        o->callback_context = notify_context;
    }
    return traced_create_end(&call, o,
                             real->NdkCreateSrq(pd, depth, sges, threshold,
                                                is_traced ? traced_on_srq_notification : notify,
                                                is_traced ? o : notify_context, affinity,
                                                traced_create_routine(o, done), traced_create_context(o, context), out),
                             out);
}

static NTSTATUS traced_pd_create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context,
                                    ULONG receive_depth, ULONG initiator_depth, ULONG receive_sges,
                                    ULONG initiator_sges, ULONG inline_size, NDK_FN_CREATE_COMPLETION done,
                                    PVOID context, NDK_QP **out)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    TRACED_CALL(call, NdkCreateQp, .object = (uintptr_t)pd, .receive_cq = (uintptr_t)receive_cq,
                .initiator_cq = (uintptr_t)initiator_cq, .qp_context = (uintptr_t)qp_context,
                .receive_depth = receive_depth, .initiator_depth = initiator_depth, .receive_sges = receive_sges,
                .initiator_sges = initiator_sges, .inline_size = inline_size);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeQp, done, context);

    traced_create_set_sges(o, receive_sges, initiator_sges);
    return traced_create_end(&call, o,
                             real->NdkCreateQp(pd, receive_cq, initiator_cq, qp_context, receive_depth, initiator_depth,
                                               receive_sges, initiator_sges, inline_size,
                                               traced_create_routine(o, done), traced_create_context(o, context), out),
                             out);
}

static NTSTATUS traced_pd_create_qp_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq,
                                             PVOID qp_context, ULONG initiator_depth, ULONG initiator_sges,
                                             ULONG inline_size, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                             NDK_QP **out)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    TRACED_CALL(call, NdkCreateQpWithSrq, .object = (uintptr_t)pd, .receive_cq = (uintptr_t)receive_cq,
                .initiator_cq = (uintptr_t)initiator_cq, .srq = (uintptr_t)srq, .qp_context = (uintptr_t)qp_context,
                .initiator_depth = initiator_depth, .initiator_sges = initiator_sges, .inline_size = inline_size);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeQp, done, context);

    traced_create_set_sges(o, 0, initiator_sges);
    return traced_create_end(&call, o,
                             real->NdkCreateQpWithSrq(pd, receive_cq, initiator_cq, srq, qp_context, initiator_depth,
                                                      initiator_sges, inline_size, traced_create_routine(o, done),
                                                      traced_create_context(o, context), out),
                             out);
}

static VOID traced_pd_get_privileged_token(NDK_PD *pd, UINT32 *token)
{
    const NDK_PD_DISPATCH *real = TRACED_REAL(Pd, pd);
    uint64_t begin_ns = traced_now();

    real->NdkGetPrivilegedMemoryRegionToken(pd, token);
    TRACED_RETURN(NdkGetPrivilegedMemoryRegionToken, begin_ns, STATUS_SUCCESS, .object = (uintptr_t)pd,
                  .token = token ? *token : 0);
}

const NDK_PD_DISPATCH traced_pd_entries = {
    .NdkClosePd = traced_pd_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkCreateMr = traced_pd_create_mr,
    .NdkCreateMw = traced_pd_create_mw,
    .NdkCreateSrq = traced_pd_create_srq,
    .NdkCreateQp = traced_pd_create_qp,
    .NdkCreateQpWithSrq = traced_pd_create_qp_with_srq,
    .NdkGetPrivilegedMemoryRegionToken = traced_pd_get_privileged_token,
};

/* ---- memory regions ---- */

static NTSTATUS traced_mr_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, (NDK_MR *)object);
    TRACED_CALL(call, NdkCloseMr, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseMr, object, done, context);
}

static NTSTATUS traced_mr_register(NDK_MR *mr, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                                   PVOID context)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, mr);
    TRACED_CALL(call, NdkRegisterMr, .object = (uintptr_t)mr, .mdl = (uintptr_t)mdl, .length = length, .flags = flags,
                .address = mdl ? (uintptr_t)mdl->StartVa + mdl->ByteOffset : 0);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkRegisterMr(mr, mdl, length, flags, traced_call_routine(&call, done),
                                                      traced_call_context(&call, context)));
}

static NTSTATUS traced_mr_deregister(NDK_MR *mr, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, mr);
    TRACED_CALL(call, NdkDeregisterMr, .object = (uintptr_t)mr);

    traced_call_set_request(&call, done, context);
    return traced_call_end(
        &call, real->NdkDeregisterMr(mr, traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static NTSTATUS traced_mr_init_fast(NDK_MR *mr, ULONG pages, BOOLEAN remote_access, NDK_FN_REQUEST_COMPLETION done,
                                    PVOID context)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, mr);
    TRACED_CALL(call, NdkInitializeFastRegisterMr, .object = (uintptr_t)mr, .pages = pages,
                .remote_access = remote_access);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call,
                           real->NdkInitializeFastRegisterMr(mr, pages, remote_access, traced_call_routine(&call, done),
                                                             traced_call_context(&call, context)));
}

static UINT32 traced_mr_get_remote_token(NDK_MR *mr)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, mr);
    uint64_t begin_ns = traced_now();
    UINT32 token = real->NdkGetRemoteTokenFromMr(mr);

    TRACED_RETURN(NdkGetRemoteTokenFromMr, begin_ns, STATUS_SUCCESS, .object = (uintptr_t)mr, .token = token);
    return token;
}

static UINT32 traced_mr_get_local_token(NDK_MR *mr)
{
    const NDK_MR_DISPATCH *real = TRACED_REAL(Mr, mr);
    uint64_t begin_ns = traced_now();
    UINT32 token = real->NdkGetLocalTokenFromMr(mr);

    TRACED_RETURN(NdkGetLocalTokenFromMr, begin_ns, STATUS_SUCCESS, .object = (uintptr_t)mr, .token = token);
    return token;
}

const NDK_MR_DISPATCH traced_mr_entries = {
    .NdkCloseMr = traced_mr_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkRegisterMr = traced_mr_register,
    .NdkDeregisterMr = traced_mr_deregister,
    .NdkInitializeFastRegisterMr = traced_mr_init_fast,
    .NdkGetRemoteTokenFromMr = traced_mr_get_remote_token,
    .NdkGetLocalTokenFromMr = traced_mr_get_local_token,
};

/* ---- memory windows ---- */

static NTSTATUS traced_mw_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_MW_DISPATCH *real = TRACED_REAL(Mw, (NDK_MW *)object);
    TRACED_CALL(call, NdkCloseMw, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseMw, object, done, context);
}

static UINT32 traced_mw_get_remote_token(NDK_MW *mw)
{
    const NDK_MW_DISPATCH *real = TRACED_REAL(Mw, mw);
    uint64_t begin_ns = traced_now();
    UINT32 token = real->NdkGetRemoteTokenFromMw(mw);

    TRACED_RETURN(NdkGetRemoteTokenFromMw, begin_ns, STATUS_SUCCESS, .object = (uintptr_t)mw, .token = token);
    return token;
}

const NDK_MW_DISPATCH traced_mw_entries = {
    .NdkCloseMw = traced_mw_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkGetRemoteTokenFromMw = traced_mw_get_remote_token,
};
