/* SPDX-License-Identifier: MIT */
/* Parses ndkperf's command line: see options.h. */
#include "options.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "connection_options.h"
#include "number.h"
#include "provider_options.h"
#include "wire.h"

/* clang-format off */
static const struct { const char *name; enum test test; } tests[] = {
    { "send", TEST_SEND }, { "write", TEST_WRITE }, { "read", TEST_READ }, { "rperf", TEST_MIXED },
    { "rsend", TEST_SEND }, { "rwrite", TEST_WRITE }, { "rread", TEST_READ },
};
/* clang-format on */

const char *options_test_name(enum test test)
{
    return tests[test].name;
}

/* ---- values that the table cannot describe ---- */

static const char *options_set_test(void *options, const char *value)
{
    struct options *o = options;

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (strcasecmp(value, tests[i].name) == 0) {
            o->test = tests[i].test;
            o->has_test = true;
            return NULL;
        }
    return "send, write, read or rperf is expected";
}

static const char *options_set_format(void *options, const char *value)
{
    struct options *o = options;

    if (strcasecmp(value, "json") == 0)
        o->json = "-";
    else if (strcasecmp(value, "csv") == 0)
        o->csv = "-";
    else if (strcasecmp(value, "winof") == 0)
        o->format = FORMAT_WINOF;
    else if (strcasecmp(value, "perftest") != 0)
        return "perftest, winof, json or csv is expected";
    return NULL;
}

static const char *options_set_file(void *at, const char *value)
{
    *(const char **)at = value ? value : "-";
    return NULL;
}

static const char *options_clear_flag(void *at, const char *value)
{
    (void)value;
    *(bool *)at = false;
    return NULL;
}

static const char *options_set_moderation(void *options, const char *value)
{
    struct options *o = options;
    const char *comma = strchr(value, ',');
    char count[16];

    o->moderation = true;
    if (comma && (size_t)(comma - value) < sizeof count) {
        memcpy(count, value, (size_t)(comma - value));
        count[comma - value] = '\0';
        if (number_parse(count, 0, UINT32_MAX, &o->moderation_count) &&
            number_parse(comma + 1, 0, UINT32_MAX, &o->moderation_us))
            return NULL;
    }
    return "two numbers from 0 to 4294967295 are expected, for example 8,100";
}

static const char *options_add_role(void *options, const char *word)
{
    struct options *o = options;

    o->server = o->server || strcmp(word, "server") == 0;
    o->client = o->client || strcmp(word, "client") == 0;
    return strcmp(word, "server") == 0 || strcmp(word, "client") == 0 ? NULL : "server or client is expected";
}

/* ---- the table ---- */

#define AT(field) .at = offsetof(struct options, field)
#define CALL(function) .kind = COMMAND_CALL, .set = function
#define CALL_AT(field, function) .kind = COMMAND_CALL, AT(field), .set = function

