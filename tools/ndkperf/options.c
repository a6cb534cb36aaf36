/* SPDX-License-Identifier: MIT */
/* ndkperf's command line: see options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "address.h"
#include "number.h"
#include "wire.h"

static const char help[] =
    "ndkperf measures an NDK connection: bandwidth, message rate and latency of send, RDMA write and RDMA read.\n"
    "\n"
    "  ndkperf server --address ADDRESS:PORT\n"
    "  ndkperf client --address ADDRESS:PORT [--test send|write|read|rperf] [--bandwidth|--latency]\n"
    "or, as NDKPerfCmd is called:\n"
    "  ndkperf -S -ServerAddr ADDRESS:PORT [-ServerIf INDEX] [-TestType rperf] [-W SECONDS]\n"
    "  ndkperf -C -ServerAddr ADDRESS:PORT [-ClientAddr ADDRESS] [-ClientIf INDEX] [-TestType rperf] [-ts BYTES]\n"
    "\n"
    "The client specifies the measurement. The server exits after one client. IPv6: [ADDRESS]:PORT.\n"
    "Both ends:\n"
    "  server, -S, --server; client, -C, --client\n"
    "  --address, -ServerAddr, --server-addr  where the server listens\n"
    "  -ServerIf, --server-if     the server's interface index (default: the one that owns the address)\n"
    "  -ClientAddr, --client-addr the client's own address (default: by the route)\n"
    "  -ClientIf, --client-if     the client's interface index (default: the one that owns the address)\n"
    "  -W, --wait SECONDS         server: how long to wait for a client (default: no limit)\n"
    "  -e, --events               sleep until notified (default: poll); this end only\n"
    "  --moderation COUNT,MICROSECONDS  interrupt moderation of the completion queue; with --events\n"
    "  --ird N, --ord N           read limits to request (default 16)\n"
    "  --crc on|off               request CRC (default on)\n"
    "  --profile NAME             imitate a card's limits: default, narrow, no-windows, shallow, minimal\n"
    "  --format perftest|winof|json  columns of Linux' perftest (default), of WinOF's nd_*_bw and nd_*_lat, or JSON\n"
    "  -LogFilename, --log-file F write the output to F too;  -A, --append: at its end\n"
    "  --memory MIB               server: memory that a client may use (default 512, 1 to 1048576)\n"
    "  --protocol VERSION         claim another protocol version, to test the refusal\n"
    "Client:\n"
    "  --test, -TestType NAME     send, write, read, or rperf: the three in turn (default); rsend, rwrite, rread too\n"
    "  --bandwidth                a window of requests, as fast as possible (default)\n"
    "  --latency                  one after the other: half the round trip of sends and writes, all of a read\n"
    "  -s, --size, -ts BYTES      message size (default 65536; with --latency 2)\n"
    "  -a, --all                  sizes from 2 to --limit (default 8388608), in powers of two\n"
    "  -q, --qp N                 queue pairs (default 1)\n"
    "  -t, --window N             requests outstanding on each queue pair (default 128)\n"
    "  -n, --iterations N         messages for each queue pair;  -D, --duration SECONDS (default 1, 0.001 to 86400)\n"
    "  --warmup SECONDS           before each measurement, not counted (default 0.1)\n"
    "  -I, --inline BYTES         send and write inline up to this size (default 0)\n"
    "  --burst N                  post in bursts of N with NDK_OP_FLAG_DEFER (default 1: no bursts)\n"
    "  --check                    verify each message: at the server; for reads at the client, too\n"
    "  --corrupt                  corrupt a byte, to test --check\n"
    "  --live                     progress on stderr twice a second, even if it is no terminal\n"
    "  --histogram                latency: print the distribution\n"
    "  --help\n"
    "\n"
    "Exit: 0 done; 1 a connection or request failed; 2 wrong usage, or an ONDK_ variable that is not used; 3 data\n"
    "differed; 4 server: nobody connected in time; 5 the peer is not ndkperf, has another version, or does not\n"
    "support the request; 6 the output could not be written completely; 130 interrupted, the results so far were\n"
    "printed.\n";

enum {
    OPT_ADDRESS = 256,
    OPT_SERVER_IF,
    OPT_CLIENT_ADDR,
    OPT_CLIENT_IF,
    OPT_LOG,
    OPT_IRD,
    OPT_ORD,
    OPT_CRC,
    OPT_PROFILE,
    OPT_FORMAT,
    OPT_PROTOCOL,
    OPT_TEST,
    OPT_BANDWIDTH,
    OPT_LATENCY,
    OPT_LIMIT,
    OPT_WARMUP,
    OPT_BURST,
    OPT_CHECK,
    OPT_CORRUPT,
    OPT_LIVE,
    OPT_HISTOGRAM,
    OPT_MODERATION,
    OPT_MEMORY,
    OPT_HELP
};

/* clang-format off */
static const struct option known_options[] = {
    { "address", required_argument, NULL, OPT_ADDRESS }, { "ServerAddr", required_argument, NULL, OPT_ADDRESS },
    { "server-addr", required_argument, NULL, OPT_ADDRESS },
    { "ServerIf", required_argument, NULL, OPT_SERVER_IF },
    { "server-if", required_argument, NULL, OPT_SERVER_IF },
    { "ClientAddr", required_argument, NULL, OPT_CLIENT_ADDR },
    { "client-addr", required_argument, NULL, OPT_CLIENT_ADDR },
    { "ClientIf", required_argument, NULL, OPT_CLIENT_IF },
    { "client-if", required_argument, NULL, OPT_CLIENT_IF }, { "TestType", required_argument, NULL, OPT_TEST },
    { "test", required_argument, NULL, OPT_TEST }, { "test-type", required_argument, NULL, OPT_TEST },
    { "LogFilename", required_argument, NULL, OPT_LOG }, { "log-file", required_argument, NULL, OPT_LOG },
    { "ts", required_argument, NULL, 's' }, { "size", required_argument, NULL, 's' },
    { "server", no_argument, NULL, 'S' }, { "client", no_argument, NULL, 'C' },
    { "wait", required_argument, NULL, 'W' }, { "append", no_argument, NULL, 'A' },
    { "verbose", no_argument, NULL, 'V' }, { "events", no_argument, NULL, 'e' },
    { "all", no_argument, NULL, 'a' }, { "limit", required_argument, NULL, OPT_LIMIT },
    { "qp", required_argument, NULL, 'q' }, { "window", required_argument, NULL, 't' },
    { "iterations", required_argument, NULL, 'n' }, { "duration", required_argument, NULL, 'D' },
    { "warmup", required_argument, NULL, OPT_WARMUP }, { "inline", required_argument, NULL, 'I' },
    { "burst", required_argument, NULL, OPT_BURST }, { "moderation", required_argument, NULL, OPT_MODERATION },
    { "ird", required_argument, NULL, OPT_IRD }, { "ord", required_argument, NULL, OPT_ORD },
    { "crc", required_argument, NULL, OPT_CRC }, { "profile", required_argument, NULL, OPT_PROFILE },
    { "format", required_argument, NULL, OPT_FORMAT }, { "protocol", required_argument, NULL, OPT_PROTOCOL },
    { "bandwidth", no_argument, NULL, OPT_BANDWIDTH }, { "latency", no_argument, NULL, OPT_LATENCY },
    { "check", no_argument, NULL, OPT_CHECK }, { "corrupt", no_argument, NULL, OPT_CORRUPT },
    { "live", no_argument, NULL, OPT_LIVE }, { "histogram", no_argument, NULL, OPT_HISTOGRAM },
    { "memory", required_argument, NULL, OPT_MEMORY }, { "help", no_argument, NULL, OPT_HELP }, { NULL, 0, NULL, 0 },
};
/* clang-format on */

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

