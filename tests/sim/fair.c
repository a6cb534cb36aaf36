/* SPDX-License-Identifier: MIT */
/*
 * Connections that share a shard, on the simulated network: the bounds of one turn of a connection and of a shard's
 * work. Hogs send more empty RDMA writes than a turn may process, a ping arrives among them, and each hog's frames are
 * counted until the ping is received.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/qp.h"
#include "provider/config.h"
#include "sim/sim.h"
#include "sim/sim_executor.h"
#include "sim/sim_net.h"
#include "sim/sim_net_internal.h"

enum {
    MAX_HOGS = 64,
    FRAMES = 3 * IWARP_MAX_TURN_FPDUS, /* of each hog: after one turn more than another turn's frames remain */
    WINDOW = 64 * FRAMES,
    MAX_TURNS = 100000,
};

struct link {
    struct fabric_qp *qp[SIM_HOSTS];
    struct fabric_conn *conn[SIM_HOSTS];
    bool established[SIM_HOSTS], connected;
    uint64_t before;
};

static struct fabric *fabrics[SIM_HOSTS]; /* 0: the hogs and the pinging side; 1: the measured shard */
static struct fabric_cq *cqs[SIM_HOSTS];
static struct fabric_listener *listener;
static struct addr address;
static struct link links[MAX_HOGS + 1], *accepting; /* links[0] sends the ping */
static unsigned closed, notified;

/* ---- events ---- */

static void on_connected(void *owner, enum fabric_reason why, const struct fabric_peer *peer)
{
    (void)peer;
    sim_check(why == FABRIC_OK, "a connect fails");
    ((struct link *)owner)->connected = true;
}

static void on_established(struct link *l, int host, enum fabric_reason why)
{
    sim_check(why == FABRIC_OK, "a connection is not established");
    l->established[host] = true;
}

static void on_active_established(void *owner, enum fabric_reason why, uint16_t terminate,
                                  const struct fabric_limits *limits, const struct fabric_agreement *agreed)
{
    (void)agreed;
    (void)terminate, (void)limits;
    on_established(owner, 0, why);
}

static void on_passive_established(void *owner, enum fabric_reason why, uint16_t terminate,
                                   const struct fabric_limits *limits, const struct fabric_agreement *agreed)
{
    (void)agreed;
    (void)terminate, (void)limits;
    on_established(owner, 1, why);
}

static void on_end(void *owner, enum fabric_reason why, uint16_t terminate)
{
    (void)owner, (void)why, (void)terminate;
}

static void on_closed(void *owner)
{
    (void)owner;
    closed++;
}

static const struct fabric_conn_events active_events = {
    on_connected, on_active_established, on_end, on_end, on_closed,
};
static const struct fabric_conn_events passive_events = {
    on_connected, on_passive_established, on_end, on_end, on_closed,
};

static void on_listening(void *owner, enum fabric_reason why, const struct addr *local)
{
    (void)owner;
    sim_check(why == FABRIC_OK, "nobody listens");
    address = *local;
}

static void *on_request(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer)
{
    (void)owner, (void)peer;
    accepting->conn[1] = conn;
    return accepting;
}

static const struct fabric_listener_events listener_events = { on_listening, on_request, on_closed };

static void on_notify(void *owner, bool overflow)
{
    sim_check(!overflow, "a completion queue overflows");
    notified += owner == &cqs[1];
}

/* ---- counting ---- */

static uint64_t received(const struct link *l)
{
    struct iw_counters now;

    iw_qp_counters(l->qp[1]->iw, &now);
    return now.fpdus_received;
}

static unsigned hogs_beside;
static bool waits_for_ping;

/*
 * Called between two sockets of a turn. Checks that from the ping's arrival to its receipt no hog had more than one
 * turn.
 */
static void find_ping(void)
{
    uint64_t all = 0;

    if (!waits_for_ping || received(&links[0]) == links[0].before)
        return;
    waits_for_ping = false;
    for (unsigned i = 1; i <= hogs_beside; i++) {
        uint64_t n = received(&links[i]) - links[i].before;

        all += n;
        sim_check(n <= IWARP_MAX_TURN_FPDUS + 1, "hog %u of %u: %llu frames before the ping", i, hogs_beside,
                  (unsigned long long)n);
    }
    printf("%u hogs: %llu frames before the ping\n", hogs_beside, (unsigned long long)all);
    sim_check(all > 0, "no hog was ahead of the ping");
}

/* ---- making it ---- */

