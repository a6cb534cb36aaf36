/* SPDX-License-Identifier: MIT */
/*
 * CSE: NdkConnectWithSharedEndpoint fails like NdkConnect. Each case creates the cause, removes it, and connects the
 * same connector and QP over the same endpoint.
 */
#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/peer.h"

struct shared {
    struct kit_pair p;
    NDK_SHARED_ENDPOINT *endpoint;
};

static void shared_open(struct shared *s)
{
    struct sockaddr_storage any = kit_host(0);

    kit_pair_open_idle(&s->p);
    CHECK_STATUS(kit_shared_endpoint(s->p.active.adapter, &any, &s->endpoint), STATUS_SUCCESS);
}

static NTSTATUS connect_to(struct shared *s, const struct sockaddr_storage *to)
{
    return kit_connect_shared(&s->p.active, s->endpoint, to);
}

static void shared_close(struct shared *s)
{
    kit_close_connector(&s->p.active);
    CHECK_STATUS(kit_close(s->endpoint), STATUS_SUCCESS);
    kit_pair_close(&s->p);
}

/* After the cause is removed, the connect succeeds. */
static void shared_recover(struct shared *s)
{
    CHECK_STATUS(kit_try_establish(&s->p.active, &s->p.passive, &s->p.listener, s->endpoint), STATUS_SUCCESS);
    kit_exchange(&s->p.active, &s->p.passive);
    shared_close(s);
}

/* covers: CSE-04 */
CASE(cse_04_no_route_and_no_host, KIT_FAMILIES | KIT_NETNS)
{
    static struct shared s;
    struct kit_child other;
    bool four = kit_family() == AF_INET;
    struct sockaddr_storage strange = kit_address(four ? "203.0.113.1" : "2001:db8::1", 0), near = kit_cable_host(1, 0);

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    kit_side_open(&s.p.active, kit_open_interface("near"));
    s.p.active.owns_adapter = true;
    CHECK_STATUS(kit_shared_endpoint(s.p.active.adapter, &near, &s.endpoint), STATUS_SUCCESS);
    CHECK_STATUS(connect_to(&s, &strange), STATUS_NETWORK_UNREACHABLE);
    kit_ip(four ? "route add unreachable 203.0.113.0/24" : "-6 route add unreachable 2001:db8::/32");
    CHECK_STATUS(connect_to(&s, &strange), STATUS_HOST_UNREACHABLE);
    kit_add_address(four ? "203.0.113.1" : "2001:db8::1", &near);
    kit_side_open(&s.p.passive, NULL);
    kit_listen_at(&s.p.listener, s.p.passive.adapter, &strange);
    shared_recover(&s);
    kit_join(&other);
}

/* covers: CSE-04 */
CASE(cse_04_no_neighbour, KIT_FAMILIES | KIT_NETNS)
{
    static struct shared s;
    struct kit_child other;
    struct sockaddr_storage far = kit_cable_host(2, 4791), near = kit_cable_host(1, 0);

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    kit_side_open(&s.p.active, kit_open_interface("near"));
    s.p.active.owns_adapter = true;
    CHECK_STATUS(kit_shared_endpoint(s.p.active.adapter, &near, &s.endpoint), STATUS_SUCCESS);
    CHECK_STATUS(connect_to(&s, &far), STATUS_HOST_UNREACHABLE);
    kit_close_connector(&s.p.active);
    CHECK_STATUS(kit_close(s.endpoint), STATUS_SUCCESS);
    kit_side_close(&s.p.active);
    kit_join(&other);
}

/* covers: CSE-04 */
CASE(cse_04_nobody_listens, KIT_FAMILIES)
{
    static struct shared s;
    struct sockaddr_storage at = kit_free_address();

    shared_open(&s);
    CHECK_STATUS(connect_to(&s, &at), STATUS_CONNECTION_REFUSED);
    shared_recover(&s);
}

