/* SPDX-License-Identifier: MIT */
/* The command line of ndktrace: a command, options, and the command's arguments. */
#ifndef NDKTRACE_OPTIONS_H
#define NDKTRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter.h"
#include "print_events.h"

enum { OPTIONS_MAX_ARGUMENTS = 4096, PCAP_MAX_FILES = 64 };

enum options_command {
    COMMAND_NONE,
    COMMAND_RUN,
    COMMAND_SHOW,
    COMMAND_HTML,
    COMMAND_PCAP,
    COMMAND_EXPLAIN,
    COMMAND_PERFETTO,
    COMMAND_ATTACH
};

struct options {
    enum options_command command;
    const char *output; /* of run, html, pcap and attach; "" or a default name if the option was not given */
    /* run */
    uint32_t size_mib;
    /* pcap */
    uint32_t zeros;
    /* show */
    struct filter filter;
    struct print_style style;
    bool follow;
    bool has_last; /* also of run and attach */
    uint32_t last; /* the most events to be shown; valid if has_last */
    /* attach */
    bool is_once;
    size_t n_arguments;
    char *arguments[OPTIONS_MAX_ARGUMENTS + 1]; /* without the command; a NULL follows the last one */
};

/* Parses the command line. Returns -1 if the tool must continue, otherwise the exit code. */
int options_parse(struct options *o, int argc, char **argv);

#endif