static const struct command_option known_options[] = {
    { .text = "Both ends" },
    { "-S, --server", NULL, "the same as the word server", COMMAND_FLAG, AT(server) },
    { "-C, --client", NULL, "the same as the word client", COMMAND_FLAG, AT(client) },
    { "--address, -ServerAddr, --server-addr", "HOST:PORT", "where the server listens",
      CALL_AT(server_address, option_set_host_port) },
    { "-e, --events", NULL, "sleep until notified instead of polling; this end only", COMMAND_FLAG, AT(events) },
    { "--moderation", "COUNT,MICROSECONDS", "interrupt moderation of the completion queue; with --events",
      CALL(options_set_moderation) },
    { "--ird", "N", "reads of the peer in progress, to request", COMMAND_NUMBER, AT(ird), 0, 16383, "16" },
    { "--ord", "N", "own reads in progress, to request", COMMAND_NUMBER, AT(ord), 0, 16383, "16" },
    { "--crc", "off|on", "request CRC", COMMAND_CHOICE, AT(config.crc), .standard = "on" },
    { "--profile", OPTION_PROFILES, "imitate a card's limits", CALL_AT(config, option_set_profile) },
    PROVIDER_OPTION(offsetof(struct options, provider)),
    { "--format", "perftest|winof|json|csv",
      "columns of Linux' perftest, or of WinOF's nd_*_bw and nd_*_lat; json and csv: the same as --json and --csv",
      CALL(options_set_format), .standard = "perftest" },
    { "--json", "[FILE]", "write the result as one JSON object to FILE, or without FILE to standard output",
      CALL_AT(json, options_set_file) },
    { "-LogFilename, --log-file", "FILE", "write the output to FILE too", COMMAND_TEXT, AT(log_file) },
    { "-A, --append", NULL, "at the end of the log file", COMMAND_FLAG, AT(append) },
    { "--live", NULL, "show the progress on stderr even if it is no terminal", COMMAND_FLAG, AT(live) },
    { "--corrupt", NULL, "corrupt a byte of this end's messages, to test --check", COMMAND_FLAG, AT(corrupt) },
    { "--protocol", "VERSION", "claim another protocol version, to test the refusal", COMMAND_NUMBER, AT(version), 0,
      255 },
    { "-V, --verbose", NULL, "ignored; NDKPerfCmd prints only with it", COMMAND_FLAG, AT(verbose) },

    { .text = "Server" },
    { "-ServerIf, --server-if", "INTERFACE", "index or name (default: the one that owns the address)",
      CALL_AT(server_if, option_set_interface) },
    { "-W, --wait", "SECONDS", "how long to wait for a client", COMMAND_SECONDS, AT(wait_seconds), 0, INT32_MAX,
      "no limit" },
    { "--memory", "MIB", "memory that a client may use", COMMAND_NUMBER, AT(memory_mib), 1, 1048576, "512" },

    { .text = "Client" },
    { "-ClientAddr, --client-addr", "HOST", "the client's own address (default: by the route)",
      CALL_AT(client_address, option_set_host) },
    { "-ClientIf, --client-if", "INTERFACE", "index or name (default: the one that owns the address)",
      CALL_AT(client_if, option_set_interface) },
    { "--test, -TestType, --test-type", "TEST",
      "send, write, read, or rperf: the three in turn; rsend, rwrite and rread too", CALL(options_set_test),
      .standard = "rperf" },
    { "--bandwidth", NULL, "a window of requests, as fast as possible; the default",
      CALL_AT(latency, options_clear_flag) },
    { "--latency", NULL, "one after the other: half the round trip of sends and writes, all of a read", COMMAND_FLAG,
      AT(latency) },
    { "--bidirectional", NULL, "bandwidth in both directions at once, on the same queue pairs", COMMAND_FLAG,
      AT(both) },
    { "-s, --size, -ts", "BYTES", "message size", COMMAND_SIZE, AT(size), 1, MAX_SIZE, "64K; with --latency 2" },
    { "-a, --all", NULL, "all sizes from 2 to --limit, in powers of two", COMMAND_FLAG, AT(all) },
    { "--limit", "BYTES", "the largest size of --all", COMMAND_SIZE, AT(limit), 2, MAX_SIZE, "8M" },
    { "-q, --qp", "N", "queue pairs", COMMAND_NUMBER, AT(qps), 1, MAX_QPS, "1" },
    { "-t, --window", "N", "requests outstanding on each queue pair", COMMAND_NUMBER, AT(window), 1, 65536, "128" },
    { "-n, --iterations", "N", "messages for each queue pair, instead of a duration", COMMAND_NUMBER, AT(iterations), 1,
      UINT32_MAX },
    { "-D, --duration", "SECONDS", "how long each measurement lasts", COMMAND_SECONDS, AT(duration), 0.001, 86400,
      "1" },
    { "--warmup", "SECONDS", "before each measurement, not counted", COMMAND_SECONDS, AT(warmup), 0, 86400, "0.1" },
    { "-i, --interval", "SECONDS", "a line for each interval of a measurement", COMMAND_SECONDS, AT(interval), 0.01,
      86400, "none" },
    { "-I, --inline", "BYTES", "send and write inline up to this size", COMMAND_SIZE, AT(inline_size), 0, 65536, "0" },
    { "--burst", "N", "post in bursts of N with NDK_OP_FLAG_DEFER", COMMAND_NUMBER, AT(burst), 1, 65536, "1" },
    { "--check", NULL, "verify each message where it arrives", COMMAND_FLAG, AT(check) },
    { "--histogram", NULL, "latency: print the distribution", COMMAND_FLAG, AT(histogram) },
    { "--csv", "[FILE]", "write results and intervals as a table to FILE, or without FILE to standard output",
      CALL_AT(csv, options_set_file) },
    { "--html", "FILE", "write a page with tables and plots to FILE", COMMAND_TEXT, AT(html) },

    { .text = "General" },
};

