/* SPDX-License-Identifier: MIT */
/* The rules about connections: what breaks them, and what comes near and is legal. */
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "verify/breaches.h"

/* A pair whose request waits for the passive side's answer. */
struct requested {
    struct kit_pair pair;
    struct kit_call connect;
    NTSTATUS connecting;
};

static void request_to_passive(struct requested *r)
{
    struct sockaddr_storage source = kit_host(0);

    r->connect = (struct kit_call){ 0 };
    r->connecting = kit_connect_start(&r->pair.active, &r->connect, &source, &r->pair.listener.address, NULL, 0);
    r->pair.passive.connector = kit_next_request(&r->pair.listener);
}

static void open_requested(struct requested *r)
{
    breaches_begin();
    kit_pair_open_idle(&r->pair);
    request_to_passive(r);
}

/* The passive side accepts, and the active side's NdkConnect succeeds. */
static NTSTATUS accept_request(struct requested *r, struct kit_call *accept)
{
    NTSTATUS accepting = kit_accept_start(&r->pair.passive, accept, NULL, 0);

    CHECK_STATUS(kit_final(&r->connect, r->connecting), STATUS_SUCCESS);
    return accepting;
}

static NTSTATUS reject(NDK_CONNECTOR *c)
{
    return c->Dispatch->NdkReject(c, NULL, 0);
}

static NTSTATUS get_data(NDK_CONNECTOR *c, bool limits_only)
{
    uint8_t data[512];
    ULONG length = sizeof data, inbound, outbound;

    if (limits_only)
        return c->Dispatch->NdkGetConnectionData(c, &inbound, &outbound, NULL, NULL);
    return c->Dispatch->NdkGetConnectionData(c, NULL, NULL, data, &length);
}

/* ---- connector-phase ---- */

