/* SPDX-License-Identifier: MIT */
/*
 * The main function of the programs that measure another library (libfabric or UCX), which the benchmark compares with
 * OpenNDK. "peer" in the names means such a library. Prints one line of JSON.
 *   <peer> <test> <size> <window> <burst> <seconds>   one connection: see drive.c
 *   <peer> establish <at a time> <seconds>            establishes and closes connections
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const double WARM_UP = 0.1;

bool peer_is_over(int control)
{
    static uint64_t checked;
    uint64_t now = bench_now();
    char byte;

    if (now - checked < NS_PER_S / 1000)
        return false;
    checked = now;
    return recv(control, &byte, 1, MSG_DONTWAIT) == 0;
}

void peer_queue_init(struct peer_queue *q, unsigned size)
{
    *q = (struct peer_queue){ .slots = bench_pages(size * sizeof *q->slots), .size = size };
}

void peer_queue_push(struct peer_queue *q, unsigned slot)
{
    if (q->pushed - q->popped == q->size)
        bench_die("more connections than expected");
    q->slots[q->pushed++ % q->size] = slot;
}

bool peer_queue_pop(struct peer_queue *q, unsigned *slot)
{
    if (q->pushed == q->popped)
        return false;
    *slot = q->slots[q->popped++ % q->size];
    return true;
}

static void peer_churn(struct load *l, double seconds)
{
    load_churn(l, seconds);
    peer.run(l->context, l);
}

static void peer_establish(const char *kind, unsigned window, double seconds)
{
    int control;
    uint16_t port;
    struct load l;
    double took;
    uint64_t from;
    pid_t child = bench_fork(&control, (unsigned)seconds + 1);
    bool pinned = bench_pin(child ? 0 : 1);

    if (!child) {
        peer.serve(control);
        _exit(0);
    }
    if (!bench_receive(control, &port, sizeof port))
        bench_die("the second process does not listen");
    load_init(&l, peer.backend, peer.open(window, port), window, window);
    peer_churn(&l, WARM_UP);
    from = bench_now();
    peer_churn(&l, seconds);
    took = (double)(l.ended - from) / NS_PER_S;
    close(control);
    bench_join(child);
    printf("{\"kind\": \"%s\", \"at_a_time\": %u, \"seconds\": %.3f, \"done\": %llu, \"failed\": %llu, "
           "\"per_second\": %.1f, \"latency_us\": %.2f, \"latency_p99_us\": %.2f, \"pinned\": %s}\n",
           kind, window, took, (unsigned long long)atomic_load(&l.done), (unsigned long long)atomic_load(&l.failed),
           (double)atomic_load(&l.done) / took, samples_quantile(&l.latencies, 0.5) / NS_PER_US,
           samples_quantile(&l.latencies, 0.99) / NS_PER_US, pinned ? "true" : "false");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct job j;

    if (argc == 5 && !strcmp(argv[2], "establish")) {
        unsigned window = (unsigned)strtoul(argv[3], NULL, 10);
        double seconds = strtod(argv[4], NULL);

        if (!window || seconds <= 0)
            bench_die("usage: %s <kind> establish <at a time> <seconds>", argv[0]);
        peer_establish(argv[1], window, seconds);
    }
    j = job_parse(argc, argv);
    return drive(&j, peer.link);
}
