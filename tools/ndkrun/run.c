/* SPDX-License-Identifier: MIT */
/*
 * Executes a run of drivers: see run.h. Each call into a driver runs on its own thread (call.h). So a driver that hangs
 * is reported and does not block ndkrun.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "run.h"

#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "device_request.h"
#include "fault.h"
#include "json_output.h"
#include "live/live.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/trace.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"
#include "output.h"
#include "provider.h"
#include "registry.h"
#include "scsi.h"
#include "status_text.h"

enum { STEP_MS = 20, IDLE_STEPS = 5, CALL_TIMEOUT_SECONDS = 10, MAX_RULES = 1024, JSON_FORMAT = 1 };

struct driver {
    const char *path;
    ondk_wdk_driver_t *driver;
    uint32_t status;
    int result;
    char error[1024];
    struct call call;
};

static struct {
    struct options *options;
    struct driver drivers[MAX_OPTIONS];
    uint32_t loaded;
    bool has_failed_command;
    uint32_t leaks, broken; /* numbers of leaks and of broken rules, which run_end sets */
} run;

static FILE *out;

FILE *run_output(void)
{
    return out;
}

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

/* Returns the time after which a pending request to a device is reported: the provider's setting close_report_ms. */
static uint32_t run_report_ms(void)
{
    ondk_config_t config;

    ondk_config_init(&config);
    return config.close_report_ms;
}

/*
 * Delays completions, as the interrupts of a card do. Some published drivers depend on this delay, because they access
 * a request's memory shortly after the post. Also sets SCHED_BATCH, with which a thread that wakes up does not preempt
 * a running thread, as at DISPATCH_LEVEL. All later threads inherit SCHED_BATCH. An error of this call is ignored,
 * because drivers work without it.
 */
static bool run_set_timing(void)
{
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
    return !setenv("ONDK_SPIN_US", "0", 0) && !setenv("ONDK_NOTIFY_US", "200", 0);
}

/*
 * Turns off the provider's report of a close that hangs, because ndkrun's own report also has the stacks of the
 * objects' creation. If verification is off, such stacks do not exist, and the provider's report stays on.
 */
static bool run_set_close_report(struct options *o)
{
    o->report_ms = run_report_ms();
    return o->verify.mode == ONDK_VERIFY_OFF || !setenv("ONDK_CLOSE_REPORT_MS", "0", 1);
}

/*
 * Sets the directory that contains the drivers' files. If there is no such directory, prints a message and returns
 * false.
 */
static bool run_set_files(const struct options *o)
{
    if (!o->files || !ondk_wdk_set_file_root(o->files))
        return true;
    fprintf(out, "ndkrun: --files %s\n", ondk_wdk_error());
    return false;
}

bool run_prepare(struct options *o)
{
    run.options = o;
    if (!run_set_timing() || !run_set_close_report(o))
        return false;
    out = output_open(o->until_print);
    if (!out)
        return false;
    ondk_wdk_set_output(out);
    if (o->trace && !live_start(!fault_has_sanitizer())) {
        fprintf(out, "ndkrun: --trace: no thread can be created\n");
        return false;
    }
    calls_init();
    fault_install_handlers(out);
    return registry_prepare(o, out) && run_set_files(o) && (!o->provider || provider_load(o->provider, out));
}

/* ---- Loading and unloading -------------------------------------------------------------------------------------- */

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

/* Ends the program without unloading the drivers, because a thread is still in a driver. */
__attribute__((noreturn)) static void run_abandon(void)
{
    fflush(out);
    _exit(NDKRUN_FINDING);
}

/*
 * Calls a driver on another thread. If the call does not return in time, prints for which objects the driver may be
 * waiting.
 */
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
            run_abandon();
        }
    }
    return !d->result;
}

bool run_load(void)
{
    const struct options *o = run.options;

    while (run.loaded < o->driver_count) {
        struct driver *d = &run.drivers[run.loaded];

        d->path = o->drivers[run.loaded];
        if (!driver_call(driver_load, d, "DriverEntry")) {
            fprintf(out, "ndkrun: %s (%s)\n", d->error, status_text(d->status));
            return false;
        }
        fprintf(out, "ndkrun: %s is loaded\n", d->path);
        run.loaded++;
    }
    return true;
}

/* Unloads the drivers in the reverse order of loading. Returns false if a driver could not be unloaded. */
static bool run_unload(void)
{
    bool ok = true;

    for (uint32_t i = run.loaded; i > 0; i--) {
        struct driver *d = &run.drivers[i - 1];

        if (driver_call(driver_unload, d, "DriverUnload"))
            continue;
        fprintf(out, "ndkrun: %s (%s)\n", d->error, status_text(d->status));
        ok = false;
    }
    return ok;
}

