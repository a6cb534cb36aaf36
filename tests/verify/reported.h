/* SPDX-License-Identifier: MIT */
/* For the tests of reports: rules that nothing else breaks, an output that can be read, and child processes. */
#ifndef TESTS_VERIFY_REPORTED_H
#define TESTS_VERIFY_REPORTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "openndk/verify.h"
#include "verify/repeats.h"
#include "verify/rules.h"
#include "verify/verify.h"

#ifdef __clang__ /* does not clone functions */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static const struct rule test_rules[] = {
    { .name = "test-full",
      .bug_check = 0x77,
      .text = "A duty.",
      .page = "nc-a-page",
      .sentence = "The sentence.",
      .advice = "Do it." },
    { .name = "test-bare", .text = "Another duty." },
    { .name = "test-advice", .text = "It is better so.", .advice = "Do it so.", .kind = RULE_ADVICE },
};
enum { FULL, BARE, ADVICE, TEST_RULES };

static atomic_uint test_reports[TEST_RULES];
static __attribute__((unused)) struct rule_table test_table = {
    .layer = "test", .rules = test_rules, .count = TEST_RULES, .reports = test_reports
};

static char *text;
static size_t text_length;
static FILE *out;
static uint32_t breaches_before, advices_before;

static inline int start(void **state)
{
    (void)state;
    out = open_memstream(&text, &text_length);
    assert_non_null(out);
    report_set_output(out);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    breaches_before = ondk_verify_breaches();
    advices_before = ondk_verify_advices();
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    ondk_verify_set_callback(NULL, NULL);
    report_set_output(NULL);
    report_set_format(REPORT_TEXT);
    report_set_max_written(1);
    fclose(out);
    free(text);
    return 0;
}

static inline const char *output_text(void)
{
    fflush(out);
    return text;
}

static inline unsigned occurrences(const char *words)
{
    unsigned n = 0;

    for (const char *at = output_text(); (at = strstr(at, words)); at += strlen(words))
        n++;
    return n;
}

/* Breaks a test rule, as a routine of the library that the consumer has called. */
static NOINLINE __attribute__((unused)) void break_rule(int rule, const char *routine)
{
    STACK_CALL(routine);
    report_breach(&test_rules[rule], routine, 1, 2, 3, 4, "number %d", 5);
}

/* Returns the status of a child process that runs the function and ends with exit(0). */
static inline int child_status(void (*run)(void))
{
    pid_t child;
    int status;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline char *read_and_remove(const char *path)
{
    static char content[65536];
    FILE *file = fopen(path, "r");
    size_t n;

    assert_non_null(file);
    n = fread(content, 1, sizeof content - 1, file);
    content[n] = 0;
    fclose(file);
    remove(path);
    return content;
}

static inline json_t *parse_line(const char **at)
{
    const char *end = strchr(*at, '\n');
    json_error_t error;
    json_t *line;

    assert_non_null(end);
    line = json_loadb(*at, (size_t)(end - *at), 0, &error);
    if (!line)
        fail_msg("%s: %.*s", error.text, (int)(end - *at), *at);
    *at = end + 1;
    return line;
}

static inline const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

#define REPORT_TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

#endif
