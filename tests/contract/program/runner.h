/* SPDX-License-Identifier: MIT */
/* The parts of ndkconform that cases do not use: running a case, its result, reports. */
#ifndef TESTS_CONTRACT_RUNNER_H
#define TESTS_CONTRACT_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "contract/kit/kit.h"
#include "contract/provider/provider.h"

/* ---- what cases run against: set before the first case ---- */

extern const struct ndkconform_provider *kit_provider;
/* The information of an adapter on lo. known is false if none could be opened. */
struct kit_adapter {
    bool known;
    NDK_ADAPTER_INFO info;
};
extern struct kit_adapter kit_adapter;

/* ---- running ---- */

enum run_outcome { RUN_PASSED, RUN_FAILED, RUN_SKIPPED };
enum { RUN_MAX_OUTPUT = 256 * 1024 };

struct run_result {
    const struct kit_case *c;
    int family;
    enum run_outcome outcome;
    double seconds;
    char reason[1024]; /* one line: why it failed or was skipped */
    char *output;      /* the first RUN_MAX_OUTPUT bytes that it printed; not terminated */
    size_t len;
};

const struct kit_case *run_first_case(void);
/* Sets the provider's time limits beyond every watchdog, so that none expires on a slow machine. */
void run_without_limits(void);
/* Fills kit_adapter, in a process of its own. */
void run_probe(void);
/* Records what the case prints, and writes it to echo at once. watchdog: seconds; 0 is the default. */
void run_case(const struct kit_case *c, int family, unsigned watchdog, FILE *echo, struct run_result *r);
const char *run_outcome_name(enum run_outcome o);        /* "passed", "FAILED", "skipped" */
const char *run_family_name(const struct run_result *r); /* "IPv4", "IPv6"; NULL without KIT_FAMILIES */

/* ---- the rules that a case covers: rules.py makes the table from the comments above the cases ---- */

struct case_rules {
    const char *name, *rules; /* "CON-01 CON-02"; the last row has NULL */
};
/* Weak, because a program whose cases claim no rules has no such table. */
extern const struct case_rules case_rules[] __attribute__((weak));
const char *rules_of(const char *name); /* "" if there are none */

/* ---- reports ---- */

struct report {
    const struct run_result *results;
    size_t count;
    const char *module; /* --provider, or NULL */
    long long started;  /* seconds since 1970 */
};
void report_json(FILE *out, const struct report *r);
void report_junit(FILE *out, const struct report *r);

#endif
