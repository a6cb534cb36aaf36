/* SPDX-License-Identifier: MIT */
/*
 * Drives a shard. base/owner.h decides which thread may drive it. The table below has the steps of the functions;
 * "acquire" and "release" refer to the shard's token. "Acquire or ring" rings the doorbell and returns if another
 * thread has the token. "Release to the thread" passes the token to the shard's thread.
 *
 *   shard_turn        acquire (waits) -> sockets, work, timers -> release -> callbacks
 *   shard_post        push -> acquire or ring -> work -> release, or release to the thread
 *   shard_post_once   try to acquire -> work, the task -> release, or release to the thread
 *                     if the token is not free, as shard_post
 *   shard_post_lazy   push -> if no consumer has the polling lease, the other steps of shard_post
 *   shard_poll        try to acquire -> lease -> sockets, work, timers -> release, or release to the thread
 *
 * The invariant: no queued task stays unprocessed. An owner runs the queue again if its release reports that the
 * doorbell was rung. An owner that is not the shard's thread releases to that thread if something is left to do:
 * callbacks, more work than a consumer's call should do, a timer that is due before the thread's sleep ends, or sockets
 * that are ready while no consumer has the polling lease.
 */
#include "engine/shard.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "engine/net.h"
#include "engine/shard_internal.h"

enum {
    MAX_TASKS = 64,       /* tasks in one round of work */
    MAX_WORK_NS = 500000, /* time limit for the work of one turn, after which the sockets are served again */
    TASKS_PER_CLOCK_READ = 8,
    MAX_ROUNDS = 4,           /* rounds of work in a consumer's call; the shard's thread does the remaining work */
    MAX_THREAD_ROUNDS = 16,   /* rounds of work in the thread's turn, before it delivers callbacks */
    MAX_CALLS = 64,           /* callbacks between two turns */
    DEFAULT_SOCKET_BATCH = 8, /* small, so that the sockets' data is still cached when the callbacks run */
    /*
     * A lease begins after this many polls in a row. One poll is too few, because a consumer polls once before each
     * NdkArmCq.
     */
    MIN_LEASE_POLLS = 4,
    MAX_POLL_GAP_NS = 200000, /* after a longer gap between two polls, the count of polls in a row restarts */
    TOKEN_SPINS = 200,
};

/* The bits of a task's `queued`. */
enum {
    QUEUED = 1, /* the task is in a list */
    URGENT = 2, /* the shard's owner runs the task without waiting for a poll */
};

static _Thread_local char thread_identity;              /* its address identifies the thread */
static _Thread_local const struct shard *current_shard; /* the shard whose turn this thread runs */

/* ---- the owner ---- */

bool shard_is_owner(const struct shard *s)
{
    return atomic_load_explicit(&s->driving_thread, memory_order_relaxed) == &thread_identity;
}

static void shard_set_owner(struct shard *s)
{
    atomic_store_explicit(&s->driving_thread, &thread_identity, memory_order_relaxed);
    s->now = 0;
}

static void shard_begin_turn(struct shard *s)
{
    shard_set_owner(s);
    s->work_deadline = 0;
    s->work_time_is_over = false;
}

uint64_t shard_now(struct shard *s)
{
    if (!shard_is_owner(s))
        return s->executor->ops->now(s->executor);
    if (!s->now)
        s->now = s->executor->ops->now(s->executor);
    return s->now;
}

uint64_t shard_clock(struct shard *s)
{
    return s->executor->ops->now(s->executor);
}

/*
 * Returns true if the time for this turn's work is over. A limit is necessary, because some connections always have
 * data to send and post their tasks again and again. The time begins with the first call in a turn. Each call reads the
 * clock, so this function is called only after several tasks or rounds.
 */
static bool shard_check_work_time(struct shard *s)
{
    uint64_t now = shard_clock(s);

    if (!s->work_deadline)
        s->work_deadline = now + MAX_WORK_NS;
    s->work_time_is_over = s->work_time_is_over || now >= s->work_deadline;
    return s->work_time_is_over;
}

