/* SPDX-License-Identifier: MIT */
/* Choices, trace, failing: see sim.h. */
#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

enum { FAILED = 1 };

struct sim_scenario sim_scenario;
uint64_t sim_clock;
bool sim_tracing;

static uint64_t choices;
static uint64_t hash;
static void (*explain)(void);

void sim_seed(uint64_t seed)
{
    choices = seed;
    hash = UINT64_C(0xcbf29ce484222325);
    sim_clock = SIM_SECOND;
    random_seed(seed + 1);
}

uint64_t sim_below(uint64_t n)
{
    return random_next(&choices) % n;
}

bool sim_chance(unsigned odds)
{
    return odds && sim_below(1000) < odds;
}

void sim_trace(const char *format, ...)
{
    char line[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (const char *c = line; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    hash = (hash ^ sim_clock) * UINT64_C(0x100000001b3);
    if (sim_tracing)
        printf("%13.6f ms  %s\n", (double)(sim_clock - SIM_SECOND) / 1e6, line);
}

uint64_t sim_trace_hash(void)
{
    return hash;
}

void sim_on_fail(void (*then)(void))
{
    explain = then;
}

void sim_fail(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "at %.6f ms: ", (double)(sim_clock - SIM_SECOND) / 1e6);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    if (explain)
        explain();
    _Exit(FAILED);
}
