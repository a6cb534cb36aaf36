/* SPDX-License-Identifier: MIT */
/* Ctrl-C: see interrupt.h. */
#include "interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change; /* its clock is CLOCK_MONOTONIC */
static bool received;         /* guarded by the lock */
static sigset_t signals;
static void (*callback)(void);

static void *interrupt_run(void *context)
{
    int number;

    (void)context;
    sigwait(&signals, &number);
    pthread_mutex_lock(&lock);
    received = true;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    if (callback)
        callback();
    sigwait(&signals, &number);
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
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* the signals then end the process at once */
}

bool interrupt_received(void)
{
    bool is_received;

    pthread_mutex_lock(&lock);
    is_received = received;
    pthread_mutex_unlock(&lock);
    return is_received;
}

bool interrupt_sleep(double seconds)
{
    struct timespec until;
    bool is_received;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&lock);
    while (!received && pthread_cond_timedwait(&change, &lock, &until) != ETIMEDOUT)
        ;
    is_received = received;
    pthread_mutex_unlock(&lock);
    return !is_received;
}
