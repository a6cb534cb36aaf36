/* SPDX-License-Identifier: MIT */
/* The parts of ndkconform that are not seen by cases: running one, what came of it, the reports. */
#ifndef TESTS_CONTRACT_RUNNER_H
#define TESTS_CONTRACT_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "contract/kit/kit.h"
#include "contract/provider/provider.h"

/* ---- what cases run against: set before the first one ---- */

extern const struct ndkconform_provider *kit_provider;
/* What an adapter on lo reports; known is false where none could be opened. */
struct kit_adapter {
    bool known;
    NDK_ADAPTER_INFO info;
};
extern struct kit_adapter kit_adapter;

/* ---- running ---- */

enum run_outcome { RUN_PASSED, RUN_FAILED, RUN_SKIPPED };
enum { RUN_OUTPUT_MOST = 256 * 1024 };

struct run_result {
    const struct kit_case *c;
    int family;
    enum run_outcome outcome;
    double seconds;
    char reason[1024];  /* one line: why it failed or was skipped */
    char *output;       /* all that it printed, at most RUN_OUTPUT_MOST bytes; not terminated */
    size_t len;
};

const struct kit_case *run_first_case(void);
/* Time limits beyond every watchdog, where the provider can set them: so that none decides on a slow machine. */
void run_without_limits(void);
/* Asks an adapter on lo what it can, in a process of its own. */
void run_probe(void);
/* What the case prints is recorded, and written to echo as it comes. watchdog: seconds, 0: the default. */
void run_case(const struct kit_case *c, int family, unsigned watchdog, FILE *echo, struct run_result *r);
const char *run_outcome_name(enum run_outcome o);       /* "passed", "FAILED", "skipped" */
const char *run_family_name(const struct run_result *r); /* "IPv4", "IPv6"; NULL where the case has no families */

/* ---- which rules a case covers: made from the comments above the cases by rules.py ---- */

struct case_rules {
    const char *name, *rules; /* "CON-01 CON-02"; the last has none */
};
/* Weak: a program of cases that claim no rules has no such table. */
extern const struct case_rules case_rules[] __attribute__((weak));
const char *rules_of(const char *name); /* "" where there are none */

/* ---- reports ---- */

struct report {
    const struct run_result *results;
    size_t count;
    const char *module;  /* --provider, or NULL */
    long long started;   /* seconds since 1970 */
};
void report_json(FILE *out, const struct report *r);
void report_junit(FILE *out, const struct report *r);

#endif
