/* SPDX-License-Identifier: MIT */
/*
 * Measures the owner token of a shard (src/base/owner.h): how long acquire and release by one thread take, how long the
 * hand-over between two threads takes, and how long the shard's thread takes to wake. The shard's thread normally
 * sleeps in epoll, and an eventfd wakes it. While a consumer's polls serve the sockets (a polling lease), the shard's
 * thread sleeps on a futex. Prints medians in nanoseconds.
 *
 * The thread that wakes the shard's thread spins, so the two threads are pinned to different processors. On the same
 * processor the woken thread could run only at the end of a time slice, and the result would be the length of that
 * slice.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/owner.h"
#include "common.h"

#define ROUNDS 101
#define PAIRS 100000u
#define WAKES 1001u

static struct owner o;
static int epoll_fd, bell;
static cpu_set_t allowed;
static atomic_bool stop;
static _Atomic uint64_t woke_at;
static _Atomic uint32_t awake;
static uint64_t counter, contended_of[2];
static struct samples samples;

static void bench_ring(void *ctx)
{
    uint64_t one = 1;

    (void)ctx;
    if (write(bell, &one, sizeof(one)) != sizeof(one))
        abort();
}

static const struct owner_ops ops = {
    .wake = bench_ring, .futex_wait = owner_futex_wait, .futex_wake = owner_futex_wake, .now = owner_clock
};

/*
 * Pins the thread to processor `n` of the processors that this process may use, counted from 0. Does nothing if there
 * is no such processor.
 */
static void bench_pin_thread(pthread_t thread, unsigned n)
{
    cpu_set_t one;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (pthread_setaffinity_np(thread, sizeof(one), &one) != 0)
            abort();
        return;
    }
}

static void bench_start_thread(pthread_t *thread, void *(*body)(void *), void *arg)
{
    if (pthread_create(thread, NULL, body, arg) != 0)
        abort();
    bench_pin_thread(*thread, 1);
}

static void bench_acquire_release(void)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)owner_acquire_or_ring(&o);
        while (!owner_release(&o))
            ;
    }
}

static void bench_alone(void)
{
    samples_clear(&samples);
    owner_init(&o, &ops, NULL, 0);
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t begin = owner_clock(NULL);

        bench_acquire_release();
        samples_add(&samples, (double)(owner_clock(NULL) - begin) / PAIRS);
    }
    printf("acquire and release, alone            %10.1f ns\n", samples_median(&samples));
}

/*
 * Tries to acquire the owner token PAIRS times. If this thread acquires the token, it increments the counter. Otherwise
 * it sets OWNER_DOORBELL in the token, and the owner (the other thread) increments the counter before it releases the
 * token.
 */
static void *contend_thread(void *arg)
{
    uint64_t *owned = arg;

    for (unsigned i = 0; i < PAIRS; i++) {
        if (!owner_acquire_or_ring(&o))
            continue;
        ++*owned;
        do
            counter++;
        while (!owner_release(&o));
    }
    return NULL;
}

static void bench_contended(void)
{
    pthread_t a, b;

    samples_clear(&samples);
    owner_init(&o, &ops, NULL, 0);
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t begin = owner_clock(NULL);

        bench_start_thread(&a, contend_thread, &contended_of[0]);
        bench_start_thread(&b, contend_thread, &contended_of[1]);
        bench_pin_thread(a, 0);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        samples_add(&samples, (double)(owner_clock(NULL) - begin) / (2 * PAIRS));
    }
    printf("acquire or ring, two threads          %10.1f ns  (%.0f%% acquired, the others rang)\n",
           samples_median(&samples), 100.0 * (double)(contended_of[0] + contended_of[1]) / (2.0 * PAIRS * ROUNDS));
}

/* Acquires the owner token again and again, as a shard's thread does. Sleeps while another thread owns the token. */
static void *handover_thread(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        owner_thread_acquire(&o);
        atomic_store(&woke_at, owner_clock(NULL));
        owner_release_to_thread(&o);
        atomic_fetch_add(&awake, 1);
        while (!owner_is_owned(&o) && !atomic_load(&stop))
            (void)poll(NULL, 0, 1); /* poll, because sched_yield would use CPU time and delay the next wake */
    }
    return NULL;
}

