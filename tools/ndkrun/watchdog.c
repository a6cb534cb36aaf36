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

enum { REPORT_SECONDS = 10, NS_PER_SECOND = 1000000000 };

static struct {
    struct timespec pause;
    void (*on_timeout)(void);
    int status;
} dog;
static atomic_bool is_ending; /* set by the thread that ends the run */

static void watchdog_handle_alarm(int number)
{
    (void)number;
    _exit(dog.status);
}

static void *watchdog_run(void *argument)
{
    const struct sigaction action = { .sa_handler = watchdog_handle_alarm };

    (void)argument;
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &dog.pause, &dog.pause))
        ;
    if (atomic_exchange(&is_ending, true))
        return NULL;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(REPORT_SECONDS);
    dog.on_timeout();
    _exit(dog.status);
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
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's thread */
    error = pthread_create(&thread, &attributes, watchdog_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !error;
}

void watchdog_stop(void)
{
    if (!atomic_exchange(&is_ending, true))
        return;
    for (;;)
        (void)pause();
}
