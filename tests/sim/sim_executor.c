/* SPDX-License-Identifier: MIT */
/* See sim_executor.h. A shard's thread is simulated by turns of the shard, whenever it has work. */
#include "sim/sim_executor.h"

#include <errno.h>

#include "engine/net.h"
#include "sim/sim.h"
#include "sim/sim_net.h"

enum {
    SHARDS = 64,
    MAX_STEPS = 400000,        /* of one run; more steps mean an endless loop */
    MAX_STEPS_AT_ONCE = 60000, /* without an advance of the clock */
    LAST_TURNS = 10000,
    STEP_NS = 3000,
    FAR = 20000000,
};

#define CLOCK_END (UINT64_C(3600) * SIM_SECOND) /* far more than the sum of all time limits */

static struct shard *shards[SHARDS];
static unsigned shard_count;
static unsigned steps, steps_at_once;
static void (*on_idle)(void);

/* Never returns the same time twice. */
static uint64_t sim_now(struct executor *e)
{
    (void)e;
    return ++sim_clock;
}

static int start(struct executor *e, struct shard *s)
{
    (void)e;
    if (shard_count == SHARDS)
        return ENOMEM;
    shards[shard_count++] = s;
    return 0;
}

static void stop(struct executor *e, struct shard *s)
{
    int turns = 0;

    (void)e;
    while (shard_turn(s))
        sim_check(++turns < LAST_TURNS, "a shard that is being stopped goes on for ever");
    for (unsigned i = 0; i < shard_count; i++) {
        if (shards[i] == s) {
            shards[i] = shards[--shard_count];
            return;
        }
    }
    sim_fail("a shard is stopped that was never started");
}

static void wake(struct executor *e, struct shard *s)
{
    (void)e, (void)s; /* no thread sleeps */
}

static bool sim_gate_wait(struct executor *e, struct gate *g, uint64_t deadline)
{
    while (!gate_is_open(g)) {
        if (sim_now(e) >= deadline)
            return false;
        sim_check(sim_step() || gate_is_open(g), "deadlock: an adapter's close waits, and nothing will happen");
    }
    return true;
}

struct executor *sim_executor(void)
{
    static const struct executor_ops ops = {
        .now = sim_now, .start = start, .stop = stop, .wake = wake, .gate_wait = sim_gate_wait
    };
    static struct executor executor = { .ops = &ops };

    return &executor;
}

static bool is_runnable(struct shard *s)
{
    return shard_next_deadline(s) <= sim_clock || sim_net_is_ready(shard_poller(s));
}

static struct shard *pick(void)
{
    struct shard *runnable[SHARDS];
    unsigned count = 0;

    sim_net_advance();
    for (unsigned i = 0; i < shard_count; i++)
        if (is_runnable(shards[i]))
            runnable[count++] = shards[i];
    return count ? runnable[sim_below(count)] : NULL;
}

static uint64_t next_event(void)
{
    uint64_t next = sim_net_next();

    for (unsigned i = 0; i < shard_count; i++) {
        uint64_t deadline = shard_next_deadline(shards[i]);

        if (deadline < next)
            next = deadline;
    }
    return next;
}

bool sim_step_is_far(void)
{
    uint64_t next;

    sim_net_advance();
    next = next_event();
    for (unsigned i = 0; i < shard_count; i++)
        if (is_runnable(shards[i]))
            return false;
    return next == UINT64_MAX || next > sim_clock + FAR;
}

bool sim_step(void)
{
    struct shard *s = pick();
    uint64_t next;

    sim_check(++steps < MAX_STEPS, "%u steps and no end", steps);
    if (s) {
        sim_check(++steps_at_once < MAX_STEPS_AT_ONCE, "the shards never come to rest");
        sim_clock += sim_below(STEP_NS);
        (void)shard_turn(s);
        return true;
    }
    steps_at_once = 0;
    next = next_event();
    if (on_idle)
        on_idle();
    if (next_event() != next)
        return true; /* the poll moved something, and a consumer may act before the next event */
    if (next == UINT64_MAX)
        return false;
    if (next > sim_clock)
        sim_clock = next;
    sim_check(sim_clock < CLOCK_END, "an hour has passed");
    return true;
}

void sim_overlap(void)
{
    struct shard *s = pick();

    if (s)
        (void)shard_turn(s);
}

void sim_on_idle(void (*idle)(void))
{
    on_idle = idle;
}

unsigned sim_executor_shards(void)
{
    return shard_count;
}
