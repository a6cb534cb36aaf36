/* SPDX-License-Identifier: MIT */
/*
 * Connections that lose their network: packets are dropped, or the interface is deleted, moved, or down for a while.
 * The sockets are the kernel's, in a network namespace of the test. No end is expected by a certain time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/world.h"

#define RUN(command) CHECK(system(command) == 0)

static bool is_possible(const char *what, const char *command)
{
    if (system(command) == 0)
        return true;
    printf("skipped: %s\n", what);
    return false;
}

static void expect_lost(struct side *s, enum fabric_reason why)
{
    struct rdma_completion c;

    wait_completion(s, &c);
    CHECK(c.op == RDMA_OP_RECEIVE && c.status == RDMA_STATUS_LOST && c.reason == why);
}

static uint64_t errors(struct fabric *f)
{
    struct fabric_counters c;

    f->ops->counters(f, &c);
    return c.connection_errors;
}

static void exchange(struct world *w)
{
    post(&w->sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w->sa, RDMA_OP_SEND, 0, NULL, 0, 100, NULL, 0);
    expect_completion(&w->sa, RDMA_OP_SEND, NULL, 0);
    expect_completion(&w->sb, RDMA_OP_RECEIVE, NULL, 100);
}

static void check_ended(struct link *l, struct side *s, enum fabric_reason why)
{
    AWAIT(atomic_load(&l->ended));
    CHECK(l->ended_why == why);
    expect_lost(s, why);
    AWAIT(errors(l->f) == 1);
    l->f->ops->conn_disconnect(l->c);
    AWAIT(atomic_load(&l->disconnected));
    CHECK(l->disconnected_why == why && atomic_load(&l->ended) == 1);
}

/* ---- dropped packets ---- */

static void drop_packets(bool on)
{
    if (on)
        RUN("nft 'add table ip gone; add chain ip gone drops { type filter hook input priority 0; policy drop; }'");
    else
        RUN("nft delete table ip gone");
}

