/* SPDX-License-Identifier: MIT */
/*
 * CON: NdkConnect fails because of the network or the peer. Each case then removes the cause and connects the same
 * connector and QP, which proves CON-17 for that failure. kit_final checks that no callback runs twice.
 */
#include <poll.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/peer.h"

static NTSTATUS connect_to(struct kit_side *s, const struct sockaddr_storage *to)
{
    struct sockaddr_storage source = kit_host(0);

    return kit_connect(s, &source, to, NULL, 0);
}

/* ---- the peer's host cannot be reached ---- */

struct way {
    struct kit_child other;
    struct kit_pair p;
    struct sockaddr_storage source;
};

static void open_way(struct way *w)
{
    kit_fork(&w->other, kit_wait_join, true);
    kit_cable(&w->other);
    w->source = kit_cable_host(1, 0);
    kit_side_open(&w->p.active, kit_open_interface("near"));
    w->p.active.owns_adapter = true;
}

/* Adds the address to this host, listens there, and checks that the same connector can connect to it. */
static void way_recover(struct way *w, const char *address)
{
    struct sockaddr_storage at = kit_address(address, 0);

    kit_add_address(address, &w->source);
    kit_side_open(&w->p.passive, NULL);
    kit_listen_at(&w->p.listener, w->p.passive.adapter, &at);
    kit_establish_from(&w->p.active, &w->p.passive, &w->p.listener, &w->source);
    kit_exchange(&w->p.active, &w->p.passive);
    kit_pair_close(&w->p);
    kit_join(&w->other);
}

static const char *strange_host(void)
{
    return kit_family() == AF_INET ? "203.0.113.1" : "2001:db8::1";
}

static void strange_route(const char *kind)
{
    kit_ip(kit_family() == AF_INET ? "route add %s 203.0.113.0/24" : "-6 route add %s 2001:db8::/32", kind);
}

static NTSTATUS connect_strange(struct way *w)
{
    struct sockaddr_storage to = kit_address(strange_host(), 4791);

    return kit_connect(&w->p.active, &w->source, &to, NULL, 0);
}

/* covers: CON-05, CON-17 */
CASE(con_05_no_route, KIT_FAMILIES | KIT_NETNS)
{
    static struct way w;

    open_way(&w);
    CHECK_STATUS(connect_strange(&w), STATUS_NETWORK_UNREACHABLE);
    CHECK_STATUS(connect_strange(&w), STATUS_NETWORK_UNREACHABLE);
    way_recover(&w, strange_host());
}

/* covers: CON-05, CON-17 */
CASE(con_05_blackhole_route, KIT_FAMILIES | KIT_NETNS)
{
    static struct way w;

    open_way(&w);
    strange_route("blackhole");
    CHECK_STATUS(connect_strange(&w), STATUS_NETWORK_UNREACHABLE);
    way_recover(&w, strange_host());
}

/* covers: CON-06, CON-17 */
CASE(con_06_unreachable_route, KIT_FAMILIES | KIT_NETNS)
{
    static struct way w;

    open_way(&w);
    strange_route("unreachable");
    CHECK_STATUS(connect_strange(&w), STATUS_HOST_UNREACHABLE);
    way_recover(&w, strange_host());
}

/* The provider has its default time limit, which must be longer than Linux needs to report the missing neighbour. */
/* covers: CON-06, CON-10, CON-17 */
CASE(con_06_no_neighbour, KIT_FAMILIES | KIT_NETNS | KIT_DEFAULTS)
{
    static struct way w;
    struct sockaddr_storage to = kit_cable_host(2, 4791);

    open_way(&w);
    CHECK_STATUS(kit_connect(&w.p.active, &w.source, &to, NULL, 0), STATUS_HOST_UNREACHABLE);
    way_recover(&w, kit_family() == AF_INET ? "10.9.0.2" : "fd09::2");
}

