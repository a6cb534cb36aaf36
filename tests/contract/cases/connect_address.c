/* SPDX-License-Identifier: MIT */
/* CON: the local address of NdkConnect, and the four-tuple. */
#include <errno.h>
#include <linux/netlink.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/raw.h"

/* Skips the case if the system does not report which sockets use an address, for example under qemu. */
static void need_sock_diag(void)
{
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (s < 0)
        kit_skip("this system has no sock_diag: %s", strerror(errno));
    close(s);
}

static NTSTATUS connect_from(struct kit_side *s, const struct sockaddr_storage *source,
                             const struct sockaddr_storage *to)
{
    return kit_connect(s, source, to, NULL, 0);
}

/* Returns a foreign socket (not the provider's) that is bound to the address, but neither listens nor is connected. */
static int bound_socket(const struct sockaddr_storage *at, int reuse)
{
    int s;

    kit_need_iwarp(); /* ports of TCP */
    s = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s >= 0);
    CHECK(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) == 0);
    CHECK(bind(s, (const struct sockaddr *)at, kit_address_len(at)) == 0);
    return s;
}

static void check_taken(struct kit_pair *p, const struct sockaddr_storage *at)
{
    CHECK_STATUS(connect_from(&p->active, at, &p->listener.address), STATUS_SHARING_VIOLATION);
}

/* Checks that the address is free: the same connector connects from it at once. Then closes both sides. */
static void check_free(struct kit_pair *p, const struct sockaddr_storage *at)
{
    struct sockaddr_storage seen;

    kit_establish_from(&p->active, &p->passive, &p->listener, at);
    seen = kit_local_address(p->active.connector);
    CHECK(kit_address_equal(&seen, at));
    kit_exchange(&p->active, &p->passive);
    kit_pair_close(p);
}

/* covers: CON-12, CON-17 */
CASE(con_12_taken_by_a_listener, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_listener other;

    kit_pair_open_idle(&p);
    kit_listen(&other, p.passive.adapter);
    check_taken(&p, &other.address);
    other.listener->Dispatch->NdkControlConnectEvents(other.listener, TRUE);
    check_taken(&p, &other.address);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
    check_free(&p, &other.address);
}

/* Another connector has the address: while it is connecting, after NdkConnect, and after NdkCompleteConnect. */
/* covers: CON-12, CON-17 */
CASE(con_12_taken_by_a_connector, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_side other;
    struct sockaddr_storage at = kit_free_address(), far = kit_host(0);
    struct kit_call call = { 0 };
    struct raw_frame f;
    int listener = raw_listen(&far), peer;
    NTSTATUS status;

    kit_pair_open_idle(&p);
    kit_side_open(&other, NULL);
    status = kit_connect_start(&other, &call, &at, &far, NULL, 0);
    peer = raw_accept(listener);
    check_taken(&p, &at);
    CHECK(raw_recv_frame(peer, false, &f));
    f = raw_enhanced(true, 1, 1);
    raw_send_frame(peer, true, &f);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    check_taken(&p, &at);
    CHECK_STATUS(kit_complete_connect(&other), STATUS_SUCCESS);
    check_taken(&p, &at);
    kit_side_close(&other);
    check_free(&p, &at);
    raw_close(peer, false);
    raw_close(listener, false);
}

/* covers: CON-12, CON-17 */
CASE(con_12_taken_by_a_shared_endpoint, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();
    NDK_SHARED_ENDPOINT *endpoint;

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_shared_endpoint(p.passive.adapter, &at, &endpoint), STATUS_SUCCESS);
    check_taken(&p, &at);
    CHECK_STATUS(kit_close(endpoint), STATUS_SUCCESS);
    check_free(&p, &at);
}

/* covers: CON-12, CON-17 */
CASE(con_12_taken_by_a_foreign_socket, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();
    int s = bound_socket(&at, 0);

    need_sock_diag();
    kit_pair_open_idle(&p);
    check_taken(&p, &at);
    CHECK(listen(s, 5) == 0);
    check_taken(&p, &at);
    close(s);
    s = bound_socket(&at, 1);
    check_taken(&p, &at);
    CHECK(listen(s, 5) == 0);
    check_taken(&p, &at);
    close(s);
    check_free(&p, &at);
}

/*
 * Runs in another process: receives an address, and listens there until the next message. Then has a shared endpoint at
 * the address until one more message.
 */