static bool options_set_test(struct options *o, const char *arg)
{
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (strcasecmp(arg, tests[i].name) == 0) {
            o->test = tests[i].test;
            return o->has_test = true;
        }
    return false;
}

static bool options_set_format(struct options *o, const char *arg)
{
    static const char *const names[] = {
        [FORMAT_PERFTEST] = "perftest", [FORMAT_WINOF] = "winof", [FORMAT_JSON] = "json"
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(arg, names[i]) == 0) {
            o->format = (enum format)i;
            return true;
        }
    return false;
}

static bool options_set_crc(struct options *o, const char *arg)
{
    o->config.crc = strcmp(arg, "on") == 0;
    return o->config.crc || strcmp(arg, "off") == 0;
}

/* Parses seconds with an optional fraction, to milliseconds. */
static bool options_parse_ms(const char *arg, double low, uint32_t *ms)
{
    double seconds;

    if (!number_parse_seconds(arg, low, 86400, &seconds))
        return false;
    *ms = (uint32_t)(seconds * 1000 + 0.5);
    return true;
}

static bool options_set_moderation(struct options *o, const char *arg)
{
    const char *comma = strchr(arg, ',');
    char count[16];

    if (!comma || (size_t)(comma - arg) >= sizeof count)
        return false;
    memcpy(count, arg, (size_t)(comma - arg));
    count[comma - arg] = '\0';
    o->moderation = true;
    return number_parse(count, 0, UINT32_MAX, &o->moderation_count) &&
           number_parse(comma + 1, 0, UINT32_MAX, &o->moderation_us);
}

