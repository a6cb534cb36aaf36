/* SPDX-License-Identifier: MIT */
/* Implements the dispatch tables of connectors, listeners and shared endpoints. */
#include "calltrace/entries.h"
#include "calltrace/traced_call.h"

/* ---- connectors ---- */

static NTSTATUS traced_connector_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, (NDK_CONNECTOR *)object);
    TRACED_CALL(call, NdkCloseConnector, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseConnector, object, done, context);
}

static NTSTATUS traced_connector_connect(NDK_CONNECTOR *connector, NDK_QP *qp, CONST PSOCKADDR local,
                                         ULONG local_length, CONST PSOCKADDR remote, ULONG remote_length, ULONG inbound,
                                         ULONG outbound, CONST PVOID data, ULONG data_length,
                                         NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkConnect, .object = (uintptr_t)connector, .qp = (uintptr_t)qp,
                .local = traced_addr(local, local_length), .remote = traced_addr(remote, remote_length),
                .inbound = inbound, .outbound = outbound, .data_size = data_length);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkConnect(connector, qp, local, local_length, remote, remote_length, inbound,
                                                   outbound, data, data_length, traced_call_routine(&call, done),
                                                   traced_call_context(&call, context)));
}

static NTSTATUS traced_connector_connect_shared(NDK_CONNECTOR *connector, NDK_QP *qp, NDK_SHARED_ENDPOINT *endpoint,
                                                CONST PSOCKADDR remote, ULONG remote_length, ULONG inbound,
                                                ULONG outbound, CONST PVOID data, ULONG data_length,
                                                NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkConnectWithSharedEndpoint, .object = (uintptr_t)connector, .qp = (uintptr_t)qp,
                .endpoint = (uintptr_t)endpoint, .remote = traced_addr(remote, remote_length), .inbound = inbound,
                .outbound = outbound, .data_size = data_length);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkConnectWithSharedEndpoint(connector, qp, endpoint, remote, remote_length,
                                                                     inbound, outbound, data, data_length,
                                                                     traced_call_routine(&call, done),
                                                                     traced_call_context(&call, context)));
}

static VOID traced_on_disconnect(PVOID context)
{
    const struct traced_disconnect d = *(const struct traced_disconnect *)context;
    TRACED_CALL(callback, disconnect_event, .object = (uintptr_t)d.connector);

    d.routine.plain(d.context);
    traced_call_end_callback(&callback);
}

static VOID traced_on_disconnect_ex(PVOID context, ULONG reason)
{
    const struct traced_disconnect d = *(const struct traced_disconnect *)context;
    TRACED_CALL(callback, disconnect_event, .object = (uintptr_t)d.connector, .reason = reason);

    d.routine.ex(d.context, reason);
    traced_call_end_callback(&callback);
}

static struct traced_disconnect *traced_add_event(const NDK_CONNECTOR *connector,
                                                  NDK_FN_DISCONNECT_EVENT_CALLBACK event, void *context)
{
    struct traced_disconnect *d = traced_object_add_disconnect(connector, event != NULL);

    if (d) {
        d->routine.plain = event;
        d->context = context;
    }
    return d;
}

static struct traced_disconnect *traced_add_event_ex(const NDK_CONNECTOR *connector,
                                                     NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, void *context)
{
    struct traced_disconnect *d = traced_object_add_disconnect(connector, event != NULL);

    if (d) {
        d->routine.ex = event;
        d->context = context;
    }
    return d;
}

static NTSTATUS traced_connector_complete(NDK_CONNECTOR *connector, NDK_FN_DISCONNECT_EVENT_CALLBACK event,
                                          PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkCompleteConnect, .object = (uintptr_t)connector);
    struct traced_disconnect *d = traced_add_event(connector, event, event_context);

    traced_call_set_request(&call, done, context);
    return traced_call_end(
        &call, real->NdkCompleteConnect(connector, d ? traced_on_disconnect : event, d ? (void *)d : event_context,
                                        traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static NTSTATUS traced_connector_complete_ex(NDK_CONNECTOR *connector, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event,
                                             PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkCompleteConnectEx, .object = (uintptr_t)connector);
    struct traced_disconnect *d = traced_add_event_ex(connector, event, event_context);

    traced_call_set_request(&call, done, context);
    return traced_call_end(
        &call, real->NdkCompleteConnectEx(connector, d ? traced_on_disconnect_ex : event, d ? (void *)d : event_context,
                                          traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static NTSTATUS traced_connector_accept(NDK_CONNECTOR *connector, NDK_QP *qp, ULONG inbound, ULONG outbound,
                                        CONST PVOID data, ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK event,
                                        PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkAccept, .object = (uintptr_t)connector, .qp = (uintptr_t)qp, .inbound = inbound,
                .outbound = outbound, .data_size = data_length);
    struct traced_disconnect *d = traced_add_event(connector, event, event_context);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call,
                           real->NdkAccept(connector, qp, inbound, outbound, data, data_length,
                                           d ? traced_on_disconnect : event, d ? (void *)d : event_context,
                                           traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static NTSTATUS traced_connector_accept_ex(NDK_CONNECTOR *connector, NDK_QP *qp, ULONG inbound, ULONG outbound,
                                           CONST PVOID data, ULONG data_length,
                                           NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                           NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkAcceptEx, .object = (uintptr_t)connector, .qp = (uintptr_t)qp, .inbound = inbound,
                .outbound = outbound, .data_size = data_length);
    struct traced_disconnect *d = traced_add_event_ex(connector, event, event_context);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call,
                           real->NdkAcceptEx(connector, qp, inbound, outbound, data, data_length,
                                             d ? traced_on_disconnect_ex : event, d ? (void *)d : event_context,
                                             traced_call_routine(&call, done), traced_call_context(&call, context)));
}

static NTSTATUS traced_connector_reject(NDK_CONNECTOR *connector, CONST PVOID data, ULONG length)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkReject, .object = (uintptr_t)connector, .data_size = length);

    return traced_call_end(&call, real->NdkReject(connector, data, length));
}

static NTSTATUS traced_connector_get_data(NDK_CONNECTOR *connector, ULONG *inbound, ULONG *outbound, PVOID data,
                                          ULONG *length)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkGetConnectionData, .object = (uintptr_t)connector);

    return traced_call_end(&call, real->NdkGetConnectionData(connector, inbound, outbound, data, length));
}

