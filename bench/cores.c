/* SPDX-License-Identifier: MIT */
/*
 * Measures how fast two processors exchange a cache line while other programs use these processors.
 *   cores <seconds>
 * Every 25 ms there is a round: for about 20 us, two pinned threads write a shared cache line alternately. For each
 * round, the program prints the time of the round (s, CLOCK_MONOTONIC) and the duration of one round trip of the cache
 * line (ns). If there is only one processor, the duration is 0. A round that a thread starts too late is not printed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum { INTERVAL_NS = 25000000, TIMEOUT_NS = 200000, SLICE_NS = 100000, WARM_UP = 16, BATCH = 16, BATCHES = 3 };

static _Alignas(128) _Atomic uint64_t ball; /* number of the round << 32 | number of writes in this round */
static uint64_t deadline;

/*
 * Requests short time slices, so that the scheduler prefers this thread to threads that run longer. Kernels before 6.12
 * ignore the request.
 */
static void cores_request_short_slices(void)
{
    struct { /* a copy of struct sched_attr, whose header conflicts with the headers of some C libraries */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = { .size = sizeof attr, .policy = SCHED_OTHER, .runtime = SLICE_NS };

    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    prctl(PR_SET_TIMERSLACK, 1);
}

/*
 * Sleeps until the next round, which begins at the same time in both threads. Returns the number of the round, or 0 if
 * the deadline has passed.
 */
static uint64_t cores_wait_round(void)
{
    uint64_t round = bench_now() / INTERVAL_NS + 1, at = round * INTERVAL_NS;
    struct timespec t = { .tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S) };

    if (at > deadline)
        return 0;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        continue;
    return round;
}

static bool cores_await(uint64_t value)
{
    uint64_t from = bench_now();

    for (unsigned polls = 1; atomic_load_explicit(&ball, memory_order_acquire) != value; polls++)
        if (polls % 64 == 0 && bench_now() - from > TIMEOUT_NS)
            return false;
    return true;
}

static void *cores_answer(void *unused)
{
    bench_pin(1);
    cores_request_short_slices();
    for (uint64_t round; (round = cores_wait_round());)
        for (unsigned i = 0; i < WARM_UP + BATCH * BATCHES && cores_await(round << 32 | (2 * i + 1)); i++)
            atomic_store_explicit(&ball, round << 32 | (2 * i + 2), memory_order_release);
    return unused;
}

static bool cores_bounce(uint64_t round, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        atomic_store_explicit(&ball, round << 32 | (2 * i + 1), memory_order_release);
        if (!cores_await(round << 32 | (2 * i + 2)))
            return false;
    }
    return true;
}

/*
 * Prints the round trip of the fastest batch of writes, because another program may have interrupted the slower
 * batches.
 */
static void cores_measure(uint64_t round)
{
    uint64_t fastest = UINT64_MAX;

    if (!cores_bounce(round, 0, WARM_UP))
        return;
    for (unsigned b = 0; b < BATCHES; b++) {
        uint64_t from = bench_now();

        if (!cores_bounce(round, WARM_UP + b * BATCH, BATCH))
            return;
        from = bench_now() - from;
        fastest = from < fastest ? from : fastest;
    }
    printf("%.4f %.1f\n", (double)bench_now() / NS_PER_S, (double)fastest / BATCH);
}

int main(int argc, char **argv)
{
    double seconds = argc == 2 ? atof(argv[1]) : 0;
    cpu_set_t allowed;
    pthread_t other;
    bool one;

    if (seconds <= 0)
        bench_die("usage: %s <seconds>", argv[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    deadline = bench_now() + (uint64_t)(seconds * NS_PER_S);
    one = sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2;
    if (!one && pthread_create(&other, NULL, cores_answer, NULL))
        bench_die("no second thread");
    bench_pin(0);
    cores_request_short_slices();
    for (uint64_t round; (round = cores_wait_round());) {
        if (one)
            printf("%.4f 0\n", (double)bench_now() / NS_PER_S);
        else
            cores_measure(round);
    }
    if (!one)
        pthread_join(other, NULL);
    return 0;
}
