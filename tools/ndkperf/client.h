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
    struct interval *interval; /* the present interval of --interval */
    struct meter meter;
    uint64_t deadline; /* time at which the run ends; 0: the run ends after a number of messages */
    uint64_t live_at;
    /* interval_at: start of the present interval. interval_messages: number of the run's messages before that start. */
    uint64_t interval_at, interval_messages;
    uint64_t server_messages, server_ns; /* `messages` and `ns` of the server's last answer to ORDER_SAMPLE */
    uint64_t server_laps;                /* on each queue pair: number of the server's messages that are verified */
    /* Number of flushes (flow.h) that were requested from the server since the start. */
    uint64_t flushes;
    unsigned step, steps; /* step: number of the present size, from 1; steps: number of all sizes */
    bool warmup;
    bool unanswered; /* the last order has no answer yet */
    bool sampling;   /* the unanswered order is an ORDER_SAMPLE */
    struct outcome outcome;
};

/*
 * Updates the peak rate, the live line and the intervals. If the run's time has elapsed, ends the run. Returns false if
 * the session has failed.
 */
bool client_check_clock(struct client *c, uint64_t now);
/*
 * Sends ORDER_FLUSH with `first` and `count` (see struct order). Waits until all messages of both ends have arrived.
 * Returns false if the session has failed.
 */
bool client_flush(struct client *c, uint64_t first, uint64_t count);

bool client_run_latency(struct client *c);

#endif
