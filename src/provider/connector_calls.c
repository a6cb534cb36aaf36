/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the entries of a connector's dispatch table. Each looks at its arguments, takes one step of the machine,
 * and starts what the step said; what is malformed or comes in a wrong phase is answered inline and starts nothing.
 *
 * Who comes in holds the connector and its fabric's connection until it leaves: other threads may close at any moment,
 * and from the moment that something has been started its completion may run and the consumer may close inside.
 */
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "provider/adapter.h"
#include "provider/address.h"
#include "provider/connector.h"
#include "provider/shared_endpoint.h"
#include "provider/status.h"

static NTSTATUS refusal(enum connector_action action)
{
    if (action == CONNECTOR_REFUSE_STATE)
        return STATUS_INVALID_DEVICE_STATE;
    return STATUS_CONNECTION_INVALID;
}

static bool private_is_fit(const void *data, ULONG len, uint32_t most)
{
    return (data || !len) && len <= most;
}

static bool qp_is_fit(const struct connector *c, NDK_QP *qp)
{
    return qp && qp_of(qp)->obj.adapter == c->obj.adapter;
}

static uint16_t cap(ULONG wish, uint16_t most)
{
    return wish < most ? (uint16_t)wish : most;
}

static struct fabric_limits cap_limits(const struct connector *c, ULONG inbound, ULONG outbound)
{
    const struct fabric_info *most = &c->obj.adapter->limits;

    return (struct fabric_limits){ .inbound = cap(inbound, most->max_inbound_reads),
                                   .outbound = cap(outbound, most->max_outbound_reads) };
}

/* ---- NdkConnect, NdkConnectWithSharedEndpoint ---- */

/* The kernel would connect an unspecified address to this host, and the peer would have another address than asked. */
static bool destination_from(struct addr *to, CONST PSOCKADDR destination, ULONG len)
{
    return addr_from(to, destination, len) && (!addr_is_any(to));
}

/* The step, with what goes with it. The queue pair is bound by the caller. */
static enum connector_action take_connect(struct connector *c, const struct fabric_connect *wish, struct qp *qp,
                                          struct object *endpoint, void **old_data)
{
    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_CONNECT);
    if (action == CONNECTOR_START_CONNECT) {
        c->own = wish->limits;
        c->qp = qp;
        c->endpoint = endpoint;
        *old_data = c->peer.private_data;
        c->peer = (struct connector_peer){ .local = wish->local, .remote = wish->remote };
    }
    connector_unlock(c);
    return action;
}

static NTSTATUS connect_from(struct connector *c, NDK_QP *pub_qp, struct object *endpoint, struct fabric_connect *wish,
                             NDK_FN_REQUEST_COMPLETION done, void *context)
{
    struct qp *qp = qp_of(pub_qp);
    void *old_data = NULL;
    NTSTATUS status;

    if (!connector_bind(qp))
        return refusal(CONNECTOR_REFUSE_STATE);
    wish->qp = qp->fabric;
    connector_enter(c);
    enum connector_action action = take_connect(c, wish, qp, endpoint, &old_data);
    free(old_data);
    if (connector_is_refusal(action)) {
        connector_unbind(qp);
        status = refusal(action);
    } else {
        status = connector_start_connect(c, wish, done, context);
    }
    connector_leave(c);
    return status;
}

static NTSTATUS do_connect(NDK_CONNECTOR *pub, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_len,
                           CONST PSOCKADDR destination, ULONG destination_len, ULONG inbound, ULONG outbound,
                           CONST PVOID data, ULONG len, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct fabric_connect wish = { .limits = cap_limits(c, inbound, outbound), .private_data = data,
                                   .private_len = len };

    if (!done || !qp_is_fit(c, qp) || !private_is_fit(data, len, c->obj.adapter->limits.max_caller_data))
        return STATUS_INVALID_PARAMETER;
    if (!addr_from(&wish.local, source, source_len) || !destination_from(&wish.remote, destination, destination_len))
        return STATUS_INVALID_PARAMETER;
    if (wish.local.sa.sa_family != wish.remote.sa.sa_family)
        return STATUS_INVALID_PARAMETER;
    return connect_from(c, qp, NULL, &wish, done, context);
}

