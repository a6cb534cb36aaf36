/* SPDX-License-Identifier: MIT */
/* Parses ndkping's command line: see options.h. */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "connection_options.h"
#include "number.h"
#include "provider_options.h"
#include "rping.h"

/* The default time limit of an answer. TCP ends the connection to a silent host earlier, after unacked_ms. */
enum { DEFAULT_STEP_MS = 40000 };

static bool options_parse_hex(const char *text, uint8_t *bytes, uint32_t room, uint32_t *len)
{
    size_t digits = strlen(text);

    if (digits % 2 || digits / 2 > room)
        return false;
    for (size_t i = 0; i < digits / 2; i++) {
        unsigned value;
        char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
        if (strspn(pair, "0123456789abcdefABCDEF") != 2 || sscanf(pair, "%x", &value) != 1)
            return false;
        bytes[i] = (uint8_t)value;
    }
    *len = (uint32_t)(digits / 2);
    return true;
}

/* Parses a list such as "zero,write", and stores the ONDK_RTR_... bits that the words of the list name. */
static const char *options_set_rtr(void *at, const char *value)
{
    static const char expected[] = "none or a list of zero, write and read is expected, for example write,read";
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {
        { "none", 0 },
        { "zero", ONDK_RTR_ZERO_FPDU },
        { "write", ONDK_RTR_WRITE },
        { "read", ONDK_RTR_READ },
    };
    uint32_t *set = at;
    char list[64];

    if (snprintf(list, sizeof list, "%s", value) >= (int)sizeof list)
        return expected;
    *set = 0;
    for (char *save, *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        size_t i = 0;
        while (i < sizeof known / sizeof known[0] && strcmp(known[i].name, word) != 0)
            i++;
        if (i == sizeof known / sizeof known[0])
            return expected;
        *set |= known[i].bit;
    }
    return NULL;
}

static const char *options_set_test_type(void *options, const char *value)
{
    (void)options;
    return strcasecmp(value, "rping") == 0 ? NULL : "rping is expected; ndkperf has the other tests";
}

static const char *options_set_count(void *options, const char *value)
{
    struct options *o = options;

    o->has_count = true;
    return number_parse(value, 1, UINT32_MAX, &o->count) ? NULL : "a number from 1 to 4294967295 is expected";
}

static const char *options_set_interval(void *options, const char *value)
{
    struct options *o = options;

    o->has_interval = true;
    return number_parse_duration(value, 0, 86400, &o->interval)
               ? NULL
               : "a time from 0 to 86400 seconds is expected; it may have the unit us, ms, s, min or h";
}

static const char *options_set_sweep(void *options, const char *value)
{
    struct options *o = options;
    const char *dash = strchr(value, '-');
    uint64_t low, high;
    char first[32];

    if (dash && (size_t)(dash - value) < sizeof first) {
        snprintf(first, sizeof first, "%.*s", (int)(dash - value), value);
        if (number_parse_size(first, RPING_MIN_DATA, RPING_MAX_DATA, &low) &&
            number_parse_size(dash + 1, low, RPING_MAX_DATA, &high)) {
            o->sweep_low = (uint32_t)low;
            o->sweep_high = (uint32_t)high;
            return NULL;
        }
    }
    return "two sizes from 24 to 16M are expected, for example 64-1M";
}

static const char *options_set_private_data(void *options, const char *value)
{
    struct options *o = options;

    return options_parse_hex(value, o->private_data, sizeof o->private_data, &o->private_len)
               ? NULL
               : "an even number of hexadecimal digits is expected, at most 1024";
}

static const char *options_set_timeout(void *options, const char *value)
{
    struct options *o = options;
    ondk_config_t *config = &o->config;
    double seconds;

    if (!number_parse_duration(value, 0.001, 3600, &seconds))
        return "a time from 0.001 to 3600 seconds is expected; it may have the unit us, ms, s, min or h";
    config->connect_ms = config->reply_ms = config->establish_ms = config->disconnect_ms = (uint32_t)(seconds * 1000);
    o->step_ms = config->connect_ms;
    return NULL;
}