static const char *const usage[] = {
    "server --address HOST:PORT [OPTION]...",
    "client --address HOST:PORT [--test TEST] [--latency] [OPTION]...",
    "compare A.json B.json [OPTION]...",
    "perftest server|client --address HOST:PORT --test TEST [OPTION]...",
    NULL,
};

static const struct command_status statuses[] = {
    { NDKPERF_OK, "done" },
    { NDKPERF_FAILED, "a name has no address, or a connection or request failed" },
    { NDKPERF_USAGE,
      "wrong usage, a file that cannot be opened, a provider that cannot be used, or an ONDK_ variable of the "
      "environment that is not used" },
    { NDKPERF_DATA, "data differed" },
    { NDKPERF_NOBODY, "server: nobody connected in time" },
    { NDKPERF_PEER, "the peer is not ndkperf, has another version, or does not support the request" },
    { NDKPERF_LOST, "the output could not be written completely" },
    { NDKPERF_INTERRUPTED, "interrupted; the results so far were printed, unless it was a second time" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkperf",
    .summary = "ndkperf measures an NDK connection: bandwidth, message rate and latency of send, RDMA write and RDMA "
               "read. The client specifies the measurement; the server follows, and exits after one client.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = options_add_role,
    .statuses = statuses,
    .notes = "HOST is a name or an address; IPv6: [ADDRESS]:PORT, [fe80::1%eth0]:PORT. PORT is a\n"
             "number or the name of a service. BYTES may end with K, M or G, SECONDS with us, ms,\n"
             "s, min or h. NDKPerfCmd's command line works, too: ndkperf -C -ServerAddr\n"
             "192.0.2.1:50001 -ClientIf 2 -TestType rperf -ts 65536. The case of such switches\n"
             "does not matter. ndkperf compare --help: comparing two saved runs. ndkperf\n"
             "perftest --help: a program of Linux perftest at the other end.\n",
};

static void options_init(struct options *o)
{
    memset(o, 0, sizeof *o);
    provider_options_init(&o->config);
    o->test = TEST_MIXED;
    o->limit = 8388608;
    o->memory_mib = 512;
    o->qps = o->burst = 1;
    o->window = 128;
    o->duration = 1;
    o->warmup = 0.1;
    o->ird = o->ord = 16;
    o->version = WIRE_VERSION;
}

static bool options_is_stdout(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

/* Returns a message about conflicting options, or NULL if there is no conflict. */
static const char *options_conflict(const struct options *o)
{
    if (o->server == o->client)
        return "specify either server (-S) or client (-C)";
    if (!o->server_address.text[0])
        return "--address HOST:PORT (-ServerAddr) is missing";
    if (o->client && !o->server_address.port)
        return "--address: a client needs the server's port, which is not 0";
    if (o->moderation && !o->events)
        return "--moderation needs --events";
    if (o->latency && o->test == TEST_MIXED)
        return o->has_test ? "rperf has no latency: specify --test send, write or read"
                           : "--latency needs --test send, write or read";
    if (o->latency && o->test == TEST_WRITE && o->events)
        return "the target of a write is not notified, so the latency of writes cannot be measured with --events";
    if (o->both && (o->latency || o->test == TEST_MIXED))
        return "--bidirectional measures bandwidth and needs --test send, write or read";
    if (o->server && (o->csv || o->html))
        return "--csv and --html are for a client";
    if (options_is_stdout(o->json) + options_is_stdout(o->csv) + options_is_stdout(o->html) > 1)
        return "only one of --json, --csv and --html can be written to standard output";
    if (o->corrupt && !o->check && !o->server)
        return "--corrupt needs --check";
    if (o->histogram && !o->latency)
        return "--histogram needs --latency";
    return NULL;
}

int options_parse(struct options *o, int argc, char **argv)
{
    const char *conflict;
    char error[512];
    int code;

    options_init(o);
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    conflict = options_conflict(o);
    if (conflict)
        return command_usage_error(&command, "%s", conflict);
    if (ondk_config_check_environment())
        return command_usage_error(&command, "an ONDK_ variable of the environment is not used");
    if (!provider_options_load(o->provider, &o->config, error, sizeof error))
        return command_usage_error(&command, "%s", error);
    if (options_is_stdout(o->json) || options_is_stdout(o->csv) || options_is_stdout(o->html))
        o->format = FORMAT_NONE;
    if (!o->size)
        o->size = o->latency ? 2 : 65536;
    return -1;
}
