/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "verify/fake_provider.h"

static struct fake_provider fake;

struct fake_setting fake_setting = { .version = { 2, 1 }, .flags = FAKE_FLAGS, .info_status = STATUS_SUCCESS };

static NTSTATUS fake_create(const void *parent, void *object, void *out, NDK_FN_CREATE_COMPLETION done, void *context)
{
    fake.called = parent;
    fake.open++;
    if (!fake.pend) {
        *(void **)out = object;
        return STATUS_SUCCESS;
    }
    fake.created = done;
    fake.created_object = object;
    fake.completion_context = context;
    if (fake.inside)
        fake.inside();
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

/* A call on an object that does nothing. */
static void fake_call(const void *object)
{
    fake.called = object;
    if (fake.inside)
        fake.inside();
}

static NTSTATUS fake_request(const void *object, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    NTSTATUS status = fake.pend ? STATUS_PENDING : STATUS_SUCCESS;

    if (fake.pend) {
        fake.requested = done;
        fake.completion_context = context;
    }
    fake_call(object);
    return status;
}

void fake_provider_complete(struct fake_provider *f, NTSTATUS status)
{
    NDK_FN_CREATE_COMPLETION created = f->created;
    NDK_FN_CLOSE_COMPLETION closed = f->closed;
    NDK_FN_REQUEST_COMPLETION requested = f->requested;

    f->created = NULL;
    f->closed = NULL;
    f->requested = NULL;
    if (created)
        created(f->completion_context, status, f->created_object);
    else if (closed)
        closed(f->completion_context);
    else
        requested(f->completion_context, status);
}

/* ---- completion queues ---- */

static VOID fake_arm(NDK_CQ *cq, ULONG type)
{
    (void)type;
    fake_call(cq);
}

static ULONG fake_get_results(NDK_CQ *cq, NDK_RESULT results[], ULONG count)
{
    (void)results;
    (void)count;
    fake_call(cq);
    return 0;
}

static ULONG fake_get_results_ex(NDK_CQ *cq, NDK_RESULT_EX results[], ULONG count)
{
    (void)results;
    (void)count;
    fake_call(cq);
    return 0;
}

static NTSTATUS fake_resize(NDK_CQ *cq, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)depth;
    return fake_request(cq, done, context);
}

static NTSTATUS fake_moderate(NDK_CQ *cq, ULONG interval, ULONG count)
{
    (void)interval;
    (void)count;
    fake_call(cq);
    return STATUS_SUCCESS;
}

static const NDK_CQ_DISPATCH cq_dispatch = {
    .NdkCloseCq = fake_close,
    .NdkArmCq = fake_arm,
    .NdkGetCqResults = fake_get_results,
    .NdkGetCqResultsEx = fake_get_results_ex,
    .NdkResizeCq = fake_resize,
    .NdkControlCqInterruptModeration = fake_moderate,
};

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

/* ---- queue pairs and shared receive queues ---- */

static VOID fake_flush(NDK_QP *qp)
{
    fake_call(qp);
}

static NTSTATUS fake_send(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    (void)context, (void)sgl, (void)sges, (void)flags;
    fake_call(qp);
    return fake.posted;
}

static NTSTATUS fake_send_and_invalidate(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags,
                                         UINT32 token)
{
    (void)context, (void)sgl, (void)sges, (void)flags, (void)token;
    fake_call(qp);
    return STATUS_SUCCESS;
}

static NTSTATUS fake_receive(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    (void)context, (void)sgl, (void)sges;
    fake_call(qp);
    return STATUS_SUCCESS;
}

static NTSTATUS fake_invalidate(NDK_QP *qp, PVOID context, NDK_OBJECT_HEADER *object, ULONG flags)
{
    (void)context, (void)object, (void)flags;
    fake_call(qp);
    return STATUS_SUCCESS;
}

static const NDK_QP_DISPATCH qp_dispatch = {
    .NdkCloseQp = fake_close,
    .NdkFlush = fake_flush,
    .NdkSend = fake_send,
    .NdkSendAndInvalidate = fake_send_and_invalidate,
    .NdkReceive = fake_receive,
    .NdkInvalidate = fake_invalidate,
};

static NTSTATUS fake_srq_receive(NDK_SRQ *srq, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    (void)context, (void)sgl, (void)sges;
    fake_call(srq);
    return STATUS_SUCCESS;
}

static NTSTATUS fake_modify_srq(NDK_SRQ *srq, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION done,
                                PVOID context)
{
    (void)depth, (void)threshold;
    return fake_request(srq, done, context);
}

static const NDK_SRQ_DISPATCH srq_dispatch = {
    .NdkCloseSrq = fake_close,
    .NdkModifySrq = fake_modify_srq,
    .NdkSrqReceive = fake_srq_receive,
};

/* ---- protection domains ---- */

static NTSTATUS fake_create_qp(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context,
                               ULONG receive_depth, ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges,
                               ULONG inline_size, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    (void)receive_cq, (void)initiator_cq, (void)qp_context, (void)receive_depth, (void)initiator_depth;
    (void)receive_sges, (void)initiator_sges, (void)inline_size;
    return fake_create(pd, &fake.qp, out, done, context);
}

static NTSTATUS fake_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, ULONG threshold,
                                NDK_FN_SRQ_NOTIFICATION_CALLBACK notify, PVOID notify_context, GROUP_AFFINITY *affinity,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SRQ **out)
{
    (void)depth, (void)sges, (void)threshold, (void)notify, (void)notify_context, (void)affinity;
    return fake_create(pd, &fake.srq, out, done, context);
}

