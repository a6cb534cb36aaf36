/* SPDX-License-Identifier: MIT */
/* The reports between two points of a test, in mode report: exactly one broken rule in one routine, or none. */
#ifndef TESTS_WDK_REPORT_H
#define TESTS_WDK_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/wdk.h"
#include "openndk/verify.h"

struct report {
    char *text;
    size_t length;
    FILE *out;
    uint32_t before;
};

static inline struct report *report_start(void)
{
    struct report *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->out = open_memstream(&r->text, &r->length);
    r->before = ondk_verify_breaches();
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_wdk_set_output(r->out);
    return r;
}

static inline uint32_t report_so_far(const struct report *r)
{
    return ondk_verify_breaches() - r->before;
}

/* Returns the number of reports. r->text is valid until report_free. */
static inline uint32_t report_stop(struct report *r)
{
    ondk_wdk_set_output(NULL);
    fclose(r->out);
    return report_so_far(r);
}

static inline void report_free(struct report *r)
{
    free(r->text);
    free(r);
}

/*
 * Checks that there was one report with all these words, for example "lock-not-held in KeReleaseMutex", "acquired by".
 */
static inline void report_says(struct report *r, const char *words, const char *more)
{
    uint32_t n = report_stop(r);

    if (n != 1 || !strstr(r->text, words) || !strstr(r->text, more)) {
        print_error("expected one \"%s\" with \"%s\", but %u were reported:\n%s\n", words, more, n, r->text);
        fail();
    }
    report_free(r);
}

static inline void report_is(struct report *r, const char *words)
{
    report_says(r, words, "");
}

static inline void report_is_empty(struct report *r)
{
    uint32_t n = report_stop(r);

    if (n) {
        print_error("expected nothing, but %u were reported:\n%s\n", n, r->text);
        fail();
    }
    report_free(r);
}

#endif
