/* SPDX-License-Identifier: MIT */
/* A service and its peers: see service.h. */
#include "fabric/service.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "iwarp/memory.h"

struct fabric_counters counters(struct service *s)
{
    struct fabric_counters c;

    s->f->ops->counters(s->f, &c);
    return c;
}

void service_defaults(struct service *s)
{
    memset(s, 0, sizeof *s);
    world_config_defaults(&s->config);
    s->config.iwarp.crc = false;
    s->config.shards = 3;
}

void service_open(struct service *s)
{
    struct addr at = loopback(AF_INET, 0);

    world_open_fabric(&s->f, &s->config);
    acceptor_open(&s->acceptor, s->f, &at);
}

void service_close(struct service *s)
{
    acceptor_close(&s->acceptor);
    s->f->ops->destroy(s->f);
}

static void set_true(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

/* Replaces the side's queue pair by one that receives from the shared queue. */
static void peer_use_shared(struct service *s, struct side *side)
{
    struct fabric_qp_config qp = {
        .initiator_depth = DEPTH,
        .initiator_sges = 4,
        .receive_cq = side->cq,
        .initiator_cq = side->cq,
        .domain = s,
        .srq = s->srq,
        .qp_context = side,
    };
    atomic_bool closed = false;

    s->f->ops->qp_close(side->qp, set_true, &closed);
    AWAIT(atomic_load(&closed));
    CHECK(s->f->ops->qp_create(s->f, &qp, &side->qp) == 0);
}

void peer_open(struct peer *p, struct service *s, int affinity)
{
    struct mpa_frame request = { .revision = 1 }, reply;
    int before = atomic_load(&s->acceptor.requests), on = 1;
    uint8_t bytes[MPA_MAX_FRAME];

    memset(p, 0, sizeof *p);
    side_open(&p->side, s->f, affinity, 4 * DEPTH);
    if (s->srq)
        peer_use_shared(s, &p->side);
    p->fd = raw_connect(&s->acceptor.local);
    CHECK(setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    raw_send_frame(p->fd, &request);
    AWAIT(atomic_load(&s->acceptor.requests) > before);
    p->link = &s->acceptor.link[before % LINKS];
    link_accept(p->link, p->side.qp, NULL, 0);
    AWAIT(atomic_load(&p->link->established));
    CHECK(p->link->established_why == FABRIC_OK);
    raw_read_frame(p->fd, true, &reply, bytes);
    CHECK(!reply.rejected);
    p->msn = 1;
}

void peer_close(struct peer *p)
{
    close(p->fd);
    link_close(p->link);
    side_close(&p->side);
}

bool peer_is_up(const struct peer *p)
{
    return atomic_load(&p->link->ended) == 0;
}

void peer_send(struct peer *p, struct service *s, const void *bytes, size_t len)
{
    raw_send(p->fd, bytes, len);
    s->sent += len;
    AWAIT(counters(s).in_bytes == s->sent);
}

size_t peer_encode_fpdu(uint8_t fpdu[MAX_FPDU], const struct ddp_header *h, size_t payload)
{
    size_t ulpdu = ddp_header_encode(h, fpdu + MPA_FPDU_LENGTH, DDP_MAX_HEADER) + payload;

    CHECK(mpa_fpdu_size(ulpdu) <= MAX_FPDU);
    memset(fpdu + MPA_FPDU_LENGTH + ulpdu - payload, 0x5a, MAX_FPDU - MPA_FPDU_LENGTH - (ulpdu - payload));
    fpdu[0] = (uint8_t)(ulpdu >> 8);
    fpdu[1] = (uint8_t)ulpdu;
    return mpa_fpdu_size(ulpdu);
}

size_t peer_encode_segment(struct peer *p, uint8_t fpdu[MAX_FPDU], size_t payload, bool last)
{
    struct ddp_header h = { .last = last, .opcode = RDMAP_SEND, .msn = p->msn, .mo = p->mo };

    p->mo = last ? 0 : p->mo + (uint32_t)payload;
    p->msn += last;
    return peer_encode_fpdu(fpdu, &h, payload);
}

void peer_send_segment(struct peer *p, struct service *s, size_t payload, bool last)
{
    uint8_t fpdu[MAX_FPDU];
    size_t len = peer_encode_segment(p, fpdu, payload, last);

    peer_send(p, s, fpdu, len);
}

/* ---- a shared receive queue ---- */

static void on_low(void *owner)
{
    (void)owner;
}

void service_post_shared(struct service *s, uintptr_t slot)
{
    struct rdma_sge sge = { (uintptr_t)s->memory + slot * RECEIVE, RECEIVE, s->token };
    struct rdma_request r = { .op = RDMA_OP_RECEIVE, .context = (void *)slot, .sges = &sge, .sge_count = 1 };

    CHECK(s->f->ops->srq_post(s->srq, &r) == 0);
}

void service_open_shared(struct service *s)
{
    struct fabric_srq_config c = {
        .depth = SLOTS,
        .sges = 1,
        .affinity = 0,
        .domain = s,
        .notify = on_low,
        .owner = s,
    };

    service_open(s);
    CHECK(s->f->ops->srq_create(s->f, &c, &s->srq) == 0);
    s->memory = calloc(SLOTS, RECEIVE);
    CHECK(s->memory != NULL);
    CHECK(s->f->ops->mr_create(s->f, s, &s->mr) == 0);
    CHECK(s->f->ops->mr_register(s->mr, s->memory, SLOTS * RECEIVE, (uintptr_t)s->memory, RDMA_ACCESS_LOCAL_WRITE,
                                 &s->token) == 0);
    for (uintptr_t i = 0; i < SLOTS; i++)
        service_post_shared(s, i);
}

static void on_srq_closed(void *owner)
{
    atomic_store(&((struct service *)owner)->closed, true);
}

void service_close_shared(struct service *s)
{
    s->f->ops->srq_close(s->srq, on_srq_closed);
    AWAIT(atomic_load(&s->closed));
    s->f->ops->mr_kill(s->mr);
    CHECK(s->f->ops->mr_close(s->mr, NULL, NULL));
    free(s->memory);
    service_close(s);
}
