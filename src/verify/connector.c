/* SPDX-License-Identifier: MIT */
/* Implements the connectors' dispatch table, and NdkCreateConnector. */
#include "base/own_call.h"
#include "verify/address.h"
#include "verify/argument.h"
#include "verify/buffer.h"
#include "verify/connector_call.h"
#include "verify/connector_peer.h"

static NTSTATUS verify_connector_connect(NDK_CONNECTOR *pub, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_length,
                                         CONST PSOCKADDR destination, ULONG destination_length, ULONG inbound,
                                         ULONG outbound, CONST PVOID data, ULONG data_length,
                                         NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    static const char routine[] = "NdkConnect";
    PROXY_CALL(p, pub, routine);
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct mapped_address from, to;
    struct connector_call call;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    PSOCKADDR real_source = address_to_provider(source, source_length, &from);
    PSOCKADDR real_destination = address_to_provider(destination, destination_length, &to);
    buffer_check(p, routine, source, source_length, "source address");
    (void)address_observe(routine, real_source, source_length, true);
    buffer_check(p, routine, destination, destination_length, "destination address");
    if (!address_observe(routine, real_destination, destination_length, false))
        return STATUS_NETWORK_UNREACHABLE;
    connector_call_begin(&call, p, routine, PHASE_CONNECT);
    connector_call_check_data(&call, data, data_length, proxy_adapter_info(p)->MaxCallerData);
    NDK_QP *real_qp = connector_call_use_qp(&call, qp);
    connector_call_set_destination(&call, real_destination, destination_length);
    connector_call_begin_async(&call, done, context);
    return connector_call_end(&call, real->Dispatch->NdkConnect(real, real_qp, real_source, source_length,
                                                                real_destination, destination_length, inbound, outbound,
                                                                data, data_length, async_call_routine(call.async, done),
                                                                async_call_context(call.async, context)));
}

static NTSTATUS verify_connector_connect_shared(NDK_CONNECTOR *pub, NDK_QP *qp, NDK_SHARED_ENDPOINT *endpoint,
                                                CONST PSOCKADDR destination, ULONG destination_length, ULONG inbound,
                                                ULONG outbound, CONST PVOID data, ULONG data_length,
                                                NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    static const char routine[] = "NdkConnectWithSharedEndpoint";
    PROXY_CALL(p, pub, routine);
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct mapped_address to;
    struct connector_call call;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    PSOCKADDR real_destination = address_to_provider(destination, destination_length, &to);
    NDK_SHARED_ENDPOINT *real_endpoint = PROXY_REAL(endpoint, routine);
    buffer_check(p, routine, destination, destination_length, "destination address");
    if (!address_observe(routine, real_destination, destination_length, false))
        return STATUS_NETWORK_UNREACHABLE;
    connector_call_begin(&call, p, routine, PHASE_CONNECT);
    connector_call_check_data(&call, data, data_length, proxy_adapter_info(p)->MaxCallerData);
    NDK_QP *real_qp = connector_call_use_qp(&call, qp);
    connector_call_set_destination(&call, real_destination, destination_length);
    connector_call_begin_async(&call, done, context);
    return connector_call_end(&call, real->Dispatch->NdkConnectWithSharedEndpoint(
                                         real, real_qp, real_endpoint, real_destination, destination_length, inbound,
                                         outbound, data, data_length, async_call_routine(call.async, done),
                                         async_call_context(call.async, context)));
}

bool connector_ask_addresses(struct proxy *p)
{
    NDK_CONNECTOR *real = p->real;
    struct mapped_address address;
    PSOCKADDR at = (PSOCKADDR)(void *)address.bytes;
    ULONG length = sizeof address.bytes;
    bool has_peer = verify_on() && NT_SUCCESS(OWN_CALL(real->Dispatch->NdkGetPeerAddress(real, at, &length)));

    if (has_peer)
        connector_set_peer(p, at, length);
    length = sizeof address.bytes;
    if (!verify_on() || !NT_SUCCESS(OWN_CALL(real->Dispatch->NdkGetLocalAddress(real, at, &length))))
        return false;
    connector_set_local(p, at, length);
    return has_peer;
}

