/* SPDX-License-Identifier: MIT */
/*
 * Posts that may wait for a poller, and the events that end their waiting; turns that take long; callbacks between
 * batches of sockets. The shard has no thread and a clock that the test advances, so that only the test drives it.
 */
#include "engine/support.h"

enum { LEASE_AND_MORE = 1000000 };

static uint64_t now = 1;

static uint64_t by_hand(struct executor *e)
{
    (void)e;
    return now;
}

static int no_thread(struct executor *e, struct shard *s)
{
    (void)e;
    (void)s;
    return 0;
}

static void nothing(struct executor *e, struct shard *s)
{
    (void)e;
    (void)s;
}

static const struct executor_ops by_hand_ops = { .now = by_hand, .start = no_thread, .stop = nothing, .wake = nothing };
static struct executor executor = { .ops = &by_hand_ops };

struct job {
    struct task task;
    int ran;
};

static void run(struct task *task)
{
    ((struct job *)task)->ran++;
}

static struct shard *open_shard(void)
{
    struct shard_config config = { .cpu = -1 };
    struct shard *s;

    CHECK(shard_create(&executor, net_kernel(), &config, &s) == 0);
    return s;
}

static void poll_until_leased(struct shard *s)
{
    while (!shard_is_leased(s))
        shard_poll(s);
}

/* Under a lease, a lazy post waits until `end` makes it run. */
static void waits_for(struct shard *s, void (*end)(struct shard *s, struct job *lazy))
{
    struct job lazy = { .task.run = run };

    poll_until_leased(s);
    CHECK(shard_post_lazy(s, &lazy.task));
    CHECK(shard_post_lazy(s, &lazy.task)); /* queued once */
    CHECK(lazy.ran == 0);
    end(s, &lazy);
    CHECK(lazy.ran == 1);
    shard_poll(s);
    CHECK(lazy.ran == 1);
}

static void by_a_poll(struct shard *s, struct job *lazy)
{
    (void)lazy;
    shard_poll(s);
}

static void by_the_same_that_is_urgent(struct shard *s, struct job *lazy)
{
    shard_post_once(s, &lazy->task);
}

static void by_other_work(struct shard *s, struct job *lazy)
{
    struct job other = { .task.run = run };

    (void)lazy;
    shard_post(s, &other.task);
    CHECK(other.ran == 1);
}

static void by_the_end_of_the_lease(struct shard *s, struct job *lazy)
{
    (void)lazy;
    shard_watch(s);
    CHECK(!shard_is_leased(s));
}

/* The poller does not return, so the thread ends the lease. */
static void by_the_thread(struct shard *s, struct job *lazy)
{
    CHECK(shard_turn(s) && lazy->ran == 1);
    CHECK(shard_is_leased(s)); /* a turn alone does not end it */
    CHECK(shard_post_lazy(s, &lazy->task));
    lazy->ran = 0;
    now += LEASE_AND_MORE;
    CHECK(shard_turn(s));
    CHECK(!shard_is_leased(s));
}

enum { MANY = 400 };

struct crowd {
    struct task task;
    struct shard *shard;
    struct numbered {
        struct task task;
        int number;
    } each[MANY], bell;
};

static int numbers;

static void count(struct task *task)
{
    ((struct numbered *)task)->number = ++numbers;
}

static void post_many(struct task *task)
{
    struct crowd *c = (struct crowd *)task;

    for (int i = 0; i < MANY; i++) {
        c->each[i].task.run = count;
        shard_post(c->shard, &c->each[i].task);
    }
}

/* More work than a consumer's call does: the thread does the rest, and a doorbell does not overtake it. */
static void keeps_order(struct shard *s)
{
    static struct crowd crowd = { .task.run = post_many, .bell.task.run = count };

    crowd.shard = s;
    shard_post(s, &crowd.task);
    CHECK(numbers > 0 && numbers < MANY / 2);
    shard_post_once(s, &crowd.bell.task);
    CHECK(numbers < MANY && crowd.bell.number == 0);
    while (shard_turn(s))
        ;
    CHECK(numbers == MANY + 1 && crowd.bell.number == MANY + 1);
    for (int i = 0; i < MANY; i++)
        CHECK(crowd.each[i].number == i + 1);
}

struct limit {
    struct task task;
    struct shard_timer timer;
    struct shard *shard;
    bool fired;
};

struct long_job {
    struct task task;
    struct shard *shard;
    bool keep;
};

static void run_long(struct task *task)
{
    struct long_job *j = (struct long_job *)task;

    now += LEASE_AND_MORE;
    if (j->keep)
        shard_renew_lease(j->shard);
}

/* A turn longer than a lease: its poller keeps the lease if the turn renews it. */
static void outlives_a_long_turn(struct shard *s, bool keep)
{
    struct long_job j = { .task.run = run_long, .shard = s, .keep = keep };

    poll_until_leased(s);
    CHECK(shard_post_lazy(s, &j.task));
    shard_poll(s);
    (void)shard_turn(s);
    CHECK(shard_is_leased(s) == keep);
}

