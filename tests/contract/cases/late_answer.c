/* SPDX-License-Identifier: MIT */
/*
 * CON, DSC: the peers answer in time, but the provider reads the answers only after its time limits have passed. The
 * cause is a callback that takes long, for example because a debugger has stopped in it: it keeps the thread that reads
 * the sockets. When the callback returns, more sockets are ready than a provider may serve between two checks of its
 * time limits. All calls must end as the peers have answered.
 *
 * An attempt counts only if the callback has begun before the first time limit can have passed.
 */
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/peer.h"

enum { COUNT = 16 };

static struct {
    struct kit_call calls[COUNT];
    struct kit_side sides[COUNT];          /* the case of NdkConnect: the connecting sides */
    int sockets[COUNT];                    /* and their peers */
    struct peer_acceptor acceptors[COUNT]; /* the case of NdkDisconnect */
    NTSTATUS answered;                     /* the status of a call whose peer has answered */
    int64_t entered_ms;                    /* the time when the callback began */
    atomic_int entered, released;
} late;

static int64_t now_ms(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * The callback of the first call. Does not wait if the call has ended by its time limit: then the attempt does not
 * count, and the case may still need the thread.
 */
static void late_callback(struct kit_call *call)
{
    late.entered_ms = now_ms();
    kit_increment(&late.entered);
    if (call->status == late.answered)
        kit_wait_count(&late.released, 1);
}

static void late_begin(NTSTATUS answered, const struct kit_config *config)
{
    struct kit_config c = *config;

    memset(&late, 0, sizeof late);
    late.answered = answered;
    late.calls[0].inside = late_callback;
    c.shards = 1;
    kit_configure(&c);
}

/* Waits until the provider's TCP has acknowledged what the peer has sent, or the connection has ended. */
static void late_wait_arrived(int peer)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof info;
    int unacked = 1;

    while (unacked > 0 && info.tcpi_state != TCP_CLOSE) {
        usleep(1000);
        CHECK(ioctl(peer, SIOCOUTQ, &unacked) == 0);
        CHECK(getsockopt(peer, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
    }
}

/*
 * Called when the first peer has answered. Makes the others answer while the callback runs, and lets it return when
 * `ms` have passed. Returns false if the attempt does not count.
 */
static bool late_answer(int64_t begun_ms, uint32_t limit_ms, void (*answer)(int i), int64_t ms)
{
    bool counts;

    kit_wait_count(&late.entered, 1);
    counts = late.entered_ms - begun_ms < limit_ms;
    for (int i = 1; counts && i < COUNT; i++)
        answer(i);
    while (counts && now_ms() <= late.entered_ms + ms)
        usleep(10000);
    kit_increment(&late.released);
    for (int i = 0; i < COUNT; i++) {
        NTSTATUS status = kit_final(&late.calls[i], STATUS_PENDING);
        if (counts)
            CHECK_STATUS(status, late.answered);
    }
    return counts;
}

/* ---- NdkConnect ---- */

static void late_connect(const struct sockaddr_storage *to, int listener)
{
    struct sockaddr_storage source = kit_host(0);
    struct raw_frame f;

    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(kit_connect_start(&late.sides[i], &late.calls[i], &source, to, NULL, 0), STATUS_PENDING);
        late.sockets[i] = raw_accept(listener);
        (void)raw_recv_frame(late.sockets[i], false, &f); /* false if the time limit has passed already */
    }
}

static void late_reject(int i)
{
    struct raw_frame f = raw_enhanced(true, 0, 0);

    f.flags |= RAW_R;
    raw_send_frame(late.sockets[i], true, &f);
    late_wait_arrived(late.sockets[i]);
}

static bool rejects_during_a_callback(uint32_t ms)
{
    struct kit_config config = kit_config();
    struct sockaddr_storage at = kit_host(0);
    int listener = raw_listen(&at);
    int64_t begun_ms;
    bool counts;

    config.reply_ms = ms;
    late_begin(STATUS_CONNECTION_REFUSED, &config);
    for (int i = 0; i < COUNT; i++) {
        kit_side_open(&late.sides[i], i ? late.sides[0].adapter : NULL);
        late.sides[i].connector = kit_connector(late.sides[i].adapter);
    }
    begun_ms = now_ms();
    late_connect(&at, listener);
    late_reject(0);
    counts = late_answer(begun_ms, ms, late_reject, ms);
    for (int i = COUNT - 1; i >= 0; i--) {
        raw_close(late.sockets[i], false);
        kit_side_close(&late.sides[i]);
    }
    raw_close(listener, false);
    return counts;
}

/* covers: CON-08, CON-11 */
CASE(con_11_answers_during_a_long_callback, KIT_FAMILIES)
{
    kit_with_limit(rejects_during_a_callback);
}

/* ---- NdkDisconnect ---- */

static void late_disconnect(int i)
{
    NDK_CONNECTOR *c = late.acceptors[i].side.connector;

    CHECK_STATUS(c->Dispatch->NdkDisconnect(c, kit_request_done, &late.calls[i]), STATUS_PENDING);
    (void)peer_wait_end(late.acceptors[i].s);
}

/* Sends data, and then the notice. A provider must read both to see the notice. */
static void late_notice(int i)
{
    struct peer_acceptor *p = &late.acceptors[i];
    uint8_t ulpdu[64];

    raw_send_fpdu(p->s, ulpdu, raw_tagged(ulpdu, 0, 0, 0, true, NULL, 0), true);
    (void)shutdown(p->s, SHUT_WR); /* fails if the time limit has passed already */
    late_wait_arrived(p->s);
}

static bool notices_during_a_callback(uint32_t ms)
{
    struct kit_config config = kit_config();
    int64_t begun_ms;
    bool counts;

    config.disconnect_ms = ms;
    late_begin(STATUS_SUCCESS, &config);
    for (int i = 0; i < COUNT; i++) {
        late.acceptors[i].side.adapter = late.acceptors[0].side.adapter;
        peer_acceptor_open(&late.acceptors[i]);
        peer_acceptor_connect(&late.acceptors[i], PEER_WRITE);
    }
    begun_ms = now_ms();
    for (int i = 0; i < COUNT; i++)
        late_disconnect(i);
    while (now_ms() < begun_ms + ms / 4) /* the time limit begins again when the notice has been acknowledged */
        usleep(10000);
    late_notice(0);
    counts = late_answer(begun_ms, ms, late_notice, 2 * (int64_t)ms);
    for (int i = COUNT - 1; i >= 0; i--)
        peer_acceptor_close(&late.acceptors[i]);
    return counts;
}

/* covers: DSC-01, DSC-03 */
CASE(dsc_03_notices_during_a_long_callback, KIT_FAMILIES)
{
    kit_with_limit(notices_during_a_callback);
}
