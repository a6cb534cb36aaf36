/* SPDX-License-Identifier: MIT */
/*
 * Implements the functions of a connector's dispatch table. Each function checks its arguments, takes one step of the
 * state machine, and carries out the step's action. If a call is malformed, or is not allowed in the present phase, the
 * function returns an error and starts nothing.
 *
 * The invariant: between connector_enter and connector_exit neither the connector nor the fabric's connection is freed.
 * Another thread, or the completion of the operation that the call has started, may close the connector meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "provider/adapter.h"
#include "provider/address.h"
#include "provider/connector.h"
#include "provider/shared_endpoint.h"
#include "provider/status.h"

static NTSTATUS connector_refusal(enum connector_action action)
{
    if (action == CONNECTOR_REFUSE_STATE)
        return STATUS_INVALID_DEVICE_STATE;
    return STATUS_CONNECTION_INVALID;
}

static bool private_data_is_valid(const void *data, ULONG len, uint32_t max)
{
    return (data || !len) && len <= max;
}

static bool connector_qp_is_valid(const struct connector *c, NDK_QP *qp)
{
    return qp && qp_of(qp)->obj.adapter == c->obj.adapter;
}

static uint16_t read_limit_cap(ULONG params, uint16_t max)
{
    return params < max ? (uint16_t)params : max;
}

static struct fabric_limits connector_cap_limits(const struct connector *c, ULONG inbound, ULONG outbound)
{
    const struct fabric_info *max = &c->obj.adapter->limits;

    return (struct fabric_limits){ .inbound = read_limit_cap(inbound, max->max_inbound_reads),
                                   .outbound = read_limit_cap(outbound, max->max_outbound_reads) };
}

/* ---- NdkConnect, NdkConnectWithSharedEndpoint ---- */

/* Sets *to to the address. Refuses 0.0.0.0 and ::, because the kernel would connect them to this host. */
static bool connector_parse_destination(struct addr *to, CONST PSOCKADDR destination, ULONG len)
{
    return addr_from(to, destination, len) && !addr_is_any(to);
}

/*
 * Takes NdkConnect's step of the state machine. If the step is legal, stores the attempt's parameters, and sets
 * *old_data to the private data of the previous attempt. The caller must free *old_data, and must have bound the queue
 * pair.
 */
static enum connector_action connector_step_connect(struct connector *c, const struct fabric_connect *params,
                                                    struct qp *qp, struct object *endpoint, void **old_data)
{
    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_CONNECT);
    if (action == CONNECTOR_START_CONNECT) {
        c->own = params->limits;
        c->qp = qp;
        c->endpoint = endpoint;
        *old_data = c->peer.private_data;
        c->peer = (struct connector_peer){ .local = params->local, .remote = params->remote };
        c->started_ns = connector_ops(c)->now(c->obj.adapter->fabric);
    }
    connector_unlock(c);
    return action;
}

static NTSTATUS connector_connect(struct connector *c, NDK_QP *pub_qp, struct object *endpoint,
                                  struct fabric_connect *params, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    struct qp *qp = qp_of(pub_qp);
    void *old_data = NULL;
    NTSTATUS status;

    if (!connector_bind_qp(qp))
        return connector_refusal(CONNECTOR_REFUSE_STATE);
    params->qp = qp->fabric;
    connector_enter(c);
    enum connector_action action = connector_step_connect(c, params, qp, endpoint, &old_data);
    free(old_data);
    if (connector_is_refusal(action)) {
        connector_unbind_qp(qp);
        status = connector_refusal(action);
    } else {
        status = connector_start_connect(c, params, done, context);
    }
    connector_exit(c);
    return status;
}

static NTSTATUS connector_ndk_connect(NDK_CONNECTOR *pub, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_len,
                                      CONST PSOCKADDR destination, ULONG destination_len, ULONG inbound, ULONG outbound,
                                      CONST PVOID data, ULONG len, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct fabric_connect params = { .limits = connector_cap_limits(c, inbound, outbound),
                                     .private_data = data,
                                     .private_len = len };

    if (!done || !connector_qp_is_valid(c, qp) ||
        !private_data_is_valid(data, len, c->obj.adapter->limits.max_caller_data))
        return STATUS_INVALID_PARAMETER;
    if (!addr_from(&params.local, source, source_len) ||
        !connector_parse_destination(&params.remote, destination, destination_len))
        return STATUS_INVALID_PARAMETER;
    if (params.local.sa.sa_family != params.remote.sa.sa_family)
        return STATUS_INVALID_PARAMETER;
    return connector_connect(c, qp, NULL, &params, done, context);
}