/* The thread's own turn renews no lease. */
static void ends_while_the_thread_works(struct shard *s)
{
    struct long_job j = { .task.run = run_long, .shard = s, .keep = true };

    poll_until_leased(s);
    CHECK(shard_post_lazy(s, &j.task));
    (void)shard_turn(s);
    (void)shard_turn(s);
    CHECK(!shard_is_leased(s));
}

static void note_fired(struct shard_timer *timer)
{
    ((struct limit *)((char *)timer - offsetof(struct limit, timer)))->fired = true;
}

/* Sets a time limit after a pause that is longer than the limit. */
static void pass_time_and_set_limit(struct task *task)
{
    struct limit *l = (struct limit *)task;

    now += LEASE_AND_MORE;
    shard_timer_set(l->shard, &l->timer, shard_now(l->shard) + 2);
}

/* A time limit is not shortened by the time that the turn took before it was set. */
static void whole_limit(struct shard *s)
{
    struct limit l = { .task.run = pass_time_and_set_limit, .timer.fire = note_fired, .shard = s };

    poll_until_leased(s);
    CHECK(shard_post_lazy(s, &l.task));
    shard_poll(s); /* reads the clock before the task runs, to renew the lease */
    now++;
    (void)shard_turn(s);
    CHECK(!l.fired);
    now++;
    (void)shard_turn(s);
    CHECK(l.fired);
}

static void begins_no_lease(struct shard *s)
{
    struct long_job j = { .task.run = run_long, .shard = s, .keep = true };

    CHECK(!shard_is_leased(s));
    shard_post(s, &j.task);
    CHECK(!shard_is_leased(s));
}

/* Nobody polls, so the post does not wait. */
static void runs_at_once(struct shard *s)
{
    struct job lazy = { .task.run = run };

    CHECK(!shard_is_leased(s));
    CHECK(!shard_post_lazy(s, &lazy.task));
    CHECK(lazy.ran == 1);
}

/* ---- sockets that are all ready, and lead to a callback each ---- */

enum { READY = 40, HANDFUL = 8 };

struct ready {
    struct net net;
    struct shard *shard;
    struct job calls[READY];
    int served, called, most_waited;
};

static struct ready ready;

static void run_call(struct task *task)
{
    int waited = ready.served - ready.called;

    run(task);
    ready.called++;
    if (waited > ready.most_waited)
        ready.most_waited = waited;
}

static int create_nothing(struct net *net, struct shard *s, void **poller)
{
    (void)s;
    *poller = net;
    return 0;
}

static void destroy_nothing(struct net *net, void *poller)
{
    (void)net;
    (void)poller;
}

static int serve_ready(struct net *net, void *poller, unsigned max, bool leased, bool *left)
{
    unsigned served = 0;

    (void)net;
    (void)poller;
    (void)leased;
    for (; served < max && ready.served < READY; served++) {
        ready.calls[ready.served].task.run = run_call;
        shard_call(ready.shard, &ready.calls[ready.served++].task);
    }
    *left = ready.served < READY;
    return (int)served;
}

/* Callbacks run soon after the sockets that caused them, not after all ready sockets; and all of them run. */
static void callbacks_between_sockets(unsigned batch, int expected)
{
    static const struct net_ops ops = {
        .poller_create = create_nothing,
        .poller_destroy = destroy_nothing,
        .poll = serve_ready,
    };
    struct shard_config config = { .batch = batch, .cpu = -1 };

    ready = (struct ready){ .net.ops = &ops };
    CHECK(shard_create(&executor, &ready.net, &config, &ready.shard) == 0);
    for (int turns = 0; turns < READY && ready.called < READY; turns++) {
        CHECK(shard_turn(ready.shard));
        CHECK(ready.served == READY || shard_next_deadline(ready.shard) == 0); /* the thread does not sleep */
    }
    for (int i = 0; i < READY; i++)
        CHECK(ready.calls[i].ran == 1);
    CHECK(ready.most_waited == expected);
    shard_destroy(ready.shard);
}

int main(void)
{
    struct shard *s = open_shard();

    runs_at_once(s);
    waits_for(s, by_a_poll);
    waits_for(s, by_the_same_that_is_urgent);
    waits_for(s, by_other_work);
    waits_for(s, by_the_end_of_the_lease);
    waits_for(s, by_the_thread);
    runs_at_once(s);
    begins_no_lease(s);
    outlives_a_long_turn(s, true);
    outlives_a_long_turn(s, false);
    ends_while_the_thread_works(s);
    whole_limit(s);
    keeps_order(s);
    shard_destroy(s);
    callbacks_between_sockets(0, HANDFUL);
    callbacks_between_sockets(3, 3);
    return 0;
}