CASE(calls_before_the_connection, 0)
{
    static struct requested r;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);

    breaches_begin();
    kit_pair_open_idle(&r.pair);
    r.pair.active.connector = kit_connector(r.pair.active.adapter);
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkCompleteConnect");
    CHECK_STATUS(kit_accept(&r.pair.active, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkAccept");
    CHECK_STATUS(reject(r.pair.active.connector), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkReject");
    CHECK_STATUS(kit_disconnect(&r.pair.active), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkDisconnect");
    request_to_passive(&r);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkCompleteConnect");
    CHECK_STATUS(kit_connect_start(&r.pair.active, &call, &source, &r.pair.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkConnect");
    CHECK_STATUS(kit_disconnect(&r.pair.passive), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkDisconnect");
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

CASE(calls_in_the_connection, 0)
{
    static struct kit_pair p;

    breaches_begin();
    kit_pair_open(&p);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkCompleteConnect");
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkAccept");
    CHECK_STATUS(reject(p.passive.connector), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkReject");
    kit_pair_disconnect(&p);
    CHECK_STATUS(reject(p.active.connector), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkReject");
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(complete_after_a_failed_connect, 0)
{
    static struct requested r;

    open_requested(&r);
    CHECK_STATUS(reject(r.pair.passive.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    CHECK_BREACHES("");
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("connector-phase in NdkCompleteConnect");
    CHECK_STATUS(reject(r.pair.passive.connector), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connector-phase in NdkReject");
    kit_pair_close(&r.pair);
}

CASE(reject_after_a_successful_connect, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };

    open_requested(&r);
    NTSTATUS accepting = accept_request(&r, &accept);
    CHECK_STATUS(reject(r.pair.active.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* Connector and queue pair are used again until a connect succeeds. */
CASE(connect_again_after_a_failed_connect, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };

    open_requested(&r);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(reject(r.pair.passive.connector), STATUS_SUCCESS);
        CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
        kit_close_connector(&r.pair.passive);
        request_to_passive(&r);
    }
    NTSTATUS accepting = accept_request(&r, &accept);
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_pair_disconnect(&r.pair);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* The peer's end can come at any time before NdkDisconnect, so NdkDisconnect is legal after it, and twice. */
CASE(disconnect_after_the_peers_end, 0)
{
    static struct kit_pair p;

    breaches_begin();
    kit_pair_open(&p);
    kit_close_connector(&p.active);
    kit_wait_count(&p.passive.disconnected, 1);
    (void)kit_disconnect(&p.passive);
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_CONNECTION_INVALID);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(close_in_any_phase, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };

    open_requested(&r);
    kit_close_connector(&r.pair.passive);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    request_to_passive(&r);
    kit_close_connector(&r.pair.active);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CANCELLED);
    kit_close_connector(&r.pair.passive);
    request_to_passive(&r);
    NTSTATUS accepting = accept_request(&r, &accept);
    kit_close_connector(&r.pair.active);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* ---- connection-data-phase ---- */

CASE(connection_data_too_late, 0)
{
    static struct kit_pair p;

    breaches_begin();
    kit_pair_open(&p);
    CHECK_STATUS(get_data(p.active.connector, false), STATUS_SUCCESS);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    CHECK_STATUS(get_data(p.active.connector, true), STATUS_SUCCESS);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    CHECK_STATUS(get_data(p.passive.connector, false), STATUS_SUCCESS);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    kit_pair_disconnect(&p);
    CHECK_STATUS(get_data(p.passive.connector, false), STATUS_SUCCESS);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    kit_pair_close(&p);
}

CASE(connection_data_too_early, 0)
{
    static struct requested r;

    breaches_begin();
    kit_pair_open_idle(&r.pair);
    r.pair.active.connector = kit_connector(r.pair.active.adapter);
    CHECK_STATUS(get_data(r.pair.active.connector, false), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    request_to_passive(&r);
    CHECK_STATUS(get_data(r.pair.active.connector, false), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("connection-data-phase in NdkGetConnectionData");
    kit_pair_close(&r.pair);
}

CASE(connection_data_in_time, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };
    ULONG length = 0;

    open_requested(&r);
    CHECK_STATUS(reject(r.pair.passive.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(get_data(r.pair.active.connector, false), STATUS_SUCCESS); /* of the reject */
    kit_close_connector(&r.pair.passive);
    request_to_passive(&r);
    CHECK_STATUS(get_data(r.pair.passive.connector, false), STATUS_SUCCESS);
    NTSTATUS accepting = accept_request(&r, &accept);
    CHECK_STATUS(get_data(r.pair.active.connector, false), STATUS_SUCCESS);
    CHECK_STATUS(
        r.pair.active.connector->Dispatch->NdkGetConnectionData(r.pair.active.connector, NULL, NULL, NULL, &length),
        STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    CHECK_STATUS(get_data(r.pair.passive.connector, true), STATUS_SUCCESS); /* NdkAccept's page allows it */
    kit_pair_disconnect(&r.pair);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* ---- connection-address-phase ---- */

static NTSTATUS get_address(NDK_CONNECTOR *c, bool is_peer)
{
    struct sockaddr_storage address;
    ULONG length = sizeof address;

    return is_peer ? c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&address, &length)
                   : c->Dispatch->NdkGetLocalAddress(c, (PSOCKADDR)&address, &length);
}

CASE(addresses_before_the_connection, 0)
{
    static struct kit_side s;

    breaches_begin();
    kit_side_open(&s, NULL);
    s.connector = kit_connector(s.adapter);
    CHECK(get_address(s.connector, false) < 0);
    CHECK_BREACHES("connection-address-phase in NdkGetLocalAddress");
    CHECK(get_address(s.connector, true) < 0);
    CHECK_BREACHES("connection-address-phase in NdkGetPeerAddress");
    kit_side_close(&s);
    CHECK_BREACHES("");
}

/* While NdkConnect is pending, and after it has failed, the call may be refused, but is legal. */
CASE(addresses_from_the_connect_on, 0)
{
    static struct requested r;

    open_requested(&r);
    (void)get_address(r.pair.active.connector, false);
    (void)get_address(r.pair.active.connector, true);
    CHECK_STATUS(get_address(r.pair.passive.connector, true), STATUS_SUCCESS);
    CHECK_STATUS(reject(r.pair.passive.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    (void)get_address(r.pair.active.connector, false);
    (void)get_address(r.pair.active.connector, true);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* ---- listen-twice ---- */

CASE(listening_again, 0)
{
    struct sockaddr_storage wrong = kit_address("192.0.2.1", 0), any_port = kit_host(0);
    static struct kit_listener l, other;
    NDK_ADAPTER *adapter;

    breaches_begin();
    adapter = kit_open(2, 1);
    kit_listener_create(&l, adapter);
    CHECK_STATUS(kit_listen_status(&l, &wrong), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(kit_listen_status(&l, &any_port), STATUS_SUCCESS); /* the call before has failed */
    kit_listen(&other, adapter);
    CHECK_BREACHES("");
    CHECK(kit_listen_status(&l, &any_port) < 0);
    CHECK_BREACHES("listen-twice in NdkListen");
    CHECK(kit_listen_status(&l, &wrong) < 0); /* the call before has failed, but the listener listens */
    CHECK_BREACHES("listen-twice in NdkListen");
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    CHECK_BREACHES("");
}

/* ---- private-data-length, buffer-missing ---- */

CASE(private_data_too_long, 0)
{
    static struct requested r;
    static uint8_t data[4096];
    struct kit_call call = { 0 }, accept = { 0 };
    struct sockaddr_storage source = kit_host(0);
    const NDK_ADAPTER_INFO *info = kit_info();

    breaches_begin();
    kit_pair_open_idle(&r.pair);
    CHECK_STATUS(
        kit_connect_start(&r.pair.active, &call, &source, &r.pair.listener.address, data, info->MaxCallerData + 1),
        STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("private-data-length in NdkConnect");
    r.connecting = kit_connect_start(&r.pair.active, &r.connect, &source, &r.pair.listener.address, data,
                                     info->MaxCallerData);
    NDK_CONNECTOR *c = r.pair.passive.connector = kit_next_request(&r.pair.listener);
    CHECK_STATUS(c->Dispatch->NdkReject(c, data, info->MaxCalleeData + 1), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("private-data-length in NdkReject");
    CHECK_STATUS(kit_accept_start(&r.pair.passive, &accept, data, info->MaxCalleeData + 1), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("private-data-length in NdkAccept");
    CHECK_STATUS(c->Dispatch->NdkReject(c, data, info->MaxCalleeData), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

CASE(null_with_a_length, 0)
{
    static struct requested r;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);
    ULONG length = 1, inbound;

    breaches_begin();
    kit_pair_open_idle(&r.pair);
    CHECK_STATUS(kit_connect_start(&r.pair.active, &call, &source, &r.pair.listener.address, NULL, 1),
                 STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkConnect");
    NDK_CONNECTOR *c = r.pair.active.connector;
    CHECK_STATUS(c->Dispatch->NdkConnect(c, r.pair.active.qp, (PSOCKADDR)&source, kit_address_len(&source), NULL,
                                         kit_address_len(&source), 0, 0, NULL, 0, kit_request_done, &call),
                 STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkConnect");
    request_to_passive(&r);
    c = r.pair.passive.connector;
    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, NULL, &length), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkGetConnectionData");
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 1), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkReject");
    length = 0;
    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, NULL, &length), STATUS_SUCCESS);
    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, &inbound, NULL, NULL, NULL), STATUS_SUCCESS);
    CHECK_STATUS(reject(c), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

CASE(no_address_to_listen_on, 0)
{
    static struct kit_side side;
    static struct kit_listener l;
    struct kit_call call = { 0 };
    NDK_SHARED_ENDPOINT *endpoint = NULL;

    breaches_begin();
    kit_side_open(&side, NULL);
    kit_listener_create(&l, side.adapter);
    CHECK_STATUS(l.listener->Dispatch->NdkListen(l.listener, NULL, 16, kit_request_done, &call),
                 STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkListen");
    CHECK_STATUS(
        side.adapter->Dispatch->NdkCreateSharedEndpoint(side.adapter, NULL, 16, kit_create_done, &call, &endpoint),
        STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkCreateSharedEndpoint");
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(no_list_of_sges, 0)
{
    static struct kit_side side;

    breaches_begin();
    kit_side_open(&side, NULL);
    CHECK_STATUS(side.qp->Dispatch->NdkReceive(side.qp, NULL, NULL, 1), STATUS_INVALID_PARAMETER);
    CHECK_BREACHES("buffer-missing in NdkReceive");
    CHECK_STATUS(side.qp->Dispatch->NdkReceive(side.qp, NULL, NULL, 0), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

/* ---- queue-pair-reused ---- */

/* A connector is not connected again, neither with its own queue pair nor with a new one. */
CASE(connector_reused, 0)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);

    breaches_begin();
    kit_pair_open(&p);
    kit_pair_disconnect(&p);
    CHECK_STATUS(kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("queue-pair-reused in NdkConnect");
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("queue-pair-reused in NdkAccept");
    kit_pair_close(&p);
}

/* A queue pair is not connected again, neither during its connection nor after it. */
CASE(queue_pair_reused, 0)
{
    static struct requested r;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);
    NDK_CONNECTOR *first;

    breaches_begin();
    kit_pair_open(&r.pair);
    first = r.pair.active.connector;
    r.pair.active.connector = NULL;
    CHECK_STATUS(kit_connect_start(&r.pair.active, &call, &source, &r.pair.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("queue-pair-reused in NdkConnect");
    kit_close_connector(&r.pair.active);
    r.pair.active.connector = first;
    kit_pair_disconnect(&r.pair);
    kit_close_connector(&r.pair.active);
    CHECK_STATUS(kit_connect_start(&r.pair.active, &call, &source, &r.pair.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_BREACHES("queue-pair-reused in NdkConnect");
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* A queue pair whose connector was closed before the connection was established can be used with another connector. */
CASE(queue_pair_of_a_failed_connect, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };

    open_requested(&r);
    CHECK_STATUS(reject(r.pair.passive.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&r.connect, r.connecting), STATUS_CONNECTION_REFUSED);
    kit_close_connector(&r.pair.passive);
    kit_close_connector(&r.pair.active);
    request_to_passive(&r);
    NTSTATUS accepting = accept_request(&r, &accept);
    CHECK_STATUS(kit_complete_connect(&r.pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* Microsoft leaves open whether the queue pair of a failed accept can be used again. */
CASE(queue_pair_of_a_failed_accept, 0)
{
    static struct requested r;
    struct kit_call accept = { 0 };

    open_requested(&r);
    NTSTATUS accepting = accept_request(&r, &accept);
    CHECK_STATUS(reject(r.pair.active.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    kit_close_connector(&r.pair.passive);
    kit_close_connector(&r.pair.active);
    CHECK_STATUS(kit_close(r.pair.active.qp), STATUS_SUCCESS);
    r.pair.active.qp = kit_qp(&r.pair.active, KIT_DEPTH);
    request_to_passive(&r);
    accept = (struct kit_call){ 0 };
    CHECK_STATUS(kit_accept_start(&r.pair.passive, &accept, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    kit_pair_close(&r.pair);
    CHECK_BREACHES("");
}

/* ---- fork ---- */

/* The child's thread is not the one that its parent knew: a context on its stack is alive while it waits. */
CASE(connect_in_a_child_of_fork, 0)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    int status = -1;

    breaches_begin();
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    kit_wait_threads_asleep();
    pid_t child = fork();
    if (child == 0) {
#ifndef __SANITIZE_THREAD__ /* which ends a child that starts threads */
        static struct kit_side own;

        kit_side_open(&own, NULL);
        CHECK_STATUS(kit_connect(&own, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
        kit_side_close(&own);
#endif
        _exit((int)ondk_verify_breaches());
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    kit_side_close(&s);
    CHECK_BREACHES("");
}
