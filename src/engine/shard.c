/* SPDX-License-Identifier: MIT */
/*
 * The shard: who may drive it is base/owner.h's business, what driving it means is here.
 *
 *   thread's turn     acquire (waits) . sockets, work, timers . release . callbacks
 *   consumer's post   push . acquire or ring . work . release, or release to the thread
 *   its doorbell      try . work, the task itself . release, or release to the thread; else as a post
 *   lazy post         push, and no more while somebody polls
 *   consumer's poll   try . lease . sockets, work, timers . release, or release to the thread
 *
 * Every owner looks at its queue again when its release says that the doorbell was rung, so a task that was pushed
 * before the ring is never left behind. An owner that is not the shard's thread lets go "to the thread" when something
 * is left that the thread has to do: callbacks, more work than a consumer's call should carry, a timer earlier than
 * the one for which the thread went to sleep, ready sockets that no poller will come back for.
 */
#include "engine/shard.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"
#include "base/owner.h"
#include "engine/net.h"
#include "engine/shard_internal.h"

enum {
    WORK_BATCH = 64,    /* tasks in one go; what is left is the thread's where a consumer ran them */
    WORK_NS = 500000,   /* of work in a turn, before the sockets have theirs */
    LOOK_EVERY = 8,     /* tasks between two looks at the clock */
    ROUNDS = 4,         /* how often a consumer's call answers the doorbell before it leaves the rest to the thread */
    THREAD_ROUNDS = 16, /* the thread, before it delivers callbacks and comes back */
    CALL_BATCH = 64,    /* callbacks between two looks at the sockets */
    SOCKET_BATCH = 8,   /* then callbacks: what these sockets touched is still in the caches for them */
    LEASE_POLLS = 4,    /* one empty look before arming is no polling; so many are, in a row */
    LEASE_GAP = 200000, /* nanoseconds between two polls in a row, at most */
    TOKEN_SPINS = 200,
};

/* What `queued` of a task says: it is in a list; and its owner is to run it without waiting for a poller. */
enum { QUEUED = 1, URGENT = 2 };

static _Thread_local char this_thread;          /* its address tells threads apart */
static _Thread_local const struct shard *served; /* the shard whose own thread this is, while it runs */

/* ---- queues ---- */

static void push(struct task_stack *stack, struct task *task)
{
    struct task *newest = atomic_load_explicit(&stack->newest, memory_order_relaxed);

    do
        atomic_store_explicit(&task->next, newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stack->newest, &newest, task, memory_order_release,
                                                  memory_order_relaxed));
}

static bool is_empty(struct task_stack *stack)
{
    return !atomic_load_explicit(&stack->newest, memory_order_relaxed);
}

/* Moves what was pushed to the end of the list, in the order pushed. */
static void take_all(struct task_stack *stack, struct task_list *list)
{
    struct task *newest, *task, *oldest = NULL;

    if (is_empty(stack))
        return;
    newest = atomic_exchange_explicit(&stack->newest, NULL, memory_order_acquire);
    for (task = newest; task;) {
        struct task *older = atomic_load_explicit(&task->next, memory_order_relaxed);

        atomic_store_explicit(&task->next, oldest, memory_order_relaxed);
        oldest = task;
        task = older;
    }
    if (list->first)
        atomic_store_explicit(&list->last->next, oldest, memory_order_relaxed);
    else
        list->first = oldest;
    list->last = newest;
}

/* Runs the oldest; false where there is none. */
static bool run_first(struct task_list *list)
{
    struct task *task = list->first;

    if (!task)
        return false;
    list->first = atomic_load_explicit(&task->next, memory_order_relaxed);
    /* An exchange, not a store: what the last poster wrote before its own exchange is seen by run. */
    (void)atomic_exchange_explicit(&task->queued, 0, memory_order_acq_rel);
    task->run(task);
    return true;
}

/* ---- the owner ---- */

bool shard_is_owner(const struct shard *s)
{
    return atomic_load_explicit(&s->driver, memory_order_relaxed) == &this_thread;
}

static void take_over(struct shard *s)
{
    atomic_store_explicit(&s->driver, &this_thread, memory_order_relaxed);
    s->now = 0;
}

