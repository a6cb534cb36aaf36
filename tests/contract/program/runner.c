/* SPDX-License-Identifier: MIT */
/* Runs a case in the case's own process, and handles its checks. jobs.c starts and watches this process. */
#define _GNU_SOURCE
#include "contract/program/runner.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "contract/program/network.h"

static struct kit_case *first_case, **last_case = &first_case;
static int current_family = AF_INET;

static struct run_reason *shared; /* why the case failed or was skipped, in memory that the parent reads, too */

void kit_register(struct kit_case *c)
{
    *last_case = c;
    last_case = &c->next;
}

const struct kit_case *run_first_case(void)
{
    return first_case;
}

int kit_family(void)
{
    return current_family;
}

/* ---- the case's process ---- */

static void __attribute__((format(printf, 1, 0))) run_set_reason(const char *format, va_list args)
{
    if (shared && atomic_exchange(&shared->is_set, 1) == 0)
        vsnprintf(shared->text, sizeof shared->text, format, args);
}

void kit_fail(const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    va_list args, again;

    fprintf(stderr, "  %s:%d: ", name ? name + 1 : file, line);
    va_start(args, format);
    va_copy(again, args);
    run_set_reason(format, again);
    va_end(again);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

void kit_skip(const char *format, ...)
{
    va_list args, again;

    fputs("  skipped: ", stdout);
    va_start(args, format);
    va_copy(again, args);
    run_set_reason(format, again);
    va_end(again);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(NULL);
    _exit(RUN_EXIT_SKIPPED);
}

_Noreturn void run_case_main(const struct kit_case *c, int family, struct run_reason *reason)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = reason;
    current_family = family;
    if (c->flags & KIT_NETNS) {
        const char *failed = network_unshare();
        if (failed)
            kit_skip("%s: %s", failed, strerror(errno));
        network_interface.index = 0;
    }
    if (!(c->flags & KIT_DEFAULTS))
        run_without_limits();
    c->run();
    fflush(NULL);
    exit(0); /* not _exit: LeakSanitizer runs at exit */
}

const char *run_outcome_name(enum run_outcome o)
{
    return o == RUN_PASSED ? "passed" : o == RUN_SKIPPED ? "skipped" : "FAILED";
}

const char *run_family_name(const struct run_result *r)
{
    return !(r->c->flags & KIT_FAMILIES) ? NULL : r->family == AF_INET ? "IPv4" : "IPv6";
}
