/* SPDX-License-Identifier: MIT */
/* For tests that load drivers: broken rules are reported and do not end the program, and the reports can be read. */
#ifndef TESTS_WDK_HOST_H
#define TESTS_WDK_HOST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "openndk/wdk.h"
#include "openndk/verify.h"

/* Returns the path of a driver of the build. */
static inline const char *host_path(const char *driver)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s.so", DRIVERS, driver);
    return path;
}

static inline ondk_wdk_driver_t *host_load(const char *driver)
{
    ondk_wdk_driver_t *d = NULL;
    uint32_t status = 1;

    if (ondk_wdk_load(host_path(driver), NULL, &d, &status))
        fail_msg("%s: 0x%08X %s", driver, status, ondk_wdk_error());
    return d;
}

static inline void host_unload(ondk_wdk_driver_t *driver)
{
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_unload(driver, &status), 0);
    assert_int_equal(status, 0);
}

/*
 * Returns the output of the kernel during `breaks`, which runs in a child process, because it may leak. There each
 * broken rule is reported and the driver continues. The caller frees the text.
 */
static inline char *host_reported(void (*breaks)(void))
{
    int pipes[2];
    char *text = calloc(1, 1 << 16);
    size_t have = 0;
    ssize_t n;
    pid_t child;
    int status;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        FILE *out = fdopen(pipes[1], "w");

        ondk_wdk_set_output(out);
        ondk_verify_set_mode(ONDK_VERIFY_REPORT);
        breaks();
        fflush(out);
        _exit(0);
    }
    close(pipes[1]);
    while (have < (1 << 16) - 1 && (n = read(pipes[0], text + have, (1 << 16) - 1 - have)) > 0)
        have += (size_t)n;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("the driver's process ended with status 0x%x:\n%s", (unsigned)status, text);
    return text;
}

/* Returns the number of broken rules in the text. */
static inline int host_count(const char *text)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, "driver rule broken")); at++)
        n++;
    return n;
}

/* Checks that exactly this rule was reported, once, with these words. */
static inline void host_breaks(void (*breaks)(void), const char *rule, const char *words)
{
    char *text = host_reported(breaks);
    char head[128];

    snprintf(head, sizeof head, "driver rule broken: %s in ", rule);
    if (host_count(text) != 1 || !strstr(text, head) || !strstr(text, words))
        fail_msg("expected %s \"%s\" once:\n%s", rule, words, text);
    free(text);
}

#endif
