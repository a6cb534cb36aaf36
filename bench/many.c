/* SPDX-License-Identifier: MIT */
/*
 * Measures many connections from one process to listeners in a second process: the memory of an idle connection, and
 * the time to open and to close all connections. Prints one line of JSON.
 *   many ndk|ndk-shared|tcp <connections> <operations at a time>
 * With ndk-shared all connections use one shared endpoint, and each connection has its own listener. A listener and its
 * connection need three descriptors. Therefore a process has at most LISTENERS listeners, and further listeners are in
 * further processes.
 *
 * The memory of each process is measured as bytes allocated by malloc, and as resident bytes. The size of a queue
 * pair's two queues is measured separately: this size is the memory of an unconnected queue pair of depth DEPTH, minus
 * the memory of a queue pair of depth 1. The rest of a queue pair counts as memory of the connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/sync.h"
#include "ndk_side.h"
#include "tcp_side.h"

enum { DEPTH = 16, CQ_DEPTH = 64, SPARE = 256, QPS = 1000, SECONDS = 60, LISTENERS = 6000, SERVERS = 8, WARM_UP = 100 };

/* The other processes. */
struct servers {
    unsigned count;
    int controls[SERVERS];
    pid_t children[SERVERS];
};

struct figures {
    double open_us, close_us;         /* time for each connection */
    double open_cpu_us, close_cpu_us; /* CPU time of all processes, for each connection */
    double heap[2], rss[2];           /* bytes for each connection: [0] in the client, [1] in all servers */
    double queues;                    /* bytes of one connection's two queues, which have depth DEPTH */
    struct bench_sockets sockets;
};

static void many_serve(const char *kind, unsigned count, int control)
{
    uint16_t *ports = bench_pages(count * sizeof *ports);
    unsigned listeners = strcmp(kind, "ndk-shared") ? 1 : count;

    if (!strcmp(kind, "tcp")) {
        struct tcp_side *s = tcp_side_open(count + SPARE);

        tcp_side_listen(s, ports);
        bench_send(control, ports, sizeof *ports);
        tcp_side_serve(s, control);
    } else {
        static const char data[TCP_PRIVATE];
        struct ndk_options o = { .depth = DEPTH,
                                 .cq_depth = CQ_DEPTH,
                                 .conns = count + SPARE,
                                 .listeners = listeners,
                                 .accept_data = data,
                                 .accept_len = sizeof data };
        struct ndk_side *s = ndk_side_open(&o);

        ndk_side_listen(s, ports);
        bench_send(control, ports, listeners * sizeof *ports);
        ndk_side_serve(s, control);
        ndk_side_close(s);
    }
}

static double many_qp_heap(struct ndk_side *s, NDK_QP **qps, unsigned depth)
{
    uint64_t before = bench_usage().heap, after;

    for (unsigned i = 0; i < QPS; i++)
        qps[i] = ndk_side_qp(s, NULL, depth);
    after = bench_usage().heap;
    for (unsigned i = 0; i < QPS; i++)
        sync_close(qps[i]);
    return (double)(after - before) / QPS;
}

static double many_queue_heap(struct ndk_side *s)
{
    NDK_QP **qps = bench_pages(QPS * sizeof *qps);

    return many_qp_heap(s, qps, DEPTH) - many_qp_heap(s, qps, 1);
}

static void many_memory_difference(const struct bench_usage *before, const struct bench_usage *after, unsigned count,
                                   double *heap, double *rss)
{
    *heap = ((double)after->heap - (double)before->heap) / count;
    *rss = ((double)after->rss - (double)before->rss) / count;
}

/* Returns the memory and the CPU time of all servers together. */
static struct bench_usage servers_usage(const struct servers *o)
{
    struct bench_usage sum = { .heap = 0 };

    for (unsigned i = 0; i < o->count; i++) {
        struct bench_usage one = bench_request_usage(o->controls[i]);

        sum.heap += one.heap;
        sum.rss += one.rss;
        sum.user += one.user;
        sum.system += one.system;
    }
    return sum;
}

/* Returns the CPU time of all processes together in microseconds, divided by the number of connections. */
static double many_cpu_us(const struct bench_usage before[2], const struct bench_usage after[2], unsigned count)
{
    double seconds = 0;

    for (unsigned i = 0; i < 2; i++)
        seconds += after[i].user + after[i].system - before[i].user - before[i].system;
    return seconds * 1e6 / count;
}

/* Opens and closes a few connections, because a process's first connections also allocate pages, lists and stacks. */
static void many_warm_up(struct load *l, void (*wait_for)(struct load *l))
{
    unsigned slots = l->slots;

    l->slots = slots < WARM_UP ? slots : WARM_UP;
    load_open_all(l);
    wait_for(l);
    load_close_all(l);
    wait_for(l);
    l->slots = slots;
}

