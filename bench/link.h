/* SPDX-License-Identifier: MIT */
/*
 * One connection between the two processes of a measurement, whatever carries it: NDK, or a peer of ours. What is
 * measured over it (drive.c) is the same for all. Requests of a link complete in order, so counting them is enough.
 */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common.h"

enum {
    LINK_AREA = (1 << 20) + 4096, /* of each of the three areas below */
    LINK_BYTES = 3 * LINK_AREA,
    LINK_SMALL = 64,              /* messages of the measurements that are not about messages */
    LINK_RECEIVES = 256,          /* at most in the queue; libfabric's tcp has no more */
    LINK_WINDOW = 256,            /* at most */
};

enum link_op { LINK_SEND, LINK_WRITE, LINK_READ };

struct link;

struct link_ops {
    const char *kind;
    void (*open)(struct link *l, int control);  /* both processes; connected when both have returned */
    void (*receive)(struct link *l);            /* one more receive of l->message bytes, to link_messages */
    void (*post)(struct link *l, enum link_op op, bool more); /* more: others follow at once */
    void (*poll)(struct link *l);               /* takes what has completed: l->completed, l->received */
    void (*wait)(struct link *l);               /* sleeps until something was received. NULL: it cannot */
    /* From now on l->on_message is called where the carrier tells of a message. NULL: it tells nobody. */
    void (*notify)(struct link *l);
    void (*close)(struct link *l, int control);
};

/* Where the peer's memory is, as the carrier names it. */
struct link_target {
    uint64_t address, token;
};

struct link {
    const struct link_ops *ops;
    void *own;                /* the carrier's */
    bool client, sleeps;      /* sleeps: wait or notify will be used */
    size_t size, message;     /* bytes of a write or read, and of a message */
    uint8_t *memory;          /* source, landing (the peer writes there), messages */
    struct link_target peer;
    uint64_t completed, received, handled; /* handled: messages given to on_message */
    atomic_bool ending;       /* the peer may go now: what fails from here on is no failure */
    void (*on_message)(struct link *l);
    void *context;            /* on_message's */
};

static inline uint8_t *link_source(const struct link *l)
{
    return l->memory;
}

static inline uint8_t *link_landing(const struct link *l)
{
    return l->memory + LINK_AREA;
}

static inline uint8_t *link_messages(const struct link *l)
{
    return l->memory + 2 * LINK_AREA;
}

/* Gives what was received to on_message. */
static inline void link_handle(struct link *l)
{
    while (l->handled < l->received) {
        l->handled++;
        l->on_message(l);
    }
}

/* Tells the other process where our memory is, and hears where its is. */
void link_exchange(struct link *l, int control, struct link_target ours);

/* What is to be measured: see drive.c for the tests. */
struct job {
    const char *kind, *test;
    size_t size;
    unsigned window, burst;
    double seconds;
};

struct outcome {
    struct samples trips;     /* nanoseconds */
    uint64_t ops, from, ended;
    struct bench_sockets sockets;
};

/* Ends the process where the arguments are wrong: <kind> <test> <size> <window> <burst> <seconds> */
struct job job_parse(int argc, char **argv);
void outcome_init(struct outcome *o);
void outcome_print(const struct job *j, struct outcome *o, bool pinned);

/* Measures in two processes and prints one line of JSON. */
int drive(const struct job *j, const struct link_ops *ops);

/* The same of bare TCP (data_tcp.c). */
int drive_tcp(const struct job *j);

extern const struct link_ops floor_ops; /* data_floor.c: nothing but the wire format */

#endif
