/* SPDX-License-Identifier: MIT */
/* ndkrun's command line: see options.h. */
#include "options.h"

#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "openndk/config.h"

static const char help[] =
    "ndkrun loads kernel drivers that ndk-cc has built, calls DriverEntry, lets them run, unloads them, the last\n"
    "first, and reports what they have left and which rules they broke.\n"
    "\n"
    "  ndkrun [options] DRIVER.so...\n"
    "\n"
    "  --net INDEX=ADDRESS/PREFIX,...  run in a new network namespace with interfaces of these indexes and addresses;\n"
    "                                  an index may occur several times, with an address each. No root needed.\n"
    "  --map INDEX=NAME                the host's interface NAME for a driver's interface INDEX\n"
    "  --reg 'KEY\\VALUE=TYPE:DATA'     a value in the registry: dword:5, qword:5, sz:text, multi_sz:a|b, hex:00ff.\n"
    "                                  KEY is relative to the first driver's service key, or begins with HKLM\n"
    "  --reg-file FILE                 a .reg file, as regedit exports it\n"
    "  --ioctl DEVICE:CODE[:HEX]       send a device control after all drivers are loaded; in this order\n"
    "  --scsi 'PATH:TARGET:LUN COMMAND' a command to a unit of a Storport miniport, after device controls: inquiry,\n"
    "                                  capacity, luns, read LBA BLOCKS, write LBA HEX, cdb HEX [in BYTES]\n"
    "  --run-for SECONDS               unload after this time; otherwise on Ctrl-C\n"
    "  --until-idle                    unload when no thread, timer, DPC or NDK request of a driver is left\n"
    "  --until-print TEXT              unload when a driver prints TEXT\n"
    "  --checks off|go-on|stop         the action for a broken rule; stop ends with a bug check (default:\n"
    "                                  ONDK_WDK_CHECKS, or stop)\n"
    "  --help\n"
    "\n"
    "Under a debugger: gdb --args ndkrun DRIVER.so, then `break DriverEntry`, `run`.\n"
    "Exit: 0 no finding; 1 something was left or a rule broken; 2 wrong usage, or an ONDK_ variable that is not\n"
    "used; 3 a driver did not load; 4 a device control or SCSI command failed; 6 the output could not be written\n"
    "completely; a bug check ends with SIGABRT.\n";

static int options_error(const char *what, const char *word)
{
    fprintf(stderr, "ndkrun: %s: %s (see --help)\n", what, word);
    return NDKRUN_USAGE;
}

/* "INDEX=rest" */
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

/* Parses --net. Splits a copy, because reexec_prepare needs the original words. */
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

static bool options_add_map(const char *word)
{
    uint32_t index, host;
    const char *rest;

    if (!options_parse_index(word, &rest, &index))
        return false;
    host = if_nametoindex(rest + 1);
    if (!host)
        fprintf(stderr, "ndkrun: this machine has no interface %s\n", rest + 1);
    return ondk_wdk_map_interface(index, host);
}

static bool options_add(const char **list, uint32_t *count, const char *word)
{
    if (*count == MAX_OPTIONS)
        return false;
    list[(*count)++] = word;
    return true;
}

static bool options_parse_checks(const char *word, ondk_wdk_checks_t *checks)
{
    static const char *const names[] = { "off", "go-on", "stop" };

    for (int i = 0; i < 3; i++)
        if (!strcmp(word, names[i])) {
            *checks = (ondk_wdk_checks_t)i;
            return true;
        }
    return false;
}

enum {
    OPT_NET = 256,
    OPT_MAP,
    OPT_REG,
    OPT_REG_FILE,
    OPT_IOCTL,
    OPT_SCSI,
    OPT_RUN_FOR,
    OPT_UNTIL_IDLE,
    OPT_UNTIL_PRINT,
    OPT_CHECKS,
    OPT_HELP
};

static const struct option long_options[] = {
    { "net", required_argument, NULL, OPT_NET },
    { "map", required_argument, NULL, OPT_MAP },
    { "reg", required_argument, NULL, OPT_REG },
    { "reg-file", required_argument, NULL, OPT_REG_FILE },
    { "ioctl", required_argument, NULL, OPT_IOCTL },
    { "scsi", required_argument, NULL, OPT_SCSI },
    { "run-for", required_argument, NULL, OPT_RUN_FOR },
    { "until-idle", no_argument, NULL, OPT_UNTIL_IDLE },
    { "until-print", required_argument, NULL, OPT_UNTIL_PRINT },
    { "checks", required_argument, NULL, OPT_CHECKS },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

static bool options_set(struct options *o, int option, char *word)
{
    switch (option) {
    case OPT_NET:
        return options_add_net(o, word);
    case OPT_MAP:
        return options_add_map(word);
    case OPT_REG:
        return options_add(o->reg, &o->reg_count, word);
    case OPT_REG_FILE:
        o->reg_file = word;
        return true;
    case OPT_IOCTL:
        return options_add(o->ioctl, &o->ioctl_count, word);
    case OPT_SCSI:
        return options_add(o->scsi, &o->scsi_count, word);
    case OPT_RUN_FOR:
        return number_parse_seconds(word, 0, 1e9, &o->run_for);
    case OPT_UNTIL_IDLE:
        return o->until_idle = true;
    case OPT_UNTIL_PRINT:
        o->until_print = word;
        return true;
    case OPT_CHECKS:
        return options_parse_checks(word, &o->checks);
    default:
        return false;
    }
}

int options_parse(struct options *o, int argc, char **argv, bool *done)
{
    int option;

    const char *checks = getenv("ONDK_WDK_CHECKS");

    *done = true;
    *o = (struct options){ .run_for = -1, .checks = ONDK_WDK_CHECKS_STOP };
    if (checks)
        (void)options_parse_checks(checks, &o->checks);
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == OPT_HELP) {
            fputs(help, stdout);
            return NDKRUN_OK;
        }
        if (option == '?')
            return NDKRUN_USAGE; /* getopt has printed the reason */
        if (!options_set(o, option, optarg))
            return options_error("wrong value", optarg ? optarg : argv[optind - 1]);
    }
    for (; optind < argc; optind++)
        if (!options_add(o->drivers, &o->driver_count, argv[optind]))
            return options_error("too many drivers", argv[optind]);
    if (!o->driver_count)
        return options_error("no driver", "ndkrun DRIVER.so");
    if (ondk_config_check_environment())
        return options_error("wrong environment", "an ONDK_ variable is not used");
    *done = false;
    return NDKRUN_OK;
}
