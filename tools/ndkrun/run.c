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
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/schedule.h"
#include "call.h"
#include "device_request.h"
#include "exit_now.h"
#include "fault.h"
#include "frames.h"
#include "json_output.h"
#include "live/live.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/trace.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"
#include "output.h"
#include "peers.h"
#include "provider.h"
#include "registry.h"
#include "run_summary.h"
#include "scsi.h"
#include "status_text.h"
#include "verify/stop_hint.h"
#include "watchdog.h"
#include "wdk/common/missing.h"
#include "wdk/common/outside.h"

enum { STEP_MS = 20, IDLE_STEPS = 5, CALL_TIMEOUT_SECONDS = 10, MAX_RULES = 1024, JSON_FORMAT = 1 };

struct driver {
    const char *path;
    ondk_wdk_driver_t *driver;
    uint32_t status;
    int result;
    char error[1024];
    struct call call;
};

/*
 * Two threads use the first five members: the program's thread and the watchdog's thread. `options` and `json` do not
 * change after run_prepare, and the next three members are atomic. Only the program's thread uses the members from
 * `drivers` on.
 */
static struct {
    struct options *options;
    FILE *json;             /* receives the object of --json */
    atomic_uint loaded;     /* the number of drivers that are loaded in this round */
    atomic_uint round;      /* the number of the round, from 1; 0: none has begun */
    atomic_bool summarized; /* a thread has begun to print the summary */
    struct driver drivers[MAX_OPTIONS];
    bool has_failed_command, has_ended;
    uint32_t leaks, broken; /* numbers of leaks and of broken rules, which run_end_round sets */
    int code;               /* the exit code of the latest round that has ended */
} run;

/* The event for which the run waits. The report of --timeout contains both texts. `of` may be "". */
static struct phase {
    const char *what, *of;
} phase;
static pthread_mutex_t phase_lock = PTHREAD_MUTEX_INITIALIZER;

static FILE *out;

FILE *run_output(void)
{
    return out;
}

/* ---- An end without an unload ------------------------------------------------------------------------------------ */

static bool run_write_json(int code, bool is_unloaded);

/*
 * Prints the summary, unless another thread has begun to print it. A fault may happen while another thread ends the
 * run.
 */
static void run_print_summary(FILE *to, bool crashed)
{
    if (!run.options->quiet && !atomic_exchange(&run.summarized, true))
        run_summary_print(to, atomic_load(&run.round), crashed);
}

/* Writes the summary and the JSON object. The drivers stay loaded and may still run. */
static void run_report_end(int code)
{
    run_print_summary(out, false);
    fprintf(out, "ndkrun: no driver is unloaded\n");
    fflush(out);
    if (run.options->json)
        (void)run_write_json(code, false);
}

/* Ends the program without unloading the drivers, because a thread is still in a driver. */
__attribute__((noreturn)) static void run_abandon(void)
{
    watchdog_stop();
    watchdog_limit_report(NDKRUN_FINDING);
    run_report_end(NDKRUN_FINDING);
    exit_now(NDKRUN_FINDING);
}

/* ---- The time limit --------------------------------------------------------------------------------------------- */

/*
 * Begins a step of the run. From now on, the run waits for `what`. `of` is a driver's path, the name of a request, or
 * "". Does not return if the time limit has passed.
 */
static void run_set_phase(const char *what, const char *of)
{
    watchdog_pass();
    pthread_mutex_lock(&phase_lock);
    phase = (struct phase){ what, of };
    pthread_mutex_unlock(&phase_lock);
}

/* Reports that the time limit has passed. Runs on the watchdog's thread, while the drivers and the program continue. */
static void run_on_timeout(void)
{
    const struct options *o = run.options;
    struct phase p;

    pthread_mutex_lock(&phase_lock);
    p = phase;
    pthread_mutex_unlock(&phase_lock);
    fprintf(out, "ndkrun: --timeout: the run has not ended after %g seconds. It waits for %s%s%s\n", o->timeout, p.what,
            p.of[0] ? " of " : "", p.of);
    (void)ondk_wdk_report_requests(0, out);
    if (!frames_print_drivers(out, o->drivers, o->driver_count))
        fprintf(out, "  no thread is in a driver\n");
    (void)ondk_trace_print_last(out, OUTPUT_LAST_EVENTS);
    run_report_end(NDKRUN_TIMEOUT);
}

