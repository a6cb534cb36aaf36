/* SPDX-License-Identifier: MIT */
/* ndkrun: loads drivers, lets them run, unloads them, says what they left. See options.c for how it is called. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "ioctl.h"
#include "openndk/adapter.h"
#include "openndk/wdk.h"
#include "options.h"
#include "output.h"
#include "registry.h"
#include "scsi.h"

enum { STEP_MS = 20, IDLE_STEPS = 5, PATIENCE_SECONDS = 10, CRASH_FRAMES = 32, CRASH_OWN_FRAMES = 2,
       CRASH_STACK = 1 << 17 };

static FILE *out;
static volatile sig_atomic_t interrupted;

/* The second one ends at once whatever hangs. */
static void interrupt(int number)
{
    (void)number;
    if (interrupted)
        _exit(130);
    interrupted = 1;
}

/* What Windows answers with a bug check. The stream is used as it is: nothing can be lost, and alarm() ends a hang. */
static void crash(int number, siginfo_t *info, void *context)
{
    void *frames[CRASH_FRAMES];
    int depth = backtrace(frames, CRASH_FRAMES);

    (void)context;
    alarm(PATIENCE_SECONDS);
    signal(number, SIG_DFL);
    fprintf(out, "*** %s at %p: memory that is not there, or has been given back\n", strsignal(number), info->si_addr);
    for (int i = CRASH_OWN_FRAMES; i < depth; i++) {
        const char *at = (const char *)frames[i] - (i > CRASH_OWN_FRAMES); /* a return address lies behind its call */
        const char *file;
        Dl_info place;

        if (!dladdr(at, &place) || !place.dli_fname)
            continue;
        file = strrchr(place.dli_fname, '/');
        fprintf(out, "    #%d %s (%s+0x%zx)\n", i - CRASH_OWN_FRAMES, place.dli_sname ? place.dli_sname : "?",
                file ? file + 1 : place.dli_fname, (size_t)(at - (const char *)place.dli_fbase));
    }
    fflush(out);
    raise(number);
}

/*
 * Reports faults of every thread; those that the libraries make have a stack for the handler. A sanitizer has a better
 * report of its own.
 */
