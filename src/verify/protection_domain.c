/* SPDX-License-Identifier: MIT */
/* Protection domains, memory regions and windows: see proxy.h. */
#include "verify/proxy.h"

/* ---- memory regions ---- */

static void forget_mdls(struct proxy *mr)
{
    proxies_lock();
    mr->mdl_count = 0;
    proxies_unlock();
}

/* A region has one registration: another that fails takes nothing away from it. */
static bool note_mdls(struct proxy *mr, const MDL *mdl)
{
    bool first;

    proxies_lock();
    first = mr->mdl_count == 0;
    proxy_watch(mr);
    for (; first && mdl && mr->mdl_count < PROXY_MDLS; mdl = mdl->Next)
        mr->mdls[mr->mdl_count++] = mdl;
    proxies_unlock();
    return first;
}

static void registered(struct proxy *mr, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        forget_mdls(mr);
}

static void deregistered(struct proxy *mr, NTSTATUS status)
{
    (void)status; /* it cannot fail */
    forget_mdls(mr);
}

static NTSTATUS register_mr(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                            PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkRegisterMr", done, context, check_on() && note_mdls(p, mdl) ? registered : NULL);
    return pend_answer(r, real->Dispatch->NdkRegisterMr(real, mdl, length, flags, pend_routine(r, done),
                                                           pend_context(r, context)));
}

static NTSTATUS deregister_mr(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkDeregisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkDeregisterMr", done, context, deregistered);
    return pend_answer(r, real->Dispatch->NdkDeregisterMr(real, pend_routine(r, done), pend_context(r, context)));
}

static NTSTATUS initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION done,
                                         PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkInitializeFastRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct request *r;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkInitializeFastRegisterMr", done, context, NULL);
    status = real->Dispatch->NdkInitializeFastRegisterMr(real, pages, remote, pend_routine(r, done),
                                                         pend_context(r, context));
    if (NT_SUCCESS(status))
        atomic_store(&p->fast_pages, pages);
    return pend_answer(r, status);
}

static UINT32 remote_token(NDK_MR *pub)
{
    struct proxy *p = ENTER(pub, "NdkGetRemoteTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetRemoteTokenFromMr(real) : 0;
}

static UINT32 local_token(NDK_MR *pub)
{
    struct proxy *p = ENTER(pub, "NdkGetLocalTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetLocalTokenFromMr(real) : 0;
}

static const NDK_MR_DISPATCH mr_dispatch = {
    .NdkCloseMr = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkRegisterMr = register_mr,
    .NdkDeregisterMr = deregister_mr,
    .NdkInitializeFastRegisterMr = initialize_fast_register,
    .NdkGetRemoteTokenFromMr = remote_token,
    .NdkGetLocalTokenFromMr = local_token,
};

static NTSTATUS create_mr(NDK_PD *pub, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateMr"), *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MR *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_make(sizeof *p, NdkObjectTypeMr, &mr_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_creating(p, "NdkCreateMr", done, context);
    return proxy_created(p, real->Dispatch->NdkCreateMr(real, fast, proxy_creation_routine(p), p, &made), &made, out);
}

/* ---- memory windows ---- */

static UINT32 window_token(NDK_MW *pub)
{
    struct proxy *p = ENTER(pub, "NdkGetRemoteTokenFromMw");
    NDK_MW *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetRemoteTokenFromMw(real) : 0;
}

static const NDK_MW_DISPATCH mw_dispatch = {
    .NdkCloseMw = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkGetRemoteTokenFromMw = window_token,
};

static NTSTATUS create_mw(NDK_PD *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateMw"), *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MW *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_make(sizeof *p, NdkObjectTypeMw, &mw_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_creating(p, "NdkCreateMw", done, context);
    return proxy_created(p, real->Dispatch->NdkCreateMw(real, proxy_creation_routine(p), p, &made), &made, out);
}

/* ---- protection domains ---- */

static VOID privileged_token(NDK_PD *pub, UINT32 *token)
{
    struct proxy *p = ENTER(pub, "NdkGetPrivilegedMemoryRegionToken");
    NDK_PD *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkGetPrivilegedMemoryRegionToken(real, token);
}

static const NDK_PD_DISPATCH pd_dispatch = {
    .NdkClosePd = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkCreateMr = create_mr,
    .NdkCreateMw = create_mw,
    .NdkCreateSrq = filter_create_srq,
    .NdkCreateQp = filter_create_qp,
    .NdkCreateQpWithSrq = filter_create_qp_with_srq,
    .NdkGetPrivilegedMemoryRegionToken = privileged_token,
};

NTSTATUS filter_create_pd(NDK_ADAPTER *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreatePd"), *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_PD *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_make(sizeof *p, NdkObjectTypePd, &pd_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_creating(p, "NdkCreatePd", done, context);
    return proxy_created(p, real->Dispatch->NdkCreatePd(real, proxy_creation_routine(p), p, &made), &made, out);
}
