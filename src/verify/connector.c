/* SPDX-License-Identifier: MIT */
/*
 * Connectors. A connector's proxy refers to the queue pair that it connects. When the connection has ended, the proxy
 * marks the queue pair, because requests of that queue pair then use no memory any more.
 */
#include <stdlib.h>

#include "verify/address.h"
#include "verify/async_call.h"
#include "verify/connector.h"
#include "verify/queue.h"

/*
 * The disconnect routine, plain or Ex, that a consumer has passed in one call. The provider calls at most one of the
 * two.
 */
struct disconnect_event {
    struct disconnect_event *next;
    struct proxy *connector;
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    void *context;
};

struct connector {
    struct proxy p;
    struct disconnect_event *events; /* under the proxies' lock */
    struct proxy *qp;                /* queue pair of the last connect or accept, or NULL; under the proxies' lock */
    atomic_bool established;
};

static void connector_on_disconnect_event(PVOID context)
{
    const struct disconnect_event *event = context;

    call_set_completed(event->connector);
    PROXY_CALLBACK(event->connector->adapter, "NdkDisconnectEventCallback", event->plain, event->context);
}

static void connector_on_disconnect_event_ex(PVOID context, ULONG reason)
{
    const struct disconnect_event *event = context;

    call_set_completed(event->connector);
    PROXY_CALLBACK(event->connector->adapter, "NdkDisconnectEventCallbackEx", event->ex, event->context, reason);
}

/*
 * Adds the disconnect routine of a call. *added receives the context to pass to the provider, or NULL if the consumer
 * gave no routine. Returns false if out of memory.
 */
static bool connector_add_event(struct proxy *p, struct disconnect_event event, struct disconnect_event **added)
{
    struct connector *c = (struct connector *)p;

    *added = NULL;
    if (!event.plain && !event.ex)
        return true;
    *added = malloc(sizeof **added);
    if (!*added)
        return false;
    **added = event;
    (*added)->connector = p;
    proxy_lock_all();
    (*added)->next = c->events;
    c->events = *added;
    proxy_unlock_all();
    return true;
}

static void connector_on_established(struct proxy *p, NTSTATUS status, void *subject)
{
    (void)subject;
    if (NT_SUCCESS(status))
        atomic_store(&((struct connector *)p)->established, true);
}

/* Called when the connection has ended: marks the queue pair, because all of its requests have completed. */
static void connector_end_qp(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    proxy_lock_all();
    if (c->qp && atomic_load(&c->established))
        queue_set_disconnected(c->qp);
    proxy_unlock_all();
}

static void connector_free(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    for (struct disconnect_event *event = c->events, *next; event; event = next) {
        next = event->next;
        free(event);
    }
    if (c->qp)
        proxy_unref(c->qp);
}

/* Stores the queue pair of a connect or accept. Returns the provider's queue pair, or NULL if qp is NULL or closed. */
static NDK_QP *connector_set_qp(struct proxy *p, NDK_QP *qp, const char *routine)
{
    struct connector *c = (struct connector *)p;
    NDK_QP *real = PROXY_REAL(qp, routine);
    struct proxy *before;

    if (!real)
        return NULL;
    proxy_ref((struct proxy *)qp);
    proxy_lock_all();
    before = c->qp;
    if (atomic_load(&c->established))
        before = (struct proxy *)qp; /* the provider will refuse the call */
    else
        c->qp = (struct proxy *)qp;
    proxy_unlock_all();
    if (before)
        proxy_unref(before);
    return real;
}

static NTSTATUS verify_connector_connect(NDK_CONNECTOR *pub, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_length,
                                         CONST PSOCKADDR destination, ULONG destination_length, ULONG inbound,
                                         ULONG outbound, CONST PVOID data, ULONG data_length,
                                         NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkConnect");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct mapped_address from, to;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    NDK_QP *real_qp = connector_set_qp(p, qp, "NdkConnect");
    c = async_call_begin(p, "NdkConnect", done, context, NULL);
    return async_call_end(
        c, real->Dispatch->NdkConnect(real, real_qp, address_to_provider(source, source_length, &from), source_length,
                                      address_to_provider(destination, destination_length, &to), destination_length,
                                      inbound, outbound, data, data_length, async_call_routine(c, done),
                                      async_call_context(c, context)));
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
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    NDK_QP *real_qp = connector_set_qp(p, qp, routine);
    NDK_SHARED_ENDPOINT *real_endpoint = PROXY_REAL(endpoint, routine);
    c = async_call_begin(p, routine, done, context, NULL);
    return async_call_end(
        c, real->Dispatch->NdkConnectWithSharedEndpoint(real, real_qp, real_endpoint,
                                                        address_to_provider(destination, destination_length, &to),
                                                        destination_length, inbound, outbound, data, data_length,
                                                        async_call_routine(c, done), async_call_context(c, context)));
}

/* A call that establishes the connection and may pass a disconnect routine. */
struct establish_call {
    NDK_CONNECTOR *real;
    struct disconnect_event *event; /* NULL: none */
    struct async_call *async;
};

