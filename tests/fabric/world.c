/* SPDX-License-Identifier: MIT */
/* Two fabrics in one process: see world.h. */
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

/* ---- manual shards ---- */

enum { MAX_SHARDS = 16 };

static const uint64_t *manual_clock;
static struct shard *manual_shards[MAX_SHARDS];

static uint64_t manual_now(struct executor *e)
{
    (void)e;
    return *manual_clock;
}

static int manual_start(struct executor *e, struct shard *s)
{
    (void)e;
    for (int i = 0; i < MAX_SHARDS; i++) {
        if (!manual_shards[i]) {
            manual_shards[i] = s;
            return 0;
        }
    }
    return ENOMEM;
}

static void manual_stop(struct executor *e, struct shard *s)
{
    (void)e;
    for (int i = 0; i < MAX_SHARDS; i++)
        if (manual_shards[i] == s)
            manual_shards[i] = NULL;
}

static void manual_wake(struct executor *e, struct shard *s)
{
    (void)e;
    (void)s;
}

static void manual_turn(void)
{
    for (int i = 0; i < MAX_SHARDS; i++)
        if (manual_shards[i])
            (void)shard_turn(manual_shards[i]);
}

static bool manual_wait(struct executor *e, struct gate *g, uint64_t deadline)
{
    while (!gate_is_open(g)) {
        if (manual_now(e) >= deadline)
            return false;
        manual_turn();
    }
    return true;
}

static const struct executor_ops manual_ops = { manual_now, manual_start, manual_stop, manual_wake, manual_wait };
static struct executor hand = { &manual_ops };

void world_set_manual(const uint64_t *clock_ns)
{
    manual_clock = clock_ns;
}

static const char *interface_name = "lo", *interface_address = "127.0.0.1";

void world_set_interface(const char *name, const char *address)
{
    interface_name = name;
    interface_address = address;
}

void world_pause(void)
{
    struct timespec t = { 0, 100000 };

    if (manual_clock)
        manual_turn();
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

struct addr world_address(const char *text)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(9) };
    struct addr a;

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        CHECK(addr_from(&a, &v4, sizeof v4));
    } else {
        CHECK(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
        CHECK(addr_from(&a, &v6, sizeof v6));
    }
    return a;
}

/* ---- sides ---- */

static void on_notify(void *owner, bool overflow)
{
    struct side *s = owner;

    atomic_fetch_add(overflow ? &s->overflowed : &s->notified, 1);
}

static void on_cq_closed(void *owner)
{
    atomic_store(&((struct side *)owner)->cq_closed, true);
}

static void on_qp_closed(void *context)
{
    atomic_store(&((struct side *)context)->qp_closed, true);
}

void side_open(struct side *s, struct fabric *f, int affinity, uint32_t cq_depth)
{
    struct fabric_cq_config cq = { .depth = cq_depth, .affinity = affinity, .notify = on_notify, .owner = s };
    struct fabric_qp_config qp = {
        .domain = s,
        .receive_depth = DEPTH,
        .initiator_depth = DEPTH,
        .receive_sges = 4,
        .initiator_sges = 4,
        .inline_size = 256,
        .qp_context = s,
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

void side_close(struct side *s)
{
    s->f->ops->qp_close(s->qp, on_qp_closed, s);
    AWAIT(atomic_load(&s->qp_closed));
    s->f->ops->cq_close(s->cq, on_cq_closed);
    AWAIT(atomic_load(&s->cq_closed));
    s->f->ops->mr_kill(s->mr);
    CHECK(s->f->ops->mr_close(s->mr, NULL, NULL));
    free(s->memory);
}

void post(struct side *s, enum rdma_op op, unsigned flags, void *context, size_t offset, uint32_t len,
          const struct side *remote, size_t remote_offset)
{
    struct rdma_sge sge = { (uintptr_t)s->memory + offset, len, s->token };
    struct rdma_request r = {
        .op = op,
        .flags = flags,
        .context = context,
        .sges = &sge,
        .sge_count = len ? 1 : 0,
        .remote_address = remote ? (uintptr_t)remote->memory + remote_offset : 0,
        .remote_token = remote ? remote->token : 0,
    };

    CHECK(s->f->ops->qp_post(s->qp, &r) == 0);
}

void wait_completion(struct side *s, struct rdma_completion *c)
{
    int n = 0;

    AWAIT(n == 1 || (n = s->f->ops->cq_poll(s->cq, c, 1)) == 1);
}

void expect_completion(struct side *s, enum rdma_op op, void *context, uint32_t len)
{
    struct rdma_completion c;

    wait_completion(s, &c);
    CHECK(c.op == op);
    CHECK(c.status == RDMA_STATUS_OK);
    CHECK(c.context == context);
    CHECK(c.qp_context == s);
    if (op == RDMA_OP_RECEIVE)
        CHECK(c.length == len);
}

void expect_no_completion(struct side *s)
{
    struct rdma_completion c;

    CHECK(s->f->ops->cq_poll(s->cq, &c, 1) == 0);
}

/* ---- links ---- */

static void link_note_event(struct link *l)
{
    if (atomic_load(&l->closed))
        atomic_fetch_add(&l->after_close, 1);
}

static void on_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    struct link *l = owner;

    link_note_event(l);
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

static void on_established(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits,
                           const struct fabric_agreement *agreed)
{
    (void)agreed;
    struct link *l = owner;

    link_note_event(l);
    (void)terminate;
    l->established_why = why;
    l->effective = *limits;
    atomic_fetch_add(&l->established, 1);
}

static void on_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct link *l = owner;

    link_note_event(l);
    (void)terminate;
    l->ended_why = why;
    atomic_fetch_add(&l->ended, 1);
}

static void on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    struct link *l = owner;

    link_note_event(l);
    (void)terminate;
    l->disconnected_why = why;
    atomic_fetch_add(&l->disconnected, 1);
}

