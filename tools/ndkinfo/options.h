/* SPDX-License-Identifier: MIT */
/* ndkinfo's command line. */
#ifndef NDKINFO_OPTIONS_H
#define NDKINFO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/config.h"

enum { MAX_NAMES = 64 };

struct options {
    const char *names[MAX_NAMES]; /* indexes, names or addresses of interfaces to show; if none, all are shown */
    uint32_t n_names;
    bool verbose, list, json, csv;
    const char *profile;  /* the value of --profile; NULL: not given, the environment variable ONDK_PROFILE applies */
    const char *provider; /* the file of a provider module, or NULL for OpenNDK */
    ondk_config_t config; /* the settings that the options give: see provider_options.h */
};

/* Fills in *o and returns -1. If help or an error was printed instead, returns the exit code of the program. */
int options_parse(struct options *o, int argc, char **argv);

#endif