/*
 * Checks the consumer's call, and fills *call. Returns STATUS_SUCCESS if the caller must call the provider. Otherwise
 * the consumer's call fails with the returned status.
 */
static NTSTATUS connector_begin_establish(struct establish_call *call, NDK_CONNECTOR *pub, const char *routine,
                                          struct disconnect_event event, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, routine);

    call->real = p ? p->real : NULL;
    if (!call->real)
        return STATUS_INVALID_DEVICE_STATE;
    if (!connector_add_event(p, event, &call->event))
        return STATUS_INSUFFICIENT_RESOURCES;
    call->async = async_call_begin(p, routine, done, context, connector_on_established);
    return STATUS_SUCCESS;
}

static NTSTATUS verify_connector_complete_connect(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK event,
                                                  PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event plain = { .plain = event, .context = event_context };
    struct establish_call c;
    NTSTATUS status = connector_begin_establish(&c, pub, "NdkCompleteConnect", plain, done, context);

    if (status != STATUS_SUCCESS)
        return status;
    status = c.real->Dispatch->NdkCompleteConnect(c.real, c.event ? connector_on_disconnect_event : NULL, c.event,
                                                  async_call_routine(c.async, done),
                                                  async_call_context(c.async, context));
    return async_call_end(c.async, status);
}

static NTSTATUS verify_connector_complete_connect_ex(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event,
                                                     PVOID event_context, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event ex = { .ex = event, .context = event_context };
    struct establish_call c;
    NTSTATUS status = connector_begin_establish(&c, pub, "NdkCompleteConnectEx", ex, done, context);

    if (status != STATUS_SUCCESS)
        return status;
    status = c.real->Dispatch->NdkCompleteConnectEx(c.real, c.event ? connector_on_disconnect_event_ex : NULL, c.event,
                                                    async_call_routine(c.async, done),
                                                    async_call_context(c.async, context));
    return async_call_end(c.async, status);
}

static NTSTATUS verify_connector_accept(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                                        ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                        NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event plain = { .plain = event, .context = event_context };
    struct establish_call c;
    NTSTATUS status = connector_begin_establish(&c, pub, "NdkAccept", plain, done, context);

    if (status != STATUS_SUCCESS)
        return status;
    NDK_QP *real_qp = connector_set_qp((struct proxy *)pub, qp, "NdkAccept");
    status = c.real->Dispatch->NdkAccept(c.real, real_qp, inbound, outbound, data, data_length,
                                         c.event ? connector_on_disconnect_event : NULL, c.event,
                                         async_call_routine(c.async, done), async_call_context(c.async, context));
    return async_call_end(c.async, status);
}

static NTSTATUS verify_connector_accept_ex(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound,
                                           CONST PVOID data, ULONG data_length,
                                           NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                           NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    const struct disconnect_event ex = { .ex = event, .context = event_context };
    struct establish_call c;
    NTSTATUS status = connector_begin_establish(&c, pub, "NdkAcceptEx", ex, done, context);

    if (status != STATUS_SUCCESS)
        return status;
    NDK_QP *real_qp = connector_set_qp((struct proxy *)pub, qp, "NdkAcceptEx");
    status = c.real->Dispatch->NdkAcceptEx(c.real, real_qp, inbound, outbound, data, data_length,
                                           c.event ? connector_on_disconnect_event_ex : NULL, c.event,
                                           async_call_routine(c.async, done), async_call_context(c.async, context));
    return async_call_end(c.async, status);
}

static NTSTATUS verify_connector_reject(NDK_CONNECTOR *pub, CONST PVOID data, ULONG length)
{
    PROXY_CALL(p, pub, "NdkReject");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkReject(real, data, length) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS verify_connector_get_data(NDK_CONNECTOR *pub, ULONG *inbound, ULONG *outbound, PVOID data,
                                          ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetConnectionData");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetConnectionData(real, inbound, outbound, data, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS verify_connector_local_address(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetLocalAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? address_to_consumer(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS verify_connector_peer_address(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetPeerAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? address_to_consumer(real->Dispatch->NdkGetPeerAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

/*
 * Called when NdkDisconnect has completed. STATUS_CONNECTION_INVALID means that there was no connection to end. After
 * any other status the connection has ended.
 */
static void connector_on_disconnected(struct proxy *p, NTSTATUS status, void *subject)
{
    (void)subject;
    if (status != STATUS_CONNECTION_INVALID)
        connector_end_qp(p);
}

static NTSTATUS verify_connector_disconnect(NDK_CONNECTOR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkDisconnect");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    c = async_call_begin(p, "NdkDisconnect", done, context, connector_on_disconnected);
    return async_call_end(
        c, real->Dispatch->NdkDisconnect(real, async_call_routine(c, done), async_call_context(c, context)));
}

static const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = proxy_close,
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
    p->on_end = connector_end_qp;
    p->on_free = connector_free;
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
