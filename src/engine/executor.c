/* SPDX-License-Identifier: MIT */
/*
 * The executor of real threads: one for each shard. The thread turns its shard; after an event it looks on for a while,
 * because waking a sleeper costs more than most answers take to come; then it sleeps. While a consumer polls, it leaves
 * looking on to the consumer.
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
#include "engine/net.h"
#include "engine/shard.h"

/* Turns that a stopping thread makes at most to finish what is queued: more means that a task posts itself for ever. */
enum {
    LAST_TURNS = 10000,
    LOOKS_IN_VAIN = 4, /* in a row: looking on does not pay; then only */
    LOOK_AGAIN = 16,   /* every so often it is tried once more */
    PREEMPTED_NS = 1000000,
    REST = 2, /* times what was missing */
    KEEP = 32, /* likewise, after giving way */
};

struct worker {
    pthread_t thread;
    struct shard *shard;
    atomic_bool stopping;
};

static uint64_t threads_now(struct executor *e)
{
    (void)e;
    return owner_clock(NULL);
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/*
 * Looking on pays where the next event comes within the time for it, as in an exchange of messages with a peer that
 * looks on too. Where it does not, it only keeps a processor from those who have something to do, the peer among them.
 * And where others want the processor, who looks on is taken off it for milliseconds, when one who sleeps is woken at
 * once: time that is missing between two looks tells of it.
 */
struct patience {
    unsigned in_vain; /* how often the thread has gone to sleep since looking on was last worth it */
    bool looking;
    uint64_t last;       /* when it looked */
    uint64_t rest_until; /* it was taken off its processor while it looked on: not before then */
    uint64_t keep_until; /* likewise when it gave way */
};

/* Has the thread looked long enough for an event? The last one was at `from`. */
static bool is_enough(const struct patience *p, uint64_t from, uint64_t now, uint64_t spin_ns)
{
    bool hopeless = p->in_vain >= LOOKS_IN_VAIN && p->in_vain % LOOK_AGAIN != 0;

    return hopeless || now - from >= spin_ns || now < p->rest_until;
}

/* What callbacks, and whom they woke, have taken tells nothing of others. */
static void learn(struct patience *p, bool busy, bool called, bool sleeps, uint64_t now)
{
    if (p->looking && !called && now - p->last >= PREEMPTED_NS)
        p->rest_until = now + REST * (now - p->last);
    p->last = now;
    if (busy && p->looking)
        p->in_vain = 0;
    else if (sleeps)
        p->in_vain++;
    p->looking = !busy && !sleeps;
}

/*
 * Whom a callback woke may wait for this very processor, and comes first: its answer is what happens next, and going to
 * sleep takes microseconds. Where somebody else takes the processor for long, this is left for a while. Returns now.
 */
static uint64_t give_way(struct executor *e, struct patience *p)
{
    uint64_t before = threads_now(e), after;

    if (before < p->keep_until)
        return before;
    (void)sched_yield();
    after = threads_now(e);
    if (after - before >= PREEMPTED_NS)
        p->keep_until = after + KEEP * (after - before);
    return after;
}

static _Thread_local bool is_worker;

bool executor_on_worker(void)
{
    return is_worker;
}

/* A child of fork has none, even if a callback forked. */
static void executor_forget_worker(void)
{
    is_worker = false;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct executor *e = shard_executor(w->shard);
    uint64_t spin_ns = shard_get_config(w->shard)->spin_ns;
    uint64_t spin_from = 0;
    struct patience patience = { .in_vain = 0 };

    is_worker = true;
    for (;;) {
        unsigned did = shard_turn(w->shard);
        bool busy = did != 0, sleeps;
        uint64_t now = did & SHARD_CALLED ? give_way(e, &patience) : threads_now(e);

        /* After the turn, which may have taken the very wake that told of it. */
        if (atomic_load_explicit(&w->stopping, memory_order_acquire))
            break;
        if (busy)
            spin_from = now;
        sleeps = is_enough(&patience, spin_from, now, spin_ns);
        learn(&patience, busy, (did & SHARD_CALLED) != 0, sleeps, now);
        if (sleeps || shard_is_leased(w->shard))
            shard_sleep(w->shard);
        else
            cpu_relax();
    }
    for (int i = 0; i < LAST_TURNS && shard_turn(w->shard); i++)
        ;
    return NULL;
}

static int create_thread(struct worker *w, int cpu)
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
        err = library_thread_create(&w->thread, &attr, work, w);
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
    err = create_thread(w, shard_get_config(s)->cpu);
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

/* Callbacks go on meanwhile: they are the shards' threads'. */
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

    fork_on_child(executor_forget_worker);
    return &threads;
}
