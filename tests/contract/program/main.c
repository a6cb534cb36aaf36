/* SPDX-License-Identifier: MIT */
/*
 * ndkconform: runs contract cases against an NDK provider, see docs/conformance.md. It prints one line for each case,
 * `name: passed`, or `name: FAILED` after the expected and the actual value.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "contract/program/runner.h"

static const char usage_text[] =
    "usage: ndkconform [OPTION]...\n"
    "Tests an NDK provider against the rules of the NDKPI contract.\n"
    "  --provider MODULE   a shared object that exports ndkconform_provider; without it, OpenNDK\n"
    "  --list              the names of the cases\n"
    "  --rules             the names, each with the rules that it covers\n"
    "  --filter TEXT,...   only cases whose names contain one of the texts\n"
    "  --family 4|6|both   address families (default both)\n"
    "  --slow              long cases too\n"
    "  --watchdog SECONDS  what a case may take (default 60, long ones 300)\n"
    "  --json FILE         a report; with - it goes to standard output, and the lines to standard error\n"
    "  --junit FILE        the same as JUnit XML\n"
    "  --help\n"
    "exit status: 0 nothing failed, 1 a case failed, 2 wrong usage, no such provider, no case, no report\n";

struct options {
    const char *filter, *families, *provider, *json, *junit;
    bool list, rules, slow;
    unsigned watchdog;
};

static _Noreturn void wrong_usage(void)
{
    fputs(usage_text, stderr);
    exit(2);
}

static unsigned seconds(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (!isdigit((unsigned char)text[0]) || *end || n == 0 || n > 86400)
        wrong_usage();
    return (unsigned)n;
}

static struct options parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "list", no_argument, NULL, 'l' },
        { "rules", no_argument, NULL, 'r' },
        { "filter", required_argument, NULL, 'f' },
        { "family", required_argument, NULL, 'F' },
        { "slow", no_argument, NULL, 's' },
        { "watchdog", required_argument, NULL, 'w' },
        { "provider", required_argument, NULL, 'p' },
        { "json", required_argument, NULL, 'j' },
        { "junit", required_argument, NULL, 'u' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct options o = { .families = "both" };

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'l':
            o.list = true;
            break;
        case 'r':
            o.rules = true;
            break;
        case 'f':
            o.filter = optarg;
            break;
        case 'F':
            o.families = optarg;
            break;
        case 's':
            o.slow = true;
            break;
        case 'w':
            o.watchdog = seconds(optarg);
            break;
        case 'p':
            o.provider = optarg;
            break;
        case 'j':
            o.json = optarg;
            break;
        case 'u':
            o.junit = optarg;
            break;
        case 'h':
            fputs(usage_text, stdout);
            exit(0);
        default:
            wrong_usage();
        }
    }
    if (optind != argc || (strcmp(o.families, "4") && strcmp(o.families, "6") && strcmp(o.families, "both")))
        wrong_usage();
    if (o.json && o.junit && !strcmp(o.json, "-") && !strcmp(o.junit, "-"))
        wrong_usage();
    return o;
}

/* ---- the provider ---- */

static const struct ndkconform_provider *provider_of(const char *module)
{
    const struct ndkconform_provider *p;
    ndkconform_provider_fn *get;
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL), *symbol;

    symbol = handle ? dlsym(handle, "ndkconform_provider") : NULL;
    if (!symbol) {
        fprintf(stderr, "ndkconform: no provider: %s\n", dlerror());
        exit(2);
    }
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast between object and function pointers */
    p = get();
    if (!p || p->interface != NDKCONFORM_INTERFACE) {
        fprintf(stderr, "ndkconform: %s: expected interface %u, saw %u\n", module, NDKCONFORM_INTERFACE,
                p ? (unsigned)p->interface : 0);
        exit(2);
    }
    if (!p->name || !p->version || !p->open_adapter || !p->close_adapter || !p->init_mdl) {
        fprintf(stderr, "ndkconform: %s: only set may be NULL\n", module);
        exit(2);
    }
    return p;
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
    return 0;
}

struct run {
    struct run_result *results;
    size_t count;
    unsigned totals[3]; /* by outcome */
};

static void run_one(struct run *run, const struct kit_case *c, int family, const struct options *o, FILE *lines)
{
    struct run_result *grown = realloc(run->results, (run->count + 1) * sizeof *grown), *r;
    const char *name;

    if (!grown) {
        perror("ndkconform");
        exit(2);
    }
    run->results = grown;
    r = &grown[run->count++];
    run_case(c, family, o->watchdog, lines, r);
    run->totals[r->outcome]++;
    name = run_family_name(r);
    fprintf(lines, "%s%s%s%s: %s\n", c->name, name ? " (" : "", name ? name : "", name ? ")" : "",
            run_outcome_name(r->outcome));
    fflush(lines);
}

static void run_all(struct run *run, const struct options *o, FILE *lines)
{
    for (const struct kit_case *c = run_first_case(); c; c = c->next) {
        if (!matches(c->name, o->filter) || ((c->flags & KIT_SLOW) && !o->slow))
            continue;
        if (strcmp(o->families, "6") != 0)
            run_one(run, c, AF_INET, o, lines);
        if ((c->flags & KIT_FAMILIES) && strcmp(o->families, "4") != 0)
            run_one(run, c, AF_INET6, o, lines);
    }
}

/* Unshares the network, if permitted, so that other programs do not bind the ports that a case has found free. */
static void unshare_network(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int s;

    if (unshare(CLONE_NEWNET) != 0)
        return;
    s = socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &request) != 0) {
        perror("ndkconform: lo in a network namespace");
        exit(2);
    }
    close(s);
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

    if (f && f != stdout)
        good = fclose(f) == 0 && good;
    if (!good)
        fprintf(stderr, "ndkconform: %s: not written whole\n", name);
    return good;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    struct run run = { 0 };
    struct report report = { .module = o.provider, .started = (long long)time(NULL) };
    FILE *json, *junit, *lines;
    bool written;

    kit_provider = o.provider ? provider_of(o.provider) : ndkconform_provider();
    if (o.list || o.rules)
        return list(&o);
    json = report_file(o.json);
    junit = report_file(o.junit);
    lines = json == stdout || junit == stdout ? stderr : stdout;
    unshare_network();
    run_probe();
    run_all(&run, &o, lines);
    report.results = run.results;
    report.count = run.count;
    if (json)
        report_json(json, &report);
    if (junit)
        report_junit(junit, &report);
    written = finish(json, o.json);
    written = finish(junit, o.junit) && written;
    fprintf(lines, "%u passed, %u failed, %u skipped\n", run.totals[RUN_PASSED], run.totals[RUN_FAILED],
            run.totals[RUN_SKIPPED]);
    if (run.count == 0)
        fputs("ndkconform: no case matches\n", stderr);
    for (size_t i = 0; i < run.count; i++)
        free(run.results[i].output);
    free(run.results);
    return !written || report.count == 0 ? 2 : run.totals[RUN_FAILED] != 0;
}