/* A new turn, of the thread or of a consumer. */
static void begin_turn(struct shard *s)
{
    take_over(s);
    s->work_until = 0;
    s->worked_long = false;
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
 * Has the turn's work taken its time? Connections that always have something to send post themselves again and again.
 * Each look reads the clock, so only what runs for long asks; the first look starts the measurement.
 */
static bool has_worked_long(struct shard *s)
{
    uint64_t now = shard_clock(s);

    if (!s->work_until)
        s->work_until = now + WORK_NS;
    s->worked_long = s->worked_long || (now >= s->work_until && !MUTANT(shard_works_on));
    return s->worked_long;
}

static bool run_work(struct shard *s)
{
    int ran = 0;

    if (atomic_load_explicit(&s->watch_wanted, memory_order_relaxed) &&
        atomic_exchange_explicit(&s->watch_wanted, false, memory_order_acquire)) {
        s->polls = 0;
        s->watched = true;
        s->net->ops->watch(s->net, s->poller);
        (void)owner_lease_end(&s->owner);
    }
    take_all(&s->posted, &s->work);
    while (ran < WORK_BATCH && run_first(&s->work))
        if (++ran % LOOK_EVERY == 0 && has_worked_long(s))
            break;
    return ran > 0;
}

/*
 * Timers are due by the time before the sockets were looked at: of two things that have come to pass, an answer and the
 * end of the time for it, the answer counts, however long the thread stood still before it saw them. What is timed from
 * this turn on is timed from when it is read next.
 */
static bool run_everything(struct shard *s)
{
    uint64_t before = timer_first_deadline(s) == UINT64_MAX || MUTANT(shard_time_read_late) ? 0 : shard_now(s);
    int sockets;
    bool worked;

    if (!MUTANT(shard_time_kept))
        s->now = 0;
    sockets = s->net->ops->poll(s->net, s->poller, s->config.batch, owner_is_leased(&s->owner), &s->sockets_left);
    worked = run_work(s);
    return timer_fire_due(s, MUTANT(shard_time_read_late) ? shard_now(s) : before) || worked || sockets > 0;
}

/* Ready sockets that no poller will come back for. */
static bool sockets_wait(struct shard *s)
{
    return s->sockets_left && !owner_is_leased(&s->owner);
}

/* What a consumer's thread leaves behind that is the thread's to do. */
static bool thread_is_needed(struct shard *s)
{
    return s->calls_due || s->work.first || sockets_wait(s) || timer_first_deadline(s) < s->thread_deadline;
}

static uint64_t owner_next_deadline(struct shard *s)
{
    if (s->work.first || sockets_wait(s))
        return 0;
    return timer_first_deadline(s);
}

static bool thread_lets_go(struct shard *s, bool last_round)
{
    s->thread_deadline = owner_next_deadline(s);
    s->sleep_until = s->thread_deadline;
    s->calls_due = false; /* it delivers after this, whoever queued them */
    atomic_store_explicit(&s->driver, NULL, memory_order_relaxed);
    if (last_round) {
        owner_release_to_thread(&s->owner); /* to itself: it will not sleep over what the doorbell meant */
        return true;
    }
    if (owner_release(&s->owner))
        return true;
    take_over(s);
    return false;
}

/* A consumer's call lets go. False: rung, still the owner, look again. */
static bool let_go(struct shard *s, bool last_round)
{
    bool to_thread = last_round || thread_is_needed(s);

    if (served == s)
        return thread_lets_go(s, last_round); /* from a callback: what is left the thread sees when that returns */
    atomic_store_explicit(&s->driver, NULL, memory_order_relaxed);
    if (to_thread) {
        s->calls_due = false;
        s->thread_deadline = 0; /* it looks at everything now: no need to tell it again before it has */
        owner_release_to_thread(&s->owner);
        return true;
    }
    if (owner_release(&s->owner))
        return true;
    take_over(s);
    return false;
}

static void visit(struct shard *s)
{
    atomic_fetch_add_explicit(&s->visitors, 1, memory_order_relaxed);
}

static void leave(struct shard *s)
{
    atomic_fetch_sub_explicit(&s->visitors, 1, memory_order_release);
}

/* The owner, which has done one round. */
static void finish_driving(struct shard *s)
{
    for (int rounds = 1; !let_go(s, rounds >= ROUNDS || s->worked_long); rounds++)
        (void)run_work(s);
}

/* Something was published: drives it here, or has the present owner do it. */
static void drive_or_ring(struct shard *s)
{
    if (!owner_acquire_or_ring(&s->owner))
        return;
    begin_turn(s);
    (void)run_work(s);
    finish_driving(s);
}

void shard_post(struct shard *s, struct task *task)
{
    visit(s);
    push(&s->posted, task);
    drive_or_ring(s);
    leave(s);
}

/* 0: it is in the list from now on. */
static unsigned queue_once(struct shard *s, struct task *task, unsigned how)
{
    unsigned before = atomic_fetch_or_explicit(&task->queued, how, memory_order_acq_rel);

    if (!before)
        push(&s->posted, task);
    return before;
}

/* In this thread, without the list: what is in there comes first. */
static bool run_directly(struct shard *s, struct task *task)
{
    if (atomic_load_explicit(&task->queued, memory_order_relaxed) || !owner_try_acquire(&s->owner))
        return false;
    begin_turn(s);
    (void)run_work(s);
    if (s->work.first && !MUTANT(shard_doorbell_overtakes))
        (void)queue_once(s, task, QUEUED | URGENT); /* the thread is needed anyway */
    else
        task->run(task);
    finish_driving(s);
    return true;
}

void shard_post_once(struct shard *s, struct task *task)
{
    unsigned before;

    if (run_directly(s, task))
        return;
    before = queue_once(s, task, QUEUED | URGENT);
    if (!(before & URGENT) && (!before || !MUTANT(shard_urgent_waits)))
        drive_or_ring(s);
}

void shard_post_away(struct shard *s, struct task *task)
{
    bool urgent, driven = MUTANT(shard_away_stays);

    visit(s);
    urgent = queue_once(s, task, QUEUED | URGENT) & URGENT;
    if (!urgent && driven) {
        drive_or_ring(s);
    } else if (!urgent && owner_acquire_or_ring(&s->owner)) {
        s->thread_deadline = 0; /* it looks at everything now */
        owner_release_to_thread(&s->owner);
    }
    leave(s);
}

/*
 * Of this and a shard_post_once that finds the task queued but not urgent, both touch the owner word after their mark
 * in `queued`: if this is first, the other drives what was pushed here; if not, this one sees URGENT, or the task has
 * run since.
 */
bool shard_post_lazily(struct shard *s, struct task *task)
{
    bool waits;

    if (queue_once(s, task, QUEUED))
        return true;
    waits = (owner_leave_to_poller(&s->owner) || MUTANT(shard_waits_for_nobody)) &&
            !(atomic_load_explicit(&task->queued, memory_order_relaxed) & URGENT);
    if (!waits)
        drive_or_ring(s);
    return waits;
}

void shard_call(struct shard *s, struct task *task)
{
    if (MUTANT(obj_16_called_inside)) {
        task->run(task);
        return;
    }
    visit(s);
    push(&s->called, task);
    if (shard_is_owner(s))
        s->calls_due = true; /* the thread is told once, when the owner lets go */
    else
        (void)owner_wake(&s->owner);
    leave(s);
}

void shard_kick(struct shard *s)
{
    visit(s);
    (void)owner_wake(&s->owner);
    leave(s);
}

void shard_sockets_left(struct shard *s)
{
    assert(shard_is_owner(s));
    s->sockets_left = true;
}

static void lease(struct shard *s)
{
    uint64_t now, before = s->polled;

    if (served == s)
        return; /* the thread itself, from a callback: it goes back to watching anyway */
    now = s->polled = shard_now(s);
    if (now - before > LEASE_GAP)
        s->polls = 0;
    if (owner_is_leased(&s->owner))
        owner_lease_renew(&s->owner, now);
    else if (++s->polls >= LEASE_POLLS)
        (void)owner_lease_begin(&s->owner, now);
}

void shard_keep_lease(struct shard *s)
{
    assert(shard_is_owner(s));
    if ((served != s || MUTANT(shard_lease_kept_by_thread)) && owner_is_leased(&s->owner) &&
        !MUTANT(shard_lease_ends_in_turn))
        owner_lease_renew(&s->owner, s->executor->ops->now(s->executor));
}

/* Not exact where several poll: it only has to tell who polls from who does not. */
static void count_missed(struct shard *s)
{
    uint32_t missed = atomic_load_explicit(&s->missed, memory_order_relaxed);

    atomic_store_explicit(&s->missed, missed + 1, memory_order_relaxed);
}

/*
 * A thread that always has something to do leaves a poller no chance to take the token. So it gives the shard to who
 * has asked for it: two that drive one shard would only wait for each other, the more so on one processor. One that is
 * going to sleep has time for everybody, and who arms is no poller.
 */
static void lease_to_poller(struct shard *s)
{
    if (atomic_load_explicit(&s->missed, memory_order_relaxed) >= LEASE_POLLS && !s->watched &&
        !MUTANT(shard_keeps_the_token))
        (void)owner_lease_begin(&s->owner, shard_now(s));
    atomic_store_explicit(&s->missed, 0, memory_order_relaxed);
    s->watched = false;
}

void shard_poll(struct shard *s)
{
    if (shard_is_owner(s))
        return; /* from a task: it is being driven */
    if (owner_try_acquire(&s->owner)) {
        begin_turn(s);
        lease(s);
        (void)run_everything(s);
        finish_driving(s);
    } else if (served != s && owner_is_leased(&s->owner)) {
        owner_lease_renew(&s->owner, s->executor->ops->now(s->executor));
    } else if (served != s) {
        count_missed(s);
    }
}

void shard_watch(struct shard *s)
{
    visit(s);
    atomic_store_explicit(&s->watch_wanted, true, memory_order_release);
    drive_or_ring(s);
    leave(s);
}

/* ---- the shard's thread, or what a simulation has in its place ---- */

/* Outside any callback of this shard; consumers may do what they like in there. */
static bool deliver(struct shard *s)
{
    int ran = 0;

    if (s->delivering)
        return false;
    s->delivering = true;
    for (; ran < CALL_BATCH; ran++) {
        if (!s->calls.first)
            take_all(&s->called, &s->calls); /* also what a callback's own calls have led to */
        if (!run_first(&s->calls))
            break;
    }
    s->delivering = false;
    return ran > 0;
}

unsigned shard_turn(struct shard *s)
{
    const struct shard *outer = served;
    unsigned did;
    int rounds = 0;
    bool busy;

    served = s;
    owner_thread_acquire(&s->owner);
    begin_turn(s);
    (void)owner_lease_take_back(&s->owner);
    lease_to_poller(s);
    busy = run_everything(s);
    while (!thread_lets_go(s, ++rounds >= THREAD_ROUNDS || s->worked_long || (rounds % 2 == 0 && has_worked_long(s))))
        busy = run_work(s) || busy;
    did = (busy ? SHARD_WORKED : 0) | (deliver(s) ? SHARD_CALLED : 0);
    if (s->calls.first || !is_empty(&s->called))
        s->sleep_until = 0;
    served = outer;
    return did;
}

uint64_t shard_next_deadline(struct shard *s)
{
    if (s->calls.first || !is_empty(&s->called) || !is_empty(&s->posted))
        return 0;
    return owner_next_deadline(s);
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
            atomic_store_explicit(&s->missed, 0, memory_order_relaxed);
        break;
    case OWNER_SLEEP_RUNG:
        break;
    case OWNER_SLEEP_IN_LEASE:
        (void)owner_lease_wait(&s->owner, s->sleep_until); /* whatever ended it, the turn that follows looks */
        break;
    }
}

