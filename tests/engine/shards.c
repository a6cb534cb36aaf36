/* SPDX-License-Identifier: MIT */
/*
 * The shard without sockets: order of tasks, doorbells, timers, callbacks (never inside a call, never two at once),
 * posts across shards, two threads that compete for a shard, and polls, watches and posts from many threads at once,
 * where a lost wake-up would hang.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/support.h"

enum { THREADS = 4, POSTS = 5000, ROUNDS = 3000 };

/* ---- order: each thread's tasks run in the order posted, with the token held, one at a time ---- */

struct numbered {
    struct task task;
    int thread, number;
};

struct order {
    struct shard *shard;
    struct numbered *tasks; /* POSTS for each thread */
    int next[THREADS];      /* the owner's; not protected, on purpose */
    int inside;
    long ran;
    struct gate done;
};

static struct order order;

static void run_numbered(struct task *task)
{
    struct numbered *n = (struct numbered *)task;

    CHECK(shard_is_owner(order.shard));
    CHECK(order.inside++ == 0);
    CHECK(order.next[n->thread]++ == n->number);
    order.inside--;
    if (++order.ran == (long)THREADS * POSTS)
        gate_open(&order.done);
}

static void *post_numbered(void *arg)
{
    struct numbered *tasks = arg;

    for (int i = 0; i < POSTS; i++)
        shard_post(order.shard, &tasks[i].task);
    return NULL;
}

static void test_order(struct shard *s)
{
    pthread_t threads[THREADS];

    memset(&order, 0, sizeof order);
    order.shard = s;
    order.tasks = calloc((size_t)THREADS * POSTS, sizeof *order.tasks);
    CHECK(order.tasks);
    for (int i = 0; i < THREADS * POSTS; i++) {
        order.tasks[i].task.run = run_numbered;
        order.tasks[i].thread = i / POSTS;
        order.tasks[i].number = i % POSTS;
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, post_numbered, order.tasks + (size_t)t * POSTS) == 0);
    support_wait(&order.done);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    free(order.tasks);
}

/* ---- a doorbell: a run that begins after a ring sees every value that was written before it ---- */

struct bell {
    struct task task;
    _Atomic int written[THREADS];
    int seen[THREADS];
    int runs;
    struct gate done;
};

static struct bell bell;
static struct shard *bell_shard;

static void run_bell(struct task *task)
{
    bool all = true;

    (void)task;
    bell.runs++;
    for (int t = 0; t < THREADS; t++) {
        bell.seen[t] = atomic_load_explicit(&bell.written[t], memory_order_relaxed);
        all = all && bell.seen[t] == POSTS;
    }
    if (all && !gate_is_open(&bell.done))
        gate_open(&bell.done);
}

static void *ring_bell(void *arg)
{
    _Atomic int *mine = arg;

    for (int i = 1; i <= POSTS; i++) {
        atomic_store_explicit(mine, i, memory_order_relaxed);
        shard_post_once(bell_shard, &bell.task);
    }
    return NULL;
}

static void test_bell(struct shard *s)
{
    pthread_t threads[THREADS];

    memset(&bell, 0, sizeof bell);
    bell.task.run = run_bell;
    bell_shard = s;
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, ring_bell, &bell.written[t]) == 0);
    support_wait(&bell.done);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    CHECK(bell.runs >= 1 && bell.runs <= THREADS * POSTS);
}

/* ---- enqueued: never runs in the calling thread, nor inside the call ---- */

struct away {
    struct task task;
    struct shard *shard;
    pthread_t poster;
    bool inside; /* of a call that the shard itself made */
    int runs;
    struct gate done;
};

static void run_enqueued(struct task *task)
{
    struct away *a = (struct away *)task;

    CHECK(shard_is_owner(a->shard));
    CHECK(!a->inside);
    CHECK(!pthread_equal(pthread_self(), a->poster));
    a->runs++;
    gate_open(&a->done);
}