static void bench_wait_asleep(uint32_t kind)
{
    while ((atomic_load(&o.word) & OWNER_SLEEP_MASK) != kind)
        (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 1); /* the thread has changed o.word, but perhaps it does not sleep in the kernel yet */
}

static void bench_handover(void)
{
    pthread_t thread;

    samples_clear(&samples);
    owner_init(&o, &ops, NULL, 0);
    atomic_store(&stop, false);
    (void)owner_try_acquire(&o);
    bench_start_thread(&thread, handover_thread, NULL);
    for (unsigned i = 0; i < WAKES; i++) {
        uint32_t before = atomic_load(&awake);
        uint64_t begin;

        bench_wait_asleep(OWNER_SLEEP_TOKEN);
        if (i == WAKES - 1)
            atomic_store(&stop, true);
        begin = owner_clock(NULL);
        (void)owner_release(&o);
        while (atomic_load(&awake) == before)
            ;
        samples_add(&samples, (double)(atomic_load(&woke_at) - begin));
        while (i < WAKES - 1 && !owner_try_acquire(&o))
            ;
    }
    pthread_join(thread, NULL);
    printf("hand-over to the thread that waits    %10.0f ns\n", samples_median(&samples));
}

static void sleep_thread_once(bool leased)
{
    struct epoll_event e;
    uint64_t n;

    if (leased) {
        (void)owner_lease_wait(&o, OWNER_NEVER);
    } else if (owner_sleep_begin(&o) == OWNER_SLEEP_GO) {
        if (epoll_wait(epoll_fd, &e, 1, -1) == 1 && read(bell, &n, sizeof(n)) != sizeof(n))
            abort();
        (void)owner_sleep_end(&o);
    }
}

static void *sleep_thread(void *leased)
{
    while (!atomic_load(&stop)) {
        sleep_thread_once(leased != NULL);
        atomic_store(&woke_at, owner_clock(NULL));
        atomic_fetch_add(&awake, 1);
    }
    return NULL;
}

static void bench_wake(bool leased)
{
    pthread_t thread;

    samples_clear(&samples);
    owner_init(&o, &ops, NULL, 0);
    atomic_store(&stop, false);
    if (leased) {
        (void)owner_try_acquire(&o);
        /* The lease does not expire during the measurement. */
        (void)owner_lease_begin(&o, owner_clock(NULL) + UINT64_C(3600000000000));
        (void)owner_release(&o);
    }
    bench_start_thread(&thread, sleep_thread, leased ? &o : NULL);
    for (unsigned i = 0; i < WAKES; i++) {
        uint32_t before;
        uint64_t begin;

        bench_wait_asleep(leased ? OWNER_SLEEP_LEASED : OWNER_SLEEP_WATCH);
        before = atomic_load(&awake);
        if (i == WAKES - 1)
            atomic_store(&stop, true);
        begin = owner_clock(NULL);
        (void)owner_wake(&o);
        while (atomic_load(&awake) == before)
            ;
        samples_add(&samples, (double)(atomic_load(&woke_at) - begin));
    }
    pthread_join(thread, NULL);
    printf("wake-up of the thread, %-14s %10.0f ns\n", leased ? "futex" : "eventfd, epoll", samples_median(&samples));
}

int main(void)
{
    struct epoll_event e = { .events = EPOLLIN };

    samples_init(&samples, WAKES);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    bell = eventfd(0, EFD_CLOEXEC);
    if (epoll_fd < 0 || bell < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, bell, &e) != 0)
        abort();
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        abort();
    bench_pin_thread(pthread_self(), 0);
    if (CPU_COUNT(&allowed) < 2)
        printf("only one processor: the figures with two threads measure the scheduler\n");
    bench_alone();
    bench_contended();
    bench_handover();
    bench_wake(false);
    bench_wake(true);
    close(bell);
    close(epoll_fd);
    return 0;
}