static VOID fake_privileged_token(NDK_PD *pd, UINT32 *token)
{
    fake.called = pd;
    *token = 0xffffffff;
}

static NTSTATUS fake_register_mr(NDK_MR *mr, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                                 PVOID context)
{
    (void)mdl, (void)length, (void)flags;
    return fake_request(mr, done, context);
}

static NTSTATUS fake_deregister_mr(NDK_MR *mr, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return fake_request(mr, done, context);
}

static UINT32 fake_token(NDK_MR *mr)
{
    (void)mr;
    return 1;
}

static const NDK_MR_DISPATCH mr_dispatch = {
    .NdkCloseMr = fake_close,
    .NdkRegisterMr = fake_register_mr,
    .NdkDeregisterMr = fake_deregister_mr,
    .NdkGetLocalTokenFromMr = fake_token,
    .NdkGetRemoteTokenFromMr = fake_token,
};

static NTSTATUS fake_create_mr(NDK_PD *pd, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out)
{
    (void)fast;
    return fake_create(pd, &fake.mr, out, done, context);
}

static const NDK_PD_DISPATCH pd_dispatch = {
    .NdkClosePd = fake_close,
    .NdkCreateMr = fake_create_mr,
    .NdkCreateQp = fake_create_qp,
    .NdkCreateSrq = fake_create_srq,
    .NdkGetPrivilegedMemoryRegionToken = fake_privileged_token,
};

static NTSTATUS fake_create_pd(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    return fake_create(adapter, &fake.pd, out, done, context);
}

/* ---- connections ---- */

static const NDK_LISTENER_DISPATCH listener_dispatch = { .NdkCloseListener = fake_close };

static NTSTATUS fake_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                     NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out)
{
    (void)event, (void)event_context;
    return fake_create(adapter, &fake.listener, out, done, context);
}

static NTSTATUS fake_accept(NDK_CONNECTOR *connector, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                            ULONG length, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                            NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)qp, (void)inbound, (void)outbound, (void)data, (void)length, (void)event, (void)event_context;
    return fake_request(connector, done, context);
}

static NTSTATUS fake_accept_ex(NDK_CONNECTOR *connector, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                               ULONG length, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                               NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)qp, (void)inbound, (void)outbound, (void)data, (void)length, (void)event, (void)event_context;
    return fake_request(connector, done, context);
}

static NTSTATUS fake_complete_connect_ex(NDK_CONNECTOR *connector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event,
                                         PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)event, (void)event_context;
    return fake_request(connector, done, context);
}

static const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = fake_close,
    .NdkAccept = fake_accept,
    .NdkAcceptEx = fake_accept_ex,
    .NdkCompleteConnectEx = fake_complete_connect_ex,
};

static NTSTATUS fake_create_connector(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                      NDK_CONNECTOR **out)
{
    return fake_create(adapter, &fake.connector, out, done, context);
}

/* ---- adapters ---- */

static NTSTATUS fake_build_lam(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done,
                               PVOID context, NDK_LOGICAL_ADDRESS_MAPPING *lam, ULONG *size, ULONG *fbo)
{
    (void)mdl, (void)length, (void)lam, (void)size, (void)fbo;
    return fake_request(adapter, done, context);
}

static VOID fake_release_lam(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    (void)lam;
    fake_call(adapter);
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
    fake.called = adapter;
    if (info && *size >= sizeof *info && NT_SUCCESS(fake_setting.info_status))
        *info = (NDK_ADAPTER_INFO){ .Version = fake_setting.version, .AdapterFlags = fake_setting.flags };
    return fake_setting.info_status;
}

static const NDK_ADAPTER_DISPATCH adapter_dispatch = {
    .NdkQueryAdapterInfo = fake_query_info,
    .NdkCreateCq = fake_create_cq,
    .NdkCreatePd = fake_create_pd,
    .NdkCreateConnector = fake_create_connector,
    .NdkCreateListener = fake_create_listener,
    .NdkBuildLAM = fake_build_lam,
    .NdkReleaseLAM = fake_release_lam,
    .NdkCreateSharedEndpoint = fake_create_endpoint,
};

struct fake_provider *fake_provider_init(void)
{
    const NDK_VERSION version = fake_setting.version;

    fake = (struct fake_provider){
        .adapter = { .Header = { .Version = version, .ObjectType = NdkObjectTypeAdapter },
                     .Dispatch = &adapter_dispatch },
        .cq = { .Header = { .Version = version, .ObjectType = NdkObjectTypeCq }, .Dispatch = &cq_dispatch },
        .endpoint = { .Header = { .Version = version, .ObjectType = NdkObjectTypeSharedEndpoint },
                      .Dispatch = &endpoint_dispatch },
        .pd = { .Header = { .Version = version, .ObjectType = NdkObjectTypePd }, .Dispatch = &pd_dispatch },
        .mr = { .Header = { .Version = version, .ObjectType = NdkObjectTypeMr }, .Dispatch = &mr_dispatch },
        .qp = { .Header = { .Version = version, .ObjectType = NdkObjectTypeQp }, .Dispatch = &qp_dispatch },
        .listener = { .Header = { .Version = version, .ObjectType = NdkObjectTypeListener },
                      .Dispatch = &listener_dispatch },
        .connector = { .Header = { .Version = version, .ObjectType = NdkObjectTypeConnector },
                       .Dispatch = &connector_dispatch },
        .srq = { .Header = { .Version = version, .ObjectType = NdkObjectTypeSrq }, .Dispatch = &srq_dispatch },
    };
    return &fake;
}
