/* SPDX-License-Identifier: MIT */
/*
 * ndkperf's protocol. The first connection is for control; each further connection is a lane, which is a measured queue
 * pair. Each connection begins with private data: a hello in the connect, and an answer in the accept or reject. Each
 * has 40 bytes; some adapters allow at most 56 bytes. Then the client sends orders of 64 bytes on the control
 * connection, one at a time. The server returns an outcome for each order. All numbers are big-endian. Magic and
 * version have the same place in every version, so that an end can name the version of a refused peer.
 */
#ifndef NDKPERF_WIRE_H
#define NDKPERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 2, WIRE_PRIVATE = 40, WIRE_ORDER = 64 };
enum { MAX_SIZE = 268435456, MAX_QPS = 1024 };

enum { HELLO_CHECK = 1, HELLO_BOTH = 2 }; /* HELLO_BOTH: the server posts requests, too */

/* The private data of a connect. */
struct hello {
    uint32_t version;
    uint32_t index;   /* 0: control connection; else the number of the measured queue pair */
    uint32_t session; /* a number that all connections of a session share */
    uint32_t qps;
    uint32_t size; /* the largest message */
    uint32_t window;
    uint32_t flags;
    uint32_t token; /* token of the queue pair's memory, which the peer may access */
    uint64_t address;
    uint32_t inline_size; /* with HELLO_BOTH, the server also uses this size */
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

/* The private data of an accept or a reject. `address` is the base of the queue pair's memory (session.h). */
struct answer {
    uint32_t version;
    uint32_t code;   /* enum answer_code */
    uint32_t value;  /* the limit that was exceeded */
    uint32_t window; /* in the answer to the control connection: the granted window */
    uint32_t token;
    uint64_t address;
};

/*
 * The client sends ORDER_SAMPLE and ORDER_LAP only in runs in both directions. ORDER_SAMPLE requests the server's
 * progress. ORDER_LAP begins the server's next lap. Only runs with HELLO_CHECK have laps: in a lap each lane transfers
 * one window of messages, which are verified before the next lap.
 */
enum order_kind { ORDER_RUN = 1, ORDER_FLUSH, ORDER_END, ORDER_LAP, ORDER_SAMPLE };
enum { ORDER_LATENCY = 1, ORDER_CORRUPT = 2, ORDER_WARMUP = 4 };

/* A message from the client to the server. */
struct order {
    uint32_t kind; /* enum order_kind */
    uint32_t test, flags, size;
    /*
     * ORDER_FLUSH: `first` is the number of the run's messages before the previous ORDER_FLUSH, `count` the number
     * since then. With HELLO_CHECK these are numbers on each lane, otherwise on all lanes together.
     * ORDER_RUN with HELLO_BOTH: `count` is how many messages the server posts on each lane. 0: the server posts until
     * ORDER_FLUSH.
     */
    uint64_t first;
    uint64_t count;
    uint32_t burst; /* ORDER_RUN, with HELLO_BOTH: how many requests the server posts at once */
};

/* The server's answer to an order. */
struct outcome {
    uint32_t kind;
    uint32_t different; /* 1: a message differed; the next three members name the message */
    uint32_t lane, offset;
    uint64_t message;
    uint64_t cpu_us;             /* CPU time of the server since the start of the run */
    uint64_t messages, ns, peak; /* the server's own requests: number, time, and best rate in bytes per second */
};

void hello_put(const struct hello *h, uint8_t bytes[WIRE_PRIVATE]);
/* Returns false if the bytes are not a hello of any version. For another version, fills in only the version. */
bool hello_get(struct hello *h, const uint8_t *bytes, size_t len);
void answer_put(const struct answer *a, uint8_t bytes[WIRE_PRIVATE]);
bool answer_get(struct answer *a, const uint8_t *bytes, size_t len);
void order_put(const struct order *o, uint8_t bytes[WIRE_ORDER]);
void order_get(struct order *o, const uint8_t bytes[WIRE_ORDER]);
void outcome_put(const struct outcome *o, uint8_t bytes[WIRE_ORDER]);
void outcome_get(struct outcome *o, const uint8_t bytes[WIRE_ORDER]);

#endif
