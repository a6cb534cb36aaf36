/* SPDX-License-Identifier: MIT */
/*
 * How far apart two processors are, watched while something else runs on them: every 25 ms two pinned threads let a
 * cache line go back and forth for some 20 us. A line for each look: when (s, CLOCK_MONOTONIC) and the round trip (ns;
 * 0 where there is only one processor). A look for which one of the two gets its processor too late is left out.
 *   cores <seconds>
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

enum { INTERVAL = 25000000, PATIENCE = 200000, SLICE = 100000, WARM_UP = 16, BATCH = 16, BATCHES = 3 };

static _Alignas(128) _Atomic uint64_t ball; /* number of the look << 32 | bounces */
static uint64_t deadline;

/* What wakes for a moment goes first then, before what always runs. Kernels before 6.12 ignore it, and do so anyway. */
static void ask_for_short_slices(void)
{
    struct { /* struct sched_attr, whose header some C libraries' own declarations contradict */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = { .size = sizeof attr, .policy = SCHED_OTHER, .runtime = SLICE };

    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    prctl(PR_SET_TIMERSLACK, 1);
}

/* Sleeps until the next look; both threads find the same one. Its number, or 0 at the end. */
static uint64_t next_look(void)
{
    uint64_t look = bench_now() / INTERVAL + 1, at = look * INTERVAL;
    struct timespec t = { .tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S) };

    if (at > deadline)
        return 0;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        continue;
    return look;
}

static bool await(uint64_t value)
{
    uint64_t from = bench_now();

    for (unsigned looks = 1; atomic_load_explicit(&ball, memory_order_acquire) != value; looks++)
        if (looks % 64 == 0 && bench_now() - from > PATIENCE)
            return false;
    return true;
}

static void *answer(void *unused)
{
    bench_pin(1);
    ask_for_short_slices();
    for (uint64_t look; (look = next_look());)
        for (unsigned i = 0; i < WARM_UP + BATCH * BATCHES && await(look << 32 | (2 * i + 1)); i++)
            atomic_store_explicit(&ball, look << 32 | (2 * i + 2), memory_order_release);
    return unused;
}

static bool bounce(uint64_t look, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        atomic_store_explicit(&ball, look << 32 | (2 * i + 1), memory_order_release);
        if (!await(look << 32 | (2 * i + 2)))
            return false;
    }
    return true;
}

/* The quickest of a few batches: the others may have been interrupted. */
static void look_once(uint64_t look)
{
    uint64_t least = UINT64_MAX;

    if (!bounce(look, 0, WARM_UP))
        return;
    for (unsigned b = 0; b < BATCHES; b++) {
        uint64_t from = bench_now();

        if (!bounce(look, WARM_UP + b * BATCH, BATCH))
            return;
        from = bench_now() - from;
        least = from < least ? from : least;
    }
    printf("%.4f %.1f\n", (double)bench_now() / NS_PER_S, (double)least / BATCH);
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
    if (!one && pthread_create(&other, NULL, answer, NULL))
        bench_die("no second thread");
    bench_pin(0);
    ask_for_short_slices();
    for (uint64_t look; (look = next_look());) {
        if (one)
            printf("%.4f 0\n", (double)bench_now() / NS_PER_S);
        else
            look_once(look);
    }
    if (!one)
        pthread_join(other, NULL);
    return 0;
}
