/* SPDX-License-Identifier: MIT */
/* Connections are established and carry messages, with every form of start-up. */
#include <stdio.h>
#include <string.h>

#include "fabric/iwarp/conn.h"
#include "fabric/world.h"
#include "wire/mpa.h"

/* A message each way, a write and a read. */
static void talk(struct world *w)
{
    memset(w->sa.memory, 0x5a, 1000);
    post(&w->sb, RDMA_OP_RECEIVE, 0, &w->sb, 4096, 2000, NULL, 0);
    post(&w->sa, RDMA_OP_SEND, 0, w, 0, 1000, NULL, 0);
    expect_completion(&w->sa, RDMA_OP_SEND, w, 1000);
    expect_completion(&w->sb, RDMA_OP_RECEIVE, &w->sb, 1000);
    CHECK(memcmp(w->sb.memory + 4096, w->sa.memory, 1000) == 0);
    CHECK(w->sb.memory[4096 + 1000] == 0);

    post(&w->sa, RDMA_OP_RECEIVE, 0, &w->sa, 4096, 2000, NULL, 0);
    post(&w->sb, RDMA_OP_WRITE, 0, w, 4096, 1000, &w->sa, 8192);
    post(&w->sb, RDMA_OP_SEND, 0, w, 0, 0, NULL, 0);
    expect_completion(&w->sb, RDMA_OP_WRITE, w, 0);
    expect_completion(&w->sb, RDMA_OP_SEND, w, 0);
    expect_completion(&w->sa, RDMA_OP_RECEIVE, &w->sa, 0);
    CHECK(memcmp(w->sa.memory + 8192, w->sa.memory, 1000) == 0);

    post(&w->sa, RDMA_OP_READ, 0, w, 16384, 1000, &w->sb, 4096);
    expect_completion(&w->sa, RDMA_OP_READ, w, 0);
    CHECK(memcmp(w->sa.memory + 16384, w->sa.memory, 1000) == 0);
}

static void whole_life(struct world *w, int family)
{
    world_open(w, family);
    world_connect(w);
    CHECK(w->passive->private_len == 4 && memcmp(w->passive->private_data, "ping", 4) == 0);
    CHECK(w->active.private_len == 5 && memcmp(w->active.private_data, "pong!", 5) == 0);
    CHECK(addr_equal(&w->active.local, &w->passive->remote));
    CHECK(addr_equal(&w->active.remote, &w->passive->local));
    talk(w);
    world_disconnect(w);
    CHECK(atomic_load(&w->active.ended) + atomic_load(&w->passive->ended) <= 1);
    expect_no_completion(&w->sa);
    expect_no_completion(&w->sb);
    world_close(w);
}

/* covers: CON-01, CON-04, CON-19, CMP-01, ACC-04, DSC-01 */
static void ipv4(void)
{
    struct world w;

    world_defaults(&w);
    whole_life(&w, AF_INET);
}

/* covers: ADP-03 */
static void ipv6(void)
{
    struct world w;

    world_defaults(&w);
    whole_life(&w, AF_INET6);
}

static void form(uint8_t revision, bool crc_a, bool crc_b, unsigned rtr)
{
    struct world w;

    world_defaults(&w);
    w.config_a.iwarp.mpa_revision = revision;
    w.config_a.iwarp.crc = crc_a;
    w.config_b.iwarp.crc = crc_b;
    w.config_a.iwarp.rtr = rtr;
    whole_life(&w, AF_INET);
}

/* covers: WIR-02 */
static void forms(void)
{
    static const unsigned rtrs[] = { 0, MPA_RTR_ZERO_FPDU, MPA_RTR_WRITE, MPA_RTR_READ, MPA_RTR_READ | MPA_RTR_WRITE };

    for (int crc = 0; crc < 4; crc++) {
        form(0, crc & 1, crc & 2, 7);
        form(1, crc & 1, crc & 2, 7);
        for (size_t i = 0; i < sizeof rtrs / sizeof *rtrs; i++)
            form(2, crc & 1, crc & 2, rtrs[i]);
    }
}

/* The queue pairs are on other shards than the connection's first one and the listener. covers: ACC-05 */
static void moves(void)
{
    for (int at = 0; at < 3; at++) {
        struct world w;
        struct addr any = loopback(AF_INET, 0);

        world_defaults(&w);
        w.config_a.shards = w.config_b.shards = 3;
        world_open_fabric(&w.a, &w.config_a);
        world_open_fabric(&w.b, &w.config_b);
        side_open(&w.sa, w.a, at, 4 * DEPTH);
        side_open(&w.sb, w.b, at, 4 * DEPTH);
        acceptor_open(&w.acceptor, w.b, &any);
        link_open(&w.active, w.a);
        world_request(&w);
        post(&w.sb, RDMA_OP_RECEIVE, 0, &w, 0, 100, NULL, 0);
        world_accept(&w);
        CHECK(w.passive->c->home->shard == w.b->ops->cq_shard(w.sb.cq));
        world_complete(&w);
        CHECK(w.active.c->home->shard == w.a->ops->cq_shard(w.sa.cq));
        post(&w.sa, RDMA_OP_SEND, 0, &w, 0, 100, NULL, 0);
        expect_completion(&w.sa, RDMA_OP_SEND, &w, 100);
        expect_completion(&w.sb, RDMA_OP_RECEIVE, &w, 100);
        talk(&w);
        world_disconnect(&w);
        world_close(&w);
    }
}

