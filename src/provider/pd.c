/* SPDX-License-Identifier: MIT */
/*
 * Implements protection domains. A domain has no state; its address identifies it. The fabric compares the addresses to
 * find whether a region and a queue pair belong to the same domain. The invariant: the object lives until its last
 * region and its last queue pair are closed, so no other domain has the same address meanwhile.
 */
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"

const void *pd_domain(const struct pd *pd)
{
    return pd;
}

static void pd_ndk_privileged_token(NDK_PD *pd, UINT32 *token)
{
    (void)pd;
    *token = FABRIC_PRIVILEGED_TOKEN;
}

static bool pd_describe(struct object *o, union live_entry *entry)
{
    entry->pd = (ondk_protection_domain_t){
        .state = object_state(o, "open"),
        .id = o->live_id,
        .users = object_users(o),
    };
    return true;
}

static const struct object_type pd_type = { .ndk_type = NdkObjectTypePd, .describe = pd_describe };

static const NDK_PD_DISPATCH pd_dispatch = {
    .NdkClosePd = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkCreateMr = mr_create,
    .NdkCreateMw = mw_create,
    .NdkCreateSrq = srq_create,
    .NdkCreateQp = qp_create,
    .NdkCreateQpWithSrq = qp_create_with_srq,
    .NdkGetPrivilegedMemoryRegionToken = pd_ndk_privileged_token,
};

NTSTATUS pd_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    struct adapter *a = adapter_of(adapter);
    struct pd *pd = calloc(1, sizeof(*pd));

    if (!pd)
        return STATUS_INSUFFICIENT_RESOURCES;
    object_init(&pd->obj, &pd_type, &pd->pub.Header, pd, a, adapter_home(a));
    pd->pub.Dispatch = &pd_dispatch;
    object_depend(&pd->obj, &a->obj);
    return object_created(a, &pd->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
