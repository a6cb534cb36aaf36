/* SPDX-License-Identifier: MIT */
/*
 * The actors of the model, which use the owner word by the rules of owner.h, and the checks after each step and at the
 * end. The invariant: an actor's label has all its live locals.
 */
#include <string.h>

#include "model.h"

#define NOBODY_ELSE EXPLORE_ACTORS

const struct scenario *model_scenario;

static const struct actor_plan *plan_of(unsigned actor)
{
    return &model_scenario->plan[actor];
}

static bool has_work(unsigned actor)
{
    return plan_of(actor)->role == ROLE_PRODUCER || plan_of(actor)->role == ROLE_POSTER;
}

/* Labels the actor: here, a and b are all its live locals. */
static void model_label(unsigned place, uint64_t a, uint64_t b)
{
    model.place[explore_self()][0] = place;
    model.place[explore_self()][1] = a;
    model.place[explore_self()][2] = b;
    model_same_place(0);
}

/* ---- driving ---- */

static void drive_begin(void)
{
    if (model.driver != 0)
        explore_fail("two owners at a time");
    model.driver = explore_self() + 1;
    model_same_place(1);
}

static void drive_end(void)
{
    if (model.driver != explore_self() + 1)
        explore_fail("two owners at a time");
    model.driver = 0;
    model_same_place(2);
}

static void execute_one(unsigned producer)
{
    model.executed[producer]++;
    if (plan_of(producer)->work == WORK_CALLBACK)
        model.callbacks_due++, model.callbacks_made++;
    if (plan_of(producer)->work == WORK_TIMER && model.timer == 0) {
        model.timer = model.now + MODEL_TIMER;
        model.timers_made++;
    }
}

static void drive_queue(unsigned producer)
{
    uint64_t published = model_load(CELL_WORK + producer, "load the queue of");

    while (model.executed[producer] < published)
        execute_one(producer);
    model_same_place(3 + producer);
}

static void end_lease_if_requested(void)
{
    uint64_t requests = model_load(CELL_ARM, "load the requests to arm");

    if (requests == model.armed)
        return;
    model.armed = requests;
    if (!owner_is_leased(&model.o))
        return;
    model.watched = 1;
    owner_lease_end(&model.o);
}

/* Reads the socket and fires timers, in one step, because their order does not matter. */
static void drive_rest(void)
{
    explore_point("socket, timers", 0);
    model.received += model.readable;
    model.readable = 0;
    if (model.timer != 0 && model.now >= model.timer) {
        model.timer = 0;
        model.timers_fired++;
    }
}

static void drive(unsigned only)
{
    drive_begin();
    /* The lease ends first, because after that, lazy work is in the queues. */
    for (unsigned i = 0; i < EXPLORE_ACTORS && only == NOBODY_ELSE; i++)
        if (plan_of(i)->arms)
            end_lease_if_requested();
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
        if (has_work(i) && (only == NOBODY_ELSE || only == i))
            drive_queue(i);
    if (only == NOBODY_ELSE)
        drive_rest();
    drive_end();
}

static bool thread_is_needed(void)
{
    return model.callbacks_due > 0 || (model.timer != 0 && model.timer < model.sleep_until);
}

/* Releases the token as a consumer does: drives once more if the doorbell was rung, then releases to the thread. */
static void release_consumer(unsigned only)
{
    unsigned place = (unsigned)model.place[explore_self()][0];
    uint64_t i = model.place[explore_self()][1];

    for (unsigned rung = 0; rung < 2; rung++) {
        model_label(place + 10 * (rung + 1), i, 0);
        if (thread_is_needed() || (rung == 1 && only != NOBODY_ELSE))
            break;
        if (owner_release(&model.o))
            return;
        if (only == NOBODY_ELSE)
            drive(only);
    }
    owner_release_to_thread(&model.o);
}

/* ---- consumers ---- */

static void produce(unsigned me, unsigned only)
{
    for (unsigned i = 1; i <= plan_of(me)->count; i++) {
        model_label(1, i, 0);
        model_store(CELL_WORK + me, i, "publish work");
        if (plan_of(me)->lazy && owner_publish_lazy(&model.o))
            continue;
        if (owner_acquire_or_ring(&model.o)) {
            drive(only);
            release_consumer(only);
        }
    }
}

static void post_to_thread(unsigned me)
{
    for (unsigned i = 1; i <= plan_of(me)->count; i++) {
        model_label(2, i, 0);
        model_store(CELL_POSTED, i, "post to the thread");
        owner_wake(&model.o);
    }
}

static void poll_once(void)
{
    uint64_t now = model.now;

    if (!owner_try_acquire(&model.o)) {
        owner_lease_renew(&model.o, now);
        return;
    }
    if (owner_is_leased(&model.o)) {
        owner_lease_renew(&model.o, now);
    } else {
        model.watched = 0;
        owner_lease_begin(&model.o, now);
    }
    model.renewed = now;
    drive(NOBODY_ELSE);
    release_consumer(NOBODY_ELSE);
}

