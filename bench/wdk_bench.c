/* SPDX-License-Identifier: MIT */
/*
 * Compares the services of the user-space kernel (src/wdk) with their counterparts in a Linux program: pthread mutexes,
 * conditions and spin locks, a queue lock made of atomics, a pool of pthreads, and malloc. Measures each service and
 * its counterpart alternately, so that other programs slow down both equally, and compares the medians. Measurements of
 * one thread use the thread's CPU time. Measurements of several threads use elapsed time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wdm.h"

#include "common.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"

enum { ROUNDS = 41, HANDOVERS = 2000, ALONE = 100000, ITEMS = 200, BATCHES = 20, WORKERS = 2 };

/* ---- Events ------------------------------------------------------------------------------------------------------ */

struct flag {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool set;
};

static void flag_set(struct flag *f)
{
    pthread_mutex_lock(&f->mutex);
    f->set = true;
    pthread_cond_signal(&f->cond);
    pthread_mutex_unlock(&f->mutex);
}

static void flag_wait(struct flag *f)
{
    pthread_mutex_lock(&f->mutex);
    while (!f->set)
        pthread_cond_wait(&f->cond, &f->mutex);
    f->set = false;
    pthread_mutex_unlock(&f->mutex);
}

static KEVENT events[2];
static struct flag flags[2] = { { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false },
                                { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false } };

static void event_wait(int i)
{
    (void)KeWaitForSingleObject(&events[i], Executive, KernelMode, FALSE, NULL);
}

static void event_alone(int n)
{
    for (int i = 0; i < n; i++) {
        KeSetEvent(&events[0], IO_NO_INCREMENT, FALSE);
        event_wait(0);
    }
}

static void flag_alone(int n)
{
    for (int i = 0; i < n; i++) {
        flag_set(&flags[0]);
        flag_wait(&flags[0]);
    }
}

static void *event_other(void *n)
{
    for (int i = 0; i < *(int *)n; i++) {
        event_wait(0);
        KeSetEvent(&events[1], IO_NO_INCREMENT, FALSE);
    }
    return NULL;
}

static void *flag_other(void *n)
{
    for (int i = 0; i < *(int *)n; i++) {
        flag_wait(&flags[0]);
        flag_set(&flags[1]);
    }
    return NULL;
}

static void event_handover(int n)
{
    pthread_t thread;

    pthread_create(&thread, NULL, event_other, &n);
    for (int i = 0; i < n; i++) {
        KeSetEvent(&events[0], IO_NO_INCREMENT, FALSE);
        event_wait(1);
    }
    pthread_join(thread, NULL);
}

static void flag_handover(int n)
{
    pthread_t thread;

    pthread_create(&thread, NULL, flag_other, &n);
    for (int i = 0; i < n; i++) {
        flag_set(&flags[0]);
        flag_wait(&flags[1]);
    }
    pthread_join(thread, NULL);
}

/* ---- Spin locks -------------------------------------------------------------------------------------------------- */

static KSPIN_LOCK spin;
static pthread_spinlock_t bare_spin;

static void spin_ours(int n)
{
    KIRQL irql;

    for (int i = 0; i < n; i++) {
        KeAcquireSpinLock(&spin, &irql);
        KeReleaseSpinLock(&spin, irql);
    }
}

static void spin_bare(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_spin_lock(&bare_spin);
        pthread_spin_unlock(&bare_spin);
    }
}

struct turn {
    _Atomic(struct turn *) next;
    atomic_bool waits;
};

static _Atomic(struct turn *) last;

__attribute__((noinline)) static void turn_acquire(struct turn *me)
{
    struct turn *before;

    atomic_init(&me->next, NULL);
    atomic_init(&me->waits, true);
    before = atomic_exchange_explicit(&last, me, memory_order_acq_rel);
    if (!before)
        return;
    atomic_store_explicit(&before->next, me, memory_order_release);
    while (atomic_load_explicit(&me->waits, memory_order_acquire))
        continue;
}

