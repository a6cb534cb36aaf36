/* SPDX-License-Identifier: MIT */
/* For tests that break a rule on purpose: go on, catch what is said, and count it. */
#ifndef TESTS_WDK_REPORTS_H
#define TESTS_WDK_REPORTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/wdk.h"

struct reports {
    char *text;
    size_t length;
    FILE *out;
    uint32_t before;
};

static inline void reports_start(struct reports *r)
{
    r->text = NULL;
    r->out = open_memstream(&r->text, &r->length);
    r->before = ondk_wdk_violations();
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_GO_ON);
    ondk_wdk_set_output(r->out);
}

/* How many there were. r->text, to be freed, is what was said. */
static inline uint32_t reports_end(struct reports *r)
{
    ondk_wdk_set_output(NULL);
    fclose(r->out);
    return ondk_wdk_violations() - r->before;
}

/* Exactly one, of that rule ("pool-overrun"), and it says `word`. */
static inline int reports_is_one(struct reports *r, const char *rule, const char *word)
{
    uint32_t n = reports_end(r);
    char start[80];
    int right;

    snprintf(start, sizeof start, "*** driver rule broken: %s in ", rule);
    right = n == 1 && strstr(r->text, start) && strstr(r->text, word);
    if (!right)
        fprintf(stderr, "%u reports; not one %s with \"%s\":\n%s\n", n, rule, word, r->text);
    free(r->text);
    return right;
}

#endif