static NTSTATUS connector_forward_complete_connect(struct proxy *p, const char *routine, struct disconnect_event event,
                                                   NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct disconnect_event *added;
    struct connector_call call;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    if (!connector_add_event(p, event, &added))
        return STATUS_INSUFFICIENT_RESOURCES;
    connector_call_begin(&call, p, routine, PHASE_COMPLETE);
    if (call.moved && connector_ask_addresses(p))
        connector_pair((struct connector *)p);
    connector_call_begin_async(&call, done, context);
    NDK_FN_REQUEST_COMPLETION real_done = async_call_routine(call.async, done);
    void *real_context = async_call_context(call.async, context);
    if (event.is_ex)
        status = real->Dispatch->NdkCompleteConnectEx(real, added ? connector_on_disconnect_event_ex : NULL, added,
                                                      real_done, real_context);
    else
        status = real->Dispatch->NdkCompleteConnect(real, added ? connector_on_disconnect_event : NULL, added,
                                                    real_done, real_context);
    return connector_call_end(&call, status);
}

static NTSTATUS verify_connector_complete_connect(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK event,
                                                  PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event plain = { .plain = event, .context = event_context };
    PROXY_CALL(p, pub, "NdkCompleteConnect");

    return connector_forward_complete_connect(p, "NdkCompleteConnect", plain, done, context);
}

static NTSTATUS verify_connector_complete_connect_ex(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event,
                                                     PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event ex = { .is_ex = true, .ex = event, .context = event_context };
    PROXY_CALL(p, pub, "NdkCompleteConnectEx");

    argument_check_version(p, "NdkCompleteConnectEx", ARGUMENT_NDKPI_2_1, "the entry");
    return connector_forward_complete_connect(p, "NdkCompleteConnectEx", ex, done, context);
}

struct accept {
    NDK_QP *qp;
    ULONG inbound, outbound;
    void *data;
    ULONG data_length;
    struct disconnect_event event;
};

static NTSTATUS connector_forward_accept(struct proxy *p, const char *routine, const struct accept *a,
                                         NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct disconnect_event *added;
    struct connector_call call;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    if (!connector_add_event(p, a->event, &added))
        return STATUS_INSUFFICIENT_RESOURCES;
    connector_call_begin(&call, p, routine, PHASE_ACCEPT);
    connector_call_check_data(&call, a->data, a->data_length, proxy_adapter_info(p)->MaxCalleeData);
    NDK_QP *real_qp = connector_call_use_qp(&call, a->qp);
    connector_call_begin_async(&call, done, context);
    NDK_FN_REQUEST_COMPLETION real_done = async_call_routine(call.async, done);
    void *real_context = async_call_context(call.async, context);
    if (a->event.is_ex)
        status = real->Dispatch->NdkAcceptEx(real, real_qp, a->inbound, a->outbound, a->data, a->data_length,
                                             added ? connector_on_disconnect_event_ex : NULL, added, real_done,
                                             real_context);
    else
        status = real->Dispatch->NdkAccept(real, real_qp, a->inbound, a->outbound, a->data, a->data_length,
                                           added ? connector_on_disconnect_event : NULL, added, real_done,
                                           real_context);
    return connector_call_end(&call, status);
}

static NTSTATUS verify_connector_accept(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                                        ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                        NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct accept a = { qp, inbound, outbound, data, data_length, { .plain = event, .context = event_context } };
    PROXY_CALL(p, pub, "NdkAccept");

    return connector_forward_accept(p, "NdkAccept", &a, done, context);
}

static NTSTATUS verify_connector_accept_ex(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound,
                                           CONST PVOID data, ULONG data_length,
                                           NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                           NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event ex = { .is_ex = true, .ex = event, .context = event_context };
    const struct accept a = { qp, inbound, outbound, data, data_length, ex };
    PROXY_CALL(p, pub, "NdkAcceptEx");

    argument_check_version(p, "NdkAcceptEx", ARGUMENT_NDKPI_2_1, "the entry");
    return connector_forward_accept(p, "NdkAcceptEx", &a, done, context);
}

