/* SPDX-License-Identifier: MIT */
/* Many connections with messages there and back: what crowd.c (the measurement) and its two carriers know together. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common.h"

enum { CROWD_MESSAGE = 64, CROWD_SECONDS = 60, CROWD_QUEUES = 64 };

struct crowd;

/* One connection of the client's. */
struct member {
    struct crowd *crowd;
    uint64_t sent, trips, all; /* trips: within the measured time */
    void *carrier;
    int fd;
};

struct crowd {
    unsigned connections, under_way, queues;
    bool told;                   /* inside the notifications of the completion queues; else one thread looks on */
    double seconds;
    struct member *members;
    struct samples trips;        /* nanoseconds, all of a round trip; with one queue */
    uint64_t from, deadline;
    double cpu_seconds;          /* of both ends, from before the first message till after the last */
    atomic_uint running;         /* messages under way */
    void (*send)(struct member *m);
    void *carrier;
};

void crowd_begin(struct crowd *c);
void crowd_answered(struct member *m); /* sends the next one, until the time is up */
bool crowd_is_over(struct crowd *c);

/* The server echoes until the other process closes the control socket. */
void crowd_serve_ndk(unsigned connections, unsigned queues, bool told, int control);
void crowd_serve_tcp(unsigned connections, int control);
/* The client. */
void crowd_open_ndk(struct crowd *c, int control);
void crowd_open_tcp(struct crowd *c, int control);
void crowd_run_ndk(struct crowd *c);
void crowd_run_tcp(struct crowd *c);
void crowd_close_ndk(struct crowd *c);

#endif
