/* SPDX-License-Identifier: MIT */
/*
 * What was reported between two points of a test, in go-on mode: exactly one broken rule in exactly one routine, or none.
 */
#ifndef TESTS_WDK_REPORT_H
#define TESTS_WDK_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/wdk.h"

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
    r->before = ondk_wdk_violations();
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_GO_ON);
    ondk_wdk_set_output(r->out);
    return r;
}

static inline uint32_t report_end(struct report *r, const char *words)
{
    uint32_t n = ondk_wdk_violations() - r->before;

    ondk_wdk_set_output(NULL);
    fclose(r->out);
    if (n != (words ? 1 : 0) || (words && !strstr(r->text, words))) {
        print_error("expected %s, but %u were reported:\n%s\n", words ? words : "nothing", n, r->text);
        fail();
    }
    free(r->text);
    free(r);
    return n;
}

/* words: "lock-not-held in KeReleaseMutex" */
static inline void report_is(struct report *r, const char *words)
{
    (void)report_end(r, words);
}

static inline void report_is_empty(struct report *r)
{
    (void)report_end(r, NULL);
}

#endif