static void other_process(int wire)
{
    static struct kit_listener l;
    struct sockaddr_storage at;
    NDK_SHARED_ENDPOINT *endpoint;
    NDK_ADAPTER *adapter;
    char word;

    kit_wire_receive(wire, &at, sizeof at);
    adapter = kit_open(2, 1);
    kit_listen_at(&l, adapter, &at);
    kit_wire_send(wire, "l", 1);
    kit_wire_receive(wire, &word, 1);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    CHECK_STATUS(kit_shared_endpoint(adapter, &at, &endpoint), STATUS_SUCCESS);
    kit_wire_send(wire, "s", 1);
    kit_wire_receive(wire, &word, 1);
    CHECK_STATUS(kit_close(endpoint), STATUS_SUCCESS);
    kit_wire_send(wire, "e", 1);
    kit_wait_join(wire);
    kit_close_adapter(adapter);
}

/* covers: CON-12, CON-17, CSE-05 */
CASE(con_12_taken_by_another_process, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();
    struct kit_child other;
    char word;

    kit_fork(&other, other_process, false);
    kit_pair_open_idle(&p);
    kit_wire_send(other.wire, &at, sizeof at);
    for (int i = 0; i < 2; i++) {
        kit_wire_receive(other.wire, &word, 1);
        check_taken(&p, &at);
        kit_wire_send(other.wire, "n", 1);
    }
    kit_wire_receive(other.wire, &word, 1);
    check_free(&p, &at);
    kit_join(&other);
}

