/* SPDX-License-Identifier: MIT */
/* Abstract: two fabrics in one process: see world.h. */
#include "fabric/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/shard.h"
#include "iwarp/memory.h"
#include "provider/config.h"

void check_that(bool ok, const char *what, const char *file, int line)
{
    if (ok)
        return;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    fflush(NULL);
    abort();
}

uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- shards without threads ---- */

enum { MOST_SHARDS = 16 };

static const uint64_t *clock_by_hand;
static struct shard *by_hand[MOST_SHARDS];

static uint64_t hand_now(struct executor *e)
{
    (void)e;
    return *clock_by_hand;
}

static int hand_start(struct executor *e, struct shard *s)
{
    (void)e;
    for (int i = 0; i < MOST_SHARDS; i++) {
        if (!by_hand[i]) {
            by_hand[i] = s;
            return 0;
        }
    }
    return ENOMEM;
}

static void hand_stop(struct executor *e, struct shard *s)
{
    (void)e;
    for (int i = 0; i < MOST_SHARDS; i++)
        if (by_hand[i] == s)
            by_hand[i] = NULL;
}

static void hand_wake(struct executor *e, struct shard *s)
{
    (void)e;
    (void)s;
}

static void hand_turn(void)
{
    for (int i = 0; i < MOST_SHARDS; i++)
        if (by_hand[i])
            (void)shard_turn(by_hand[i]);
}

static bool hand_wait(struct executor *e, struct gate *g, uint64_t deadline)
{
    while (!gate_is_open(g)) {
        if (hand_now(e) >= deadline)
            return false;
        hand_turn();
    }
    return true;
}

static const struct executor_ops hand_ops = { hand_now, hand_start, hand_stop, hand_wake, hand_wait };
static struct executor hand = { &hand_ops };

void world_by_hand(const uint64_t *clock_ns)
{
    clock_by_hand = clock_ns;
}

static const char *interface_name = "lo", *interface_address = "127.0.0.1";

void world_interface(const char *name, const char *address)
{
    interface_name = name;
    interface_address = address;
}

void nap(void)
{
    struct timespec t = { 0, 100000 };

    if (clock_by_hand)
        hand_turn();
    else
        nanosleep(&t, NULL);
}

struct addr loopback(int family, uint16_t port)
{
    struct addr a;

    memset(&a, 0, sizeof a);
    if (family == AF_INET) {
        a.v4.sin_family = AF_INET;
        CHECK(inet_pton(AF_INET, interface_address, &a.v4.sin_addr) == 1);
    } else {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_addr = in6addr_loopback;
    }
    addr_set_port(&a, port);
    return a;
}

/* ---- stations ---- */

static void on_notify(void *owner, bool overflow)
{
    struct station *s = owner;

    atomic_fetch_add(overflow ? &s->overflowed : &s->notified, 1);
}

static void on_cq_gone(void *owner)
{
    atomic_store(&((struct station *)owner)->cq_gone, true);
}

static void on_qp_gone(void *context)
{
    atomic_store(&((struct station *)context)->qp_gone, true);
}

void station_open(struct station *s, struct fabric *f, int affinity, uint32_t cq_depth)
{
    struct fabric_cq_config cq = { .depth = cq_depth, .affinity = affinity, .notify = on_notify, .owner = s };
    struct fabric_qp_config qp = {
        .domain = s, .receive_depth = DEPTH, .initiator_depth = DEPTH, .receive_sges = 4, .initiator_sges = 4,
        .inline_size = 256, .qp_context = s,
    };

    memset(s, 0, sizeof *s);
    s->f = f;
    CHECK(f->ops->cq_create(f, &cq, &s->cq) == 0);
    qp.receive_cq = qp.initiator_cq = s->cq;
    CHECK(f->ops->qp_create(f, &qp, &s->qp) == 0);
    s->memory = calloc(1, BUFFER);
    CHECK(f->ops->mr_create(f, s, &s->mr) == 0);
    CHECK(f->ops->mr_register(s->mr, s->memory, BUFFER, (uintptr_t)s->memory,
                              RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE,
                              &s->token) == 0);
}

void station_close(struct station *s)
{
    s->f->ops->qp_close(s->qp, on_qp_gone, s);
    AWAIT(atomic_load(&s->qp_gone));
    s->f->ops->cq_close(s->cq, on_cq_gone);
    AWAIT(atomic_load(&s->cq_gone));
    s->f->ops->mr_kill(s->mr);
    CHECK(s->f->ops->mr_close(s->mr, NULL, NULL));
    free(s->memory);
}

