/* SPDX-License-Identifier: MIT */
/* Parses ndkrun's command line: see options.h. */
#include "options.h"

#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "command.h"
#include "live/live.h"
#include "number.h"
#include "openndk/config.h"
#include "scsi.h"

/* Parses the INDEX in "INDEX=...". *rest receives the text that begins with the '='. */
static bool options_parse_index(const char *word, const char **rest, uint32_t *index)
{
    const char *equals = strchr(word, '=');
    char number[16];

    if (!equals || (size_t)(equals - word) >= sizeof number)
        return false;
    memcpy(number, word, (size_t)(equals - word));
    number[equals - word] = '\0';
    *rest = equals;
    return number_parse(number, 1, 999999, index);
}

/* Parses the value of --net. Works on a copy, because reexec_prepare needs the original words. */
static bool options_add_net(struct options *o, const char *given)
{
    char words[4096];

    if (snprintf(words, sizeof words, "%s", given) >= (int)sizeof words)
        return false;
    for (char *save, *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        struct net_interface *n = &o->net[o->net_count];
        const char *rest;

        if (o->net_count == MAX_OPTIONS || !options_parse_index(word, &rest, &n->index) || !strchr(rest, '/') ||
            strspn(rest + 1, "0123456789abcdefABCDEF.:/") != strlen(rest + 1) ||
            snprintf(n->address, sizeof n->address, "%s", rest + 1) >= (int)sizeof n->address)
            return false;
        o->net_count++;
    }
    return o->net_count > 0;
}

static const char *options_set_net(void *options, const char *value)
{
    struct options *o = options;

    if (!strcmp(value, "host")) {
        o->has_host_network = true;
        return NULL;
    }
    return options_add_net(o, value) ? NULL
                                     : "INDEX=ADDRESS/PREFIX,... is expected, for example 3=10.0.0.1/24, or host";
}

static const char *options_set_verify(void *options, const char *value)
{
    struct options *o = options;

    o->verify_text = value;
    return ondk_verify_configure_text(value)
               ? "off, report or stop is expected, optionally with ,full ,json ,output=FILE ,junit=FILE "
                 ",stall=MS ,exit=STATUS ,advice=RULE"
               : NULL;
}

static const char *options_set_map(void *options, const char *value)
{
    uint32_t index;
    struct options *o = options;
    const char *rest;

    o->has_map = true;
    if (!options_parse_index(value, &rest, &index))
        return "INDEX=NAME is expected, for example 3=eth0";
    if (!if_nametoindex(rest + 1))
        return "this machine has no interface of that name";
    return ondk_wdk_map_interface(index, if_nametoindex(rest + 1)) ? NULL : "too many interfaces are mapped";
}

static const char *options_set_trace(void *options, const char *value)
{
    static char problem[LIVE_MAX_PROBLEM];
    struct options *o = options;

    o->trace = true;
    return live_select(value, problem) ? NULL : problem;
}

/* Returns a seed that differs from run to run. */
static uint32_t options_draw_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint32_t)now.tv_sec * 1000 + (uint32_t)now.tv_nsec / 1000000) % 1000000;
}

static const char *options_set_schedule(void *options, const char *value)
{
    struct options *o = options;

    if (!strcmp(value, "card")) {
        o->schedule = SCHEDULE_CARD;
    } else if (!strcmp(value, "eager")) {
        o->schedule = SCHEDULE_EAGER;
    } else if (!strcmp(value, "random")) {
        o->schedule = SCHEDULE_RANDOM;
        o->seed = options_draw_seed();
    } else if (!strncmp(value, "random:", 7) && number_parse(value + 7, 0, UINT32_MAX, &o->seed)) {
        o->schedule = SCHEDULE_RANDOM;
    } else {
        return "card, eager, random or random:SEED is expected, for example random:4711";
    }
    return NULL;
}

static const char *options_add(const char **list, uint32_t *count, const char *word)
{
    if (*count == MAX_OPTIONS)
        return "there are more than 64";
    list[(*count)++] = word;
    return NULL;
}

static const char *options_set_reg(void *options, const char *value)
{
    struct options *o = options;

    return options_add(o->reg, &o->reg_count, value);
}

static const char *options_add_request(struct options *o, enum device_command_kind kind, const char *word)
{
    const char *wrong;

    if (o->request_count == MAX_OPTIONS)
        return "there are more than 64";
    wrong = device_command_parse(&o->requests[o->request_count], kind, word);
    o->request_count += !wrong;
    return wrong;
}

static const char *options_set_ioctl(void *options, const char *value)
{
    return options_add_request(options, DEVICE_CONTROL, value);
}

static const char *options_set_read(void *options, const char *value)
{
    return options_add_request(options, DEVICE_READ, value);
}

static const char *options_set_write(void *options, const char *value)
{
    return options_add_request(options, DEVICE_WRITE, value);
}

static const char *options_add_server(void *options, const char *word)
{
    struct options *o = options;

    return options_add(o->servers, &o->server_count, word);
}