static void connect_limited(struct world *w, uint16_t a_in, uint16_t a_out, uint16_t b_in, uint16_t b_out)
{
    struct addr local = loopback(AF_INET, 0);
    struct fabric_connect c = {
        .qp = w->sa.qp, .local = local, .remote = w->acceptor.local, .limits = { a_in, a_out }
    };
    struct fabric_accept p = { .qp = w->sb.qp, .limits = { b_in, b_out } };

    CHECK(w->a->ops->conn_connect(w->active.c, &c) == 0);
    AWAIT(atomic_load(&w->acceptor.requests));
    w->passive = &w->acceptor.link[0];
    CHECK(w->b->ops->conn_accept(w->passive->c, NULL, &p) == 0);
    AWAIT(atomic_load(&w->active.connected));
    CHECK(w->active.connected_why == FABRIC_OK);
    world_complete(w);
}

/* covers: CON-02, CON-03 */
static void limits(void)
{
    struct world w;

    world_defaults(&w);
    w.config_b.max_inbound_reads = 6;
    world_open(&w, AF_INET);
    connect_limited(&w, 3, 60000, 60000, 4);
    CHECK(w.passive->limits.inbound == 6); /* the peer offers 32, its adapter's limit; capped by this adapter */
    CHECK(w.passive->limits.outbound == 3);
    CHECK(w.active.limits.inbound == 3 && w.active.limits.outbound == 6);
    CHECK(w.active.effective.inbound == 3 && w.active.effective.outbound == 6);
    CHECK(w.passive->effective.inbound == 6 && w.passive->effective.outbound == 3);
    world_disconnect(&w);
    world_close(&w);
}

/* covers: CON-01, ACC-04 */
static void private_data(void)
{
    static const size_t sizes[] = { 0, 1, 251, 252, 508 };
    struct addr local = loopback(AF_INET, 0);
    uint8_t out[508], back[508];

    for (size_t i = 0; i < sizeof out; i++) {
        out[i] = (uint8_t)(i * 7);
        back[i] = (uint8_t)(i * 11);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct world w;

        world_defaults(&w);
        w.config_a.max_private = w.config_b.max_private = 508;
        world_open(&w, AF_INET);
        link_connect(&w.active, w.sa.qp, &local, &w.acceptor.local, out, sizes[i]);
        AWAIT(atomic_load(&w.acceptor.requests));
        w.passive = &w.acceptor.link[0];
        CHECK(w.passive->private_len == sizes[i] && memcmp(w.passive->private_data, out, sizes[i]) == 0);
        link_accept(w.passive, w.sb.qp, back, sizes[i]);
        AWAIT(atomic_load(&w.active.connected));
        CHECK(w.active.private_len == sizes[i] && memcmp(w.active.private_data, back, sizes[i]) == 0);
        world_complete(&w);
        world_disconnect(&w);
        world_close(&w);
    }
}

/* covers: QPR-10 */
static void deferred(void)
{
    struct world w;
    struct rdma_sge sge = { 1, 100, 0xdead };
    struct rdma_request bad = { .op = RDMA_OP_SEND, .sges = &sge, .sge_count = 1 };

    world_defaults(&w);
    world_open(&w, AF_INET);
    world_connect(&w);
    for (int i = 0; i < 3; i++)
        post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w.sa, RDMA_OP_SEND, RDMA_FLAG_DEFER, NULL, 0, 10, NULL, 0);
    post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 11, NULL, 0);
    expect_completion(&w.sb, RDMA_OP_RECEIVE, NULL, 10);
    expect_completion(&w.sb, RDMA_OP_RECEIVE, NULL, 11);
    post(&w.sa, RDMA_OP_SEND, RDMA_FLAG_DEFER, NULL, 0, 12, NULL, 0);
    CHECK(w.a->ops->qp_post(w.sa.qp, &bad) != 0);
    w.a->ops->qp_ring(w.sa.qp);
    expect_completion(&w.sb, RDMA_OP_RECEIVE, NULL, 12);
    for (int i = 0; i < 3; i++)
        expect_completion(&w.sa, RDMA_OP_SEND, NULL, 0);
    world_disconnect(&w);
    world_close(&w);
}

/* clang-format off */
static const struct test tests[] = {
    { "forms", forms },
    { "moves", moves },
    { "limits", limits },
    { "private_data", private_data },
    { "deferred", deferred },
    { "ipv4", ipv4 },
    { "ipv6", ipv6 },
};
/* clang-format on */

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
