/* SPDX-License-Identifier: MIT */
/*
 * The common part of the simulation: the seed's choices, the clock, the trace, failures, and the scenario. A run has
 * one thread and one seed. The invariant: every choice comes from sim_below, in an order that depends only on the seed,
 * and nothing depends on an address, a real clock or a real random number. Therefore a seed always has the same trace.
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

/* The probabilities of events, in thousandths. scenario.c has the values of each scenario. */
struct sim_scenario {
    const char *name;
    bool orderly;       /* no faults and no misbehaviour: everything must succeed */
    unsigned actions;   /* number of the consumers' actions before everything is closed */
    unsigned haste;     /* a consumer acts although a shard could run */
    unsigned inside;    /* a consumer acts inside a callback */
    unsigned interrupt; /* a consumer acts in the middle of a shard's work */
    unsigned overlap;   /* shards run while a callback runs */
    unsigned rude;      /* close, flush or deregister objects in use */
    unsigned bad;       /* requests that must fail at the peer */
    unsigned hopeless;  /* connect to an address that never answers, or from an unavailable one */
    /* The network. */
    uint64_t delay;                      /* maximum delay of one direction in nanoseconds */
    unsigned split;                      /* a call transfers less than possible */
    unsigned stall, reset, cut, corrupt; /* each is the probability for one send */
    unsigned lose;                       /* a connect gets no answer */
    unsigned shortage;                   /* descriptors or memory are exhausted */
    unsigned ports;                      /* number of ephemeral ports */
    size_t window;                       /* maximum number of bytes in flight or unread in one direction */
    ondk_config_t config[SIM_HOSTS];
};

extern struct sim_scenario sim_scenario;
void sim_scenario_choose(void); /* chosen by the seed */

/* Choices. */
void sim_seed(uint64_t seed);
uint64_t sim_below(uint64_t n); /* 0 to n-1; n > 0 */
bool sim_chance(unsigned odds); /* true with `odds` in a thousand */

/* The clock: nanoseconds; never 0. */
extern uint64_t sim_clock;

/* Adds a line to the trace: to its hash, and to the output if sim_tracing is set. */
extern bool sim_tracing;
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t sim_trace_hash(void);
/* Prints an error and ends the process. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define sim_check(condition, ...) ((condition) ? (void)0 : sim_fail(__VA_ARGS__))

/* Prints more about the state after a failure. */
void sim_on_fail(void (*explain)(void));

/* Runs the seed that was set. */
void sim_run(void);

#endif
