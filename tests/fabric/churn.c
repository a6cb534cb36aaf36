/* SPDX-License-Identifier: MIT */
/*
 * Thousands of connections from several threads at once, which end in every way at every moment while requests are
 * posted. Invariants: each end is reported once, no event follows `closed`, every request completes exactly once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/world.h"

enum { WORKERS = 4, ROUNDS = 500, PASSIVES = 64, RECEIVES = 4 };

/* A request to the passive side, which the first worker that finds it answers. */
struct passive {
    struct link link;
    struct side side;
    atomic_int state; /* 0 free, 1 requested, 2 claimed by a worker, 3 being closed */
};

struct server {
    struct fabric *f;
    struct fabric_listener *l;
    struct addr local;
    atomic_int listening, closed;
    struct passive slot[PASSIVES];
};

struct client {
    pthread_t thread;
    struct fabric *f;
    struct server *server;
    unsigned seed;
    unsigned established, failed;
};

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static struct link *link_of(void *owner)
{
    return owner;
}

static void on_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    (void)peer;
    CHECK(atomic_load(&link_of(owner)->closed) == 0);
    link_of(owner)->connected_why = why;
    atomic_fetch_add(&link_of(owner)->connected, 1);
}

static void on_established(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits,
                           const struct fabric_agreement *agreed)
{
    (void)agreed;
    (void)terminate;
    (void)limits;
    CHECK(atomic_load(&link_of(owner)->closed) == 0);
    link_of(owner)->established_why = why;
    atomic_fetch_add(&link_of(owner)->established, 1);
}

static void on_ended(void *owner, enum fabric_reason why, uint16_t terminate)
{
    (void)terminate;
    CHECK(why != FABRIC_OK);
    CHECK(atomic_load(&link_of(owner)->closed) == 0);
    atomic_fetch_add(&link_of(owner)->ended, 1);
}

static void on_disconnected(void *owner, enum fabric_reason why, uint16_t terminate)
{
    (void)terminate;
    (void)why;
    CHECK(atomic_load(&link_of(owner)->closed) == 0);
    atomic_fetch_add(&link_of(owner)->disconnected, 1);
}

static void on_closed(void *owner)
{
    atomic_fetch_add(&link_of(owner)->closed, 1);
}

static const struct fabric_conn_events events = {
    on_connected, on_established, on_ended, on_disconnected, on_closed,
};

static void on_listening(void *owner, enum fabric_reason why, const struct addr *local)
{
    struct server *s = owner;

    CHECK(why == FABRIC_OK);
    s->local = *local;
    atomic_store(&s->listening, 1);
}

static void *on_request(void *owner, struct fabric_conn *c, const struct fabric_peer *peer)
{
    struct server *s = owner;

    (void)peer;
    for (int i = 0; i < PASSIVES; i++) {
        struct passive *p = &s->slot[i];
        if (atomic_load(&p->state) != 0)
            continue;
        memset(&p->link, 0, sizeof p->link);
        p->link.f = s->f;
        p->link.c = c;
        atomic_store(&p->state, 1);
        return &p->link;
    }
    return NULL;
}

static void on_server_closed(void *owner)
{
    atomic_store(&((struct server *)owner)->closed, 1);
}

static const struct fabric_listener_events server_events = { on_listening, on_request, on_server_closed };

static void receives(struct side *s)
{
    for (int i = 0; i < RECEIVES; i++)
        post(s, RDMA_OP_RECEIVE, 0, NULL, 0, 4096, NULL, 0);
}

/* Polls all completions. Returns the number of receives among them. */
static int reap(struct side *s)
{
    struct rdma_completion c[8];
    int n, count = 0;

    while ((n = s->f->ops->cq_poll(s->cq, c, 8)) > 0)
        for (int i = 0; i < n; i++)
            count += c[i].op == RDMA_OP_RECEIVE;
    return count;
}

/* Flushes, and checks that every posted receive completes once. */
static void flush_and_check(struct side *s)
{
    int got = 0;

    s->f->ops->qp_flush(s->qp);
    AWAIT((got += reap(s)) == RECEIVES);
}

static void try_send(struct side *s, uint32_t len)
{
    struct rdma_sge sge = { (uintptr_t)s->memory, len, s->token };
    struct rdma_request r = { .op = RDMA_OP_SEND, .flags = RDMA_FLAG_SILENT, .sges = &sge, .sge_count = 1 };

    (void)s->f->ops->qp_post(s->qp, &r); /* may fail, because the connection may have ended */
}

static void end_passive(struct passive *p)
{
    link_close(&p->link);
    flush_and_check(&p->side);
    receives(&p->side);
    atomic_store(&p->state, 0);
}

static bool is_over(struct link *l)
{
    return atomic_load(&l->established) && (l->established_why != FABRIC_OK || atomic_load(&l->ended));
}

static void hang_up(struct passive *p, bool politely)
{
    if (politely && p->link.established_why == FABRIC_OK) {
        p->link.f->ops->conn_disconnect(p->link.c);
        AWAIT(atomic_load(&p->link.disconnected));
    }
    end_passive(p);
}

