/* SPDX-License-Identifier: MIT */
/*
 * CON: the time limits of NdkConnect. After a failure the same connector and QP connect, which proves CON-17 for that
 * failure.
 */
#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/peer.h"

static NTSTATUS connect_to_listener(struct kit_pair *p)
{
    struct sockaddr_storage source = kit_host(0);

    return kit_connect(&p->active, &source, &p->listener.address, NULL, 0);
}

/* ---- the peer does not answer ---- */

static bool silent_at_tcp(uint32_t ms)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();
    NTSTATUS status;

    config.connect_ms = ms;
    kit_configure(&config);
    kit_pair_open_idle(&p);
    kit_nft("add rule inet t o tcp dport %u drop", kit_port(&p.listener.address));
    CHECK_STATUS(connect_to_listener(&p), STATUS_IO_TIMEOUT);
    CHECK_STATUS(connect_to_listener(&p), STATUS_IO_TIMEOUT);
    kit_nft("flush chain inet t o");
    status = kit_try_establish(&p.active, &p.passive, &p.listener, NULL);
    if (status != STATUS_IO_TIMEOUT) {
        CHECK_STATUS(status, STATUS_SUCCESS);
        kit_exchange(&p.active, &p.passive);
    }
    kit_pair_close(&p);
    return status == STATUS_SUCCESS;
}

/* covers: CON-10, CON-17 */
CASE(con_10_silence_at_tcp, KIT_FAMILIES | KIT_NETNS)
{
    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_with_limit(silent_at_tcp);
}

/*
 * Waits until connect(2) has sent the SYN to the port: its route exists then. Returns false if NdkConnect completes
 * before this thread has seen it.
 */
static bool wait_syn_sent(uint16_t port, struct kit_call *connect)
{
    char wanted[16], line[256];
    bool sent = false;

    snprintf(wanted, sizeof wanted, ":%04X 02 ", port); /* the peer's port, and TCP's state SYN_SENT */
    while (!sent && atomic_load(&connect->calls) == 0) {
        FILE *f = fopen(kit_family() == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6", "re");

        CHECK(f != NULL);
        while (!sent && fgets(line, sizeof line, f))
            sent = strstr(line, wanted) != NULL;
        fclose(f);
    }
    return sent;
}

enum { DROPPED_PORT = 4791 };

static bool route_is_lost(uint32_t ms)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_cable_host(1, 0), to = kit_cable_host(2, DROPPED_PORT);
    bool six = kit_family() == AF_INET6, sent;
    struct kit_config config = kit_config();
    struct kit_call connect = { 0 };

    config.connect_ms = ms + 2000; /* TCP repeats the SYN after a second */
    kit_configure(&config);
    kit_side_open(&s, kit_open_interface("near"));
    s.owns_adapter = true;
    s.connector = kit_connector(s.adapter);
    CHECK_STATUS(kit_connect_start(&s, &connect, &source, &to, NULL, 0), STATUS_PENDING);
    sent = wait_syn_sent(DROPPED_PORT, &connect);
    if (sent)
        kit_ip(six ? "-6 route del fd09::/64 dev near" : "route del 10.9.0.0/24 dev near");
    CHECK_STATUS(kit_final(&connect, STATUS_PENDING), STATUS_IO_TIMEOUT);
    kit_side_close(&s);
    return sent;
}

/*
 * The SYN has no answer, and cannot be repeated, because the route has been deleted. TCP continues to connect, so
 * NdkConnect ends by its time limit, not with the error of the route.
 */
/* covers: CON-10 */
CASE(con_10_route_is_lost, KIT_FAMILIES | KIT_NETNS)
{
    struct kit_child other;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    kit_add_far_address(&other);
    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_nft("add rule inet t o tcp dport %d drop", DROPPED_PORT);
    kit_with_limit(route_is_lost);
    kit_join(&other);
}

/*
 * The raw peer sends only the given string, and NdkConnect fails after `ms`. Then the same connector connects and is
 * accepted.
 */
static bool silent_after(uint32_t ms, const char *said)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();
    NTSTATUS status;

    config.reply_ms = ms;
    kit_configure(&config);
    peer_acceptor_open(&p);
    raw_send(p.s, said, strlen(said));
    CHECK_STATUS(kit_final(&p.connect, p.connecting), STATUS_IO_TIMEOUT);
    CHECK(raw_wait_end(p.s));
    CHECK_EQ(atomic_load(&p.connect.calls), p.connecting == STATUS_PENDING);
    peer_acceptor_reopen(&p);
    status = peer_acceptor_try_reply(&p, PEER_WRITE);
    if (status != STATUS_IO_TIMEOUT) {
        CHECK_STATUS(status, STATUS_SUCCESS);
        peer_acceptor_complete(&p, PEER_WRITE);
        CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 8), STATUS_SUCCESS);
        raw_send_message(p.s, 1, "at last", 8);
        CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    }
    peer_acceptor_close(&p);
    return status == STATUS_SUCCESS;
}

static bool silent_after_the_request(uint32_t ms)
{
    return silent_after(ms, "");
}

/* covers: CON-11, CON-17 */
CASE(con_11_silence_after_the_request, KIT_FAMILIES)
{
    kit_with_limit(silent_after_the_request);
}

static bool silent_within_the_reply(uint32_t ms)
{
    return silent_after(ms, "MPA ID Rep Fr");
}

/* The beginning of a reply does not extend the time limit. */
/* covers: CON-11, CON-17 */
CASE(con_11_silence_within_the_reply, KIT_FAMILIES)
{
    kit_with_limit(silent_within_the_reply);
}