static bool shard_run_work(struct shard *s)
{
    int ran = 0;

    if (atomic_load_explicit(&s->end_lease_requested, memory_order_relaxed) &&
        atomic_exchange_explicit(&s->end_lease_requested, false, memory_order_acquire)) {
        s->polls_in_row = 0;
        s->was_watched = true;
        s->net->ops->watch(s->net, s->poller);
        (void)owner_lease_end(&s->owner);
    }
    task_list_append_stack(&s->posted, &s->work);
    while (ran < MAX_TASKS && task_list_run_first(&s->work))
        if (++ran % TASKS_PER_CLOCK_READ == 0 && shard_check_work_time(s))
            break;
    return ran > 0;
}

/*
 * Serves sockets and work, then fires the timers that are due. Discards the time that was read before the poll, so that
 * timers which are set in this turn start at the present time.
 */
static bool shard_run_all(struct shard *s)
{
    bool worked, fired;
    int sockets;

    s->now = 0;
    sockets = s->net->ops->poll(s->net, s->poller, s->config.batch, owner_is_leased(&s->owner), &s->sockets_ready);
    worked = shard_run_work(s);
    fired = timer_first_deadline(s) != UINT64_MAX && timer_fire_due(s, shard_now(s));
    return fired || worked || sockets > 0;
}

/*
 * Returns true if sockets are ready and no consumer has the polling lease. A consumer with the lease serves the sockets
 * by its polls.
 */
static bool shard_has_unpolled_sockets(struct shard *s)
{
    return s->sockets_ready && !owner_is_leased(&s->owner);
}

/* Returns true if the shard's thread must run a turn next. Called before a consumer's thread releases the token. */
static bool shard_needs_thread(struct shard *s)
{
    return s->has_calls || s->work.first || shard_has_unpolled_sockets(s) ||
           timer_first_deadline(s) < s->thread_deadline;
}

static uint64_t shard_owner_deadline(struct shard *s)
{
    if (s->work.first || shard_has_unpolled_sockets(s))
        return 0;
    return timer_first_deadline(s);
}

/* Works like shard_release, but runs in the shard's own thread. */
static bool shard_release_in_thread(struct shard *s, bool last_round)
{
    s->thread_deadline = shard_owner_deadline(s);
    s->sleep_until = s->thread_deadline;
    s->has_calls = false; /* after this turn the thread delivers callbacks anyway */
    atomic_store_explicit(&s->driving_thread, NULL, memory_order_relaxed);
    if (last_round) {
        owner_release_to_thread(&s->owner); /* this thread runs another turn before it sleeps */
        return true;
    }
    if (owner_release(&s->owner))
        return true;
    shard_set_owner(s);
    return false;
}

/*
 * Releases the token and returns true. If the doorbell was rung, returns false instead, and the caller is still the
 * owner. If `last_round` is set, always releases the token, and the shard's thread runs another turn.
 */
static bool shard_release(struct shard *s, bool last_round)
{
    if (current_shard == s) /* called from a callback; this thread does the remaining work after it */
        return shard_release_in_thread(s, last_round);
    atomic_store_explicit(&s->driving_thread, NULL, memory_order_relaxed);
    if (last_round || shard_needs_thread(s)) {
        s->has_calls = false;
        s->thread_deadline = 0; /* the thread runs a turn next, so no owner needs to wake it for a timer */
        owner_release_to_thread(&s->owner);
        return true;
    }
    if (owner_release(&s->owner))
        return true;
    shard_set_owner(s);
    return false;
}

/* Counts a thread that enters the shard. shard_destroy waits until each of these threads has called shard_exit. */
static void shard_enter(struct shard *s)
{
    atomic_fetch_add_explicit(&s->n_callers, 1, memory_order_relaxed);
}

