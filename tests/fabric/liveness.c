/* SPDX-License-Identifier: MIT */
/*
 * Peers that begin a frame or a message and do not continue. The test sets the fabric's clock, so that it neither waits
 * for a time limit nor misses one on a busy machine.
 */
#include "fabric/raw.h"
#include "fabric/service.h"

enum { STALL_MS = 30000 };

static uint64_t clock_ns = 1000 * (uint64_t)MS;

/* Advances the clock, and runs everything that is due. */
static void pass(uint64_t ms)
{
    clock_ns += ms * MS;
    for (int i = 0; i < 8; i++)
        world_pause();
}

static void expect_lost(struct peer *p, enum fabric_reason why)
{
    struct rdma_completion c;

    wait_completion(&p->side, &c);
    CHECK(c.op == RDMA_OP_RECEIVE && c.status == RDMA_STATUS_LOST && c.reason == why);
}

/* The connection must end now, for this reason. */
static void expect_end(struct peer *p, struct service *s, enum fabric_reason why)
{
    AWAIT(!peer_is_up(p));
    CHECK(p->link->ended_why == why);
    CHECK(counters(s).connection_errors == 1);
    CHECK(raw_read_to_end(p->fd, NULL, 0) == -1);
}

/* One peer with one private receive. */
static void open_both(struct service *s, struct peer *p)
{
    service_defaults(s);
    s->config.stall_ms = STALL_MS;
    service_open(s);
    peer_open(p, s, -1);
    post(&p->side, RDMA_OP_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
}

static void close_both(struct service *s, struct peer *p)
{
    peer_close(p);
    service_close(s);
}

/* ---- frames and messages that stall ---- */

/* covers: DSC-02, QPR-20 */
static void half_a_frame(void)
{
    uint8_t fpdu[MAX_FPDU];
    struct service s;
    struct peer p;

    open_both(&s, &p);
    (void)peer_encode_segment(&p, fpdu, 1000, true);
    peer_send(&p, &s, fpdu, 500);
    pass(STALL_MS - 1);
    CHECK(peer_is_up(&p));
    pass(1);
    expect_end(&p, &s, FABRIC_FRAME_STALLED);
    expect_lost(&p, FABRIC_FRAME_STALLED);
    close_both(&s, &p);
}

/* Single bytes are no progress: the frame must be completed. */
static void byte_by_byte(void)
{
    uint8_t fpdu[MAX_FPDU];
    uint64_t begin;
    struct service s;
    struct peer p;

    open_both(&s, &p);
    (void)peer_encode_segment(&p, fpdu, 1000, true);
    begin = clock_ns;
    for (int i = 0; peer_is_up(&p) && i < 1000; i++) {
        peer_send(&p, &s, fpdu + i, 1);
        pass(STALL_MS / 8);
    }
    expect_end(&p, &s, FABRIC_FRAME_STALLED);
    CHECK(clock_ns - begin <= 2 * STALL_MS * (uint64_t)MS);
    expect_lost(&p, FABRIC_FRAME_STALLED);
    close_both(&s, &p);
}

static void first_segment_alone(void)
{
    struct service s;
    struct peer p;

    open_both(&s, &p);
    peer_send_segment(&p, &s, 1000, false);
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    expect_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* Whole frames of one byte each; the message never ends. Other messages between them are no progress of this one. */
static void trickle(void)
{
    struct ddp_header write = { .tagged = true, .last = true, .opcode = RDMAP_WRITE };
    uint8_t fpdu[MAX_FPDU];
    uint64_t begin;
    size_t len;
    struct service s;
    struct peer p;

    open_both(&s, &p);
    write.stag = p.side.token;
    write.to = (uintptr_t)p.side.memory;
    len = peer_encode_fpdu(fpdu, &write, 4000);
    begin = clock_ns;
    for (int i = 0; peer_is_up(&p) && i < 1000; i++) {
        peer_send_segment(&p, &s, 1, false);
        for (int n = 0; n < 8; n++)
            peer_send(&p, &s, fpdu, len);
        pass(STALL_MS / 8);
    }
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    CHECK(clock_ns - begin <= 2 * STALL_MS * (uint64_t)MS);
    expect_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

static void write_without_end(void)
{
    struct ddp_header h = { .tagged = true, .opcode = RDMAP_WRITE };
    uint8_t fpdu[MAX_FPDU];
    struct service s;
    struct peer p;

    open_both(&s, &p);
    h.stag = p.side.token;
    h.to = (uintptr_t)p.side.memory;
    peer_send(&p, &s, fpdu, peer_encode_fpdu(fpdu, &h, 1000));
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    expect_lost(&p, FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* The peer answers a read in part. */
static void half_an_answer(void)
{
    struct ddp_header first = { .last = true, .opcode = RDMAP_SEND, .msn = 1 }, h;
    struct rdma_completion c;
    uint8_t fpdu[MAX_FPDU];
    struct service s;
    struct peer p;
    size_t size;

    open_both(&s, &p);
    peer_send(&p, &s, fpdu, peer_encode_fpdu(fpdu, &first, 0)); /* ready to receive */
    expect_completion(&p.side, RDMA_OP_RECEIVE, NULL, 0);
    post(&p.side, RDMA_OP_READ, 0, &s, 0, 4000, &p.side, 0);
    AWAIT(counters(&s).out_bytes > 0);
    raw_read(p.fd, fpdu, mpa_fpdu_size(DDP_UNTAGGED_HEADER + RDMAP_READ_REQUEST));
    CHECK(ddp_header_decode(&h, fpdu + MPA_FPDU_LENGTH, DDP_MAX_HEADER, &size) && h.opcode == RDMAP_READ_REQ);
    pass(10 * STALL_MS); /* only TCP's limits apply to an answer that has not begun */
    CHECK(peer_is_up(&p));
    h = (struct ddp_header){ .tagged = true, .opcode = RDMAP_READ_RESP };
    struct rdmap_read_request r;
    CHECK(rdmap_read_decode(&r, fpdu + MPA_FPDU_LENGTH + DDP_UNTAGGED_HEADER, RDMAP_READ_REQUEST));
    h.stag = r.sink_stag;
    h.to = r.sink_to;
    peer_send(&p, &s, fpdu, peer_encode_fpdu(fpdu, &h, 1000));
    pass(STALL_MS);
    expect_end(&p, &s, FABRIC_MESSAGE_STALLED);
    wait_completion(&p.side, &c);
    CHECK(c.op == RDMA_OP_READ && c.status == RDMA_STATUS_LOST && c.reason == FABRIC_MESSAGE_STALLED);
    close_both(&s, &p);
}

/* ---- peers that are only slow ---- */

/* Each time just enough of a message arrives: it takes long, and is delivered. */
static void slow_message(void)
{
    struct service s;
    struct peer p;

    open_both(&s, &p);
    peer_send_segment(&p, &s, 10, false);
    for (int i = 0; i < 3; i++) {
        pass(STALL_MS - 1);
        peer_send_segment(&p, &s, 16400, false);
        pass(1);
        CHECK(peer_is_up(&p));
    }
    peer_send_segment(&p, &s, 1000, true);
    expect_completion(&p.side, RDMA_OP_RECEIVE, NULL, 10 + 3 * 16400 + 1000);
    pass(10 * STALL_MS);
    CHECK(peer_is_up(&p));
    close_both(&s, &p);
}

/* At each check there is another unfinished message. */
static void next_message(void)
{
    struct service s;
    struct peer p;

    open_both(&s, &p);
    peer_send_segment(&p, &s, 10, false);
    for (int i = 0; i < 6; i++) {
        pass(STALL_MS - 1);
        peer_send_segment(&p, &s, 10, true);
        post(&p.side, RDMA_OP_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
        peer_send_segment(&p, &s, 10, false);
        pass(1);
        CHECK(peer_is_up(&p));
    }
    close_both(&s, &p);
}

/* The rest is in the socket, and this side has not read it: the connection must not end. */
static void unread(void)
{
    uint8_t fpdu[MAX_FPDU];
    struct service s;
    struct peer p;
    size_t len;

    open_both(&s, &p);
    len = peer_encode_segment(&p, fpdu, 1000, true);
    peer_send(&p, &s, fpdu, 500);
    raw_send(p.fd, fpdu + 500, len - 500);
    pass(3 * STALL_MS);
    expect_completion(&p.side, RDMA_OP_RECEIVE, NULL, 1000);
    CHECK(peer_is_up(&p));
    close_both(&s, &p);
}

static void no_limit(void)
{
    struct service s;
    struct peer p;

    service_defaults(&s);
    s.config.stall_ms = 0;
    service_open(&s);
    peer_open(&p, &s, -1);
    post(&p.side, RDMA_OP_RECEIVE, 0, NULL, 0, RECEIVE, NULL, 0);
    peer_send_segment(&p, &s, 1000, false);
    pass(1000 * STALL_MS);
    CHECK(peer_is_up(&p));
    close_both(&s, &p);
}

/* While a disconnect waits for an answer, input renews its limit, but half a frame does not. covers: DSC-01 */
static void while_disconnecting(void)
{
    struct ddp_header first = { .last = true, .opcode = RDMAP_SEND, .msn = 1 };
    uint8_t fpdu[MAX_FPDU];
    uint64_t begin;
    struct service s;
    struct peer p;

    open_both(&s, &p);
    peer_send(&p, &s, fpdu, peer_encode_fpdu(fpdu, &first, 0));
    expect_completion(&p.side, RDMA_OP_RECEIVE, NULL, 0);
    post(&p.side, RDMA_OP_READ, 0, &s, 0, 4000, &p.side, 0);
    AWAIT(counters(&s).out_bytes > 0);
    s.f->ops->conn_disconnect(p.link->c);
    (void)peer_encode_segment(&p, fpdu, 1000, true);
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
};

int main(int argc, char **argv)
{
    world_set_manual(&clock_ns);
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
