/* SPDX-License-Identifier: MIT */
/* The limit of nvme-target's messages, with a clock and a log of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "nvme-target/log.h"

static uint64_t now_ms = 1000;
static unsigned n_lines;
static char last[128], suppressed[128];

void host_lock_init(struct host_lock *lock)
{
    (void)lock;
}

void host_lock_fini(struct host_lock *lock)
{
    (void)lock;
}

void host_lock_acquire(struct host_lock *lock)
{
    (void)lock;
}

void host_lock_release(struct host_lock *lock)
{
    (void)lock;
}

uint64_t host_now_ms(void)
{
    return now_ms;
}

void host_vlog(const char *format, va_list list)
{
    vsnprintf(last, sizeof last, format, list);
    n_lines++;
}

void host_log(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(suppressed, sizeof suppressed, format, list);
    va_end(list);
}

static void test_limit(void **state)
{
    struct log_limit limit;

    (void)state;
    log_limit_init(&limit);
    log_report(&limit); /* prints nothing, and uses up nothing */
    for (int i = 0; i < 1000; i++)
        log_limited(&limit, "message %d", i);
    assert_int_equal(n_lines, LOG_BURST);
    assert_string_equal(last, "message 49");
    log_report(&limit);
    assert_string_equal(suppressed, "");
    /* With time, a message is permitted, which reports the count. */
    now_ms += LOG_INTERVAL_MS;
    log_limited(&limit, "%s", "later");
    assert_string_equal(last, "later");
    assert_non_null(strstr(suppressed, "950 messages"));
    log_limited(&limit, "%s", "too early");
    assert_int_equal(n_lines, LOG_BURST + 1);
    /* Without another message, the report prints the count, once. */
    now_ms += LOG_INTERVAL_MS;
    log_report(&limit);
    assert_non_null(strstr(suppressed, "1 messages"));
    suppressed[0] = 0;
    log_report(&limit);
    assert_string_equal(suppressed, "");
    /* After a long time, the burst is permitted again, and no more. */
    now_ms += UINT64_C(1) << 40;
    for (int i = 0; i < 100; i++)
        log_limited(&limit, "again %d", i);
    assert_int_equal(n_lines, 2 * LOG_BURST + 1);
    log_limit_fini(&limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_limit) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