/* Sets an option that has an argument. */
static bool options_set_value(struct options *o, int option, const char *arg)
{
    switch (option) {
    case OPT_ADDRESS:
        return address_parse(arg, true, &o->server_address);
    case OPT_CLIENT_ADDR:
        return o->has_client_address = address_parse(arg, false, &o->client_address);
    case OPT_SERVER_IF:
        return number_parse(arg, 1, INT32_MAX, &o->server_if);
    case OPT_CLIENT_IF:
        return number_parse(arg, 1, INT32_MAX, &o->client_if);
    case OPT_TEST:
        return options_set_test(o, arg);
    case OPT_LOG:
        return (o->log_file = arg) != NULL;
    case OPT_IRD:
        return number_parse(arg, 0, 16383, &o->ird);
    case OPT_ORD:
        return number_parse(arg, 0, 16383, &o->ord);
    case OPT_CRC:
        return options_set_crc(o, arg);
    case OPT_PROFILE:
        return ondk_config_profile(&o->config, arg) == 0;
    case OPT_FORMAT:
        return options_set_format(o, arg);
    case OPT_PROTOCOL:
        return number_parse(arg, 0, 255, &o->version);
    case OPT_MEMORY:
        return number_parse(arg, 1, 1048576, &o->memory_mib);
    case OPT_LIMIT:
        return number_parse(arg, 2, MAX_SIZE, &o->limit);
    case OPT_WARMUP:
        return options_parse_ms(arg, 0, &o->warmup_ms);
    case OPT_BURST:
        return number_parse(arg, 1, 65536, &o->burst);
    case OPT_MODERATION:
        return options_set_moderation(o, arg);
    case 'W':
        return number_parse(arg, 0, INT32_MAX, &o->wait_seconds);
    case 's':
        return number_parse(arg, 1, MAX_SIZE, &o->size);
    case 'q':
        return number_parse(arg, 1, MAX_QPS, &o->qps);
    case 't':
        return number_parse(arg, 1, 65536, &o->window);
    case 'n':
        return number_parse(arg, 1, UINT32_MAX, &o->iterations);
    case 'D':
        return options_parse_ms(arg, 0.001, &o->seconds_ms);
    case 'I':
        return number_parse(arg, 0, 65536, &o->inline_size);
    default:
        return false;
    }
}

