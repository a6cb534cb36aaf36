/* SPDX-License-Identifier: MIT */
/* Slow, silent, wrong and hostile peers, which are plain sockets. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "fabric/world.h"
#include "wire/terminate.h"

static const struct mpa_frame request = {
    .revision = 2,
    .enhanced = true,
    .has_limits = true,
    .ird = 4,
    .ord = 4,
    .private_data = (const uint8_t *)"hello",
    .private_len = 5,
};

static void open_world(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
}

static struct fabric_counters counters(struct fabric *f)
{
    struct fabric_counters c;

    f->ops->counters(f, &c);
    return c;
}

/* An honest peer is served meanwhile. */
static void serves(struct world *w)
{
    world_connect(w);
    world_disconnect(w);
}

/* covers: LSN-08 */
static void garbage(void)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n";
    struct world w;
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    raw_send(fd, http, sizeof http - 1);
    CHECK(raw_read_to_end(fd, NULL, 0) <= 0);
    close(fd);
    CHECK(atomic_load(&w.acceptor.requests) == 0);
    CHECK(counters(w.b).refused == 1);
    serves(&w);
    world_close(&w);
}

/* A request with markers is rejected, also if bytes follow it. covers: LSN-08 */
static void markers(void)
{
    struct mpa_frame f = request, reply;
    uint8_t bytes[MPA_MAX_FRAME], more[2000] = { 0 };
    struct world w;
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    f.markers = true;
    raw_send_frame(fd, &f);
    raw_send(fd, more, sizeof more);
    raw_read_frame(fd, true, &reply, bytes);
    CHECK(reply.rejected);
    CHECK(raw_read_to_end(fd, NULL, 0) == 0);
    close(fd);
    serves(&w);
    CHECK(atomic_load(&w.acceptor.requests) == 1);
    world_close(&w);
}

/* covers: LSN-03, LSN-08 */
static void byte_by_byte(void)
{
    uint8_t bytes[MPA_MAX_FRAME];
    size_t len = mpa_frame_encode(&request, bytes, sizeof bytes);
    struct mpa_frame reply;
    struct world w;
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    for (size_t i = 0; i + 1 < len; i++) {
        raw_send(fd, bytes + i, 1);
        world_pause();
        CHECK(atomic_load(&w.acceptor.requests) == 0);
    }
    raw_send(fd, bytes + len - 1, 1);
    AWAIT(atomic_load(&w.acceptor.requests) == 1);
    w.passive = &w.acceptor.link[0];
    CHECK(w.passive->private_len == 5 && memcmp(w.passive->private_data, "hello", 5) == 0);
    CHECK(w.passive->limits.inbound == 4 && w.passive->limits.outbound == 4);
    link_accept(w.passive, w.sb.qp, "welcome", 7);
    raw_read_frame(fd, true, &reply, bytes);
    CHECK(!reply.rejected && !reply.peer_to_peer && reply.private_len == 7);
    AWAIT(atomic_load(&w.passive->established)); /* without ready-to-receive the reply establishes the connection */
    CHECK(w.passive->established_why == FABRIC_OK);
    close(fd);
    AWAIT(atomic_load(&w.passive->ended));
    CHECK(w.passive->ended_why == FABRIC_PEER_CLOSED);
    world_close(&w);
}

/* covers: LSN-08 */
static void too_slow(void)
{
    struct world w;
    int fd;

    world_defaults(&w);
    w.config_b.request_ms = 30;
    world_open(&w, AF_INET);
    fd = raw_connect(&w.acceptor.local);
    raw_send(fd, "MPA ID Req", 10);
    CHECK(raw_read_to_end(fd, NULL, 0) <= 0);
    close(fd);
    CHECK(atomic_load(&w.acceptor.requests) == 0 && counters(w.b).dropped == 1);
    w.config_b.request_ms = 5000;
    world_close(&w);
}