static void await(const bool *what)
{
    while (!*what)
        sim_check(sim_step() || *what, "nothing will happen");
}

static void await_closed(unsigned count)
{
    while (closed < count)
        sim_check(sim_step() || closed == count, "a close does not end");
}

static void open_host(unsigned host)
{
    struct fabric_cq_config cq = { .depth = MAX_HOGS * 8, .affinity = -1, .notify = on_notify, .owner = &cqs[host] };
    ondk_config_t defaults;
    struct fabric_config config;

    ondk_config_init(&defaults);
    config_for_fabric(&defaults, &config);
    config.shards = 1;
    sim_check(iwarp_fabric_create(sim_executor(), sim_net(), sim_interfaces(host), host + 1, &config, &fabrics[host]) ==
                  0,
              "no fabric");
    sim_check(fabrics[host]->ops->cq_create(fabrics[host], &cq, &cqs[host]) == 0, "no completion queue");
}

static void make_qp(struct link *l, unsigned host)
{
    struct fabric_qp_config config = {
        .receive_cq = cqs[host],
        .initiator_cq = cqs[host],
        .domain = fabrics[host],
        .receive_depth = 4,
        .initiator_depth = FRAMES + 4,
        .receive_sges = 1,
        .initiator_sges = 1,
        .inline_size = 16,
    };

    sim_check(fabrics[host]->ops->qp_create(fabrics[host], &config, &l->qp[host]) == 0, "no queue pair");
}

static void widen(void)
{
    struct endpoint *e;

    TAILQ_FOREACH (e, wire_all(), link)
        e->window = WINDOW;
}

static void establish(struct link *l)
{
    struct fabric_connect connect = { .local = sim_net_address(0, false), .remote = address };
    struct fabric_accept accept = { 0 };

    for (unsigned host = 0; host < SIM_HOSTS; host++)
        make_qp(l, host);
    accepting = l;
    connect.qp = l->qp[0];
    accept.qp = l->qp[1];
    sim_check(fabrics[0]->ops->conn_create(fabrics[0], &active_events, l, &l->conn[0]) == 0, "no connection");
    sim_check(fabrics[0]->ops->conn_connect(l->conn[0], &connect) == 0, "no connect");
    while (!l->conn[1]) {
        widen();
        sim_check(sim_step(), "no request comes");
    }
    sim_check(fabrics[1]->ops->conn_accept(l->conn[1], &passive_events, &accept) == 0, "no accept");
    await(&l->connected);
    fabrics[0]->ops->conn_complete(l->conn[0]);
    await(&l->established[0]);
    await(&l->established[1]);
    widen();
}

static void set_up(unsigned hogs)
{
    sim_seed(hogs);
    sim_scenario = (struct sim_scenario){
        .name = "fair", .orderly = true, .delay = 1000, .ports = 1000, .window = WINDOW
    };
    for (unsigned host = 0; host < SIM_HOSTS; host++)
        open_host(host);
    sim_check(fabrics[1]->ops->listener_create(fabrics[1], &listener_events, &passive_events, NULL, &listener) == 0,
              "no listener");
    address = sim_net_address(1, false);
    fabrics[1]->ops->listener_listen(listener, &address);
    while (!addr_port(&address))
        sim_check(sim_step(), "nobody listens");
    sim_net_in_order(find_ping);
    for (unsigned i = 0; i <= hogs; i++)
        establish(&links[(i + 1) % (hogs + 1)]); /* the ping's connection is last, behind the hogs */
}

static void on_disconnect(void *context)
{
    (void)context;
    closed++;
}

static void tear_down(unsigned hogs)
{
    unsigned ends = 0;

    for (unsigned i = 0; i <= hogs; i++)
        for (unsigned host = 0; host < SIM_HOSTS; host++, ends++)
            fabrics[host]->ops->conn_close(links[i].conn[host]);
    fabrics[1]->ops->listener_close(listener);
    await_closed(++ends);
    for (unsigned i = 0; i <= hogs; i++)
        for (unsigned host = 0; host < SIM_HOSTS; host++, ends++)
            fabrics[host]->ops->qp_close(links[i].qp[host], on_disconnect, NULL);
    await_closed(ends);
    for (unsigned host = 0; host < SIM_HOSTS; host++, ends++)
        fabrics[host]->ops->cq_close(cqs[host], on_disconnect);
    await_closed(ends);
    for (unsigned host = 0; host < SIM_HOSTS; host++)
        fabrics[host]->ops->destroy(fabrics[host]);
    sim_net_end();
}