__attribute__((noinline)) static void turn_release(struct turn *me)
{
    struct turn *next = atomic_load_explicit(&me->next, memory_order_acquire), *self = me;

    if (!next &&
        atomic_compare_exchange_strong_explicit(&last, &self, NULL, memory_order_release, memory_order_relaxed))
        return;
    while (!next)
        next = atomic_load_explicit(&me->next, memory_order_acquire);
    atomic_store_explicit(&next->waits, false, memory_order_release);
}

static void queued_ours(int n)
{
    KLOCK_QUEUE_HANDLE handle;

    for (int i = 0; i < n; i++) {
        KeAcquireInStackQueuedSpinLock(&spin, &handle);
        KeReleaseInStackQueuedSpinLock(&handle);
    }
}

static void queued_bare(int n)
{
    struct turn me;

    for (int i = 0; i < n; i++) {
        turn_acquire(&me);
        turn_release(&me);
    }
}

/* ---- Work items -------------------------------------------------------------------------------------------------- */

static atomic_int to_run;
static WORK_QUEUE_ITEM items[ITEMS];

static VOID work_count_down(PVOID event)
{
    if (atomic_fetch_sub(&to_run, 1) == 1)
        KeSetEvent(event, IO_NO_INCREMENT, FALSE);
}

static void work_ours(int n)
{
    for (int k = 0; k < n / ITEMS; k++) {
        atomic_store(&to_run, ITEMS);
        for (int i = 0; i < ITEMS; i++) {
            ExInitializeWorkItem(&items[i], work_count_down, &events[0]);
            ExQueueWorkItem(&items[i], DelayedWorkQueue);
        }
        event_wait(0);
    }
}

static struct job {
    struct job *next;
    void (*run)(void *argument);
    void *argument;
} jobs[ITEMS], *jobs_first, **jobs_end = &jobs_first;
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_filled = PTHREAD_COND_INITIALIZER;

static void *jobs_work(void *argument)
{
    pthread_mutex_lock(&jobs_lock);
    for (;;) {
        struct job *j;

        while (!jobs_first)
            pthread_cond_wait(&jobs_filled, &jobs_lock);
        j = jobs_first;
        jobs_first = j->next;
        if (!jobs_first)
            jobs_end = &jobs_first;
        pthread_mutex_unlock(&jobs_lock);
        j->run(j->argument);
        pthread_mutex_lock(&jobs_lock);
    }
    return argument;
}

static void jobs_count_down(void *argument)
{
    if (atomic_fetch_sub(&to_run, 1) == 1)
        flag_set(argument);
}

static void jobs_push(struct job *j)
{
    j->next = NULL;
    pthread_mutex_lock(&jobs_lock);
    *jobs_end = j;
    jobs_end = &j->next;
    pthread_cond_signal(&jobs_filled);
    pthread_mutex_unlock(&jobs_lock);
}

static void work_bare(int n)
{
    for (int k = 0; k < n / ITEMS; k++) {
        atomic_store(&to_run, ITEMS);
        for (int i = 0; i < ITEMS; i++) {
            jobs[i].run = jobs_count_down;
            jobs[i].argument = &flags[0];
            jobs_push(&jobs[i]);
        }
        flag_wait(&flags[0]);
    }
}

/* ---- Pool -------------------------------------------------------------------------------------------------------- */

/* LIVE is the number of blocks that are allocated at the same time, as for eight requests in flight. */
enum { LIVE = 8, SMALL = 128, LARGE = 4000 };

static void pool_ours(int n, size_t size)
{
    volatile char *block[LIVE];

    for (int i = 0; i < n; i += LIVE) {
        for (int k = 0; k < LIVE; k++) {
            block[k] = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, size, 'hcnB');
            block[k][0] = 1;
        }
        for (int k = 0; k < LIVE; k++)
            ExFreePoolWithTag((PVOID)block[k], 'hcnB');
    }
}