/* covers: LSN-08 */
static void oldest_first(void)
{
    struct world w;
    int fd[4];

    world_defaults(&w);
    w.config_b.max_unfinished = 2;
    world_open(&w, AF_INET);
    for (int i = 0; i < 4; i++)
        fd[i] = raw_connect(&w.acceptor.local);
    for (int i = 0; i < 2; i++)
        CHECK(raw_read_to_end(fd[i], NULL, 0) <= 0);
    AWAIT(counters(w.b).dropped == 2);
    raw_send_frame(fd[3], &request);
    AWAIT(atomic_load(&w.acceptor.requests) == 1);
    raw_send_frame(fd[2], &request);
    AWAIT(atomic_load(&w.acceptor.requests) == 2);
    for (int i = 0; i < 4; i++)
        close(fd[i]);
    link_close(&w.acceptor.link[0]);
    link_close(&w.acceptor.link[1]);
    world_close(&w);
}

/* The close of a rejected request does not wait for the peer to close, and the reject is not lost. */
static void rejected_and_closed(void)
{
    struct mpa_frame reply;
    uint8_t bytes[MPA_MAX_FRAME];
    struct world w;
    int fd[16];

    open_world(&w);
    for (int i = 0; i < 16; i++) {
        fd[i] = raw_connect(&w.acceptor.local);
        raw_send_frame(fd[i], &request);
        AWAIT(atomic_load(&w.acceptor.requests) == i + 1);
        link_close(&w.acceptor.link[i]);
    }
    for (int i = 0; i < 16; i++) {
        raw_read_frame(fd[i], true, &reply, bytes);
        CHECK(reply.rejected);
        CHECK(raw_read_to_end(fd[i], NULL, 0) == 0);
        close(fd[i]);
    }
    world_close(&w);
}

/* covers: LSN-09, CON-09 */
static void backlog(void)
{
    struct mpa_frame reply;
    uint8_t bytes[MPA_MAX_FRAME];
    struct world w;
    int fd[3];

    world_defaults(&w);
    w.config_b.backlog = 2;
    world_open(&w, AF_INET);
    for (int i = 0; i < 3; i++) {
        fd[i] = raw_connect(&w.acceptor.local);
        raw_send_frame(fd[i], &request);
        if (i < 2)
            AWAIT(atomic_load(&w.acceptor.requests) == i + 1);
    }
    raw_read_frame(fd[2], true, &reply, bytes);
    CHECK(reply.rejected);
    CHECK(atomic_load(&w.acceptor.requests) == 2);
    link_close(&w.acceptor.link[0]); /* answered: there is room again */
    world_request(&w);
    CHECK(w.b->ops->conn_reject(w.passive->c, NULL, 0) == FABRIC_OK);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_REJECTED);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    link_close(&w.acceptor.link[1]);
    world_close(&w);
}

/*
 * Requests whose peer has left are counted apart from those whose peer waits, and both are limited: at most twice the
 * backlog in all.
 * covers: LSN-09
 */
static void backlog_of_closed_peers(void)
{
    struct mpa_frame reply;
    uint8_t bytes[MPA_MAX_FRAME];
    struct world w;
    int fd[4];

    world_defaults(&w);
    w.config_b.backlog = 2;
    world_open(&w, AF_INET);
    for (int i = 0; i < 4; i++) {
        fd[i] = raw_connect(&w.acceptor.local);
        raw_send_frame(fd[i], &request);
        AWAIT(atomic_load(&w.acceptor.requests) == i + 1);
        raw_send(fd[i], "gone", 4); /* a protocol error, so that the test can wait for the end */
        CHECK(raw_read_to_end(fd[i], NULL, 0) <= 0);
        close(fd[i]);
    }
    fd[0] = raw_connect(&w.acceptor.local);
    raw_send_frame(fd[0], &request);
    raw_read_frame(fd[0], true, &reply, bytes);
    CHECK(reply.rejected);
    close(fd[0]);
    CHECK(atomic_load(&w.acceptor.requests) == 4);
    CHECK(w.b->ops->conn_reject(w.acceptor.link[0].c, NULL, 0) == FABRIC_PROTOCOL); /* answered: there is room again */
    world_request(&w);
    CHECK(atomic_load(&w.acceptor.requests) == 5);
    CHECK(w.b->ops->conn_reject(w.passive->c, NULL, 0) == FABRIC_OK);
    AWAIT(atomic_load(&w.active.connected));
    for (int i = 0; i < 4; i++)
        link_close(&w.acceptor.link[i]);
    world_close(&w);
}