static NTSTATUS do_connect_with_shared_endpoint(NDK_CONNECTOR *pub, NDK_QP *qp, NDK_SHARED_ENDPOINT *pub_endpoint,
                                                CONST PSOCKADDR destination, ULONG destination_len, ULONG inbound,
                                                ULONG outbound, CONST PVOID data, ULONG len,
                                                NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct shared_endpoint *endpoint = shared_endpoint_of(pub_endpoint);
    struct fabric_connect wish = { .limits = cap_limits(c, inbound, outbound), .private_data = data,
                                   .private_len = len };

    if (!done || !qp_is_fit(c, qp) || !private_is_fit(data, len, c->obj.adapter->limits.max_caller_data))
        return STATUS_INVALID_PARAMETER;
    if (!endpoint || endpoint->obj.adapter != c->obj.adapter ||
        !destination_from(&wish.remote, destination, destination_len))
        return STATUS_INVALID_PARAMETER;
    if (endpoint->local.sa.sa_family != wish.remote.sa.sa_family)
        return STATUS_INVALID_PARAMETER;
    wish.local = endpoint->local;
    wish.endpoint = endpoint->fabric;
    return connect_from(c, qp, &endpoint->obj, &wish, done, context);
}

/* ---- NdkCompleteConnect, NdkAccept, and their Ex forms ---- */

static NTSTATUS complete(struct connector *c, struct connector_notice notice, NDK_FN_REQUEST_COMPLETION done,
                         void *context)
{
    if (!done)
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_COMPLETE);
    struct fabric_conn *conn = c->conn;
    if (action == CONNECTOR_START_COMPLETE) {
        c->notice = notice;
        c->consumed = true;
    }
    connector_unlock(c);
    if (action == CONNECTOR_START_COMPLETE) {
        request_begin(&c->establish, &c->obj, done, context);
        connector_ops(c)->conn_complete(conn);
    }
    connector_leave(c);
    return action == CONNECTOR_START_COMPLETE ? STATUS_PENDING : refusal(action);
}

static NTSTATUS do_complete(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                            NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return complete(connector_of(pub), (struct connector_notice){ .plain = event, .context = event_context }, done,
                    context);
}

static NTSTATUS do_complete_ex(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                               NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return complete(connector_of(pub), (struct connector_notice){ .ex = event, .context = event_context }, done,
                    context);
}

/* The step, with what goes with it. The queue pair is bound by the caller. */
static enum connector_action take_accept(struct connector *c, const struct fabric_limits *own, struct qp *qp,
                                         const struct connector_notice *notice)
{
    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_ACCEPT);
    if (action == CONNECTOR_START_ACCEPT) {
        c->own = *own;
        c->qp = qp;
        c->notice = *notice;
        c->consumed = true;
    }
    connector_unlock(c);
    return action;
}

static NTSTATUS accept_with(struct connector *c, NDK_QP *pub_qp, struct fabric_accept *wish,
                            const struct connector_notice *notice, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    struct qp *qp;
    NTSTATUS status;

    if (!done || !qp_is_fit(c, pub_qp) ||
        !private_is_fit(wish->private_data, (ULONG)wish->private_len, c->obj.adapter->limits.max_callee_data))
        return STATUS_INVALID_PARAMETER;
    qp = qp_of(pub_qp);
    if (!connector_bind(qp))
        return refusal(CONNECTOR_REFUSE_STATE);
    wish->qp = qp->fabric;
    connector_enter(c);
    enum connector_action action = take_accept(c, &wish->limits, qp, notice);
    if (connector_is_refusal(action)) {
        connector_unbind(qp);
        status = refusal(action);
    } else {
        status = connector_start_accept(c, wish, done, context);
    }
    connector_leave(c);
    return status;
}

static NTSTATUS do_accept(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data, ULONG len,
                          NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context, NDK_FN_REQUEST_COMPLETION done,
                          PVOID context)
{
    struct connector *c = connector_of(pub);
    struct connector_notice notice = { .plain = event, .context = event_context };
    struct fabric_accept wish = { .limits = cap_limits(c, inbound, outbound), .private_data = data,
                                  .private_len = len };

    return accept_with(c, qp, &wish, &notice, done, context);
}

