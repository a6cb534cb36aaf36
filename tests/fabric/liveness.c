/* SPDX-License-Identifier: MIT */
/*
 * Abstract: peers that begin a frame or a message and do not go on, played by plain sockets, with the fabric's clock in
 * the test's hand: no limit is waited for, and none is missed on a busy machine.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "fabric/world.h"
#include "iwarp/memory.h"
#include "wire/ddp.h"

enum { MS = 1000000, STALL_MS = 30000, SHARE_MS = 500, SLOTS = 16, RECEIVE = 65536, FPDU_MAX = 17000 };

static uint64_t clock_ns = 1000 * (uint64_t)MS;

/* ---- the service, and its peers ---- */

struct shop {
    struct iwarp_config config;
    struct fabric *f;
    struct ear ear;
    struct fabric_srq *srq; /* or NULL */
    struct fabric_mr *mr;   /* of the shared receives */
    uint32_t token;
    uint8_t *memory;
    atomic_bool gone;
    uint64_t sent;          /* bytes of FPDUs, by all peers */
};

struct peer {
    struct station station;
    struct link *link;
    int fd;
    uint32_t msn, mo;
};

static struct iwarp_counters counters(struct shop *s)
{
    struct iwarp_counters c;

    iwarp_fabric_counters(s->f, &c);
    return c;
}

static void shop_defaults(struct shop *s)
{
    memset(s, 0, sizeof *s);
    iwarp_config_defaults(&s->config);
    s->config.crc = false;
    s->config.shards = 3;
}

static void shop_open(struct shop *s)
{
    struct addr at = loopback(AF_INET, 0);

    fabric_open(&s->f, &s->config);
    ear_open(&s->ear, s->f, &at);
}

static void shop_close(struct shop *s)
{
    ear_close(&s->ear);
    s->f->ops->destroy(s->f);
}

