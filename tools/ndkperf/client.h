/* SPDX-License-Identifier: MIT */
/* The client's state, which client.c and client_latency.c share. */
#ifndef NDKPERF_CLIENT_H
#define NDKPERF_CLIENT_H

#include "meter.h"
#include "result.h"
#include "session.h"
#include "wire.h"

struct client {
    struct session *s;
    const struct options *o;
    struct result *result;
    struct interval *interval; /* the current interval of --interval */
    struct meter meter;
    uint64_t deadline; /* 0: the run ends after a number of messages */
    uint64_t live_at;
    uint64_t interval_at, interval_messages; /* start of the interval, and number of messages before it */
    uint64_t server_messages, server_ns;     /* from the server's last answer to ORDER_SAMPLE */
    uint64_t server_laps;                    /* each queue pair has verified this many of the server's messages */
    uint64_t flushes;                        /* flushes (flow.h) requested from the server since the start */
    unsigned step, steps;                    /* number of the current size, and number of sizes */
    bool warmup;
    bool unanswered; /* an order is unanswered */
    bool sampling;   /* the unanswered order is an ORDER_SAMPLE */
    struct outcome outcome;
};

/* Updates the peak rate, the live line and the intervals. Ends the run if its time is over. */
bool client_check_clock(struct client *c, uint64_t now);
/* Sends ORDER_FLUSH with `first` and `count` (struct order). Waits until all messages of both ends have arrived. */
bool client_flush(struct client *c, uint64_t first, uint64_t count);

bool client_run_latency(struct client *c);

#endif
