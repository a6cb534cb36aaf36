/* SPDX-License-Identifier: MIT */
/* CSE: a shared endpoint owns its address, and many connections can start from one shared endpoint. */
#include <errno.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/raw.h"

static struct sockaddr_storage endpoint_address(NDK_SHARED_ENDPOINT *e)
{
    struct sockaddr_storage a;
    ULONG len = sizeof a;

    memset(&a, 0, sizeof a);
    CHECK_STATUS(e->Dispatch->NdkGetLocalAddress(e, (PSOCKADDR)&a, &len), STATUS_SUCCESS);
    return a;
}

static NTSTATUS endpoint_status(NDK_ADAPTER *adapter, const struct sockaddr_storage *at)
{
    NDK_SHARED_ENDPOINT *e;
    NTSTATUS status = kit_shared_endpoint(adapter, at, &e);

    if (status == STATUS_SUCCESS)
        CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    return status;
}

/* Establishes over the endpoint; every step must succeed. */
static void establish_shared(struct kit_side *active, NDK_SHARED_ENDPOINT *e, struct kit_side *passive,
                             struct kit_listener *l)
{
    CHECK_STATUS(kit_try_establish(active, passive, l, e), STATUS_SUCCESS);
}

/* covers: CSE-01 */
CASE(cse_01_port_zero_takes_one_of_the_range, KIT_FAMILIES)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    struct sockaddr_storage any = kit_host(0);
    NDK_SHARED_ENDPOINT *e[20];

    for (int i = 0; i < 20; i++) {
        struct sockaddr_storage a, expected;

        CHECK_STATUS(kit_shared_endpoint(adapter, &any, &e[i]), STATUS_SUCCESS);
        a = endpoint_address(e[i]);
        CHECK(kit_port_is_dynamic(kit_port(&a)));
        expected = kit_host(kit_port(&a));
        CHECK(kit_address_equal(&a, &expected));
        CHECK_STATUS(endpoint_status(adapter, &a), STATUS_SHARING_VIOLATION);
    }
    for (int i = 0; i < 20; i++)
        CHECK_STATUS(kit_close(e[i]), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

/* covers: CSE-01 */
CASE(cse_01_taken_addresses, KIT_FAMILIES)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct sockaddr_storage at = kit_free_address(), far = kit_host(0);
    struct kit_call call = { 0 };
    int foreign = raw_listen(&at), listener = raw_listen(&far), peer;
    NTSTATUS status;

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    CHECK_STATUS(endpoint_status(s.adapter, &l.address), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    CHECK_STATUS(endpoint_status(s.adapter, &l.address), STATUS_SUCCESS);
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SHARING_VIOLATION); /* a foreign socket */
    raw_close(foreign, false);
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SUCCESS);
    status = kit_connect_start(&s, &call, &at, &far, NULL, 0);
    peer = raw_accept(listener);
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SHARING_VIOLATION); /* a connector */
    kit_close_connector(&s);
    CHECK_STATUS(kit_final(&call, status), STATUS_CANCELLED);
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SUCCESS);
    raw_close(peer, false);
    raw_close(listener, false);
    kit_side_close(&s);
}

/* covers: CSE-01 */
CASE(cse_01_foreign_addresses, KIT_FAMILIES)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    bool four = kit_family() == AF_INET;
    struct sockaddr_storage foreign = kit_address(four ? "192.0.2.1" : "2001:db8::1", 0);
    struct sockaddr_storage any = kit_address(four ? "0.0.0.0" : "::", 0);

    CHECK_STATUS(endpoint_status(adapter, &foreign), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(endpoint_status(adapter, &any), STATUS_INVALID_ADDRESS);
    kit_close_adapter(adapter);
}