/* Without traffic probes detect it, on the connecting and on the accepting side. covers: DSC-02, QPR-20 */
static void idle(void)
{
    struct world w;

    world_defaults(&w);
    w.config_a.keepalive_idle_ms = w.config_a.keepalive_interval_ms = w.config_a.unacked_ms = 1000;
    w.config_b.keepalive_idle_ms = w.config_b.keepalive_interval_ms = w.config_b.unacked_ms = 1000;
    world_open(&w, AF_INET);
    world_connect(&w);
    exchange(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w.sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    drop_packets(true);
    check_ended(&w.active, &w.sa, FABRIC_PEER_SILENT);
    check_ended(w.passive, &w.sb, FABRIC_PEER_SILENT);
    drop_packets(false);
    world_close(&w);
}

/* Data is in flight, and no probe is sent. covers: DSC-02, QPR-20 */
static void unacknowledged(void)
{
    struct world w;

    world_defaults(&w);
    w.config_a.keepalive_idle_ms = w.config_a.keepalive_interval_ms = 0;
    w.config_a.unacked_ms = 300;
    w.config_b.keepalive_idle_ms = w.config_b.keepalive_interval_ms = w.config_b.unacked_ms = 0;
    world_open(&w, AF_INET);
    world_connect(&w);
    post(&w.sa, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    drop_packets(true);
    post(&w.sa, RDMA_OP_SEND, 0, NULL, 0, 100, NULL, 0);
    expect_completion(&w.sa, RDMA_OP_SEND, NULL, 0);
    check_ended(&w.active, &w.sa, FABRIC_PEER_SILENT);
    CHECK(atomic_load(&w.passive->ended) == 0); /* that side has no limit */
    drop_packets(false);
    world_close(&w);
}

/* ---- removed interfaces ---- */

/* Both sides use one end of a virtual cable. The other end is not used. */
static void add_interface(void)
{
    AWAIT(if_nametoindex("far0") == 0); /* a namespace's interfaces are removed some time after it ended */
    RUN("ip link add gone0 type veth peer name far0");
    RUN("ip address add 10.9.0.1/24 dev gone0 && ip link set gone0 up && ip link set far0 up");
    world_set_interface("gone0", "10.9.0.1");
}

static void open_on_interface(struct world *w)
{
    add_interface();
    world_defaults(w);
    w->config_a.shards = w->config_b.shards = 2;
    world_open(w, AF_INET);
    world_connect(w);
    post(&w->sa, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
    post(&w->sb, RDMA_OP_RECEIVE, 0, NULL, 0, 100, NULL, 0);
}

static void close_on_interface(struct world *w)
{
    world_close(w);
    world_set_interface("lo", "127.0.0.1");
}

static void expect_interface_removed(struct world *w)
{
    check_ended(&w->active, &w->sa, FABRIC_INTERFACE_GONE);
    check_ended(w->passive, &w->sb, FABRIC_INTERFACE_GONE);
}

/* covers: DSC-02, QPR-20 */
static void deleted(void)
{
    struct world w;

    open_on_interface(&w);
    RUN("ip link delete gone0");
    expect_interface_removed(&w);
    close_on_interface(&w);
}

/* Requests and connection attempts in progress end as well. */
static void deleted_while_connecting(void)
{
    struct world w;

    add_interface();
    world_defaults(&w);
    world_open(&w, AF_INET);
    world_request(&w);
    RUN("ip link delete gone0");
    AWAIT(atomic_load(&w.active.connected));
    CHECK(w.active.connected_why == FABRIC_INTERFACE_GONE || w.active.connected_why == FABRIC_PEER_RESET);
    link_accept(w.passive, w.sb.qp, NULL, 0);
    AWAIT(atomic_load(&w.passive->established));
    CHECK(w.passive->established_why != FABRIC_OK);
    close_on_interface(&w);
}

/* covers: DSC-02, QPR-20 */
static void moved(void)
{
    char command[100];
    int ready[2];
    struct world w;
    pid_t child;
    char byte;

    CHECK(pipe(ready) == 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNET) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    CHECK(child > 0 && read(ready[0], &byte, 1) == 1);
    open_on_interface(&w);
    snprintf(command, sizeof command, "ip link set gone0 netns %d", (int)child);
    RUN(command);
    expect_interface_removed(&w);
    close_on_interface(&w);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    close(ready[0]);
    close(ready[1]);
}

/* Other interfaces are deleted; this one joins a bridge and leaves it, goes down and comes up: no connection ends. */
static void stays(void)
{
    struct world w;

    open_on_interface(&w);
    RUN("ip link add gone1 type veth peer name far1 && ip link set gone1 up && ip link delete gone1");
    RUN("ip link set gone0 down && ip link set gone0 up");
    exchange(&w);
    if (is_possible("leaving a bridge: no bridges here", "ip link add bridge0 type bridge"))
        RUN("ip link set gone0 master bridge0 && ip link set gone0 nomaster && ip link delete bridge0");
    exchange(&w);
    CHECK(atomic_load(&w.active.ended) == 0 && atomic_load(&w.passive->ended) == 0);
    RUN("ip link delete gone0");
    expect_interface_removed(&w);
    close_on_interface(&w);
}

/* ---- capabilities of the machine ---- */

static const struct test filtered[] = {
    { "idle", idle },
    { "unacknowledged", unacknowledged },
};

static const struct test interfaces[] = {
    { "deleted", deleted },
    { "deleted_while_connecting", deleted_while_connecting },
    { "moved", moved },
    { "stays", stays },
};

/* Has own_network made a namespace for this test? The tests change nothing anywhere else. */
static bool is_own_network(void)
{
    struct if_nameindex *all = if_nameindex();
    int count = 0;

    for (const struct if_nameindex *i = all; i && i->if_index; i++)
        count++;
    if_freenameindex(all);
    return count == 1;
}

int main(int argc, char **argv)
{
    bool ran = false;

    if (!is_own_network()) {
        printf("skipped: there is no network namespace of the test's own\n");
        return 77;
    }
    if (is_possible("no nftables here", "nft 'add table ip gone; delete table ip gone'"))
        ran = run_tests(filtered, sizeof filtered / sizeof *filtered, argc, argv) == 0;
    if (is_possible("no veth interfaces here", "ip link add gone0 type veth && ip link delete gone0"))
        ran = run_tests(interfaces, sizeof interfaces / sizeof *interfaces, argc, argv) == 0 || ran;
    return ran ? 0 : 77;
}
