/* SPDX-License-Identifier: MIT */
/*
 * A link is one connection between the two processes of a measurement, over NDK or a library such as libfabric. drive.c
 * measures all links in the same way. The requests of a link complete in order, so the link only counts them.
 */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common.h"

enum {
    LINK_AREA = (1 << 20) + 4096, /* bytes of each of the three areas of the link's memory */
    LINK_BYTES = 3 * LINK_AREA,
    LINK_SMALL = 64,     /* in tests of writes or reads: the size of the few messages that are sent */
    LINK_RECEIVES = 256, /* the maximum number of posted receives, because libfabric's tcp allows no more */
    LINK_WINDOW = 256,   /* the maximum number of requests in flight */
};

enum link_op { LINK_SEND, LINK_WRITE, LINK_READ };

struct link;

struct link_ops {
    const char *kind;
    void (*open)(struct link *l, int control);                /* called in both processes; connects the two processes */
    void (*receive)(struct link *l);                          /* posts a receive of l->message bytes at link_messages */
    void (*post)(struct link *l, enum link_op op, bool more); /* more: another request follows at once */
    void (*poll)(struct link *l);                             /* adds completions to l->completed and l->received */
    void (*wait)(struct link *l); /* sleeps until a message has been received; NULL: not supported */
    /*
     * After this call, each notification calls l->on_message for each received message. `notify` is NULL if the link
     * does not support notifications.
     */
    void (*notify)(struct link *l);
    void (*close)(struct link *l, int control);
};

/* The address and token of the peer's memory. */
struct link_target {
    uint64_t address, token;
};

struct link {
    const struct link_ops *ops;
    void *own;            /* for the implementation of ops */
    bool client, sleeps;  /* sleeps: true if ops->wait or ops->notify will be called */
    size_t size, message; /* size: bytes of a write or read; message: bytes of a message */
    uint8_t *memory;      /* three areas: data to send; data of the peer's writes and of own reads; received messages */
    struct link_target peer;
    /* Numbers of completed requests, of received messages, and of calls of on_message. */
    uint64_t completed, received, handled;
    atomic_bool ending; /* true: the peer may disconnect, so requests may fail */
    void (*on_message)(struct link *l);
    void *context; /* for on_message */
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

/* Calls on_message for each received message. */
static inline void link_handle(struct link *l)
{
    while (l->handled < l->received) {
        l->handled++;
        l->on_message(l);
    }
}

/* Sends `ours`, the target of this process, to the other process. Stores the other process's target in l->peer. */
void link_exchange(struct link *l, int control, struct link_target ours);

/* The arguments of a measurement; drive.c describes the tests. */
struct job {
    const char *kind, *test;
    size_t size;
    unsigned window, burst;
    double seconds;
};

struct outcome {
    struct samples trips; /* nanoseconds */
    uint64_t ops, from, ended;
    struct bench_sockets sockets;
};

/* Parses <kind> <test> <size> <window> <burst> <seconds>. Ends the process if an argument is wrong. */
struct job job_parse(int argc, char **argv);
void outcome_init(struct outcome *o);
void outcome_print(const struct job *j, struct outcome *o, bool pinned);

/* Measures in two processes and prints one line of JSON. */
int drive(const struct job *j, const struct link_ops *ops);

/* Measures bare TCP (data_tcp.c) as drive() measures a link. */
int drive_tcp(const struct job *j);

extern const struct link_ops floor_ops; /* data_floor.c: a link with only the minimal cost of the wire format */

#endif