/* An address of this host, but of another interface. */
/* covers: CSE-01 */
CASE(cse_01_an_address_of_another_adapter, KIT_FAMILIES | KIT_NETNS)
{
    struct sockaddr_storage near = kit_cable_host(1, 0), host = kit_host(0);
    NDK_ADAPTER *on_lo, *on_near;
    struct kit_child other;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    on_lo = kit_open(2, 1);
    on_near = kit_open_interface("near");
    CHECK_STATUS(endpoint_status(on_lo, &near), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(endpoint_status(on_near, &host), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(endpoint_status(on_near, &near), STATUS_SUCCESS);
    kit_close_adapter(on_lo);
    kit_close_adapter(on_near);
    kit_join(&other);
}

/* covers: CSE-01 */
CASE(cse_01_every_port_is_taken, KIT_FAMILIES | KIT_NETNS)
{
    static int sockets[KIT_PORTS];
    struct sockaddr_storage any = kit_host(0), a;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_SHARED_ENDPOINT *e;

    kit_bind_ports(sockets);
    CHECK_STATUS(endpoint_status(adapter, &any), STATUS_TOO_MANY_ADDRESSES);
    close(sockets[777]);
    CHECK_STATUS(kit_shared_endpoint(adapter, &any, &e), STATUS_SUCCESS);
    a = endpoint_address(e);
    CHECK_EQ(kit_port(&a), KIT_PORT_FIRST + 777);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

/* covers: CSE-01 */
CASE(cse_01_no_descriptors, KIT_FAMILIES)
{
    struct sockaddr_storage at = kit_free_address();
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    int before = kit_count_descriptors(), room;

    CHECK_STATUS(endpoint_status(adapter, &at), STATUS_SUCCESS);
    CHECK_EQ(kit_count_descriptors(), before);
    for (room = 0; room < 10 && status == STATUS_INSUFFICIENT_RESOURCES; room++) {
        unsigned long long old = kit_limit_descriptors(room);

        status = endpoint_status(adapter, &at);
        kit_restore_descriptors(old);
        CHECK_EQ(kit_count_descriptors(), before);
    }
    CHECK_STATUS(status, STATUS_SUCCESS);
    CHECK(room > 1);
    kit_close_adapter(adapter);
}

enum { MANY = 8 };

struct many {
    struct kit_side active[MANY], passive[MANY];
    struct kit_listener listener[MANY];
    NDK_SHARED_ENDPOINT *endpoint;
    struct sockaddr_storage at;
};

static void many_open(struct many *m)
{
    struct sockaddr_storage any = kit_host(0);

    kit_side_open(&m->active[0], NULL);
    kit_side_open(&m->passive[0], NULL);
    for (int i = 1; i < MANY; i++) {
        kit_side_open(&m->active[i], m->active[0].adapter);
        kit_side_open(&m->passive[i], m->passive[0].adapter);
    }
    for (int i = 0; i < MANY; i++)
        kit_listen(&m->listener[i], m->passive[0].adapter);
    CHECK_STATUS(kit_shared_endpoint(m->active[0].adapter, &any, &m->endpoint), STATUS_SUCCESS);
    m->at = endpoint_address(m->endpoint);
}

static void many_close(struct many *m)
{
    for (int i = 0; i < MANY; i++) {
        kit_close_connector(&m->active[i]);
        kit_close_connector(&m->passive[i]);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(kit_close(m->listener[i].listener), STATUS_SUCCESS);
    if (m->endpoint)
        CHECK_STATUS(kit_close(m->endpoint), STATUS_SUCCESS);
    for (int i = MANY - 1; i >= 0; i--) {
        kit_side_close(&m->active[i]);
        kit_side_close(&m->passive[i]);
    }
}

/* covers: CSE-02 */
CASE(cse_02_many_connections_from_one_address, KIT_FAMILIES)
{
    static struct many m;
    struct kit_call calls[MANY] = { 0 };
    NTSTATUS status[MANY];

    many_open(&m);
    for (int i = 0; i < MANY; i++) /* all at the same time */
        status[i] = kit_connect_shared_start(&m.active[i], &calls[i], m.endpoint, &m.listener[i].address);
    for (int i = 0; i < MANY; i++) {
        struct kit_call accept = { 0 };
        struct sockaddr_storage seen;
        NTSTATUS accepting;

        m.passive[i].connector = kit_next_request(&m.listener[i]);
        seen = kit_peer_address(m.passive[i].connector);
        CHECK(kit_address_equal(&seen, &m.at));
        accepting = kit_accept_start(&m.passive[i], &accept, NULL, 0);
        CHECK_STATUS(kit_final(&calls[i], status[i]), STATUS_SUCCESS);
        seen = kit_local_address(m.active[i].connector);
        CHECK(kit_address_equal(&seen, &m.at));
        CHECK_STATUS(kit_complete_connect(&m.active[i]), STATUS_SUCCESS);
        CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    }
    for (int i = 0; i < MANY; i++)
        kit_exchange(&m.active[i], &m.passive[i]);
    many_close(&m);
}

/* covers: CSE-03 */
CASE(cse_03_the_same_destination_twice, KIT_FAMILIES)
{
    static struct many m;

    many_open(&m);
    establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
    CHECK_STATUS(kit_connect_shared(&m.active[1], m.endpoint, &m.listener[0].address), STATUS_ADDRESS_ALREADY_EXISTS);
    establish_shared(&m.active[2], m.endpoint, &m.passive[2], &m.listener[2]); /* elsewhere it works */
    kit_exchange(&m.active[0], &m.passive[0]);
    kit_close_connector(&m.active[0]);
    kit_close_connector(&m.passive[0]);
    establish_shared(&m.active[1], m.endpoint, &m.passive[1], &m.listener[0]);
    kit_exchange(&m.active[1], &m.passive[1]);
    many_close(&m);
}

/*
 * Disconnects gracefully, the active side first, so that the kernel keeps remains (TIME_WAIT) at the endpoint's
 * address.
 */
static void create_remains(struct kit_side *a, struct kit_side *b)
{
    struct kit_call call = { 0 };
    NTSTATUS status = a->connector->Dispatch->NdkDisconnect(a->connector, kit_request_done, &call);

    kit_wait_count(&b->disconnected, 1);
    CHECK_STATUS(kit_disconnect(b), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_close_connector(a);
    kit_close_connector(b);
    atomic_store(&b->disconnected, 0);
    CHECK_STATUS(kit_close(a->qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(b->qp), STATUS_SUCCESS);
    a->qp = kit_qp(a, KIT_DEPTH);
    b->qp = kit_qp(b, KIT_DEPTH);
}

/* The remains must not prevent another connection. */
/* covers: CSE-03 */
CASE(cse_03_the_same_destination_again_and_again, KIT_FAMILIES)
{
    static struct many m;

    many_open(&m);
    for (int round = 0; round < 20; round++) {
        establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
        create_remains(&m.active[0], &m.passive[0]);
    }
    many_close(&m);
}

/* ---- how long an address is in use ---- */

static void check_all_refused(NDK_ADAPTER *adapter, struct kit_side *s, const struct sockaddr_storage *at,
                              const struct sockaddr_storage *to)
{
    static struct kit_listener other;

    CHECK_STATUS(kit_connect(s, at, to, NULL, 0), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(endpoint_status(adapter, at), STATUS_SHARING_VIOLATION);
    kit_listener_create(&other, adapter);
    CHECK_STATUS(kit_listen_status(&other, at), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
}

/*
 * Runs in another process: checks that each use of the address is refused, and reports that. After the next message,
 * checks that it can listen at the address.
 */
static void other_process(int wire)
{
    struct {
        struct sockaddr_storage at, to;
    } addresses;
    static struct kit_side s;
    static struct kit_listener l;

    kit_wire_receive(wire, &addresses, sizeof addresses);
    kit_side_open(&s, NULL);
    check_all_refused(s.adapter, &s, &addresses.at, &addresses.to);
    kit_wire_send(wire, "r", 1);
    kit_wire_receive(wire, &addresses, sizeof addresses);
    kit_listen_at(&l, s.adapter, &addresses.at); /* free by now */
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&s);
    kit_wire_send(wire, "f", 1);
    kit_wait_join(wire);
}

/* covers: CSE-05 */
CASE(cse_05_taken_until_endpoint_and_connectors_are_closed, KIT_FAMILIES)
{
    static struct many m;
    struct {
        struct sockaddr_storage at, to;
    } addresses;
    struct kit_call closing = { 0 };
    struct kit_child other;
    NTSTATUS status;
    char word;

    kit_fork(&other, other_process, false);
    many_open(&m);
    addresses.at = m.at;
    addresses.to = m.listener[7].address;
    check_all_refused(m.passive[0].adapter, &m.active[7], &m.at, &m.listener[7].address);
    establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
    establish_shared(&m.active[1], m.endpoint, &m.passive[1], &m.listener[1]);
    status = m.endpoint->Dispatch->NdkCloseSharedEndpoint(&m.endpoint->Header, kit_close_done, &closing);
    m.endpoint = NULL;
    check_all_refused(m.passive[0].adapter, &m.active[7], &m.at, &m.listener[7].address);
    kit_close_connector(&m.active[0]);
    check_all_refused(m.passive[0].adapter, &m.active[7], &m.at, &m.listener[7].address);
    kit_wire_send(other.wire, &addresses, sizeof addresses);
    kit_wire_receive(other.wire, &word, 1);
    kit_close_connector(&m.active[1]);
    CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
    /* The address must be free for the other process, too, without a delay. */
    kit_wire_send(other.wire, &addresses, sizeof addresses);
    kit_wire_receive(other.wire, &word, 1);
    kit_establish_from(&m.active[7], &m.passive[7], &m.listener[7], &m.at);
    kit_exchange(&m.active[7], &m.passive[7]);
    many_close(&m);
    kit_join(&other);
}

/* No connection exists that could show that the address is in use. */
/* covers: CSE-05 */
CASE(cse_05_taken_beside_remains_of_connections, KIT_FAMILIES)
{
    static struct many m;
    struct {
        struct sockaddr_storage at, to;
    } addresses;
    struct kit_child other;
    char word;

    kit_fork(&other, other_process, false);
    many_open(&m);
    addresses.at = m.at;
    addresses.to = m.listener[7].address;
    establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
    create_remains(&m.active[0], &m.passive[0]);
    check_all_refused(m.passive[0].adapter, &m.active[7], &m.at, &m.listener[7].address);
    kit_wire_send(other.wire, &addresses, sizeof addresses);
    kit_wire_receive(other.wire, &word, 1);
    CHECK_STATUS(kit_close(m.endpoint), STATUS_SUCCESS);
    m.endpoint = NULL;
    kit_wire_send(other.wire, &addresses, sizeof addresses);
    kit_wire_receive(other.wire, &word, 1);
    kit_establish_from(&m.active[7], &m.passive[7], &m.listener[7], &m.at);
    kit_exchange(&m.active[7], &m.passive[7]);
    many_close(&m);
    kit_join(&other);
}

/* Foreign sockets without SO_REUSEADDR cannot use the address. */
/* covers: CSE-05 */
CASE(cse_05_against_foreign_sockets, KIT_FAMILIES)
{
    struct sockaddr_storage at = kit_free_address();
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_SHARED_ENDPOINT *e;
    int s;

    kit_need_iwarp(); /* ports of TCP */
    s = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_STATUS(kit_shared_endpoint(adapter, &at, &e), STATUS_SUCCESS);
    CHECK(bind(s, (struct sockaddr *)&at, kit_address_len(&at)) != 0 && errno == EADDRINUSE);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK(bind(s, (struct sockaddr *)&at, kit_address_len(&at)) == 0);
    close(s);
    kit_close_adapter(adapter);
}

/* covers: CSE-06 */
CASE(cse_06_close_waits_for_connectors_that_work_on, KIT_FAMILIES)
{
    static struct many m;
    struct kit_call closing = { 0 };

    many_open(&m);
    establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
    establish_shared(&m.active[1], m.endpoint, &m.passive[1], &m.listener[1]);
    CHECK_STATUS(m.endpoint->Dispatch->NdkCloseSharedEndpoint(&m.endpoint->Header, kit_close_done, &closing),
                 STATUS_PENDING);
    m.endpoint = NULL;
    kit_exchange(&m.active[0], &m.passive[0]);
    kit_exchange(&m.passive[1], &m.active[1]);
    kit_close_connector(&m.active[0]);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 0);
    kit_exchange(&m.active[1], &m.passive[1]);
    kit_close_connector(&m.active[1]);
    CHECK_STATUS(kit_final(&closing, STATUS_PENDING), STATUS_SUCCESS);
    many_close(&m);
}

/* More connections than an 8-bit count can have. Their descriptors, two each, fit below 1024, a usual limit. */
enum { CROWD = 300 };

/* A connection from the endpoint to a plain socket. */
struct member {
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    int peer;
};

static void member_open(struct member *m, struct kit_side *s, NDK_SHARED_ENDPOINT *e)
{
    struct sockaddr_storage there = kit_host(0);
    struct kit_call call = { 0 };
    struct raw_frame f;
    int listener = raw_listen(&there);
    NTSTATUS status;

    s->connector = NULL;
    s->qp = kit_qp(s, 1);
    status = kit_connect_shared_start(s, &call, e, &there);
    m->connector = s->connector;
    m->qp = s->qp;
    m->peer = raw_accept(listener);
    close(listener);
    CHECK(raw_recv_frame(m->peer, false, &f));
    f = raw_enhanced(true, 1, 1);
    raw_send_frame(m->peer, true, &f);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(s), STATUS_SUCCESS);
    s->connector = NULL;
    s->qp = NULL;
}

static void member_close(struct member *m)
{
    CHECK_STATUS(kit_close(m->connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(m->qp), STATUS_SUCCESS);
}

/*
 * All connections exist at the same time. After their peers have reset them, only the endpoint and the connectors
 * reserve its address, and the connectors are closed one by one.
 */
/* covers: CSE-07 */
CASE(cse_07_hundreds_of_connections, KIT_FAMILIES)
{
    static struct kit_side s;
    static struct member crowd[CROWD];
    struct sockaddr_storage at = kit_host(0);
    NDK_SHARED_ENDPOINT *e;

    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_close(s.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_shared_endpoint(s.adapter, &at, &e), STATUS_SUCCESS);
    at = endpoint_address(e);
    for (int i = 0; i < CROWD; i++)
        member_open(&crowd[i], &s, e);
    CHECK_EQ(atomic_load(&s.disconnected), 0);
    for (int i = 0; i < CROWD; i++)
        raw_close(crowd[i].peer, true);
    kit_wait_count(&s.disconnected, CROWD);
    for (int i = 0; i < CROWD; i++) {
        CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SHARING_VIOLATION);
        member_close(&crowd[i]);
    }
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK_STATUS(endpoint_status(s.adapter, &at), STATUS_SUCCESS);
    kit_side_close(&s);
}

/* covers: CSE-08 */
CASE(cse_08_a_destination_of_another_family, KIT_FAMILIES)
{
    static struct many m;
    struct sockaddr_storage other = kit_address(kit_family() == AF_INET ? "::1" : "127.0.0.1", 4791);
    struct kit_call call = { 0 };

    many_open(&m);
    CHECK_STATUS(kit_connect_shared_start(&m.active[0], &call, m.endpoint, &other), STATUS_INVALID_PARAMETER);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    establish_shared(&m.active[0], m.endpoint, &m.passive[0], &m.listener[0]);
    kit_exchange(&m.active[0], &m.passive[0]);
    many_close(&m);
}