void post(struct station *s, enum rdma_op op, unsigned flags, void *context, size_t offset, uint32_t len,
          const struct station *remote, size_t remote_offset)
{
    struct rdma_sge sge = { (uintptr_t)s->memory + offset, len, s->token };
    struct rdma_request r = {
        .op = op, .flags = flags, .context = context, .sges = &sge, .sge_count = len ? 1 : 0,
        .remote_address = remote ? (uintptr_t)remote->memory + remote_offset : 0,
        .remote_token = remote ? remote->token : 0,
    };

    CHECK(s->f->ops->qp_post(s->qp, &r) == 0);
}

void take(struct station *s, struct rdma_completion *c)
{
    int n = 0;

    AWAIT(n == 1 || (n = s->f->ops->cq_poll(s->cq, c, 1)) == 1);
}

void take_ok(struct station *s, enum rdma_op op, void *context, uint32_t len)
{
    struct rdma_completion c;

    take(s, &c);
    CHECK(c.op == op);
    CHECK(c.status == RDMA_STATUS_OK);
    CHECK(c.context == context);
    CHECK(c.qp_context == s);
    if (op == RDMA_OP_RECEIVE)
        CHECK(c.length == len);
}

void take_none(struct station *s)
{
    struct rdma_completion c;

    CHECK(s->f->ops->cq_poll(s->cq, &c, 1) == 0);
}

/* ---- links ---- */

static void note_end(struct link *l)
{
    if (atomic_load(&l->closed))
        atomic_fetch_add(&l->after_close, 1);
}

static void on_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    struct link *l = owner;

    note_end(l);
    l->connected_why = why;
    CHECK((peer != NULL) == (why == FABRIC_OK || why == FABRIC_REJECTED));
    if (peer) {
        l->limits = peer->limits;
        l->local = peer->local;
        l->remote = peer->remote;
        l->private_len = peer->private_len;
        memcpy(l->private_data, peer->private_data ? peer->private_data : (const void *)"", peer->private_len);
    }
    atomic_fetch_add(&l->connected, 1);
}

static void on_established(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits)
{
    struct link *l = owner;

    note_end(l);
    (void)terminate;
    l->established_why = why;
    l->effective = *limits;
    atomic_fetch_add(&l->established, 1);
}

static void on_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct link *l = owner;

    note_end(l);
    (void)terminate;
    l->ended_why = why;
    atomic_fetch_add(&l->ended, 1);
}

static void on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct link *l = owner;

    note_end(l);
    (void)terminate;
    l->disconnected_why = why;
    atomic_fetch_add(&l->disconnected, 1);
}

static void on_closed(void *owner)
{
    struct link *l = owner;

    note_end(l);
    atomic_fetch_add(&l->closed, 1);
}

static const struct fabric_conn_events link_events = {
    on_connected, on_established, on_ended, on_disconnected, on_closed,
};

void link_open(struct link *l, struct fabric *f)
{
    memset(l, 0, sizeof *l);
    l->f = f;
    CHECK(f->ops->conn_create(f, &link_events, l, &l->c) == 0);
}

static uint16_t reads = 8;

void world_reads(uint16_t most)
{
    reads = most;
}

void link_connect(struct link *l, struct fabric_qp *qp, const struct addr *local, const struct addr *remote,
                  const void *private_data, size_t len)
{
    struct fabric_connect p = {
        .qp = qp, .local = *local, .remote = *remote, .limits = { reads, reads }, .private_data = private_data,
        .private_len = len,
    };

    CHECK(l->f->ops->conn_connect(l->c, &p) == 0);
}

void link_accept(struct link *l, struct fabric_qp *qp, const void *private_data, size_t len)
{
    struct fabric_accept p = { .qp = qp, .limits = { reads, reads }, .private_data = private_data, .private_len = len };

    CHECK(l->f->ops->conn_accept(l->c, &link_events, &p) == 0);
}

void link_close(struct link *l)
{
    l->f->ops->conn_close(l->c);
    AWAIT(atomic_load(&l->closed));
    CHECK(atomic_load(&l->after_close) == 0);
}

/* ---- listeners ---- */

static void on_listening(void *owner, enum fabric_reason why, const struct addr *local)
{
    struct ear *e = owner;

    e->why = why;
    e->local = *local;
    atomic_fetch_add(&e->listening, 1);
}