/* covers: CON-13, CON-17 */
CASE(con_13_an_address_of_nobody, KIT_FAMILIES)
{
    static struct kit_pair p;
    bool four = kit_family() == AF_INET;
    struct sockaddr_storage foreign = kit_address(four ? "192.0.2.1" : "2001:db8::1", 0);
    struct sockaddr_storage with_port = kit_address(four ? "192.0.2.1" : "2001:db8::1", 4791);
    struct sockaddr_storage any = kit_address(four ? "0.0.0.0" : "::", 0);

    kit_pair_open_idle(&p);
    CHECK_STATUS(connect_from(&p.active, &foreign, &p.listener.address), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(connect_from(&p.active, &with_port, &p.listener.address), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(connect_from(&p.active, &any, &p.listener.address), STATUS_INVALID_ADDRESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* An address of this host, but of another interface. */
/* covers: CON-13 */
CASE(con_13_an_address_of_another_adapter, KIT_FAMILIES | KIT_NETNS)
{
    static struct kit_pair p;
    struct kit_child other;
    struct sockaddr_storage near = kit_cable_host(1, 0), host = kit_host(0);

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    kit_side_open(&p.active, kit_open_interface("near"));
    p.active.owns_adapter = true;
    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    CHECK_STATUS(connect_from(&p.active, &host, &p.listener.address), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(connect_from(&p.passive, &near, &p.listener.address), STATUS_INVALID_ADDRESS);
    kit_close_connector(&p.passive);
    kit_pair_close(&p);
    kit_join(&other);
}

/* covers: CON-14, CON-17 */
CASE(con_14_every_port_is_taken, KIT_FAMILIES | KIT_NETNS)
{
    static struct kit_pair p;
    static int sockets[KIT_PORTS];
    struct sockaddr_storage source = kit_host(0), at = kit_free_address(), seen;

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    kit_listen_at(&p.listener, p.passive.adapter, &at);
    kit_bind_ports(sockets);
    CHECK_STATUS(connect_from(&p.active, &source, &p.listener.address), STATUS_TOO_MANY_ADDRESSES);
    close(sockets[12345]);
    kit_establish_from(&p.active, &p.passive, &p.listener, &source);
    seen = kit_local_address(p.active.connector);
    CHECK_EQ(kit_port(&seen), KIT_PORT_FIRST + 12345);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* The system's own range is 32768 to 60999 by default, so a provider that lets the system choose a port fails here. */
/* covers: CON-14, CON-19 */
CASE(con_14_ports_come_from_the_dynamic_range, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage at = kit_host(0), source = kit_host(0), from;
    int listener = raw_listen(&at);

    kit_side_open(&s, NULL);
    for (int i = 0; i < 60; i++) {
        struct kit_call call = { 0 };
        NTSTATUS status = kit_connect_start(&s, &call, &source, &at, NULL, 0);
        socklen_t len = sizeof from;
        int peer = accept(listener, (struct sockaddr *)&from, &len);

        CHECK(peer >= 0);
        CHECK(kit_port_is_dynamic(kit_port(&from)));
        raw_close(peer, true);
        CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    }
    kit_side_close(&s);
    raw_close(listener, false);
}

/* covers: CON-15, CON-17 */
CASE(con_15_the_four_tuple_is_connected_already, KIT_FAMILIES)
{
    static struct kit_pair p, q;
    static struct kit_listener elsewhere;
    struct sockaddr_storage at = kit_free_address();

    need_sock_diag();
    kit_pair_open_idle(&p);
    kit_listen(&elsewhere, p.passive.adapter);
    kit_establish_from(&p.active, &p.passive, &p.listener, &at);
    kit_side_open(&q.active, NULL);
    kit_side_open(&q.passive, p.passive.adapter);
    CHECK_STATUS(connect_from(&q.active, &at, &p.listener.address), STATUS_ADDRESS_ALREADY_EXISTS);
    CHECK_STATUS(connect_from(&q.active, &at, &elsewhere.address), STATUS_SHARING_VIOLATION);
    kit_pair_disconnect(&p);
    kit_close_connector(&p.active);
    kit_close_connector(&p.passive);
    kit_establish_from(&q.active, &q.passive, &p.listener, &at);
    kit_exchange(&q.active, &q.passive);
    CHECK_EQ(atomic_load(&elsewhere.requests), 0);
    CHECK_STATUS(kit_close(elsewhere.listener), STATUS_SUCCESS);
    kit_side_close(&q.active);
    kit_side_close(&q.passive);
    kit_pair_close(&p);
}

static void check_ends(const struct kit_pair *p)
{
    struct sockaddr_storage a_local = kit_local_address(p->active.connector);
    struct sockaddr_storage a_peer = kit_peer_address(p->active.connector);
    struct sockaddr_storage b_local = kit_local_address(p->passive.connector);
    struct sockaddr_storage b_peer = kit_peer_address(p->passive.connector);

    CHECK(kit_address_equal(&a_local, &b_peer));
    CHECK(kit_address_equal(&a_peer, &b_local));
    CHECK(kit_address_equal(&a_peer, &p->listener.address));
}

/* covers: CON-19 */
CASE(con_19_both_ends_are_told_truthfully, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0), local, at = kit_free_address();

    kit_pair_open(&p);
    check_ends(&p);
    local = kit_local_address(p.active.connector);
    CHECK(kit_port_is_dynamic(kit_port(&local)));
    source = kit_host(kit_port(&local));
    CHECK(kit_address_equal(&local, &source));
    kit_pair_close(&p);

    kit_pair_open_idle(&p);
    kit_establish_from(&p.active, &p.passive, &p.listener, &at);
    check_ends(&p);
    local = kit_local_address(p.active.connector);
    CHECK(kit_address_equal(&local, &at));
    kit_pair_close(&p);
}

/*
 * Disconnects. The parity of `round` selects the side that begins. On that side, Linux keeps the socket in TIME_WAIT.
 */
static void end_by(struct kit_pair *p, int round)
{
    struct kit_call call = { 0 };
    struct kit_side *first = round & 1 ? &p->passive : &p->active, *second = round & 1 ? &p->active : &p->passive;
    NTSTATUS status = first->connector->Dispatch->NdkDisconnect(first->connector, kit_request_done, &call);

    kit_wait_count(&second->disconnected, 1);
    CHECK_STATUS(kit_disconnect(second), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_close_connector(first);
    kit_close_connector(second);
    atomic_store(&first->disconnected, 0);
    atomic_store(&second->disconnected, 0);
    CHECK_STATUS(kit_close(first->qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(second->qp), STATUS_SUCCESS);
    first->qp = kit_qp(first, KIT_DEPTH);
    second->qp = kit_qp(second, KIT_DEPTH);
}

/* covers: CON-20 */
CASE(con_20_the_same_four_tuple_again_and_again, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();

    kit_pair_open_idle(&p);
    for (int round = 0; round < 40; round++) {
        kit_establish_from(&p.active, &p.passive, &p.listener, &at);
        kit_exchange(&p.active, &p.passive);
        end_by(&p, round);
    }
    kit_pair_close(&p);
}

/* covers: CON-22 */
CASE(con_22_taken_until_the_connector_is_closed, KIT_FAMILIES)
{
    static struct kit_pair p, q;
    struct sockaddr_storage at = kit_free_address();

    kit_pair_open_idle(&p);
    kit_pair_open_idle(&q);
    kit_establish_from(&p.active, &p.passive, &p.listener, &at);
    check_taken(&q, &at);
    kit_pair_disconnect(&p);
    check_taken(&q, &at);
    kit_close_connector(&p.passive);
    check_taken(&q, &at);
    kit_close_connector(&p.active);
    check_free(&q, &at);
    kit_pair_close(&p);
}

/* The peer resets the connection, but the connector still has the address. */
/* covers: CON-22 */
CASE(con_22_taken_after_the_peer_broke_off, KIT_FAMILIES)
{
    static struct kit_pair p, q;
    struct sockaddr_storage at = kit_free_address();

    kit_pair_open_idle(&p);
    kit_pair_open_idle(&q);
    kit_establish_from(&p.active, &p.passive, &p.listener, &at);
    kit_close_connector(&p.passive); /* without a word */
    kit_wait_count(&p.active.disconnected, 1);
    check_taken(&q, &at);
    kit_close_connector(&p.active);
    check_free(&q, &at);
    kit_pair_close(&p);
}

/* covers: ADP-03, CON-19 */
CASE(con_19_over_link_local_addresses, KIT_NETNS)
{
    static struct kit_pair p;
    struct kit_child other;
    struct sockaddr_storage near, seen;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    near = kit_address("fe80::9:1%near", 0);
    kit_side_open(&p.active, kit_open_interface("near"));
    kit_side_open(&p.passive, kit_open_interface("near"));
    p.active.owns_adapter = p.passive.owns_adapter = true;
    kit_listen_at(&p.listener, p.passive.adapter, &near);
    kit_establish_from(&p.active, &p.passive, &p.listener, &near);
    kit_exchange(&p.active, &p.passive);
    kit_exchange(&p.passive, &p.active);
    check_ends(&p);
    seen = kit_peer_address(p.passive.connector);
    CHECK_EQ(((struct sockaddr_in6 *)&seen)->sin6_scope_id, ((struct sockaddr_in6 *)&near)->sin6_scope_id);
    kit_pair_close(&p);
    kit_join(&other);
}

/*
 * Runs on the other host. If the message is 'l', listens at that host's link-local address, otherwise at its address on
 * the cable. Serves one connection.
 */
static void far_passive(int wire)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct sockaddr_storage at;
    char word;

    kit_wire_receive(wire, &word, 1);
    kit_wait_address("fd09::2");
    kit_wait_address("fe80::9:2%far");
    kit_side_open(&s, kit_open_interface("far"));
    at = word == 'l' ? kit_address("fe80::9:2%far", 0) : kit_cable_host(2, 0);
    kit_listen_at(&l, s.adapter, &at);
    kit_wire_send(wire, &l.address, sizeof l.address);
    s.connector = kit_next_request(&l);
    CHECK_STATUS(kit_post_receive(&s, 1, 0, 1000), STATUS_SUCCESS);
    CHECK_STATUS(kit_accept(&s, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&s).Status, STATUS_SUCCESS);
    CHECK(kit_pattern_is(s.memory, 1000, 5));
    kit_wait_count(&s.disconnected, 1);
    CHECK_STATUS(kit_disconnect(&s), STATUS_SUCCESS);
    kit_close_connector(&s);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    s.owns_adapter = true;
    kit_side_close(&s);
}

static void over_the_cable(bool link_local)
{
    static struct kit_side s;
    struct kit_child other;
    struct sockaddr_storage source, to;

    kit_fork(&other, far_passive, true);
    kit_cable(&other);
    kit_add_far_address(&other);
    source = link_local ? kit_address("fe80::9:1%near", 0) : kit_cable_host(1, 0);
    kit_side_open(&s, kit_open_interface("near"));
    s.owns_adapter = true;
    kit_wire_send(other.wire, link_local ? "l" : "g", 1);
    kit_wire_receive(other.wire, &to, sizeof to);
    if (link_local) /* the other host's scope ID is not valid on this host */
        ((struct sockaddr_in6 *)&to)->sin6_scope_id = ((struct sockaddr_in6 *)&source)->sin6_scope_id;
    CHECK_STATUS(kit_connect(&s, &source, &to, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_SUCCESS);
    kit_pattern(s.memory, 1000, 5);
    CHECK_STATUS(kit_post_send(&s, 1, 0, 1000), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&s).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_disconnect(&s), STATUS_SUCCESS);
    kit_side_close(&s);
    kit_join(&other);
}

/* covers: ADP-03, CON-04 */
CASE(con_04_between_two_hosts, KIT_FAMILIES | KIT_NETNS)
{
    over_the_cable(false);
}

/* covers: ADP-03, CON-04 */
CASE(con_04_between_two_hosts_link_local, KIT_NETNS)
{
    over_the_cable(true);
}
