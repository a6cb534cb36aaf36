/* SPDX-License-Identifier: MIT */
/*
 * Many connections alive in one process, their listeners in a second one: memory for an idle connection, and the time
 * to establish and to close them all, so many being on their way at a time. One line of JSON.
 *   many ndk|ndk-shared|tcp <connections> <on their way at a time>
 * ndk-shared: all from one shared endpoint, each to a listener of its own. A listener takes two descriptors and its
 * connection one more, so beyond LISTENERS the listeners are spread over several processes.
 *
 * Memory is what malloc has given out, and what is resident, in each process. What queues cost is measured by queue
 * pairs of the same depth without a connection, less the same of the smallest depth: so what a queue pair costs beyond
 * its queues counts as the connection's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/sync.h"
#include "ndk_side.h"
#include "tcp_side.h"

enum { DEPTH = 16, CQ_DEPTH = 64, SPARE = 256, QPS = 1000, SECONDS = 60, LISTENERS = 6000, SERVERS = 8,
       WARM_UP = 100 };

/* The other processes. */
struct servers {
    unsigned count;
    int controls[SERVERS];
    pid_t children[SERVERS];
};

struct figures {
    double open_us, close_us;           /* for each connection */
    double open_cpu_us, close_cpu_us;   /* of all processes */
    double heap[2], rss[2];             /* bytes for each connection: connecting, listening process */
    double queues;                      /* bytes of the two queues of one connection, each of DEPTH */
    struct bench_sockets sockets;
};

static void serve(const char *kind, unsigned count, int control)
{
    uint16_t *ports = bench_pages(count * sizeof *ports);
    unsigned listeners = strcmp(kind, "ndk-shared") ? 1 : count;

    if (!strcmp(kind, "tcp")) {
        struct tcp_side *s = tcp_side_open(count + SPARE);

        tcp_side_listen(s, ports);
        bench_tell(control, ports, sizeof *ports);
        tcp_side_serve(s, control);
    } else {
        static const char data[TCP_PRIVATE];
        struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = count + SPARE,
                                 .listeners = listeners, .accept_data = data, .accept_len = sizeof data };
        struct ndk_side *s = ndk_side_open(&o);

        ndk_side_listen(s, ports);
        bench_tell(control, ports, listeners * sizeof *ports);
        ndk_side_serve(s, control);
        ndk_side_close(s);
    }
}

static double heap_of_qps(struct ndk_side *s, NDK_QP **qps, unsigned depth)
{
    uint64_t before = bench_usage().heap, after;

    for (unsigned i = 0; i < QPS; i++)
        qps[i] = ndk_side_qp(s, NULL, depth);
    after = bench_usage().heap;
    for (unsigned i = 0; i < QPS; i++)
        sync_close(qps[i]);
    return (double)(after - before) / QPS;
}

static double heap_of_queues(struct ndk_side *s)
{
    NDK_QP **qps = bench_pages(QPS * sizeof *qps);

    return heap_of_qps(s, qps, DEPTH) - heap_of_qps(s, qps, 1);
}

static void difference(const struct bench_usage *before, const struct bench_usage *after, unsigned count,
                       double *heap, double *rss)
{
    *heap = ((double)after->heap - (double)before->heap) / count;
    *rss = ((double)after->rss - (double)before->rss) / count;
}

/* The sum over all of them. */
static struct bench_usage ask(const struct servers *o)
{
    struct bench_usage sum = { .heap = 0 };

    for (unsigned i = 0; i < o->count; i++) {
        struct bench_usage one = bench_ask(o->controls[i]);

        sum.heap += one.heap;
        sum.rss += one.rss;
        sum.user += one.user;
        sum.system += one.system;
    }
    return sum;
}

/* Of all processes, in microseconds for each connection. */
static double cpu_us(const struct bench_usage before[2], const struct bench_usage after[2], unsigned count)
{
    double seconds = 0;

    for (unsigned i = 0; i < 2; i++)
        seconds += after[i].user + after[i].system - before[i].user - before[i].system;
    return seconds * 1e6 / count;
}

