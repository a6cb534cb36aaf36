/* SPDX-License-Identifier: MIT */
/*
 * Measures how many connections two processes establish per second, with one listener in the second process. A measured
 * connection consists of connect, accept, complete, disconnect and close. Requests and replies have 64 bytes of private
 * data. Prints one line of JSON.
 *   establish ndk|ndk-waiting|tcp|tcp-owned|tcp-blocking <at a time> <seconds>
 * With ndk, each step of a connection begins inside the provider's callback that ends the previous step. With
 * ndk-waiting, each step begins in a thread of the consumer, which sleeps between callbacks. tcp uses epoll. tcp-owned
 * is tcp with two more things that the provider does (see tcp_side_own). tcp-blocking uses blocking calls, one
 * connection at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ndk_side.h"
#include "tcp_side.h"

enum { DEPTH = 16, CQ_DEPTH = 64, SPARE = 256 };

static const char PRIVATE[TCP_PRIVATE];

static const double WARM_UP = 0.1;

/* The usage of both processes before and after the measurement, and the measurement's start time. */
struct figures {
    struct bench_usage before[2], after[2];
    uint64_t from;
    int control;
    bool pinned;
};

static void figures_begin(struct figures *f)
{
    f->before[0] = bench_usage();
    f->before[1] = bench_request_usage(f->control);
    f->from = bench_now();
}

static void figures_end(struct figures *f)
{
    f->after[0] = bench_usage();
    f->after[1] = bench_request_usage(f->control);
}

static void establish_serve(const char *kind, unsigned window, int control)
{
    uint16_t port;

    if (strncmp(kind, "ndk", 3)) {
        struct tcp_side *s = tcp_side_open(2 * window + SPARE);

        tcp_side_listen(s, &port);
        bench_send(control, &port, sizeof port);
        if (!strcmp(kind, "tcp-blocking"))
            tcp_blocking_serve(s, control);
        else
            tcp_side_serve(s, control);
    } else {
        struct ndk_options o = { .depth = DEPTH,
                                 .cq_depth = CQ_DEPTH,
                                 .conns = 2 * window + SPARE,
                                 .accept_data = PRIVATE,
                                 .accept_len = sizeof PRIVATE };
        struct ndk_side *s;

        o.waiting = !strcmp(kind, "ndk-waiting");
        s = ndk_side_open(&o);
        ndk_side_listen(s, &port);
        bench_send(control, &port, sizeof port);
        ndk_side_serve(s, control);
        ndk_side_close(s);
    }
}

static void establish_churn_ndk(struct ndk_side *s, struct load *l, double seconds, struct figures *f)
{
    load_churn(l, WARM_UP);
    ndk_side_run(s, l);
    figures_begin(f);
    load_churn(l, seconds);
    ndk_side_run(s, l);
    figures_end(f);
}

static void establish_ndk(const char *kind, struct load *l, uint16_t port, double seconds, struct figures *f)
{
    struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = l->slots, .private_len = sizeof PRIVATE };
    struct ndk_side *s;

    o.waiting = !strcmp(kind, "ndk-waiting");
    s = ndk_side_open(&o);
    s->peer.sin_port = port;
    s->load = l;
    l->backend = &ndk_backend;
    l->context = s;
    establish_churn_ndk(s, l, seconds, f);
    ndk_side_close(s);
}

static void establish_tcp(const char *kind, struct load *l, uint16_t port, double seconds, struct figures *f)
{
    struct tcp_side *s = tcp_side_open(l->slots);

    tcp_side_connect_to(s, port);
    if (!strcmp(kind, "tcp-owned"))
        tcp_side_own(s);
    l->backend = &tcp_backend;
    l->context = s;
    load_churn(l, WARM_UP);
    tcp_side_run(s, l);
    figures_begin(f);
    load_churn(l, seconds);
    tcp_side_run(s, l);
    figures_end(f);
}

static void establish_tcp_blocking(struct load *l, uint16_t port, double seconds, struct figures *f)
{
    tcp_blocking_churn(l, port, WARM_UP);
    figures_begin(f);
    tcp_blocking_churn(l, port, seconds);
    figures_end(f);
}

static void establish_print(const char *kind, struct load *l, const struct figures *f)
{
    double seconds = (double)(l->ended - f->from) / NS_PER_S, done = (double)atomic_load(&l->done);

    printf("{\"kind\": \"%s\", \"at_a_time\": %u, \"seconds\": %.3f, \"done\": %.0f, \"failed\": %llu, "
           "\"per_second\": %.1f, \"latency_us\": %.2f, \"latency_p99_us\": %.2f, \"pinned\": %s",
           kind, l->window, seconds, done, (unsigned long long)atomic_load(&l->failed), done / seconds,
           samples_quantile(&l->latencies, 0.5) / NS_PER_US, samples_quantile(&l->latencies, 0.99) / NS_PER_US,
           f->pinned ? "true" : "false");
    for (unsigned i = 0; i < 2; i++)
        printf(", \"%s_user_us\": %.2f, \"%s_system_us\": %.2f", i ? "server" : "client",
               (f->after[i].user - f->before[i].user) * 1e6 / done, i ? "server" : "client",
               (f->after[i].system - f->before[i].system) * 1e6 / done);
    puts("}");
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = { "ndk", "ndk-waiting", "tcp", "tcp-owned", "tcp-blocking" };
    bool known = false;
    unsigned window = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;
    struct figures f;
    struct load l;
    int control;
    uint16_t port;
    pid_t child;

    for (size_t i = 0; argc == 4 && i < sizeof kinds / sizeof *kinds; i++)
        known |= !strcmp(argv[1], kinds[i]);
    if (!known || !window || seconds <= 0)
        bench_die("usage: %s ndk|ndk-waiting|tcp|tcp-owned|tcp-blocking <at a time> <seconds>", argv[0]);
    child = bench_fork(&control, (unsigned)seconds + 1);
    f.pinned = bench_pin(child ? 0 : 1);
    if (!child) {
        establish_serve(argv[1], window, control);
        return 0;
    }
    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    f.control = control;
    load_init(&l, NULL, NULL, window, window);
    if (!strncmp(argv[1], "ndk", 3))
        establish_ndk(argv[1], &l, port, seconds, &f);
    else if (strcmp(argv[1], "tcp-blocking") != 0)
        establish_tcp(argv[1], &l, port, seconds, &f);
    else
        establish_tcp_blocking(&l, port, seconds, &f);
    close(control);
    bench_join(child);
    establish_print(argv[1], &l, &f);
    return 0;
}