static void shard_exit(struct shard *s)
{
    atomic_fetch_sub_explicit(&s->n_callers, 1, memory_order_release);
}

/* Runs further rounds of work while the doorbell is rung. The caller is the owner and has done one round. */
static void shard_finish_driving(struct shard *s)
{
    for (int rounds = 1; !shard_release(s, rounds >= MAX_ROUNDS || s->work_time_is_over); rounds++)
        (void)shard_run_work(s);
}

/*
 * If the token is free, drives the shard here. Otherwise rings the doorbell, and the present owner runs the new work.
 */
static void shard_drive_or_ring(struct shard *s)
{
    if (!owner_acquire_or_ring(&s->owner))
        return;
    shard_begin_turn(s);
    (void)shard_run_work(s);
    shard_finish_driving(s);
}

void shard_post(struct shard *s, struct task *task)
{
    shard_enter(s);
    task_stack_push(&s->posted, task);
    shard_drive_or_ring(s);
    shard_exit(s);
}

/*
 * Sets the bits of `how` in task->queued, and queues the task if it was not queued. Returns the bits that were set
 * before.
 */
static unsigned shard_queue_once(struct shard *s, struct task *task, unsigned how)
{
    unsigned before = atomic_fetch_or_explicit(&task->queued, how, memory_order_acq_rel);

    if (!before)
        task_stack_push(&s->posted, task);
    return before;
}

/*
 * Implements shard_post_once of shard.h. If the token is free and the task is not queued, this thread runs one round of
 * the queued work, and then the task if no work remains. In all other cases the task is queued.
 */
void shard_post_once(struct shard *s, struct task *task)
{
    unsigned before;

    if (atomic_load_explicit(&task->queued, memory_order_relaxed) || !owner_try_acquire(&s->owner)) {
        before = shard_queue_once(s, task, QUEUED | URGENT);
        if (!(before & URGENT))
            shard_drive_or_ring(s);
        return;
    }
    shard_begin_turn(s);
    (void)shard_run_work(s);
    if (s->work.first)
        (void)shard_queue_once(s, task, QUEUED | URGENT);
    else
        task->run(task);
    shard_finish_driving(s);
}

/*
 * Posts a task that may wait for a poll (see shard.h). If another thread calls shard_post_once for the task at the same
 * time, the task must not wait for a poll. But if the task is already queued, shard_post_once does not queue the task
 * again: it sets URGENT, and then drives the shard or rings the doorbell. Each of the two functions first sets its bit
 * in task->queued, then accesses the owner word. If shard_post_lazy accesses the word first, shard_post_once makes the
 * owner run the task. If shard_post_once accesses the word first, shard_post_lazy reads URGENT, or the task has already
 * run.
 */
bool shard_post_lazy(struct shard *s, struct task *task)
{
    bool waits;

    if (shard_queue_once(s, task, QUEUED))
        return true;
    waits = owner_publish_lazy(&s->owner) && !(atomic_load_explicit(&task->queued, memory_order_relaxed) & URGENT);
    if (!waits)
        shard_drive_or_ring(s);
    return waits;
}

void shard_enqueue(struct shard *s, struct task *task)
{
    bool urgent;

    shard_enter(s);
    urgent = shard_queue_once(s, task, QUEUED | URGENT) & URGENT;
    if (!urgent && owner_acquire_or_ring(&s->owner)) {
        s->thread_deadline = 0; /* the thread runs a turn next */
        owner_release_to_thread(&s->owner);
    }
    shard_exit(s);
}

void shard_call(struct shard *s, struct task *task)
{
    shard_enter(s);
    task_stack_push(&s->called, task);
    if (shard_is_owner(s))
        s->has_calls = true; /* when the token is released, the thread wakes once for all queued callbacks */
    else
        (void)owner_wake(&s->owner);
    shard_exit(s);
}

void shard_wake(struct shard *s)
{
    shard_enter(s);
    (void)owner_wake(&s->owner);
    shard_exit(s);
}

