/* SPDX-License-Identifier: MIT */
/*
 * The nbdkit plugin openndk: loads drivers as ndkrun does (run.h), and serves the disks of the first Storport adapter.
 * The name of each export is the address of its disk, for example "0:0:0". nbdkit calls the plugin in this order:
 *
 *   load, config             hides clients that hang up from nbdkit (hang_up.h), and stores the options of ndkrun,
 *                            which nbdkit passes as parameters
 *   after_fork               loads the drivers, and starts the watch: a thread that waits for a signal, or for an end
 *                            that an option requests, and then ends the connections and nbdkit
 *   open, pread, close ...   serves a request: nbdkit's thread sends SCSI commands and waits for them
 *   unload                   unloads the drivers after the last request, prints the report, and sets the exit status
 *                            of nbdkit
 *
 * The plugin stays mapped after unload, because threads of the libraries may still run (link option -z nodelete).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "call.h"
#include "connections.h"
#include "exit_now.h"
#include "hang_up.h"
#include "nbd.h"
#include "options.h"
#include "run.h"
#include "unit.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

/* plugin_watch waits END_STEP_MS in each step. After END_REPORT_STEPS steps (10 seconds) it reports requests. */
enum { END_STEP_MS = 50, END_REPORT_STEPS = 200 };

static struct options options;
static int exit_code = -1; /* exit code of the process; negative: nbdkit chooses the exit code */
static int folder;         /* descriptor of the folder in which nbdkit was started; a daemon leaves this folder */
static FILE *json;         /* the original standard output, which nbdkit replaces by /dev/null */
static bool is_running;    /* the drivers are loaded, and the watch is running */
static ondk_wdk_device_t *adapter;
static pthread_t watch;
static atomic_bool is_ending; /* new connections are refused */
static atomic_bool has_ended; /* nbdkit has closed its last connection */
static atomic_int n_handles;  /* number of handles that `open` has returned and `close` has not closed */

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

/* Removes the socket of ndkrun --nbd, which nbdkit leaves behind. Async-signal-safe. */
static void plugin_remove_socket(void)
{
    if (options.nbd)
        (void)unlink(options.nbd);
}

/* Sets the exit code, because nbdkit exits with 0 after a signal. Runs at the end of the process. */
static void plugin_exit(void)
{
    exit_clean_up();
    if (exit_code >= 0)
        _exit(exit_code);
}

/*
 * Allocates memory, which initializes a preloaded sanitizer runtime (nbd.h). This constructor runs before those of all
 * other libraries (link option -z initfirst). Otherwise nbdkit might hang at the end of the process:
 * libp11-kit, a library of nbdkit, calls newlocale in its constructor. The first allocation would be in newlocale,
 * which holds a lock. The runtime's initialization calls dlerror, which would release that lock. If nbdkit then printed
 * an error, freelocale would wait for the lock forever.
 */
__attribute__((constructor)) static void plugin_initialize_runtime(void)
{
    void *volatile memory = malloc(1);

    free(memory);
}

static void plugin_load(void)
{
    if (getenv(NBD_PRELOADED)) { /* this process must not pass on the preloaded runtime to programs that it starts */
        unsetenv(NBD_PRELOADED);
        unsetenv("LD_PRELOAD");
    }
    hang_up_hide();
    options_init(&options);
    (void)atexit(plugin_exit);
}

static int plugin_fail_usage(void)
{
    exit_code = NDKRUN_USAGE;
    return -1;
}

static int plugin_config(const char *key, const char *value)
{
    const char *wrong = options_needs_ndkrun(key, value) ? "only ndkrun has this option"
                                                         : options_set(&options, key, value);

    if (!wrong)
        return 0;
    nbdkit_error("%s=%s: %s", key, value, wrong);
    return plugin_fail_usage();
}