/* Bytes behind the request, before the consumer has answered it. */
static void impatient(void)
{
    struct world w;
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    raw_send_frame(fd, &request);
    AWAIT(atomic_load(&w.acceptor.requests) == 1);
    raw_send(fd, "now!", 4);
    CHECK(raw_read_to_end(fd, NULL, 0) <= 0);
    w.passive = &w.acceptor.link[0];
    CHECK(w.b->ops->conn_reject(w.passive->c, NULL, 0) == FABRIC_PROTOCOL);
    link_accept(w.passive, w.sb.qp, NULL, 0);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why == FABRIC_PROTOCOL);
    close(fd);
    world_close(&w);
}

static void accept_after_peer_reset(void)
{
    struct world w;
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    raw_send_frame(fd, &request);
    AWAIT(atomic_load(&w.acceptor.requests) == 1);
    close(fd);
    w.passive = &w.acceptor.link[0];
    link_accept(w.passive, w.sb.qp, NULL, 0);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why == FABRIC_UNANSWERED);
    world_close(&w);
}

/* The peer closes before the accept, which sometimes finds the end of stream first. covers: ACC-02 */
static void peer_gives_up(void)
{
    for (int i = 0; i < 20; i++)
        accept_after_peer_reset();
}

/* ---- as responder ---- */

struct responder {
    struct world w;
    int listen_fd, fd;
    struct mpa_frame got;
    uint8_t bytes[MPA_MAX_FRAME];
};

static void respond(struct responder *r)
{
    struct addr at, local = loopback(AF_INET, 0);

    world_open(&r->w, AF_INET);
    r->listen_fd = raw_listen(8, &at);
    link_connect(&r->w.active, r->w.sa.qp, &local, &at, "ask", 3);
    r->fd = raw_accept(r->listen_fd);
    raw_read_frame(r->fd, false, &r->got, r->bytes);
    CHECK(r->got.private_len == 3 && memcmp(r->got.private_data, "ask", 3) == 0);
}

static void respond_end(struct responder *r)
{
    close(r->fd);
    close(r->listen_fd);
    world_close(&r->w);
}

static void reply(struct responder *r, bool p2p, unsigned rtr, uint16_t ird, uint16_t ord, enum fabric_reason why)
{
    struct mpa_frame f = {
        .reply = true,
        .revision = 2,
        .enhanced = true,
        .has_limits = true,
        .peer_to_peer = p2p,
        .rtr = rtr,
        .ird = ird,
        .ord = ord,
        .crc = r->got.crc,
    };

    raw_send_frame(r->fd, &f);
    AWAIT(atomic_load(&r->w.active.connected));
    CHECK(r->w.active.connected_why == why);
}

/* covers: CON-17 */
static void nonsense_reply(void)
{
    struct responder r;

    world_defaults(&r.w);
    respond(&r);
    raw_send(r.fd, "220 mail.example.org ESMTP\r\n", 28);
    AWAIT(atomic_load(&r.w.active.connected));
    CHECK(r.w.active.connected_why == FABRIC_BAD_REPLY);
    respond_end(&r);
}

static void no_reply(void)
{
    struct responder r;

    world_defaults(&r.w);
    respond(&r);
    close(r.fd);
    AWAIT(atomic_load(&r.w.active.connected));
    CHECK(r.w.active.connected_why == FABRIC_PEER_GAVE_UP);
    r.fd = dup(r.listen_fd);
    respond_end(&r);

    world_defaults(&r.w);
    respond(&r);
    raw_reset(r.fd);
    AWAIT(atomic_load(&r.w.active.connected));
    CHECK(r.w.active.connected_why == FABRIC_PEER_RESET);
    r.fd = dup(r.listen_fd);
    respond_end(&r);
}

