/* SPDX-License-Identifier: MIT */
/* Parses ndkinfo's command line: see options.h. */
#include "options.h"

#include <stddef.h>
#include <string.h>

#include "command.h"
#include "connection_options.h"
#include "provider_options.h"

static const char *options_set_profile(void *options, const char *value)
{
    struct options *o = options;

    o->profile = value;
    return option_set_profile(&o->config, value);
}

static const char *options_add_name(void *options, const char *word)
{
    struct options *o = options;

    if (o->n_names == MAX_NAMES)
        return "there are more than 64 interfaces on the command line";
    o->names[o->n_names++] = word;
    return NULL;
}

#define AT(field) .at = offsetof(struct options, field)

static const struct command_option known_options[] = {
    { "-v, --verbose", NULL, "print every limit that the adapter reports", COMMAND_FLAG, AT(verbose) },
    { "-l, --list", NULL, "print a table, one line for each interface", COMMAND_FLAG, AT(list) },
    { "--json", NULL, "print everything as one JSON object", COMMAND_FLAG, AT(json) },
    { "--csv", NULL, "print the table of --list as CSV", COMMAND_FLAG, AT(csv) },
    { "--profile", OPTION_PROFILES, "show the adapters as they are with this profile", .kind = COMMAND_CALL,
      .set = options_set_profile },
    PROVIDER_OPTION(offsetof(struct options, provider)),
};

static const char *const usage[] = { "[OPTION]... [INTERFACE]...", NULL };

static const struct command_status statuses[] = {
    { COMMAND_OK, "done; an adapter that cannot be opened is shown with the reason" },
    { COMMAND_FAILED, "an INTERFACE does not exist or cannot be opened" },
    { COMMAND_USAGE, "wrong usage, a provider that cannot be used, or an ONDK_ variable of the environment that is not "
                     "used" },
    { COMMAND_LOST, "the output could not be written completely" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkinfo",
    .summary = "ndkinfo lists the NDK adapters of this machine, as ibv_devinfo and Get-NetAdapterRdma do: interface, "
               "state, addresses, NDK versions and limits.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = options_add_name,
    .statuses = statuses,
    .notes = "INTERFACE is an index, a name or an address of this machine. Every network interface\n"
             "with an address has an adapter. The settings of the environment apply (ONDK_...).\n",
};

int options_parse(struct options *o, int argc, char **argv)
{
    char error[512];
    int code;

    memset(o, 0, sizeof *o);
    provider_options_init(&o->config);
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    if (o->json && o->csv)
        return command_usage_error(&command, "--json and --csv exclude each other");
    if (o->verbose && (o->list || o->csv))
        return command_usage_error(&command, "--verbose and the table (--list, --csv) exclude each other");
    o->list = o->list && !o->json && !o->csv;
    if (ondk_config_check_environment())
        return command_usage_error(&command, "an ONDK_ variable of the environment is not used");
    if (!provider_options_load(o->provider, &o->config, error, sizeof error))
        return command_usage_error(&command, "%s", error);
    return -1;
}
