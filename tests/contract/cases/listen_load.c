/* SPDX-License-Identifier: MIT */
/* LSN: peers that waste a listener's time, and more requests than it takes. */
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/raw.h"

/* Somebody else gets through meanwhile; false where the limit for requests, if there is one, was too short for that. */
static bool served(struct kit_pair *p)
{
    NTSTATUS status = kit_try_establish(&p->active, &p->passive, &p->listener, NULL);

    if (status == STATUS_CONNECTION_REFUSED)
        return false;
    CHECK_STATUS(status, STATUS_SUCCESS);
    kit_exchange(&p->active, &p->passive);
    kit_close_connector(&p->active);
    kit_close_connector(&p->passive);
    CHECK_STATUS(kit_close(p->active.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(p->passive.qp), STATUS_SUCCESS);
    p->active.qp = kit_qp(&p->active, KIT_DEPTH);
    p->passive.qp = kit_qp(&p->passive, KIT_DEPTH);
    return true;
}

static void check_served(struct kit_pair *p)
{
    CHECK(served(p));
}

static void open_with(struct kit_pair *p, uint32_t request_ms, uint32_t max_unfinished)
{
    struct kit_config config = kit_config();

    config.request_ms = request_ms;
    config.max_unfinished = max_unfinished;
    kit_configure(&config);
    kit_pair_open_idle(p);
}

static bool silent_peers(uint32_t ms)
{
    enum { PEERS = 10 };
    static struct kit_pair p;
    int peers[PEERS];
    bool in_time;

    open_with(&p, ms, 1024);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_connect(&p.listener.address);
    in_time = served(&p);
    for (int i = 0; i < PEERS; i++) {
        CHECK(raw_wait_end(peers[i]));
        raw_close(peers[i], false);
    }
    CHECK_EQ(atomic_load(&p.listener.requests), in_time);
    in_time = in_time && served(&p);
    kit_pair_close(&p);
    return in_time;
}

/* covers: LSN-08 */
CASE(lsn_08_silent_peers_are_dropped, KIT_FAMILIES)
{
    kit_with_limit(silent_peers);
}

/*
 * Each byte comes within the limit, the whole does not. It must end before all is there, which takes much longer than
 * the limit, and on a slow machine longer yet.
 */
static bool slow_peer(uint32_t ms)
{
    static const uint8_t head[18] = "MPA ID Req Frame\x40\x01";
    static struct kit_pair p;
    uint8_t request[20 + 512] = { 0 };
    size_t data = kit_info()->MaxCallerData < 512 ? kit_info()->MaxCallerData : 512, sent = 0;
    struct pollfd wait = { .events = POLLIN };
    bool in_time;

    memcpy(request, head, sizeof head);
    request[18] = (uint8_t)(data >> 8);
    request[19] = (uint8_t)data;
    open_with(&p, ms, 1024);
    wait.fd = raw_connect(&p.listener.address);
    for (; sent < 20 + data && poll(&wait, 1, (int)ms / 6) == 0; sent++)
        raw_send(wait.fd, request + sent, 1);
    CHECK(sent < 20 + data);
    CHECK(raw_wait_end(wait.fd));
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    raw_close(wait.fd, false);
    in_time = served(&p);
    kit_pair_close(&p);
    return in_time;
}

/* covers: LSN-08 */
CASE(lsn_08_a_slow_peer_is_dropped, KIT_FAMILIES)
{
    kit_with_limit(slow_peer);
}

static void garbage(const struct sockaddr_storage *to, const void *bytes, size_t len)
{
    int peer = raw_connect(to);

    raw_send(peer, bytes, len);
    CHECK(raw_wait_end(peer)); /* at once: no time limit helps */
    raw_close(peer, false);
}

/* covers: LSN-08 */
CASE(lsn_08_garbage_is_dropped_at_once, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint8_t bytes[2000];
    static const uint8_t reply[20] = "MPA ID Rep Frame\x40\x01\x00";
    static const uint8_t too_long[20] = "MPA ID Req Frame\x40\x01\xff\xff";
    static const uint8_t http[] = "GET / HTTP/1.1\r\nHost: nobody\r\n\r\n";

    open_with(&p, KIT_UNSET, 1024);
    for (unsigned seed = 1; seed < 20; seed++) {
        kit_pattern(bytes, sizeof bytes, seed * 13);
        bytes[0] = 'X';
        garbage(&p.listener.address, bytes, sizeof bytes);
    }
    garbage(&p.listener.address, reply, sizeof reply);
    garbage(&p.listener.address, too_long, sizeof too_long);
    garbage(&p.listener.address, http, sizeof http);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    check_served(&p);
    kit_pair_close(&p);
}

static bool has_ended(int peer)
{
    struct pollfd wait = { .fd = peer, .events = POLLIN };

    return poll(&wait, 1, 0) != 0;
}

/* No time limit helps here: the oldest go because there are too many. */
/* covers: LSN-08 */
CASE(lsn_08_the_oldest_unfinished_makes_room, KIT_FAMILIES)
{
    enum { MOST = 4, PEERS = 12 };
    static struct kit_pair p;
    int peers[PEERS];
    struct raw_frame f = raw_enhanced(true, 1, 1);

    open_with(&p, KIT_UNSET, MOST);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_connect(&p.listener.address);
    for (int i = 0; i < PEERS - MOST; i++)
        CHECK(raw_wait_end(peers[i]));
    kit_pause();
    for (int i = PEERS - MOST; i < PEERS; i++)
        CHECK(!has_ended(peers[i]));
    check_served(&p); /* it takes a place for a moment, the oldest's */
    for (int i = PEERS - MOST + 1; i < PEERS; i++) {
        CHECK(!has_ended(peers[i]));
        raw_send_frame(peers[i], false, &f);
        p.passive.connector = kit_next_request(&p.listener);
        kit_close_connector(&p.passive);
    }
    for (int i = 0; i < PEERS; i++)
        raw_close(peers[i], false);
    kit_pair_close(&p);
}

/* ---- who makes room: the oldest of the source that has most ---- */

enum { SOURCES_MOST = 6, SOURCES_PEERS = 8 };

/*
 * Connects peers one after the other, from[i] the source of the i-th; the limit is SOURCES_MOST. Those whose number is
 * in `dropped` must end, in that order, and no others.
 */
static void drops(const char *const *from, const int *dropped)
{
    static struct kit_pair p;
    int peers[SOURCES_PEERS];
    bool stays[SOURCES_PEERS];

    open_with(&p, KIT_UNSET, SOURCES_MOST);
    for (int i = 0; i < SOURCES_PEERS; i++) {
        struct sockaddr_storage source = kit_address(from[i], 0);

        peers[i] = raw_connect_from(&source, &p.listener.address);
        stays[i] = true;
        if (i >= SOURCES_MOST) {
            CHECK(raw_wait_end(peers[dropped[i - SOURCES_MOST]]));
            stays[dropped[i - SOURCES_MOST]] = false;
        }
    }
    kit_pause();
    for (int i = 0; i < SOURCES_PEERS; i++) {
        CHECK_EQ(has_ended(peers[i]), !stays[i]);
        raw_close(peers[i], false);
    }
    check_served(&p);
    kit_pair_close(&p);
}

/* A source is an IPv4 address or an IPv6 /64. */
/* covers: LSN-08 */
CASE(lsn_08_the_source_that_has_most_makes_room, KIT_FAMILIES | KIT_NETNS)
{
    static const char *const four[SOURCES_PEERS] = {
        "127.0.0.3", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.4", "127.0.0.4", "127.0.0.4",
    };
    static const char *const six[SOURCES_PEERS] = {
        "fd09:0:0:3::1", "fd09:0:0:2::1", "fd09:0:0:2::2", "fd09:0:0:3::1", "fd09:0:0:2::3", "fd09:0:0:4::1",
        "fd09:0:0:4::2", "fd09:0:0:4::1",
    };
    static const char *const hosts[] = {
        "fd09:0:0:2::1", "fd09:0:0:2::2", "fd09:0:0:2::3", "fd09:0:0:3::1", "fd09:0:0:4::1", "fd09:0:0:4::2",
    };
    static const int dropped[] = { 1, 5 }; /* of three in 2 and two in 3; then of three in 4 and two in 2 and 3 each */

    for (size_t i = 0; kit_family() == AF_INET6 && i < sizeof hosts / sizeof hosts[0]; i++) {
        kit_ip("address add %s/64 dev lo nodad", hosts[i]);
        kit_wait_address(hosts[i]);
    }
    drops(kit_family() == AF_INET6 ? six : four, dropped);
}

static void await_descriptors(int count)
{
    while (kit_count_descriptors() < count)
        usleep(1000);
}

/* What one listener accepts drops what another one, of another adapter, has. */
/* covers: LSN-08 */
CASE(lsn_08_all_listeners_share_the_limit, KIT_FAMILIES)
{
    enum { MOST = 3, PEERS = 5 };
    static struct kit_pair p;
    static struct kit_listener other;
    int peers[PEERS], before;

    open_with(&p, KIT_UNSET, MOST);
    kit_listen(&other, p.active.adapter);
    before = kit_count_descriptors();
    for (int i = 0; i < PEERS; i++) {
        peers[i] = raw_connect(i % 2 ? &other.address : &p.listener.address);
        if (i < MOST)
            await_descriptors(before + 2 * (i + 1)); /* both ends: it has been accepted */
        else
            CHECK(raw_wait_end(peers[i - MOST]));
    }
    kit_pause();
    for (int i = PEERS - MOST; i < PEERS; i++)
        CHECK(!has_ended(peers[i]));
    for (int i = 0; i < PEERS; i++)
        raw_close(peers[i], false);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
    kit_pair_close(&p);
}

static double cpu_seconds(void)
{
    struct rusage u;

    CHECK(getrusage(RUSAGE_SELF, &u) == 0);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Connects when it is told to, as often as that, and tells how many of its connections have ended. */
static void asking_peer(int wire)
{
    enum { PEERS = 10 };
    struct sockaddr_storage to;
    int peers[PEERS], ended = 0;

    kit_wire_receive(wire, &to, sizeof to);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_try_connect(&to);
    for (int i = 0; i < PEERS; i++) {
        if (peers[i] >= 0) {
            CHECK(raw_wait_end(peers[i]));
            raw_close(peers[i], false);
        }
        ended++;
    }
    kit_wire_send(wire, &ended, sizeof ended);
    kit_wait_join(wire);
}

/* A process that spins uses a processor in full; an idle one next to nothing. Between the two there is a wide gap. */
/* covers: LSN-08 */
CASE(lsn_08_no_descriptors, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_child peer;
    unsigned long long old;
    double before;
    int ended;

    kit_fork(&peer, asking_peer, false);
    open_with(&p, KIT_UNSET, 1024);
    old = kit_limit_descriptors(0);
    kit_wire_send(peer.wire, &p.listener.address, sizeof p.listener.address);
    kit_wire_receive(peer.wire, &ended, sizeof ended);
    CHECK_EQ(ended, 10);
    before = cpu_seconds();
    for (int i = 0; i < 10; i++)
        kit_pause();
    CHECK(cpu_seconds() - before < 0.25);
    kit_restore_descriptors(old);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    check_served(&p);
    kit_pair_close(&p);
    kit_join(&peer);
}

/* Connects many peers, and reports how many stay when no more than `most`, which it is told, do. */
static void silent_crowd(int wire)
{
    enum { PEERS = 40 };
    struct sockaddr_storage to;
    int peers[PEERS], most, staying;

    kit_wire_receive(wire, &to, sizeof to);
    kit_wire_receive(wire, &most, sizeof most);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_connect(&to);
    for (int i = 0; i < PEERS - most; i++)
        CHECK(raw_wait_end(peers[i]));
    kit_pause();
    staying = PEERS;
    for (int i = 0; i < PEERS; i++)
        staying -= has_ended(peers[i]);
    kit_wire_send(wire, &staying, sizeof staying);
    kit_wait_join(wire);
}

/* max_unfinished 0: as many as half of the descriptors that are free in NdkListen, which takes some itself. */
/* covers: LSN-08 */
CASE(lsn_08_half_of_the_descriptors, KIT_FAMILIES)
{
    enum { ROOM = 50, LISTENERS_OWN = 6 };
    static struct kit_pair p;
    static struct kit_listener l;
    struct kit_child peer;
    int most = ROOM / 2, staying;
    unsigned long long old;

    kit_fork(&peer, silent_crowd, false);
    open_with(&p, KIT_UNSET, 0);
    old = kit_limit_descriptors(ROOM);
    kit_listen(&l, p.passive.adapter);
    kit_wire_send(peer.wire, &l.address, sizeof l.address);
    kit_wire_send(peer.wire, &most, sizeof most);
    kit_wire_receive(peer.wire, &staying, sizeof staying);
    CHECK(staying <= most && staying >= (ROOM - LISTENERS_OWN) / 2);
    kit_join(&peer);
    kit_restore_descriptors(old);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* Some silent peers, then one that asks when there are no descriptors. */
static void late_peer(int wire)
{
    enum { PEERS = 3 };
    struct raw_frame f = raw_enhanced(true, 1, 1);
    struct sockaddr_storage to;
    int peers[PEERS], late;
    char full;

    kit_wire_receive(wire, &to, sizeof to);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_connect(&to);
    kit_wire_send(wire, "", 1);
    kit_wire_receive(wire, &full, 1);
    late = raw_connect(&to);
    raw_send_frame(late, false, &f);
    CHECK(raw_wait_end(peers[0]));
    CHECK(raw_recv_frame(late, true, &f));
    kit_wire_send(wire, "", 1);
    kit_wait_join(wire);
}

/*
 * Descriptors below the limit are all used, also those between others: so one that the provider closes can be opened
 * again. Those that wait in accept hold one that is not open yet. Returns how many are in `filled`.
 */
enum { FILLED = 32 };
static int fill_descriptors(int filled[FILLED])
{
    int n = 0;

    while (n < FILLED && (filled[n] = dup(STDOUT_FILENO)) >= 0)
        n++;
    CHECK(n > 0 && dup(STDOUT_FILENO) < 0);
    return n;
}

/* Without a descriptor the oldest unfinished connection goes, and the request is served. */
/* covers: LSN-08 */
CASE(lsn_08_no_descriptors_but_silent_peers, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_child peer;
    unsigned long long old;
    NDK_CONNECTOR *c;
    char word;
    int before, filled[FILLED], count;

    kit_fork(&peer, late_peer, false);
    open_with(&p, KIT_UNSET, 1024);
    before = kit_count_descriptors();
    kit_wire_send(peer.wire, &p.listener.address, sizeof p.listener.address);
    kit_wire_receive(peer.wire, &word, 1);
    await_descriptors(before + 3);
    old = kit_limit_descriptors(FILLED);
    count = fill_descriptors(filled);
    kit_wire_send(peer.wire, "", 1);
    c = kit_next_request(&p.listener);
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    kit_wire_receive(peer.wire, &word, 1);
    for (int i = 0; i < count; i++)
        close(filled[i]);
    kit_restore_descriptors(old);
    kit_join(&peer);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
    kit_pair_close(&p);
}

static void answer_next(struct kit_pair *p)
{
    NDK_CONNECTOR *c = kit_next_request(&p->listener);

    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
}

/* The peer sees a reject of MPA's at once, not a reset that it could take for a crash, nor silence. */
/* covers: LSN-09 */
CASE(lsn_09_requests_beyond_the_backlog, KIT_FAMILIES)
{
    enum { BACKLOG = 5, PEERS = 12 };
    static struct kit_pair p;
    int peers[PEERS];
    struct raw_frame f, request = raw_enhanced(true, 1, 1);
    struct kit_config config = kit_config();
    struct sockaddr_storage source = kit_host(0);

    config.backlog = BACKLOG;
    kit_configure(&config);
    kit_pair_open_idle(&p);
    for (int i = 0; i < PEERS; i++) {
        peers[i] = raw_connect(&p.listener.address);
        raw_send_frame(peers[i], false, &request);
        if (i < BACKLOG)
            kit_wait_count(&p.listener.requests, i + 1);
    }
    for (int i = BACKLOG; i < PEERS; i++) {
        CHECK(raw_recv_frame(peers[i], true, &f));
        CHECK(f.flags & RAW_R);
        raw_close(peers[i], false);
    }
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), BACKLOG);
    answer_next(&p); /* which makes room for one more */
    peers[BACKLOG] = raw_connect(&p.listener.address);
    raw_send_frame(peers[BACKLOG], false, &request);
    kit_wait_count(&p.listener.requests, BACKLOG + 1);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    for (int i = 0; i < BACKLOG; i++)
        answer_next(&p);
    for (int i = 0; i <= BACKLOG; i++)
        raw_close(peers[i], false);
    check_served(&p);
    kit_pair_close(&p);
}

/* Sends a request and leaves by a fault, so that it is known when the provider has noticed. */
static void ask_and_leave(struct kit_pair *p)
{
    struct raw_frame request = raw_enhanced(true, 1, 1);
    int before = atomic_load(&p->listener.requests), peer = raw_connect(&p->listener.address);

    raw_send_frame(peer, false, &request);
    kit_wait_count(&p->listener.requests, before + 1);
    raw_send(peer, "gone", 4);
    CHECK(raw_wait_end(peer));
    raw_close(peer, false);
}

/* Requests whose peer is gone do not take the places of others, until they are as many again as the backlog. */
/* covers: LSN-09 */
CASE(lsn_09_requests_whose_peer_is_gone, KIT_FAMILIES)
{
    enum { BACKLOG = 4 };
    static struct kit_pair p;
    struct kit_config config = kit_config();
    struct sockaddr_storage source = kit_host(0);
    NDK_CONNECTOR *c;

    config.backlog = BACKLOG;
    kit_configure(&config);
    kit_pair_open_idle(&p);
    for (int i = 0; i < BACKLOG; i++)
        ask_and_leave(&p);
    for (int i = 0; i < BACKLOG; i++)
        ask_and_leave(&p); /* as many may wait as ever, and leave */
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), 2 * BACKLOG);
    for (int i = 0; i < 2 * BACKLOG; i++) {
        c = kit_next_request(&p.listener);
        CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_CONNECTION_ABORTED);
        CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
        if (i == 0)
            ask_and_leave(&p); /* the answer has made room for one */
    }
    c = kit_next_request(&p.listener);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
    check_served(&p);
    kit_pair_close(&p);
}
