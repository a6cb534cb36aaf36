/* SPDX-License-Identifier: MIT */
/*
 * Implements the executor that gives each shard a thread, which runs the shard's turns. After an event the thread spins
 * for a while, because waking a sleeping thread takes longer than most peers need to answer. Then the thread sleeps.
 * While a consumer polls, the thread does not spin. The invariant: before a thread stops, it has run all queued work
 * and all queued callbacks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/library_thread.h"
#include "base/owner.h"
#include "base/spin.h"
#include "engine/net.h"
#include "engine/shard.h"

enum {
    MAX_LAST_TURNS = 10000, /* maximum number of turns in which a stopping thread finishes what is queued */
    MAX_VAIN_SPINS = 4,     /* after so many spins in a row without an event, the thread rarely spins */
    SPIN_RETRY_INTERVAL = 16,
    PREEMPTED_NS = 1000000, /* a gap of this length between two turns means that the thread lost its processor */
    SLEEP_FACTOR = 2,       /* after losing its processor for a time t, the thread does not spin for SLEEP_FACTOR * t */
    NO_YIELD_FACTOR = 32,   /* after a long sched_yield of time t, the thread does not yield for NO_YIELD_FACTOR * t */
};

struct worker {
    pthread_t thread;
    struct shard *shard;
    atomic_bool stopping;
};

/*
 * Spinning helps only if the next event arrives within the spin time, as in an exchange of messages with a peer that
 * spins too. Otherwise the spinning thread occupies a processor that other threads may need. The kernel then takes the
 * processor from the spinning thread for milliseconds. A sleeping thread would be woken at once. A long gap between two
 * turns shows that the thread lost its processor.
 */
struct spin_policy {
    unsigned n_vain; /* the number of sleeps since an event last arrived while the thread was spinning */
    bool is_spinning;
    uint64_t last_ns;        /* the end of the last turn */
    uint64_t no_spin_until;  /* no spins before this time, because the thread lost its processor while spinning */
    uint64_t no_yield_until; /* no yields before this time, because the last sched_yield took long */
};

static _Thread_local bool is_worker;

static uint64_t threads_now(struct executor *e)
{
    (void)e;
    return owner_clock(NULL);
}

/* Returns true if the thread should sleep. `from` is the time of the last event. */
static bool spin_policy_wants_sleep(const struct spin_policy *p, uint64_t from, uint64_t now, uint64_t spin_ns)
{
    bool vain = p->n_vain >= MAX_VAIN_SPINS && p->n_vain % SPIN_RETRY_INTERVAL != 0;

    return vain || now - from >= spin_ns || now < p->no_spin_until;
}

/*
 * Updates the policy after a turn. `called` is true if the turn ran callbacks. A long gap since the last turn shows
 * that the thread lost its processor, unless callbacks may have taken that time.
 */
static void spin_policy_update(struct spin_policy *p, bool busy, bool called, bool sleeps, uint64_t now)
{
    if (p->is_spinning && !called && now - p->last_ns >= PREEMPTED_NS)
        p->no_spin_until = now + SLEEP_FACTOR * (now - p->last_ns);
    p->last_ns = now;
    if (busy && p->is_spinning)
        p->n_vain = 0;
    else if (sleeps)
        p->n_vain++;
    p->is_spinning = !busy && !sleeps;
}

/*
 * Yields the processor once after callbacks, and returns the present time. A callback may have woken a thread that
 * waits for this processor, and that thread often causes the next event. To yield takes less time than to sleep until
 * that event. If a yield takes long, the next calls do not yield for a while.
 */
static uint64_t spin_policy_yield(struct executor *e, struct spin_policy *p)
{
    uint64_t before = threads_now(e), after;

    if (before < p->no_yield_until)
        return before;
    (void)sched_yield();
    after = threads_now(e);
    if (after - before >= PREEMPTED_NS)
        p->no_yield_until = after + NO_YIELD_FACTOR * (after - before);
    return after;
}

/* Clears is_worker in a child of fork. The child has no workers, even if a callback on a worker called fork. */
static void executor_clear_worker(void)
{
    is_worker = false;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    struct executor *e = shard_executor(w->shard);
    uint64_t spin_ns = shard_get_config(w->shard)->spin_ns;
    uint64_t spin_from = 0;
    struct spin_policy policy = { .n_vain = 0 };

    is_worker = true;
    for (;;) {
        unsigned did = shard_turn(w->shard);
        bool busy = did != 0, sleeps;
        uint64_t now = did & SHARD_CALLED ? spin_policy_yield(e, &policy) : threads_now(e);

        /* Checked after the turn, because the turn may have consumed the wake of threads_stop. */
        if (atomic_load_explicit(&w->stopping, memory_order_acquire))
            break;
        if (busy)
            spin_from = now;
        sleeps = spin_policy_wants_sleep(&policy, spin_from, now, spin_ns);
        spin_policy_update(&policy, busy, (did & SHARD_CALLED) != 0, sleeps, now);
        if (sleeps || shard_is_leased(w->shard))
            shard_sleep(w->shard);
        else
            spin_relax();
    }
    for (int i = 0; i < MAX_LAST_TURNS && shard_turn(w->shard); i++)
        ;
    return NULL;
}

static int worker_create_thread(struct worker *w, int cpu)
{
    pthread_attr_t attr;
    int err = pthread_attr_init(&attr);

    if (err)
        return err;
    if (cpu >= 0) {
        cpu_set_t set;

        if (cpu >= CPU_SETSIZE) {
            pthread_attr_destroy(&attr);
            return EINVAL;
        }
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        err = pthread_attr_setaffinity_np(&attr, sizeof set, &set);
    }
    if (!err)
        err = library_thread_create(&w->thread, &attr, worker_run, w);
    pthread_attr_destroy(&attr);
    if (!err)
        (void)pthread_setname_np(w->thread, "openndk-shard");
    return err;
}

static int threads_start(struct executor *e, struct shard *s)
{
    struct worker *w = calloc(1, sizeof *w);
    int err;

    (void)e;
    if (!w)
        return ENOMEM;
    w->shard = s;
    atomic_init(&w->stopping, false);
    *shard_executor_slot(s) = w;
    err = worker_create_thread(w, shard_get_config(s)->cpu);
    if (err)
        free(w);
    return err;
}

static void threads_stop(struct executor *e, struct shard *s)
{
    struct worker *w = *shard_executor_slot(s);

    (void)e;
    atomic_store_explicit(&w->stopping, true, memory_order_release);
    shard_wake(s);
    pthread_join(w->thread, NULL);
    free(w);
}

static void threads_wake(struct executor *e, struct shard *s)
{
    struct net *net = shard_net(s);

    (void)e;
    net->ops->wake(net, shard_poller(s));
}

static bool threads_gate_wait(struct executor *e, struct gate *g, uint64_t deadline)
{
    (void)e;
    return gate_wait(g, deadline);
}

struct executor *executor_threads(void)
{
    static const struct executor_ops ops = {
        .now = threads_now,
        .start = threads_start,
        .stop = threads_stop,
        .wake = threads_wake,
        .gate_wait = threads_gate_wait,
    };
    static struct executor threads = { .ops = &ops };

    fork_on_child(executor_clear_worker);
    return &threads;
}

bool executor_on_worker(void)
{
    return is_worker;
}
