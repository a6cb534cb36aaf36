/* SPDX-License-Identifier: MIT */
/* LSN: slow peers, and more requests than the backlog. */
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/raw.h"

/* Checks that the listener serves one more peer. Returns false if the time limit for requests was too short for it. */
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
 * Each byte arrives within the time limit for requests, but the whole request does not. The connection must end before
 * the last byte, which arrives long after the limit.
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
    CHECK(raw_wait_end(peer)); /* the provider ends the connection without waiting for a time limit */
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

/* There is no time limit. If there are too many unfinished connections, the provider drops the oldest one. */
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
    check_served(&p); /* the new peer briefly uses a place, so the oldest connection is dropped */
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

/* ---- at the limit, the oldest peer of the source with the most peers is dropped ---- */

enum { MAX_SOURCES = 6, SOURCES_PEERS = 8 };

/*
 * Connects peers one after the other, the i-th from source from[i], with the limit MAX_SOURCES. Only the peers in
 * `dropped` must end, in that order.
 */
static void drops(const char *const *from, const int *dropped)
{
    static struct kit_pair p;
    int peers[SOURCES_PEERS];
    bool stays[SOURCES_PEERS];

    open_with(&p, KIT_UNSET, MAX_SOURCES);
    for (int i = 0; i < SOURCES_PEERS; i++) {
        struct sockaddr_storage source = kit_address(from[i], 0);

        peers[i] = raw_connect_from(&source, &p.listener.address);
        stays[i] = true;
        if (i >= MAX_SOURCES) {
            CHECK(raw_wait_end(peers[dropped[i - MAX_SOURCES]]));
            stays[dropped[i - MAX_SOURCES]] = false;
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
        "fd09:0:0:3::1", "fd09:0:0:2::1", "fd09:0:0:2::2", "fd09:0:0:3::1",
        "fd09:0:0:2::3", "fd09:0:0:4::1", "fd09:0:0:4::2", "fd09:0:0:4::1",
    };
    static const char *const hosts[] = {
        "fd09:0:0:2::1", "fd09:0:0:2::2", "fd09:0:0:2::3", "fd09:0:0:3::1", "fd09:0:0:4::1", "fd09:0:0:4::2",
    };
    /* First, source 2 has three connections, and source 3 has two. Later, source 4 has three, 2 and 3 have two each. */
    static const int dropped[] = { 1, 5 };

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

/* Connections of one listener drop those of another listener and adapter. */
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
            await_descriptors(before + 2 * (i + 1)); /* both ends have a descriptor */
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
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/*
 * Runs in another process: connects PEERS peers to the address that the case sends. Waits until all have been refused
 * or ended, and reports their number.
 */
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

/* Without free descriptors the provider must not spin: the process must use almost no CPU time. */
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

/* Runs in another process: connects PEERS peers, waits until at most `most` remain, and reports how many remain. */
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

/* With max_unfinished 0 the limit is half of the descriptors that are free during NdkListen, which uses some itself. */
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

/*
 * Runs in another process: connects silent peers. When the case has used up all descriptors, connects one more peer,
 * which sends a request.
 */
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
 * Opens all free descriptors below the limit, so that a descriptor becomes free only if the provider closes one. A
 * thread that waits in accept has reserved a descriptor, which is not free. Returns the number of entries in `filled`.
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

/* Without a free descriptor the oldest unfinished connection is dropped, and the request is accepted. */
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

/* The peer gets an MPA reject at once, not a reset, which would look like a crash. */
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
    answer_next(&p); /* which frees a place */
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

/* Sends a request and ends by a fault, so that the provider's Terminate shows when it has processed the end. */
static void request_and_disconnect(struct kit_pair *p)
{
    struct raw_frame request = raw_enhanced(true, 1, 1);
    int before = atomic_load(&p->listener.requests), peer = raw_connect(&p->listener.address);

    raw_send_frame(peer, false, &request);
    kit_wait_count(&p->listener.requests, before + 1);
    raw_send(peer, "gone", 4);
    CHECK(raw_wait_end(peer));
    raw_close(peer, false);
}

/*
 * In addition to the backlog, BACKLOG requests of disconnected peers may wait. Further requests of disconnected peers
 * use places of the backlog.
 */
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
        request_and_disconnect(&p);
    for (int i = 0; i < BACKLOG; i++)
        request_and_disconnect(&p); /* these use the places of the backlog */
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), 2 * BACKLOG);
    for (int i = 0; i < 2 * BACKLOG; i++) {
        c = kit_next_request(&p.listener);
        CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_CONNECTION_ABORTED);
        CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
        if (i == 0)
            request_and_disconnect(&p); /* the answer has freed a place */
    }
    c = kit_next_request(&p.listener);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
    check_served(&p);
    kit_pair_close(&p);
}
