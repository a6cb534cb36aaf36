/* SPDX-License-Identifier: MIT */
/* The parts of ndkconform that cases do not use: running cases, their results, reports. */
#ifndef TESTS_CONTRACT_RUNNER_H
#define TESTS_CONTRACT_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "contract/kit/kit.h"
#include "ndkconform/provider.h"

/* ---- the tested provider and adapter: set before the first case ---- */

extern const struct ndkconform_provider *kit_provider;
/*
 * The result of NdkQueryAdapterInfo for the adapter of kit_interface(). `known` is false if the adapter could not be
 * opened or queried.
 */
struct kit_adapter {
    bool known;
    NDK_ADAPTER_INFO info;
};
extern struct kit_adapter kit_adapter;

/* ---- running ---- */

enum run_outcome { RUN_PASSED, RUN_FAILED, RUN_SKIPPED };
enum { RUN_MAX_OUTPUT = 256 * 1024, RUN_MAX_REASON = 1024, RUN_EXIT_SKIPPED = 77 };

struct run_result {
    const struct kit_case *c;
    int family;
    bool is_done; /* false: not begun, or interrupted */
    enum run_outcome outcome;
    double seconds;
    char reason[RUN_MAX_REASON]; /* one line: why it failed or was skipped */
    char *output;                /* the first RUN_MAX_OUTPUT bytes that it printed; not terminated */
    size_t len, printed, lost;   /* lost: number of further bytes, which are neither stored nor printed */
};

/* Shared with the case's process, which stores here why it failed or was skipped. The first reason remains. */
struct run_reason {
    atomic_int is_set;
    char text[RUN_MAX_REASON];
};

const struct kit_case *run_first_case(void);
/* Sets the provider's time limits beyond every watchdog, so that none expires on a slow machine. */
void run_without_limits(void);
/* Runs a case in the calling process, and ends the process. */
_Noreturn void run_case_main(const struct kit_case *c, int family, struct run_reason *reason);
const char *run_outcome_name(enum run_outcome o);        /* "passed", "FAILED", "skipped" */
const char *run_family_name(const struct run_result *r); /* "IPv4", "IPv6"; NULL without KIT_FAMILIES */

/* ---- jobs: cases in processes of their own ---- */

enum { MAX_JOBS = 256 };

struct jobs_options {
    unsigned count;        /* number of cases that run at the same time */
    const int *namespaces; /* a network namespace for each job; NULL: the process's own */
    unsigned watchdog;     /* seconds; 0 is the default */
    FILE *lines;
};
/*
 * Runs the case of each result. The caller has set c and family of the results; jobs_run sets the other members. Prints
 * what the cases print, and a line for each case, in the order of the results. SIGINT or SIGTERM ends the running cases
 * and lets jobs_run return.
 */
void jobs_run(struct run_result *results, size_t count, const struct jobs_options *o);
bool jobs_is_interrupted(void);
/* Opens the adapter in a process of its own, and fills kit_adapter. */
void jobs_probe(void);

/* ---- the rules that a case covers: rules.py makes the table from the comments above the cases ---- */

struct case_rules {
    const char *name, *rules; /* rules: for example "CON-01 CON-02"; both are NULL in the last row */
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
    bool is_interrupted;
};
void report_json(FILE *out, const struct report *r);
void report_junit(FILE *out, const struct report *r);

#endif
