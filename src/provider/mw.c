/* SPDX-License-Identifier: MIT */
/*
 * Implements memory windows. NdkBind makes their tokens (region_requests.c). The invariant: closing a window ends its
 * binding at once, so that the window no longer delays the end of its memory region.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/region.h"
#include "provider/status.h"

struct mw {
    NDK_MW pub;
    struct object obj;
    struct region region;
};
OBJECT_ASSERT_LAYOUT(mw);

static struct mw *mw_of_object(struct object *o)
{
    return (struct mw *)((char *)o - offsetof(struct mw, obj));
}

struct region *mw_region(NDK_MW *mw)
{
    return &((struct mw *)mw)->region;
}

static void mw_cancel(struct object *o)
{
    region_revoke(&mw_of_object(o)->region);
}

static bool mw_retire(struct object *o)
{
    return region_retire(&mw_of_object(o)->region);
}

static UINT32 mw_ndk_get_token(NDK_MW *pub)
{
    return region_ndk_token(mw_region(pub));
}

static bool mw_describe(struct object *o, union live_entry *entry)
{
    struct mw *mw = mw_of_object(o);
    struct fabric_mr_info info = { .token = 0 };

    if (!o->live_retiring)
        o->adapter->fabric->ops->mr_info(mw->region.fabric, &info);
    entry->mw = (ondk_memory_window_t){
        .state = object_state(o, info.is_prepared     ? "prepared"
                                 : info.is_registered ? "bound"
                                                      : "unbound"),
        .address = info.address,
        .length = info.len,
        .id = o->live_id,
        .pd = mw->region.pd->obj.live_id,
        .token = info.token,
        .remote_read = (info.access & RDMA_ACCESS_REMOTE_READ) != 0,
        .remote_write = (info.access & RDMA_ACCESS_REMOTE_WRITE) != 0,
    };
    return true;
}

static const struct object_type mw_type = {
    .ndk_type = NdkObjectTypeMw,
    .cancel = mw_cancel,
    .retire = mw_retire,
    .describe = mw_describe,
};

static const NDK_MW_DISPATCH mw_dispatch = {
    .NdkCloseMw = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkGetRemoteTokenFromMw = mw_ndk_get_token,
};

NTSTATUS mw_create(NDK_PD *pub_pd, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    struct pd *pd = pd_of(pub_pd);
    struct adapter *a = pd->obj.adapter;

    if (!a->limits.max_window)
        return STATUS_NOT_SUPPORTED;
    struct mw *mw = calloc(1, sizeof(*mw));
    int error = mw ? region_create(&mw->region, &mw->obj, pd) : ENOMEM;
    if (error) {
        free(mw);
        return status_of_errno(error);
    }
    object_init(&mw->obj, &mw_type, &mw->pub.Header, mw, a, adapter_home(a));
    mw->pub.Dispatch = &mw_dispatch;
    object_depend(&mw->obj, &pd->obj);
    return object_created(a, &mw->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