/* covers: CON-06, CON-17 */
CASE(con_06_icmp_says_host_unreachable, KIT_FAMILIES | KIT_NETNS)
{
    static struct kit_pair p;

    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_pair_open_idle(&p);
    if (kit_family() == AF_INET)
        kit_nft("add rule inet t o ip daddr 127.0.0.1 tcp dport %u reject with icmp type host-unreachable",
                kit_port(&p.listener.address));
    else
        kit_nft("add rule inet t o ip6 daddr ::1 tcp dport %u reject with icmpv6 type addr-unreachable",
                kit_port(&p.listener.address));
    CHECK_STATUS(connect_to(&p.active, &p.listener.address), STATUS_HOST_UNREACHABLE);
    kit_nft("flush ruleset");
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* ---- refused ---- */

/* covers: CON-07, CON-17 */
CASE(con_07_nobody_listens, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    CHECK_STATUS(connect_to(&p.active, &at), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(connect_to(&p.active, &at), STATUS_CONNECTION_REFUSED);
    kit_listen_at(&p.listener, p.passive.adapter, &at);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

static void rejected_with(struct kit_pair *p, ULONG len)
{
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };
    uint8_t data[512], seen[512];
    ULONG have = sizeof seen;
    NTSTATUS status;

    kit_pattern(data, sizeof data, len);
    status = kit_connect_start(&p->active, &call, &source, &p->listener.address, NULL, 0);
    p->passive.connector = kit_next_request(&p->listener);
    CHECK_STATUS(p->passive.connector->Dispatch->NdkReject(p->passive.connector, data, len), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(p->active.connector->Dispatch->NdkGetConnectionData(p->active.connector, NULL, NULL, seen, &have),
                 STATUS_SUCCESS);
    CHECK_EQ(have, len);
    CHECK(kit_pattern_is(seen, len, len));
    kit_close_connector(&p->passive);
}

/* covers: CON-08, CON-17 */
CASE(con_08_rejected_with_private_data, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open_idle(&p);
    rejected_with(&p, 0);
    rejected_with(&p, 1);
    rejected_with(&p, kit_info()->MaxCalleeData / 2);
    rejected_with(&p, kit_info()->MaxCalleeData);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* The provider's time limits are longer than the case's own, so NdkConnect must report the failure at once. */
/* covers: CON-09, CON-17 */
CASE(con_09_backlog_is_full, KIT_FAMILIES)
{
    enum { BACKLOG = 3 };
    static struct kit_pair p;
    static struct kit_side first[BACKLOG];
    struct sockaddr_storage source = kit_host(0);
    struct kit_call calls[BACKLOG] = { 0 };
    NTSTATUS status[BACKLOG];
    struct kit_config config = kit_config();

    config.backlog = BACKLOG;
    kit_configure(&config);
    kit_pair_open_idle(&p);
    for (int i = 0; i < BACKLOG; i++) {
        kit_side_open(&first[i], p.active.adapter);
        status[i] = kit_connect_start(&first[i], &calls[i], &source, &p.listener.address, NULL, 0);
    }
    kit_wait_count(&p.listener.requests, BACKLOG);
    CHECK_STATUS(connect_to(&p.active, &p.listener.address), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(connect_to(&p.active, &p.listener.address), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), BACKLOG);
    for (int i = 0; i < BACKLOG; i++) {
        p.passive.connector = kit_next_request(&p.listener);
        CHECK_STATUS(p.passive.connector->Dispatch->NdkReject(p.passive.connector, NULL, 0), STATUS_SUCCESS);
        CHECK_STATUS(kit_final(&calls[i], status[i]), STATUS_CONNECTION_REFUSED);
        kit_close_connector(&p.passive);
        kit_side_close(&first[i]);
    }
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* covers: CON-09, CON-17, LSN-04 */
CASE(con_09_listener_is_paused, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_LISTENER *l;

    kit_pair_open_idle(&p);
    l = p.listener.listener;
    l->Dispatch->NdkControlConnectEvents(l, TRUE);
    CHECK_STATUS(connect_to(&p.active, &p.listener.address), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(connect_to(&p.active, &p.listener.address), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    l->Dispatch->NdkControlConnectEvents(l, FALSE);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* ---- the process has no free descriptors ---- */

/* Runs in the peer's process: rejects all requests until the case closes the wire. */
static void rejecting_peer(int wire)
{
    struct sockaddr_storage at = kit_host(0);
    int listener = raw_listen(&at);

    kit_wire_send(wire, &at, sizeof at);
    for (;;) {
        struct pollfd wait[] = { { .fd = wire, .events = POLLIN }, { .fd = listener, .events = POLLIN } };
        struct raw_frame f;
        int s;

        CHECK(poll(wait, 2, -1) > 0);
        if (wait[0].revents)
            break;
        s = raw_accept(listener);
        if (raw_recv_frame(s, false, &f)) {
            f.flags |= RAW_R;
            f.len = 0;
            raw_send_frame(s, true, &f);
        }
        raw_close(s, false);
    }
    raw_close(listener, false);
}

/* The descriptors run out at each step of NdkConnect in turn. NdkConnect fails and releases everything. */
/* covers: CON-16, CON-17 */
CASE(con_16_no_descriptors, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_child peer;
    struct sockaddr_storage at;
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    int before, room;

    kit_fork(&peer, rejecting_peer, false);
    kit_wire_receive(peer.wire, &at, sizeof at);
    kit_pair_open_idle(&p);
    before = kit_count_descriptors();
    for (room = 0; room < 10 && status == STATUS_INSUFFICIENT_RESOURCES; room++) {
        unsigned long long old = kit_limit_descriptors(room);
        status = connect_to(&p.active, &at);
        kit_restore_descriptors(old);
        CHECK_EQ(kit_count_descriptors(), before);
    }
    CHECK_STATUS(status, STATUS_CONNECTION_REFUSED);
    CHECK(room > 1);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
    kit_join(&peer);
}

/* ---- the connector is closed while NdkConnect is pending ---- */

static atomic_int step;

static void note_step(struct kit_call *call)
{
    *(int *)call->arg = atomic_fetch_add(&step, 1) + 1;
}

/* Closes the connector while NdkConnect is pending. Checks that NdkConnect is cancelled before the close completes. */
static void close_while_pending(struct kit_side *s, const struct sockaddr_storage *to, int raw_listener)
{
    struct sockaddr_storage source = kit_host(0);
    int cancelled = 0, closed = 0, peer = -1;
    struct kit_call connect = { .inside = note_step, .arg = &cancelled };
    struct kit_call close_call = { .inside = note_step, .arg = &closed };
    NTSTATUS status;

    atomic_store(&step, 0);
    CHECK_STATUS(kit_connect_start(s, &connect, &source, to, NULL, 0), STATUS_PENDING);
    if (raw_listener >= 0) {
        struct raw_frame f;
        peer = raw_accept(raw_listener);
        CHECK(raw_recv_frame(peer, false, &f));
    }
    status = s->connector->Dispatch->NdkCloseConnector(&s->connector->Header, kit_close_done, &close_call);
    if (status == STATUS_SUCCESS) /* then both have completed */
        CHECK_EQ(atomic_load(&connect.calls), 1);
    CHECK_STATUS(kit_final(&close_call, status), STATUS_SUCCESS);
    CHECK_STATUS(connect.status, STATUS_CANCELLED);
    CHECK_EQ(cancelled, 1);
    CHECK_EQ(closed, status == STATUS_PENDING ? 2 : 0);
    CHECK_EQ(atomic_load(&connect.calls), 1);
    s->connector = NULL;
    if (peer >= 0) {
        CHECK(raw_wait_end(peer));
        raw_close(peer, false);
    }
}

/* covers: CON-21 */
CASE(con_21_closed_before_tcp_is_up, KIT_FAMILIES | KIT_NETNS)
{
    static struct kit_pair p;

    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_pair_open_idle(&p);
    kit_nft("add rule inet t o tcp dport %u drop", kit_port(&p.listener.address));
    close_while_pending(&p.active, &p.listener.address, -1);
    kit_nft("flush ruleset");
    kit_establish(&p.active, &p.passive, &p.listener); /* the QP can be connected */
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* covers: CON-21 */
CASE(con_21_closed_before_the_reply, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_host(0);
    int listener = raw_listen(&at);

    kit_pair_open_idle(&p);
    close_while_pending(&p.active, &at, listener);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
    raw_close(listener, false);
}

/* covers: CON-21 */
CASE(con_21_the_peers_connector_is_told, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 };

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0), STATUS_PENDING);
    p.passive.connector = kit_next_request(&p.listener);
    kit_close_connector(&p.active);
    CHECK_STATUS(kit_final(&connect, STATUS_PENDING), STATUS_CANCELLED);
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&p);
}