void shard_set_sockets_ready(struct shard *s)
{
    assert(shard_is_owner(s));
    s->sockets_ready = true;
}

static void shard_begin_or_renew_lease(struct shard *s)
{
    uint64_t now, before = s->last_poll;

    if (current_shard == s)
        return; /* called from a callback; the thread waits for the sockets afterwards */
    now = s->last_poll = shard_now(s);
    if (now - before > MAX_POLL_GAP_NS)
        s->polls_in_row = 0;
    if (owner_is_leased(&s->owner))
        owner_lease_renew(&s->owner, now);
    else if (++s->polls_in_row >= MIN_LEASE_POLLS)
        (void)owner_lease_begin(&s->owner, now);
}

void shard_renew_lease(struct shard *s)
{
    assert(shard_is_owner(s));
    if (current_shard != s && owner_is_leased(&s->owner))
        owner_lease_renew(&s->owner, s->executor->ops->now(s->executor));
}

/*
 * Begins a lease for a consumer whose polls did not get the token because the shard's thread is always busy. Without a
 * lease the consumer's thread and the shard's thread would only wait for each other, especially on one processor.
 * shard_sleep resets the count of missed polls, because a sleeping thread leaves the token free. No lease begins if
 * shard_watch was called since the thread's last turn: NdkArmCq calls it, and a consumer that arms a CQ stops polling.
 */
static void shard_lease_to_poller(struct shard *s)
{
    if (atomic_load_explicit(&s->missed_polls, memory_order_relaxed) >= MIN_LEASE_POLLS && !s->was_watched)
        (void)owner_lease_begin(&s->owner, shard_now(s));
    atomic_store_explicit(&s->missed_polls, 0, memory_order_relaxed);
    s->was_watched = false;
}

void shard_poll(struct shard *s)
{
    if (shard_is_owner(s))
        return; /* called from a task */
    if (owner_try_acquire(&s->owner)) {
        shard_begin_turn(s);
        shard_begin_or_renew_lease(s);
        (void)shard_run_all(s);
        shard_finish_driving(s);
    } else if (current_shard != s && owner_is_leased(&s->owner)) {
        owner_lease_renew(&s->owner, s->executor->ops->now(s->executor));
    } else if (current_shard != s) {
        atomic_fetch_add_explicit(&s->missed_polls, 1, memory_order_relaxed);
    }
}

void shard_watch(struct shard *s)
{
    shard_enter(s);
    atomic_store_explicit(&s->end_lease_requested, true, memory_order_release);
    shard_drive_or_ring(s);
    shard_exit(s);
}

/* ---- the shard's thread, or a simulation's ---- */

/*
 * Runs queued callbacks. The calling thread must not hold the token. Does nothing inside a callback of this shard.
 * Returns true if any callback ran.
 */
static bool shard_deliver_calls(struct shard *s)
{
    int ran = 0;

    if (s->delivering)
        return false;
    s->delivering = true;
    for (; ran < MAX_CALLS; ran++) {
        if (!s->calls.first)
            task_list_append_stack(&s->called, &s->calls); /* includes callbacks that callbacks have queued */
        if (!task_list_run_first(&s->calls))
            break;
    }
    s->delivering = false;
    return ran > 0;
}

/*
 * Returns true if the thread's turn must end after this many rounds of work. Reads the clock only in every second
 * round.
 */
static bool shard_turn_is_over(struct shard *s, int rounds)
{
    return rounds >= MAX_THREAD_ROUNDS || s->work_time_is_over || (rounds % 2 == 0 && shard_check_work_time(s));
}