/* covers: CSE-04 */
CASE(cse_04_rejected_with_private_data, KIT_FAMILIES)
{
    static struct shared s;
    struct kit_call call = { 0 };
    uint8_t data[50], seen[512];
    ULONG have = sizeof seen;
    NTSTATUS status;

    shared_open(&s);
    kit_pattern(data, sizeof data, 4);
    status = kit_connect_shared_start(&s.p.active, &call, s.endpoint, &s.p.listener.address);
    s.p.passive.connector = kit_next_request(&s.p.listener);
    CHECK_STATUS(s.p.passive.connector->Dispatch->NdkReject(s.p.passive.connector, data, sizeof data), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(s.p.active.connector->Dispatch->NdkGetConnectionData(s.p.active.connector, NULL, NULL, seen, &have),
                 STATUS_SUCCESS);
    CHECK_EQ(have, sizeof data);
    CHECK(kit_pattern_is(seen, have, 4));
    kit_close_connector(&s.p.passive);
    shared_recover(&s);
}

/* covers: CSE-04 */
CASE(cse_04_listener_is_paused_or_full, KIT_FAMILIES)
{
    static struct shared s;
    static struct kit_side first;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };
    struct kit_config config = kit_config();
    NDK_LISTENER *l;
    NTSTATUS status;

    config.backlog = 1;
    kit_configure(&config);
    shared_open(&s);
    l = s.p.listener.listener;
    l->Dispatch->NdkControlConnectEvents(l, TRUE);
    CHECK_STATUS(connect_to(&s, &s.p.listener.address), STATUS_CONNECTION_REFUSED);
    l->Dispatch->NdkControlConnectEvents(l, FALSE);
    kit_side_open(&first, NULL);
    status = kit_connect_start(&first, &call, &source, &s.p.listener.address, NULL, 0);
    s.p.passive.connector = kit_next_request(&s.p.listener);
    CHECK_STATUS(connect_to(&s, &s.p.listener.address), STATUS_CONNECTION_REFUSED);
    kit_close_connector(&s.p.passive);
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    kit_side_close(&first);
    shared_recover(&s);
}

static bool silent_at_tcp(uint32_t ms)
{
    static struct shared s;
    struct kit_config config = kit_config();
    NTSTATUS status;

    config.connect_ms = ms;
    kit_configure(&config);
    shared_open(&s);
    kit_nft("add rule inet t o tcp dport %u drop", kit_port(&s.p.listener.address));
    CHECK_STATUS(connect_to(&s, &s.p.listener.address), STATUS_IO_TIMEOUT);
    kit_nft("flush chain inet t o");
    status = kit_try_establish(&s.p.active, &s.p.passive, &s.p.listener, s.endpoint);
    if (status != STATUS_IO_TIMEOUT) {
        CHECK_STATUS(status, STATUS_SUCCESS);
        kit_exchange(&s.p.active, &s.p.passive);
    }
    shared_close(&s);
    return status == STATUS_SUCCESS;
}

/* covers: CSE-04 */
CASE(cse_04_silence_at_tcp, KIT_FAMILIES | KIT_NETNS)
{
    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_with_limit(silent_at_tcp);
}

static bool silent_after_the_request(uint32_t ms)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();
    struct sockaddr_storage any = kit_host(0);
    NDK_SHARED_ENDPOINT *endpoint;
    NDK_ADAPTER *adapter;
    NTSTATUS status;

    config.reply_ms = ms;
    kit_configure(&config);
    p.side.adapter = adapter = kit_open(2, 1);
    CHECK_STATUS(kit_shared_endpoint(adapter, &any, &endpoint), STATUS_SUCCESS);
    p.endpoint = endpoint;
    peer_acceptor_open(&p);
    CHECK_STATUS(kit_final(&p.connect, p.connecting), STATUS_IO_TIMEOUT);
    peer_acceptor_reopen(&p);
    status = peer_acceptor_try_reply(&p, PEER_WRITE);
    if (status != STATUS_IO_TIMEOUT) {
        CHECK_STATUS(status, STATUS_SUCCESS);
        peer_acceptor_complete(&p, PEER_WRITE);
    }
    peer_acceptor_close(&p);
    CHECK_STATUS(kit_close(endpoint), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    return status == STATUS_SUCCESS;
}

/* covers: CSE-04 */
CASE(cse_04_silence_after_the_request, KIT_FAMILIES)
{
    kit_with_limit(silent_after_the_request);
}

/* covers: CSE-04 */
CASE(cse_04_no_descriptors, KIT_FAMILIES)
{
    static struct shared s;
    struct sockaddr_storage at = kit_free_address();
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    int before, room;

    shared_open(&s);
    before = kit_count_descriptors();
    for (room = 0; room < 10 && status == STATUS_INSUFFICIENT_RESOURCES; room++) {
        unsigned long long old = kit_limit_descriptors(room);

        status = connect_to(&s, &at);
        kit_restore_descriptors(old);
        CHECK_EQ(kit_count_descriptors(), before);
    }
    CHECK_STATUS(status, STATUS_CONNECTION_REFUSED); /* the descriptors suffice now, but nobody listens */
    CHECK(room > 1);
    shared_recover(&s);
}
