/* SPDX-License-Identifier: MIT */
/* Connections that fail: the reason, and that nothing remains of them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "fabric/world.h"

static struct addr anywhere(void)
{
    return loopback(AF_INET, 0);
}

static struct addr ipv4(const char *text, uint16_t port)
{
    struct addr a = loopback(AF_INET, port);

    CHECK(inet_pton(AF_INET, text, &a.v4.sin_addr) == 1);
    return a;
}

/* Connects again with the same connection and queue pair: nothing remains of the failure. */
static void works_now(struct world *w)
{
    struct addr local = anywhere();

    atomic_store(&w->active.connected, 0);
    int before = atomic_load(&w->acceptor.requests);
    link_connect(&w->active, w->sa.qp, &local, &w->acceptor.local, NULL, 0);
    AWAIT(atomic_load(&w->acceptor.requests) > before);
    w->passive = &w->acceptor.link[before % LINKS];
    world_accept(w);
    world_complete(w);
    world_disconnect(w);
}

static void fails(struct world *w, struct addr local, struct addr remote, enum fabric_reason why)
{
    link_connect(&w->active, w->sa.qp, &local, &remote, NULL, 0);
    AWAIT(atomic_load(&w->active.connected));
    if (w->active.connected_why != why)
        fprintf(stderr, "got %s\n", fabric_reason_name(w->active.connected_why));
    CHECK(w->active.connected_why == why);
    works_now(w);
    world_close(w);
}

static void open_world(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
}

/* covers: CON-07, CON-17 */
static void refused(void)
{
    struct world w;
    struct addr at;
    int fd = raw_listen(1, &at);

    close(fd);
    open_world(&w);
    fails(&w, anywhere(), at, FABRIC_REFUSED);
}

/* The address of a connect that failed is free again, for the same connector. covers: CON-17 */
static void address_is_free(void)
{
    struct world w;
    struct acceptor e;
    struct addr at, local = anywhere();
    int fd = raw_listen(1, &at);

    close(fd);
    open_world(&w);
    acceptor_open(&e, w.a, &local);
    local = e.local;
    acceptor_close(&e);
    for (int i = 0; i < 3; i++) {
        atomic_store(&w.active.connected, 0);
        link_connect(&w.active, w.sa.qp, &local, &at, NULL, 0);
        AWAIT(atomic_load(&w.active.connected));
        CHECK(w.active.connected_why == FABRIC_REFUSED);
    }
    works_now(&w);
    world_close(&w);
}

/* covers: CON-05 */
static void no_route(void)
{
    struct world w;

    open_world(&w);
    fails(&w, anywhere(), ipv4("198.51.100.1", 5000), FABRIC_NO_ROUTE);
}

/* covers: CON-13 */
static void foreign(void)
{
    struct world w;

    open_world(&w);
    fails(&w, ipv4("198.51.100.1", 0), w.acceptor.local, FABRIC_ADDRESS_FOREIGN);
    open_world(&w);
    fails(&w, ipv4("0.0.0.0", 0), w.acceptor.local, FABRIC_ADDRESS_FOREIGN);
}

/* covers: CON-12 */
static void address_in_use(void)
{
    struct world w;
    struct addr at;
    int fd = raw_listen(1, &at);

    open_world(&w);
    fails(&w, at, w.acceptor.local, FABRIC_ADDRESS_TAKEN);
    close(fd);
    open_world(&w);
    fails(&w, w.acceptor.local, at, FABRIC_ADDRESS_TAKEN);
}

/* covers: CON-15 */
static void four_tuple(void)
{
    struct world w;
    struct link second;

    open_world(&w);
    world_connect(&w);
    link_open(&second, w.a);
    link_connect(&second, w.sa.qp, &w.active.local, &w.acceptor.local, NULL, 0);
    AWAIT(atomic_load(&second.connected));
    CHECK(second.connected_why == FABRIC_FOUR_TUPLE);
    link_close(&second);
    world_disconnect(&w);
    world_close(&w);
}

