/* SPDX-License-Identifier: MIT */
/*
 * ndkperf's protocol. The first connection is for control; each further one is a lane, which is a measured queue pair.
 * Each connection begins with private data: a hello in the connect, and an answer in the accept or reject. Both fit
 * into 56 bytes, the private data of some adapters. Then the client sends orders of 32 bytes on the control connection,
 * one at a time, and the server returns an outcome for each. All numbers are big-endian.
 */
#ifndef NDKPERF_WIRE_H
#define NDKPERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1, WIRE_PRIVATE = 40, WIRE_ORDER = 32 };
enum { MAX_SIZE = 268435456, MAX_QPS = 1024 };

/* With a connect. */
struct hello {
    uint32_t version;
    uint32_t index;   /* 0: control; else the lane's number */
    uint32_t session; /* the same for all connections of a run */
    uint32_t qps;
    uint32_t size; /* the largest message */
    uint32_t window;
    uint32_t check;
    uint32_t token; /* a lane's memory that the peer may write to */
    uint64_t address;
};

enum answer_code {
    ANSWER_YES,
    ANSWER_VERSION,
    ANSWER_BUSY,
    ANSWER_QPS,
    ANSWER_SIZE,
    ANSWER_TRANSFER,
    ANSWER_MEMORY,
    ANSWER_SESSION,
    ANSWER_TOTAL /* the queue pairs need more memory than the server allows; value: the limit in MiB */
};

/* With an accept or a reject. The address is the base of the lane's memory; session.h has its areas. */
struct answer {
    uint32_t version;
    uint32_t code;   /* enum answer_code */
    uint32_t value;  /* the limit that was exceeded */
    uint32_t window; /* in the answer to the control connection: the granted window */
    uint32_t token;
    uint64_t address;
};

enum order_kind { ORDER_RUN = 1, ORDER_FLUSH, ORDER_END };
enum { ORDER_LATENCY = 1, ORDER_CORRUPT = 2, ORDER_WARMUP = 4 };

/* Client to server. */
struct order {
    uint32_t kind; /* enum order_kind */
    uint32_t test, flags, size;
    uint64_t first; /* flush: the number of messages before it */
    uint64_t count; /* flush: the number since the last flush; with --check of each lane, otherwise of all */
};

/* Server to client, for each order. */
struct outcome {
    uint32_t kind;
    uint32_t different; /* 1: a message differed; the fields below name it */
    uint32_t lane, offset;
    uint64_t message;
    uint64_t cpu_us; /* used by the server since the start of the run */
};

void hello_put(const struct hello *h, uint8_t bytes[WIRE_PRIVATE]);
/* Returns false if this is not a hello of any version. For another version only the version is filled in. */
bool hello_get(struct hello *h, const uint8_t *bytes, size_t len);
void answer_put(const struct answer *a, uint8_t bytes[WIRE_PRIVATE]);
bool answer_get(struct answer *a, const uint8_t *bytes, size_t len);
void order_put(const struct order *o, uint8_t bytes[WIRE_ORDER]);
void order_get(struct order *o, const uint8_t bytes[WIRE_ORDER]);
void outcome_put(const struct outcome *o, uint8_t bytes[WIRE_ORDER]);
void outcome_get(struct outcome *o, const uint8_t bytes[WIRE_ORDER]);

#endif
