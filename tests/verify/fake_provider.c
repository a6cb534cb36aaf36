/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "verify/fake_provider.h"

static struct fake_provider fake;

static NTSTATUS fake_create(const void *parent, void *object, void *out, NDK_FN_CREATE_COMPLETION done, void *context)
{
    fake.called = parent;
    fake.open++;
    if (!fake.pend) {
        *(void **)out = object;
        return STATUS_SUCCESS;
    }
    fake.created = done;
    fake.completion_context = context;
    return STATUS_PENDING;
}

static NTSTATUS fake_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    fake.called = object;
    fake.open--;
    if (!fake.pend)
        return STATUS_SUCCESS;
    fake.closed = done;
    fake.completion_context = context;
    return STATUS_PENDING;
}

void fake_provider_complete(struct fake_provider *f, NTSTATUS status)
{
    NDK_FN_CREATE_COMPLETION created = f->created;
    NDK_FN_CLOSE_COMPLETION closed = f->closed;

    f->created = NULL;
    f->closed = NULL;
    if (created)
        created(f->completion_context, status, &f->cq.Header);
    else
        closed(f->completion_context);
}

static VOID fake_arm(NDK_CQ *cq, ULONG type)
{
    (void)type;
    fake.called = cq;
}

static const NDK_CQ_DISPATCH cq_dispatch = { .NdkCloseCq = fake_close, .NdkArmCq = fake_arm };

static NTSTATUS fake_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify,
                               PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done,
                               PVOID context, NDK_CQ **out)
{
    (void)depth;
    (void)affinity;
    fake.notify = notify;
    fake.notify_context = notify_context;
    return fake_create(adapter, &fake.cq, out, done, context);
}

static const NDK_SHARED_ENDPOINT_DISPATCH endpoint_dispatch = { .NdkCloseSharedEndpoint = fake_close };

static NTSTATUS fake_create_endpoint(NDK_ADAPTER *adapter, CONST PSOCKADDR address, ULONG length,
                                     NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out)
{
    memcpy(fake.address, address, length);
    return fake_create(adapter, &fake.endpoint, out, done, context);
}

static NTSTATUS fake_query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    (void)info;
    (void)size;
    fake.called = adapter;
    return STATUS_SUCCESS;
}

static const NDK_ADAPTER_DISPATCH adapter_dispatch = {
    .NdkQueryAdapterInfo = fake_query_info,
    .NdkCreateCq = fake_create_cq,
    .NdkCreateSharedEndpoint = fake_create_endpoint,
};

struct fake_provider *fake_provider_init(void)
{
    const NDK_VERSION version = { 2, 1 };

    fake = (struct fake_provider){
        .adapter = { .Header = { .Version = version, .ObjectType = NdkObjectTypeAdapter },
                     .Dispatch = &adapter_dispatch },
        .cq = { .Header = { .Version = version, .ObjectType = NdkObjectTypeCq }, .Dispatch = &cq_dispatch },
        .endpoint = { .Header = { .Version = version, .ObjectType = NdkObjectTypeSharedEndpoint },
                      .Dispatch = &endpoint_dispatch },
    };
    return &fake;
}
