/* SPDX-License-Identifier: MIT */
/* ndkrun: loads drivers, runs them, unloads them, and reports leaks. options.c has the command line. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "frames.h"
#include "reexec.h"
#include "ioctl.h"
#include "json_output.h"
#include "live/live.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/trace.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"
#include "options.h"
#include "output.h"
#include "provider.h"
#include "registry.h"
#include "scsi.h"

enum {
    STEP_MS = 20,
    IDLE_STEPS = 5,
    CALL_TIMEOUT_SECONDS = 10,
    CRASH_FRAMES = 32,
    CRASH_OWN_FRAMES = 2,
    CRASH_STACK = 1 << 17,
    MAX_RULES = 1024,
    JSON_FORMAT = 1
};

static FILE *out;

/*
 * Handles faults such as SIGSEGV, for which Windows has a bug check. Writes to the output stream, so that buffered
 * output is not lost. Such a write is not async-signal-safe, so alarm() ends the program if the write deadlocks.
 */
static void ndkrun_handle_fault(int number, siginfo_t *info, void *context)
{
    void *frames[CRASH_FRAMES];
    int depth = backtrace(frames, CRASH_FRAMES);

    (void)context;
    alarm(CALL_TIMEOUT_SECONDS);
    signal(number, SIG_DFL);
    fprintf(out, "*** %s at %p: the memory is not mapped or was freed\n", strsignal(number), info->si_addr);
    for (int i = CRASH_OWN_FRAMES; i < depth; i++) /* a return address is after its call: subtract 1 */
        frames_print_line(out, i - CRASH_OWN_FRAMES, (const char *)frames[i] - (i > CRASH_OWN_FRAMES));
    fflush(out); /* before the events, which may fail */
    (void)ondk_trace_print_last(out, OUTPUT_LAST_EVENTS);
    fflush(out);
    raise(number);
}

