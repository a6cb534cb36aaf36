/* SPDX-License-Identifier: MIT */
/* The reservation of local addresses, listeners that pause and close, and shared endpoints. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/raw.h"
#include "fabric/world.h"

static void open_world(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
}

static enum fabric_reason can_listen(struct fabric *f, const struct addr *at)
{
    struct acceptor e;
    enum fabric_reason why = acceptor_try_open(&e, f, at);

    acceptor_close(&e);
    return why;
}

static enum fabric_reason connects(struct link *l, struct fabric_qp *qp, const struct addr *from, const struct addr *to)
{
    link_connect(l, qp, from, to, NULL, 0);
    AWAIT(atomic_load(&l->connected));
    return l->connected_why;
}

/* covers: LSN-01, LSN-02, ADP-03 */
static void listens(void)
{
    struct world w;
    struct addr other = loopback(AF_INET, 0);

    open_world(&w);
    CHECK(addr_port(&w.acceptor.local) >= 49152);
    CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_ADDRESS_TAKEN);
    CHECK(inet_pton(AF_INET, "192.0.2.1", &other.v4.sin_addr) == 1);
    CHECK(can_listen(w.a, &other) == FABRIC_ADDRESS_FOREIGN);
    other.v4.sin_addr.s_addr = htonl(INADDR_ANY);
    CHECK(can_listen(w.a, &other) == FABRIC_ADDRESS_FOREIGN);
    CHECK(inet_pton(AF_INET, "127.1.2.3", &other.v4.sin_addr) == 1);
    CHECK(can_listen(w.a, &other) == FABRIC_OK);
    world_close(&w);
}

struct flag_task {
    struct task task;
    atomic_bool ran;
};

static void raise_flag(struct task *task)
{
    atomic_store(&((struct flag_task *)task)->ran, true);
}

/* Waits until the shard has done all work that was posted before, because it works in the order of posts. */
static void on_shard(struct shard *s)
{
    struct flag_task t = { .task.run = raise_flag };

    shard_post(s, &t.task);
    AWAIT(atomic_load(&t.ran));
}

/* covers: LSN-04, CON-09 */
static void pauses(void)
{
    struct world w;
    struct addr local = loopback(AF_INET, 0);

    open_world(&w);
    for (int i = 0; i < 3; i++) {
        w.b->ops->listener_pause(w.acceptor.l, true);
        on_shard(w.b->ops->listener_shard(w.acceptor.l));
        atomic_store(&w.active.connected, 0);
        CHECK(connects(&w.active, w.sa.qp, &local, &w.acceptor.local) == FABRIC_REFUSED);
        CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_ADDRESS_TAKEN);
        w.b->ops->listener_pause(w.acceptor.l, false);
        on_shard(w.b->ops->listener_shard(w.acceptor.l));
        atomic_store(&w.active.connected, 0);
        world_request(&w);
        CHECK(w.b->ops->conn_reject(w.passive->c, NULL, 0) == FABRIC_OK);
        AWAIT(atomic_load(&w.active.connected));
        CHECK(w.active.connected_why == FABRIC_REJECTED);
        link_close(w.passive);
    }
    w.passive = NULL;
    world_close(&w);
}

/* covers: LSN-06, LSN-07 */
static void listener_goes_first(void)
{
    struct world w;
    struct link late;
    struct addr local = loopback(AF_INET, 0);

    open_world(&w);
    world_connect(&w);
    acceptor_close(&w.acceptor);
    CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_ADDRESS_TAKEN);
    link_open(&late, w.a);
    CHECK(connects(&late, w.sa.qp, &local, &w.acceptor.local) == FABRIC_REFUSED);
    link_close(&late);
    post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 100, NULL, 0);
    expect_completion(&w.sb, RDMA_OP_RECEIVE, NULL, 100);
    world_disconnect(&w);
    CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_ADDRESS_TAKEN);
    link_close(w.passive);
    CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_OK);
    w.passive = NULL;
    acceptor_open(&w.acceptor, w.b, &local);
    world_close(&w);
}

/* Peers whose request was malformed and who stay connected do not keep the address reserved. covers: LSN-07 */
static void refused_connections_free_address(void)
{
    static const struct mpa_frame request = { .revision = 1, .markers = true };
    struct world w;
    struct addr any = loopback(AF_INET, 0);
    struct mpa_frame reply;
    uint8_t bytes[MPA_MAX_FRAME];
    int fd;

    open_world(&w);
    fd = raw_connect(&w.acceptor.local);
    raw_send_frame(fd, &request);
    raw_read_frame(fd, true, &reply, bytes);
    CHECK(reply.rejected);
    acceptor_close(&w.acceptor);
    CHECK(can_listen(w.a, &w.acceptor.local) == FABRIC_OK);
    close(fd);
    acceptor_open(&w.acceptor, w.b, &any);
    world_close(&w);
}

/* covers: CON-22 */
static void until_closed(void)
{
    struct world w;
    struct addr local;

    open_world(&w);
    world_connect(&w);
    local = w.active.local;
    CHECK(can_listen(w.a, &local) == FABRIC_ADDRESS_TAKEN);
    world_disconnect(&w);
    CHECK(can_listen(w.a, &local) == FABRIC_ADDRESS_TAKEN);
    link_close(&w.active);
    CHECK(can_listen(w.a, &local) == FABRIC_OK);
    link_open(&w.active, w.a);
    world_close(&w);
}

enum { MANY = 8 };

static void endpoint_connect(struct link *l, struct side *s, struct fabric_endpoint *e, const struct addr *to)
{
    struct fabric_connect p = { .qp = s->qp, .endpoint = e, .remote = *to, .limits = { 4, 4 } };

    link_open(l, s->f);
    CHECK(l->f->ops->conn_connect(l->c, &p) == 0);
}

