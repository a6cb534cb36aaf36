/* SPDX-License-Identifier: MIT */
/*
 * ndkconform: runs contract cases against an NDK provider, see docs/conformance.md. It prints one line for each case,
 * `name: passed`, or `name: FAILED` after the expected and the actual value.
 */
#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "consumer/provider_module.h"
#include "consumer/verified_provider.h"
#include "contract/program/network.h"
#include "contract/program/runner.h"

enum { FAMILY_BOTH, FAMILY_4, FAMILY_6 };

struct options {
    const char *filter, *interface, *provider, *json, *junit;
    uint32_t families, jobs, watchdog;
    bool list, rules, slow;
};

#define AT(field) .at = offsetof(struct options, field)

static const struct command_option known_options[] = {
    { "--provider", "MODULE", "a shared object that exports ndkconform_provider (default: OpenNDK)", COMMAND_TEXT,
      AT(provider) },
    { "--list", NULL, "print the names of the cases", COMMAND_FLAG, AT(list) },
    { "--rules", NULL, "print the names, each with the rules that it covers", COMMAND_FLAG, AT(rules) },
    { "--filter", "TEXT,...", "only cases whose names contain one of the texts", COMMAND_TEXT, AT(filter) },
    { "--family", "both|4|6", "address families", COMMAND_CHOICE, AT(families), .standard = "both" },
    { "--slow", NULL, "long cases too", COMMAND_FLAG, AT(slow) },
    { "--jobs, -j", "N", "run N cases at once, each in a network namespace", COMMAND_NUMBER, AT(jobs), 1, MAX_JOBS,
      "1" },
    { "--interface", "INTERFACE", "run on this interface: its name, its index, or one of its addresses (default: lo)",
      COMMAND_TEXT, AT(interface) },
    { "--watchdog", "SECONDS", "time limit of a case", COMMAND_NUMBER, AT(watchdog), 1, 86400, "60; long ones 300" },
    { "--json", "FILE", "write a report to FILE; with - to standard output, and the lines to standard error",
      COMMAND_TEXT, AT(json) },
    { "--junit", "FILE", "the same as JUnit XML", COMMAND_TEXT, AT(junit) },
};

static const char *const usage[] = { "[OPTION]...", NULL };

static const struct command_status statuses[] = {
    { COMMAND_OK, "no case failed" },
    { COMMAND_FAILED, "a case failed" },
    { COMMAND_USAGE, "wrong usage, no provider, no case, a report that cannot be opened, or an ONDK_ variable of the "
                     "environment that OpenNDK does not use" },
    { COMMAND_LOST, "the output could not be written completely" },
    { COMMAND_INTERRUPTED, "interrupted; the summary and the reports of the finished cases were written" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkconform",
    .summary = "ndkconform tests an NDK provider against the rules of the NDKPI contract.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .statuses = statuses,
};

static void options_parse(struct options *o, int argc, char **argv)
{
    const char *wrong;
    int code;

    *o = (struct options){ .jobs = 1 };
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        exit(code);
    if (o->json && o->junit && !strcmp(o->json, "-") && !strcmp(o->junit, "-"))
        exit(command_usage_error(&command, "only one of --json and --junit can be written to standard output"));
    if (o->interface && o->jobs > 1)
        exit(command_usage_error(&command, "--jobs and --interface exclude each other, because each job has a network "
                                           "namespace of its own"));
    wrong = o->interface ? network_set_interface(o->interface) : NULL;
    if (wrong)
        exit(
            command_usage_error(&command, "--interface: '%s' is not a value for this option: %s", o->interface, wrong));
}

/* ---- the provider ---- */

static const struct ndkconform_provider *provider_load(const char *module)
{
    char error[512];
    const struct ndkconform_provider *p = provider_module_load(module, error, sizeof error);

    if (!p) {
        fprintf(stderr, "ndkconform: %s\n", error);
        exit(COMMAND_USAGE);
    }
    return verified_provider(p);
}

/* ---- cases ---- */

static bool matches(const char *name, const char *filter)
{
    char texts[4096];

    if (!filter)
        return true;
    snprintf(texts, sizeof texts, "%s", filter);
    for (char *save, *text = strtok_r(texts, ",", &save); text; text = strtok_r(NULL, ",", &save))
        if (strstr(name, text))
            return true;
    return false;
}

static bool finish(FILE *f, const char *name);

static int list(const struct options *o)
{
    for (const struct kit_case *c = run_first_case(); c; c = c->next) {
        if (!matches(c->name, o->filter))
            continue;
        if (o->rules)
            printf("%s %s\n", c->name, rules_of(c->name));
        else
            puts(c->name);
    }
    return finish(stdout, "standard output") ? COMMAND_OK : COMMAND_LOST;
}

/* The cases that the options select. */
struct plan {
    struct run_result *results;
    size_t count, room;
};

static void plan_add(struct plan *p, const struct kit_case *c, int family)
{
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        struct run_result *grown = realloc(p->results, room * sizeof *grown);

        if (!grown) {
            perror("ndkconform");
            exit(2);
        }
        p->results = grown;
        p->room = room;
    }
    p->results[p->count++] = (struct run_result){ .c = c, .family = family };
}