static const char *options_add_client(void *options, const char *word)
{
    struct options *o = options;

    return options_add(o->clients, &o->client_count, word);
}

static const char *options_set_scsi(void *options, const char *value)
{
    struct options *o = options;

    if (!scsi_check(value))
        return "PATH:TARGET:LUN COMMAND is expected, as in '0:0:0 inquiry': inquiry, capacity, luns, read LBA BLOCKS, "
               "write LBA HEX, cdb HEX [in BYTES], with at most 65536 bytes of data";
    return options_add(o->scsi, &o->scsi_count, value);
}

static const char *options_add_driver(void *options, const char *word)
{
    struct options *o = options;

    return options_add(o->drivers, &o->driver_count, word);
}

/* Stores the option and its value, so that ndkrun can pass them to nbdkit. */
static const char *options_record(void *options, const struct command_option *option, const char *value)
{
    struct options *o = options;
    struct given_option *given = realloc(o->given, (o->given_count + 1) * sizeof *given);

    if (!given)
        return "out of memory";
    o->given = given;
    given[o->given_count++] = (struct given_option){ option->names + 2, value };
    return NULL;
}

#define AT(field) .at = offsetof(struct options, field)
#define CALL(function) .kind = COMMAND_CALL, .set = function

static const struct command_option known_options[] = {
    { .text = "Network" },
    { "--net", "INDEX=ADDRESS/PREFIX,...|host",
      "run in a new network namespace with interfaces of these indexes and addresses; an index may occur several "
      "times, with an address each. No root needed. host: drivers use this machine's network, and may send to other "
      "machines; without --net and --map they may send to this machine only",
      CALL(options_set_net) },
    { "--map", "INDEX=NAME",
      "the host's interface NAME for a driver's interface INDEX; drivers may send to other machines",
      CALL(options_set_map) },
    { "--provider", "MODULE", "use the NDK provider of this shared object instead of OpenNDK", COMMAND_TEXT,
      AT(provider) },

    { .text = "Peers" },
    { "--server", "COMMAND",
      "run a shell command in the drivers' network, to which the drivers connect: it is started before the first "
      "driver "
      "is loaded, which waits until it listens, and ended after the last is unloaded",
      CALL(options_add_server) },
    { "--client", "COMMAND",
      "run a shell command in the drivers' network, which connects to the drivers: it is started when they are loaded "
      "and listen. If no option says when the run ends, it ends when all clients have ended",
      CALL(options_add_client) },

    { .text = "Registry and requests" },
    { "--reg", "'KEY\\VALUE=TYPE:DATA'",
      "a value in the registry: dword:5, qword:5, sz:text, multi_sz:a|b, hex:00ff. KEY is relative to the first "
      "driver's "
      "service key, or begins with HKLM",
      CALL(options_set_reg) },
    { "--reg-file", "FILE", "a .reg file, as regedit exports it", COMMAND_TEXT, AT(reg_file) },
    { "--files", "DIR", "the directory of the drivers' files: C:\\a is the file C/a in it", COMMAND_TEXT, AT(files) },
    { "--ioctl", "DEVICE:CODE[:INPUT[:LENGTH]]",
      "send a device control after all drivers are loaded. INPUT is hexadecimal or @FILE, LENGTH the size of the "
      "output "
      "buffer, otherwise 65536. This and the next two are sent in the order of the command line",
      CALL(options_set_ioctl) },
    { "--read", "DEVICE:LENGTH[:OFFSET]", "read LENGTH bytes from the device", CALL(options_set_read) },
    { "--write", "DEVICE:INPUT[:OFFSET]", "write INPUT to the device: hexadecimal or @FILE", CALL(options_set_write) },
    { "--scsi", "'PATH:TARGET:LUN COMMAND'",
      "a command to a unit of a Storport miniport, after these requests: inquiry, capacity, luns, read LBA BLOCKS, "
      "write LBA HEX, cdb HEX [in BYTES]",
      CALL(options_set_scsi) },

    { .text = "Block device" },
    { "--nbd", "SOCKET",
      "serve the disks of the Storport miniport as block devices at this Unix socket, by nbdkit, which loads the "
      "drivers. The export 0:0:0 is unit 0 of target 0 of path 0",
      COMMAND_TEXT, AT(nbd) },
    { "--nbd-read-only", NULL, "refuse writes to the block devices", COMMAND_FLAG, AT(nbd_read_only) },
    { "--nbd-timeout", "SECONDS", "time limit of a command to a block device's unit", COMMAND_NUMBER, AT(nbd_timeout),
      1, 86400, "60" },

    { .text = "End" },
    { "--run-for", "SECONDS",
      "unload after this time; otherwise on Ctrl-C, or when all commands of --client have ended", COMMAND_SECONDS,
      AT(run_for), 0, 1e9 },
    { "--until-idle", NULL, "unload when no thread, timer, DPC or NDK request of a driver is left", COMMAND_FLAG,
      AT(until_idle) },
    { "--until-print", "TEXT", "unload when a driver prints TEXT", COMMAND_TEXT, AT(until_print) },
    { "--timeout", "SECONDS",
      "end the run after this time with exit status 5, and print where the drivers' threads are", COMMAND_SECONDS,
      AT(timeout), 0.1, 1e9 },
    { "--quiet", NULL, "do not print the summary at the end: connections, requests, IRPs and what was left",
      COMMAND_FLAG, AT(quiet) },
    { "--json", NULL, "print a summary at the end as one JSON object on standard output", COMMAND_FLAG, AT(json) },

    { .text = "Repetition" },
    { "--repeat", "N",
      "load the drivers, send the requests and unload the drivers N times in this process, until a round has a finding",
      COMMAND_NUMBER, AT(repeat), 1, 1000000, "1" },
    { "--schedule", "card|eager|random[:SEED]",
      "card: completions as late as by a card's interrupt. eager: at once. random: at once, and threads are delayed at "
      "random; each round of --repeat adds 1 to the printed seed",
      CALL(options_set_schedule), .standard = "card" },

    { .text = "Observation" },
    { "--trace", "LIST",
      "print the drivers' calls as they happen, as strace does: all, or ndk, wsk, irp and driver, or names of "
      "routines, "
      "for example 'ndk,WskSend,Io*'. A word behind a - is left out: ndk,-NdkArmCq. connection and frame add what the "
      "provider does",
      CALL(options_set_trace) },

    { .text = "General" },
    { "--verify", "off|report|stop[,OPTION]...",
      "the action for a broken rule; stop ends with a bug check. Options: full, also the checks that cost much; json; "
      "output=FILE for the reports; junit=FILE for the result of each rule; stall=MS, after which a wait is reported; "
      "exit=STATUS of ndkrun if a rule was broken; advice=RULE: reports of the rule stop nothing",
      CALL(options_set_verify), .standard = "ONDK_VERIFY, or stop" },
};