static bool options_set_flag(struct options *o, int option, bool *client)
{
    switch (option) {
    case 'S':
        o->server = true;
        return true;
    case 'C':
        *client = true;
        return true;
    case 'A':
        o->append = true;
        return true;
    case 'V':
        return true; /* NDKPerfCmd prints to the screen only with it; ndkperf always prints */
    case 'e':
        o->events = true;
        return true;
    case 'a':
        o->all = true;
        return true;
    case OPT_BANDWIDTH:
        o->latency = false;
        return true;
    case OPT_LATENCY:
        o->latency = true;
        return true;
    case OPT_CHECK:
        o->check = true;
        return true;
    case OPT_CORRUPT:
        o->corrupt = true;
        return true;
    case OPT_LIVE:
        o->live = true;
        return true;
    case OPT_HISTOGRAM:
        o->histogram = true;
        return true;
    default:
        return false;
    }
}

static enum ndkperf_exit options_error(const char *text)
{
    fprintf(stderr, "ndkperf: %s\nTry ndkperf --help.\n", text);
    return NDKPERF_USAGE;
}

static void options_init(struct options *o)
{
    memset(o, 0, sizeof *o);
    ondk_config_init(&o->config);
    o->test = TEST_MIXED;
    o->limit = 8388608;
    o->memory_mib = 512;
    o->qps = o->burst = 1;
    o->window = 128;
    o->seconds_ms = 1000;
    o->warmup_ms = 100;
    o->ird = o->ord = 16;
    o->version = WIRE_VERSION;
}

/* Returns a message about conflicting options, or NULL. */
static const char *options_conflict(const struct options *o, bool client)
{
    if (o->server == client)
        return "specify either server (-S) or client (-C)";
    if (!o->server_address.ss_family)
        return "--address ADDRESS:PORT (-ServerAddr) is missing";
    if (client && !address_port(&o->server_address))
        return "--address: a client needs the server's port, which is not 0";
    if (o->moderation && !o->events)
        return "--moderation needs --events";
    if (o->latency && o->test == TEST_MIXED)
        return o->has_test ? "rperf has no latency: specify --test send, write or read"
                           : "--latency needs --test send, write or read";
    if (o->latency && o->test == TEST_WRITE && o->events)
        return "the target of a write is not notified, so the latency of writes cannot be measured with --events";
    if (o->corrupt && !o->check)
        return "--corrupt needs --check";
    if (o->histogram && !o->latency)
        return "--histogram needs --latency";
    return NULL;
}

enum ndkperf_exit options_parse(struct options *o, int argc, char **argv, bool *done)
{
    bool client = false, word;
    const char *bad;

    options_init(o);
    *done = true;
    word = argc > 1 && argv[1][0] != '-';
    if (word) {
        o->server = strcmp(argv[1], "server") == 0;
        client = strcmp(argv[1], "client") == 0;
        if (!o->server && !client)
            return options_error("the first argument is neither server nor client nor an option");
        optind = 2;
    }
    for (int option; (option = getopt_long_only(argc, argv, "SCVAW:eas:q:t:n:D:I:", known_options, NULL)) != -1;) {
        if (option == OPT_HELP) {
            fputs(help, stdout);
            return NDKPERF_OK;
        }
        if (option == '?')
            return options_error("unknown option, or its value is missing");
        if (!options_set_flag(o, option, &client) && !options_set_value(o, option, optarg)) {
            fprintf(stderr, "ndkperf: '%s' is not a value for this option\n", optarg);
            return options_error("wrong value");
        }
    }
    if (optind < argc)
        return options_error("unexpected argument");
    bad = options_conflict(o, client);
    if (bad)
        return options_error(bad);
    if (ondk_config_check_environment())
        return options_error("an ONDK_ variable of the environment is not used");
    if (!o->size)
        o->size = o->latency ? 2 : 65536;
    *done = false;
    return NDKPERF_OK;
}
