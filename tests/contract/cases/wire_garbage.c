/* SPDX-License-Identifier: MIT */
/*
 * WIR-05: arbitrary input. Raw peers send random data, during start-up and in the stream. Meanwhile a valid connection
 * of the same adapter transfers verified data. Memory has guards, and descriptors are counted. A sanitizer can detect
 * further errors.
 */
#include <dirent.h>
#include <unistd.h>

#include "contract/kit/data.h"
#include "contract/kit/peer.h"

/* ---- the valid connection, which the garbage must not disturb ---- */

struct good {
    struct kit_side active;  /* with an adapter of its own */
    struct kit_side passive; /* the raw peers connect to this side's adapter */
    struct kit_listener listener;
    atomic_bool stop;
    atomic_int rounds;
    pthread_t thread;
};

static void *move_data(void *arg)
{
    struct good *g = arg;

    while (!atomic_load(&g->stop)) {
        kit_exchange(&g->active, &g->passive);
        kit_exchange(&g->passive, &g->active);
        kit_increment(&g->rounds);
    }
    return NULL;
}

static void good_open(struct good *g)
{
    memset(g, 0, sizeof *g);
    kit_side_open(&g->active, NULL);
    kit_side_open(&g->passive, NULL);
    kit_listen(&g->listener, g->passive.adapter);
    kit_establish(&g->active, &g->passive, &g->listener);
    CHECK(pthread_create(&g->thread, NULL, move_data, g) == 0);
    kit_wait_count(&g->rounds, 1);
}

static void good_close(struct good *g)
{
    int seen = atomic_load(&g->rounds);

    kit_wait_count(&g->rounds, seen + 2); /* it goes on */
    atomic_store(&g->stop, true);
    pthread_join(g->thread, NULL);
    CHECK_EQ(atomic_load(&g->active.disconnected) + atomic_load(&g->passive.disconnected), 0);
    kit_close_connector(&g->passive);
    CHECK_STATUS(kit_close(g->listener.listener), STATUS_SUCCESS);
    kit_side_close(&g->active);
    kit_side_close(&g->passive);
}

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    CHECK(d != NULL);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Waits until everything that the garbage has opened is closed. */
static void wait_descriptors(int before)
{
    while (descriptors() > before)
        kit_pause();
}

/* ---- start-up ---- */

enum { PEERS = 400, MOST = 1200 };

static void noise(uint8_t *at, size_t len, uint64_t *seed)
{
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)data_random(seed);
}