/* Reads one FPDU, which must be a Terminate with this code, and the end of the stream. */
static void reads_terminate(struct responder *r, enum wire_error error)
{
    uint8_t fpdu[256];
    long len = raw_read_to_end(r->fd, fpdu, sizeof fpdu);

    CHECK(len >= 2 + DDP_UNTAGGED_HEADER + 4);
    CHECK((fpdu[3] & 0x0f) == 7); /* RDMAP: Terminate */
    CHECK((fpdu[2 + DDP_UNTAGGED_HEADER] << 8 | fpdu[2 + DDP_UNTAGGED_HEADER + 1]) == (int)error);
}

/* covers: WIR-02 */
static void too_many_reads(void)
{
    struct responder r;

    world_defaults(&r.w);
    respond(&r);
    CHECK(r.got.peer_to_peer && r.got.ird == 8);
    reply(&r, true, MPA_RTR_WRITE, 8, 9, FABRIC_READ_LIMITS);
    reads_terminate(&r, WIRE_MPA_INSUFFICIENT_IRD);
    respond_end(&r);
}

/* covers: WIR-02 */
static void unknown_form(void)
{
    struct responder r;

    world_defaults(&r.w);
    r.w.config_a.iwarp.rtr = MPA_RTR_WRITE;
    respond(&r);
    reply(&r, true, MPA_RTR_READ, 8, 8, FABRIC_NO_READY_FORM);
    reads_terminate(&r, WIRE_MPA_NO_RTR);
    respond_end(&r);
}

/* A ready-to-receive read that is never answered. covers: CMP-04 */
static void read_unanswered(void)
{
    struct responder r;

    world_defaults(&r.w);
    r.w.config_a.establish_ms = 30;
    respond(&r);
    reply(&r, true, MPA_RTR_READ, 8, 8, FABRIC_OK);
    r.w.a->ops->conn_complete(r.w.active.c);
    AWAIT(atomic_load(&r.w.active.established));
    CHECK(r.w.active.established_why == FABRIC_ESTABLISH_TIMEOUT);
    CHECK(raw_read_to_end(r.fd, NULL, 0) != 0);
    respond_end(&r);
}

/* covers: CMP-03 */
static void peer_closes_before_complete(void)
{
    struct responder r;

    world_defaults(&r.w);
    respond(&r);
    reply(&r, true, MPA_RTR_READ, 8, 8, FABRIC_OK);
    close(r.fd);
    r.w.a->ops->conn_complete(r.w.active.c);
    AWAIT(atomic_load(&r.w.active.established));
    CHECK(r.w.active.established_why == FABRIC_PEER_GAVE_UP || r.w.active.established_why == FABRIC_PEER_RESET);
    r.fd = dup(r.listen_fd);
    respond_end(&r);
}

/* An empty send of revision 1 without CRC: 18 bytes of DDP and RDMAP header in 24. */
static const uint8_t empty_send[] = {
    0, 18, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
};

static void respond_plain(struct responder *r)
{
    struct mpa_frame f = { .reply = true, .revision = 1 };

    r->w.config_a.iwarp.mpa_revision = 1;
    r->w.config_a.iwarp.crc = false;
    respond(r);
    raw_send_frame(r->fd, &f);
    AWAIT(atomic_load(&r->w.active.connected));
    CHECK(r->w.active.connected_why == FABRIC_OK);
}

/* A peer that sends before this side's first message: no byte is lost. */
static void early_bytes(void)
{
    struct responder r;

    world_defaults(&r.w);
    respond_plain(&r);
    for (int i = 0; i < 8; i++) {
        uint8_t fpdu[sizeof empty_send];
        memcpy(fpdu, empty_send, sizeof fpdu);
        fpdu[15] = (uint8_t)(i + 1);
        raw_send(r.fd, fpdu, sizeof fpdu);
        post(&r.w.sa, RDMA_OP_RECEIVE, 0, &r, 0, 10, NULL, 0);
    }
    for (int i = 0; i < 20; i++)
        world_pause(); /* so that usually some of it arrives before complete */
    r.w.a->ops->conn_complete(r.w.active.c);
    for (int i = 0; i < 8; i++)
        expect_completion(&r.w.sa, RDMA_OP_RECEIVE, &r, 0);
    respond_end(&r);
}

