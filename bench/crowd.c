/* SPDX-License-Identifier: MIT */
/*
 * Measures round trips of 64-byte messages over many connections between two processes. Prints one line of JSON.
 *   crowd ndk|ndk-notified|tcp <connections> <in flight> <queues> <seconds>
 * If <in flight> is 1, the connections are used in turn. If <in flight> equals <connections>, each connection always
 * has one message in flight. The program prints the time of half a round trip, and how many round trips the slowest and
 * the fastest connection made.
 *
 * ndk polls one completion queue in one thread. tcp polls epoll in one thread. ndk-notified distributes the connections
 * over <queues> completion queues, and answers messages inside the notifications. With one queue, ndk-notified runs
 * both processes on one processor. With more queues it uses all processors, to compare several shards (ONDK_SHARDS)
 * with one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crowd.h"

enum { SAMPLES = 1 << 22, MIN_TRIPS = 10 /* if a connection made fewer round trips, "unfairness" is not printed */ };

static const double WARM_UP = 0.1;

static void crowd_init(struct crowd *c)
{
    c->members = bench_pages(c->connections * sizeof *c->members);
    samples_init(&c->trips, SAMPLES);
    for (unsigned i = 0; i < c->connections; i++)
        c->members[i].crowd = c;
}

void crowd_begin(struct crowd *c)
{
    c->from = bench_now() + (uint64_t)(WARM_UP * NS_PER_S);
    c->deadline = c->from + (uint64_t)(c->seconds * NS_PER_S);
    atomic_store(&c->running, c->in_flight);
    for (unsigned i = 0; i < c->in_flight; i++) {
        c->members[i].sent = bench_now();
        c->send(&c->members[i]);
    }
}

void crowd_answered(struct member *m)
{
    struct crowd *c = m->crowd;
    uint64_t now = bench_now();

    m->all++;
    if (now >= c->from && now < c->deadline) {
        m->trips++;
        if (c->queues == 1)
            samples_add(&c->trips, (double)(now - m->sent));
    }
    if (now >= c->deadline) {
        atomic_fetch_sub(&c->running, 1);
        return;
    }
    if (c->in_flight == 1)
        m = &c->members[(unsigned)(m - c->members + 1) % c->connections];
    m->sent = now;
    c->send(m);
}

bool crowd_is_over(struct crowd *c)
{
    return !atomic_load_explicit(&c->running, memory_order_relaxed);
}

static double crowd_cpu_seconds(int control)
{
    struct bench_usage ours = bench_usage(), theirs = bench_request_usage(control);

    return ours.user + ours.system + theirs.user + theirs.system;
}

static void crowd_run(struct crowd *c, bool ndk, int control)
{
    double before = crowd_cpu_seconds(control);

    (ndk ? crowd_run_ndk : crowd_run_tcp)(c);
    c->cpu_seconds = crowd_cpu_seconds(control) - before;
}

static void crowd_print(const char *kind, struct crowd *c, bool pinned)
{
    uint64_t all = 0, sum = 0, slowest = UINT64_MAX, fastest = 0;

    for (unsigned i = 0; i < c->connections; i++) {
        uint64_t n = c->members[i].trips;

        sum += n;
        all += c->members[i].all;
        slowest = n < slowest ? n : slowest;
        fastest = n > fastest ? n : fastest;
    }
    printf("{\"kind\": \"%s\", \"connections\": %u, \"in_flight\": %u, \"queues\": %u, \"trips\": %llu, "
           "\"us\": %.3f, \"p99_us\": %.3f, \"per_second\": %.0f, \"cpu_us\": %.3f, "
           "\"slowest\": %llu, \"fastest\": %llu, \"pinned\": %s",
           kind, c->connections, c->in_flight, c->queues, (unsigned long long)sum,
           samples_quantile(&c->trips, 0.5) / 2 / NS_PER_US, samples_quantile(&c->trips, 0.99) / 2 / NS_PER_US,
           (double)sum / c->seconds, c->cpu_seconds * 1e6 / (double)all, (unsigned long long)slowest,
           (unsigned long long)fastest, pinned ? "true" : "false");
    if (slowest >= MIN_TRIPS)
        printf(", \"unfairness\": %.3f", (double)fastest / (double)slowest);
    puts("}");
}

static struct crowd crowd_parse(int argc, char **argv)
{
    struct crowd c = { .connections = 0 };

    if (argc == 6) {
        c.connections = (unsigned)strtoul(argv[2], NULL, 10);
        c.in_flight = (unsigned)strtoul(argv[3], NULL, 10);
        c.queues = (unsigned)strtoul(argv[4], NULL, 10);
        c.seconds = strtod(argv[5], NULL);
        c.notified = !strcmp(argv[1], "ndk-notified");
    }
    if (!c.connections || !c.in_flight || c.in_flight > c.connections || c.seconds <= 0 || !c.queues ||
        c.queues > (c.notified ? CROWD_QUEUES : 1))
        bench_die("usage: %s ndk|ndk-notified|tcp <connections> <in flight> <queues> <seconds>", argv[0]);
    return c;
}

int main(int argc, char **argv)
{
    struct crowd c = crowd_parse(argc, argv);
    bool ndk = strcmp(argv[1], "tcp") != 0, pinned = false;
    int control;
    pid_t child = bench_fork(&control, (unsigned)c.seconds + CROWD_SECONDS);

    if (c.queues == 1)
        pinned = bench_pin(c.notified || child ? 0 : 1);
    if (!child) {
        if (ndk)
            crowd_serve_ndk(c.connections, c.queues, c.notified, control);
        else
            crowd_serve_tcp(c.connections, control);
        return 0;
    }
    crowd_init(&c);
    (ndk ? crowd_open_ndk : crowd_open_tcp)(&c, control);
    crowd_run(&c, ndk, control);
    if (ndk)
        crowd_close_ndk(&c);
    close(control);
    bench_join(child);
    crowd_print(argv[1], &c, pinned);
    return 0;
}
