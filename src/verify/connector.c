/* SPDX-License-Identifier: MIT */
/*
 * Connectors, listeners and shared endpoints: see proxy.h. Addresses pass through the map of addresses
 * in both directions.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/proxy.h"

#include "wdk/common/address_map.h"

/* ---- addresses ---- */

struct mapped {
    _Alignas(8) char octets[ADDRESS_MAP_SOCKADDR];
};

/* The host's for one of the driver's: in `room`, where it has one that can be mapped. */
static PSOCKADDR to_host(PSOCKADDR address, ULONG length, struct mapped *room)
{
    if (!address || length == 0 || length > sizeof room->octets || !address_map_any())
        return address;
    memcpy(room->octets, address, length);
    address_map_to_host(room->octets, length);
    return (PSOCKADDR)(void *)room->octets;
}

static NTSTATUS to_driver(NTSTATUS status, PSOCKADDR address, const ULONG *length)
{
    if (NT_SUCCESS(status) && address_map_any())
        address_map_to_driver(address, *length);
    return status;
}

/* ---- connectors ---- */

/* For each call that gave a routine for the peer's disconnect, of either form; one of them, at most, is called. */
struct disconnect_event {
    struct disconnect_event *next;
    NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
    NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    void *context;
};

struct connector {
    struct proxy p;
    struct disconnect_event *events; /* under the lock of proxies */
    struct proxy *qp;                /* the same: the latest it was to be connected with */
    atomic_bool established;         /* with that */
};

static void disconnected(PVOID context, ULONG reason)
{
    const struct disconnect_event *event = context;

    if (event->plain)
        CALL_DRIVER("NdkDisconnectEventCallback", event->plain, event->context);
    else
        CALL_DRIVER("NdkDisconnectEventCallbackEx", event->ex, event->context, reason);
}

/* What the provider's Ex calls are given, which serve both forms: *made is NULL where there is no routine. */
static bool event_make(struct proxy *p, struct disconnect_event of, struct disconnect_event **made)
{
    struct connector *c = (struct connector *)p;

    *made = NULL;
    if (!of.plain && !of.ex)
        return true;
    *made = malloc(sizeof **made);
    if (!*made)
        return false;
    **made = of;
    proxies_lock();
    (*made)->next = c->events;
    c->events = *made;
    proxies_unlock();
    return true;
}

static void note_established(struct proxy *p, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        atomic_store(&((struct connector *)p)->established, true);
}

/* By now every request of the pair has completed. */
static void end_qp(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    proxies_lock();
    if (c->qp && atomic_load(&c->established))
        filter_qp_is_over(c->qp);
    proxies_unlock();
}

static void free_connector(struct proxy *p)
{
    struct connector *c = (struct connector *)p;

    for (struct disconnect_event *event = c->events, *next; event; event = next) {
        next = event->next;
        free(event);
    }
    if (c->qp)
        proxy_unref(c->qp);
}

/* The provider's pair, for a call that is to connect it. */
static NDK_QP *take_qp(struct proxy *p, NDK_QP *qp, const char *routine)
{
    struct connector *c = (struct connector *)p;
    NDK_QP *real = REAL(qp, routine);
    struct proxy *before;

    if (!real)
        return NULL;
    proxy_ref((struct proxy *)qp);
    proxies_lock();
    before = c->qp;
    if (atomic_load(&c->established))
        before = (struct proxy *)qp; /* this call will be refused */
    else
        c->qp = (struct proxy *)qp;
    proxies_unlock();
    if (before)
        proxy_unref(before);
    return real;
}

static NTSTATUS ndk_connect(NDK_CONNECTOR *pub, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_length,
                            CONST PSOCKADDR destination, ULONG destination_length, ULONG inbound, ULONG outbound,
                            CONST PVOID data, ULONG data_length, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkConnect");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct mapped from, to;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    NDK_QP *real_qp = take_qp(p, qp, "NdkConnect");
    r = pend_begin(p, "NdkConnect", done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkConnect(real, real_qp, to_host(source, source_length, &from),
                                                        source_length, to_host(destination, destination_length, &to),
                                                        destination_length, inbound, outbound, data, data_length,
                                                        pend_routine(r, done), pend_context(r, context)));
}

