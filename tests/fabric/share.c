/* SPDX-License-Identifier: MIT */
/*
 * A shared receive queue whose receives are occupied by peers that do not finish their messages. The test sets the
 * clock, except in the last case.
 */
#include <sys/socket.h>

#include "fabric/raw.h"
#include "fabric/service.h"

enum { STALL_MS = 30000, SHARE_MS = 500 };

static uint64_t clock_ns = 1000 * (uint64_t)MS;

/* Advances the clock, and runs everything that is due. */
static void pass(uint64_t ms)
{
    clock_ns += ms * MS;
    for (int i = 0; i < 8; i++)
        world_pause();
}

static void open_shared(struct service *s, struct peer *peers, int count)
{
    service_defaults(s);
    s->config.srq_stall_ms = SHARE_MS;
    service_open_shared(s);
    for (int i = 0; i < count; i++)
        peer_open(&peers[i], s, i);
}

static void close_shared(struct service *s, struct peer *peers, int count)
{
    for (int i = 0; i < count; i++)
        peer_close(&peers[i]);
    service_close_shared(s);
}

/* Posts completed receives again, as a consumer does. Returns how many messages were delivered in full. */
static int repost(struct service *s, struct peer *peers, int count)
{
    struct rdma_completion c;
    int delivered = 0;

    for (int i = 0; i < count; i++) {
        while (s->f->ops->cq_poll(peers[i].side.cq, &c, 1) == 1) {
            CHECK(c.op == RDMA_OP_RECEIVE);
            CHECK(c.status == RDMA_STATUS_OK ||
                  (c.status == RDMA_STATUS_LOST && (c.reason == FABRIC_SRQ_SHARE || c.reason == FABRIC_PROTOCOL)));
            delivered += c.status == RDMA_STATUS_OK;
            service_post_shared(s, (uintptr_t)c.context);
        }
    }
    return delivered;
}

static int count_up(const struct peer *peers, int count)
{
    int up = 0;

    for (int i = 0; i < count; i++)
        up += peer_is_up(&peers[i]);
    return up;
}

/*
 * Peers on all shards begin messages and send no more, until they have all receives but two. The connections that began
 * first end, down to the share. Good peers continue, one with a long message in progress, others with short ones.
 */
static void starved(void)
{
    enum { HOSTILE = 13, GOOD = 4, SHORT = 20 };
    struct peer peers[HOSTILE + GOOD], *good = peers + HOSTILE;
    struct service s;
    int survivors;

    open_shared(&s, peers, HOSTILE + GOOD);
    peer_send_segment(&good[0], &s, 8000, false);
    for (int i = 0; i < HOSTILE; i++) {
        peer_send_segment(&peers[i], &s, i % 2 ? 0 : 1000, false); /* an empty segment occupies a receive too */
        pass(1);
    }
    for (int i = 0; i < 4; i++) {
        peer_send_segment(&good[0], &s, 8000, false);
        pass(SHARE_MS / 4);
    }
    AWAIT((repost(&s, peers, HOSTILE + GOOD), count_up(peers, HOSTILE)) <= SLOTS / 2);
    CHECK(count_up(good, GOOD) == GOOD);
    survivors = count_up(peers, HOSTILE);
    CHECK(survivors >= SLOTS / 2 - 1); /* and no more than necessary ended */
    for (int i = 0; i < HOSTILE; i++) {
        CHECK(peer_is_up(&peers[i]) == (i >= HOSTILE - survivors));
        if (!peer_is_up(&peers[i]))
            CHECK(peers[i].link->ended_why == FABRIC_SRQ_SHARE);
    }
    CHECK(counters(&s).connection_errors == (uint64_t)(HOSTILE - survivors));
    for (int i = 0; i < SHORT; i++) {
        for (int n = 1; n < GOOD; n++)
            peer_send_segment(&good[n], &s, 100, true);
        CHECK(repost(&s, peers, HOSTILE + GOOD) == GOOD - 1);
    }
    peer_send_segment(&good[0], &s, 1000, true);
    CHECK(repost(&s, peers, HOSTILE + GOOD) == 1);
    pass(10 * SHARE_MS);
    CHECK(count_up(good, GOOD) == GOOD && count_up(peers, HOSTILE) == survivors);
    pass(STALL_MS);
    CHECK(count_up(good, GOOD) == GOOD && count_up(peers, HOSTILE) == 0);
    close_shared(&s, peers, HOSTILE + GOOD);
}