/* The first connections pay for what is made once: pages, lists, threads' stacks. */
static void warm_up(struct load *l, void (*wait_for)(struct load *l))
{
    unsigned slots = l->slots;

    l->slots = slots < WARM_UP ? slots : WARM_UP;
    load_open_all(l);
    wait_for(l);
    load_close_all(l);
    wait_for(l);
    l->slots = slots;
}

/* Ours and theirs. */
static void look(const struct servers *others, struct bench_usage now[2])
{
    now[0] = bench_usage();
    now[1] = ask(others);
}

static void run(struct load *l, const struct servers *others, void (*wait_for)(struct load *l), struct figures *f)
{
    struct bench_usage before[2], open[2], closed[2];
    uint64_t from;

    warm_up(l, wait_for);
    look(others, before);
    from = bench_now();
    load_open_all(l);
    wait_for(l);
    f->open_us = (double)(l->ended - from) / l->slots / NS_PER_US;
    look(others, open);
    for (unsigned i = 0; i < 2; i++)
        difference(&before[i], &open[i], l->slots, &f->heap[i], &f->rss[i]);
    f->open_cpu_us = cpu_us(before, open, l->slots);
    f->sockets = bench_sockets();
    look(others, open);
    from = bench_now();
    load_close_all(l);
    wait_for(l);
    f->close_us = (double)(l->ended - from) / l->slots / NS_PER_US;
    look(others, closed);
    f->close_cpu_us = cpu_us(open, closed, l->slots);
}

static void wait_ndk(struct load *l)
{
    ndk_side_run(l->context, l);
}

static void wait_tcp(struct load *l)
{
    tcp_side_run(l->context, l);
}

static void client_ndk(bool shared, struct load *l, const uint16_t *ports, const struct servers *others,
                       struct figures *f)
{
    struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = l->slots, .shared = shared,
                             .private_len = TCP_PRIVATE };
    struct ndk_side *s = ndk_side_open(&o);

    f->queues = heap_of_queues(s);
    s->peer.sin_port = ports[0];
    s->ports = ports;
    s->load = l;
    l->backend = &ndk_backend;
    l->context = s;
    run(l, others, wait_ndk, f);
    ndk_side_close(s);
}

static void client_tcp(struct load *l, uint16_t port, const struct servers *others, struct figures *f)
{
    struct tcp_side *s = tcp_side_open(l->slots);

    tcp_side_connect_to(s, port);
    l->backend = &tcp_backend;
    l->context = s;
    run(l, others, wait_tcp, f);
}

/* Forks them; each tells its ports. */
static void start_servers(const char *kind, unsigned count, struct servers *o, uint16_t *ports)
{
    bool shared = !strcmp(kind, "ndk-shared");
    unsigned share = shared ? LISTENERS : count;

    for (unsigned first = 0; first < count; first += share, o->count++) {
        unsigned here = count - first < share ? count - first : share;

        if (o->count == SERVERS)
            bench_die("more than %d connections", SERVERS * LISTENERS);
        o->children[o->count] = bench_fork(&o->controls[o->count], SECONDS);
        if (!o->children[o->count]) {
            serve(kind, here, o->controls[o->count]);
            exit(0);
        }
        if (!bench_hear(o->controls[o->count], ports + first, (shared ? here : 1) * sizeof *ports))
            bench_die("the second process does not serve");
    }
}

static void print(const char *kind, const struct load *l, const struct figures *f)
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
        bench_die("usage: %s ndk|ndk-shared|tcp <connections> <on their way at a time>", argv[0]);
    ports = bench_pages(count * sizeof *ports);
    start_servers(argv[1], count, &others, ports);
    load_init(&l, NULL, NULL, count, window);
    if (!strcmp(argv[1], "tcp"))
        client_tcp(&l, ports[0], &others, &f);
    else
        client_ndk(!strcmp(argv[1], "ndk-shared"), &l, ports, &others, &f);
    for (unsigned i = 0; i < others.count; i++)
        close(others.controls[i]);
    for (unsigned i = 0; i < others.count; i++)
        bench_join(others.children[i]);
    print(argv[1], &l, &f);
    return 0;
}