/* covers: CON-11 */
static void silent_peer(void)
{
    struct world w;
    struct addr at, local = anywhere();
    int fd = raw_listen(8, &at);

    world_defaults(&w);
    w.config_a.reply_ms = 30;
    world_open(&w, AF_INET);
    link_connect(&w.active, w.sa.qp, &local, &at, NULL, 0);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_REPLY_TIMEOUT);
    close(fd);
    world_close(&w);
}

/* A host whose kernel backlog is full does not answer. covers: CON-10 */
static void silent_host(void)
{
    struct world w;
    struct addr at, local = anywhere();
    int fd = raw_listen(0, &at), filler = raw_connect(&at);

    world_defaults(&w);
    w.config_a.connect_ms = 30;
    world_open(&w, AF_INET);
    link_connect(&w.active, w.sa.qp, &local, &at, NULL, 0);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_CONNECT_TIMEOUT);
    close(filler);
    close(fd);
    world_close(&w);
}

/* covers: CON-08, ACC-06 */
static void rejected(void)
{
    struct world w;

    open_world(&w);
    world_request(&w);
    CHECK(w.b->ops->conn_reject(w.passive->c, "no", 2) == FABRIC_OK);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_REJECTED);
    CHECK(w.active.private_len == 2 && memcmp(w.active.private_data, "no", 2) == 0);
    link_close(w.passive);
    works_now(&w);
    world_close(&w);
}

/* covers: ACC-08 */
static void closed_unanswered(void)
{
    struct world w;

    open_world(&w);
    world_request(&w);
    link_close(w.passive);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_REJECTED);
    works_now(&w);
    world_close(&w);
}

/* The listener's owner refuses the request. */
static void unwanted(void)
{
    struct world w;
    struct addr local = anywhere();

    open_world(&w);
    w.acceptor.refuse = true;
    link_connect(&w.active, w.sa.qp, &local, &w.acceptor.local, NULL, 0);
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_REJECTED);
    world_close(&w);
}

/* covers: CON-21 */
static void closed_while_connecting(void)
{
    struct world w;

    open_world(&w);
    world_request(&w);
    link_close(&w.active);
    CHECK(atomic_load(&w.active.connected) == 1 && w.active.connected_why == FABRIC_LOCAL_CLOSE);
    link_open(&w.active, w.a);
    world_close(&w);
}

/* covers: ACC-02 */
static void peer_closes_before_accept(void)
{
    struct world w;

    open_world(&w);
    world_request(&w);
    link_close(&w.active);
    link_accept(w.passive, w.sb.qp, NULL, 0);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why == FABRIC_UNANSWERED);
    link_open(&w.active, w.a);
    world_close(&w);
}

/* covers: ACC-03, CMP-03 */
static void never_completed(void)
{
    struct world w;

    world_defaults(&w);
    w.config_b.establish_ms = 30;
    world_open(&w, AF_INET);
    world_request(&w);
    world_accept(&w);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why == FABRIC_ESTABLISH_TIMEOUT);
    w.a->ops->conn_complete(w.active.c);
    AWAIT(atomic_load(&w.active.established));
    CHECK(w.active.established_why != FABRIC_OK);
    world_close(&w);
}

/* covers: ACC-07 */
static void active_reject(void)
{
    struct world w;

    open_world(&w);
    world_request(&w);
    world_accept(&w);
    CHECK(w.a->ops->conn_reject(w.active.c, NULL, 0) == FABRIC_OK);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why == FABRIC_PEER_GAVE_UP);
    world_close(&w);
}

/* covers: CMP-02 */
static void wrong_times(void)
{
    struct world w;

    open_world(&w);
    w.a->ops->conn_complete(w.active.c);
    AWAIT(atomic_load(&w.active.established));
    CHECK(w.active.established_why == FABRIC_NOT_CONNECTING);
    w.a->ops->conn_disconnect(w.active.c);
    AWAIT(atomic_load(&w.active.disconnected));
    CHECK(w.active.disconnected_why == FABRIC_NOT_CONNECTING);
    CHECK(w.a->ops->conn_reject(w.active.c, NULL, 0) == FABRIC_NOT_CONNECTING);
    atomic_store(&w.active.established, 0);
    atomic_store(&w.active.disconnected, 0);
    works_now(&w);
    world_close(&w);
}