static NTSTATUS traced_connector_get_local(NDK_CONNECTOR *connector, PSOCKADDR address, ULONG *length)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkGetLocalAddress, .object = (uintptr_t)connector);

    return traced_call_end(&call, real->NdkGetLocalAddress(connector, address, length));
}

static NTSTATUS traced_connector_get_peer(NDK_CONNECTOR *connector, PSOCKADDR address, ULONG *length)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkGetPeerAddress, .object = (uintptr_t)connector);

    return traced_call_end(&call, real->NdkGetPeerAddress(connector, address, length));
}

static NTSTATUS traced_connector_disconnect(NDK_CONNECTOR *connector, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_CONNECTOR_DISPATCH *real = TRACED_REAL(Connector, connector);
    TRACED_CALL(call, NdkDisconnect, .object = (uintptr_t)connector);

    traced_call_set_request(&call, done, context);
    return traced_call_end(
        &call, real->NdkDisconnect(connector, traced_call_routine(&call, done), traced_call_context(&call, context)));
}

const NDK_CONNECTOR_DISPATCH traced_connector_entries = {
    .NdkCloseConnector = traced_connector_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkConnect = traced_connector_connect,
    .NdkConnectWithSharedEndpoint = traced_connector_connect_shared,
    .NdkCompleteConnect = traced_connector_complete,
    .NdkAccept = traced_connector_accept,
    .NdkReject = traced_connector_reject,
    .NdkGetConnectionData = traced_connector_get_data,
    .NdkGetLocalAddress = traced_connector_get_local,
    .NdkGetPeerAddress = traced_connector_get_peer,
    .NdkDisconnect = traced_connector_disconnect,
    .NdkCompleteConnectEx = traced_connector_complete_ex,
    .NdkAcceptEx = traced_connector_accept_ex,
};

/* ---- listeners ---- */

static NTSTATUS traced_listener_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_LISTENER_DISPATCH *real = TRACED_REAL(Listener, (NDK_LISTENER *)object);
    TRACED_CALL(call, NdkCloseListener, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseListener, object, done, context);
}

static NTSTATUS traced_listener_listen(NDK_LISTENER *listener, CONST PSOCKADDR address, ULONG length,
                                       NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const NDK_LISTENER_DISPATCH *real = TRACED_REAL(Listener, listener);
    TRACED_CALL(call, NdkListen, .object = (uintptr_t)listener, .local = traced_addr(address, length));

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkListen(listener, address, length, traced_call_routine(&call, done),
                                                  traced_call_context(&call, context)));
}

static NTSTATUS traced_listener_get_local(NDK_LISTENER *listener, PSOCKADDR address, ULONG *length)
{
    const NDK_LISTENER_DISPATCH *real = TRACED_REAL(Listener, listener);
    TRACED_CALL(call, NdkGetLocalAddress, .object = (uintptr_t)listener);

    return traced_call_end(&call, real->NdkGetLocalAddress(listener, address, length));
}

static VOID traced_listener_control(NDK_LISTENER *listener, BOOLEAN pause)
{
    const NDK_LISTENER_DISPATCH *real = TRACED_REAL(Listener, listener);
    TRACED_CALL(call, NdkControlConnectEvents, .object = (uintptr_t)listener, .pause = pause);

    real->NdkControlConnectEvents(listener, pause);
    (void)traced_call_end(&call, STATUS_SUCCESS);
}

const NDK_LISTENER_DISPATCH traced_listener_entries = {
    .NdkCloseListener = traced_listener_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkListen = traced_listener_listen,
    .NdkGetLocalAddress = traced_listener_get_local,
    .NdkControlConnectEvents = traced_listener_control,
};

/* ---- shared endpoints ---- */

static NTSTATUS traced_shared_endpoint_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_SHARED_ENDPOINT_DISPATCH *real = TRACED_REAL(SharedEndpoint, (NDK_SHARED_ENDPOINT *)object);
    TRACED_CALL(call, NdkCloseSharedEndpoint, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseSharedEndpoint, object, done, context);
}

static NTSTATUS traced_shared_endpoint_get_local(NDK_SHARED_ENDPOINT *endpoint, PSOCKADDR address, ULONG *length)
{
    const NDK_SHARED_ENDPOINT_DISPATCH *real = TRACED_REAL(SharedEndpoint, endpoint);
    TRACED_CALL(call, NdkGetLocalAddress, .object = (uintptr_t)endpoint);

    return traced_call_end(&call, real->NdkGetLocalAddress(endpoint, address, length));
}

const NDK_SHARED_ENDPOINT_DISPATCH traced_shared_endpoint_entries = {
    .NdkCloseSharedEndpoint = traced_shared_endpoint_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkGetLocalAddress = traced_shared_endpoint_get_local,
};