static void watch_crashes(void)
{
    struct sigaction action = { .sa_sigaction = crash, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    static char handler_stack[CRASH_STACK];

    if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init"))
        return;
    (void)sigaltstack(&(stack_t){ .ss_sp = handler_stack, .ss_size = sizeof handler_stack }, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Calls into a driver, which may hang ------------------------------------------------------------------------ */

struct call {
    const char *path;
    ondk_wdk_driver_t *driver;
    uint32_t status;
    int result;
    char error[1024];
    bool returned; /* under the lock */
};

static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_returned; /* its clock is CLOCK_MONOTONIC */

static void end_call(struct call *c)
{
    snprintf(c->error, sizeof c->error, "%s", c->result ? ondk_wdk_error() : "");
    pthread_mutex_lock(&call_lock);
    c->returned = true;
    pthread_cond_broadcast(&call_returned);
    pthread_mutex_unlock(&call_lock);
}

static void *run_load(void *context)
{
    struct call *c = context;

    c->result = ondk_wdk_load(c->path, NULL, &c->driver, &c->status);
    end_call(c);
    return NULL;
}

static void *run_unload(void *context)
{
    struct call *c = context;

    c->result = ondk_wdk_unload(c->driver, &c->status);
    end_call(c);
    return NULL;
}

/* False: the call has not returned within this time. */
static bool wait_for_call(struct call *c, int limit_seconds)
{
    struct timespec limit;
    int error = 0;
    bool returned;

    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += limit_seconds;
    pthread_mutex_lock(&call_lock);
    while (!c->returned && !error)
        error = pthread_cond_timedwait(&call_returned, &call_lock, &limit);
    returned = c->returned;
    pthread_mutex_unlock(&call_lock);
    return returned;
}

/* It may come yet; whoever does not want to wait presses Ctrl-C. */
static void wait_on(struct call *c)
{
    do {
        if (interrupted) {
            fprintf(out, "ndkrun: given up\n");
            fflush(out);
            _exit(NDKRUN_LEFT);
        }
    } while (!wait_for_call(c, 1));
}

/* Waits for it on a thread of its own, and after a while tells what the driver may be waiting for. */
static bool call(void *(*routine)(void *), struct call *c, const char *what)
{
    pthread_t thread;

    c->returned = false;
    if (pthread_create(&thread, NULL, routine, c)) {
        fprintf(out, "ndkrun: no thread for %s\n", what);
        c->result = -1;
        return false;
    }
    if (!wait_for_call(c, PATIENCE_SECONDS)) {
        fprintf(out, "ndkrun: %s of %s has not returned for %d seconds. What there is at the moment:\n", what, c->path,
                PATIENCE_SECONDS);
        ondk_wdk_report(out);
        wait_on(c);
    }
    pthread_join(thread, NULL);
    return !c->result;
}

static void init_calls(void)
{
    pthread_condattr_t clock;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&call_returned, &clock);
    pthread_condattr_destroy(&clock);
}

static uint32_t load_all(const struct options *o, struct call *calls)
{
    uint32_t loaded = 0;

    while (loaded < o->driver_count) {
        struct call *c = &calls[loaded];

        c->path = o->drivers[loaded];
        if (!call(run_load, c, "DriverEntry")) {
            fprintf(out, "ndkrun: %s (%s)\n", c->error, ondk_status_name((NTSTATUS)c->status));
            break;
        }
        fprintf(out, "ndkrun: %s is loaded\n", c->path);
        loaded++;
    }
    return loaded;
}

/* The last first. False: one of them stays. */
static bool unload_all(struct call *calls, uint32_t loaded)
{
    bool all = true;

    while (loaded > 0) {
        struct call *c = &calls[--loaded];

        if (call(run_unload, c, "DriverUnload"))
            continue;
        fprintf(out, "ndkrun: %s (%s)\n", c->error, ondk_status_name((NTSTATUS)c->status));
        all = false;
    }
    return all;
}

/* ---- The run --------------------------------------------------------------------------------------------- */

static void wait_for_end(const struct options *o)
{
    double end = seconds() + o->run_for;
    int idle = 0;

    while (!interrupted && !output_seen() && idle < IDLE_STEPS && (o->run_for < 0 || seconds() < end)) {
        poll(NULL, 0, STEP_MS);
        idle = o->until_idle && !ondk_wdk_busy() ? idle + 1 : 0;
    }
}

static bool send_all(const struct options *o)
{
    bool all = true;

    for (uint32_t i = 0; i < o->ioctl_count && !interrupted; i++)
        all = ioctl_send(o->ioctl[i], out) && all;
    for (uint32_t i = 0; i < o->scsi_count && !interrupted; i++)
        all = scsi_send(o->scsi[i], out) && all;
    return all;
}

/* With checks on each unload has told what its driver left. */
static bool clean(const struct options *o)
{
    uint32_t left = o->checks == ONDK_WDK_CHECKS_OFF ? ondk_wdk_report(out) : 0, broken = ondk_wdk_violations();

    if (left)
        fprintf(out, "ndkrun: %u thing%s left\n", left, left == 1 ? " was" : "s were");
    if (broken)
        fprintf(out, "ndkrun: %u rule%s broken\n", broken, broken == 1 ? " was" : "s were");
    return !left && !broken;
}

static int run(const struct options *o)
{
    static struct call calls[OPTIONS_MOST];
    bool sent = true, gone;
    uint32_t loaded;

    init_calls();
    loaded = load_all(o, calls);
    if (loaded == o->driver_count) {
        sent = send_all(o);
        wait_for_end(o);
    }
    gone = unload_all(calls, loaded);
    if (!clean(o) || !gone)
        return NDKRUN_LEFT;
    if (loaded < o->driver_count)
        return NDKRUN_NOT_LOADED;
    if (!sent)
        return NDKRUN_IOCTL_FAILED;
    fprintf(out, "ndkrun: nothing left, no rule broken\n");
    return NDKRUN_OK;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = interrupt };
    static struct options o;
    bool done;
    int code = options_parse(&o, argc, argv, &done);

    if (done)
        return code == NDKRUN_OK && fflush(stdout) != 0 ? NDKRUN_LOST : code;
    signal(SIGPIPE, SIG_IGN); /* `ip` and a symbol tool may be missing or end early */
    /*
     * Completions come as late as by a card's interrupt: published drivers touch what they have posted for a moment after
     * the post, and look at once for what the peer does with it. Nor does a thread that wakes take the processor from one
     * that runs, as at DISPATCH_LEVEL it would not; every thread inherits that, and where it cannot be had, drivers run
     * as well.
     */
    if (setenv("ONDK_SPIN_US", "0", 0) || setenv("ONDK_NOTIFY_US", "200", 0))
        return NDKRUN_USAGE;
    /* While checks are on, ndkrun's own report of a close that hangs has the stacks that made the objects. */
    if (o.checks != ONDK_WDK_CHECKS_OFF && setenv("ONDK_CLOSE_REPORT_MS", "0", 0))
        return NDKRUN_USAGE;
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
    if (!again_prepare(&o, argv))
        return NDKRUN_USAGE;
    out = output_open(o.until_print);
    if (!out)
        return NDKRUN_USAGE;
    ondk_wdk_set_output(out);
    ondk_wdk_set_checks(o.checks);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    watch_crashes();
    if (!registry_prepare(&o, out))
        return NDKRUN_USAGE;
    code = run(&o);
    fflush(out);
    return code == NDKRUN_OK && output_lost() ? NDKRUN_LOST : code;
}