static NTSTATUS connector_ndk_connect_shared(NDK_CONNECTOR *pub, NDK_QP *qp, NDK_SHARED_ENDPOINT *pub_endpoint,
                                             CONST PSOCKADDR destination, ULONG destination_len, ULONG inbound,
                                             ULONG outbound, CONST PVOID data, ULONG len,
                                             NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct shared_endpoint *endpoint = shared_endpoint_of(pub_endpoint);
    struct fabric_connect params = { .limits = connector_cap_limits(c, inbound, outbound),
                                     .private_data = data,
                                     .private_len = len };

    if (!done || !connector_qp_is_valid(c, qp) ||
        !private_data_is_valid(data, len, c->obj.adapter->limits.max_caller_data))
        return STATUS_INVALID_PARAMETER;
    if (!endpoint || endpoint->obj.adapter != c->obj.adapter ||
        !connector_parse_destination(&params.remote, destination, destination_len))
        return STATUS_INVALID_PARAMETER;
    if (endpoint->local.sa.sa_family != params.remote.sa.sa_family)
        return STATUS_INVALID_PARAMETER;
    params.local = endpoint->local;
    params.endpoint = endpoint->fabric;
    return connector_connect(c, qp, &endpoint->obj, &params, done, context);
}

/* ---- NdkCompleteConnect, NdkAccept, and their Ex forms ---- */

static NTSTATUS connector_complete_connect(struct connector *c, struct disconnect_callback callback,
                                           NDK_FN_REQUEST_COMPLETION done, void *context)
{
    if (!done)
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_COMPLETE);
    struct fabric_conn *conn = c->conn;
    if (action == CONNECTOR_START_COMPLETE) {
        c->disconnect_callback = callback;
        c->qp_is_used = true;
    }
    connector_unlock(c);
    if (action == CONNECTOR_START_COMPLETE) {
        request_begin(&c->establish, &c->obj, done, context);
        connector_ops(c)->conn_complete(conn);
    }
    connector_exit(c);
    return action == CONNECTOR_START_COMPLETE ? STATUS_PENDING : connector_refusal(action);
}

static NTSTATUS connector_ndk_complete_connect(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK event,
                                               PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct disconnect_callback callback = { .plain = event, .context = event_context };

    return connector_complete_connect(connector_of(pub), callback, done, context);
}

static NTSTATUS connector_ndk_complete_connect_ex(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event,
                                                  PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct disconnect_callback callback = { .ex = event, .context = event_context };

    return connector_complete_connect(connector_of(pub), callback, done, context);
}

/* Takes NdkAccept's step. If the step is legal, stores the parameters. The caller has bound the queue pair. */
static enum connector_action connector_step_accept(struct connector *c, const struct fabric_limits *own, struct qp *qp,
                                                   const struct disconnect_callback *callback)
{
    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_ACCEPT);
    if (action == CONNECTOR_START_ACCEPT) {
        c->own = *own;
        c->qp = qp;
        c->disconnect_callback = *callback;
        c->qp_is_used = true;
    }
    connector_unlock(c);
    return action;
}

static NTSTATUS connector_accept(struct connector *c, NDK_QP *pub_qp, struct fabric_accept *params,
                                 const struct disconnect_callback *callback, NDK_FN_REQUEST_COMPLETION done,
                                 void *context)
{
    struct qp *qp;
    NTSTATUS status;

    if (!done || !connector_qp_is_valid(c, pub_qp) ||
        !private_data_is_valid(params->private_data, (ULONG)params->private_len,
                               c->obj.adapter->limits.max_callee_data))
        return STATUS_INVALID_PARAMETER;
    qp = qp_of(pub_qp);
    if (!connector_bind_qp(qp))
        return connector_refusal(CONNECTOR_REFUSE_STATE);
    params->qp = qp->fabric;
    connector_enter(c);
    enum connector_action action = connector_step_accept(c, &params->limits, qp, callback);
    if (connector_is_refusal(action)) {
        connector_unbind_qp(qp);
        status = connector_refusal(action);
    } else {
        status = connector_start_accept(c, params, done, context);
    }
    connector_exit(c);
    return status;
}

static NTSTATUS connector_ndk_accept(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                                     ULONG len, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                     NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct disconnect_callback callback = { .plain = event, .context = event_context };
    struct fabric_accept params = { .limits = connector_cap_limits(c, inbound, outbound),
                                    .private_data = data,
                                    .private_len = len };

    return connector_accept(c, qp, &params, &callback, done, context);
}

static NTSTATUS connector_ndk_accept_ex(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                                        ULONG len, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                        NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct disconnect_callback callback = { .ex = event, .context = event_context };
    struct fabric_accept params = { .limits = connector_cap_limits(c, inbound, outbound),
                                    .private_data = data,
                                    .private_len = len };

    return connector_accept(c, qp, &params, &callback, done, context);
}

