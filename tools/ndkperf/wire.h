/* SPDX-License-Identifier: MIT */
/*
 * What the two ends of ndkperf tell each other. The first connection is for control alone, each further one is a lane,
 * a queue pair that is measured. Private data opens them all: a hello with the connect, an answer with the accept or
 * the reject; both fit in the 56 bytes that a narrow adapter has. Afterwards orders of 32 bytes go over the control
 * connection, one at a time, each answered. Everything is big-endian.
 */
#ifndef NDKPERF_WIRE_H
#define NDKPERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1, WIRE_PRIVATE = 40, WIRE_ORDER = 32 };
enum { SIZE_MOST = 268435456, QPS_MOST = 1024 };

/* With a connect. */
struct hello {
    uint32_t version;
    uint32_t index;     /* 0: control; else the lane's number */
    uint32_t session;   /* the same for all connections of a run */
    uint32_t qps;
    uint32_t size;      /* the largest message */
    uint32_t window;
    uint32_t check;
    uint32_t token;     /* a lane's memory that the peer may write to */
    uint64_t address;
};

enum answer_code {
    ANSWER_YES, ANSWER_VERSION, ANSWER_BUSY, ANSWER_QPS, ANSWER_SIZE, ANSWER_TRANSFER, ANSWER_MEMORY, ANSWER_SESSION,
    ANSWER_TOTAL        /* all queue pairs together would need more memory than the server gives: value is its MiB */
};

/* With an accept or a reject. The address is the lane's base: the areas in it are where lanes.h says. */
struct answer {
    uint32_t version;
    uint32_t code;      /* enum answer_code */
    uint32_t value;     /* the limit that stood in the way */
    uint32_t window;    /* granted to the control connection: no more than asked for */
    uint32_t token;
    uint64_t address;
};

enum order_kind { ORDER_RUN = 1, ORDER_FLUSH, ORDER_END };
enum { ORDER_LATENCY = 1, ORDER_CORRUPT = 2, ORDER_WARMUP = 4 };

/* Client to server. */
struct order {
    uint32_t kind;      /* enum order_kind */
    uint32_t test, flags, size;
    uint64_t first;     /* flush: how many messages there were before, */
    uint64_t count;     /* and since the last flush: with --check of each lane, otherwise of all */
};

/* And back. */
struct outcome {
    uint32_t kind;
    uint32_t different; /* 1: some message was wrong: which one is told */
    uint32_t lane, offset;
    uint64_t message;
    uint64_t cpu_us;    /* of the server since the run began */
};

void hello_put(const struct hello *h, uint8_t bytes[WIRE_PRIVATE]);
/* False: this is no hello of any version. Of another version only the version is filled in. */
bool hello_get(struct hello *h, const uint8_t *bytes, size_t len);
void answer_put(const struct answer *a, uint8_t bytes[WIRE_PRIVATE]);
bool answer_get(struct answer *a, const uint8_t *bytes, size_t len);
void order_put(const struct order *o, uint8_t bytes[WIRE_ORDER]);
void order_get(struct order *o, const uint8_t bytes[WIRE_ORDER]);
void outcome_put(const struct outcome *o, uint8_t bytes[WIRE_ORDER]);
void outcome_get(struct outcome *o, const uint8_t bytes[WIRE_ORDER]);

#endif
