/* SPDX-License-Identifier: MIT */
/* The command line of the hostile peer, and its counts in JSON: see README.md. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "hostile/peers.h"
#include "number.h"

enum { MANY = 1000000 };

static const char usage[] =
    "hostile [options] ATTACK ADDRESS:PORT\n"
    "\n"
    "Attacks the service at the address, or, as `server`, listens there. Only for services of your own.\n"
    "\n"
    "  --connections N     at a time (16)\n"
    "  --total N           altogether (as many as at a time)\n"
    "  --reconnect         replaces each connection that ended, up to --total\n"
    "  --seconds N         ends after that at the latest (10)\n"
    "  --until-stdin       goes on till standard input ends, or --seconds\n"
    "  --from ADDRESS      source address\n"
    "  --sources N         so many of them in turn: IPv4, from that one on; IPv6, one in each of so many /64\n"
    "  --count N           messages or reads of a connection (8)\n"
    "  --size N            bytes of a message (16)\n"
    "  --delay-ms N        time between bytes, or before a request (0)\n"
    "  --mss N             largest TCP segment that it takes\n"
    "  --how N             one variant alone (default: all in turn)\n"
    "  --no-crc            does not ask for CRC32c\n"
    "  --seed N            decides everything random (1)\n"
    "\n"
    "Prints `ready` when the attack is in place, and counts as one line of JSON at the end.\n"
    "\n";

enum {
    CONNECTIONS = 1,
    TOTAL,
    RECONNECT,
    SECONDS,
    UNTIL_STDIN,
    FROM,
    SOURCES,
    COUNT,
    SIZE,
    DELAY_MS,
    MSS,
    HOW,
    NO_CRC,
    SEED,
    HELP
};

/* clang-format off */
static const struct option long_options[] = {
    { "connections", required_argument, NULL, CONNECTIONS }, { "total", required_argument, NULL, TOTAL },
    { "reconnect", no_argument, NULL, RECONNECT }, { "seconds", required_argument, NULL, SECONDS },
    { "until-stdin", no_argument, NULL, UNTIL_STDIN }, { "from", required_argument, NULL, FROM },
    { "sources", required_argument, NULL, SOURCES }, { "count", required_argument, NULL, COUNT },
    { "size", required_argument, NULL, SIZE }, { "delay-ms", required_argument, NULL, DELAY_MS },
    { "how", required_argument, NULL, HOW }, { "no-crc", no_argument, NULL, NO_CRC },
    { "mss", required_argument, NULL, MSS },           { "seed", required_argument, NULL, SEED },
    { "help", no_argument, NULL, HELP }, { NULL, 0, NULL, 0 },
};
/* clang-format on */

static void print_usage(FILE *to)
{
    fputs(usage, to);
    for (int i = 0; attacks[i]; i++)
        fprintf(to, "  %-12s %s\n", attacks[i]->name, attacks[i]->text);
}

static bool set_number(int option, const char *text)
{
    uint32_t *const numbers[] = {
        [CONNECTIONS] = &options.connections, [TOTAL] = &options.total, [SECONDS] = &options.seconds,
        [SOURCES] = &options.sources,         [COUNT] = &options.count, [SIZE] = &options.size,
        [DELAY_MS] = &options.delay_ms,       [MSS] = &options.mss
    };
    uint32_t value;

    if (!number_parse(text, 0, option == SIZE ? FRAME_MAX_PAYLOAD : MANY, &value))
        return false;
    if (option == HOW)
        options.how = (int)value;
    else if (option == SEED)
        options.seed = value;
    else
        *numbers[option] = value;
    return true;
}

static bool set_option(int option, const char *text)
{
    switch (option) {
    case RECONNECT:
        options.reconnect = true;
        return true;
    case UNTIL_STDIN:
        options.until_stdin = true;
        return true;
    case NO_CRC:
        options.no_crc = true;
        return true;
    case FROM:
        return address_parse(text, false, &options.source);
    case '?':
        return false;
    default:
        return set_number(option, text);
    }
}

static const struct attack *find_attack(const char *name)
{
    for (int i = 0; attacks[i]; i++)
        if (strcmp(attacks[i]->name, name) == 0)
            return attacks[i];
    return NULL;
}

/* Returns the attack, or NULL after wrong usage. */
static const struct attack *parse(int argc, char **argv)
{
    const struct attack *attack;
    int option;

    options = (struct options){ .connections = 16, .seconds = 10, .count = 8, .size = 16, .how = -1, .seed = 1 };
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == HELP || !set_option(option, optarg))
            return NULL;
    }
    if (argc - optind != 2 || !options.connections || !(attack = find_attack(argv[optind])))
        return NULL;
    if (!address_parse(argv[optind + 1], true, &options.target))
        return NULL;
    if (options.source.ss_family && options.source.ss_family != options.target.ss_family)
        return NULL;
    if (!options.total)
        options.total = options.reconnect || attack->is_server ? MANY : options.connections;
    return attack;
}

static int compare_times(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t percentile(unsigned percent)
{
    return totals.times_count ? totals.times_us[(uint64_t)(totals.times_count - 1) * percent / 100] : 0;
}

static void print_totals(const struct attack *attack)
{
    qsort(totals.times_us, totals.times_count, sizeof totals.times_us[0], compare_times);
    printf("{\"attack\": \"%s\", \"seed\": %llu, \"started\": %u, \"connected\": %u, \"refused\": %u, \"failed\": %u, "
           "\"replied\": %u, \"rejected\": %u, \"closed\": %u, \"served\": %u, ",
           attack->name, (unsigned long long)options.seed, totals.started, totals.connected, totals.refused,
           totals.failed, totals.replied, totals.rejected, totals.closed, totals.served);
    printf("\"messages\": %llu, \"frames\": %llu, \"bytes\": %llu, \"received_frames\": %llu, \"wrong_bytes\": %llu, "
           "\"wrong_crc\": %llu, \"unexpected\": %u, \"p50_us\": %u, \"p99_us\": %u, \"ended\": {",
           (unsigned long long)totals.messages, (unsigned long long)totals.frames, (unsigned long long)totals.bytes,
           (unsigned long long)totals.received_frames, (unsigned long long)totals.wrong_bytes,
           (unsigned long long)totals.wrong_crc, totals.unexpected, percentile(50), percentile(99));
    for (unsigned i = 0; i < totals.ends_count; i++)
        printf("%s\"%s\": %u", i ? ", " : "", totals.ends[i].name, totals.ends[i].count);
    printf("}}\n");
}

int main(int argc, char **argv)
{
    const struct attack *attack = parse(argc, argv);
    bool well;

    if (!attack) {
        print_usage(stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    well = peers_run(attack);
    print_totals(attack);
    return well ? 0 : 1;
}
