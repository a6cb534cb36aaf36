/* SPDX-License-Identifier: MIT */
/* exchange's side over verbs and rdma_cm: see exchange.h. */
#include "exchange.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESOLVE_MS = 5000, POLL_MS = 1, PIECE = 24 };

static struct side_options opt;
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *id;
static struct ibv_cq *cq;
static bool ended;

static void need(bool true_it_is, const char *reason)
{
    if (!true_it_is)
        exchange_fail(reason);
}

static enum rdma_cm_event_type get_event(struct rdma_cm_id **request)
{
    struct rdma_cm_event *event;
    enum rdma_cm_event_type type;

    need(!rdma_get_cm_event(channel, &event), "get-event");
    type = event->event;
    if (request)
        *request = event->id;
    if (type == RDMA_CM_EVENT_DISCONNECTED)
        ended = true;
    rdma_ack_cm_event(event);
    return type;
}

static void expect(enum rdma_cm_event_type want, const char *reason)
{
    need(get_event(NULL) == want, reason);
}

static void make_queues(void)
{
    struct ibv_qp_init_attr attr = {
        .cap = { .max_send_wr = SIDE_REQUESTS, .max_recv_wr = SIDE_RECEIVES, .max_send_sge = 2, .max_recv_sge = 2 },
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    int flags = fcntl(id->verbs->async_fd, F_GETFL);

    cq = ibv_create_cq(id->verbs, 2 * SIDE_REQUESTS, NULL, NULL, 0);
    need(cq != NULL, "create-cq");
    attr.send_cq = attr.recv_cq = cq;
    need(!rdma_create_qp(id, NULL, &attr), "create-qp");
    fcntl(id->verbs->async_fd, F_SETFL, flags | O_NONBLOCK);
}

static void resolve(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(opt.port) };

    need(inet_pton(AF_INET, opt.host, &to.sin_addr) == 1, "host");
    need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "create-id");
    need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, RESOLVE_MS), "resolve-address");
    expect(RDMA_CM_EVENT_ADDR_RESOLVED, "resolve-address");
    need(!rdma_resolve_route(id, RESOLVE_MS), "resolve-route");
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED, "resolve-route");
}

static void await_request(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(opt.port) };

    need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "create-id");
    need(!rdma_bind_addr(listener, (struct sockaddr *)&at) && !rdma_listen(listener, 8), "listen");
    need(get_event(&id) == RDMA_CM_EVENT_CONNECT_REQUEST, "connect-request");
}

void side_open(const struct side_options *options)
{
    opt = *options;
    channel = rdma_create_event_channel();
    need(channel != NULL, "event-channel");
    if (opt.server)
        await_request();
    else
        resolve();
    make_queues();
}

void side_area(struct area *area, uint32_t len, unsigned rights)
{
    int access = IBV_ACCESS_LOCAL_WRITE | (rights & RIGHT_READ ? IBV_ACCESS_REMOTE_READ : 0) |
                 (rights & RIGHT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
    struct ibv_mr *mr;

    area->memory = calloc(1, len);
    area->len = len;
    mr = area->memory ? ibv_reg_mr(id->pd, area->memory, len, access) : NULL;
    need(mr != NULL, "register-memory");
    area->local = mr->lkey;
    area->remote = mr->rkey;
    area->own = mr;
}

/* User verbs have no fast registration, but siw permits a peer to invalidate an ordinary region. */
void side_revocable(struct area *area, uint32_t len)
{
    side_area(area, len, RIGHT_READ | RIGHT_WRITE);
}

static int make_pieces(const struct request *r, struct ibv_sge pieces[2])
{
    uint32_t first = r->len > PIECE && r->op != OP_READ ? PIECE : r->len; /* siw reads into one piece only */

    for (int i = 0; i < 2; i++)
        pieces[i] = (struct ibv_sge){
            .addr = (uint64_t)(uintptr_t)(r->area->memory + r->offset + (i ? first : 0)),
            .length = i ? r->len - first : first,
            .lkey = r->area->local,
        };
    return first < r->len ? 2 : 1;
}

void side_post(const struct request *r)
{
    static const enum ibv_wr_opcode opcodes[] = {
        [OP_SEND] = IBV_WR_SEND,
        [OP_SEND_INVALIDATE] = IBV_WR_SEND_WITH_INV,
        [OP_WRITE] = IBV_WR_RDMA_WRITE,
        [OP_READ] = IBV_WR_RDMA_READ,
    };
    struct ibv_sge pieces[2];
    int count = make_pieces(r, pieces);
    uint64_t wr_id = (uint64_t)r->op << 32 | r->id;

    if (r->op == OP_RECEIVE) {
        struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = pieces, .num_sge = count }, *bad;
        need(!ibv_post_recv(id->qp, &wr, &bad), "post-receive");
    } else {
        struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = pieces, .num_sge = count, .opcode = opcodes[r->op] }, *bad;
        wr.wr.rdma.remote_addr = r->remote_address;
        /* siw of rdma-core 44 uses this field, not invalidate_rkey, as the token to invalidate. */
        wr.wr.rdma.rkey = r->remote_token;
        if (r->op == OP_SEND_INVALIDATE)
            wr.invalidate_rkey = r->remote_token;
        need(!ibv_post_send(id->qp, &wr, &bad), "post-send");
    }
}

void side_establish(void)
{
    struct rdma_conn_param param = { .responder_resources = opt.reads, .initiator_depth = opt.reads };

    if (opt.server)
        need(!rdma_accept(id, &param), "accept");
    else
        need(!rdma_connect(id, &param), "connect");
    expect(RDMA_CM_EVENT_ESTABLISHED, "establish");
}

static void set_outcome(struct outcome *o, const struct ibv_wc *wc)
{
    *o = (struct outcome){
        .op = (enum op)(wc->wr_id >> 32),
        .id = (uint32_t)wc->wr_id,
        .bytes = wc->byte_len,
        .good = wc->status == IBV_WC_SUCCESS,
        .invalidated = wc->wc_flags & IBV_WC_WITH_INV,
        .token = wc->invalidated_rkey,
    };
    snprintf(o->status, sizeof o->status, "%s", ibv_wc_status_str(wc->status));
}

static time_t seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

bool side_wait(struct outcome *o)
{
    struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
    struct ibv_wc wc;

    for (time_t until = seconds() + SIDE_SECONDS; seconds() <= until;) {
        bool over = ended;
        int n = ibv_poll_cq(cq, 1, &wc);
        need(n >= 0, "poll-cq");
        if (n) {
            set_outcome(o, &wc);
            return true;
        }
        if (over)
            return false;
        if (poll(&fd, 1, POLL_MS) > 0)
            get_event(NULL);
    }
    return false;
}

void side_disconnect(void)
{
    need(!rdma_disconnect(id), "disconnect");
    while (!ended)
        get_event(NULL);
}

void side_print_end(void)
{
    struct ibv_async_event event;

    printf("ended=%s\n", ended ? "disconnected" : "no");
    while (!ibv_get_async_event(id->verbs, &event)) {
        printf("event=%s\n", ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
}

/* The end of the process frees the rest. */
void side_close(void)
{
    rdma_destroy_qp(id);
}