static NTSTATUS do_accept_ex(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                             ULONG len, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                             NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);
    struct connector_notice notice = { .ex = event, .context = event_context };
    struct fabric_accept wish = { .limits = cap_limits(c, inbound, outbound), .private_data = data,
                                  .private_len = len };

    return accept_with(c, qp, &wish, &notice, done, context);
}

/* ---- NdkReject, NdkDisconnect ---- */

static NTSTATUS do_reject(NDK_CONNECTOR *pub, CONST PVOID data, ULONG len)
{
    struct connector *c = connector_of(pub);
    enum fabric_reason why = FABRIC_OK;

    if (!private_is_fit(data, len, c->obj.adapter->limits.max_callee_data))
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_REJECT);
    struct fabric_conn *conn = c->conn;
    connector_unlock(c);
    if (action == CONNECTOR_START_REJECT)
        why = connector_ops(c)->conn_reject(conn, data, len);
    connector_leave(c);
    return action == CONNECTOR_START_REJECT ? status_of_reason(why) : refusal(action);
}

static NTSTATUS do_disconnect(NDK_CONNECTOR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct connector *c = connector_of(pub);

    if (!done)
        return STATUS_INVALID_PARAMETER;
    connector_enter(c);
    connector_lock(c);
    enum connector_action action = connector_take(c, CONNECTOR_DISCONNECT);
    struct fabric_conn *conn = c->conn;
    connector_unlock(c);
    if (action == CONNECTOR_START_DISCONNECT) {
        request_begin(&c->disconnect, &c->obj, done, context);
        connector_ops(c)->conn_disconnect(conn);
    }
    connector_leave(c);
    return action == CONNECTOR_START_DISCONNECT ? STATUS_PENDING : refusal(action);
}

/* ---- queries ---- */

/* Under the lock. */
static NTSTATUS give_private(const struct connector_peer *peer, void *buffer, ULONG *len)
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

static NTSTATUS do_get_connection_data(NDK_CONNECTOR *pub, ULONG *inbound, ULONG *outbound, PVOID buffer, ULONG *len)
{
    struct connector *c = connector_of(pub);
    NTSTATUS status = STATUS_SUCCESS;

    if (buffer ? !len : len && *len)
        return STATUS_INVALID_PARAMETER;
    connector_lock(c);
    if (!c->peer.spoke)
        status = STATUS_INVALID_DEVICE_STATE;
    if (c->peer.spoke && inbound)
        *inbound = c->peer.limits.inbound;
    if (c->peer.spoke && outbound)
        *outbound = c->peer.limits.outbound;
    if (c->peer.spoke && len)
        status = give_private(&c->peer, buffer, len);
    connector_unlock(c);
    return status;
}

/* Before the addresses are known (NdkConnect has not succeeded, or has failed): STATUS_INVALID_DEVICE_STATE. */
static NTSTATUS give_address(struct connector *c, bool local, PSOCKADDR buffer, ULONG *len)
{
    connector_lock(c);
    bool located = c->peer.located;
    struct addr address = local ? c->peer.local : c->peer.remote;
    connector_unlock(c);
    return located ? address_answer(&c->obj, &address, buffer, len) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS do_get_local_address(NDK_CONNECTOR *pub, PSOCKADDR buffer, ULONG *len)
{
    return give_address(connector_of(pub), true, buffer, len);
}

static NTSTATUS do_get_peer_address(NDK_CONNECTOR *pub, PSOCKADDR buffer, ULONG *len)
{
    return give_address(connector_of(pub), false, buffer, len);
}

/* ---- the table, and its creation ---- */

const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkConnect = do_connect,
    .NdkConnectWithSharedEndpoint = do_connect_with_shared_endpoint,
    .NdkCompleteConnect = do_complete,
    .NdkAccept = do_accept,
    .NdkReject = do_reject,
    .NdkGetConnectionData = do_get_connection_data,
    .NdkGetLocalAddress = do_get_local_address,
    .NdkGetPeerAddress = do_get_peer_address,
    .NdkDisconnect = do_disconnect,
    .NdkCompleteConnectEx = do_complete_ex,
    .NdkAcceptEx = do_accept_ex,
};

NTSTATUS connector_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out)
{
    struct adapter *a = adapter_of(adapter);
    struct connector *c = connector_new(a, adapter_home(a));

    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    return object_created(a, &c->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