static void poll(unsigned me)
{
    for (unsigned i = 0; i < plan_of(me)->count; i++) {
        model_label(3, i, 0);
        explore_point("poll at", model.now);
        explore_saw("now", model.now);
        poll_once();
    }
    if (!plan_of(me)->arms)
        return;
    model_label(4, 0, 0);
    model_store(CELL_ARM, 1, "request to arm");
    if (owner_acquire_or_ring(&model.o)) {
        drive(NOBODY_ELSE);
        release_consumer(NOBODY_ELSE);
    }
}

static void send_messages(unsigned me)
{
    for (unsigned i = 0; i < plan_of(me)->count; i++) {
        model_label(5, i, 0);
        explore_point("a message arrives", i);
        model.readable++;
    }
}

/* ---- the thread ---- */

static void end_expired_lease(void)
{
    uint64_t renewed = model.renewed;

    if (!owner_lease_end_expired(&model.o))
        return;
    if (model.now - renewed < OWNER_LEASE_NS)
        explore_fail("a lease was ended that had been renewed in time");
    model.watched = 1;
}

/* With the token held. Also stores until when the thread will sleep. */
static void thread_drive(void)
{
    drive(NOBODY_ELSE);
    model.sleep_until = model.timer != 0 ? model.timer : OWNER_NEVER;
}

static void thread_turn(bool expired)
{
    uint64_t posted;

    owner_thread_acquire(&model.o);
    model_label(6, expired, 0);
    if (expired)
        end_expired_lease();
    do
        thread_drive();
    while (!owner_release(&model.o));
    model_label(7, 0, 0);
    posted = 0;
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
        if (plan_of(i)->role == ROLE_WAKER)
            posted = model_load(CELL_POSTED, "load what was posted");
    model.posted_done = posted;
    model.callbacks_done += model.callbacks_due;
    model.callbacks_due = 0;
}

static void run_thread(void)
{
    bool expired = false;

    for (;;) {
        uint64_t until;

        model_label(8, expired, 0);
        thread_turn(expired);
        expired = false;
        until = model.sleep_until;
        model_label(9, until, 0);
        switch (owner_sleep_begin(&model.o)) {
        case OWNER_SLEEP_GO:
            model_epoll_wait(until);
            owner_sleep_end(&model.o);
            break;
        case OWNER_SLEEP_WOKEN:
            break;
        case OWNER_SLEEP_IN_LEASE:
            expired = owner_lease_wait(&model.o, until) == OWNER_LEASE_EXPIRED;
            break;
        }
    }
}

void model_body(unsigned me)
{
    switch (plan_of(me)->role) {
    case ROLE_NONE:
        break;
    case ROLE_THREAD:
        run_thread();
        break;
    case ROLE_PRODUCER:
        produce(me, NOBODY_ELSE);
        break;
    case ROLE_POSTER:
        produce(me, me);
        break;
    case ROLE_WAKER:
        post_to_thread(me);
        break;
    case ROLE_POLLER:
        poll(me);
        break;
    case ROLE_NETWORK:
        send_messages(me);
        break;
    }
    model_label(10, 0, 0);
}

/* ---- checks ---- */

const char *model_check(void)
{
    uint32_t w = atomic_load(&model.o.word);
    uint32_t sleep = w & OWNER_SLEEP_MASK;

    if ((w & OWNER_DOORBELL) && !(w & OWNER_OWNED))
        return "a doorbell without an owner";
    if ((w & OWNER_WAKE) && (sleep == OWNER_SLEEP_WATCH || sleep == OWNER_SLEEP_LEASED))
        return "asleep while a wake is pending";
    if (sleep == OWNER_SLEEP_WATCH && (w & OWNER_LEASE))
        return "asleep in epoll while the sockets are leased";
    if (sleep == OWNER_SLEEP_LEASED && !(w & OWNER_LEASE))
        return "asleep on the futex without a lease";
    if (sleep == OWNER_SLEEP_TOKEN && !(w & OWNER_OWNED))
        return "asleep for a token that is free";
    if (model.sleeps && !model.signalled && !model.futex_woken && sleep == OWNER_SLEEP_AWAKE && model.owed == 0)
        return "the thread sleeps, the word says it is awake, and nobody is about to wake it";
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
        if (model.executed[i] > plan_of(i)->count)
            return "work executed twice";
    return NULL;
}

static const char *check_work_done(void)
{
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        if (has_work(i) && model.executed[i] != plan_of(i)->count)
            return "the end: work lost";
        if (plan_of(i)->role == ROLE_WAKER && model.posted_done != plan_of(i)->count)
            return "the end: a post to the thread lost";
        if (plan_of(i)->role == ROLE_NETWORK && model.received != plan_of(i)->count)
            return "the end: a message was left in the socket";
    }
    if (model.timer != 0 || model.timers_fired != model.timers_made)
        return "the end: a timer did not fire";
    if (model.callbacks_done != model.callbacks_made)
        return "the end: a callback was not made";
    return NULL;
}

/* No actor can move: all consumers must have ended, and the thread must sleep in epoll with nothing left to do. */
const char *model_check_end(void)
{
    const char *wrong = check_work_done();

    if (wrong != NULL)
        return wrong;
    if (model.owed != 0)
        return "the end: a wake-up call was never made";
    if (!model.watched)
        return "the end: nobody watches the sockets";
    if (atomic_load(&model.o.word) != OWNER_SLEEP_WATCH)
        return "the end: the thread does not sleep in epoll";
    return NULL;
}