/* A fabric with two shards, a queue pair on each, and a peer that rejects: the connection may connect again. */
struct elsewhere {
    struct fabric *a, *b;
    struct side here, there;
    struct acceptor acceptor;
};

static void elsewhere_open(struct elsewhere *e)
{
    struct fabric_config config;
    struct addr at = loopback(AF_INET, 0);

    world_config_defaults(&config);
    world_open_fabric(&e->b, &config);
    config.shards = 2;
    world_open_fabric(&e->a, &config);
    side_open(&e->here, e->a, 0, DEPTH);
    side_open(&e->there, e->a, 1, DEPTH);
    e->acceptor = (struct acceptor){ 0 };
    acceptor_open(&e->acceptor, e->b, &at);
    e->acceptor.refuse = true;
}

static void elsewhere_close(struct elsewhere *e)
{
    acceptor_close(&e->acceptor);
    side_close(&e->here);
    side_close(&e->there);
    e->a->ops->destroy(e->a);
    e->b->ops->destroy(e->b);
}

/* The connector moves to another shard, which ends it. The first shard must not touch it any more (for TSan). */
static void again_elsewhere(void)
{
    struct addr local = anywhere();
    struct elsewhere e;
    struct link l;

    elsewhere_open(&e);
    for (int i = 0; i < 10; i++) {
        link_open(&l, e.a);
        link_connect(&l, e.here.qp, &local, &e.acceptor.local, NULL, 0);
        AWAIT(atomic_load(&l.connected) == 1);
        CHECK(l.connected_why == FABRIC_REJECTED);
        link_connect(&l, e.there.qp, &local, &e.acceptor.local, NULL, 0);
        AWAIT(atomic_load(&l.connected) == 2);
        link_close(&l);
    }
    elsewhere_close(&e);
}

struct eager {
    struct fabric *f;
    struct fabric_conn *c;
    struct elsewhere e;
    atomic_int connected, closed;
};

static void eager_connect(struct eager *g, struct fabric_qp *qp)
{
    struct fabric_connect p = { .qp = qp, .local = anywhere(), .remote = g->e.acceptor.local };

    CHECK(g->f->ops->conn_connect(g->c, &p) == 0);
}

static void eager_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    struct eager *g = owner;

    (void)peer;
    CHECK(why == FABRIC_REJECTED);
    if (atomic_fetch_add(&g->connected, 1) == 0)
        eager_connect(g, g->e.there.qp);
}

static void eager_closed(void *owner)
{
    atomic_fetch_add(&((struct eager *)owner)->closed, 1);
}

/* A connect from inside the upcall moves the connection while its old shard still uses it. covers: CON-17 */
static void again_from_its_upcall(void)
{
    static const struct fabric_conn_events events = { .connected = eager_connected, .closed = eager_closed };
    struct eager g = { .connected = 0 };

    elsewhere_open(&g.e);
    g.f = g.e.a;
    CHECK(g.f->ops->conn_create(g.f, &events, &g, &g.c) == 0);
    eager_connect(&g, g.e.here.qp);
    AWAIT(atomic_load(&g.connected) == 2);
    g.f->ops->conn_close(g.c);
    AWAIT(atomic_load(&g.closed) == 1);
    elsewhere_close(&g.e);
}

static const struct test tests[] = {
    { "refused", refused },
    { "address_is_free", address_is_free },
    { "no_route", no_route },
    { "foreign", foreign },
    { "address_in_use", address_in_use },
    { "four_tuple", four_tuple },
    { "silent_peer", silent_peer },
    { "silent_host", silent_host },
    { "rejected", rejected },
    { "closed_unanswered", closed_unanswered },
    { "unwanted", unwanted },
    { "closed_while_connecting", closed_while_connecting },
    { "gone_before_accept", peer_closes_before_accept },
    { "never_completed", never_completed },
    { "active_reject", active_reject },
    { "wrong_times", wrong_times },
    { "again_elsewhere", again_elsewhere },
    { "again_from_its_upcall", again_from_its_upcall },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
