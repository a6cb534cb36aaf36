/* SPDX-License-Identifier: MIT */
/* Implements the adapters' dispatch table. Each entry records its call and calls the provider's entry. */
#include "calltrace/entries.h"
#include "calltrace/traced_call.h"

static NTSTATUS traced_adapter_query_extension(NDK_OBJECT_HEADER *object, GUID *id, NDK_VERSION version,
                                               NDK_EXTENSION_INTERFACE *out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, (NDK_ADAPTER *)object);
    TRACED_CALL(call, NdkQueryExtension, .object = (uintptr_t)object);

    return traced_call_end(&call, real->NdkQueryExtension(object, id, version, out));
}

/*
 * Records NdkQueryExtension for all types except the adapter. The second entry of these types' tables is
 * NdkQueryExtension, so each of the tables can be read as an NDK_PD_DISPATCH.
 */
NTSTATUS traced_query_extension(NDK_OBJECT_HEADER *object, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out)
{
    const NDK_PD_DISPATCH *real = traced_table_real(object->ObjectType, object, ((NDK_PD *)object)->Dispatch);
    TRACED_CALL(call, NdkQueryExtension, .object = (uintptr_t)object);

    return traced_call_end(&call, real->NdkQueryExtension(object, id, version, out));
}

static NTSTATUS traced_adapter_query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkQueryAdapterInfo, .object = (uintptr_t)adapter);

    return traced_call_end(&call, real->NdkQueryAdapterInfo(adapter, info, size));
}

/* ---- creates ---- */

static VOID traced_on_cq_notification(PVOID context, NTSTATUS status)
{
    const struct traced_object *o = context;
    NDK_FN_CQ_NOTIFICATION_CALLBACK notify = o->callback.cq;
    void *notify_context = o->callback_context;
    TRACED_CALL(callback, cq_notification, .object = (uintptr_t)o->address, .status = (uint32_t)status);

    notify(notify_context, status);
    traced_call_end_callback(&callback);
}

static NTSTATUS traced_adapter_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify,
                                         PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done,
                                         PVOID context, NDK_CQ **out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkCreateCq, .object = (uintptr_t)adapter, .depth = depth);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeCq, done, context);
    bool is_traced = o && notify && done;

    if (is_traced) {
        o->callback.cq = notify;
        o->callback_context = notify_context;
    }
    return traced_create_end(&call, o,
                             real->NdkCreateCq(adapter, depth, is_traced ? traced_on_cq_notification : notify,
                                               is_traced ? o : notify_context, affinity, traced_create_routine(o, done),
                                               traced_create_context(o, context), out),
                             out);
}

static NTSTATUS traced_adapter_create_pd(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                         NDK_PD **out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkCreatePd, .object = (uintptr_t)adapter);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypePd, done, context);

    return traced_create_end(
        &call, o, real->NdkCreatePd(adapter, traced_create_routine(o, done), traced_create_context(o, context), out),
        out);
}

static NTSTATUS traced_adapter_create_endpoint(NDK_ADAPTER *adapter, CONST PSOCKADDR address, ULONG length,
                                               NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkCreateSharedEndpoint, .object = (uintptr_t)adapter, .local = traced_addr(address, length));
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeSharedEndpoint, done, context);

    return traced_create_end(&call, o,
                             real->NdkCreateSharedEndpoint(adapter, address, length, traced_create_routine(o, done),
                                                           traced_create_context(o, context), out),
                             out);
}

static NTSTATUS traced_adapter_create_connector(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                                NDK_CONNECTOR **out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkCreateConnector, .object = (uintptr_t)adapter);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeConnector, done, context);

    return traced_create_end(
        &call, o,
        real->NdkCreateConnector(adapter, traced_create_routine(o, done), traced_create_context(o, context), out), out);
}

/*
 * Records a connect event and calls the consumer's callback. Traces the new connector, which belongs to the consumer
 * from now on.
 */
static VOID traced_on_connect_event(PVOID context, NDK_CONNECTOR *connector)
{
    const struct traced_object *o = context;
    NDK_FN_CONNECT_EVENT_CALLBACK event = o->callback.connect;
    void *event_context = o->callback_context;
    const struct trace_fields_connect_event fields = { .object = (uintptr_t)o->address,
                                                       .connector = (uintptr_t)connector };
    struct traced_call callback;

    traced_object_insert(traced_object_alloc(NdkObjectTypeConnector), &connector->Header, NdkObjectTypeConnector);
    callback = traced_call_begin(TRACE_TYPE_connect_event, &fields, sizeof fields);
    event(event_context, connector);
    traced_call_end_callback(&callback);
}

static NTSTATUS traced_adapter_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK event,
                                               PVOID event_context, NDK_FN_CREATE_COMPLETION done, PVOID context,
                                               NDK_LISTENER **out)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkCreateListener, .object = (uintptr_t)adapter);
    struct traced_object *o = traced_create_begin(&call, NdkObjectTypeListener, done, context);
    bool is_traced = o && event && done;

    if (is_traced) {
        o->callback.connect = event;
        o->callback_context = event_context;
    }
    return traced_create_end(&call, o,
                             real->NdkCreateListener(adapter, is_traced ? traced_on_connect_event : event,
                                                     is_traced ? o : event_context, traced_create_routine(o, done),
                                                     traced_create_context(o, context), out),
                             out);
}

/* ---- mappings ---- */

static NTSTATUS traced_adapter_build_lam(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done,
                                         PVOID context, NDK_LOGICAL_ADDRESS_MAPPING *lam, ULONG *size, ULONG *fbo)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkBuildLAM, .object = (uintptr_t)adapter, .mdl = (uintptr_t)mdl, .length = length,
                .lam = (uintptr_t)lam);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkBuildLAM(adapter, mdl, length, traced_call_routine(&call, done),
                                                    traced_call_context(&call, context), lam, size, fbo));
}

static VOID traced_adapter_release_lam(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    const NDK_ADAPTER_DISPATCH *real = TRACED_REAL(Adapter, adapter);
    TRACED_CALL(call, NdkReleaseLAM, .object = (uintptr_t)adapter, .lam = (uintptr_t)lam);

    real->NdkReleaseLAM(adapter, lam);
    (void)traced_call_end(&call, STATUS_SUCCESS);
}

const NDK_ADAPTER_DISPATCH traced_adapter_entries = {
    .NdkQueryExtension = traced_adapter_query_extension,
    .NdkQueryAdapterInfo = traced_adapter_query_info,
    .NdkCreateCq = traced_adapter_create_cq,
    .NdkCreatePd = traced_adapter_create_pd,
    .NdkCreateSharedEndpoint = traced_adapter_create_endpoint,
    .NdkCreateConnector = traced_adapter_create_connector,
    .NdkCreateListener = traced_adapter_create_listener,
    .NdkBuildLAM = traced_adapter_build_lam,
    .NdkReleaseLAM = traced_adapter_release_lam,
};
