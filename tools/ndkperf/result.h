/* SPDX-License-Identifier: MIT */
/* The client's results: one for each message size, and one for each interval of --interval. */
#ifndef NDKPERF_RESULT_H
#define NDKPERF_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "times.h"

/* The rate of the requests that one end has posted on all queue pairs. */
struct rate {
    uint64_t messages;
    double seconds;
    double peak; /* messages per second in the best tenth of a second */
};

static inline double rate_messages(const struct rate *r)
{
    return r->seconds > 0 ? (double)r->messages / r->seconds : 0;
}

struct result {
    uint32_t size;
    struct rate client;
    struct rate server; /* valid only with --bidirectional */
    uint64_t client_cpu_us, server_cpu_us;
    bool has_server; /* false: the run has failed before the server sent its result */
    struct times times;
};

/* The values of one line of --interval. */
struct interval {
    uint32_t size;
    double from, to; /* in seconds since the start of the run */
    struct rate client;
    struct rate server;
    bool has_server;
    struct times times; /* with --latency: the latencies in this interval */
};

#endif
