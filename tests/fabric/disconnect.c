/* SPDX-License-Identifier: MIT */
/* The ways a connection ends, in every order. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "fabric/world.h"

static void up(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
    world_connect(w);
}

static void expect_failure(struct side *s, enum rdma_status status)
{
    struct rdma_completion c;

    wait_completion(s, &c);
    CHECK(c.status == status);
}

/* covers: DSC-01, DSC-02 */
static void one_then_other(void)
{
    struct world w;

    up(&w);
    for (int i = 0; i < 8; i++)
        post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 60000, NULL, 0);
    for (int i = 0; i < 8; i++)
        post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 60000, NULL, 0);
    post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_PEER_CLOSED);
    for (int i = 0; i < 8; i++)
        expect_completion(&w.sb, RDMA_OP_RECEIVE, NULL, 60000);
    for (int i = 0; i < 8; i++)
        expect_completion(&w.sa, RDMA_OP_SEND, NULL, 0);
    expect_no_completion(&w.sb); /* the notice flushes nothing */
    CHECK(atomic_load(&w.active.disconnected) == 0);
    w.b->ops->conn_disconnect(w.passive->c);
    AWAIT(atomic_load(&w.passive->disconnected));
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_OK && w.passive->disconnected_why == FABRIC_OK);
    CHECK(atomic_load(&w.active.ended) == 0);
    expect_failure(&w.sb, RDMA_STATUS_FLUSHED);
    expect_no_completion(&w.sa);
    world_close(&w);
}

/* Requests posted after the peer's notice still reach it. covers: DSC-01 */
static void work_after_notice(void)
{
    struct world w;

    up(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 60000, NULL, 0);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    post(&w.sb, RDMA_OP_SEND, 0, NULL, 0, 60000, NULL, 0);
    w.b->ops->conn_disconnect(w.passive->c);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_OK);
    expect_completion(&w.sa, RDMA_OP_RECEIVE, NULL, 60000);
    expect_completion(&w.sb, RDMA_OP_SEND, NULL, 0);
    AWAIT(atomic_load(&w.passive->disconnected));
    CHECK(w.passive->disconnected_why == FABRIC_OK);
    world_close(&w);
}

/* Reads beyond the limit wait, and are posted before the disconnect like everything else. covers: DSC-01 */
static void reads_first(void)
{
    struct world w;

    up(&w);
    for (int i = 0; i < 40; i++)
        post(&w.sa, RDMA_OP_READ, 0, &w, (size_t)i * 1000, 1000, &w.sb, 0); /* eight at a time */
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    w.b->ops->conn_disconnect(w.passive->c);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_OK);
    for (int i = 0; i < 40; i++)
        expect_completion(&w.sa, RDMA_OP_READ, &w, 0);
    world_close(&w);
}

/* covers: DSC-04 */
static void both_at_once(void)
{
    for (int i = 0; i < 50; i++) {
        struct world w;

        up(&w);
        world_disconnect(&w);
        world_close(&w);
    }
}

/* covers: DSC-02, QPR-17, QPR-20 */
static void closed_while_up(void)
{
    struct world w;

    up(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    link_close(&w.active);
    expect_failure(&w.sa, RDMA_STATUS_FLUSHED);
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_PEER_RESET);
    expect_failure(&w.sb, RDMA_STATUS_LOST);
    w.b->ops->conn_disconnect(w.passive->c);
    AWAIT(atomic_load(&w.passive->disconnected));
    CHECK(w.passive->disconnected_why == FABRIC_PEER_RESET);
    CHECK(atomic_load(&w.active.ended) == 0 && atomic_load(&w.active.disconnected) == 0);
    link_open(&w.active, w.a);
    world_close(&w);
}

/* covers: DSC-03 */
static void never_answered(void)
{
    struct world w;

    world_defaults(&w);
    w.config_a.disconnect_ms = 30;
    world_open(&w, AF_INET);
    world_connect(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_DISCONNECT_TIMEOUT);
    expect_failure(&w.sa, RDMA_STATUS_LOST);
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_PEER_CLOSED && atomic_load(&w.passive->ended) == 1);
    w.b->ops->conn_disconnect(w.passive->c);
    AWAIT(atomic_load(&w.passive->disconnected));
    world_close(&w);
}

enum { SLOW_LIMIT_MS = 1500, SLOW_MS = 3600, SLOW_SENDS = 6, SLOW_STEP = 8192 };