/* Writes, at random, a frame with some wrong bytes, a frame's key and noise, or only noise. Returns the length. */
static size_t bad_frame(uint8_t *out, bool reply, uint64_t *seed)
{
    size_t len = 1 + data_random_below(seed, MOST - 1);
    static const uint8_t rest[] = { RAW_S | RAW_C, 2, 0, 4, 0x80, 8, 0x80, 8 };

    noise(out, len, seed);
    if (data_random_below(seed, 4) == 0)
        return len;
    memcpy(out, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
    if (len < 16)
        len = 16;
    if (data_random_below(seed, 2) == 0)
        return len;
    memcpy(out + 16, rest, sizeof rest);
    if (len < 24)
        len = 24;
    for (uint32_t i = data_random_below(seed, 4); i > 0; i--)
        out[16 + data_random_below(seed, 8)] ^= (uint8_t)(1 << data_random_below(seed, 8));
    return len;
}

/* Garbage can be a valid request by chance. Such a request is rejected. */
static struct kit_call refused[PEERS];

static void refuse(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct kit_call *call = &refused[atomic_load(&l->requests)];

    connector->Dispatch->NdkReject(connector, NULL, 0);
    connector->Dispatch->NdkCloseConnector(&connector->Header, kit_close_done, call);
}

/* covers: WIR-05 */
CASE(wir_05_garbage_for_a_listener, KIT_FAMILIES)
{
    static struct good g;
    static struct kit_listener l;
    uint8_t bytes[MOST + 24];
    uint64_t seed = 51;
    int before;

    good_open(&g);
    l.inside = refuse;
    kit_listen(&l, g.passive.adapter);
    before = descriptors();
    for (int i = 0; i < PEERS; i++) {
        int s = raw_connect(&l.address);
        size_t len = bad_frame(bytes, false, &seed), cut = data_random_below(&seed, (uint32_t)len);

        raw_send(s, bytes, cut);
        raw_send(s, bytes + cut, len - cut);
        if (data_random_below(&seed, 2)) {
            shutdown(s, SHUT_WR);
            while (!raw_wait_end(s))
                ;
        }
        raw_close(s, data_random_below(&seed, 3) == 0);
    }
    wait_descriptors(before);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    good_close(&g);
}

/* covers: WIR-05 */
CASE(wir_05_garbage_in_place_of_a_reply, KIT_FAMILIES)
{
    static struct good g;
    struct sockaddr_storage here = kit_host(0), source = kit_host(0);
    uint8_t bytes[MOST + 24];
    uint64_t seed = 52;
    int listener = raw_listen(&here), before;
    struct raw_frame request;

    good_open(&g);
    before = descriptors();
    for (int i = 0; i < PEERS; i++) {
        struct kit_side s;
        struct kit_call call = { 0 };
        NTSTATUS connecting;
        size_t len = bad_frame(bytes, true, &seed);
        int peer;

        memcpy(&s, &g.passive, sizeof s);
        s.connector = NULL;
        s.qp = kit_qp(&s, 4);
        connecting = kit_connect_start(&s, &call, &source, &here, NULL, 0);
        peer = raw_accept(listener);
        CHECK(raw_recv_frame(peer, false, &request));
        raw_send(peer, bytes, len);
        shutdown(peer, SHUT_WR);
        kit_final(&call, connecting); /* any result is valid, but there must be one */
        kit_close_connector(&s);
        CHECK_STATUS(kit_close(s.qp), STATUS_SUCCESS);
        while (!raw_wait_end(peer))
            ;
        close(peer);
    }
    wait_descriptors(before);
    close(listener);
    good_close(&g);
}

/* ---- the stream ---- */

enum { REGION = 3000, SEGMENT = 400 };

/* Encodes a segment with random header fields, most of them near valid values. */
static size_t any_segment(uint8_t *out, const struct data_region *r, uint64_t *seed)
{
    static const uint32_t near[] = { 0, 1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff };
    uint8_t payload[SEGMENT];
    size_t len = data_random_below(seed, SEGMENT), whole;
    uint8_t opcode = (uint8_t)data_random_below(seed, 9);
    uint64_t to = (uintptr_t)r->memory + data_random_below(seed, REGION + 200) - 100;
    uint32_t token = data_random_below(seed, 8) ? r->token : data_random(seed);

    noise(payload, len, seed);
    switch (data_random_below(seed, 4)) {
    case 0:
        whole = raw_tagged(out, data_random_below(seed, 3) ? 0 : opcode, token, to, data_random_below(seed, 2), payload,
                           len);
        break;
    case 1:
        whole = raw_read_request(out, near[data_random_below(seed, 7)], data_random(seed), data_random(seed),
                                 data_random_below(seed, 2) ? data_random_below(seed, 4000) : data_random(seed), token,
                                 to);
        break;
    case 2:
        whole = raw_untagged(out, 3, 0, 1, near[data_random_below(seed, 7)], data_random_below(seed, 2), payload, len);
        break;
    default:
        whole = raw_untagged(out, opcode, near[data_random_below(seed, 7)], near[data_random_below(seed, 7)],
                             near[data_random_below(seed, 7)], data_random_below(seed, 2), payload, len);
        break;
    }
    if (data_random_below(seed, 4) == 0)
        out[data_random_below(seed, 18)] ^= (uint8_t)(1 << data_random_below(seed, 8));
    return data_random_below(seed, 6) ? whole : data_random_below(seed, (uint32_t)whole + 1);
}

/* Sends random segments, some of them with a wrong bit in the FPDU, and sometimes noise after them. */
static void send_garbage(int s, const struct data_region *r, uint64_t *seed)
{
    uint8_t ulpdu[18 + SEGMENT + 64], bytes[sizeof ulpdu + 16];

    for (uint32_t i = data_random_below(seed, 12); i > 0; i--) {
        size_t len = any_segment(ulpdu, r, seed), size = raw_fpdu(bytes, ulpdu, len, true);

        if (data_random_below(seed, 8) == 0)
            bytes[data_random_below(seed, (uint32_t)size)] ^= (uint8_t)(1 << data_random_below(seed, 8));
        raw_send(s, bytes, size);
    }
    if (data_random_below(seed, 3) == 0) {
        noise(bytes, sizeof bytes, seed);
        raw_send(s, bytes, 1 + data_random_below(seed, sizeof bytes - 1));
    }
}

/* One peer: a valid start-up, garbage, and a disconnect. */
static void one_stream(struct kit_side *s, struct kit_listener *l, const struct data_region *r, bool crc,
                       uint64_t *seed)
{
    struct raw_frame request = peer_frame(PEER_WRITE), reply;
    struct kit_call accept = { 0 };
    NTSTATUS accepting;
    uint8_t ulpdu[64];
    int peer = raw_connect(&l->address);

    if (!crc)
        request.flags &= (uint8_t)~RAW_C;
    s->qp = kit_qp(s, 4);
    atomic_store(&s->disconnected, 0);
    raw_send_frame(peer, false, &request);
    s->connector = kit_next_request(l);
    for (uintptr_t i = 0; i < data_random_below(seed, 4); i++)
        kit_post_receive(s, i, 4096 * i, 1 + data_random_below(seed, 4096));
    accepting = kit_accept_start(s, &accept, NULL, 0);
    CHECK(raw_recv_frame(peer, true, &reply));
    raw_send_fpdu(peer, ulpdu, raw_tagged(ulpdu, 0, 0, 0, true, NULL, 0), true);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    send_garbage(peer, r, seed);
    if (data_random_below(seed, 3))
        shutdown(peer, SHUT_WR);
    else
        raw_close(peer, true), peer = -1;
    kit_wait_count(&s->disconnected, 1);
    kit_close_connector(s);
    while (peer >= 0 && !raw_wait_end(peer))
        ;
    if (peer >= 0)
        close(peer);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    data_drain(s);
    CHECK(data_guards_intact(r));
}

static void garbage_streams(uint64_t seed, bool crc)
{
    static struct good g;
    static struct kit_side s;
    static struct kit_listener l;
    struct data_region r;
    NDK_CQ *cq;
    int before;
    struct kit_config config = kit_config();

    config.crc = crc;
    kit_configure(&config);
    good_open(&g);
    memcpy(&s, &g.passive, sizeof s);
    CHECK_STATUS(data_cq(s.adapter, 64, kit_on_notify, &s, &cq), STATUS_SUCCESS);
    s.cq = cq;
    s.memory = aligned_alloc(PAGE_SIZE, KIT_MEMORY);
    CHECK(s.memory != NULL);
    s.mr = kit_mr(&s, s.memory, KIT_MEMORY, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, &s.mdl, &s.local_token);
    data_region_open(&r, s.pd, 1096, REGION, DATA_ALL); /* it ends at the end of its last page */
    kit_listen(&l, s.adapter);
    before = descriptors();
    for (int i = 0; i < PEERS; i++)
        one_stream(&s, &l, &r, crc, &seed);
    wait_descriptors(before);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    data_region_close(&r);
    CHECK_STATUS(kit_close(s.mr), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    free(s.memory);
    good_close(&g);
}

/* covers: WIR-05 */
CASE(wir_05_garbage_in_the_stream, KIT_FAMILIES)
{
    garbage_streams(53, true);
    garbage_streams(54, true);
}

/* covers: WIR-05 */
CASE(wir_05_garbage_without_checksums, 0)
{
    garbage_streams(55, false);
}

/* covers: WIR-05 */
CASE(wir_05_much_garbage, KIT_FAMILIES | KIT_SLOW)
{
    for (uint64_t seed = 1000; seed < 1040; seed++)
        garbage_streams(seed, seed & 1);
}
