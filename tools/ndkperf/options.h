/* SPDX-License-Identifier: MIT */
/* Parses ndkperf's command line, which has the options of Windows' NDKPerfCmd, and long options. */
#ifndef NDKPERF_OPTIONS_H
#define NDKPERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "endpoint.h"
#include "openndk/config.h"

/* Exit codes. --help lists them. */
enum ndkperf_exit {
    NDKPERF_OK = COMMAND_OK,
    NDKPERF_FAILED =
        COMMAND_FAILED, /* a name has no address, or a connection or a request failed: the status was printed */
    NDKPERF_USAGE = COMMAND_USAGE,
    NDKPERF_DATA = 3,   /* received data differ from the sent data */
    NDKPERF_NOBODY = 4, /* server: no client has connected in time */
    NDKPERF_PEER = 5,   /* the peer is not ndkperf, has another version, or does not support the request */
    NDKPERF_LOST = COMMAND_LOST,
    NDKPERF_INTERRUPTED = COMMAND_INTERRUPTED,
};

/* The format of the lines with results. FORMAT_NONE: no lines, because standard output contains JSON, CSV or HTML. */
enum format { FORMAT_PERFTEST, FORMAT_WINOF, FORMAT_NONE };

/* The tests. The values are also used on the wire. */
enum test { TEST_SEND, TEST_WRITE, TEST_READ, TEST_MIXED };

struct options {
    bool server, client;
    struct endpoint server_address, client_address; /* client_address.text is "" if the option was not given */
    uint32_t server_if, client_if;
    double wait_seconds; /* server: time limit for the wait for a client; 0: no limit */
    const char *log_file;
    bool append, verbose;
    enum test test;
    bool has_test;
    bool latency, all, both; /* both: --bidirectional was given */
    uint32_t size, limit;    /* limit: the largest size of --all */
    uint32_t qps, window, burst, inline_size;
    double duration, warmup;
    uint32_t iterations; /* number of messages on each queue pair; 0: the run ends after `duration` */
    double interval;     /* length of an interval in seconds; 0: no intervals */
    uint32_t moderation_count, moderation_us;
    bool moderation, events, check, corrupt;
    bool live, histogram;
    enum format format;
    const char *json, *csv, *html; /* names of files; "-": standard output; NULL: not given */
    uint32_t ird, ord;
    uint32_t memory_mib;  /* server: maximum memory that a client may request */
    uint32_t version;     /* version of ndkperf's protocol to use */
    const char *provider; /* file of a provider module; NULL: OpenNDK */
    ondk_config_t config; /* settings for which an option was given; see provider_options.h */
};

/*
 * Parses the command line into *o. Returns -1 if the program must continue. Otherwise help or an error was printed, and
 * the program must exit with the returned code.
 */
int options_parse(struct options *o, int argc, char **argv);

const char *options_test_name(enum test test);

#endif