static void enqueue_to_itself(void *arg)
{
    struct away *a = arg;

    a->inside = true;
    shard_enqueue(a->shard, &a->task);
    shard_enqueue(a->shard, &a->task);
    a->inside = false;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void *post_to_itself(void *arg)
{
    support_on(((struct away *)arg)->shard, enqueue_to_itself, arg);
    return NULL;
}

static void test_away(struct shard *s)
{
    for (int i = 0; i < ROUNDS / 10; i++) {
        struct away a = { .task.run = run_enqueued, .shard = s, .poster = pthread_self() };

        shard_enqueue(s, &a.task);
        support_wait(&a.done);
    }
    for (int i = 0; i < 100; i++) {
        struct away a = { .task.run = run_enqueued, .shard = s, .poster = pthread_self() };
        pthread_t other;

        CHECK(pthread_create(&other, NULL, post_to_itself, &a) == 0);
        support_wait(&a.done);
        pthread_join(other, NULL);
        support_on(s, nothing, NULL); /* tasks that were queued before have run */
        CHECK(a.runs == 1);
    }
}

/* ---- callbacks ---- */

static _Thread_local bool in_call; /* this thread is inside a call into the engine */

struct callback {
    struct task post, call;
    int number;
};

struct callbacks {
    struct shard *shard;
    struct callback items[POSTS];
    _Atomic int inside;
    _Atomic int ran;
    _Atomic int posted;
    struct gate done;
};

static struct callbacks callbacks;

static void run_call(struct task *task)
{
    struct callback *c = (struct callback *)((char *)task - offsetof(struct callback, call));

    CHECK(!in_call);
    CHECK(!shard_is_owner(callbacks.shard));
    CHECK(atomic_fetch_add(&callbacks.inside, 1) == 0);
    if (c->number % 512 == 0)
        usleep(100); /* so that others queue meanwhile */
    CHECK(atomic_fetch_sub(&callbacks.inside, 1) == 1);
    if (atomic_fetch_add(&callbacks.ran, 1) + 1 == POSTS)
        gate_open(&callbacks.done);
}

static void run_and_call(struct task *task)
{
    struct callback *c = (struct callback *)task;

    shard_call(callbacks.shard, &c->call);
}

static void *make_callbacks(void *arg)
{
    (void)arg;
    for (;;) {
        int i = atomic_fetch_add(&callbacks.posted, 1);

        if (i >= POSTS)
            return NULL;
        in_call = true;
        if (i % 3 == 0)
            shard_call(callbacks.shard, &callbacks.items[i].call);
        else
            shard_post(callbacks.shard, &callbacks.items[i].post);
        shard_poll(callbacks.shard);
        in_call = false;
    }
}

/* covers: OBJ-16 (never inside a call of the consumer, never two at once) */
static void test_callbacks(struct shard *s)
{
    pthread_t threads[THREADS];

    memset(&callbacks, 0, sizeof callbacks);
    callbacks.shard = s;
    for (int i = 0; i < POSTS; i++) {
        callbacks.items[i].post.run = run_and_call;
        callbacks.items[i].call.run = run_call;
        callbacks.items[i].number = i;
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, make_callbacks, NULL) == 0);
    support_wait(&callbacks.done);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* ---- timers ---- */

enum { TIMERS = 200, STEP_NS = 50000 };

struct timers {
    struct shard *shard;
    struct shard_timer timers[TIMERS], stopped, again;
    int fired, repeats;
    uint64_t last;
    struct gate done;
};

static struct timers timers;

static void check_done(void)
{
    if (timers.fired == TIMERS && timers.repeats == 5 && !gate_is_open(&timers.done))
        gate_open(&timers.done);
}

static void fire(struct shard_timer *timer)
{
    CHECK(shard_is_owner(timers.shard) && !timer->armed);
    CHECK(timer->deadline >= timers.last);
    CHECK(shard_now(timers.shard) >= timer->deadline);
    timers.last = timer->deadline;
    timers.fired++;
    check_done();
}

static void fire_again(struct shard_timer *timer)
{
    if (++timers.repeats < 5)
        shard_timer_set(timers.shard, timer, shard_now(timers.shard) + STEP_NS);
    check_done();
}

static void fire_never(struct shard_timer *timer)
{
    (void)timer;
    CHECK(false);
}

static void set_timers(void *arg)
{
    uint64_t now = shard_now(timers.shard);

    (void)arg;
    timers.stopped.fire = fire_never;
    timers.again.fire = fire_again;
    shard_timer_set(timers.shard, &timers.stopped, now + 1);
    for (int i = 0; i < TIMERS; i++) {
        struct shard_timer *timer = &timers.timers[i];

        timer->fire = fire;
        shard_timer_set(timers.shard, timer, now + 1);
        /* The later setting counts. */
        shard_timer_set(timers.shard, timer, now + (uint64_t)(i * 7 % TIMERS) * STEP_NS);
    }
    shard_timer_set(timers.shard, &timers.again, now);
    shard_timer_stop(timers.shard, &timers.stopped);
}

/* Set from a consumer's thread while the shard's thread sleeps without a deadline: the thread must wake. */
static void test_timers(struct shard *s)
{
    memset(&timers, 0, sizeof timers);
    timers.shard = s;
    support_on(s, set_timers, NULL);
    support_wait(&timers.done);
    CHECK(!timers.stopped.armed && !timers.again.armed);
}

/* ---- everything at once: each round ends only if nothing was lost ---- */

struct hop {
    struct task task, call;
    struct shard_timer timer;
    struct shard *shards[2];
    int hops;
    struct gate done;
};

static void hop_call(struct task *task)
{
    struct hop *h = (struct hop *)((char *)task - offsetof(struct hop, call));

    gate_open(&h->done);
}

static void hop_fire(struct shard_timer *timer)
{
    struct hop *h = (struct hop *)((char *)timer - offsetof(struct hop, timer));

    shard_call(h->shards[h->hops % 2], &h->call);
}

/* Two shards post the task to each other; then a timer, then a callback. */
static void hop_run(struct task *task)
{
    struct hop *h = (struct hop *)task;
    struct shard *here = h->shards[h->hops % 2];

    CHECK(shard_is_owner(here));
    if (++h->hops < 6) {
        shard_post(h->shards[h->hops % 2], &h->task);
        return;
    }
    h->hops--;
    shard_timer_set(here, &h->timer, shard_now(here) + (uint64_t)(h->hops & 1) * 20000);
}

static void *hop_rounds(void *arg)
{
    struct shard **shards = arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct hop h = { .task.run = hop_run,
                         .call.run = hop_call,
                         .timer.fire = hop_fire,
                         .shards = { shards[i % 2], shards[(i + 1) % 2] } };

        if (i % 4 == 1)
            (void)shard_post_lazy(h.shards[0], &h.task); /* others poll, or stop polling */
        else
            shard_post(h.shards[0], &h.task);
        if (i % 3 == 0)
            shard_watch(h.shards[0]);
        for (int p = 0; p < i % 7; p++)
            shard_poll(h.shards[1]);
        support_wait(&h.done);
    }
    return NULL;
}

