/* SPDX-License-Identifier: MIT */
/* ndkperf's command line: that of Windows' NDKPerfCmd, and long options. */
#ifndef NDKPERF_OPTIONS_H
#define NDKPERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "openndk/config.h"

/* Exit codes; --help lists them. */
enum ndkperf_exit {
    NDKPERF_OK = 0,
    NDKPERF_FAILED = 1, /* a connection or a request failed: the status was printed */
    NDKPERF_USAGE = 2,
    NDKPERF_DATA = 3,   /* data differed */
    NDKPERF_NOBODY = 4, /* server: nobody connected in time */
    NDKPERF_PEER = 5,   /* the peer is not ndkperf, has another version, or does not support the request */
    NDKPERF_LOST = 6,   /* the output could not be written completely */
    NDKPERF_INTERRUPTED = 130,
};

enum format { FORMAT_PERFTEST, FORMAT_WINOF, FORMAT_JSON };

/* The values are also used on the wire. */
enum test { TEST_SEND, TEST_WRITE, TEST_READ, TEST_MIXED };

struct options {
    bool server;
    struct sockaddr_storage server_address, client_address;
    bool has_client_address;
    uint32_t server_if, client_if;
    unsigned wait_seconds; /* server; 0: no limit */
    const char *log_file;
    bool append;
    enum test test;
    bool has_test;
    bool latency, all;
    uint32_t size, limit; /* limit: the largest size of --all */
    uint32_t qps, window, burst, inline_size;
    uint32_t seconds_ms, iterations, warmup_ms; /* iterations: for each queue pair; 0: seconds_ms decides */
    uint32_t moderation_count, moderation_us;
    bool moderation, events, check, corrupt;
    bool live, histogram;
    enum format format;
    uint32_t ird, ord;
    uint32_t memory_mib; /* server: the most memory that a client may request */
    uint32_t version;    /* of ndkperf's own protocol */
    ondk_config_t config;
};

/* Fills in *o. If help or an error was printed, sets *done, and the program must exit with the returned code. */
enum ndkperf_exit options_parse(struct options *o, int argc, char **argv, bool *done);

const char *options_test_name(enum test test);

#endif
