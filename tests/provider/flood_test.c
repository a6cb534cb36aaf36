/* SPDX-License-Identifier: MIT */
/*
 * A listener under attack: 5,000 connections that never send a request, while clients from other addresses connect. The
 * listener runs in the case's process with a limit of descriptors; attackers and clients are children with sockets of
 * their own. Each case prints how many clients connected. No time limit of the provider ends an attacker.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"

enum {
    ATTACKERS = 5000,
    SOURCES = 1000,  /* of the attack that has many */
    THREADS = 32,    /* of clients of each kind; each thread has an address of its own */
    SHORT_RUN = 100, /* clients of each kind in a short case */
    LONG_RUN = 1000,
    PERCENT = 99,       /* of the clients must connect */
    THINK_MS = 200,     /* of a slow client, from TCP connect to the request */
    PAUSE_MS = 100,     /* of a quick client, before it connects, so that it meets the height of the attack */
    GIVE_UP_S = 60,     /* after that, a client counts as failed */
    DESCRIPTORS = 5200, /* that the attackers need */
};

/* ---- sockets ---- */

/* 127.0.0.0/8: net 1 has the attackers, net 2 the clients. */
static struct sockaddr_in source_address(unsigned net, unsigned number)
{
    struct sockaddr_in a = { .sin_family = AF_INET };

    a.sin_addr.s_addr = htonl(0x7f000000u | net << 16 | (number / 250) << 8 | (number % 250 + 1));
    return a;
}

static int source_socket(const struct sockaddr_in *source, int flags)
{
    int on = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    CHECK(s >= 0);
    CHECK(setsockopt(s, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0);
    CHECK(bind(s, (const struct sockaddr *)source, sizeof *source) == 0);
    return s;
}

static void set_descriptors(rlim_t most)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < most)
        kit_skip("the hard limit is %llu descriptors, %llu needed", (unsigned long long)limit.rlim_max,
                 (unsigned long long)most);
    limit.rlim_cur = most;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* ---- the attackers' process ---- */

struct attack {
    struct sockaddr_storage to;
    unsigned sources;
    bool reconnects;
};

/* Returns -1 if refused at once. */
static int attacker_connect(const struct attack *a, int poller, unsigned number)
{
    struct sockaddr_in source = source_address(1, number % a->sources);
    struct epoll_event event = { .events = EPOLLRDHUP, .data.u32 = number };
    int s = source_socket(&source, SOCK_NONBLOCK);

    if (connect(s, (const struct sockaddr *)&a->to, sizeof(struct sockaddr_in)) && errno != EINPROGRESS) {
        close(s);
        return -1;
    }
    CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, s, &event) == 0);
    return s;
}

static void attackers(int wire)
{
    static int sockets[ATTACKERS];
    struct epoll_event events[64];
    struct pollfd order = { .fd = wire, .events = POLLIN };
    struct attack a;
    int poller = epoll_create1(EPOLL_CLOEXEC), n;

    kit_wire_receive(wire, &a, sizeof a);
    for (unsigned i = 0; i < ATTACKERS; i++)
        sockets[i] = attacker_connect(&a, poller, i);
    while (poll(&order, 1, 0) == 0) {
        n = epoll_wait(poller, events, 64, 10);
        for (int i = 0; i < n; i++) {
            unsigned number = events[i].data.u32;

            close(sockets[number]);
            sockets[number] = a.reconnects ? attacker_connect(&a, poller, number) : -1;
        }
    }
    kit_wait_join(wire);
}

/* ---- the clients' process ---- */

struct client_order {
    struct sockaddr_storage to;
    unsigned count; /* of each kind */
};

struct client_result {
    unsigned quick, slow; /* that connected */
};

struct client_thread {
    pthread_t thread;
    const struct client_order *order;
    unsigned number;
    bool slow;
    unsigned connected;
};

static bool client_request(int s)
{
    static const uint8_t request[20] = "MPA ID Req Frame\x40\x01";
    uint8_t reply[20];

    return send(s, request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
           recv(s, reply, sizeof reply, MSG_WAITALL) == sizeof reply && memcmp(reply, "MPA ID Rep Frame", 16) == 0 &&
           !(reply[16] & 0x20);
}

static bool client_connect(const struct client_thread *t)
{
    struct sockaddr_in source = source_address(2, 2 * t->number + t->slow);
    struct timeval limit = { .tv_sec = GIVE_UP_S };
    int s = source_socket(&source, 0);
    bool connected;

    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!t->slow)
        usleep(PAUSE_MS * 1000);
    connected = connect(s, (const struct sockaddr *)&t->order->to, sizeof(struct sockaddr_in)) == 0;
    if (connected && t->slow)
        usleep(THINK_MS * 1000);
    connected = connected && client_request(s);
    close(s);
    return connected;
}

static void *client_run(void *arg)
{
    struct client_thread *t = arg;

    for (unsigned i = t->number; i < t->order->count; i += THREADS)
        t->connected += client_connect(t);
    return NULL;
}

