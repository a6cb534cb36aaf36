/* SPDX-License-Identifier: MIT */
/* Parses ndkping's command line, which has the options of Windows' NDKPing, and long options. */
#ifndef NDKPING_OPTIONS_H
#define NDKPING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "endpoint.h"
#include "openndk/config.h"

/* Exit codes; --help lists them. */
enum ndkping_exit {
    NDKPING_OK = COMMAND_OK,
    NDKPING_FAILED = COMMAND_FAILED, /* a connection or a request failed: the status was printed */
    NDKPING_USAGE = COMMAND_USAGE,
    NDKPING_DATA = 3,   /* data differed */
    NDKPING_NOBODY = 4, /* server: nobody connected in time */
    NDKPING_LOST = COMMAND_LOST,
    NDKPING_INTERRUPTED = COMMAND_INTERRUPTED,
};

struct options {
    bool server, client;
    struct endpoint server_address, client_address; /* client_address.text is empty if the option is not given */
    uint32_t server_if, client_if;
    double wait_seconds; /* server: time to wait for a client; 0: no limit */
    bool persistent;
    uint32_t clients; /* server: the number of clients that it serves; 0: no limit */
    bool verbose, quiet, reject;
    bool json, csv;
    const char *log_file;
    bool append;
    uint32_t count; /* number of pings; 0: until interrupted */
    bool has_count, has_interval;
    double interval;                /* seconds */
    uint32_t size;                  /* client: size of a ping; server: size of the largest ping that it accepts */
    uint32_t sweep_low, sweep_high; /* client: the bounds of --sweep; sweep_high is 0 without --sweep */
    uint64_t step_ms;               /* time limit of each step of a ping */
    uint32_t ird, ord;
    uint8_t private_data[512];
    uint32_t private_len;
    const char *provider; /* the file of a provider module, or NULL for OpenNDK */
    ondk_config_t config; /* the settings that the options give: see provider_options.h */
};

/* Fills in *o and returns -1. If help or an error was printed instead, returns the exit code of the program. */
int options_parse(struct options *o, int argc, char **argv);

#endif