static int plugin_config_complete(void)
{
    const char *wrong = options_check(&options);

    if (!wrong)
        return 0;
    nbdkit_error("%s", wrong);
    return plugin_fail_usage();
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

static int plugin_get_ready(void)
{
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    json = output < 0 ? NULL : fdopen(output, "w");
    if (folder >= 0 && json)
        return 0;
    nbdkit_error("standard output or the current folder cannot be opened: %m");
    return -1;
}

static void plugin_report_requests(void)
{
    fprintf(run_output(), "ndkrun: the drivers have not completed requests for %d seconds; Ctrl-C ends at once\n",
            END_REPORT_STEPS * END_STEP_MS / 1000);
    (void)ondk_wdk_report_requests(0, run_output());
}

/*
 * Waits until a signal or an option requests the end. Ends the connections, and then nbdkit. In the other order, nbdkit
 * would leave handles open. Ends the connections repeatedly, because nbdkit may be accepting another one meanwhile.
 */
static void *plugin_watch(void *context)
{
    (void)context;
    run_wait();
    atomic_store(&is_ending, true);
    for (int step = 0; !atomic_load(&has_ended) && (connections_end() || atomic_load(&n_handles)); step++) {
        if (step == END_REPORT_STEPS)
            plugin_report_requests();
        (void)usleep(END_STEP_MS * 1000);
    }
    nbdkit_shutdown();
    return NULL;
}

/* Unloads the drivers. Returns the exit code of the run. */
static int plugin_end_run(void)
{
    if (adapter)
        ondk_wdk_close(adapter);
    return run_end();
}

static void plugin_print_disks(void)
{
    struct adapter_unit units[ADAPTER_MAX_UNITS];
    uint32_t count = adapter_list_disks(adapter, units);

    for (uint32_t i = 0; i < count; i++)
        fprintf(run_output(), "ndkrun: disk %s, %s\n", units[i].address, units[i].model);
    if (!count)
        fprintf(run_output(), "ndkrun: no disk yet; a disk can be opened when the miniport has reported it\n");
}

static int plugin_after_fork(void)
{
    exit_set_clean_up(plugin_remove_socket);
    connections_find_listeners();
    if (fchdir(folder) || !run_prepare(&options, json))
        return plugin_fail_usage();
    if (run_load() && run_send() && adapter_open(&adapter, run_output()) &&
        !pthread_create(&watch, NULL, plugin_watch, NULL)) {
        is_running = true;
        plugin_print_disks();
        return 0;
    }
    exit_code = plugin_end_run();
    if (exit_code == NDKRUN_OK && !call_interrupted())
        exit_code = NDKRUN_NOT_LOADED; /* the run had no failure, but there is no adapter or no thread for the watch */
    return -1;
}

/*
 * Unloads the drivers. Sets exit_code only if the run's exit code is not 0. If exit_code is not set, plugin_exit does
 * not call _exit, so a leak checker runs.
 */
static void plugin_unload(void)
{
    int code;

    if (!is_running)
        return;
    if (!atomic_load(&is_ending))
        call_interrupt(); /* SIGHUP or a filter ends nbdkit, but does not wake the watch */
    atomic_store(&has_ended, true);
    pthread_join(watch, NULL);
    code = plugin_end_run();
    if (code)
        exit_code = code;
}

/* ---- Exports ----------------------------------------------------------------------------------------------------- */

static int plugin_list_exports(int readonly, int is_tls, struct nbdkit_exports *exports)
{
    struct adapter_unit units[ADAPTER_MAX_UNITS];
    uint32_t count = adapter_list_disks(adapter, units);

    (void)readonly;
    (void)is_tls;
    for (uint32_t i = 0; i < count; i++)
        if (nbdkit_add_export(exports, units[i].address, units[i].model))
            return -1;
    return 0;
}

static const char *plugin_default_export(int readonly, int is_tls)
{
    struct adapter_unit units[ADAPTER_MAX_UNITS];

    (void)readonly;
    (void)is_tls;
    return adapter_list_disks(adapter, units) ? nbdkit_strdup_intern(units[0].address) : NULL;
}

/* Finds the disk with this address. Returns false if the adapter has no such disk. */
static bool plugin_find_disk(const char *address, struct adapter_unit *unit)
{
    struct adapter_unit units[ADAPTER_MAX_UNITS];
    uint32_t count = adapter_list_disks(adapter, units);

    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(units[i].address, address)) {
            *unit = units[i];
            return true;
        }
    return false;
}

static int plugin_preconnect(int readonly)
{
    (void)readonly;
    return atomic_load(&is_ending) ? -1 : 0;
}

static const char *plugin_export_description(void *handle)
{
    const struct unit *u = handle;
    struct adapter_unit found;
    char address[sizeof found.address];

    snprintf(address, sizeof address, "%u:%u:%u", u->path, u->target, u->lun);
    return plugin_find_disk(address, &found) ? nbdkit_strdup_intern(found.model) : NULL;
}

static int plugin_report_error(const struct unit_error *e)
{
    nbdkit_error("%s", e->text);
    nbdkit_set_error(e->number);
    return -1;
}

static void *plugin_open(int readonly)
{
    const char *name = nbdkit_export_name();
    struct adapter_unit found;
    struct unit_error e;
    struct unit *u;

    (void)readonly; /* unused: nbdkit itself refuses writes to a read-only export */
    if (!name || !plugin_find_disk(name, &found)) {
        nbdkit_error("export '%s': the adapter has no such disk", name ? name : "");
        return NULL;
    }
    u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    *u = (struct unit){ .adapter = adapter,
                        .path = found.path,
                        .target = found.target,
                        .lun = found.lun,
                        .timeout = options.nbd_timeout,
                        .adapter_max_transfer = adapter_max_transfer(adapter) };
    if (unit_init(u, &e)) {
        atomic_fetch_add(&n_handles, 1);
        return u;
    }
    (void)plugin_report_error(&e);
    free(u);
    return NULL;
}

