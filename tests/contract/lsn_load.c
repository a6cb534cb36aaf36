/* SPDX-License-Identifier: MIT */
/* LSN: peers that waste a listener's time, and more requests than it takes. */
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contract/kit.h"
#include "contract/kit_net.h"
#include "contract/raw.h"

/* Somebody else gets through meanwhile; false where the limit for requests, if there is one, was too short for that. */
static bool served(struct kit_pair *p)
{
    NTSTATUS status = kit_try_establish(&p->active, &p->passive, &p->listener, NULL);

    if (status == STATUS_CONNECTION_REFUSED)
        return false;
    CHECK_STATUS(status, STATUS_SUCCESS);
    kit_exchange(&p->active, &p->passive);
    kit_drop(&p->active);
    kit_drop(&p->passive);
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
    kit_pair_idle(p);
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
        CHECK(raw_ended(peers[i]));
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
    CHECK(raw_ended(wait.fd));
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
    CHECK(raw_ended(peer)); /* at once: no time limit helps */
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
        CHECK(raw_ended(peers[i]));
    kit_settle();
    for (int i = PEERS - MOST; i < PEERS; i++)
        CHECK(!has_ended(peers[i]));
    check_served(&p); /* it takes a place for a moment, the oldest's */
    for (int i = PEERS - MOST + 1; i < PEERS; i++) {
        CHECK(!has_ended(peers[i]));
        raw_send_frame(peers[i], false, &f);
        p.passive.connector = kit_next_request(&p.listener);
        kit_drop(&p.passive);
    }
    for (int i = 0; i < PEERS; i++)
        raw_close(peers[i], false);
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

    kit_hear(wire, &to, sizeof to);
    for (int i = 0; i < PEERS; i++)
        peers[i] = raw_try_connect(&to);
    for (int i = 0; i < PEERS; i++) {
        if (peers[i] >= 0) {
            CHECK(raw_ended(peers[i]));
            raw_close(peers[i], false);
        }
        ended++;
    }
    kit_say(wire, &ended, sizeof ended);
    kit_hold(wire);
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
    old = kit_leave_descriptors(0);
    kit_say(peer.wire, &p.listener.address, sizeof p.listener.address);
    kit_hear(peer.wire, &ended, sizeof ended);
    CHECK_EQ(ended, 10);
    before = cpu_seconds();
    for (int i = 0; i < 10; i++)
        kit_settle();
    CHECK(cpu_seconds() - before < 0.25);
    kit_restore_descriptors(old);
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    check_served(&p);
    kit_pair_close(&p);
    kit_join(&peer);
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
    kit_pair_idle(&p);
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
    CHECK(raw_ended(peer));
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
    kit_pair_idle(&p);
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
