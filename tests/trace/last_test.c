/* SPDX-License-Identifier: MIT */
/* The last events of the process: their order, which are related to an object, and what cannot hang or crash it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "openndk/trace.h"
#include "trace/last.h"
#include "trace/trace.h"

enum { OBJECT = 0x1000, PROXY = 0x2000, CONNECTION = 7, MAX = 20 };

static struct last_event events[TRACE_MAX_LAST_EVENTS];

static void begin(void)
{
    char problem[TRACE_MAX_PROBLEM];

    if (!trace_start(problem))
        fail_msg("%s", problem);
    assert_true(trace_is_on());
}

static void record(uint32_t from, uint32_t to, uint64_t object)
{
    for (uint32_t i = from; i < to; i++)
        TRACE(adapter, i, .object = object, .interface = i);
}

static void test_nothing_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(trace_last(NULL, events, MAX), 0);
    assert_int_equal(ondk_trace_print_last(stderr, MAX), 0);
}

static void *record_in_thread(void *unused)
{
    (void)unused;
    record(200, 205, 1);
    return NULL;
}

static void test_order_and_limit(void **state)
{
    pthread_t thread;
    char fields[64];

    (void)state;
    begin();
    record(100, 200, 1);
    assert_int_equal(pthread_create(&thread, NULL, record_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    record(205, 210, 1);
    assert_int_equal(trace_last(NULL, events, MAX), MAX);
    for (unsigned i = 0; i < MAX; i++) {
        assert_int_equal(events[i].connection, 190 + i);
        assert_string_equal(events[i].name, "adapter");
        snprintf(fields, sizeof fields, "object=0x1 interface=%u", 190 + i);
        assert_memory_equal(events[i].fields, fields, strlen(fields));
        assert_false(events[i].is_related);
        assert_true(i == 0 || events[i].seconds >= events[i - 1].seconds);
    }
    assert_int_not_equal(events[10].thread, events[9].thread);
    assert_int_equal(trace_last(NULL, events, 3), 3);
    assert_int_equal(events[2].connection, 209);
    assert_int_equal(trace_last(NULL, events, 0), 0);
}

static void test_related_events(void **state)
{
    const uint64_t addresses[2] = { PROXY, OBJECT };
    unsigned n_related = 0;

    (void)state;
    TRACE(connection, CONNECTION, .object = OBJECT);
    for (int i = 0; i < 12; i++)
        TRACE(limit, CONNECTION, .ms = (uint32_t)i);
    TRACE(adapter_close, 0, .object = PROXY);
    record(1000, 6000, 1); /* several segments */
    assert_int_equal(trace_last(addresses, events, MAX), MAX);
    for (unsigned i = 0; i < MAX; i++) {
        n_related += events[i].is_related;
        assert_true(events[i].is_related == (i < 10));
    }
    assert_int_equal(n_related, 10);
    assert_string_equal(events[9].name, "adapter_close");
    assert_non_null(strstr(events[8].fields, "ms=11"));
    assert_non_null(strstr(events[0].fields, "ms=3"));
    assert_int_equal(events[MAX - 1].connection, 5999);
    TRACE(adapter_close, 0, .object = OBJECT); /* is among the latest, too: listed once */
    assert_int_equal(trace_last(addresses, events, MAX), MAX);
    assert_true(events[MAX - 1].is_related);
    assert_false(events[MAX - 2].is_related);
}

static void test_printed(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    unsigned lines = 0;

    (void)state;
    assert_int_equal(ondk_trace_print_last(out, UINT32_MAX), TRACE_MAX_LAST_EVENTS);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1 + TRACE_MAX_LAST_EVENTS);
    assert_memory_equal(text, "  last events: ", 15);
    free(text);
}

/* ---- handlers of signals, children, closed descriptors ---- */

static volatile sig_atomic_t n_interrupts;

/* Starts the timer for one signal. A periodic timer could expire during each handler, so that only handlers run. */
static void start_timer(void)
{
    const struct itimerval once = { { 0, 0 }, { 0, 200 } };

    (void)setitimer(ITIMER_REAL, &once, NULL);
}

static void on_signal(int number)
{
    static struct last_event last[MAX];

    (void)number;
    (void)trace_last(NULL, last, MAX);
    if (++n_interrupts < 100)
        start_timer();
}

static void test_in_signal_handler(void **state)
{
    unsigned read = 0;

    (void)state;
    signal(SIGALRM, on_signal);
    start_timer();
    while (n_interrupts < 100)
        read += trace_last(NULL, events, MAX) == MAX;
    assert_true(read > 0);
}

static atomic_bool ends;

static void *print_in_thread(void *unused)
{
    struct last_event last[MAX];

    (void)unused;
    while (!atomic_load(&ends))
        (void)trace_last(NULL, last, MAX);
    return NULL;
}

static void *append_in_thread(void *unused)
{
    (void)unused;
    while (!atomic_load(&ends))
        record(1, 100, 1);
    return NULL;
}

static void test_while_others_record_and_print(void **state)
{
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? print_in_thread : append_in_thread, NULL), 0);
    for (int i = 0; i < 100; i++) {
        unsigned n = trace_last(NULL, events, MAX);

        for (unsigned k = 1; k < n; k++)
            assert_true(events[k].seconds >= events[k - 1].seconds);
    }
    atomic_store(&ends, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void test_child(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        char problem[TRACE_MAX_PROBLEM];
        bool ok = trace_last(NULL, events, MAX) == 0 && trace_start(problem);

        record(1, 4, 1);
        ok = ok && trace_last(NULL, events, MAX) == 3 && events[0].connection == 1;
        _exit(!ok);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(trace_last(NULL, events, MAX), MAX);
}

/* Returns a copy of the file in memory. */
static int copy_of(int fd)
{
    static char bytes[1 << 16];
    int copy = memfd_create("copy", 0);
    off_t at = 0;

    for (ssize_t n; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
        assert_int_equal(pwrite(copy, bytes, (size_t)n, at), n);
    return copy;
}

/* A daemon closes descriptors that it has not opened. Their numbers then belong to other files, here to a copy. */
static void test_closed_descriptor(void **state)
{
    char path[64], target[PATH_MAX];
    int replaced = 0;

    (void)state;
    for (int fd = 3; fd < 100; fd++) {
        ssize_t n;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "memfd:openndk-trace"))
            replaced += dup2(copy_of(fd), fd) == fd;
    }
    assert_int_equal(replaced, 1);
    assert_int_equal(trace_last(NULL, events, MAX), 0);
    record(1, 100, 1); /* still into the mapping */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_recorded),
        cmocka_unit_test(test_order_and_limit),
        cmocka_unit_test(test_related_events),
        cmocka_unit_test(test_printed),
        cmocka_unit_test(test_in_signal_handler),
        cmocka_unit_test(test_while_others_record_and_print),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_closed_descriptor),
    };

    (void)setenv("ONDK_TRACE", "ring,1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