bool shard_is_leased(struct shard *s)
{
    return owner_is_leased(&s->owner);
}

/* ---- life ---- */

static void wake_thread(void *shard)
{
    struct shard *s = shard;

    s->executor->ops->wake(s->executor, s);
}

static uint64_t executor_clock(void *shard)
{
    struct shard *s = shard;

    return s->executor->ops->now(s->executor);
}

static const struct owner_ops shard_owner_ops = {
    .wake = wake_thread,
    .futex_wait = owner_futex_wait,
    .futex_wake = owner_futex_wake,
    .now = executor_clock,
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
        s->config.batch = MUTANT(shard_sockets_first) ? 4 * SOCKET_BATCH : SOCKET_BATCH;
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
    /* A consumer's call may still be on its way out of here: its task has run, but it has yet to return. */
    while (atomic_load_explicit(&s->visitors, memory_order_acquire))
        sched_yield();
    assert(!s->work.first && !s->calls.first && is_empty(&s->posted) && is_empty(&s->called));
    assert(timer_first_deadline(s) == UINT64_MAX);
    s->net->ops->poller_destroy(s->net, s->poller);
    free(s);
}

struct executor *shard_executor(const struct shard *s)
{
    return s->executor;
}

const struct shard_config *shard_config_of(const struct shard *s)
{
    return &s->config;
}

void *shard_net_state(const struct shard *s)
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
