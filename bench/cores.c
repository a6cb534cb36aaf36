/* SPDX-License-Identifier: MIT */
/*
 * How far apart two processors are: the median round trip of a cache line between two pinned threads, in nanoseconds.
 * Prints {"round_trip_ns": n}; 0 where there is only one processor.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common.h"

enum { BATCH = 1000, BATCHES = 51, LOOKS = 1 << 20, MOST_SECONDS = 20 };

static _Alignas(128) _Atomic uint32_t ball;

/* Bounded: the other thread may have lost its processor, but not for ever. */
static void await(uint32_t value)
{
    uint64_t from = 0;

    for (unsigned looks = 1; atomic_load_explicit(&ball, memory_order_acquire) != value; looks++)
        if (looks % LOOKS == 0) {
            from = from ? from : bench_now();
            if (bench_now() - from > (uint64_t)MOST_SECONDS * NS_PER_S)
                bench_die("the other processor does not answer");
        }
}

static void *answer(void *unused)
{
    bench_pin(1);
    for (uint32_t i = 0; i < BATCH * BATCHES; i++) {
        await(2 * i + 1);
        atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
    }
    return unused;
}

int main(void)
{
    struct samples batches;
    cpu_set_t allowed;
    pthread_t other;
    uint32_t i = 0;

    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2) {
        puts("{\"round_trip_ns\": 0}");
        return 0;
    }
    samples_init(&batches, BATCHES);
    if (pthread_create(&other, NULL, answer, NULL))
        bench_die("no second thread");
    bench_pin(0);
    for (unsigned b = 0; b < BATCHES; b++) {
        uint64_t from = bench_now();

        for (unsigned n = 0; n < BATCH; n++, i++) {
            atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
            await(2 * i + 2);
        }
        samples_add(&batches, (double)(bench_now() - from) / BATCH);
    }
    pthread_join(other, NULL);
    printf("{\"round_trip_ns\": %.1f, \"low\": %.1f, \"high\": %.1f}\n", samples_quantile(&batches, 0.5),
           samples_quantile(&batches, 0.1), samples_quantile(&batches, 0.9));
    return 0;
}
