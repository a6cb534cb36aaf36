/* SPDX-License-Identifier: MIT */
/* Memory regions and windows. A region's MDLs are watched from its registration to its deregistration. */
#include "verify/async_call.h"

/* ---- memory regions ---- */

static void mr_clear_mdls(struct proxy *mr)
{
    proxy_lock_all();
    mr->mdl_count = 0;
    proxy_unlock_all();
}

/* Stores a registration's MDLs. Returns false if the region has MDLs already; the provider then refuses the call. */
static bool mr_set_mdls(struct proxy *mr, const MDL *mdl)
{
    bool first;

    proxy_lock_all();
    first = mr->mdl_count == 0;
    proxy_watch(mr);
    for (; first && mdl && mr->mdl_count < PROXY_MAX_MDLS; mdl = mdl->Next)
        mr->mdls[mr->mdl_count++] = mdl;
    proxy_unlock_all();
    return first;
}

static void mr_on_registered(struct proxy *mr, NTSTATUS status, void *subject)
{
    (void)subject;
    if (!NT_SUCCESS(status))
        mr_clear_mdls(mr);
}

static void mr_on_deregistered(struct proxy *mr, NTSTATUS status, void *subject)
{
    (void)subject;
    (void)status; /* a deregistration fails only if the region is not registered */
    mr_clear_mdls(mr);
}

static NTSTATUS verify_mr_register(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                                   PVOID context)
{
    PROXY_CALL(p, pub, "NdkRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct async_call *c;
    NTSTATUS status;
    bool watches;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    watches = verify_on() && mr_set_mdls(p, mdl);
    c = async_call_begin(p, "NdkRegisterMr", done, context, watches ? mr_on_registered : NULL);
    status = real->Dispatch->NdkRegisterMr(real, mdl, length, flags, async_call_routine(c, done),
                                           async_call_context(c, context));
    if (!c && watches)
        mr_on_registered(p, status, NULL); /* without a completion routine the provider returns the final status */
    return async_call_end(c, status);
}

static NTSTATUS verify_mr_deregister(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkDeregisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    c = async_call_begin(p, "NdkDeregisterMr", done, context, mr_on_deregistered);
    return async_call_end(
        c, real->Dispatch->NdkDeregisterMr(real, async_call_routine(c, done), async_call_context(c, context)));
}

static NTSTATUS verify_mr_initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote,
                                                   NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkInitializeFastRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct async_call *c;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    c = async_call_begin(p, "NdkInitializeFastRegisterMr", done, context, NULL);
    status = real->Dispatch->NdkInitializeFastRegisterMr(real, pages, remote, async_call_routine(c, done),
                                                         async_call_context(c, context));
    if (NT_SUCCESS(status))
        atomic_store(&p->fast_pages, pages);
    return async_call_end(c, status);
}

static UINT32 verify_mr_remote_token(NDK_MR *pub)
{
    PROXY_CALL(p, pub, "NdkGetRemoteTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetRemoteTokenFromMr(real) : 0;
}

static UINT32 verify_mr_local_token(NDK_MR *pub)
{
    PROXY_CALL(p, pub, "NdkGetLocalTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetLocalTokenFromMr(real) : 0;
}

static const NDK_MR_DISPATCH mr_dispatch = {
    .NdkCloseMr = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkRegisterMr = verify_mr_register,
    .NdkDeregisterMr = verify_mr_deregister,
    .NdkInitializeFastRegisterMr = verify_mr_initialize_fast_register,
    .NdkGetRemoteTokenFromMr = verify_mr_remote_token,
    .NdkGetLocalTokenFromMr = verify_mr_local_token,
};

NTSTATUS verify_create_mr(NDK_PD *pub, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out)
{
    PROXY_CALL(parent, pub, "NdkCreateMr");
    struct proxy *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MR *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_create(sizeof *p, NdkObjectTypeMr, &mr_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, "NdkCreateMr", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreateMr(real, fast, proxy_create_routine(p), p, &made), &made, out);
}

/* ---- memory windows ---- */

static UINT32 verify_mw_remote_token(NDK_MW *pub)
{
    PROXY_CALL(p, pub, "NdkGetRemoteTokenFromMw");
    NDK_MW *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetRemoteTokenFromMw(real) : 0;
}

static const NDK_MW_DISPATCH mw_dispatch = {
    .NdkCloseMw = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkGetRemoteTokenFromMw = verify_mw_remote_token,
};

NTSTATUS verify_create_mw(NDK_PD *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    PROXY_CALL(parent, pub, "NdkCreateMw");
    struct proxy *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MW *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_create(sizeof *p, NdkObjectTypeMw, &mw_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, "NdkCreateMw", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreateMw(real, proxy_create_routine(p), p, &made), &made, out);
}