/* Stores the memory and CPU time of this process, and those of the other processes together. */
static void many_usage(const struct servers *others, struct bench_usage now[2])
{
    now[0] = bench_usage();
    now[1] = servers_usage(others);
}

static void many_run(struct load *l, const struct servers *others, void (*wait_for)(struct load *l), struct figures *f)
{
    struct bench_usage before[2], open[2], closed[2];
    uint64_t from;

    many_warm_up(l, wait_for);
    many_usage(others, before);
    from = bench_now();
    load_open_all(l);
    wait_for(l);
    f->open_us = (double)(l->ended - from) / l->slots / NS_PER_US;
    many_usage(others, open);
    for (unsigned i = 0; i < 2; i++)
        many_memory_difference(&before[i], &open[i], l->slots, &f->heap[i], &f->rss[i]);
    f->open_cpu_us = many_cpu_us(before, open, l->slots);
    f->sockets = bench_sockets();
    many_usage(others, open);
    from = bench_now();
    load_close_all(l);
    wait_for(l);
    f->close_us = (double)(l->ended - from) / l->slots / NS_PER_US;
    many_usage(others, closed);
    f->close_cpu_us = many_cpu_us(open, closed, l->slots);
}

static void many_wait_ndk(struct load *l)
{
    ndk_side_run(l->context, l);
}

static void many_wait_tcp(struct load *l)
{
    tcp_side_run(l->context, l);
}

static void many_client_ndk(bool shared, struct load *l, const uint16_t *ports, const struct servers *others,
                            struct figures *f)
{
    struct ndk_options o = {
        .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = l->slots, .shared = shared, .private_len = TCP_PRIVATE
    };
    struct ndk_side *s = ndk_side_open(&o);

    f->queues = many_queue_heap(s);
    s->peer.sin_port = ports[0];
    s->ports = ports;
    s->load = l;
    l->backend = &ndk_backend;
    l->context = s;
    many_run(l, others, many_wait_ndk, f);
    ndk_side_close(s);
}

static void many_client_tcp(struct load *l, uint16_t port, const struct servers *others, struct figures *f)
{
    struct tcp_side *s = tcp_side_open(l->slots);

    tcp_side_connect_to(s, port);
    l->backend = &tcp_backend;
    l->context = s;
    many_run(l, others, many_wait_tcp, f);
}

/* Forks the servers and receives their ports. */
static void servers_start(const char *kind, unsigned count, struct servers *o, uint16_t *ports)
{
    bool shared = !strcmp(kind, "ndk-shared");
    unsigned share = shared ? LISTENERS : count;

    for (unsigned first = 0; first < count; first += share, o->count++) {
        unsigned here = count - first < share ? count - first : share;

        if (o->count == SERVERS)
            bench_die("more than %d connections", SERVERS * LISTENERS);
        o->children[o->count] = bench_fork(&o->controls[o->count], SECONDS);
        if (!o->children[o->count]) {
            many_serve(kind, here, o->controls[o->count]);
            exit(0);
        }
        if (!bench_receive(o->controls[o->count], ports + first, (shared ? here : 1) * sizeof *ports))
            bench_die("the second process does not listen");
    }
}

static void many_print(const char *kind, const struct load *l, const struct figures *f)
{
    printf("{\"kind\": \"%s\", \"connections\": %u, \"at_a_time\": %u, \"open_us\": %.2f, \"close_us\": %.2f, "
           "\"open_cpu_us\": %.2f, \"close_cpu_us\": %.2f, "
           "\"client_heap\": %.0f, \"client_rss\": %.0f, \"server_heap\": %.0f, \"server_rss\": %.0f, "
           "\"queues\": %.0f, \"depth\": %d, \"congestion\": \"%s\", \"buffers\": \"%s\"}\n",
           kind, l->slots, l->window, f->open_us, f->close_us, f->open_cpu_us, f->close_cpu_us, f->heap[0], f->rss[0],
           f->heap[1], f->rss[1], f->queues, DEPTH, f->sockets.congestion, f->sockets.buffers);
}

int main(int argc, char **argv)
{
    unsigned count = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned window = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    struct figures f = { .queues = 0 };
    struct servers others = { .count = 0 };
    uint16_t *ports;
    struct load l;

    if (!count || !window)
        bench_die("usage: %s ndk|ndk-shared|tcp <connections> <operations at a time>", argv[0]);
    ports = bench_pages(count * sizeof *ports);
    servers_start(argv[1], count, &others, ports);
    load_init(&l, NULL, NULL, count, window);
    if (!strcmp(argv[1], "tcp"))
        many_client_tcp(&l, ports[0], &others, &f);
    else
        many_client_ndk(!strcmp(argv[1], "ndk-shared"), &l, ports, &others, &f);
    for (unsigned i = 0; i < others.count; i++)
        close(others.controls[i]);
    for (unsigned i = 0; i < others.count; i++)
        bench_join(others.children[i]);
    many_print(argv[1], &l, &f);
    return 0;
}