static void pool_bare(int n, size_t size)
{
    volatile char *block[LIVE];

    for (int i = 0; i < n; i += LIVE) {
        for (int k = 0; k < LIVE; k++) {
            block[k] = malloc(size);
            block[k][0] = 1;
        }
        for (int k = 0; k < LIVE; k++)
            free((void *)block[k]);
    }
}

static void pool_small(int n)
{
    pool_ours(n, SMALL);
}

static void malloc_small(int n)
{
    pool_bare(n, SMALL);
}

static void pool_large(int n)
{
    pool_ours(n, LARGE);
}

static void malloc_large(int n)
{
    pool_bare(n, LARGE);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static const struct bench {
    const char *name, *against;
    void (*ours)(int n);
    void (*bare)(int n);
    int n;
    clockid_t clock;
} benches[] = {
    { "event: set, wait", "mutex and condition", event_alone, flag_alone, ALONE, CLOCK_THREAD_CPUTIME_ID },
    { "event: there and back", "mutex and condition", event_handover, flag_handover, HANDOVERS, CLOCK_MONOTONIC },
    { "spin lock", "pthread_spin_lock", spin_ours, spin_bare, ALONE, CLOCK_THREAD_CPUTIME_ID },
    { "in-stack queued lock", "queue of atomics", queued_ours, queued_bare, ALONE, CLOCK_THREAD_CPUTIME_ID },
    { "work item", "pool of pthreads", work_ours, work_bare, ITEMS *BATCHES, CLOCK_MONOTONIC },
    { "pool, 128 bytes", "malloc", pool_small, malloc_small, ALONE, CLOCK_THREAD_CPUTIME_ID },
    { "pool, 4000 bytes", "malloc", pool_large, malloc_large, ALONE, CLOCK_THREAD_CPUTIME_ID },
};

static double service_run_once(const struct bench *b, void (*run)(int n), int n)
{
    double start = bench_clock_ns(b->clock);

    run(n);
    return (bench_clock_ns(b->clock) - start) / n;
}

/*
 * Measures the nanoseconds of one operation. Stores the median of the service of src/wdk in *ours, and the median of
 * the service's counterpart in *bare.
 */
static void service_measure(const struct bench *b, int n, double *bare, double *ours)
{
    struct samples of_bare, of_ours;

    samples_init(&of_bare, ROUNDS);
    samples_init(&of_ours, ROUNDS);
    service_run_once(b, b->bare, n);
    service_run_once(b, b->ours, n);
    for (int i = 0; i < ROUNDS; i++) {
        samples_add(&of_bare, service_run_once(b, b->bare, n));
        samples_add(&of_ours, service_run_once(b, b->ours, n));
    }
    *bare = samples_median(&of_bare);
    *ours = samples_median(&of_ours);
}

static void bench_init(void)
{
    pthread_t thread;

    for (int i = 0; i < 2; i++)
        KeInitializeEvent(&events[i], SynchronizationEvent, FALSE);
    KeInitializeSpinLock(&spin);
    pthread_spin_init(&bare_spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < WORKERS; i++) {
        pthread_create(&thread, NULL, jobs_work, NULL);
        pthread_detach(thread);
    }
}

int main(void)
{
    bench_init();
    printf("| service | against | bare ns | checks off ns | ratio | checks on ns |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        const struct bench *b = &benches[i];
        double bare, off, on, ignored;

        ondk_verify_set_mode(ONDK_VERIFY_OFF);
        service_measure(b, b->n, &bare, &off);
        ondk_verify_set_mode(ONDK_VERIFY_STOP);
        service_measure(b, b->n > 10000 ? b->n / 10 : b->n, &ignored, &on);
        printf("| %s | %s | %.1f | %.1f | %.2f | %.1f |\n", b->name, b->against, bare, off, off / bare, on);
        fflush(stdout);
    }
    return 0;
}
