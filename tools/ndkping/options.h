/* SPDX-License-Identifier: MIT */
/* ndkping's command line: that of Windows' NDKPing, and long options. */
#ifndef NDKPING_OPTIONS_H
#define NDKPING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "openndk/config.h"

/* Exit codes; --help lists them. */
enum ndkping_exit {
    NDKPING_OK = 0,
    NDKPING_FAILED = 1, /* a connection or a request failed: the status was printed */
    NDKPING_USAGE = 2,
    NDKPING_DATA = 3,   /* data differed */
    NDKPING_NOBODY = 4, /* server: nobody connected in time */
    NDKPING_LOST = 6,   /* the output could not be written completely */
};

struct options {
    bool server;
    struct sockaddr_storage server_address, client_address;
    bool has_client_address;
    uint32_t server_if, client_if;
    unsigned wait_seconds; /* 0: no limit */
    bool verbose, reject;
    const char *log_file;
    bool append;
    uint32_t count, size; /* server: size is the largest ping that it accepts */
    uint32_t ird, ord;
    uint8_t private_data[512];
    uint32_t private_len;
    ondk_config_t config;
};

/* Fills in *o. If help or an error was printed, sets *done, and the program must exit with the returned code. */
enum ndkping_exit options_parse(struct options *o, int argc, char **argv, bool *done);

#endif