#define AT(field) .at = offsetof(struct options, field)
#define CALL(function) .kind = COMMAND_CALL, .set = function
#define CALL_AT(field, function) .kind = COMMAND_CALL, AT(field), .set = function

static const struct command_option known_options[] = {
    { .text = "Server and client" },
    { "-S, --server", NULL, "wait for a client, serve it, exit", COMMAND_FLAG, AT(server) },
    { "-C, --client", NULL, "connect to a server", COMMAND_FLAG, AT(client) },
    { "-ServerAddr, --server-addr", "HOST:PORT", "where the server listens",
      CALL_AT(server_address, option_set_host_port) },
    { "-TestType, --test-type", "rping", "the protocol; there is one", CALL(options_set_test_type) },
    { "-s, --size", "BYTES", "data of each ping; server: the largest ping that it accepts", COMMAND_SIZE, AT(size),
      RPING_MIN_DATA, RPING_MAX_DATA, "64; server 16M" },
    { "-V, --verbose", NULL, "print the data of each ping", COMMAND_FLAG, AT(verbose) },
    { "-q, --quiet", NULL, "print no line for each ping", COMMAND_FLAG, AT(quiet) },
    { "--json", NULL, "print the result as one JSON object on stdout, and other messages on stderr", COMMAND_FLAG,
      AT(json) },
    { "-LogFilename, --log-file", "FILE", "write the messages to FILE too", COMMAND_TEXT, AT(log_file) },
    { "-A, --append", NULL, "at the end of the log file", COMMAND_FLAG, AT(append) },
    { "--ird", "N", "reads of the peer in progress, to request", COMMAND_NUMBER, AT(ird), 0, 16383, "8" },
    { "--ord", "N", "own reads in progress, to request", COMMAND_NUMBER, AT(ord), 0, 16383, "8" },
    { "--private-data", "HEX", "sent with the request, the accept or the reject", CALL(options_set_private_data) },
    { "--crc", "off|on", "request CRC", COMMAND_CHOICE, AT(config.crc), .standard = "on" },
    { "--rtr", "FORMS", "ready-to-receive forms: none, or some of zero,write,read",
      CALL_AT(config.rtr, options_set_rtr), .standard = "all" },
    { "--profile", OPTION_PROFILES, "imitate a card's limits", CALL_AT(config, option_set_profile) },
    { "--timeout", "SECONDS", "time limit of each step of the connection, and of each answer to a ping",
      CALL(options_set_timeout), .low = 0.001, .high = 3600, .standard = "10; answers 40" },
    PROVIDER_OPTION(offsetof(struct options, provider)),

    { .text = "Server" },
    { "-ServerIf, --server-if", "INTERFACE", "index or name (default: the one that owns the address)",
      CALL_AT(server_if, option_set_interface) },
    { "-W, --wait", "SECONDS", "end if no client has connected for this time", COMMAND_SECONDS, AT(wait_seconds), 0,
      INT32_MAX, "no limit" },
    { "-P, --persistent", NULL, "serve any number of clients, one after another and at once, until Ctrl-C",
      COMMAND_FLAG, AT(persistent) },
    { "--clients", "N", "the same, and end after N clients", COMMAND_NUMBER, AT(clients), 1, UINT32_MAX },
    { "--reject", NULL, "reject the clients", COMMAND_FLAG, AT(reject) },

    { .text = "Client" },
    { "-ClientAddr, --client-addr", "HOST", "the client's own address (default: by the route)",
      CALL_AT(client_address, option_set_host) },
    { "-ClientIf, --client-if", "INTERFACE", "index or name (default: the one that owns the address)",
      CALL_AT(client_if, option_set_interface) },
    { "-n, --count", "N", "how many pings (default 1; with --interval: until Ctrl-C)", CALL(options_set_count) },
    { "-i, --interval", "SECONDS", "time between the starts of two pings", CALL(options_set_interval),
      .standard = "0" },
    { "--sweep", "LOW-HIGH", "--count pings of each size from LOW to HIGH, doubling, and a table",
      CALL(options_set_sweep) },
    { "--csv", NULL, "print the table as CSV on stdout, and other messages on stderr", COMMAND_FLAG, AT(csv) },
    { "--mpa-rev", "0|1|2", "MPA revision of the request", COMMAND_CHOICE, AT(config.mpa_revision), .standard = "2" },

    { .text = "General" },
};

