/* SPDX-License-Identifier: MIT */
/* Shared endpoints and listeners over loopback, only through ndkpi.h. */
#include "contract/kit/kit.h"
#include "openndk/adapter.h"

static void check_ends(NDK_CONNECTOR *one, NDK_CONNECTOR *other)
{
    struct sockaddr_storage local = { 0 }, peer = { 0 };
    ULONG local_len = sizeof local, peer_len = sizeof peer;

    CHECK_STATUS(one->Dispatch->NdkGetLocalAddress(one, (PSOCKADDR)&local, &local_len), STATUS_SUCCESS);
    CHECK_STATUS(other->Dispatch->NdkGetPeerAddress(other, (PSOCKADDR)&peer, &peer_len), STATUS_SUCCESS);
    CHECK(kit_address_equal(&local, &peer));
}

/* The connection works: a message goes from one side to the other. */
static void move_data(struct kit_side *a, struct kit_side *p)
{
    kit_pattern(a->memory, 3000, 5);
    CHECK_STATUS(kit_post_receive(p, 1, 0, 4096), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(a, 2, 0, 3000), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(p).Status, STATUS_SUCCESS);
    CHECK(kit_pattern_is(p->memory, 3000, 5));
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
}

/* ---- shared endpoints ---- */

static NDK_SHARED_ENDPOINT *endpoint_at(NDK_ADAPTER *adapter, struct sockaddr_storage *address)
{
    struct kit_call call = { 0 };
    NDK_SHARED_ENDPOINT *e = NULL;
    ULONG len = sizeof *address;
    NTSTATUS status = adapter->Dispatch->NdkCreateSharedEndpoint(adapter, (PSOCKADDR)address, kit_address_len(address),
                                                                 kit_create_done, &call, &e);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(e->Dispatch->NdkGetLocalAddress(e, (PSOCKADDR)address, &len), STATUS_SUCCESS);
    CHECK(kit_port(address) >= 49152);
    return e;
}

static NTSTATUS connect_from(struct kit_side *s, NDK_SHARED_ENDPOINT *e, const struct sockaddr_storage *to,
                             struct kit_call *call)
{
    if (!s->connector)
        s->connector = kit_connector(s->adapter);
    return s->connector->Dispatch->NdkConnectWithSharedEndpoint(
        s->connector, s->qp, e, (PSOCKADDR)to, kit_address_len(to), 1, 1, NULL, 0, kit_request_done, call);
}

static void establish_from(struct kit_side *a, struct kit_side *s, NDK_SHARED_ENDPOINT *e, struct kit_listener *l)
{
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting = connect_from(a, e, &l->address, &connect);

    s->connector = kit_next_request(l);
    NTSTATUS accepting = kit_accept_start(s, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(a), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
}

CASE(connect_many_from_one_shared_endpoint, KIT_FAMILIES)
{
    static struct kit_side a[2], s[2], again;
    static struct kit_listener l[2];
    struct sockaddr_storage shared = kit_host(0), elsewhere = kit_host(9);
    struct kit_call closing = { 0 }, second = { 0 };
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_SHARED_ENDPOINT *e = endpoint_at(adapter, &shared);

    for (int i = 0; i < 2; i++) {
        kit_side_open(&a[i], adapter);
        kit_side_open(&s[i], adapter);
        kit_listen(&l[i], adapter);
        establish_from(&a[i], &s[i], e, &l[i]);
        check_ends(a[i].connector, s[i].connector);
        check_ends(s[i].connector, a[i].connector);
        move_data(&a[i], &s[i]);
    }
    kit_side_open(&again, adapter);
    CHECK_STATUS(kit_final(&second, connect_from(&again, e, &l[0].address, &second)), STATUS_ADDRESS_ALREADY_EXISTS);
    CHECK_STATUS(kit_connect(&again, &shared, &l[1].address, NULL, 0), STATUS_ADDRESS_ALREADY_EXISTS);
    CHECK_STATUS(kit_connect(&again, &shared, &elsewhere, NULL, 0), STATUS_SHARING_VIOLATION);
    NTSTATUS status = e->Dispatch->NdkCloseSharedEndpoint(&e->Header, kit_close_done, &closing);
    CHECK_STATUS(status, STATUS_PENDING);
    move_data(&a[0], &s[0]); /* they continue */
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(atomic_load(&closing.calls), 0);
        CHECK_STATUS(kit_close(a[i].connector), STATUS_SUCCESS);
        a[i].connector = NULL;
    }
    kit_wait_calls(&closing, 1);
    e = endpoint_at(adapter, &shared); /* free at once */
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    kit_side_close(&again);
    for (int i = 0; i < 2; i++) {
        kit_side_close(&a[i]);
        kit_side_close(&s[i]);
        CHECK_STATUS(kit_close(l[i].listener), STATUS_SUCCESS);
    }
    kit_close_adapter(adapter);
}