/* Returns whether a sanitizer reports faults. */
static bool ndkrun_has_sanitizer(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/*
 * Installs the handler for the faults of all threads. The libraries' threads have a signal stack already. Installs
 * nothing under a sanitizer, because the sanitizer's own report is better.
 */
static void ndkrun_install_fault_handlers(void)
{
    struct sigaction action = { .sa_sigaction = ndkrun_handle_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    static char handler_stack[CRASH_STACK];

    if (ndkrun_has_sanitizer())
        return;
    (void)sigaltstack(&(stack_t){ .ss_sp = handler_stack, .ss_size = sizeof handler_stack }, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static double ndkrun_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Loading and unloading -------------------------------------------------------------------------------------- */

struct driver {
    const char *path;
    ondk_wdk_driver_t *driver;
    uint32_t status;
    int result;
    char error[1024];
    struct call call;
};

static void driver_store_error(struct driver *d)
{
    snprintf(d->error, sizeof d->error, "%s", d->result ? ondk_wdk_error() : "");
}

static void driver_load(void *context)
{
    struct driver *d = context;

    d->result = ondk_wdk_load(d->path, NULL, &d->driver, &d->status);
    driver_store_error(d);
}

static void driver_unload(void *context)
{
    struct driver *d = context;

    d->result = ondk_wdk_unload(d->driver, &d->status);
    driver_store_error(d);
}

/* Ends the program without unloading, because a thread is still in a driver. */
__attribute__((noreturn)) static void ndkrun_abandon(void)
{
    fflush(out);
    _exit(NDKRUN_FINDING);
}

/* Calls a driver on another thread. If the call does not return in time, prints what the driver may be waiting for. */
static bool driver_call(void (*routine)(void *), struct driver *d, const char *what)
{
    if (!call_start(&d->call, routine, d)) {
        fprintf(out, "ndkrun: cannot create a thread for %s\n", what);
        d->result = -1;
        return false;
    }
    if (!call_wait(&d->call, CALL_TIMEOUT_SECONDS * 1000, false)) {
        fprintf(out, "ndkrun: %s of %s has not returned for %d seconds. It holds:\n", what, d->path,
                CALL_TIMEOUT_SECONDS);
        ondk_wdk_report_driver(d->path, out);
        (void)ondk_trace_print_last(out, OUTPUT_LAST_EVENTS);
        if (!call_wait(&d->call, -1, true)) {
            fprintf(out, "ndkrun: interrupted\n");
            ndkrun_abandon();
        }
    }
    return !d->result;
}

static uint32_t ndkrun_load_drivers(const struct options *o, struct driver *drivers)
{
    uint32_t loaded = 0;

    while (loaded < o->driver_count) {
        struct driver *d = &drivers[loaded];

        d->path = o->drivers[loaded];
        if (!driver_call(driver_load, d, "DriverEntry")) {
            fprintf(out, "ndkrun: %s (%s)\n", d->error, ondk_status_name((NTSTATUS)d->status));
            break;
        }
        fprintf(out, "ndkrun: %s is loaded\n", d->path);
        loaded++;
    }
    return loaded;
}

/* Unloads the drivers, the last one first. Returns false if a driver could not be unloaded. */
static bool ndkrun_unload_drivers(struct driver *drivers, uint32_t loaded)
{
    bool ok = true;

    while (loaded > 0) {
        struct driver *d = &drivers[--loaded];

        if (driver_call(driver_unload, d, "DriverUnload"))
            continue;
        fprintf(out, "ndkrun: %s (%s)\n", d->error, ondk_status_name((NTSTATUS)d->status));
        ok = false;
    }
    return ok;
}

/* ---- The summary ------------------------------------------------------------------------------------------ */

/* What --json prints. */
struct summary {
    uint32_t loaded, leaks, broken;
    bool is_interrupted;
};

/* Returns an object with the number of reports of each rule that was reported. */
static json_t *ndkrun_count_rules(void)
{
    static ondk_verify_rule_t rules[MAX_RULES];
    uint32_t count = ondk_verify_rules(rules, MAX_RULES);
    json_t *object = json_object();

    for (uint32_t i = 0; i < count && i < MAX_RULES; i++)
        if (rules[i].reports)
            (void)json_object_set_new(object, rules[i].name, json_integer(rules[i].reports));
    return object;
}

/* Writes the JSON object of --json. Returns false if the object could not be written. */
static bool ndkrun_write_json(const struct options *o, const struct summary *s, int code)
{
    json_t *object = json_output_begin("ndkrun", JSON_FORMAT), *drivers = json_array();
    bool is_written;

    provider_add(object);
    for (uint32_t i = 0; i < o->driver_count; i++)
        (void)json_array_append_new(
            drivers, json_pack("{s:o,s:b}", "file", json_output_text(o->drivers[i]), "loaded", i < s->loaded));
    (void)json_object_set_new(object, "drivers", drivers);
    (void)json_object_set_new(object, "left", o->verify.mode == ONDK_VERIFY_OFF ? json_integer(s->leaks) : json_null());
    (void)json_object_set_new(object, "rules_broken", json_integer(s->broken));
    (void)json_object_set_new(object, "advices", json_integer(ondk_verify_advices()));
    (void)json_object_set_new(object, "rules", ndkrun_count_rules());
    (void)json_object_set_new(object, "interrupted", json_boolean(s->is_interrupted));
    (void)json_object_set_new(object, "exit", json_integer(code));
    is_written = json_output_write(stdout, object, 0) && fflush(stdout) == 0;
    json_decref(object);
    return is_written;
}

/* ---- The run --------------------------------------------------------------------------------------------- */

static void ndkrun_wait(const struct options *o)
{
    double end = ndkrun_now() + o->run_for;
    int idle = 0;

    while (!call_interrupted() && !output_has_match() && idle < IDLE_STEPS && (o->run_for < 0 || ndkrun_now() < end)) {
        poll(NULL, 0, STEP_MS);
        idle = o->until_idle && !ondk_wdk_busy() ? idle + 1 : 0;
    }
}

static bool ndkrun_send_commands(const struct options *o)
{
    bool ok = true;

    for (uint32_t i = 0; i < o->ioctl_count && !call_interrupted(); i++) {
        enum ioctl_result result = ioctl_send(o->ioctl[i], o->report_ms, out);

        if (result == IOCTL_HANGS)
            ndkrun_abandon();
        ok = result == IOCTL_SUCCEEDED && ok;
    }
    for (uint32_t i = 0; i < o->scsi_count && !call_interrupted(); i++)
        ok = scsi_send(o->scsi[i], out) && ok;
    return ok;
}

/*
 * Returns true if nothing leaked and no rule was broken. If verification is on, the unload of a driver reports the
 * driver's leaks, and counts them as a broken rule.
 */
static bool ndkrun_is_clean(const struct options *o, struct summary *s)
{
    uint32_t leaks = o->verify.mode == ONDK_VERIFY_OFF ? ondk_wdk_report(out) : 0, broken = ondk_verify_breaches();
    uint32_t advices = ondk_verify_advices();

    s->leaks = leaks;
    s->broken = broken;
    ondk_verify_write_repeats();
    if (leaks)
        fprintf(out, "ndkrun: %u thing%s left\n", leaks, leaks == 1 ? " was" : "s were");
    if (broken)
        fprintf(out, "ndkrun: %u rule%s broken\n", broken, broken == 1 ? " was" : "s were");
    if (advices)
        fprintf(out, "ndkrun: %u advice%s\n", advices, advices == 1 ? "" : "s");
    return !leaks && !broken;
}

/* Sets the directory of the drivers' files. If there is no such directory, prints a message and returns false. */
static bool ndkrun_prepare_files(const struct options *o)
{
    if (!o->files || !ondk_wdk_set_file_root(o->files))
        return true;
    fprintf(out, "ndkrun: --files %s\n", ondk_wdk_error());
    return false;
}

static int ndkrun_run(const struct options *o, struct summary *s)
{
    static struct driver drivers[MAX_OPTIONS];
    bool sent = true, unloaded;
    uint32_t loaded = ndkrun_load_drivers(o, drivers);

    s->loaded = loaded;
    if (loaded == o->driver_count) {
        sent = ndkrun_send_commands(o);
        ndkrun_wait(o);
    }
    unloaded = ndkrun_unload_drivers(drivers, loaded);
    s->is_interrupted = call_interrupted();
    if (!ndkrun_is_clean(o, s) || !unloaded)
        return NDKRUN_FINDING;
    if (loaded < o->driver_count)
        return NDKRUN_NOT_LOADED;
    if (!sent)
        return NDKRUN_IOCTL_FAILED;
    fprintf(out, "ndkrun: nothing left, no rule broken\n");
    return NDKRUN_OK;
}

/* Returns the time after which a pending device control is reported. It is the provider's setting close_report_ms. */
static uint32_t ndkrun_report_ms(void)
{
    ondk_config_t config;

    ondk_config_init(&config);
    return config.close_report_ms;
}

int main(int argc, char **argv)
{
    static struct options o;
    static struct summary summary;
    int code = options_parse(&o, argc, argv); /* also ignores SIGPIPE, because `ip` or a symbol tool may end early */

    if (code >= 0)
        return code;
    /*
     * These settings delay completions, as a card's interrupts do. Some published drivers depend on the delay, because
     * they access a request's memory shortly after the post. With SCHED_BATCH a thread that wakes does not preempt a
     * running thread, as at DISPATCH_LEVEL. Every thread inherits SCHED_BATCH. If the policy cannot be set, drivers
     * work nevertheless.
     */
    if (setenv("ONDK_SPIN_US", "0", 0) || setenv("ONDK_NOTIFY_US", "200", 0))
        return NDKRUN_USAGE;
    o.report_ms = ndkrun_report_ms();
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
    if (!reexec_prepare(&o, argv))
        return NDKRUN_USAGE;
    /*
     * If verification is on, ndkrun itself reports a close that hangs, with the stacks that created the objects.
     * Therefore the provider's report is turned off. The variable must be set after reexec_prepare, which may execute
     * ndkrun again. Otherwise the new ndkrun would inherit the 0, and ndkrun_report_ms would return the 0.
     */
    if (o.verify.mode != ONDK_VERIFY_OFF && setenv("ONDK_CLOSE_REPORT_MS", "0", 0))
        return NDKRUN_USAGE;
    out = output_open(o.until_print);
    if (!out)
        return NDKRUN_USAGE;
    ondk_wdk_set_output(out);
    if (o.trace && !live_start(!ndkrun_has_sanitizer())) {
        fprintf(out, "ndkrun: --trace: no thread can be created\n");
        return NDKRUN_USAGE;
    }
    calls_init();
    ndkrun_install_fault_handlers();
    if (!registry_prepare(&o, out) || !ndkrun_prepare_files(&o) || (o.provider && !provider_load(o.provider, out)))
        return NDKRUN_USAGE;
    code = ndkrun_run(&o, &summary);
    fflush(out);
    if (code == NDKRUN_OK && output_lost())
        code = NDKRUN_LOST;
    if (o.json && !ndkrun_write_json(&o, &summary, code) && code == NDKRUN_OK)
        code = NDKRUN_LOST;
    return code;
}