static const char *const usage[] = {
    "-S -ServerAddr HOST:PORT [-P] [-W SECONDS] [OPTION]...",
    "-C -ServerAddr HOST:PORT [--count N] [--interval SECONDS] [OPTION]...",
    NULL,
};

static const struct command_status statuses[] = {
    { NDKPING_OK, "done" },
    { NDKPING_FAILED,
      "a name has no address, or a connection or a request failed; of a server's several clients: any" },
    { NDKPING_USAGE,
      "wrong usage, a file that cannot be opened, a provider that cannot be used, or an ONDK_ variable of the "
      "environment that is not used" },
    { NDKPING_DATA, "data differed" },
    { NDKPING_NOBODY, "server: nobody connected in time" },
    { NDKPING_LOST, "the output could not be written completely" },
    { NDKPING_INTERRUPTED, "interrupted before the end; the results so far were printed, unless it was a second time. "
                           "0 if there was no end: with --persistent, or with --interval and without --count" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkping",
    .summary = "ndkping tests an NDK connection with the protocol of rdma-core's rping: establish, read limits, "
               "private data, RDMA read and write of verified data, disconnect.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .statuses = statuses,
    .notes = "HOST is a name or an address; IPv6: [ADDRESS]:PORT, [fe80::1%eth0]:PORT. PORT is a\n"
             "number or the name of a service. BYTES may end with K, M or G, SECONDS with us, ms,\n"
             "s, min or h. The case of switches such as -ServerAddr does not matter.\n"
             "\n"
             "The time of a ping is that of its four messages and of the server's RDMA read and\n"
             "RDMA write.\n",
};

static int options_check(const struct options *o)
{
    if (o->server == o->client)
        return command_usage_error(&command, "specify either -S (server) or -C (client)");
    if (!o->server_address.text[0])
        return command_usage_error(&command, "-ServerAddr HOST:PORT is missing");
    if (o->client && !o->server_address.port)
        return command_usage_error(&command, "-ServerAddr: a client needs the server's port, which is not 0");
    if (o->csv && o->json)
        return command_usage_error(&command, "--csv and --json exclude each other");
    if (o->csv && o->server)
        return command_usage_error(&command, "--csv is for a client");
    if (o->sweep_high && o->size && o->client)
        return command_usage_error(&command, "--sweep and --size exclude each other");
    if (o->sweep_high && o->has_interval && !o->has_count)
        return command_usage_error(&command, "--sweep with --interval needs --count");
    if (ondk_config_check_environment())
        return command_usage_error(&command, "an ONDK_ variable of the environment is not used");
    return -1;
}

int options_parse(struct options *o, int argc, char **argv)
{
    char error[512];
    int code;

    memset(o, 0, sizeof *o);
    provider_options_init(&o->config);
    o->ird = o->ord = 8;
    o->step_ms = DEFAULT_STEP_MS;
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    code = options_check(o);
    if (code >= 0)
        return code;
    if (!provider_options_load(o->provider, &o->config, error, sizeof error))
        return command_usage_error(&command, "%s", error);
    if (!o->has_count)
        o->count = o->has_interval ? 0 : 1;
    if (!o->size)
        o->size = o->server ? RPING_MAX_DATA : 64;
    if (!o->persistent && !o->clients)
        o->clients = 1;
    return -1;
}