static const char *const usage[] = { "[OPTION]... DRIVER.so...", NULL };

static const struct command_status statuses[] = {
    { NDKRUN_OK, "no finding" },
    { NDKRUN_FINDING, "something was left, a rule broken, or a cancelled request did not end" },
    { NDKRUN_USAGE, "wrong usage, a provider that cannot be used, an ONDK_ variable of the environment that is not "
                    "used, or a socket or nbdkit that --nbd cannot use" },
    { NDKRUN_NOT_LOADED, "a driver did not load, or none has the Storport adapter that --nbd needs" },
    { NDKRUN_IOCTL_FAILED, "a request to a device, a SCSI command, or a command of --server or --client failed" },
    { NDKRUN_TIMEOUT, "the time of --timeout has passed" },
    { NDKRUN_LOST, "the output could not be written completely" },
    { CALL_INTERRUPTED_TWICE, "Ctrl-C twice" },
    { 134, "a bug check (SIGABRT)" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkrun",
    .summary = "ndkrun loads kernel drivers that ndk-cc has built, calls DriverEntry, lets them run, unloads them, the "
               "last first, and reports what they have left and which rules they broke.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = options_add_driver,
    .on_option = options_record,
    .statuses = statuses,
    .notes = "Under a debugger: gdb --args ndkrun DRIVER.so, then `break DriverEntry`, `run`.\n",
};

void options_init(struct options *o)
{
    *o = (struct options){ .run_for = -1, .nbd_timeout = 60, .repeat = 1 };
}

const char *options_set(struct options *o, const char *name, const char *value)
{
    static char message[COMMAND_MAX_MESSAGE];

    if (!strcmp(name, "driver"))
        return options_add_driver(o, value);
    return command_set(&command, o, name, value, message);
}

const char *options_check(struct options *o)
{
    ondk_verify_config_init(&o->verify); /* copies the present settings, which --verify has already changed */
    if (!o->driver_count)
        return "no driver: DRIVER.so is expected";
    if (o->net_count && o->has_host_network)
        return "--net host uses this machine's network: --net INDEX=ADDRESS/PREFIX cannot be given with it";
    if (o->nbd && o->server_count + o->client_count)
        return "--nbd replaces ndkrun by nbdkit, which cannot run --server and --client: run these commands in a shell "
               "of "
               "your own, and the drivers in this machine's network, without --net or with --net host";
    if (o->nbd && o->repeat > 1)
        return "--nbd serves the disks of one round: --repeat cannot be given with it";
    if (o->schedule == SCHEDULE_RANDOM && o->verify.mode == ONDK_VERIFY_OFF)
        return "--schedule random delays the calls that are verified: it needs --verify report or stop";
    if (ondk_config_check_environment())
        return "an ONDK_ variable of the environment is not used";
    return NULL;
}

bool options_needs_ndkrun(const char *name, const char *value)
{
    return (!strcmp(name, "net") && strcmp(value, "host") != 0) || !strcmp(name, "nbd-read-only") ||
           !strcmp(name, "server") || !strcmp(name, "client");
}

int options_parse(struct options *o, int argc, char **argv)
{
    const char *wrong;
    int code;

    options_init(o);
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    wrong = options_check(o);
    return wrong ? command_usage_error(&command, "%s", wrong) : -1;
}
