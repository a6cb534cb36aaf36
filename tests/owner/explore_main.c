/* SPDX-License-Identifier: MIT */
/*
 * Runs the explorer over the scenarios. Without arguments every one must hold, with --full also the long ones. With
 * --find-bug, at least one must fail, because owner.c then contains a seeded bug.
 */
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "model.h"

#define MAX_STATES (1u << 23)
/* clang-format off */
#define THREAD { .role = ROLE_THREAD }
#define PRODUCER(n, w) { .role = ROLE_PRODUCER, .count = (n), .work = (w) }
#define LAZY(n) { .role = ROLE_PRODUCER, .count = (n), .work = WORK_PLAIN, .lazy = true }
#define POSTER(n, w) { .role = ROLE_POSTER, .count = (n), .work = (w) }
#define WAKER(n) { .role = ROLE_WAKER, .count = (n) }
#define NETWORK(n) { .role = ROLE_NETWORK, .count = (n) }
#define POLLER(n, a) { .role = ROLE_POLLER, .count = (n), .arms = (a) }
/* clang-format on */

/* clang-format off */
static const struct scenario scenarios[] = {
    { .name = "one producer, two works",
      .plan = { THREAD, PRODUCER(2, WORK_PLAIN) }, .deferred = true, .spurious = 1 },
    { .name = "two producers",
      .plan = { THREAD, PRODUCER(2, WORK_PLAIN), PRODUCER(1, WORK_PLAIN) }, .deferred = true },
    { .name = "three producers",
      .plan = { THREAD, PRODUCER(1, WORK_PLAIN), PRODUCER(1, WORK_PLAIN), PRODUCER(1, WORK_PLAIN) } },
    { .name = "posters leave the rest to the thread",
      .plan = { THREAD, POSTER(1, WORK_PLAIN), POSTER(1, WORK_PLAIN) }, .deferred = true },
    { .name = "an owner makes an earlier timer",
      .plan = { THREAD, PRODUCER(1, WORK_TIMER), PRODUCER(1, WORK_PLAIN) } },
    { .name = "callbacks", .plan = { THREAD, PRODUCER(1, WORK_CALLBACK), POSTER(1, WORK_CALLBACK) } },
    { .name = "two wakers", .plan = { THREAD, WAKER(1), PRODUCER(1, WORK_CALLBACK) }, .deferred = true },
    { .name = "two wakes", .plan = { THREAD, WAKER(2) }, .deferred = true, .spurious = 1 },
    { .name = "the network", .plan = { THREAD, NETWORK(2), PRODUCER(1, WORK_PLAIN) } },
    { .name = "a lease runs out", .plan = { THREAD, POLLER(2, false), NETWORK(1) }, .spurious = 1 },
    { .name = "a lease ends", .plan = { THREAD, POLLER(2, true), NETWORK(1) }, .spurious = 1 },
    { .name = "a lease and a producer", .plan = { THREAD, POLLER(1, true), PRODUCER(1, WORK_PLAIN) } },
    { .name = "a lease and an earlier timer", .plan = { THREAD, POLLER(1, false), PRODUCER(1, WORK_TIMER) } },
    { .name = "a lease and a callback", .plan = { THREAD, POLLER(1, true), POSTER(1, WORK_CALLBACK) } },
    { .name = "a lease and a waker", .plan = { THREAD, POLLER(1, true), WAKER(1) } },
    { .name = "a lease that ends, and a lazy producer", .plan = { THREAD, POLLER(1, true), LAZY(1) } },
    { .name = "a lease that runs out, and a lazy producer", .plan = { THREAD, POLLER(1, false), LAZY(1) },
      .deferred = true },
    { .name = "two leases", .plan = { THREAD, POLLER(1, true), POLLER(1, false) }, .spins = 1 },
};
/* clang-format on */

/* Minutes, not seconds. */
/* clang-format off */
static const struct scenario long_scenarios[] = {
    { .name = "three producers, stores deferred",
      .plan = { THREAD, PRODUCER(1, WORK_PLAIN), PRODUCER(1, WORK_PLAIN), PRODUCER(1, WORK_PLAIN) },
      .deferred = true },
    { .name = "two polls and a producer", .plan = { THREAD, POLLER(2, true), PRODUCER(1, WORK_PLAIN) } },
    { .name = "two polls and an earlier timer", .plan = { THREAD, POLLER(2, false), PRODUCER(1, WORK_TIMER) } },
    { .name = "two polls and a callback", .plan = { THREAD, POLLER(2, true), POSTER(1, WORK_CALLBACK) } },
    { .name = "two polls and a waker, stores deferred",
      .plan = { THREAD, POLLER(2, true), WAKER(1) }, .deferred = true },
};
/* clang-format on */

static const char *const role_names[] = { "nobody", "thread", "producer", "poster", "waker", "poller", "network" };

static const char *name_of(unsigned actor)
{
    return role_names[model_scenario->plan[actor].role];
}

static void reset(void)
{
    memset(&model, 0, sizeof(model));
    owner_init(&model.o, &model_ops, NULL, model_scenario->spins);
    model.watched = 1;
    model.sleep_until = OWNER_NEVER;
    model.spurious_left = model_scenario->spurious;
}

static bool explore(const struct scenario *s, bool verbose)
{
    struct explore_world world = {
        .bytes = &model,
        .size = sizeof(model),
        .reset = reset,
        .body = model_body,
        .check = model_check,
        .check_end = model_check_end,
        .can_flush = model_can_flush,
        .flush = model_flush,
        .name = name_of,
    };
    struct explore_result r;

    while (world.actors < EXPLORE_ACTORS && s->plan[world.actors].role != ROLE_NONE)
        world.actors++;
    model_scenario = s;
    explore_run(&world, MAX_STATES, verbose, &r);
    printf("%-40s %8zu states %9zu steps %6zu ends, depth %3zu, %.2e interleavings%s%s\n", s->name, r.states, r.steps,
           r.ends, r.depth, r.interleavings, r.wrong ? ": " : "", r.wrong ? r.wrong : "");
    return r.wrong == NULL;
}

static unsigned explore_all(const struct scenario *s, size_t count, bool find_bug)
{
    unsigned failed = 0;

    for (size_t i = 0; i < count && !(find_bug && failed); i++)
        failed += !explore(&s[i], !find_bug);
    return failed;
}

int main(int argc, char **argv)
{
    bool find_bug = argc > 1 && strcmp(argv[1], "--find-bug") == 0;
    bool full = argc > 1 && strcmp(argv[1], "--full") == 0;
    unsigned failed = explore_all(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), find_bug);

    if (full)
        failed += explore_all(long_scenarios, sizeof(long_scenarios) / sizeof(long_scenarios[0]), false);
    if (find_bug)
        printf("%s\n", failed ? "the seeded bug was found" : "the seeded bug was NOT found");
    return find_bug ? failed == 0 : failed != 0;
}
