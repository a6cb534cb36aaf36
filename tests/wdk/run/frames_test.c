/* SPDX-License-Identifier: MIT */
/* ndkrun's stacks of other threads: a thread that captures its stack too late changes nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"

#define NO_STACK "the thread does not print its stack"

static atomic_int late_id, second_id;
static atomic_bool may_answer_late, has_answered_late, may_end;

static void wait_for(atomic_bool *flag)
{
    while (!atomic_load(flag))
        usleep(1000);
}

static void set_blocked(bool blocked)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    assert_int_equal(pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL), 0);
}

/* Has the thread received the signal, which it blocks? */
static bool is_requested(void)
{
    sigset_t set;

    sigemptyset(&set);
    assert_int_equal(sigpending(&set), 0);
    return sigismember(&set, SIGURG);
}

/* These two are exported, so that their names are printed. */
__attribute__((visibility("default"))) void *late_thread(void *argument);
__attribute__((visibility("default"))) void *second_thread(void *argument);

/* Answers the request only when may_answer_late is set. */
void *late_thread(void *argument)
{
    set_blocked(true);
    atomic_store(&late_id, gettid());
    wait_for(&may_answer_late);
    set_blocked(false);
    atomic_store(&has_answered_late, true);
    wait_for(&may_end);
    return argument;
}

/* Answers the request after the other thread has answered its own. */
void *second_thread(void *argument)
{
    set_blocked(true);
    atomic_store(&second_id, gettid());
    while (!is_requested())
        usleep(1000);
    atomic_store(&may_answer_late, true);
    wait_for(&has_answered_late);
    set_blocked(false);
    wait_for(&may_end);
    return argument;
}

/* Returns what is printed about the thread. The caller frees the text. */
static char *print_thread(int thread)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    frames_print_thread(out, thread);
    fclose(out);
    return text;
}

static pthread_t start(void *(*routine)(void *), atomic_int *id)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, routine, NULL), 0);
    while (!atomic_load(id))
        usleep(1000);
    return thread;
}

static void test_late_answer(void **state)
{
    pthread_t late = start(late_thread, &late_id), second = start(second_thread, &second_id);
    char *text = print_thread(late_id);
    bool has_stack = false;

    (void)state;
    assert_non_null(strstr(text, NO_STACK));
    free(text);
    while (!has_stack) { /* more than once only if the machine is so slow that the thread answers too late, too */
        text = print_thread(second_id);
        if (strstr(text, "late_thread"))
            fail_msg("the stack of another thread:\n%s", text);
        has_stack = strstr(text, "second_thread") != NULL;
        if (!has_stack && !strstr(text, NO_STACK))
            fail_msg("expected the stack of second_thread:\n%s", text);
        free(text);
    }
    atomic_store(&may_end, true);
    pthread_join(late, NULL);
    pthread_join(second, NULL);
    text = print_thread(late_id); /* the thread has ended */
    assert_non_null(strstr(text, NO_STACK));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_late_answer) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