unsigned shard_turn(struct shard *s)
{
    const struct shard *outer = current_shard;
    unsigned did;
    int rounds = 0;
    bool busy;

    current_shard = s;
    owner_thread_acquire(&s->owner);
    shard_begin_turn(s);
    (void)owner_lease_end_expired(&s->owner);
    shard_lease_to_poller(s);
    busy = shard_run_all(s);
    while (!shard_release_in_thread(s, shard_turn_is_over(s, ++rounds)))
        busy = shard_run_work(s) || busy;
    did = (busy ? SHARD_WORKED : 0) | (shard_deliver_calls(s) ? SHARD_CALLED : 0);
    if (s->calls.first || !task_stack_is_empty(&s->called))
        s->sleep_until = 0;
    current_shard = outer;
    return did;
}

uint64_t shard_next_deadline(struct shard *s)
{
    if (s->calls.first || !task_stack_is_empty(&s->called) || !task_stack_is_empty(&s->posted))
        return 0;
    return shard_owner_deadline(s);
}

void shard_sleep(struct shard *s)
{
    uint64_t now;

    if (!s->sleep_until)
        return;
    switch (owner_sleep_begin(&s->owner)) {
    case OWNER_SLEEP_GO:
        now = s->executor->ops->now(s->executor);
        s->net->ops->wait(s->net, s->poller, now, s->sleep_until);
        (void)owner_sleep_end(&s->owner);
        if (now < s->sleep_until)
            atomic_store_explicit(&s->missed_polls, 0, memory_order_relaxed);
        break;
    case OWNER_SLEEP_WOKEN:
        break;
    case OWNER_SLEEP_IN_LEASE:
        (void)owner_lease_wait(&s->owner, s->sleep_until); /* the next turn handles the event that ended the wait */
        break;
    }
}

bool shard_is_leased(struct shard *s)
{
    return owner_is_leased(&s->owner);
}

/* ---- life ---- */

static void shard_wake_thread(void *shard)
{
    struct shard *s = shard;

    s->executor->ops->wake(s->executor, s);
}

static uint64_t shard_executor_clock(void *shard)
{
    struct shard *s = shard;

    return s->executor->ops->now(s->executor);
}

static const struct owner_ops shard_owner_ops = {
    .wake = shard_wake_thread,
    .futex_wait = owner_futex_wait,
    .futex_wake = owner_futex_wake,
    .now = shard_executor_clock,
};

int shard_create(struct executor *e, struct net *net, const struct shard_config *config, struct shard **out)
{
    size_t align = _Alignof(struct shard);
    struct shard *s = aligned_alloc(align, (sizeof *s + align - 1) / align * align);
    int err;

    if (!s)
        return ENOMEM;
    memset(s, 0, sizeof *s);
    owner_init(&s->owner, &shard_owner_ops, s, TOKEN_SPINS);
    timers_init(s);
    s->executor = e;
    s->net = net;
    s->config = *config;
    if (!s->config.batch)
        s->config.batch = DEFAULT_SOCKET_BATCH;
    err = net->ops->poller_create(net, s, &s->poller);
    if (err) {
        free(s);
        return err;
    }
    err = e->ops->start(e, s);
    if (err) {
        net->ops->poller_destroy(net, s->poller);
        free(s);
        return err;
    }
    *out = s;
    return 0;
}

void shard_destroy(struct shard *s)
{
    s->executor->ops->stop(s->executor, s);
    /* A consumer's call may still be running, although its task has run. */
    while (atomic_load_explicit(&s->n_callers, memory_order_acquire))
        sched_yield();
    assert(!s->work.first && !s->calls.first && task_stack_is_empty(&s->posted) && task_stack_is_empty(&s->called));
    assert(timer_first_deadline(s) == UINT64_MAX);
    s->net->ops->poller_destroy(s->net, s->poller);
    free(s);
}

struct executor *shard_executor(const struct shard *s)
{
    return s->executor;
}

const struct shard_config *shard_get_config(const struct shard *s)
{
    return &s->config;
}

void *shard_poller(const struct shard *s)
{
    return s->poller;
}

struct net *shard_net(const struct shard *s)
{
    return s->net;
}

void **shard_executor_slot(struct shard *s)
{
    return &s->executor_slot;
}