static bool run_start_watchdog(const struct options *o)
{
    run_set_phase("the beginning", "");
    if (!(o->timeout > 0) || watchdog_start(o->timeout, run_on_timeout, NDKRUN_TIMEOUT))
        return true;
    fprintf(out, "ndkrun: --timeout: no thread can be created\n");
    return false;
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
 * Sets when completions are reported. By default completions are delayed, as by the interrupts of a card. Some
 * published drivers depend on this delay, because they access a request's memory shortly after the post. Unless the
 * schedule is eager or random, the function also sets SCHED_BATCH. With SCHED_BATCH, a thread that wakes up does not
 * preempt a running thread, as at DISPATCH_LEVEL. All later threads inherit SCHED_BATCH. An error of sched_setscheduler
 * is ignored, because drivers work without SCHED_BATCH. --schedule overrides the environment; the default does not.
 */
static bool run_set_timing(const struct options *o)
{
    bool is_eager = o->schedule == SCHEDULE_EAGER || o->schedule == SCHEDULE_RANDOM;
    int overrides = o->schedule != SCHEDULE_STANDARD;

    if (!is_eager)
        (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
    return !setenv("ONDK_SPIN_US", is_eager ? "20" : "0", overrides) &&
           !setenv("ONDK_NOTIFY_US", is_eager ? "0" : "200", overrides);
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

/*
 * Forbids drivers to send to other machines if neither --net nor --map was given, because a driver may contain built-in
 * addresses of its author's machines.
 */
static void run_set_network(const struct options *o)
{
    if (o->net_count)
        missing_set_isolated(); /* the run has a network of its own */
    else if (!o->has_host_network && !o->has_map)
        outside_forbid();
}

/*
 * Sets the last line of each report after which the program stops. The line shows the options with which the program
 * continues.
 */
static void run_set_stop_hint(const struct options *o)
{
    static char option[1024];
    const char *setting = o->verify_text ? o->verify_text : getenv("ONDK_VERIFY");

    if (snprintf(option, sizeof option, "--verify %s", setting ? setting : "stop") < (int)sizeof option)
        report_set_stop_hint(option, "--verify");
}

/* Prints the summary after a crash, because run_end is not called. Called by a signal handler. */
static void run_print_crashed(FILE *to)
{
    run_print_summary(to, true);
}

bool run_prepare(struct options *o, FILE *json)
{
    run.options = o;
    run.json = json;
    out = run_set_timing(o) && run_set_close_report(o) ? output_open(o->until_print) : NULL;
    if (!out) {
        fprintf(stderr, "ndkrun: out of memory\n");
        return false;
    }
    ondk_wdk_set_output(out);
    run_set_network(o);
    run_set_stop_hint(o);
    if (o->trace && !live_start(!fault_has_sanitizer())) {
        fprintf(out, "ndkrun: --trace: no thread can be created\n");
        return false;
    }
    calls_init();
    fault_install_handlers(out, run_print_crashed);
    run_summary_begin();
    return registry_prepare(o, out) && run_set_files(o) && (!o->provider || provider_load(o->provider, out)) &&
           run_start_watchdog(o);
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

/* Reports a call that has not returned: what the driver holds, and the threads that are in a driver. */
static void run_report_hang(const struct driver *d, const char *what)
{
    const struct options *o = run.options;

    fprintf(out, "ndkrun: %s of %s has not returned for %d seconds. It holds:\n", what, d->path, CALL_TIMEOUT_SECONDS);
    ondk_wdk_report_driver(d->path, out);
    (void)frames_print_drivers(out, o->drivers, o->driver_count);
    (void)ondk_trace_print_last(out, OUTPUT_LAST_EVENTS);
    if (!call_interrupted())
        fprintf(out,
                "ndkrun: it still waits. Ctrl-C ends it without unloading, with exit status %d. --timeout SECONDS "
                "limits a run\n",
                NDKRUN_FINDING);
}

/*
 * Calls a driver on another thread. Returns true if the call succeeded. If the call does not return in time, prints for
 * which objects the driver may be waiting. Ctrl-C then ends the program.
 */
static bool driver_call(void (*routine)(void *), struct driver *d, const char *what)
{
    run_set_phase(what, d->path);
    if (!call_start(&d->call, routine, d)) {
        fprintf(out, "ndkrun: cannot create a thread for %s\n", what);
        d->result = -1;
        return false;
    }
    if (!call_wait(&d->call, CALL_TIMEOUT_SECONDS * 1000, false)) {
        run_report_hang(d, what);
        if (!call_wait(&d->call, -1, true)) {
            fprintf(out, "ndkrun: interrupted\n");
            run_abandon();
        }
    }
    return !d->result;
}

/* Begins a round: prints its number and its seed, and resets the state of the round before. */
static void run_begin_round(const struct options *o)
{
    uint32_t round = atomic_fetch_add(&run.round, 1) + 1, seed = o->seed + round - 1;

    atomic_store(&run.loaded, 0);
    run.has_failed_command = run.has_ended = false;
    output_forget_match();
    if (o->repeat > 1)
        fprintf(out, "ndkrun: round %u of %u\n", round, o->repeat);
    if (o->schedule != SCHEDULE_RANDOM)
        return;
    fprintf(out, "ndkrun: --schedule random:%u\n", seed);
    schedule_set_seed(seed);
}

bool run_start_servers(void)
{
    run_set_phase("a command of --server to listen", "");
    return peers_start_servers(out);
}

void run_start_clients(void)
{
    if (call_interrupted())
        return;
    run_set_phase("a driver to listen", "");
    peers_start_clients(out);
}

bool run_load(void)
{
    const struct options *o = run.options;

    run_begin_round(o);
    peers_begin_round(out);
    for (uint32_t i = 0; i < o->driver_count; i++) {
        struct driver *d = &run.drivers[i];

        d->path = o->drivers[i];
        if (!driver_call(driver_load, d, "DriverEntry")) {
            fprintf(out, "ndkrun: %s (%s)\n", d->error, status_text(d->status));
            return false;
        }
        fprintf(out, "ndkrun: %s is loaded\n", d->path);
        atomic_store(&run.loaded, i + 1);
    }
    return true;
}

/* Unloads the drivers in the reverse order of loading. Returns false if a driver could not be unloaded. */
static bool run_unload(void)
{
    bool ok = true;

    for (uint32_t i = atomic_load(&run.loaded); i > 0; i--) {
        struct driver *d = &run.drivers[i - 1];

        if (driver_call(driver_unload, d, "DriverUnload"))
            continue;
        fprintf(out, "ndkrun: %s (%s)\n", d->error, status_text(d->status));
        ok = false;
    }
    return ok;
}

/* ---- Commands and waiting --------------------------------------------------------------------------------------- */

static bool run_send_scsi(const char *words)
{
    run_set_phase("the command", words);
    return scsi_send(words, out);
}

bool run_send(void)
{
    const struct options *o = run.options;
    bool ok = true;

    for (uint32_t i = 0; i < o->request_count && !call_interrupted(); i++) {
        enum device_result result;

        run_set_phase("a request", o->requests[i].device);
        result = device_request_send(&o->requests[i], o->report_ms, out);
        if (result == DEVICE_HANGS)
            run_abandon();
        ok = result == DEVICE_SUCCEEDED && ok;
    }
    for (uint32_t i = 0; i < o->scsi_count && !call_interrupted(); i++)
        ok = run_send_scsi(o->scsi[i]) && ok;
    run.has_failed_command = !ok;
    return ok && !call_interrupted();
}

static double run_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const char *run_describe_end(const struct options *o)
{
    if (o->until_idle || o->until_print)
        return "the event that ends it";
    return o->client_count && o->run_for < 0 ? "the end of --client" : "its end, or Ctrl-C";
}

/*
 * Prints a command with which another program enters the network of --net. The network has no name, so the command
 * contains the process ID of ndkrun.
 */
static void run_print_network(const struct options *o)
{
    fprintf(out, "ndkrun: runs until Ctrl-C. A program in its network: nsenter -t %d %s-n COMMAND\n", (int)getpid(),
            o->has_user_namespace ? "-U --preserve-credentials " : "");
}

void run_wait(void)
{
    const struct options *o = run.options;
    bool has_end = o->run_for >= 0 || o->until_idle || o->until_print;
    double end = run_now() + o->run_for;
    int idle = 0;

    run_set_phase(run_describe_end(o), "");
    if (!has_end && !o->client_count && o->net_count)
        run_print_network(o);
    while (!call_interrupted() && !output_has_match() && idle < IDLE_STEPS && (o->run_for < 0 || run_now() < end) &&
           (!peers_have_ended(out) || has_end)) {
        poll(NULL, 0, STEP_MS);
        idle = o->until_idle && !ondk_wdk_busy() ? idle + 1 : 0;
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

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

/*
 * Writes the JSON object of the option --json. The caller must have called watchdog_stop, or be the watchdog's thread,
 * so that only one object is written. Returns false if the object could not be written completely.
 */
static bool run_write_json(int code, bool is_unloaded)
{
    const struct options *o = run.options;
    json_t *object = json_output_begin("ndkrun", JSON_FORMAT), *drivers = json_array();
    json_t *peers = is_unloaded ? peers_json() : NULL; /* before the unload, another thread may change the peers */
    bool has_leaks = is_unloaded && o->verify.mode == ONDK_VERIFY_OFF, is_written;
    uint32_t loaded = atomic_load(&run.loaded);

    provider_add(object);
    for (uint32_t i = 0; i < o->driver_count; i++)
        (void)json_array_append_new(
            drivers, json_pack("{s:o,s:b}", "file", json_output_text(o->drivers[i]), "loaded", i < loaded));
    (void)json_object_set_new(object, "drivers", drivers);
    if (peers)
        (void)json_object_set_new(object, "peers", peers);
    (void)json_object_set_new(object, "left", has_leaks ? json_integer(run.leaks) : json_null());
    (void)json_object_set_new(object, "rules_broken", json_integer(is_unloaded ? run.broken : ondk_verify_breaches()));
    (void)json_object_set_new(object, "advices", json_integer(ondk_verify_advices()));
    (void)json_object_set_new(object, "rules", run_count_rules());
    (void)json_object_set_new(object, "interrupted", json_boolean(call_interrupted()));
    (void)json_object_set_new(object, "exit", json_integer(code));
    (void)json_object_set_new(object, "summary", run_summary_json(atomic_load(&run.round)));
    is_written = json_output_write(run.json, object, 0) && fflush(run.json) == 0;
    json_decref(object);
    return is_written;
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

/*
 * Unloads the drivers, and counts leaks and broken rules. If verification is on, the unload of a driver reports the
 * driver's leaks and counts them as a broken rule, so the number of leaks stays 0. Returns the exit code.
 */
static int run_finish_round(void)
{
    bool is_unloaded;

    peers_begin_end(out);
    is_unloaded = run_unload();
    peers_end_round(out);
    run.leaks = run.options->verify.mode == ONDK_VERIFY_OFF ? ondk_wdk_report(out) : 0;
    run.broken = ondk_verify_breaches();
    if (run.leaks || run.broken || !is_unloaded)
        return NDKRUN_FINDING;
    if (!atomic_load(&run.round) && call_interrupted())
        return NDKRUN_OK; /* Ctrl-C was pressed while the run waited for a server */
    if (atomic_load(&run.loaded) < run.options->driver_count && !peers_have_failed())
        return NDKRUN_NOT_LOADED;
    return run.has_failed_command || peers_have_failed() ? NDKRUN_IOCTL_FAILED : NDKRUN_OK;
}

bool run_end_round(void)
{
    uint32_t round = atomic_load(&run.round), repeat = run.options->repeat;

    run.code = run_finish_round();
    run.has_ended = true;
    if (run.code != NDKRUN_OK && repeat > 1 && round)
        fprintf(out, "ndkrun: round %u of %u has a finding: no further round\n", round, repeat);
    return run.code == NDKRUN_OK && round < repeat && !call_interrupted();
}

static void run_print_verdict(void)
{
    uint32_t advices = ondk_verify_advices();

    if (run.leaks)
        fprintf(out, "ndkrun: %u thing%s left\n", run.leaks, run.leaks == 1 ? " was" : "s were");
    if (run.broken)
        fprintf(out, "ndkrun: %u rule%s broken\n", run.broken, run.broken == 1 ? " was" : "s were");
    if (advices)
        fprintf(out, "ndkrun: %u advice%s\n", advices, advices == 1 ? "" : "s");
    if (run.code == NDKRUN_OK)
        fprintf(out, "ndkrun: nothing left, no rule broken\n");
    else if (run.code == NDKRUN_IOCTL_FAILED)
        fprintf(out, "ndkrun: nothing left, no rule broken, but %s has failed\n",
                run.has_failed_command ? "a request" : "--server or --client");
}

int run_end(void)
{
    int code;

    if (!run.has_ended)
        (void)run_end_round();
    watchdog_stop();
    peers_end(out);
    code = run.code;
    ondk_verify_write_repeats();
    run_print_summary(out, false);
    run_print_verdict();
    fflush(out);
    if (code == NDKRUN_OK && output_lost())
        code = NDKRUN_LOST;
    if (run.options->json && !run_write_json(code, true) && code == NDKRUN_OK)
        code = NDKRUN_LOST;
    return code;
}
