/* SPDX-License-Identifier: MIT */
/*
 * Handles Ctrl-C: see interrupt.h. A thread waits for the signals, so this code need not be safe in a signal handler.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "terminal.h"

enum { PATIENCE_S = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change; /* its clock is CLOCK_MONOTONIC */
static atomic_bool received;  /* is set only while the lock is held */
static const char *_Atomic wait_text;
static sigset_t signals;
static void (*callback)(void);

static void interrupt_report_wait(void)
{
    const char *text = atomic_load(&wait_text);

    progress_clear();
    fprintf(stderr, "%s: interrupted, waiting%s%s; a second Ctrl-C ends it at once\n", program_invocation_short_name,
            text ? " " : "", text ? text : "");
}

static void *interrupt_run(void *context)
{
    const struct timespec patience = { .tv_sec = PATIENCE_S };
    int number, second;

    (void)context;
    sigwait(&signals, &number);
    pthread_mutex_lock(&lock);
    atomic_store(&received, true);
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    if (callback)
        callback();
    do
        second = sigtimedwait(&signals, NULL, &patience);
    while (second < 0 && errno == EINTR);
    if (second < 0) {
        interrupt_report_wait();
        sigwait(&signals, &number);
    }
    _exit(COMMAND_INTERRUPTED);
}

void interrupt_catch(void (*on_interrupt)(void))
{
    pthread_condattr_t clock;
    pthread_t thread;

    callback = on_interrupt;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&change, &clock);
    pthread_condattr_destroy(&clock);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (pthread_create(&thread, NULL, interrupt_run, NULL) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* no thread waits for the signals: they must end the process */
}

bool interrupt_received(void)
{
    return atomic_load_explicit(&received, memory_order_relaxed);
}

void interrupt_set_wait(const char *text)
{
    atomic_store(&wait_text, text);
}

bool interrupt_sleep(double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&lock);
    while (!interrupt_received() && pthread_cond_timedwait(&change, &lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&lock);
    return !interrupt_received();
}
