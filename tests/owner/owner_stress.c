/* SPDX-License-Identifier: MIT */
/*
 * The owner word with real threads: producers, a poller that leases the socket (here an eventfd that a network thread
 * writes), and the shard's thread, for a fixed number of work items. The invariant: the shard's state is plain memory,
 * so the thread sanitizer reports every access that the token does not order.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/owner.h"

#define PRODUCERS 3
#define WORKS 20000u
#define MESSAGES 2000u
#define POLLS 40000u
#define ARM_EVERY 64u

static struct shard {
    struct owner o;
    int epoll, bell, socket;
    _Atomic uint32_t published[PRODUCERS];
    atomic_bool stop;
    /* Guarded by the token. */
    uint32_t executed[PRODUCERS];
    uint64_t received, drives;
    bool watched;
    /* The thread's state. */
    uint64_t sleeps, leases_waited, leases_expired;
} shard;

#define REQUIRE(what) require((what), #what, __LINE__)

static void require(bool holds, const char *what, int line)
{
    if (holds)
        return;
    fprintf(stderr, "owner_stress.c:%d: %s does not hold\n", line, what);
    abort();
}

static void ring_bell(void *ctx)
{
    uint64_t one = 1;

    (void)ctx;
    REQUIRE(write(shard.bell, &one, sizeof(one)) == sizeof(one));
}

static const struct owner_ops ops = {
    .wake = ring_bell, .futex_wait = owner_futex_wait, .futex_wake = owner_futex_wake, .now = owner_clock
};

static void watch(bool on)
{
    struct epoll_event e = { .events = EPOLLIN, .data.fd = shard.socket };

    REQUIRE(epoll_ctl(shard.epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, shard.socket, &e) == 0);
    shard.watched = on;
}

static void drive(void)
{
    uint64_t n;

    shard.drives++;
    for (unsigned i = 0; i < PRODUCERS; i++)
        shard.executed[i] = atomic_load_explicit(&shard.published[i], memory_order_relaxed);
    if (read(shard.socket, &n, sizeof(n)) == sizeof(n))
        shard.received += n;
}

static void release_consumer(void)
{
    for (unsigned i = 0; i < 2; i++) {
        if (owner_release(&shard.o))
            return;
        drive();
    }
    owner_release_to_thread(&shard.o);
}

static void *produce(void *arg)
{
    _Atomic uint32_t *published = arg;

    for (uint32_t i = 1; i <= WORKS; i++) {
        atomic_store_explicit(published, i, memory_order_relaxed);
        if (owner_acquire_or_ring(&shard.o)) {
            drive();
            release_consumer();
        }
    }
    return NULL;
}

static void end_lease(void)
{
    if (!owner_is_leased(&shard.o))
        return;
    watch(true);
    REQUIRE(owner_lease_end(&shard.o));
}

static void *poll_queue(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= POLLS; i++) {
        uint64_t now = owner_clock(NULL);

        if (!owner_try_acquire(&shard.o)) {
            owner_lease_renew(&shard.o, now);
            continue;
        }
        if (i % ARM_EVERY == 0) {
            end_lease();
        } else if (owner_is_leased(&shard.o)) {
            owner_lease_renew(&shard.o, now);
        } else {
            watch(false);
            REQUIRE(owner_lease_begin(&shard.o, now));
        }
        drive();
        release_consumer();
    }
    return NULL;
}

static void *send_messages(void *arg)
{
    uint64_t one = 1;

    (void)arg;
    for (uint32_t i = 0; i < MESSAGES; i++)
        REQUIRE(write(shard.socket, &one, sizeof(one)) == sizeof(one));
    return NULL;
}

static void sleep_in_epoll(void)
{
    struct epoll_event e[2];
    uint64_t n;
    int count = epoll_wait(shard.epoll, e, 2, -1);

    for (int i = 0; i < count; i++)
        if (e[i].data.fd == shard.bell)
            REQUIRE(read(shard.bell, &n, sizeof(n)) == sizeof(n));
    (void)owner_sleep_end(&shard.o);
}

static void *run_thread(void *arg)
{
    bool expired = false;

    (void)arg;
    for (;;) {
        owner_thread_acquire(&shard.o);
        if (expired && owner_lease_end_expired(&shard.o)) {
            watch(true);
            shard.leases_expired++;
        }
        expired = false;
        do
            drive();
        while (!owner_release(&shard.o));
        if (atomic_load(&shard.stop))
            return NULL;
        switch (owner_sleep_begin(&shard.o)) {
        case OWNER_SLEEP_GO:
            shard.sleeps++;
            sleep_in_epoll();
            break;
        case OWNER_SLEEP_WOKEN:
            break;
        case OWNER_SLEEP_IN_LEASE:
            shard.leases_waited++;
            expired = owner_lease_wait(&shard.o, OWNER_NEVER) == OWNER_LEASE_EXPIRED;
            break;
        }
    }
}

static void open_shard(void)
{
    struct epoll_event e = { .events = EPOLLIN };

    owner_init(&shard.o, &ops, NULL, 10);
    shard.epoll = epoll_create1(EPOLL_CLOEXEC);
    shard.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    shard.socket = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    REQUIRE(shard.epoll >= 0 && shard.bell >= 0 && shard.socket >= 0);
    e.data.fd = shard.bell;
    REQUIRE(epoll_ctl(shard.epoll, EPOLL_CTL_ADD, shard.bell, &e) == 0);
    watch(true);
}

/* Only watches. If a wake-up was lost, this does not return, and the test times out. */
static void wait_until_done(void)
{
    for (;;) {
        bool done = false;

        if (owner_try_acquire(&shard.o)) {
            done = shard.received == MESSAGES && shard.watched && !owner_is_leased(&shard.o);
            for (unsigned i = 0; i < PRODUCERS; i++)
                done = done && shard.executed[i] == WORKS;
            while (!owner_release(&shard.o))
                ;
        }
        if (done)
            return;
        (void)poll(NULL, 0, 1);
    }
}

int main(void)
{
    pthread_t thread, poller, network, producers[PRODUCERS];

    open_shard();
    REQUIRE(pthread_create(&thread, NULL, run_thread, NULL) == 0);
    REQUIRE(pthread_create(&poller, NULL, poll_queue, NULL) == 0);
    REQUIRE(pthread_create(&network, NULL, send_messages, NULL) == 0);
    for (unsigned i = 0; i < PRODUCERS; i++)
        REQUIRE(pthread_create(&producers[i], NULL, produce, &shard.published[i]) == 0);
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    pthread_join(network, NULL);
    pthread_join(poller, NULL);
    wait_until_done();
    atomic_store(&shard.stop, true);
    (void)owner_wake(&shard.o);
    pthread_join(thread, NULL);
    REQUIRE(shard.received == MESSAGES);
    REQUIRE(!owner_is_owned(&shard.o) && !owner_is_leased(&shard.o));
    printf("%llu drives, %llu sleeps in epoll, %llu waits in a lease, %llu leases expired\n",
           (unsigned long long)shard.drives, (unsigned long long)shard.sleeps, (unsigned long long)shard.leases_waited,
           (unsigned long long)shard.leases_expired);
    close(shard.epoll);
    close(shard.bell);
    close(shard.socket);
    return 0;
}
