/* SPDX-License-Identifier: MIT */
/*
 * Ends a run that takes too long: see watchdog.h. The invariant: of the two threads that can end the run, only one
 * does.
 */
#include "watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "exit_now.h"

enum { REPORT_SECONDS = 10, NS_PER_SECOND = 1000000000 };

static struct {
    struct timespec pause;
    void (*on_timeout)(void);
    int status;
} dog;
static atomic_bool is_ending; /* set by the thread that ends the run */
static atomic_bool is_over;   /* the watchdog's thread ends the run */
static atomic_int alarm_status;

static void watchdog_handle_alarm(int number)
{
    (void)number;
    exit_now(atomic_load(&alarm_status));
}

void watchdog_limit_report(int status)
{
    const struct sigaction action = { .sa_handler = watchdog_handle_alarm };

    atomic_store(&alarm_status, status);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(REPORT_SECONDS);
}

static void *watchdog_run(void *argument)
{
    (void)argument;
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &dog.pause, &dog.pause))
        ;
    if (atomic_exchange(&is_ending, true))
        return NULL;
    atomic_store(&is_over, true);
    watchdog_limit_report(dog.status);
    dog.on_timeout();
    exit_now(dog.status);
}

bool watchdog_start(double seconds, void (*on_timeout)(void), int status)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int error;

    dog.pause.tv_sec = (time_t)seconds;
    dog.pause.tv_nsec = (long)((seconds - (double)dog.pause.tv_sec) * NS_PER_SECOND);
    dog.on_timeout = on_timeout;
    dog.status = status;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread must not handle signals */
    error = pthread_create(&thread, &attributes, watchdog_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !error;
}

static __attribute__((noreturn)) void watchdog_wait_for_end(void)
{
    for (;;)
        (void)pause();
}

void watchdog_pass(void)
{
    if (atomic_load(&is_over))
        watchdog_wait_for_end();
}

void watchdog_stop(void)
{
    if (atomic_exchange(&is_ending, true))
        watchdog_wait_for_end();
}