static void clients(int wire)
{
    static struct client_thread threads[2][THREADS];
    struct client_result result = { 0, 0 };
    struct client_order order;

    kit_wire_receive(wire, &order, sizeof order);
    for (unsigned i = 0; i < 2 * THREADS; i++) {
        struct client_thread *t = &threads[i % 2][i / 2];

        *t = (struct client_thread){ .order = &order, .number = i / 2, .slow = i % 2 };
        CHECK(pthread_create(&t->thread, NULL, client_run, t) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[0][i].thread, NULL);
        pthread_join(threads[1][i].thread, NULL);
        result.quick += threads[0][i].connected;
        result.slow += threads[1][i].connected;
    }
    kit_wire_send(wire, &result, sizeof result);
    kit_wait_join(wire);
}

/* ---- the victim: accepts each request, and closes when the peer has closed ---- */

struct victim {
    struct kit_side side;
    struct kit_listener listener;
};

struct guest {
    NDK_CONNECTOR *connector;
    NDK_QP *qp;
};

static void guest_qp_closed(void *context)
{
    free(context);
}

static void guest_connector_closed(void *context)
{
    struct guest *g = context;

    if (g->qp->Dispatch->NdkCloseQp(&g->qp->Header, guest_qp_closed, g) != STATUS_PENDING)
        guest_qp_closed(g);
}

static void guest_close(void *context)
{
    struct guest *g = context;
    NDK_CONNECTOR *c = g->connector;

    if (c->Dispatch->NdkCloseConnector(&c->Header, guest_connector_closed, g) != STATUS_PENDING)
        guest_connector_closed(g);
}

static void guest_accepted(void *context, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        guest_close(context);
}

static void victim_accept(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct victim *v = l->arg;
    struct guest *g = calloc(1, sizeof *g);
    NTSTATUS status;

    CHECK(g != NULL);
    g->connector = connector;
    CHECK_STATUS(v->side.pd->Dispatch->NdkCreateQp(v->side.pd, v->side.cq, v->side.cq, g, 1, 1, 1, 1, 0,
                                                   kit_create_done, NULL, &g->qp),
                 STATUS_SUCCESS);
    status = connector->Dispatch->NdkAccept(connector, g->qp, 0, 0, NULL, 0, guest_close, g, guest_accepted, g);
    if (status != STATUS_PENDING)
        guest_accepted(g, status);
}

static unsigned percent(unsigned connected, unsigned of)
{
    return connected * 100 / of;
}

/* The share of slow clients that must connect; 0: their number is only printed. */
static void run_flood(rlim_t descriptors, unsigned sources, bool reconnects, unsigned count, unsigned slow_percent)
{
    static struct victim v;
    struct kit_child attacking, connecting;
    struct attack attack = { .sources = sources, .reconnects = reconnects };
    struct client_order order = { .count = count };
    struct client_result result;

    set_descriptors(DESCRIPTORS);
    kit_fork(&attacking, attackers, false);
    kit_fork(&connecting, clients, false);
    set_descriptors(descriptors);
    kit_side_open(&v.side, NULL);
    v.listener.inside = victim_accept;
    v.listener.arg = &v;
    kit_listen(&v.listener, v.side.adapter);
    attack.to = order.to = v.listener.address;
    kit_wire_send(attacking.wire, &attack, sizeof attack);
    kit_wire_send(connecting.wire, &order, sizeof order);
    kit_wire_receive(connecting.wire, &result, sizeof result);
    printf("  %llu descriptors, %u address(es)%s: of %u clients each, %u that sent at once and %u that waited %d ms "
           "connected\n",
           (unsigned long long)descriptors, sources, reconnects ? ", reconnecting" : "", count, result.quick,
           result.slow, THINK_MS);
    CHECK(percent(result.quick, count) >= PERCENT);
    CHECK(percent(result.slow, count) >= slow_percent);
    kit_join(&connecting);
    kit_join(&attacking);
    CHECK_STATUS(kit_close(v.listener.listener), STATUS_SUCCESS);
    kit_side_close(&v.side);
}

/* covers: LSN-08 */
#define FLOOD(name, flags, ...)                                                                                        \
    CASE(name, flags)                                                                                                  \
    {                                                                                                                  \
        run_flood(__VA_ARGS__);                                                                                        \
    }
FLOOD(flood_256_from_one_address_that_reconnects, 0, 256, 1, true, SHORT_RUN, PERCENT)
FLOOD(flood_1024_from_one_address, 0, 1024, 1, false, SHORT_RUN, PERCENT)
FLOOD(flood_1024_from_many_addresses, 0, 1024, SOURCES, false, SHORT_RUN, 0)
FLOOD(flood_long_256, KIT_SLOW, 256, 1, false, LONG_RUN, PERCENT)
FLOOD(flood_long_256_reconnecting, KIT_SLOW, 256, 1, true, LONG_RUN, PERCENT)
FLOOD(flood_long_256_many, KIT_SLOW, 256, SOURCES, false, LONG_RUN, 0)
FLOOD(flood_long_1024, KIT_SLOW, 1024, 1, false, LONG_RUN, PERCENT)
FLOOD(flood_long_1024_reconnecting, KIT_SLOW, 1024, 1, true, LONG_RUN, PERCENT)
FLOOD(flood_long_1024_many, KIT_SLOW, 1024, SOURCES, false, LONG_RUN, 0)
FLOOD(flood_long_20000, KIT_SLOW, 20000, 1, false, LONG_RUN, PERCENT)
FLOOD(flood_long_20000_reconnecting, KIT_SLOW, 20000, 1, true, LONG_RUN, PERCENT)
FLOOD(flood_long_20000_many, KIT_SLOW, 20000, SOURCES, false, LONG_RUN, 0)