static NTSTATUS connect_shared(NDK_CONNECTOR *pub, NDK_QP *qp, NDK_SHARED_ENDPOINT *endpoint,
                               CONST PSOCKADDR destination,
                               ULONG destination_length, ULONG inbound, ULONG outbound, CONST PVOID data,
                               ULONG data_length, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    static const char routine[] = "NdkConnectWithSharedEndpoint";
    struct proxy *p = ENTER(pub, routine);
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct mapped to;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    NDK_QP *real_qp = take_qp(p, qp, routine);
    NDK_SHARED_ENDPOINT *real_endpoint = REAL(endpoint, routine);
    r = pend_begin(p, routine, done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkConnectWithSharedEndpoint(
        real, real_qp, real_endpoint, to_host(destination, destination_length, &to), destination_length, inbound,
        outbound, data, data_length, pend_routine(r, done), pend_context(r, context)));
}

static NTSTATUS complete_with(NDK_CONNECTOR *pub, const char *routine, struct disconnect_event event,
                              NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, routine);
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct disconnect_event *e;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    if (!event_make(p, event, &e))
        return STATUS_INSUFFICIENT_RESOURCES;
    r = pend_begin(p, routine, done, context, note_established);
    return pend_answer(r, real->Dispatch->NdkCompleteConnectEx(real, e ? disconnected : NULL, e, pend_routine(r, done),
                                                               pend_context(r, context)));
}

static NTSTATUS complete_connect(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                 NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return complete_with(pub, "NdkCompleteConnect",
                         (struct disconnect_event){ .plain = event, .context = event_context }, done, context);
}

static NTSTATUS complete_connect_ex(NDK_CONNECTOR *pub, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                                    NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return complete_with(pub, "NdkCompleteConnectEx",
                         (struct disconnect_event){ .ex = event, .context = event_context }, done, context);
}

static NTSTATUS accept_with(NDK_CONNECTOR *pub, const char *routine, NDK_QP *qp, ULONG inbound, ULONG outbound,
                            PVOID data, ULONG data_length, struct disconnect_event event,
                            NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, routine);
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct disconnect_event *e;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    if (!event_make(p, event, &e))
        return STATUS_INSUFFICIENT_RESOURCES;
    NDK_QP *real_qp = take_qp(p, qp, routine);
    r = pend_begin(p, routine, done, context, note_established);
    return pend_answer(r, real->Dispatch->NdkAcceptEx(real, real_qp, inbound, outbound, data, data_length,
                                                      e ? disconnected : NULL, e, pend_routine(r, done),
                                                      pend_context(r, context)));
}

static NTSTATUS ndk_accept(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                           ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                           NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return accept_with(pub, "NdkAccept", qp, inbound, outbound, data, data_length,
                       (struct disconnect_event){ .plain = event, .context = event_context }, done, context);
}

static NTSTATUS ndk_accept_ex(NDK_CONNECTOR *pub, NDK_QP *qp, ULONG inbound, ULONG outbound, CONST PVOID data,
                              ULONG data_length, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX event, PVOID event_context,
                              NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    return accept_with(pub, "NdkAcceptEx", qp, inbound, outbound, data, data_length,
                       (struct disconnect_event){ .ex = event, .context = event_context }, done, context);
}