/* A case without families runs once: over IPv4, unless the interface has only IPv6. */
static void plan_init(struct plan *p, const struct options *o)
{
    const struct network_interface *n = &network_interface;
    int standard = n->index && !n->has_address[0] ? AF_INET6 : AF_INET;

    *p = (struct plan){ 0 };
    for (const struct kit_case *c = run_first_case(); c; c = c->next) {
        bool families = c->flags & KIT_FAMILIES;

        if (!matches(c->name, o->filter) || ((c->flags & KIT_SLOW) && !o->slow))
            continue;
        if (o->families != FAMILY_6)
            plan_add(p, c, families ? AF_INET : standard);
        if (families && o->families != FAMILY_4)
            plan_add(p, c, AF_INET6);
    }
}

/* Removes the results of cases that an interrupt has ended or prevented. Returns their number. */
static size_t plan_remove_undone(struct plan *p)
{
    size_t count = 0, undone;

    for (size_t i = 0; i < p->count; i++) {
        if (p->results[i].is_done)
            p->results[count++] = p->results[i];
        else
            free(p->results[i].output);
    }
    undone = p->count - count;
    p->count = count;
    return undone;
}

static void plan_fini(struct plan *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->results[i].output);
    free(p->results);
}

/* Isolates the run from other programs as far as that is permitted, and runs the cases. */
static void plan_run(struct plan *p, const struct options *o, FILE *lines)
{
    static int namespaces[MAX_JOBS];
    struct jobs_options jobs = { .count = o->jobs, .watchdog = o->watchdog, .lines = lines };
    const char *failed = o->jobs > 1 ? network_create(o->jobs, namespaces) : NULL;

    if (failed) {
        fprintf(stderr, "ndkconform: --jobs: %s: %s; the cases run one at a time\n", failed, strerror(errno));
        jobs.count = 1;
    } else if (o->jobs > 1) {
        jobs.namespaces = namespaces;
    } else if (!o->interface) {
        (void)network_try_unshare();
    }
    jobs_probe();
    jobs_run(p->results, p->count, &jobs);
}

/* ---- reports ---- */

/* Called before the cases run, so that a wrong name is reported at once. */
static FILE *report_file(const char *name)
{
    FILE *f = !name ? NULL : strcmp(name, "-") == 0 ? stdout : fopen(name, "we");

    if (name && !f) {
        fprintf(stderr, "ndkconform: %s: %s\n", name, strerror(errno));
        exit(2);
    }
    return f;
}

static bool finish(FILE *f, const char *name)
{
    bool good = !f || (fflush(f) == 0 && !ferror(f));
    int error = errno;

    if (f && f != stdout)
        good = fclose(f) == 0 && good;
    if (!good)
        fprintf(stderr, "ndkconform: %s: %s: not all of the output was written\n", name, strerror(error));
    return good;
}

static int print_summary(const struct plan *p, size_t undone, FILE *lines)
{
    unsigned totals[3] = { 0 };

    for (size_t i = 0; i < p->count; i++)
        totals[p->results[i].outcome]++;
    fprintf(lines, "%u passed, %u failed, %u skipped", totals[RUN_PASSED], totals[RUN_FAILED], totals[RUN_SKIPPED]);
    if (undone)
        fprintf(lines, "; interrupted, %zu not run", undone);
    fputc('\n', lines);
    return jobs_is_interrupted() ? COMMAND_INTERRUPTED : totals[RUN_FAILED] ? COMMAND_FAILED : COMMAND_OK;
}

static int run(const struct options *o)
{
    struct report report = { .module = o->provider, .started = (long long)time(NULL) };
    FILE *json = report_file(o->json), *junit = report_file(o->junit);
    FILE *lines = json == stdout || junit == stdout ? stderr : stdout;
    struct plan plan;
    bool written, is_empty;
    int code;

    plan_init(&plan, o);
    is_empty = plan.count == 0;
    if (!is_empty)
        plan_run(&plan, o, lines);
    code = print_summary(&plan, plan_remove_undone(&plan), lines);
    report.results = plan.results;
    report.count = plan.count;
    report.is_interrupted = jobs_is_interrupted();
    if (json)
        report_json(json, &report);
    if (junit)
        report_junit(junit, &report);
    written = finish(json, o->json);
    written = finish(junit, o->junit) && written;
    written = finish(stdout, "standard output") && written;
    plan_fini(&plan);
    if (is_empty) {
        fputs("ndkconform: no case matches\n", stderr);
        return COMMAND_USAGE;
    }
    return written ? code : COMMAND_LOST;
}

int main(int argc, char **argv)
{
    struct options o;

    options_parse(&o, argc, argv);
    kit_provider = o.provider ? provider_load(o.provider) : ndkconform_provider();
    if (!kit_provider)
        return command_usage_error(&command, "an ONDK_ variable of the environment is not used");
    if (o.list || o.rules)
        return list(&o);
    return run(&o);
}