/* ---- turns ---- */

static struct shard *shard_of(unsigned host)
{
    return ((struct iwarp_fabric *)fabrics[host])->shards[0].shard;
}

static void post(struct fabric_qp *qp, const struct rdma_request *r)
{
    sim_check(fabrics[0]->ops->qp_post(qp, r) == 0, "a post fails");
}

/* Runs only the hogs' side until it is idle. The sent data waits in the sockets of the other side. */
static void send_all(void)
{
    for (int i = 0; i < 3; i++) {
        while (shard_turn(shard_of(0)))
            sim_clock += SIM_MS;
        sim_clock += SIM_SECOND / 100;
        sim_net_advance();
    }
}

static void feed_hogs(unsigned hogs)
{
    struct rdma_request empty_write = { .op = RDMA_OP_WRITE };

    for (unsigned i = 1; i <= hogs; i++)
        for (unsigned n = 1; n <= FRAMES; n++) {
            empty_write.flags = RDMA_FLAG_SILENT | (n < FRAMES ? RDMA_FLAG_DEFER : 0); /* they are sent together */
            post(links[i].qp[0], &empty_write);
        }
    send_all();
}

static void ping(void)
{
    static const struct rdma_request receive = { .op = RDMA_OP_RECEIVE };
    static const struct rdma_request send = { .op = RDMA_OP_SEND, .flags = RDMA_FLAG_SILENT };

    sim_check(fabrics[1]->ops->qp_post(links[0].qp[1], &receive) == 0, "a receive is not posted");
    fabrics[1]->ops->cq_arm(cqs[1], FABRIC_ARM_ANY);
    post(links[0].qp[0], &send);
    send_all();
}

static void check_ping(unsigned hogs)
{
    hogs_beside = hogs;
    for (unsigned i = 0; i <= hogs; i++)
        links[i].before = received(&links[i]);
    ping();
    waits_for_ping = true;
    notified = 0;
    for (int turns = 0; waits_for_ping || !notified; turns++) {
        sim_check(turns < MAX_TURNS, "the ping is not received");
        (void)shard_turn(shard_of(1));
    }
}

/* ---- tests ---- */

static void ping_beside(unsigned hogs)
{
    uint64_t first;

    set_up(hogs);
    first = received(&links[1]);
    feed_hogs(hogs);
    check_ping(hogs); /* the hogs have not begun */
    check_ping(hogs); /* they are in the middle of their frames */
    for (int i = 0; i < MAX_TURNS && received(&links[hogs]) - first < FRAMES; i++)
        (void)shard_turn(shard_of(1));
    for (unsigned i = 1; i <= hogs; i++)
        sim_check(received(&links[i]) - first == FRAMES, "hog %u: %llu frames of %d are processed", i,
                  (unsigned long long)(received(&links[i]) - first), FRAMES);
    feed_hogs(hogs);
    (void)shard_turn(shard_of(1));
    tear_down(hogs); /* in the middle of frames */
}

struct busy {
    struct task task;
    struct shard *shard;
    int runs, left;
};

static void run_busy(struct task *task)
{
    struct busy *b = (struct busy *)((char *)task - offsetof(struct busy, task));

    b->runs++;
    sim_clock += SIM_MS;
    if (--b->left > 0)
        shard_post(b->shard, task);
}

/* Long work that posts itself again lets the sockets run after a few turns. */
static void work_beside_sockets(unsigned unused)
{
    struct busy b = { .task.run = run_busy, .left = 1000 };
    int first;

    (void)unused;
    set_up(1);
    b.shard = shard_of(1);
    shard_post(b.shard, &b.task);
    first = b.runs;
    (void)shard_turn(b.shard);
    sim_check(b.runs - first <= 4, "%d runs of one task in one turn", b.runs - first);
    while (b.left > 0)
        (void)shard_turn(b.shard);
    tear_down(1);
}

/* clang-format off */
static const struct {
    const char *name;
    void (*run)(unsigned n);
    unsigned n;
} tests[] = {
    { "1", ping_beside, 1 }, { "7", ping_beside, 7 }, { "64", ping_beside, 64 }, { "work", work_beside_sockets, 0 },
};
/* clang-format on */

/* Runs one test, because a process has only one simulation. */
int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof tests[0]; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run(tests[i].n);
            return 0;
        }
    fprintf(stderr, "usage: sim_fair 1|7|64|work\n");
    return 2;
}