static void set_true(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

/* The queue pair that a station has, in one that receives from the shop's shared queue. */
static void share_receives(struct shop *s, struct station *station)
{
    struct fabric_qp_config qp = {
        .initiator_depth = DEPTH, .initiator_sges = 4, .receive_cq = station->cq, .initiator_cq = station->cq,
        .domain = s, .srq = s->srq, .qp_context = station,
    };
    atomic_bool gone = false;

    s->f->ops->qp_close(station->qp, set_true, &gone);
    AWAIT(atomic_load(&gone));
    CHECK(s->f->ops->qp_create(s->f, &qp, &station->qp) == 0);
}

/* Connected, and established on both sides; the peer is of revision 1, without CRC. */
static void peer_open(struct peer *p, struct shop *s, int affinity)
{
    struct mpa_frame request = { .revision = 1 }, reply;
    int before = atomic_load(&s->ear.requests), on = 1;
    uint8_t bytes[MPA_FRAME_MAX];

    memset(p, 0, sizeof *p);
    station_open(&p->station, s->f, affinity, 4 * DEPTH);
    if (s->srq)
        share_receives(s, &p->station);
    p->fd = raw_connect(&s->ear.local);
    CHECK(setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    raw_send_frame(p->fd, &request);
    AWAIT(atomic_load(&s->ear.requests) > before);
    p->link = &s->ear.link[before % LINKS];
    link_accept(p->link, p->station.qp, NULL, 0);
    AWAIT(atomic_load(&p->link->established));
    CHECK(p->link->established_why == FABRIC_OK);
    raw_read_frame(p->fd, true, &reply, bytes);
    CHECK(!reply.rejected);
    p->msn = 1;
}

static void peer_close(struct peer *p)
{
    close(p->fd);
    link_close(p->link);
    station_close(&p->station);
}

static bool is_up(const struct peer *p)
{
    return atomic_load(&p->link->ended) == 0;
}

/* Bytes, and waits until the fabric has them. */
static void peer_send(struct peer *p, struct shop *s, const void *bytes, size_t len)
{
    raw_send(p->fd, bytes, len);
    s->sent += len;
    AWAIT(counters(s).octets_received == s->sent);
}

static size_t fpdu_around(uint8_t fpdu[FPDU_MAX], const struct ddp_header *h, size_t payload)
{
    size_t ulpdu = ddp_header_encode(h, fpdu + MPA_FPDU_LENGTH, DDP_HEADER_MAX) + payload;

    CHECK(mpa_fpdu_size(ulpdu) <= FPDU_MAX);
    memset(fpdu + MPA_FPDU_LENGTH + ulpdu - payload, 0x5a, FPDU_MAX - MPA_FPDU_LENGTH - (ulpdu - payload));
    fpdu[0] = (uint8_t)(ulpdu >> 8);
    fpdu[1] = (uint8_t)ulpdu;
    return mpa_fpdu_size(ulpdu);
}

/* The next segment of the peer's message. */
static size_t next_segment(struct peer *p, uint8_t fpdu[FPDU_MAX], size_t payload, bool last)
{
    struct ddp_header h = { .last = last, .opcode = RDMAP_SEND, .msn = p->msn, .mo = p->mo };

    p->mo = last ? 0 : p->mo + (uint32_t)payload;
    p->msn += last;
    return fpdu_around(fpdu, &h, payload);
}

static void send_segment(struct peer *p, struct shop *s, size_t payload, bool last)
{
    uint8_t fpdu[FPDU_MAX];
    size_t len = next_segment(p, fpdu, payload, last);

    peer_send(p, s, fpdu, len);
}

/* Time passes, and whatever falls due happens. */
static void pass(uint64_t ms)
{
    clock_ns += ms * MS;
    for (int i = 0; i < 8; i++)
        nap();
}

static void take_lost(struct peer *p, enum fabric_reason why)
{
    struct fabric_completion c;

    take(&p->station, &c);
    CHECK(c.op == FABRIC_RECEIVE && c.status == FABRIC_LOST && c.why == why);
}

/* The peer has gone on for so long without an end; now it must end, for this reason. */
static void expect_end(struct peer *p, struct shop *s, enum fabric_reason why)
{
    AWAIT(!is_up(p));
    CHECK(p->link->ended_why == why);
    CHECK(counters(s).connection_errors == 1);
    CHECK(raw_read_to_end(p->fd, NULL, 0) == -1);
}

/* One peer with one private receive. */
static void open_both(struct shop *s, struct peer *p)
{
    shop_defaults(s);
    s->config.stall_ms = STALL_MS;
    shop_open(s);
    peer_open(p, s, -1);
    post(&p->station, FABRIC_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
}

static void close_both(struct shop *s, struct peer *p)
{
    peer_close(p);
    shop_close(s);
}

/* ---- frames and messages that do not go on ---- */

/* covers: DSC-02, QPR-20 */
static void half_a_frame(void)
{
    uint8_t fpdu[FPDU_MAX];
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    (void)next_segment(&p, fpdu, 1000, true);
    peer_send(&p, &s, fpdu, 500);
    pass(STALL_MS - 1);
    CHECK(is_up(&p));
    pass(1);
    expect_end(&p, &s, FABRIC_FRAME_STALLED);
    take_lost(&p, FABRIC_FRAME_STALLED);
    close_both(&s, &p);
}

/* A byte now and then is no progress: the frame has to be finished. */
static void byte_by_byte(void)
{
    uint8_t fpdu[FPDU_MAX];
    uint64_t begin;
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    (void)next_segment(&p, fpdu, 1000, true);
    begin = clock_ns;
    for (int i = 0; is_up(&p) && i < 1000; i++) {
        peer_send(&p, &s, fpdu + i, 1);
        pass(STALL_MS / 8);
    }
    expect_end(&p, &s, FABRIC_FRAME_STALLED);
    CHECK(clock_ns - begin <= 2 * STALL_MS * (uint64_t)MS);
    take_lost(&p, FABRIC_FRAME_STALLED);
    close_both(&s, &p);
}

static void first_segment_alone(void)
{
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    send_segment(&p, &s, 1000, false);
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    take_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* Whole frames of a byte each, the message never ends; other messages between them are no progress of this one. */
static void trickle(void)
{
    struct ddp_header write = { .tagged = true, .last = true, .opcode = RDMAP_WRITE };
    uint8_t fpdu[FPDU_MAX];
    uint64_t begin;
    size_t len;
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    write.stag = p.station.token;
    write.to = (uintptr_t)p.station.memory;
    len = fpdu_around(fpdu, &write, 4000);
    begin = clock_ns;
    for (int i = 0; is_up(&p) && i < 1000; i++) {
        send_segment(&p, &s, 1, false);
        for (int n = 0; n < 8; n++)
            peer_send(&p, &s, fpdu, len);
        pass(STALL_MS / 8);
    }
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    CHECK(clock_ns - begin <= 2 * STALL_MS * (uint64_t)MS);
    take_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

static void write_without_end(void)
{
    struct ddp_header h = { .tagged = true, .opcode = RDMAP_WRITE };
    uint8_t fpdu[FPDU_MAX];
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    h.stag = p.station.token;
    h.to = (uintptr_t)p.station.memory;
    peer_send(&p, &s, fpdu, fpdu_around(fpdu, &h, 1000));
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    take_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* The peer answers a read in part. */
static void half_an_answer(void)
{
    struct ddp_header first = { .last = true, .opcode = RDMAP_SEND, .msn = 1 }, h;
    struct fabric_completion c;
    uint8_t fpdu[FPDU_MAX];
    struct shop s;
    struct peer p;
    size_t size;

    open_both(&s, &p);
    peer_send(&p, &s, fpdu, fpdu_around(fpdu, &first, 0)); /* ready to receive */
    take_ok(&p.station, FABRIC_RECEIVE, NULL, 0);
    post(&p.station, FABRIC_READ, 0, &s, 0, 4000, &p.station, 0);
    AWAIT(counters(&s).octets_sent > 0);
    raw_read(p.fd, fpdu, mpa_fpdu_size(DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST));
    CHECK(ddp_header_decode(&h, fpdu + MPA_FPDU_LENGTH, DDP_HEADER_MAX, &size) && h.opcode == RDMAP_READ_REQ);
    pass(10 * STALL_MS); /* an answer that has not begun is TCP's to judge */
    CHECK(is_up(&p));
    h = (struct ddp_header){ .tagged = true, .opcode = RDMAP_READ_RESP };
    struct rdmap_read_request r;
    CHECK(rdmap_read_decode(&r, fpdu + MPA_FPDU_LENGTH + DDP_UNTAGGED_HEADER, RDMAP_READ_REQUEST));
    h.stag = r.sink_stag;
    h.to = r.sink_to;
    peer_send(&p, &s, fpdu, fpdu_around(fpdu, &h, 1000));
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    take(&p.station, &c);
    CHECK(c.op == FABRIC_READ && c.status == FABRIC_LOST && c.why == FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* ---- peers that are slow, and no worse ---- */

/* As much of a message as has to come, each time: it takes its time, and arrives. */
static void slow_message(void)
{
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    send_segment(&p, &s, 10, false);
    for (int i = 0; i < 3; i++) {
        pass(STALL_MS - 1);
        send_segment(&p, &s, 16400, false);
        pass(1);
        CHECK(is_up(&p));
    }
    send_segment(&p, &s, 1000, true);
    take_ok(&p.station, FABRIC_RECEIVE, NULL, 10 + 3 * 16400 + 1000);
    pass(10 * STALL_MS);
    CHECK(is_up(&p));
    close_both(&s, &p);
}

/* At each look there is another unfinished message. */
static void next_message(void)
{
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    send_segment(&p, &s, 10, false);
    for (int i = 0; i < 6; i++) {
        pass(STALL_MS - 1);
        send_segment(&p, &s, 10, true);
        post(&p.station, FABRIC_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
        send_segment(&p, &s, 10, false);
        pass(1);
        CHECK(is_up(&p));
    }
    close_both(&s, &p);
}

/* The rest has come, and this side has not looked: no fault of the peer's. */
static void unread(void)
{
    uint8_t fpdu[FPDU_MAX];
    struct shop s;
    struct peer p;
    size_t len;

    open_both(&s, &p);
    len = next_segment(&p, fpdu, 1000, true);
    peer_send(&p, &s, fpdu, 500);
    raw_send(p.fd, fpdu + 500, len - 500);
    pass(3 * STALL_MS);
    take_ok(&p.station, FABRIC_RECEIVE, NULL, 1000);
    CHECK(is_up(&p));
    close_both(&s, &p);
}

static void no_limit(void)
{
    struct shop s;
    struct peer p;

    shop_defaults(&s);
    s.config.stall_ms = 0;
    shop_open(&s);
    peer_open(&p, &s, -1);
    post(&p.station, FABRIC_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
    send_segment(&p, &s, 1000, false);
    pass(1000 * STALL_MS);
    CHECK(is_up(&p));
    close_both(&s, &p);
}

/* While a disconnect waits for an answer, input renews its limit: but not half a frame for ever. covers: DSC-01 */
static void while_disconnecting(void)
{
    struct ddp_header first = { .last = true, .opcode = RDMAP_SEND, .msn = 1 };
    uint8_t fpdu[FPDU_MAX];
    uint64_t begin;
    struct shop s;
    struct peer p;

    open_both(&s, &p);
    peer_send(&p, &s, fpdu, fpdu_around(fpdu, &first, 0));
    take_ok(&p.station, FABRIC_RECEIVE, NULL, 0);
    post(&p.station, FABRIC_READ, 0, &s, 0, 4000, &p.station, 0);
    AWAIT(counters(&s).octets_sent > 0);
    s.f->ops->conn_disconnect(p.link->c);
    (void)next_segment(&p, fpdu, 1000, true);
    begin = clock_ns;
    for (int i = 0; !atomic_load(&p.link->disconnected) && i < 500; i++) {
        raw_send(p.fd, fpdu + i, 1);
        pass(s.config.disconnect_ms / 4);
    }
    CHECK(atomic_load(&p.link->disconnected));
    CHECK(p.link->disconnected_why == FABRIC_FRAME_STALLED);
    CHECK(clock_ns - begin <= 3 * STALL_MS * (uint64_t)MS);
    close_both(&s, &p);
}

/* ---- a shared receive queue ---- */

static void on_low(void *owner)
{
    (void)owner;
}

static void shared_post(struct shop *s, uintptr_t slot)
{
    struct fabric_sge sge = { (uintptr_t)s->memory + slot * RECEIVE, RECEIVE, s->token };
    struct fabric_request r = { .op = FABRIC_RECEIVE, .context = (void *)slot, .sges = &sge, .sge_count = 1 };

    CHECK(s->f->ops->srq_post(s->srq, &r) == 0);
}

static void open_shared(struct shop *s, struct peer *peers, int count)
{
    struct fabric_srq_config c = {
        .depth = SLOTS, .sges = 1, .affinity = 0, .domain = s, .notify = on_low, .owner = s,
    };

    shop_defaults(s);
    s->config.srq_stall_ms = SHARE_MS;
    shop_open(s);
    CHECK(s->f->ops->srq_create(s->f, &c, &s->srq) == 0);
    s->memory = calloc(SLOTS, RECEIVE);
    CHECK(s->memory != NULL);
    CHECK(s->f->ops->mr_create(s->f, s, &s->mr) == 0);
    CHECK(s->f->ops->mr_register(s->mr, s->memory, SLOTS * RECEIVE, (uintptr_t)s->memory, MEM_LOCAL_WRITE,
                                 &s->token) == 0);
    for (uintptr_t i = 0; i < SLOTS; i++)
        shared_post(s, i);
    for (int i = 0; i < count; i++)
        peer_open(&peers[i], s, i);
}

static void on_srq_gone(void *owner)
{
    atomic_store(&((struct shop *)owner)->gone, true);
}

static void close_shared(struct shop *s, struct peer *peers, int count)
{
    for (int i = 0; i < count; i++)
        peer_close(&peers[i]);
    s->f->ops->srq_close(s->srq, on_srq_gone);
    AWAIT(atomic_load(&s->gone));
    s->f->ops->mr_kill(s->mr);
    CHECK(s->f->ops->mr_close(s->mr, NULL, NULL));
    free(s->memory);
    shop_close(s);
}

/* Receives that have completed are posted again, as a consumer does. Returns how many were delivered in full. */
static int repost(struct shop *s, struct peer *peers, int count)
{
    struct fabric_completion c;
    int delivered = 0;

    for (int i = 0; i < count; i++) {
        while (s->f->ops->cq_poll(peers[i].station.cq, &c, 1) == 1) {
            CHECK(c.op == FABRIC_RECEIVE);
            CHECK(c.status == FABRIC_DONE || (c.status == FABRIC_LOST && c.why == FABRIC_SRQ_SHARE));
            delivered += c.status == FABRIC_DONE;
            shared_post(s, (uintptr_t)c.request_context);
        }
    }
    return delivered;
}

static int count_up(const struct peer *peers, int count)
{
    int up = 0;

    for (int i = 0; i < count; i++)
        up += is_up(&peers[i]);
    return up;
}

/*
 * Peers on all shards begin messages and send no more, until all receives but two are theirs. Those that began first
 * end, down to the share; good peers, with a long message under way and with short ones, go on.
 */
static void starved(void)
{
    enum { HOSTILE = 13, GOOD = 4, SHORT = 20 };
    struct peer peers[HOSTILE + GOOD], *good = peers + HOSTILE;
    struct shop s;
    int left;

    open_shared(&s, peers, HOSTILE + GOOD);
    send_segment(&good[0], &s, 8000, false);
    for (int i = 0; i < HOSTILE; i++) {
        send_segment(&peers[i], &s, i % 2 ? 0 : 1000, false); /* an empty first segment holds a receive as well */
        pass(1);
    }
    for (int i = 0; i < 4; i++) {
        send_segment(&good[0], &s, 8000, false);
        pass(SHARE_MS / 4);
    }
    AWAIT((repost(&s, peers, HOSTILE + GOOD), count_up(peers, HOSTILE)) <= SLOTS / 2);
    CHECK(count_up(good, GOOD) == GOOD);
    left = count_up(peers, HOSTILE);
    CHECK(left >= SLOTS / 2 - 1); /* and no more than had to */
    for (int i = 0; i < HOSTILE; i++) {
        CHECK(is_up(&peers[i]) == (i >= HOSTILE - left));
        if (!is_up(&peers[i]))
            CHECK(peers[i].link->ended_why == FABRIC_SRQ_SHARE);
    }
    CHECK(counters(&s).connection_errors == (uint64_t)(HOSTILE - left));
    for (int i = 0; i < SHORT; i++) {
        for (int n = 1; n < GOOD; n++)
            send_segment(&good[n], &s, 100, true);
        CHECK(repost(&s, peers, HOSTILE + GOOD) == GOOD - 1);
    }
    send_segment(&good[0], &s, 1000, true);
    CHECK(repost(&s, peers, HOSTILE + GOOD) == 1);
    pass(10 * SHARE_MS);
    CHECK(count_up(good, GOOD) == GOOD && count_up(peers, HOSTILE) == left);
    pass(STALL_MS);
    CHECK(count_up(good, GOOD) == GOOD && count_up(peers, HOSTILE) == 0);
    close_shared(&s, peers, HOSTILE + GOOD);
}

/* All receives are held by long messages that go on: a consumer that is busy, and nobody ends. */
static void busy(void)
{
    struct peer peers[SLOTS];
    struct shop s;

    open_shared(&s, peers, SLOTS);
    for (int n = 0; n < SLOTS; n++)
        send_segment(&peers[n], &s, 10, false);
    for (int i = 0; i < 14; i++) {
        pass(SHARE_MS - 1);
        for (int n = 0; n < SLOTS; n++)
            send_segment(&peers[n], &s, 4200, false);
        pass(1);
        CHECK(count_up(peers, SLOTS) == SLOTS);
    }
    for (int n = 0; n < SLOTS; n++)
        send_segment(&peers[n], &s, 10, true);
    CHECK(repost(&s, peers, SLOTS) == SLOTS);
    close_shared(&s, peers, SLOTS);
}

/* Crowded by messages that each end before their time, and are followed by others. */
static void busy_with_short_ones(void)
{
    struct peer peers[SLOTS];
    struct shop s;

    open_shared(&s, peers, SLOTS);
    for (int i = 0; i < 14; i++) {
        for (int n = 0; n < SLOTS; n++)
            send_segment(&peers[n], &s, 10, false);
        pass(SHARE_MS - 1);
        for (int n = 0; n < SLOTS; n++)
            send_segment(&peers[n], &s, 10, true);
        CHECK(repost(&s, peers, SLOTS) == SLOTS);
        pass(1);
        CHECK(count_up(peers, SLOTS) == SLOTS);
    }
    close_shared(&s, peers, SLOTS);
}

/* What is beyond the share and waits unread is read before anybody ends. */
static void crowded_and_unread(void)
{
    struct peer peers[SLOTS];
    uint8_t fpdu[FPDU_MAX];
    struct shop s;

    open_shared(&s, peers, SLOTS);
    for (int n = 0; n < SLOTS; n++)
        send_segment(&peers[n], &s, 10, false);
    for (int n = 0; n < SLOTS; n++)
        raw_send(peers[n].fd, fpdu, next_segment(&peers[n], fpdu, 10, true));
    pass(10 * SHARE_MS);
    CHECK(count_up(peers, SLOTS) == SLOTS);
    CHECK(repost(&s, peers, SLOTS) == SLOTS);
    close_shared(&s, peers, SLOTS);
}

/* Nobody else needs the receives that are left. */
static void only_one(void)
{
    struct peer peers[1];
    struct shop s;

    open_shared(&s, peers, 1);
    for (int i = 0; i < SLOTS - 1; i++)
        send_segment(&peers[0], &s, 10, true); /* not posted again */
    send_segment(&peers[0], &s, 10, false);
    pass(10 * SHARE_MS);
    CHECK(is_up(&peers[0]));
    close_shared(&s, peers, 1);
}

static const struct test tests[] = {
    { "half_a_frame", half_a_frame },
    { "byte_by_byte", byte_by_byte },
    { "first_segment_alone", first_segment_alone },
    { "trickle", trickle },
    { "write_without_end", write_without_end },
    { "half_an_answer", half_an_answer },
    { "slow_message", slow_message },
    { "next_message", next_message },
    { "unread", unread },
    { "no_limit", no_limit },
    { "while_disconnecting", while_disconnecting },
    { "starved", starved },
    { "busy", busy },
    { "busy_with_short_ones", busy_with_short_ones },
    { "crowded_and_unread", crowded_and_unread },
    { "only_one", only_one },
};

int main(int argc, char **argv)
{
    world_by_hand(&clock_ns);
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