/* ---- Commands and waiting --------------------------------------------------------------------------------------- */

bool run_send(void)
{
    const struct options *o = run.options;
    bool ok = true;

    for (uint32_t i = 0; i < o->request_count && !call_interrupted(); i++) {
        enum device_result result = device_request_send(&o->requests[i], o->report_ms, out);

        if (result == DEVICE_HANGS)
            run_abandon();
        ok = result == DEVICE_SUCCEEDED && ok;
    }
    for (uint32_t i = 0; i < o->scsi_count && !call_interrupted(); i++)
        ok = scsi_send(o->scsi[i], out) && ok;
    run.has_failed_command = !ok;
    return ok && !call_interrupted();
}

static double run_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void run_wait(void)
{
    const struct options *o = run.options;
    double end = run_now() + o->run_for;
    int idle = 0;

    while (!call_interrupted() && !output_has_match() && idle < IDLE_STEPS && (o->run_for < 0 || run_now() < end)) {
        poll(NULL, 0, STEP_MS);
        idle = o->until_idle && !ondk_wdk_busy() ? idle + 1 : 0;
    }
}

/* ---- The summary ------------------------------------------------------------------------------------------------ */

/* Returns an object that contains the number of reports for each reported rule. */
static json_t *run_count_rules(void)
{
    static ondk_verify_rule_t rules[MAX_RULES];
    uint32_t count = ondk_verify_rules(rules, MAX_RULES);
    json_t *object = json_object();

    for (uint32_t i = 0; i < count && i < MAX_RULES; i++)
        if (rules[i].reports)
            (void)json_object_set_new(object, rules[i].name, json_integer(rules[i].reports));
    return object;
}

/* Writes the JSON object of the option --json. Returns false if the object could not be written completely. */
static bool run_write_json(FILE *json, int code)
{
    const struct options *o = run.options;
    json_t *object = json_output_begin("ndkrun", JSON_FORMAT), *drivers = json_array();
    bool is_written;

    provider_add(object);
    for (uint32_t i = 0; i < o->driver_count; i++)
        (void)json_array_append_new(
            drivers, json_pack("{s:o,s:b}", "file", json_output_text(o->drivers[i]), "loaded", i < run.loaded));
    (void)json_object_set_new(object, "drivers", drivers);
    (void)json_object_set_new(object, "left",
                              o->verify.mode == ONDK_VERIFY_OFF ? json_integer(run.leaks) : json_null());
    (void)json_object_set_new(object, "rules_broken", json_integer(run.broken));
    (void)json_object_set_new(object, "advices", json_integer(ondk_verify_advices()));
    (void)json_object_set_new(object, "rules", run_count_rules());
    (void)json_object_set_new(object, "interrupted", json_boolean(call_interrupted()));
    (void)json_object_set_new(object, "exit", json_integer(code));
    is_written = json_output_write(json, object, 0) && fflush(json) == 0;
    json_decref(object);
    return is_written;
}

/*
 * Returns true if nothing leaked and no rule was broken. If verification is on, the unload of a driver has already
 * reported the driver's leaks, and has counted them as a broken rule.
 */
static bool run_is_clean(void)
{
    uint32_t leaks = run.options->verify.mode == ONDK_VERIFY_OFF ? ondk_wdk_report(out) : 0;
    uint32_t broken = ondk_verify_breaches(), advices = ondk_verify_advices();

    run.leaks = leaks;
    run.broken = broken;
    ondk_verify_write_repeats();
    if (leaks)
        fprintf(out, "ndkrun: %u thing%s left\n", leaks, leaks == 1 ? " was" : "s were");
    if (broken)
        fprintf(out, "ndkrun: %u rule%s broken\n", broken, broken == 1 ? " was" : "s were");
    if (advices)
        fprintf(out, "ndkrun: %u advice%s\n", advices, advices == 1 ? "" : "s");
    return !leaks && !broken;
}

static int run_finish(void)
{
    bool is_unloaded = run_unload();

    if (!run_is_clean() || !is_unloaded)
        return NDKRUN_FINDING;
    if (run.loaded < run.options->driver_count)
        return NDKRUN_NOT_LOADED;
    if (run.has_failed_command)
        return NDKRUN_IOCTL_FAILED;
    fprintf(out, "ndkrun: nothing left, no rule broken\n");
    return NDKRUN_OK;
}

int run_end(FILE *json)
{
    int code = run_finish();

    fflush(out);
    if (code == NDKRUN_OK && output_lost())
        code = NDKRUN_LOST;
    if (run.options->json && !run_write_json(json, code) && code == NDKRUN_OK)
        code = NDKRUN_LOST;
    return code;
}