/* Long messages that progress occupy all receives, as with a busy consumer: no connection ends. */
static void busy(void)
{
    struct peer peers[SLOTS];
    struct service s;

    open_shared(&s, peers, SLOTS);
    for (int n = 0; n < SLOTS; n++)
        peer_send_segment(&peers[n], &s, 10, false);
    for (int i = 0; i < 14; i++) {
        pass(SHARE_MS - 1);
        for (int n = 0; n < SLOTS; n++)
            peer_send_segment(&peers[n], &s, 4200, false);
        pass(1);
        CHECK(count_up(peers, SLOTS) == SLOTS);
    }
    for (int n = 0; n < SLOTS; n++)
        peer_send_segment(&peers[n], &s, 10, true);
    CHECK(repost(&s, peers, SLOTS) == SLOTS);
    close_shared(&s, peers, SLOTS);
}

/* The queue is crowded by messages that each end in time, and are followed by others. */
static void busy_with_short_ones(void)
{
    struct peer peers[SLOTS];
    struct service s;

    open_shared(&s, peers, SLOTS);
    for (int i = 0; i < 14; i++) {
        for (int n = 0; n < SLOTS; n++)
            peer_send_segment(&peers[n], &s, 10, false);
        pass(SHARE_MS - 1);
        for (int n = 0; n < SLOTS; n++)
            peer_send_segment(&peers[n], &s, 10, true);
        CHECK(repost(&s, peers, SLOTS) == SLOTS);
        pass(1);
        CHECK(count_up(peers, SLOTS) == SLOTS);
    }
    close_shared(&s, peers, SLOTS);
}

/* Data beyond the share that is still in a socket is read before any connection is ended. */
static void crowded_and_unread(void)
{
    struct peer peers[SLOTS];
    uint8_t fpdu[MAX_FPDU];
    struct service s;

    open_shared(&s, peers, SLOTS);
    for (int n = 0; n < SLOTS; n++)
        peer_send_segment(&peers[n], &s, 10, false);
    for (int n = 0; n < SLOTS; n++)
        raw_send(peers[n].fd, fpdu, peer_encode_segment(&peers[n], fpdu, 10, true));
    pass(10 * SHARE_MS);
    CHECK(count_up(peers, SLOTS) == SLOTS);
    CHECK(repost(&s, peers, SLOTS) == SLOTS);
    close_shared(&s, peers, SLOTS);
}

/* No other connection needs the remaining receives. */
static void only_one(void)
{
    struct peer peers[1];
    struct service s;

    open_shared(&s, peers, 1);
    for (int i = 0; i < SLOTS - 1; i++)
        peer_send_segment(&peers[0], &s, 10, true); /* the receive is not posted again */
    peer_send_segment(&peers[0], &s, 10, false);
    pass(10 * SHARE_MS);
    CHECK(peer_is_up(&peers[0]));
    close_shared(&s, peers, 1);
}

/* ---- with the shards' own threads ---- */

/* The peer may be ended at any time. */
static void try_send(struct peer *p, size_t payload, bool last)
{
    uint8_t fpdu[MAX_FPDU];
    size_t len = peer_encode_segment(p, fpdu, payload, last);

    (void)send(p->fd, fpdu, len, MSG_NOSIGNAL);
}

/* Two peers in each round. */
static bool is_late(int peer, int round)
{
    return peer == round % SLOTS || peer == (round + 5) % SLOTS;
}

/*
 * Messages in two parts on all shards, and a share that two of them exceed. Timing decides which connections end, while
 * others begin, end and are checked on other shards. No receive is lost, and everything can be closed.
 */
static void crowded(void)
{
    struct peer peers[SLOTS];
    struct service s;

    world_set_manual(NULL);
    service_defaults(&s);
    s.config.srq_share_percent = 1;
    s.config.srq_stall_ms = 1;
    service_open_shared(&s);
    for (int i = 0; i < SLOTS; i++)
        peer_open(&peers[i], &s, i);
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < SLOTS; i++)
            try_send(&peers[i], 100, false);
        for (int i = 0; i < SLOTS; i++)
            if (!is_late(i, round))
                try_send(&peers[i], 100, true);
        for (int i = 0; i < round % 12; i++)
            world_pause();
        for (int i = 0; i < SLOTS; i++)
            if (is_late(i, round))
                try_send(&peers[i], 100, true); /* the connection may have ended */
        (void)repost(&s, peers, SLOTS);
    }
    CHECK(count_up(peers, SLOTS) > 0);
    close_shared(&s, peers, SLOTS);
    world_set_manual(&clock_ns);
}

static const struct test tests[] = {
    { "starved", starved },
    { "busy", busy },
    { "busy_with_short_ones", busy_with_short_ones },
    { "crowded_and_unread", crowded_and_unread },
    { "only_one", only_one },
    { "crowded", crowded },
};

int main(int argc, char **argv)
{
    world_set_manual(&clock_ns);
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