/* ---- NdkReject, NdkDisconnect ---- */

static NTSTATUS connector_ndk_reject(NDK_CONNECTOR *pub, CONST PVOID data, ULONG len)
{
    struct connector *c = connector_of(pub);
    enum fabric_reason why = FABRIC_OK;

    if (!private_data_is_valid(data, len, c->obj.adapter->limits.max_callee_data))
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_REJECT);
    struct fabric_conn *conn = c->conn;
    connector_unlock(c);
    if (action == CONNECTOR_START_REJECT)
        why = connector_ops(c)->conn_reject(conn, data, len);
    connector_exit(c);
    return action == CONNECTOR_START_REJECT ? status_of_reason(why) : connector_refusal(action);
}

static NTSTATUS connector_ndk_disconnect(NDK_CONNECTOR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);

    if (!done)
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_advance(c, CONNECTOR_DISCONNECT);
    struct fabric_conn *conn = c->conn;
    connector_unlock(c);
    if (action == CONNECTOR_START_DISCONNECT) {
        request_begin(&c->disconnect, &c->obj, done, context);
        connector_ops(c)->conn_disconnect(conn);
    }
    connector_exit(c);
    return action == CONNECTOR_START_DISCONNECT ? STATUS_PENDING : connector_refusal(action);
}

/* ---- queries ---- */

/*
 * Copies the private data to `buffer`, as far as it fits. Sets *len to the full size of the private data. Requires the
 * connector's lock.
 */
static NTSTATUS peer_copy_private_data(const struct connector_peer *peer, void *buffer, ULONG *len)
{
    ULONG room = *len, needed = (ULONG)peer->private_len;
    ULONG fits = room < needed ? room : needed;

    if (fits)
        memcpy(buffer, peer->private_data, fits);
    *len = needed;
    if (!buffer)
        return STATUS_SUCCESS;
    return room < needed ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
}

static NTSTATUS connector_ndk_get_connection_data(NDK_CONNECTOR *pub, ULONG *inbound, ULONG *outbound, PVOID buffer,
                                                  ULONG *len)
{
    struct connector *c = connector_of(pub);
    NTSTATUS status = STATUS_SUCCESS;

    if (buffer ? !len : len && *len)
        return STATUS_INVALID_PARAMETER;
    connector_lock(c);
    if (!c->peer.has_data)
        status = STATUS_INVALID_DEVICE_STATE;
    if (c->peer.has_data && inbound)
        *inbound = c->peer.limits.inbound;
    if (c->peer.has_data && outbound)
        *outbound = c->peer.limits.outbound;
    if (c->peer.has_data && len)
        status = peer_copy_private_data(&c->peer, buffer, len);
    connector_unlock(c);
    return status;
}

/*
 * Copies the local address if `local` is true, otherwise the peer's address. Returns STATUS_INVALID_DEVICE_STATE if
 * this side connects, and no NdkConnect of this connector has succeeded.
 */
static NTSTATUS connector_get_address(struct connector *c, bool local, PSOCKADDR buffer, ULONG *len)
{
    connector_lock(c);
    bool has_addresses = c->peer.has_addresses;
    struct addr address = local ? c->peer.local : c->peer.remote;
    connector_unlock(c);
    return has_addresses ? address_answer(&c->obj, &address, buffer, len) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS connector_ndk_get_local_address(NDK_CONNECTOR *pub, PSOCKADDR buffer, ULONG *len)
{
    return connector_get_address(connector_of(pub), true, buffer, len);
}

static NTSTATUS connector_ndk_get_peer_address(NDK_CONNECTOR *pub, PSOCKADDR buffer, ULONG *len)
{
    return connector_get_address(connector_of(pub), false, buffer, len);
}

/* ---- the dispatch table, and NdkCreateConnector ---- */

const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkConnect = connector_ndk_connect,
    .NdkConnectWithSharedEndpoint = connector_ndk_connect_shared,
    .NdkCompleteConnect = connector_ndk_complete_connect,
    .NdkAccept = connector_ndk_accept,
    .NdkReject = connector_ndk_reject,
    .NdkGetConnectionData = connector_ndk_get_connection_data,
    .NdkGetLocalAddress = connector_ndk_get_local_address,
    .NdkGetPeerAddress = connector_ndk_get_peer_address,
    .NdkDisconnect = connector_ndk_disconnect,
    .NdkCompleteConnectEx = connector_ndk_complete_connect_ex,
    .NdkAcceptEx = connector_ndk_accept_ex,
};

NTSTATUS connector_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out)
{
    struct adapter *a = adapter_of(adapter);
    struct connector *c = connector_new(a, adapter_home(a));

    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    return object_created(a, &c->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
