/* SPDX-License-Identifier: MIT */
/*
 * The common part of the simulation: the seed's choices, the clock, the trace, failures, and the scenario. A run has
 * one thread and one seed. The invariant: every choice comes from sim_below, in an order that the seed decides too, and
 * nothing depends on an address, a real clock or a real random number. So a seed always has the same trace, event by
 * event.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openndk/config.h"

#define SIM_MS UINT64_C(1000000)
#define SIM_SECOND UINT64_C(1000000000)

enum { SIM_HOSTS = 2 };

/* How often things happen; odds are in a thousand. scenario.c has the values of each scenario. */
struct sim_scenario {
    const char *name;
    bool orderly;              /* nothing fails and nobody misbehaves: so everything has to succeed */
    unsigned actions;          /* of the consumers', before everything is closed */
    unsigned haste;            /* odds that a consumer acts although a shard could run */
    unsigned inside;           /* odds of acting at once, inside a callback */
    unsigned interrupt;        /* odds of acting while a shard is in the midst of its work */
    unsigned overlap;          /* odds that shards run on while a callback is running */
    unsigned rude;             /* odds of closing, flushing and deregistering where it hurts */
    unsigned bad;              /* odds of requests that have to fail at the peer */
    unsigned hopeless;         /* odds of connecting to where nobody answers, or from an address that cannot be had */
    /* The network. */
    uint64_t delay;            /* one way, nanoseconds, at most */
    unsigned split;            /* odds of moving less than could be moved */
    unsigned stall, reset, cut, corrupt; /* odds for each send */
    unsigned lose;             /* odds that a connect gets no answer at all */
    unsigned shortage;         /* odds that descriptors or memory have run out */
    unsigned ports;            /* how many ephemeral ports there are */
    size_t window;             /* most bytes under way or unread, one way */
    ondk_config_t config[SIM_HOSTS];
};

extern struct sim_scenario sim_scenario;
void sim_scenario_choose(void); /* by the seed */

/* Choices. */
void sim_seed(uint64_t seed);
uint64_t sim_below(uint64_t n);   /* 0 to n-1; n > 0 */
bool sim_chance(unsigned odds);   /* in a thousand */

/* The clock: nanoseconds; never 0. */
extern uint64_t sim_clock;

/* One line of the trace: part of the hash, and printed where asked for. */
extern bool sim_tracing;
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t sim_trace_hash(void);
/* The seed has found an error: prints it and ends the process. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define sim_check(condition, ...) ((condition) ? (void)0 : sim_fail(__VA_ARGS__))

/* Prints more about the state after a failure. */
void sim_on_fail(void (*explain)(void));

/* The whole run of the seed that was set. */
void sim_run(void);

#endif
