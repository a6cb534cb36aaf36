/* SPDX-License-Identifier: MIT */
/* ndkping's command line: see options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "address.h"
#include "number.h"
#include "rping.h"

static const char help[] =
    "ndkping tests an NDK connection with the protocol of rdma-core's rping: establish, read limits, private data,\n"
    "RDMA read and write of verified data, disconnect.\n"
    "\n"
    "  ndkping -S -ServerAddr ADDRESS:PORT [-ServerIf INDEX] [-TestType rping] [-W SECONDS]\n"
    "  ndkping -C -ServerAddr ADDRESS:PORT [-ClientAddr ADDRESS] [-ClientIf INDEX] [-TestType rping] [-V]\n"
    "\n"
    "IPv6: [ADDRESS]:PORT, [fe80::1%eth0]:PORT. Each option has both spellings:\n"
    "  -S, --server               wait for a client, serve it, exit\n"
    "  -C, --client               connect to a server\n"
    "  -ServerAddr, --server-addr where the server listens\n"
    "  -ServerIf, --server-if     the server's interface index (default: the one that owns the address)\n"
    "  -ClientAddr, --client-addr the client's own address (default: by the route)\n"
    "  -ClientIf, --client-if     the client's interface index (default: the one that owns the address)\n"
    "  -TestType, --test-type     rping, the only one\n"
    "  -W, --wait SECONDS         server: how long to wait for a client (default: no limit)\n"
    "  -V, --verbose              print each step and each ping\n"
    "  -LogFilename, --log-file F write the output to F too;  -A, --append: at its end\n"
    "  --count N                  client: how many pings (default 1)\n"
    "  --size BYTES               client: data of each ping, 24 to 16777216 (default 64)\n"
    "                             server: the largest ping that it accepts (default 16777216)\n"
    "  --ird N, --ord N           read limits to request (default 8)\n"
    "  --private-data HEX         sent with the request, the accept or the reject\n"
    "  --reject                   server: reject the client\n"
    "  --crc on|off               request CRC (default on)\n"
    "  --mpa-rev 0|1|2            client: MPA revision (default 2)\n"
    "  --rtr FORMS                ready-to-receive forms: none, or some of zero,write,read (default all)\n"
    "  --profile NAME             imitate a card's limits: default, narrow, no-windows, shallow, minimal\n"
    "  --timeout SECONDS          each step of the connection\n"
    "  --help\n"
    "\n"
    "Exit: 0 done; 1 a connection or request failed; 2 wrong usage, or an ONDK_ variable that is not used; 3 data\n"
    "differed; 4 server: nobody connected in time; 6 the output could not be written completely.\n";

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

static bool options_parse_rtr(const char *text, uint32_t *set)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {
        { "none", 0 },
        { "zero", ONDK_RTR_ZERO_FPDU },
        { "write", ONDK_RTR_WRITE },
        { "read", ONDK_RTR_READ },
    };
    char list[64];

    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list)
        return false;
    *set = 0;
    for (char *save, *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        size_t i = 0;
        while (i < sizeof known / sizeof known[0] && strcmp(known[i].name, word) != 0)
            i++;
        if (i == sizeof known / sizeof known[0])
            return false;
        *set |= known[i].bit;
    }
    return true;
}

enum {
    OPT_SERVER_ADDR = 256,
    OPT_SERVER_IF,
    OPT_CLIENT_ADDR,
    OPT_CLIENT_IF,
    OPT_TEST_TYPE,
    OPT_LOG,
    OPT_COUNT,
    OPT_SIZE,
    OPT_IRD,
    OPT_ORD,
    OPT_PRIVATE,
    OPT_REJECT,
    OPT_CRC,
    OPT_REV,
    OPT_RTR,
    OPT_TIMEOUT,
    OPT_PROFILE,
    OPT_HELP
};

static const struct option known_options[] = {
    { "ServerAddr", required_argument, NULL, OPT_SERVER_ADDR },
    { "server-addr", required_argument, NULL, OPT_SERVER_ADDR },
    { "ServerIf", required_argument, NULL, OPT_SERVER_IF },
    { "server-if", required_argument, NULL, OPT_SERVER_IF },
    { "ClientAddr", required_argument, NULL, OPT_CLIENT_ADDR },
    { "client-addr", required_argument, NULL, OPT_CLIENT_ADDR },
    { "ClientIf", required_argument, NULL, OPT_CLIENT_IF },
    { "client-if", required_argument, NULL, OPT_CLIENT_IF },
    { "TestType", required_argument, NULL, OPT_TEST_TYPE },
    { "test-type", required_argument, NULL, OPT_TEST_TYPE },
    { "LogFilename", required_argument, NULL, OPT_LOG },
    { "log-file", required_argument, NULL, OPT_LOG },
    { "server", no_argument, NULL, 'S' },
    { "client", no_argument, NULL, 'C' },
    { "wait", required_argument, NULL, 'W' },
    { "verbose", no_argument, NULL, 'V' },
    { "append", no_argument, NULL, 'A' },
    { "count", required_argument, NULL, OPT_COUNT },
    { "size", required_argument, NULL, OPT_SIZE },
    { "ird", required_argument, NULL, OPT_IRD },
    { "ord", required_argument, NULL, OPT_ORD },
    { "private-data", required_argument, NULL, OPT_PRIVATE },
    { "reject", no_argument, NULL, OPT_REJECT },
    { "crc", required_argument, NULL, OPT_CRC },
    { "mpa-rev", required_argument, NULL, OPT_REV },
    { "rtr", required_argument, NULL, OPT_RTR },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "help", no_argument, NULL, OPT_HELP },
    { "profile", required_argument, NULL, OPT_PROFILE },
    { NULL, 0, NULL, 0 },
};

static bool options_set_crc(struct options *o, const char *arg)
{
    o->config.crc = strcmp(arg, "on") == 0;
    return o->config.crc || strcmp(arg, "off") == 0;
}

static bool options_set_timeout(struct options *o, const char *arg)
{
    uint32_t seconds;

    if (!number_parse(arg, 1, 3600, &seconds))
        return false;
    o->config.connect_ms = o->config.reply_ms = o->config.establish_ms = o->config.disconnect_ms = seconds * 1000;
    return true;
}

/* Sets an option that has an argument. */
static bool options_set_value(struct options *o, int option, const char *arg)
{
    switch (option) {
    case OPT_SERVER_ADDR:
        return address_parse(arg, true, &o->server_address);
    case OPT_CLIENT_ADDR:
        return o->has_client_address = address_parse(arg, false, &o->client_address);
    case OPT_SERVER_IF:
        return number_parse(arg, 1, INT32_MAX, &o->server_if);
    case OPT_CLIENT_IF:
        return number_parse(arg, 1, INT32_MAX, &o->client_if);
    case OPT_TEST_TYPE:
        return strcasecmp(arg, "rping") == 0;
    case OPT_LOG:
        return (o->log_file = arg) != NULL;
    case OPT_COUNT:
        return number_parse(arg, 1, UINT32_MAX, &o->count);
    case OPT_SIZE:
        return number_parse(arg, RPING_MIN_DATA, RPING_MAX_DATA, &o->size);
    case OPT_IRD:
        return number_parse(arg, 0, 16383, &o->ird);
    case OPT_ORD:
        return number_parse(arg, 0, 16383, &o->ord);
    case OPT_PRIVATE:
        return options_parse_hex(arg, o->private_data, sizeof o->private_data, &o->private_len);
    case OPT_CRC:
        return options_set_crc(o, arg);
    case OPT_REV:
        return number_parse(arg, 0, 2, &o->config.mpa_revision);
    case OPT_RTR:
        return options_parse_rtr(arg, &o->config.rtr);
    case OPT_TIMEOUT:
        return options_set_timeout(o, arg);
    case OPT_PROFILE:
        return ondk_config_profile(&o->config, arg) == 0;
    case 'W':
        return number_parse(arg, 0, INT32_MAX, &o->wait_seconds);
    default:
        return false;
    }
}