/* Answers requests that wait. */
static void serve(struct server *s, unsigned *seed)
{
    for (int i = 0; i < PASSIVES; i++) {
        struct passive *p = &s->slot[i];
        struct fabric_accept a = { .qp = p->side.qp, .limits = { 4, 4 } };
        int requested = 1, done = 2;

        if (atomic_compare_exchange_strong(&p->state, &requested, 3)) {
            unsigned how = draw(seed, 10);
            if (how == 0)
                s->f->ops->conn_reject(p->link.c, "x", 1);
            else if (how > 1)
                CHECK(s->f->ops->conn_accept(p->link.c, &events, &a) == 0);
            if (how <= 1)
                end_passive(p);
            else
                atomic_store(&p->state, 2);
        } else if (atomic_compare_exchange_strong(&p->state, &done, 3)) {
            if (is_over(&p->link))
                hang_up(p, draw(seed, 2));
            else
                atomic_store(&p->state, 2);
        }
    }
}

#define SERVE_UNTIL(c, what)                                                                                           \
    do {                                                                                                               \
        uint64_t serve_end = now_ms() + WAIT_MS;                                                                       \
        bool serve_done;                                                                                               \
        while (!(serve_done = (what)) && now_ms() < serve_end)                                                         \
            serve((c)->server, &(c)->seed);                                                                            \
        check_that(serve_done, #what, __FILE__, __LINE__);                                                             \
    } while (0)

static void one_connection(struct client *c, struct side *s)
{
    struct link l;
    struct addr local = loopback(AF_INET, 0);
    unsigned how = draw(&c->seed, 8);

    memset(&l, 0, sizeof l);
    l.f = c->f;
    CHECK(c->f->ops->conn_create(c->f, &events, &l, &l.c) == 0);
    link_connect(&l, s->qp, &local, &c->server->local, "abc", 3);
    if (how == 0)
        goto out;
    SERVE_UNTIL(c, atomic_load(&l.connected));
    if (l.connected_why != FABRIC_OK) {
        CHECK(l.connected_why == FABRIC_REJECTED);
        c->failed++;
        goto out;
    }
    if (how == 1)
        goto out;
    c->f->ops->conn_complete(l.c);
    if (how == 2)
        goto out;
    SERVE_UNTIL(c, atomic_load(&l.established));
    CHECK(l.established_why == FABRIC_OK);
    c->established++;
    for (unsigned i = draw(&c->seed, RECEIVES + 1); i > 0; i--)
        try_send(s, draw(&c->seed, 4096) + 1);
    if (how > 4) {
        c->f->ops->conn_disconnect(l.c);
        SERVE_UNTIL(c, atomic_load(&l.disconnected));
    }
out:
    c->f->ops->conn_close(l.c);
    SERVE_UNTIL(c, atomic_load(&l.closed));
    CHECK(atomic_load(&l.connected) == 1);
    CHECK(atomic_load(&l.ended) <= 1);
    flush_and_check(s);
    receives(s);
}

static void *client_main(void *context)
{
    struct client *c = context;
    struct side s;

    side_open(&s, c->f, -1, 64);
    receives(&s);
    for (int i = 0; i < ROUNDS; i++)
        one_connection(c, &s);
    flush_and_check(&s);
    side_close(&s);
    return NULL;
}

static bool all_free(struct server *s)
{
    for (int i = 0; i < PASSIVES; i++)
        if (atomic_load(&s->slot[i].state) != 0)
            return false;
    return true;
}

/* covers: QPR-17, WIR-05 */
static void churn(void)
{
    struct server *s = calloc(1, sizeof *s);
    struct client clients[WORKERS];
    struct fabric_config config;
    struct fabric *a;
    struct addr at = loopback(AF_INET, 0);
    unsigned seed = 7, established = 0;

    CHECK(s != NULL);
    world_config_defaults(&config);
    config.shards = 3;
    world_open_fabric(&a, &config);
    world_open_fabric(&s->f, &config);
    for (int i = 0; i < PASSIVES; i++) {
        side_open(&s->slot[i].side, s->f, -1, 64);
        receives(&s->slot[i].side);
    }
    CHECK(s->f->ops->listener_create(s->f, &server_events, &events, s, &s->l) == 0);
    s->f->ops->listener_listen(s->l, &at);
    AWAIT(atomic_load(&s->listening));
    for (int i = 0; i < WORKERS; i++) {
        clients[i] = (struct client){ .f = a, .server = s, .seed = (unsigned)i * 7919u + 1 };
        CHECK(pthread_create(&clients[i].thread, NULL, client_main, &clients[i]) == 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(clients[i].thread, NULL);
        established += clients[i].established;
    }
    CHECK(established > WORKERS * ROUNDS / 4);
    for (uint64_t end = now_ms() + WAIT_MS; !all_free(s) && now_ms() < end;)
        serve(s, &seed);
    CHECK(all_free(s));
    s->f->ops->listener_close(s->l);
    AWAIT(atomic_load(&s->closed));
    for (int i = 0; i < PASSIVES; i++) {
        flush_and_check(&s->slot[i].side);
        side_close(&s->slot[i].side);
    }
    a->ops->destroy(a);
    s->f->ops->destroy(s->f);
    free(s);
}

static const struct test tests[] = { { "churn", churn } };

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