/* covers: CSE-01, CSE-02, CSE-03, CSE-05, CSE-06 */
static void shared(void)
{
    struct world w;
    struct acceptor ears[MANY];
    struct link links[MANY], again;
    struct side there[MANY], here[MANY];
    struct fabric_endpoint *e;
    struct addr local = loopback(AF_INET, 0), any = loopback(AF_INET, 0);

    open_world(&w);
    CHECK(w.a->ops->endpoint_create(w.a, &local, &e) == FABRIC_OK);
    CHECK(addr_port(&local) >= 49152);
    CHECK(can_listen(w.b, &local) == FABRIC_ADDRESS_TAKEN);
    CHECK(connects(&w.active, w.sa.qp, &local, &w.acceptor.local) == FABRIC_ADDRESS_TAKEN);
    for (int i = 0; i < MANY; i++) {
        acceptor_open(&ears[i], w.b, &any);
        side_open(&here[i], w.a, -1, 64);
        side_open(&there[i], w.b, -1, 64);
        endpoint_connect(&links[i], &here[i], e, &ears[i].local);
        AWAIT(atomic_load(&ears[i].requests) == 1);
        CHECK(addr_equal(&ears[i].link[0].remote, &local));
        link_accept(&ears[i].link[0], there[i].qp, NULL, 0);
        AWAIT(atomic_load(&links[i].connected));
        CHECK(links[i].connected_why == FABRIC_OK);
        w.a->ops->conn_complete(links[i].c);
        AWAIT(atomic_load(&ears[i].link[0].established));
    }
    endpoint_connect(&again, &w.sa, e, &ears[0].local);
    AWAIT(atomic_load(&again.connected));
    CHECK(again.connected_why == FABRIC_FOUR_TUPLE);
    link_close(&again);
    link_close(&links[0]);
    link_close(&ears[0].link[0]);
    endpoint_connect(&links[0], &here[0], e, &ears[0].local);
    AWAIT(atomic_load(&ears[0].requests) == 2);
    for (int i = 0; i < MANY; i++) {
        CHECK(can_listen(w.b, &local) == FABRIC_ADDRESS_TAKEN);
        link_close(&links[i]);
        link_close(&ears[i].link[i == 0 ? 1 : 0]);
        acceptor_close(&ears[i]);
        side_close(&here[i]);
        side_close(&there[i]);
    }
    CHECK(can_listen(w.b, &local) == FABRIC_ADDRESS_TAKEN);
    w.a->ops->endpoint_close(e);
    CHECK(can_listen(w.b, &local) == FABRIC_OK);
    world_close(&w);
}

/* covers: CSE-01 */
static void shared_refused(void)
{
    struct world w;
    struct fabric_endpoint *e;
    struct addr local;

    open_world(&w);
    local = w.acceptor.local;
    CHECK(w.a->ops->endpoint_create(w.a, &local, &e) == FABRIC_ADDRESS_TAKEN);
    CHECK(inet_pton(AF_INET, "192.0.2.1", &local.v4.sin_addr) == 1);
    CHECK(w.a->ops->endpoint_create(w.a, &local, &e) == FABRIC_ADDRESS_FOREIGN);
    world_close(&w);
}

static int owns_only_one(struct interfaces *self, uint32_t index, const struct addr *a)
{
    struct addr one = loopback(AF_INET, 0);

    (void)self;
    (void)index;
    return addr_same_host(a, &one) ? 0 : EADDRNOTAVAIL;
}

static int owns_unknown(struct interfaces *self, uint32_t index, const struct addr *a)
{
    (void)self;
    (void)index;
    (void)a;
    return EMFILE;
}

/* An address of the host that belongs to another interface. covers: LSN-02, CON-13, CSE-01 */
static void of_another_interface(void)
{
    struct interfaces one = *interfaces_kernel();
    struct fabric_endpoint *e;
    struct fabric_config config;
    struct addr other = loopback(AF_INET, 0), own = other;
    struct fabric *f;

    CHECK(inet_pton(AF_INET, "127.0.0.2", &other.v4.sin_addr) == 1);
    one.owns = owns_only_one;
    world_config_defaults(&config);
    CHECK(iwarp_fabric_create(executor_threads(), net_kernel(), &one, if_nametoindex("lo"), &config, &f) == 0);
    CHECK(can_listen(f, &own) == FABRIC_OK);
    CHECK(can_listen(f, &other) == FABRIC_ADDRESS_FOREIGN);
    CHECK(f->ops->endpoint_create(f, &other, &e) == FABRIC_ADDRESS_FOREIGN);
    one.owns = owns_unknown;
    CHECK(can_listen(f, &own) == FABRIC_DESCRIPTORS);
    CHECK(f->ops->endpoint_create(f, &own, &e) == FABRIC_DESCRIPTORS);
    f->ops->destroy(f);
}

static void no_such_interface(void)
{
    struct fabric_config config;
    struct fabric *f;

    world_config_defaults(&config);
    CHECK(iwarp_fabric_create(executor_threads(), net_kernel(), interfaces_kernel(), 999999, &config, &f) == ENODEV);
}

static const struct test tests[] = {
    { "listens", listens },
    { "pauses", pauses },
    { "listener_goes_first", listener_goes_first },
    { "refused_connections_free_address", refused_connections_free_address },
    { "until_closed", until_closed },
    { "shared", shared },
    { "shared_refused", shared_refused },
    { "of_another_interface", of_another_interface },
    { "no_such_interface", no_such_interface },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
