/* SPDX-License-Identifier: MIT */
/* Implements the protection domains' dispatch table, and NdkCreatePd. */
#include "verify/region.h"

static VOID verify_pd_privileged_token(NDK_PD *pub, UINT32 *token)
{
    PROXY_CALL(p, pub, "NdkGetPrivilegedMemoryRegionToken");
    NDK_PD *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkGetPrivilegedMemoryRegionToken(real, token);
}

static const NDK_PD_DISPATCH pd_dispatch = {
    .NdkClosePd = proxy_close_pd,
    .NdkQueryExtension = proxy_query_extension,
    .NdkCreateMr = verify_create_mr,
    .NdkCreateMw = verify_create_mw,
    .NdkCreateSrq = verify_create_srq,
    .NdkCreateQp = verify_create_qp,
    .NdkCreateQpWithSrq = verify_create_qp_with_srq,
    .NdkGetPrivilegedMemoryRegionToken = verify_pd_privileged_token,
};

static void pd_free(struct proxy *p)
{
    tokens_fini(&((struct protection_domain *)p)->tokens);
}

NTSTATUS verify_create_pd(NDK_ADAPTER *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    PROXY_CALL(parent, pub, "NdkCreatePd");
    struct proxy *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_PD *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_create(sizeof(struct protection_domain), NdkObjectTypePd, &pd_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    tokens_init(&((struct protection_domain *)p)->tokens);
    p->on_free = pd_free;
    proxy_begin_create(p, "NdkCreatePd", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreatePd(real, proxy_create_routine(p), p, &made), &made, out);
}
