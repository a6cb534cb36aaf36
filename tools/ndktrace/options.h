/* SPDX-License-Identifier: MIT */
/* Parses the command line of ndktrace: a command, options, and the command's arguments. */
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
    const char *output; /* the file to write; if --output was not given, "" or the command's default name */
    /* Options of run. */
    uint32_t size_mib, payload;
    /* Options of pcap. */
    uint32_t zeros;
    bool is_roce;
    /* Options of show. */
    struct filter filter;
    struct print_style style;
    bool follow;
    bool has_last; /* run and attach have this option, too */
    uint32_t last; /* maximum number of events to show; valid if has_last */
    /* Options of attach. */
    bool is_once;
    size_t n_arguments;
    char *arguments[OPTIONS_MAX_ARGUMENTS + 1]; /* arguments after the command; NULL follows the last one */
};

/* Parses the command line into *o. Returns -1 if the tool must continue, otherwise the exit code. */
int options_parse(struct options *o, int argc, char **argv);

#endif