static NTSTATUS verify_connector_reject(NDK_CONNECTOR *pub, CONST PVOID data, ULONG length)
{
    PROXY_CALL(p, pub, "NdkReject");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct connector_call call;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    connector_call_begin(&call, p, "NdkReject", PHASE_REJECT);
    connector_call_check_data(&call, data, length, proxy_adapter_info(p)->MaxCalleeData);
    return connector_call_end(&call, real->Dispatch->NdkReject(real, data, length));
}

/*
 * Checks and forwards NdkGetConnectionData. Microsoft's page about NdkGetConnectionData forbids the call after
 * NdkAccept. But the page about NdkAccept refers to NdkGetConnectionData for the effective read limits. So after
 * NdkAccept, a call that gets only the limits is legal.
 */
static NTSTATUS verify_connector_get_data(NDK_CONNECTOR *pub, ULONG *inbound, ULONG *outbound, PVOID data,
                                          ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetConnectionData");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct connector_call call;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    buffer_check(p, "NdkGetConnectionData", data, length ? *length : 0, "private data");
    connector_call_begin(&call, p, "NdkGetConnectionData", PHASE_GET_DATA);
    if (!data && ((struct connector *)p)->state.listener)
        call.verdict = PHASE_LEGAL;
    return connector_call_end(&call, real->Dispatch->NdkGetConnectionData(real, inbound, outbound, data, length));
}

static NTSTATUS verify_connector_local_address(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetLocalAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct connector_call call;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    connector_call_begin(&call, p, "NdkGetLocalAddress", PHASE_GET_ADDRESS);
    status = connector_call_end(&call, real->Dispatch->NdkGetLocalAddress(real, address, length));
    if (NT_SUCCESS(status) && verify_on())
        connector_set_local(p, address, *length);
    return address_to_consumer(status, address, length);
}

static NTSTATUS verify_connector_peer_address(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetPeerAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct connector_call call;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    connector_call_begin(&call, p, "NdkGetPeerAddress", PHASE_GET_ADDRESS);
    status = connector_call_end(&call, real->Dispatch->NdkGetPeerAddress(real, address, length));
    return address_to_consumer(status, address, length);
}

static NTSTATUS verify_connector_disconnect(NDK_CONNECTOR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkDisconnect");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct connector_call call;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    connector_call_begin(&call, p, "NdkDisconnect", PHASE_DISCONNECT);
    connector_call_check_rest(&call);
    connector_call_begin_async(&call, done, context);
    return connector_call_end(&call, real->Dispatch->NdkDisconnect(real, async_call_routine(call.async, done),
                                                                   async_call_context(call.async, context)));
}

static const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = proxy_close_connector,
    .NdkQueryExtension = proxy_query_extension,
    .NdkConnect = verify_connector_connect,
    .NdkConnectWithSharedEndpoint = verify_connector_connect_shared,
    .NdkCompleteConnect = verify_connector_complete_connect,
    .NdkAccept = verify_connector_accept,
    .NdkReject = verify_connector_reject,
    .NdkGetConnectionData = verify_connector_get_data,
    .NdkGetLocalAddress = verify_connector_local_address,
    .NdkGetPeerAddress = verify_connector_peer_address,
    .NdkDisconnect = verify_connector_disconnect,
    .NdkCompleteConnectEx = verify_connector_complete_connect_ex,
    .NdkAcceptEx = verify_connector_accept_ex,
};

struct proxy *connector_proxy_create(struct proxy *parent)
{
    struct proxy *p = proxy_create(sizeof(struct connector), NdkObjectTypeConnector, &connector_dispatch, parent);

    if (!p)
        return NULL;
    connector_init((struct connector *)p, parent);
    return p;
}

NTSTATUS verify_create_connector(NDK_ADAPTER *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out)
{
    PROXY_CALL(parent, pub, "NdkCreateConnector");
    struct proxy *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_CONNECTOR *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = connector_proxy_create(parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, "NdkCreateConnector", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreateConnector(real, proxy_create_routine(p), p, &made), &made, out);
}