static enum ndkping_exit options_error(const char *text)
{
    fprintf(stderr, "ndkping: %s\nTry ndkping --help.\n", text);
    return NDKPING_USAGE;
}

enum ndkping_exit options_parse(struct options *o, int argc, char **argv, bool *done)
{
    bool client = false;

    memset(o, 0, sizeof *o);
    ondk_config_init(&o->config);
    o->count = 1;
    o->ird = o->ord = 8;
    *done = true;
    for (int option; (option = getopt_long_only(argc, argv, "SCVAW:", known_options, NULL)) != -1;) {
        switch (option) {
        case 'S':
            o->server = true;
            break;
        case 'C':
            client = true;
            break;
        case 'V':
            o->verbose = true;
            break;
        case 'A':
            o->append = true;
            break;
        case OPT_REJECT:
            o->reject = true;
            break;
        case OPT_HELP:
            fputs(help, stdout);
            return NDKPING_OK;
        case '?':
            return options_error("unknown option, or its value is missing");
        default:
            if (!options_set_value(o, option, optarg)) {
                fprintf(stderr, "ndkping: '%s' is not a value for this option\n", optarg);
                return options_error("wrong value");
            }
        }
    }
    if (optind < argc)
        return options_error("unexpected argument");
    if (o->server == client)
        return options_error("specify either -S (server) or -C (client)");
    if (!o->server_address.ss_family)
        return options_error("-ServerAddr ADDRESS:PORT is missing");
    if (client && !address_port(&o->server_address))
        return options_error("-ServerAddr: a client needs the server's port, which is not 0");
    if (ondk_config_check_environment())
        return options_error("an ONDK_ variable of the environment is not used");
    if (!o->size)
        o->size = o->server ? RPING_MAX_DATA : 64;
    *done = false;
    return NDKPING_OK;
}