/* A peer of revision 1 whose TCP accepts little at a time. */
static int slow_peer(struct world *w, int *listen_fd)
{
    struct mpa_frame got, reply = { .reply = true, .revision = 1 };
    struct addr at, local = loopback(AF_INET, 0);
    int segment = 500, room = SLOW_STEP, fd;
    uint8_t bytes[MPA_MAX_FRAME];

    *listen_fd = raw_listen(1, &at);
    CHECK(setsockopt(*listen_fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment) == 0);
    CHECK(setsockopt(*listen_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0);
    link_connect(&w->active, w->sa.qp, &local, &at, NULL, 0);
    fd = raw_accept(*listen_fd);
    raw_read_frame(fd, false, &got, bytes);
    raw_send_frame(fd, &reply);
    AWAIT(atomic_load(&w->active.connected));
    CHECK(w->active.connected_why == FABRIC_OK);
    w->a->ops->conn_complete(w->active.c);
    AWAIT(atomic_load(&w->active.established));
    return fd;
}

/* Reads to the end of stream, evenly over SLOW_MS. If a read was delayed, the next ones follow without a pause. */
static size_t read_slowly(int fd)
{
    uint64_t begin = now_ms();
    uint8_t bytes[SLOW_STEP];
    size_t all = 0;
    ssize_t n;

    do {
        while (now_ms() - begin < all * SLOW_MS / (SLOW_SENDS * 60000))
            world_pause();
        n = recv(fd, bytes, sizeof bytes, 0);
        all += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    CHECK(n == 0); /* the end of stream, not a reset */
    return all;
}

/*
 * The limit begins again while the peer reads what was sent. The peer receives all of it, then the notice.
 * covers: DSC-01
 */
static void slow_reader(void)
{
    struct world w;
    int listen_fd, fd;

    world_defaults(&w);
    w.config_a.iwarp.mpa_revision = 1;
    w.config_a.iwarp.crc = false;
    w.config_a.disconnect_ms = SLOW_LIMIT_MS;
    world_open(&w, AF_INET);
    fd = slow_peer(&w, &listen_fd);
    for (int i = 0; i < SLOW_SENDS; i++)
        post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 60000, NULL, 0);
    w.a->ops->conn_disconnect(w.active.c);
    CHECK(read_slowly(fd) > SLOW_SENDS * 60000);
    CHECK(atomic_load(&w.active.disconnected) == 0);
    close(fd);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_OK);
    for (int i = 0; i < SLOW_SENDS; i++)
        expect_completion(&w.sa, RDMA_OP_SEND, NULL, 0);
    close(listen_fd);
    world_close(&w);
}

/* covers: DSC-03 */
static void reset_after_notice(void)
{
    struct world w;

    up(&w);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    link_close(w.passive);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_PEER_RESET);
    w.passive = NULL;
    world_close(&w);
}

/*
 * The peer closes its connector while this side's disconnect waits: the disconnect ends with the connection.
 * covers: OBJ-11
 */
static void closed_while_disconnecting(void)
{
    struct world w;

    up(&w);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.passive->ended));
    link_close(&w.active);
    CHECK(atomic_load(&w.active.disconnected) == 1 && w.active.disconnected_why == FABRIC_LOCAL_CLOSE);
    link_open(&w.active, w.a);
    world_close(&w);
}

/* covers: QPR-05 */
static void terminated(void)
{
    struct world w;

    up(&w);
    post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 60000, NULL, 0); /* the peer has posted no receive */
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_PROTOCOL);
    AWAIT(atomic_load(&w.active.ended));
    CHECK(w.active.ended_why == FABRIC_PEER_TERMINATE);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_PEER_TERMINATE);
    world_close(&w);
}

/* The same with much more data in flight: no reset discards the Terminate. */
static void terminated_under_load(void)
{
    for (int round = 0; round < 20; round++) {
        struct world w;

        up(&w);
        post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 60000, NULL, 0);
        for (int i = 0; i < DEPTH; i++) {
            struct rdma_sge sge = { (uintptr_t)w.sa.memory, 60000, w.sa.token };
            struct rdma_request r = { .op = RDMA_OP_SEND, .sges = &sge, .sge_count = 1 };
            int error = w.a->ops->qp_post(w.sa.qp, &r);
            CHECK(error == 0 || error == ENOTCONN); /* the connection may have ended */
        }
        AWAIT(atomic_load(&w.passive->ended));
        CHECK(w.passive->ended_why == FABRIC_PROTOCOL);
        AWAIT(atomic_load(&w.active.ended));
        CHECK(w.active.ended_why == FABRIC_PEER_TERMINATE);
        world_close(&w);
    }
}

/* covers: CON-20 */
static void same_four_tuple_again(void)
{
    struct world w;
    struct addr local;

    up(&w);
    local = w.active.local;
    for (int i = 0; i < 20; i++) {
        world_disconnect(&w);
        link_close(&w.active);
        link_close(w.passive);
        link_open(&w.active, w.a);
        int before = atomic_load(&w.acceptor.requests);
        link_connect(&w.active, w.sa.qp, &local, &w.acceptor.local, NULL, 0);
        AWAIT(atomic_load(&w.acceptor.requests) > before || atomic_load(&w.active.connected));
        CHECK(!atomic_load(&w.active.connected));
        w.passive = &w.acceptor.link[before % LINKS];
        world_accept(&w);
        world_complete(&w);
        CHECK(addr_equal(&w.active.local, &local));
    }
    world_disconnect(&w);
    world_close(&w);
}

static const struct test tests[] = {
    { "one_then_other", one_then_other },
    { "work_after_notice", work_after_notice },
    { "reads_first", reads_first },
    { "both_at_once", both_at_once },
    { "closed_while_up", closed_while_up },
    { "never_answered", never_answered },
    { "slow_reader", slow_reader },
    { "reset_after_notice", reset_after_notice },
    { "closed_while_disconnecting", closed_while_disconnecting },
    { "terminated", terminated },
    { "terminated_under_load", terminated_under_load },
    { "same_four_tuple_again", same_four_tuple_again },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
