/* SPDX-License-Identifier: MIT */
/* The interface between the measurement in crowd.c and the connections in crowd_ndk.c and crowd_tcp.c. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common.h"

enum { CROWD_MESSAGE = 64, CROWD_SECONDS = 60, CROWD_QUEUES = 64 };

struct crowd;

/* One connection of the client. */
struct member {
    struct crowd *crowd;
    /*
     * sent: time of the last send in ns; trips: number of round trips in the measured time; all: number of all round
     * trips
     */
    uint64_t sent, trips, all;
    void *carrier;
    int fd;
};

struct crowd {
    unsigned connections, in_flight, queues;
    bool notified; /* true: notifications handle the messages; false: one thread polls */
    double seconds;
    struct member *members;
    struct samples trips; /* nanoseconds of each full round trip; stored only if `queues` is 1 */
    uint64_t from, deadline;
    double cpu_seconds;  /* CPU time of both processes */
    atomic_uint running; /* messages in flight */
    void (*send)(struct member *m);
    void *carrier;
};

void crowd_begin(struct crowd *c);
/* Handles an answer to m. Sends the next message, unless the deadline has passed. */
void crowd_answered(struct member *m);
bool crowd_is_over(struct crowd *c);

/* The server answers each message until the other process closes the control socket. */
void crowd_serve_ndk(unsigned connections, unsigned queues, bool notified, int control);
void crowd_serve_tcp(unsigned connections, int control);
/* The functions of the client. */
void crowd_open_ndk(struct crowd *c, int control);
void crowd_open_tcp(struct crowd *c, int control);
void crowd_run_ndk(struct crowd *c);
void crowd_run_tcp(struct crowd *c);
void crowd_close_ndk(struct crowd *c);

#endif