static NTSTATUS ndk_reject(NDK_CONNECTOR *pub, CONST PVOID data, ULONG length)
{
    struct proxy *p = ENTER(pub, "NdkReject");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkReject(real, data, length) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS connection_data(NDK_CONNECTOR *pub, ULONG *inbound, ULONG *outbound, PVOID data, ULONG *length)
{
    struct proxy *p = ENTER(pub, "NdkGetConnectionData");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkGetConnectionData(real, inbound, outbound, data, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS connector_local(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    struct proxy *p = ENTER(pub, "NdkGetLocalAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? to_driver(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS connector_peer(NDK_CONNECTOR *pub, PSOCKADDR address, ULONG *length)
{
    struct proxy *p = ENTER(pub, "NdkGetPeerAddress");
    NDK_CONNECTOR *real = p ? p->real : NULL;

    return real ? to_driver(real->Dispatch->NdkGetPeerAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

/* Whatever its status is, unless it was not connected. */
static void is_over(struct proxy *p, NTSTATUS status)
{
    if (status != STATUS_CONNECTION_INVALID)
        end_qp(p);
}

static NTSTATUS ndk_disconnect(NDK_CONNECTOR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkDisconnect");
    NDK_CONNECTOR *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkDisconnect", done, context, is_over);
    return pend_answer(r, real->Dispatch->NdkDisconnect(real, pend_routine(r, done), pend_context(r, context)));
}

static const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkConnect = ndk_connect,
    .NdkConnectWithSharedEndpoint = connect_shared,
    .NdkCompleteConnect = complete_connect,
    .NdkAccept = ndk_accept,
    .NdkReject = ndk_reject,
    .NdkGetConnectionData = connection_data,
    .NdkGetLocalAddress = connector_local,
    .NdkGetPeerAddress = connector_peer,
    .NdkDisconnect = ndk_disconnect,
    .NdkCompleteConnectEx = complete_connect_ex,
    .NdkAcceptEx = ndk_accept_ex,
};

static struct proxy *connector_make(struct proxy *parent)
{
    struct proxy *p = proxy_make(sizeof(struct connector), NdkObjectTypeConnector, &connector_dispatch, parent);

    if (!p)
        return NULL;
    p->end_parts = end_qp;
    p->free_parts = free_connector;
    return p;
}

NTSTATUS filter_create_connector(NDK_ADAPTER *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateConnector"), *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_CONNECTOR *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = connector_make(parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_creating(p, "NdkCreateConnector", done, context);
    return proxy_created(p, real->Dispatch->NdkCreateConnector(real, proxy_creation_routine(p), p, &made), &made, out);
}

/* ---- listeners ---- */

static NTSTATUS listen_at(NDK_LISTENER *pub, CONST PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION done,
                          PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkListen");
    NDK_LISTENER *real = p ? p->real : NULL;
    struct mapped at;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkListen", done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkListen(real, to_host(address, length, &at), length,
                                                       pend_routine(r, done), pend_context(r, context)));
}

static NTSTATUS listener_local(NDK_LISTENER *pub, PSOCKADDR address, ULONG *length)
{
    struct proxy *p = ENTER(pub, "NdkGetLocalAddress");
    NDK_LISTENER *real = p ? p->real : NULL;

    return real ? to_driver(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static VOID control_events(NDK_LISTENER *pub, BOOLEAN pause)
{
    struct proxy *p = ENTER(pub, "NdkControlConnectEvents");
    NDK_LISTENER *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkControlConnectEvents(real, pause);
}

static const NDK_LISTENER_DISPATCH listener_dispatch = {
    .NdkCloseListener = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkListen = listen_at,
    .NdkGetLocalAddress = listener_local,
    .NdkControlConnectEvents = control_events,
};

static void ignore_close(PVOID context)
{
    (void)context;
}

static void connect_event(PVOID listener, NDK_CONNECTOR *real)
{
    struct proxy *l = listener, *p = connector_make(l);

    if (!p) {
        (void)real->Dispatch->NdkCloseConnector(&real->Header, ignore_close, NULL); /* which rejects */
        return;
    }
    proxy_give(p, real);
    proxy_enlist(p);
    CALL_DRIVER("NdkConnectEventCallback", l->notify.connect, l->context, (NDK_CONNECTOR *)p);
}

NTSTATUS filter_create_listener(NDK_ADAPTER *pub, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateListener"), *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_LISTENER *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_make(sizeof *p, NdkObjectTypeListener, &listener_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    p->notify.connect = event;
    p->context = event_context;
    proxy_creating(p, "NdkCreateListener", done, context);
    return proxy_created(p, real->Dispatch->NdkCreateListener(real, event ? connect_event : NULL, p,
                                                              proxy_creation_routine(p), p, &made), &made, out);
}

/* ---- shared endpoints ---- */

static NTSTATUS endpoint_local(NDK_SHARED_ENDPOINT *pub, PSOCKADDR address, ULONG *length)
{
    struct proxy *p = ENTER(pub, "NdkGetLocalAddress");
    NDK_SHARED_ENDPOINT *real = p ? p->real : NULL;

    return real ? to_driver(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static const NDK_SHARED_ENDPOINT_DISPATCH endpoint_dispatch = {
    .NdkCloseSharedEndpoint = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkGetLocalAddress = endpoint_local,
};

NTSTATUS filter_create_shared_endpoint(NDK_ADAPTER *pub, CONST PSOCKADDR address, ULONG length,
                                       NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out)
{
    static const char routine[] = "NdkCreateSharedEndpoint";
    struct proxy *parent = ENTER(pub, routine), *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    struct mapped at;
    NDK_SHARED_ENDPOINT *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_make(sizeof *p, NdkObjectTypeSharedEndpoint, &endpoint_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_creating(p, routine, done, context);
    return proxy_created(p, real->Dispatch->NdkCreateSharedEndpoint(real, to_host(address, length, &at), length,
                                                                    proxy_creation_routine(p), p, &made), &made, out);
}