static void plugin_close(void *handle)
{
    free(handle);
    atomic_fetch_sub(&n_handles, 1);
}

/* ---- Abilities --------------------------------------------------------------------------------------------------- */

static int64_t plugin_get_size(void *handle)
{
    return (int64_t)((const struct unit *)handle)->size;
}

static int plugin_block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
    const struct unit *u = handle;

    *minimum = u->block_size;
    *preferred = u->best_size;
    *maximum = UINT32_MAX; /* a request that is larger than a command's maximum is split */
    return 0;
}

static int plugin_can_write(void *handle)
{
    return !((const struct unit *)handle)->is_read_only;
}

static int plugin_can_flush(void *handle)
{
    (void)handle;
    return 1;
}

static int plugin_can_fua(void *handle)
{
    return ((const struct unit *)handle)->has_fua ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_EMULATE;
}

static int plugin_can_trim(void *handle)
{
    return ((const struct unit *)handle)->max_unmap_blocks > 0;
}

static int plugin_can_zero(void *handle)
{
    return ((const struct unit *)handle)->max_write_same_blocks > 0;
}

/* Returns 1, because all connections to an export use one disk: a flush on one connection writes the data of all. */
static int plugin_can_multi_conn(void *handle)
{
    (void)handle;
    return 1;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static int plugin_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct unit_error e;

    (void)flags;
    return unit_read(handle, buf, count, offset, &e) ? 0 : plugin_report_error(&e);
}

static int plugin_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct unit_error e;

    return unit_write(handle, buf, count, offset, flags & NBDKIT_FLAG_FUA, &e) ? 0 : plugin_report_error(&e);
}

static int plugin_flush(void *handle, uint32_t flags)
{
    struct unit_error e;

    (void)flags;
    return unit_flush(handle, &e) ? 0 : plugin_report_error(&e);
}

static int plugin_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct unit_error e;

    if (!unit_trim(handle, count, offset, &e))
        return plugin_report_error(&e);
    return flags & NBDKIT_FLAG_FUA ? plugin_flush(handle, 0) : 0; /* UNMAP has no FUA bit; a flush replaces it */
}

static int plugin_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
    struct unit_error e;

    if (!unit_zero(handle, count, offset, flags & NBDKIT_FLAG_MAY_TRIM, &e)) {
        if (e.number != EOPNOTSUPP)
            return plugin_report_error(&e);
        nbdkit_set_error(EOPNOTSUPP); /* nbdkit then writes zeros itself */
        return -1;
    }
    /* WRITE SAME has no FUA bit; a flush replaces it */
    return flags & NBDKIT_FLAG_FUA ? plugin_flush(handle, 0) : 0;
}

/* ---- Registration ------------------------------------------------------------------------------------------------ */

static struct nbdkit_plugin plugin = {
    .name = "openndk",
    .longname = "disks of Windows Storport miniports",
    .version = TOOL_VERSION,
    .description = "Loads Windows kernel drivers and serves the disks of a Storport virtual miniport.",
    .load = plugin_load,
    .unload = plugin_unload,
    .config = plugin_config,
    .config_complete = plugin_config_complete,
    .config_help = "[driver=]DRIVER.so  (required) a driver that ndk-cc has built; may be given several times\n"
                   "OPTION=VALUE        an option of ndkrun without its dashes, for example reg='Size=dword:64',\n"
                   "                    verify=report or nbd-timeout=5; a flag has the value true",
    .magic_config_key = "driver",
    .get_ready = plugin_get_ready,
    .after_fork = plugin_after_fork,
    .preconnect = plugin_preconnect,
    .list_exports = plugin_list_exports,
    .default_export = plugin_default_export,
    .export_description = plugin_export_description,
    .open = plugin_open,
    .close = plugin_close,
    .get_size = plugin_get_size,
    .block_size = plugin_block_size,
    .can_write = plugin_can_write,
    .can_flush = plugin_can_flush,
    .can_fua = plugin_can_fua,
    .can_trim = plugin_can_trim,
    .can_zero = plugin_can_zero,
    .can_multi_conn = plugin_can_multi_conn,
    .pread = plugin_pread,
    .pwrite = plugin_pwrite,
    .flush = plugin_flush,
    .trim = plugin_trim,
    .zero = plugin_zero,
};

struct nbdkit_plugin *plugin_init(void); /* the macro below defines this function without a declaration */
NBDKIT_REGISTER_PLUGIN(plugin)
