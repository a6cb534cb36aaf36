/* SPDX-License-Identifier: MIT */
/*
 * Protection domains. One has no state: its address is what tells the fabric which regions and queue pairs belong
 * together. It lives until the last of them is closed, so that the address means nothing else meanwhile.
 */
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"

const void *pd_domain(const struct pd *pd)
{
    return pd;
}

static void privileged_token(NDK_PD *pd, UINT32 *token)
{
    (void)pd;
    *token = FABRIC_PRIVILEGED_TOKEN;
}

static void destroy(struct object *o)
{
    (void)o;
}

static const struct object_type type = {.ndk_type = NdkObjectTypePd, .destroy = destroy};

static const NDK_PD_DISPATCH dispatch = {
    .NdkClosePd = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkCreateMr = mr_create,
    .NdkCreateMw = mw_create,
    .NdkCreateSrq = srq_create,
    .NdkCreateQp = qp_create,
    .NdkCreateQpWithSrq = qp_create_with_srq,
    .NdkGetPrivilegedMemoryRegionToken = privileged_token,
};

NTSTATUS pd_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    struct adapter *a = adapter_of(adapter);
    struct pd *pd = calloc(1, sizeof(*pd));

    if (!pd)
        return STATUS_INSUFFICIENT_RESOURCES;
    object_init(&pd->obj, &type, &pd->pub.Header, pd, a, adapter_home(a));
    pd->pub.Dispatch = &dispatch;
    object_depend(&pd->obj, &a->obj);
    return object_created(a, &pd->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