/* A peer that stays silent after the first message is nudged with zero-length writes, a few times at most. */
enum { NUDGES_READ = 2 };

static void nudged(void)
{
    uint8_t fpdu[24], nudge[20];
    struct responder r;

    world_defaults(&r.w);
    r.w.config_a.iwarp.nudge_ms = 5;
    respond_plain(&r);
    r.w.a->ops->conn_complete(r.w.active.c);
    AWAIT(atomic_load(&r.w.active.established));
    post(&r.w.sa, RDMA_OP_SEND, 0, NULL, 0, 0, NULL, 0);
    raw_read(r.fd, fpdu, sizeof fpdu);
    for (int i = 0; i < NUDGES_READ; i++) {
        raw_read(r.fd, nudge, sizeof nudge);
        CHECK(nudge[1] == 14 && (nudge[2] & 0x80) && (nudge[3] & 0x0f) == 0); /* tagged, RDMA write, no payload */
    }
    r.w.a->ops->conn_disconnect(r.w.active.c);
    CHECK(raw_read_to_end(r.fd, NULL, 0) % (long)sizeof nudge == 0);
    CHECK(counters(r.w.a).out_frames > NUDGES_READ && counters(r.w.a).out_frames < 11);
    respond_end(&r);
}

/* A peer that has sent something or has disconnected gets no nudges. Nudges can be switched off. */
static void not_nudged(void)
{
    enum { SWITCHED_OFF, SPOKEN, NOTICE, CASES };
    static const uint32_t nudge_ms[CASES] = { [SPOKEN] = 100, [NOTICE] = 10 };
    uint8_t fpdu[24];

    for (int i = 0; i < CASES; i++) {
        struct responder r;

        world_defaults(&r.w);
        r.w.config_a.iwarp.nudge_ms = nudge_ms[i];
        respond_plain(&r);
        r.w.a->ops->conn_complete(r.w.active.c);
        AWAIT(atomic_load(&r.w.active.established));
        post(&r.w.sa, RDMA_OP_RECEIVE, 0, &r, 0, 10, NULL, 0);
        if (i == SPOKEN) {
            raw_send(r.fd, empty_send, sizeof empty_send);
            expect_completion(&r.w.sa, RDMA_OP_RECEIVE, &r, 0);
        } else if (i == NOTICE) {
            CHECK(shutdown(r.fd, SHUT_WR) == 0);
            AWAIT(atomic_load(&r.w.active.ended));
        }
        post(&r.w.sa, RDMA_OP_SEND, 0, NULL, 0, 0, NULL, 0);
        raw_read(r.fd, fpdu, sizeof fpdu);
        uint64_t end = now_ms() + 250;
        while (now_ms() < end)
            world_pause();
        r.w.a->ops->conn_disconnect(r.w.active.c);
        CHECK(raw_read_to_end(r.fd, NULL, 0) == 0);
        respond_end(&r);
    }
}

static const struct test tests[] = {
    { "garbage", garbage },
    { "markers", markers },
    { "byte_by_byte", byte_by_byte },
    { "too_slow", too_slow },
    { "oldest_first", oldest_first },
    { "rejected_and_closed", rejected_and_closed },
    { "backlog", backlog },
    { "backlog_of_the_gone", backlog_of_closed_peers },
    { "impatient", impatient },
    { "peer_gives_up", peer_gives_up },
    { "nonsense_reply", nonsense_reply },
    { "no_reply", no_reply },
    { "too_many_reads", too_many_reads },
    { "unknown_form", unknown_form },
    { "read_unanswered", read_unanswered },
    { "gone_before_complete", peer_closes_before_complete },
    { "early_bytes", early_bytes },
    { "nudged", nudged },
    { "not_nudged", not_nudged },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
