/* SPDX-License-Identifier: MIT */
/* Runs calls into a driver: see call.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "call.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exit_now.h"

/*
 * SLICE_MS is the interval at which a wait checks for Ctrl-C. A check is necessary because a signal handler cannot
 * signal a condition variable.
 */
enum { SLICE_MS = 50, HANDLER_STACK = 1 << 17 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `returned` and `id` of all calls */
static pthread_cond_t any_returned;                      /* uses CLOCK_MONOTONIC */
static atomic_bool interrupted;                          /* lock-free, because a signal handler writes it */

/* Stores that Ctrl-C was pressed. At the second Ctrl-C ends the program, even if a driver hangs. */
static void call_handle_interrupt(int number)
{
    (void)number;
    if (atomic_exchange(&interrupted, true))
        exit_now(CALL_INTERRUPTED_TWICE);
}

bool call_interrupted(void)
{
    return atomic_load(&interrupted);
}

void call_interrupt(void)
{
    atomic_store(&interrupted, true);
}

void calls_init(void)
{
    struct sigaction action = { .sa_handler = call_handle_interrupt };
    pthread_condattr_t clock;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&any_returned, &clock);
    pthread_condattr_destroy(&clock);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/*
 * Sets a separate stack for signal handlers, because a driver may overflow the thread's own stack. Returns false if a
 * sanitizer has already set such a stack.
 */
static bool call_set_handler_stack(char *start, size_t size)
{
    stack_t now;

    return !sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE &&
           !sigaltstack(&(stack_t){ .ss_sp = start, .ss_size = size }, NULL);
}

static void *call_run(void *argument)
{
    struct call *c = argument;
    /*
     * Stack of the signal handlers. It is at the beginning of the thread's own stack. An overflow writes past the other
     * end of that stack, so this array stays intact.
     */
    char handlers[HANDLER_STACK];
    bool has_own = call_set_handler_stack(handlers, sizeof handlers);

    pthread_mutex_lock(&lock);
    c->id = (unsigned)syscall(SYS_gettid);
    pthread_mutex_unlock(&lock);
    c->routine(c->context);
    if (has_own)
        (void)sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    pthread_mutex_lock(&lock);
    c->returned = true;
    pthread_cond_broadcast(&any_returned);
    pthread_mutex_unlock(&lock);
    return NULL;
}

bool call_start(struct call *c, void (*routine)(void *context), void *context)
{
    sigset_t interrupts, before;
    int error;

    *c = (struct call){ .routine = routine, .context = context };
    /* The new thread blocks these signals, so that the program's thread handles them even if the new thread hangs. */
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &interrupts, &before);
    error = pthread_create(&c->thread, NULL, call_run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !error;
}

static struct timespec call_time_after(struct timespec t, int ms)
{
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static bool call_is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

bool call_wait(struct call *c, int limit_ms, bool until_interrupt)
{
    struct timespec now, limit, slice;
    bool returned, over = false;

    clock_gettime(CLOCK_MONOTONIC, &now);
    limit = call_time_after(now, limit_ms);
    pthread_mutex_lock(&lock);
    while (!c->returned && !over && !(until_interrupt && call_interrupted())) {
        slice = call_time_after(now, SLICE_MS);
        if (limit_ms >= 0 && call_is_before(limit, slice))
            slice = limit;
        (void)pthread_cond_timedwait(&any_returned, &lock, &slice);
        clock_gettime(CLOCK_MONOTONIC, &now);
        over = limit_ms >= 0 && !call_is_before(now, limit);
    }
    returned = c->returned;
    pthread_mutex_unlock(&lock);
    if (returned)
        pthread_join(c->thread, NULL);
    return returned;
}

bool call_has_returned(struct call *c)
{
    bool returned;

    pthread_mutex_lock(&lock);
    returned = c->returned;
    pthread_mutex_unlock(&lock);
    return returned;
}

unsigned call_thread_id(struct call *c)
{
    unsigned id;

    pthread_mutex_lock(&lock);
    id = c->id;
    pthread_mutex_unlock(&lock);
    return id;
}
