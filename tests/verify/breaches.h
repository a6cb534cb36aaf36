/* SPDX-License-Identifier: MIT */
/* For contract cases about verification: the rules that were reported, in order. Each case has a process of its own. */
#ifndef TESTS_VERIFY_BREACHES_H
#define TESTS_VERIFY_BREACHES_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "contract/kit/kit.h"
#include "openndk/verify.h"

enum { BREACHES_ROOM = 1024 };

static pthread_mutex_t breaches_lock = PTHREAD_MUTEX_INITIALIZER;
static char breaches_text[BREACHES_ROOM]; /* "rule in Routine; rule in Routine" */

static inline void breaches_on_report(void *context, const ondk_verify_report_t *report)
{
    size_t n;

    (void)context;
    pthread_mutex_lock(&breaches_lock);
    n = strlen(breaches_text);
    (void)snprintf(breaches_text + n, sizeof breaches_text - n, "%s%s in %s", n ? "; " : "", report->rule,
                   report->routine);
    pthread_mutex_unlock(&breaches_lock);
}

/* Turns verification on for the adapters that the case opens later. */
static inline void breaches_begin(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    ondk_verify_set_callback(breaches_on_report, NULL);
}

static inline void breaches_begin_full(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.mode = ONDK_VERIFY_REPORT;
    config.full = 1;
    CHECK_STATUS(ondk_verify_configure(&config), STATUS_SUCCESS);
    ondk_verify_set_callback(breaches_on_report, NULL);
}

/* Checks what was reported since the last check: "" or, for example, "ndk-closed-used in NdkSend". */
#define CHECK_BREACHES(expected)                                                                                       \
    do {                                                                                                               \
        pthread_mutex_lock(&breaches_lock);                                                                            \
        if (strcmp(breaches_text, expected))                                                                           \
            kit_fail(__FILE__, __LINE__, "reported: expected \"%s\", saw \"%s\"", expected, breaches_text);            \
        breaches_text[0] = 0;                                                                                          \
        pthread_mutex_unlock(&breaches_lock);                                                                          \
    } while (0)

#endif