CASE(connect_from_an_endpoint_of_the_other_family, 0)
{
    static struct kit_side a;
    struct sockaddr_storage shared = kit_address("127.0.0.1", 0), six = kit_address("::1", 50000);
    struct kit_call call = { 0 };

    kit_side_open(&a, NULL);
    NDK_SHARED_ENDPOINT *e = endpoint_at(a.adapter, &shared);
    CHECK_STATUS(connect_from(&a, e, &six, &call), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_connect(&a, &shared, &six, NULL, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    kit_side_close(&a);
}

/* ---- listeners ---- */

CASE(connect_listener_listens_again_after_a_failure, KIT_FAMILIES)
{
    static struct kit_listener first, second;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    struct sockaddr_storage any = kit_host(0);
    ULONG len = 0;

    kit_listen(&first, adapter);
    kit_listener_create(&second, adapter);
    CHECK_STATUS(second.listener->Dispatch->NdkGetLocalAddress(second.listener, NULL, &len),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_listen_status(&second, &first.address), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_listen_status(&second, &any), STATUS_SUCCESS);
    CHECK_STATUS(kit_listen_status(&second, &any), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_close(first.listener), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(second.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

CASE(connect_listener_closed_before_its_connections, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call closing = { 0 }, connect = { 0 };
    struct sockaddr_storage source = kit_host(0);
    static struct kit_side late;

    kit_pair_open(&p);
    NDK_LISTENER *l = p.listener.listener;
    CHECK_STATUS(l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &closing), STATUS_PENDING);
    kit_side_open(&late, NULL);
    CHECK_STATUS(kit_final(&connect, kit_connect_start(&late, &connect, &source, &p.listener.address, NULL, 0)),
                 STATUS_CONNECTION_REFUSED);
    move_data(&p.active, &p.passive);
    CHECK_EQ(atomic_load(&closing.calls), 0);
    CHECK_STATUS(kit_close(p.passive.connector), STATUS_SUCCESS);
    p.passive.connector = NULL;
    kit_wait_calls(&closing, 1);
    p.listener.listener = NULL;
    kit_side_close(&late);
    kit_pair_close(&p);
}

/* ---- events ---- */

static struct shut {
    atomic_int entered, may_return, returned;
    NDK_CONNECTOR *connector;
} shut;

static void block_inside(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    (void)l;
    shut.connector = connector;
    atomic_store(&shut.entered, 1);
    while (!atomic_load(&shut.may_return))
        kit_pause();
    atomic_store(&shut.returned, 1);
}

static void check_returned(struct kit_call *call)
{
    (void)call;
    CHECK_EQ(atomic_load(&shut.returned), 1);
}

/* Handles all input of a side's shards, although their thread is blocked in a callback. */
static void drive(struct kit_side *s)
{
    NDK_RESULT_EX result;

    for (int i = 0; i < 4; i++) {
        kit_pause();
        CHECK_EQ(s->cq->Dispatch->NdkGetCqResultsEx(s->cq, &result, 1), 0);
    }
}

static void one_shard(void)
{
    struct kit_config config = kit_config();

    config.shards = 1;
    kit_configure(&config);
}

/* The connector ends at once, because its peer has closed. Only the event still keeps the listener. */
CASE(connect_listener_closed_while_its_event_runs, KIT_FAMILIES)
{
    static struct kit_side a, s;
    static struct kit_listener l = { .inside = block_inside };
    struct kit_call connect = { 0 }, going = { 0 }, closing = { .inside = check_returned };
    struct sockaddr_storage source = kit_host(0);

    one_shard();
    kit_side_open(&a, NULL);
    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    NTSTATUS connecting = kit_connect_start(&a, &connect, &source, &l.address, NULL, 0);
    while (!atomic_load(&shut.entered))
        kit_pause();
    CHECK_STATUS(kit_close(a.connector), STATUS_SUCCESS);
    a.connector = NULL;
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CANCELLED);
    drive(&s);
    NDK_CONNECTOR *c = shut.connector;
    NTSTATUS gone = c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &going);
    NTSTATUS status = l.listener->Dispatch->NdkCloseListener(&l.listener->Header, kit_close_done, &closing);
    CHECK_STATUS(status, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 0);
    atomic_store(&shut.may_return, 1);
    CHECK_STATUS(kit_final(&going, gone), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
    kit_side_close(&a);
    kit_side_close(&s);
}

static void block(struct kit_call *call)
{
    (void)call;
    atomic_store(&shut.entered, 1);
    while (!atomic_load(&shut.may_return))
        kit_pause();
}

/*
 * The peer has disconnected, and the disconnect callback waits behind another callback of the only thread. If this side
 * disconnects now, the disconnect callback does not run.
 */
CASE(connect_notice_overtaken_by_disconnect, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_listener other;
    struct kit_call listen = { .inside = block }, mine = { 0 }, theirs = { 0 };
    struct sockaddr_storage any = kit_host(0);

    one_shard();
    kit_pair_open(&p);
    NDK_CONNECTOR *a = p.active.connector, *s = p.passive.connector;
    kit_listener_create(&other, p.active.adapter);
    CHECK_STATUS(other.listener->Dispatch->NdkListen(other.listener, (PSOCKADDR)&any, kit_address_len(&any),
                                                     kit_request_done, &listen),
                 STATUS_PENDING);
    while (!atomic_load(&shut.entered))
        kit_pause();
    NTSTATUS their_status = s->Dispatch->NdkDisconnect(s, kit_request_done, &theirs);
    drive(&p.active);
    NTSTATUS my_status = a->Dispatch->NdkDisconnect(a, kit_request_done, &mine);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    atomic_store(&shut.may_return, 1);
    CHECK_STATUS(kit_final(&mine, my_status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&theirs, their_status), STATUS_SUCCESS);
    kit_wait_calls(&listen, 1);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    kit_pair_close(&p);
}

/* ---- Windows' number for IPv6 ---- */

static sa_family_t family_of(NDK_CONNECTOR *c, bool local)
{
    struct sockaddr_storage address = { 0 };
    ULONG len = sizeof address;

    CHECK_STATUS(local ? c->Dispatch->NdkGetLocalAddress(c, (PSOCKADDR)&address, &len)
                       : c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&address, &len),
                 STATUS_SUCCESS);
    return address.ss_family;
}

CASE(connect_with_windows_families, KIT_FAMILIES)
{
    static struct kit_side a, s;
    static struct kit_listener l;
    struct sockaddr_storage shared = kit_host(0), seen = { 0 };
    sa_family_t expected = kit_family() == AF_INET6 ? 23 : AF_INET;
    ULONG len = sizeof seen;

    kit_side_open(&a, NULL);
    NDK_SHARED_ENDPOINT *e = endpoint_at(a.adapter, &shared);
    kit_side_open(&s, a.adapter);
    kit_listen(&l, a.adapter);
    ondk_use_windows_families(a.adapter, 1);
    establish_from(&a, &s, e, &l);
    CHECK_EQ(family_of(a.connector, true), expected);
    CHECK_EQ(family_of(a.connector, false), expected);
    CHECK_EQ(family_of(s.connector, true), expected);
    CHECK_STATUS(e->Dispatch->NdkGetLocalAddress(e, (PSOCKADDR)&seen, &len), STATUS_SUCCESS);
    CHECK_EQ(seen.ss_family, expected);
    len = sizeof seen;
    CHECK_STATUS(l.listener->Dispatch->NdkGetLocalAddress(l.listener, (PSOCKADDR)&seen, &len), STATUS_SUCCESS);
    CHECK_EQ(seen.ss_family, expected);
    ondk_use_windows_families(a.adapter, 0);
    CHECK_EQ(family_of(a.connector, true), kit_family());
    CHECK_STATUS(kit_close(a.connector), STATUS_SUCCESS);
    a.connector = NULL;
    kit_side_close(&s);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&a);
}