static void on_closed(void *owner)
{
    struct link *l = owner;

    link_note_event(l);
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

void world_set_reads(uint16_t limit)
{
    reads = limit;
}

void link_connect(struct link *l, struct fabric_qp *qp, const struct addr *local, const struct addr *remote,
                  const void *private_data, size_t len)
{
    struct fabric_connect p = {
        .qp = qp,
        .local = *local,
        .remote = *remote,
        .limits = { reads, reads },
        .private_data = private_data,
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
    struct acceptor *e = owner;

    e->why = why;
    e->local = *local;
    atomic_fetch_add(&e->listening, 1);
}

static void *on_request(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer)
{
    struct acceptor *e = owner;
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
    atomic_fetch_add(&((struct acceptor *)owner)->closed, 1);
}

static const struct fabric_listener_events acceptor_events = { on_listening, on_request, on_listener_closed };

enum fabric_reason acceptor_try_open(struct acceptor *e, struct fabric *f, const struct addr *at)
{
    memset(e, 0, sizeof *e);
    e->f = f;
    CHECK(f->ops->listener_create(f, &acceptor_events, &link_events, e, &e->l) == 0);
    f->ops->listener_listen(e->l, at);
    AWAIT(atomic_load(&e->listening));
    return e->why;
}

void acceptor_open(struct acceptor *e, struct fabric *f, const struct addr *at)
{
    CHECK(acceptor_try_open(e, f, at) == FABRIC_OK);
}

void acceptor_close(struct acceptor *e)
{
    e->f->ops->listener_close(e->l);
    AWAIT(atomic_load(&e->closed));
}

/* ---- worlds ---- */

void world_open_fabric(struct fabric **f, const struct fabric_config *config)
{
    struct executor *e = manual_clock ? &hand : executor_threads();

    CHECK(iwarp_fabric_create(e, net_kernel(), interfaces_kernel(), if_nametoindex(interface_name), config, f) == 0);
}

void world_config_defaults(struct fabric_config *config)
{
    ondk_config_t c;

    ondk_config_init(&c);
    config_for_fabric(&c, config);
}

void world_defaults(struct world *w)
{
    memset(w, 0, sizeof *w);
    world_config_defaults(&w->config_a);
    world_config_defaults(&w->config_b);
}

void world_open(struct world *w, int family)
{
    struct addr at = loopback(family, 0);

    world_open_fabric(&w->a, &w->config_a);
    world_open_fabric(&w->b, &w->config_b);
    side_open(&w->sa, w->a, -1, 4 * DEPTH);
    side_open(&w->sb, w->b, -1, 4 * DEPTH);
    acceptor_open(&w->acceptor, w->b, &at);
    link_open(&w->active, w->a);
}

void world_request(struct world *w)
{
    struct addr local = loopback(w->acceptor.local.sa.sa_family, 0);
    int before = atomic_load(&w->acceptor.requests);

    link_connect(&w->active, w->sa.qp, &local, &w->acceptor.local, "ping", 4);
    AWAIT(atomic_load(&w->acceptor.requests) > before);
    w->passive = &w->acceptor.link[before % LINKS];
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

void world_disconnect(struct world *w)
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
    acceptor_close(&w->acceptor);
    side_close(&w->sa);
    side_close(&w->sb);
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
