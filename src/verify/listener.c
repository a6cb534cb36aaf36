/* SPDX-License-Identifier: MIT */
/* Implements the dispatch tables of listeners and shared endpoints. */
#include "verify/address.h"
#include "verify/argument.h"
#include "verify/async_call.h"
#include "verify/buffer.h"
#include "verify/connector_peer.h"
#include "verify/net_namespace.h"
#include "verify/stall.h"

/* ---- listeners ---- */

struct listener {
    struct proxy p;
    atomic_int listens; /* number of NdkListen calls that have succeeded or are pending */
};

static void listener_on_listen(struct proxy *p, NTSTATUS status, void *unused)
{
    (void)unused;
    if (!NT_SUCCESS(status))
        atomic_fetch_sub(&((struct listener *)p)->listens, 1);
}

/* Counts a call of NdkListen. Reports the call if an earlier NdkListen has succeeded or is pending. */
static void listener_begin_listen(struct proxy *p)
{
    if (atomic_fetch_add(&((struct listener *)p)->listens, 1) == 0 || !verify_on())
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_LISTEN_TWICE], "NdkListen", (uintptr_t)p, 0, 0, 0,
                  "an earlier NdkListen of NDK_LISTENER %p has succeeded or is pending", (void *)p);
}

/*
 * Handles the return of an NdkListen call whose completion is not observed. If the call is pending or has failed,
 * subtracts it from `listens`: a pending call may fail later, and the consumer may then call NdkListen again.
 */
static void listener_end_unseen(struct proxy *p, NTSTATUS status)
{
    listener_on_listen(p, status == STATUS_PENDING ? STATUS_UNSUCCESSFUL : status, NULL);
}

static NTSTATUS verify_listener_listen(NDK_LISTENER *pub, CONST PSOCKADDR address, ULONG length,
                                       NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkListen");
    NDK_LISTENER *real = p ? p->real : NULL;
    struct mapped_address at;
    struct async_call *c;
    PSOCKADDR real_address;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    real_address = address_to_provider(address, length, &at);
    buffer_check(p, "NdkListen", address, length, "address");
    (void)address_observe("NdkListen", real_address, length, true);
    net_namespace_note();
    listener_begin_listen(p);
    c = async_call_begin(p, "NdkListen", done, context, listener_on_listen);
    status = real->Dispatch->NdkListen(real, real_address, length, async_call_routine(c, done),
                                       async_call_context(c, context));
    if (!c)
        listener_end_unseen(p, status);
    return async_call_end(c, status);
}

static NTSTATUS verify_listener_local_address(NDK_LISTENER *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetLocalAddress");
    NDK_LISTENER *real = p ? p->real : NULL;

    return real ? address_to_consumer(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static VOID verify_listener_control_events(NDK_LISTENER *pub, BOOLEAN pause)
{
    PROXY_CALL(p, pub, "NdkControlConnectEvents");
    NDK_LISTENER *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkControlConnectEvents(real, pause);
}

static const NDK_LISTENER_DISPATCH listener_dispatch = {
    .NdkCloseListener = proxy_close_listener,
    .NdkQueryExtension = proxy_query_extension,
    .NdkListen = verify_listener_listen,
    .NdkGetLocalAddress = verify_listener_local_address,
    .NdkControlConnectEvents = verify_listener_control_events,
};

static void listener_ignore_close(PVOID context)
{
    (void)context;
}

static void listener_on_connect_event(PVOID listener, NDK_CONNECTOR *real)
{
    struct proxy *l = listener, *p = connector_proxy_create(l);

    if (!p) {
        (void)real->Dispatch->NdkCloseConnector(&real->Header, listener_ignore_close, NULL); /* rejects the peer */
        return;
    }
    proxy_set_real(p, real);
    if (connector_ask_addresses(p)) /* the consumer cannot close the connector yet */
        connector_add_passive((struct connector *)p);
    proxy_insert(p);
    stall_begin();
    call_set_completed(l);
    PROXY_CALLBACK(l->adapter, "NdkConnectEventCallback", l->notify.connect, l->context, (NDK_CONNECTOR *)p);
}

NTSTATUS verify_create_listener(NDK_ADAPTER *pub, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out)
{
    PROXY_CALL(parent, pub, "NdkCreateListener");
    struct proxy *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    NDK_LISTENER *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_create(sizeof(struct listener), NdkObjectTypeListener, &listener_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    argument_check_notification(parent, "NdkCreateListener", NdkObjectTypeListener, event);
    p->notify.connect = event;
    p->context = event_context;
    proxy_begin_create(p, "NdkCreateListener", done, context);
    return proxy_end_create(p,
                            real->Dispatch->NdkCreateListener(real, event ? listener_on_connect_event : NULL, p,
                                                              proxy_create_routine(p), p, &made),
                            &made, out);
}

/* ---- shared endpoints ---- */

static NTSTATUS verify_endpoint_local_address(NDK_SHARED_ENDPOINT *pub, PSOCKADDR address, ULONG *length)
{
    PROXY_CALL(p, pub, "NdkGetLocalAddress");
    NDK_SHARED_ENDPOINT *real = p ? p->real : NULL;

    return real ? address_to_consumer(real->Dispatch->NdkGetLocalAddress(real, address, length), address, length)
                : STATUS_INVALID_DEVICE_STATE;
}

static const NDK_SHARED_ENDPOINT_DISPATCH endpoint_dispatch = {
    .NdkCloseSharedEndpoint = proxy_close_shared_endpoint,
    .NdkQueryExtension = proxy_query_extension,
    .NdkGetLocalAddress = verify_endpoint_local_address,
};

NTSTATUS verify_create_shared_endpoint(NDK_ADAPTER *pub, CONST PSOCKADDR address, ULONG length,
                                       NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SHARED_ENDPOINT **out)
{
    static const char routine[] = "NdkCreateSharedEndpoint";
    PROXY_CALL(parent, pub, routine);
    struct proxy *p;
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    struct mapped_address at;
    NDK_SHARED_ENDPOINT *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    PSOCKADDR real_address = address_to_provider(address, length, &at);
    buffer_check(parent, routine, address, length, "address");
    (void)address_observe(routine, real_address, length, true);
    p = proxy_create(sizeof *p, NdkObjectTypeSharedEndpoint, &endpoint_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, routine, done, context);
    return proxy_end_create(
        p, real->Dispatch->NdkCreateSharedEndpoint(real, real_address, length, proxy_create_routine(p), p, &made),
        &made, out);
}