static void *on_request(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct ear *e = owner;
    int at = atomic_load(&e->requests);
    struct link *l = &e->link[at % LINKS];

    if (e->refuse) {
        atomic_fetch_add(&e->requests, 1);
        return NULL;
    }
    memset(l, 0, sizeof *l);
    l->f = e->f;
    l->c = conn;
    l->limits = peer->limits;
    l->local = peer->local;
    l->remote = peer->remote;
    l->private_len = peer->private_len;
    if (peer->private_len)
        memcpy(l->private_data, peer->private_data, peer->private_len);
    atomic_fetch_add(&e->requests, 1);
    return l;
}

static void on_listener_closed(void *owner)
{
    atomic_fetch_add(&((struct ear *)owner)->closed, 1);
}

static const struct fabric_listener_events ear_events = { on_listening, on_request, on_listener_closed };

enum fabric_reason ear_try(struct ear *e, struct fabric *f, const struct addr *at)
{
    memset(e, 0, sizeof *e);
    e->f = f;
    CHECK(f->ops->listener_create(f, &ear_events, &link_events, e, &e->l) == 0);
    f->ops->listener_listen(e->l, at);
    AWAIT(atomic_load(&e->listening));
    return e->why;
}

void ear_open(struct ear *e, struct fabric *f, const struct addr *at)
{
    CHECK(ear_try(e, f, at) == FABRIC_OK);
}

void ear_close(struct ear *e)
{
    e->f->ops->listener_close(e->l);
    AWAIT(atomic_load(&e->closed));
}

/* ---- the common case ---- */

void open_fabric(struct fabric **f, const struct fabric_config *config)
{
    struct executor *e = clock_by_hand ? &hand : executor_threads();

    CHECK(iwarp_fabric_create(e, net_kernel(), interfaces_kernel(), if_nametoindex(interface_name), config, f) == 0);
}

void config_defaults(struct fabric_config *config)
{
    ondk_config_t c;

    ondk_config_init(&c);
    config_for_fabric(&c, config);
}

void world_defaults(struct world *w)
{
    memset(w, 0, sizeof *w);
    config_defaults(&w->config_a);
    config_defaults(&w->config_b);
}

void world_open(struct world *w, int family)
{
    struct addr at = loopback(family, 0);

    open_fabric(&w->a, &w->config_a);
    open_fabric(&w->b, &w->config_b);
    station_open(&w->sa, w->a, -1, 4 * DEPTH);
    station_open(&w->sb, w->b, -1, 4 * DEPTH);
    ear_open(&w->ear, w->b, &at);
    link_open(&w->active, w->a);
}

void world_request(struct world *w)
{
    struct addr local = loopback(w->ear.local.sa.sa_family, 0);
    int before = atomic_load(&w->ear.requests);

    link_connect(&w->active, w->sa.qp, &local, &w->ear.local, "ping", 4);
    AWAIT(atomic_load(&w->ear.requests) > before);
    w->passive = &w->ear.link[before % LINKS];
}

void world_accept(struct world *w)
{
    link_accept(w->passive, w->sb.qp, "pong!", 5);
    AWAIT(atomic_load(&w->active.connected));
    CHECK(w->active.connected_why == FABRIC_OK);
}

void world_complete(struct world *w)
{
    w->a->ops->conn_complete(w->active.c);
    AWAIT(atomic_load(&w->active.established));
    AWAIT(atomic_load(&w->passive->established));
    CHECK(w->active.established_why == FABRIC_OK);
    CHECK(w->passive->established_why == FABRIC_OK);
}

void world_connect(struct world *w)
{
    world_request(w);
    world_accept(w);
    world_complete(w);
}

void world_hangup(struct world *w)
{
    w->a->ops->conn_disconnect(w->active.c);
    w->b->ops->conn_disconnect(w->passive->c);
    AWAIT(atomic_load(&w->active.disconnected));
    AWAIT(atomic_load(&w->passive->disconnected));
    CHECK(w->active.disconnected_why == FABRIC_OK);
    CHECK(w->passive->disconnected_why == FABRIC_OK);
}

void world_close(struct world *w)
{
    link_close(&w->active);
    if (w->passive)
        link_close(w->passive);
    ear_close(&w->ear);
    station_close(&w->sa);
    station_close(&w->sb);
    w->a->ops->destroy(w->a);
    w->b->ops->destroy(w->b);
}

/* ---- running ---- */

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

int run_tests(const struct test *tests, size_t count, int argc, char **argv)
{
    int ran = 0;

    for (size_t i = 0; i < count; i++) {
        if (!wanted(tests[i].name, argc, argv))
            continue;
        printf("%s\n", tests[i].name);
        fflush(stdout);
        tests[i].run();
        ran++;
    }
    printf("%d passed\n", ran);
    return ran > 0 ? 0 : 1;
}