static void test_nothing_lost(struct shard *a, struct shard *b)
{
    struct shard *shards[2] = { a, b };
    pthread_t threads[THREADS];

    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, hop_rounds, shards) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* ---- a thread that is always busy begins a lease for a consumer that polls in vain ---- */

struct rival {
    struct task call, task;
    struct shard_timer timer;
    struct shard *shard;
    atomic_bool held;
    atomic_int polls;
    int enough;
    bool leased;
    struct gate done;
};

/* In the turn after the one in which the polls were in vain. */
static void see_lease(struct shard_timer *timer)
{
    struct rival *r = (struct rival *)((char *)timer - offsetof(struct rival, timer));

    r->leased = shard_is_leased(r->shard);
    gate_open(&r->done);
}

static void block_callback(struct task *task)
{
    struct rival *r = (struct rival *)((char *)task - offsetof(struct rival, task));

    atomic_store(&r->held, true);
    while (atomic_load(&r->polls) < r->enough)
        sched_yield();
    shard_timer_set(r->shard, &r->timer, shard_now(r->shard));
}

/* Posted from a callback, so that the shard's thread has the token. */
static void post_block(struct task *call)
{
    struct rival *r = (struct rival *)call;

    shard_post(r->shard, &r->task);
}

static bool gives_way(struct shard *s, int polls)
{
    struct rival r = {
        .call.run = post_block, .task.run = block_callback, .timer.fire = see_lease, .shard = s, .enough = polls
    };

    shard_call(s, &r.call);
    while (!atomic_load(&r.held))
        sched_yield();
    for (int i = 0; i < polls; i++) {
        shard_poll(s);
        atomic_fetch_add(&r.polls, 1);
    }
    executor_wait(shard_executor(s), &r.done);
    return r.leased;
}

static void test_gives_way(void)
{
    struct shard *s = support_shard(0);

    CHECK(!gives_way(s, 1)); /* one poll is no polling */
    CHECK(!gives_way(s, 3));
    CHECK(gives_way(s, 4));
    shard_watch(s);
    CHECK(!gives_way(s, 0));
    shard_destroy(s);
}

/* Shards are destroyed while a thread is returning from a post. */
static void test_coming_and_going(void)
{
    for (int i = 0; i < 200; i++) {
        struct shard *s = support_shard(i % 2 ? 0 : 10000);

        support_on(s, nothing, NULL);
        if (i % 5 == 0)
            shard_poll(s);
        shard_destroy(s);
    }
}

static void test_config(void)
{
    struct shard_config config = { .cpu = 100000 };
    struct shard *s = NULL;

    CHECK(shard_create(executor_threads(), net_kernel(), &config, &s) != 0);
    CHECK(!s);
}

int main(void)
{
    struct shard *sleeper = support_shard(0), *spinner = support_shard(30000);

    test_order(sleeper);
    test_order(spinner);
    test_bell(sleeper);
    test_away(sleeper);
    test_away(spinner);
    test_callbacks(sleeper);
    test_callbacks(spinner);
    test_timers(sleeper);
    test_timers(spinner);
    test_nothing_lost(sleeper, spinner);
    shard_destroy(sleeper);
    shard_destroy(spinner);
    test_gives_way();
    test_coming_and_going();
    test_config();
    return 0;
}
