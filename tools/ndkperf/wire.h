/* SPDX-License-Identifier: MIT */
/*
 * ndkperf's protocol. The first connection is the control connection. Each further connection is a lane, which is a
 * measured queue pair. Each connection begins with private data of 40 bytes (some adapters allow at most 56): a hello
 * in the connect, and an answer in the accept or reject. Then the client sends orders of 64 bytes on the control
 * connection, one at a time. The server returns an outcome for each order. All numbers are big-endian. Magic and
 * version have the same position in every version of the protocol, so that an end can print the version of a refused
 * peer.
 */
#ifndef NDKPERF_WIRE_H
#define NDKPERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 2, WIRE_PRIVATE = 40, WIRE_ORDER = 64 };
enum { MAX_SIZE = 268435456, MAX_QPS = 1024 };

enum { HELLO_CHECK = 1, HELLO_BOTH = 2 }; /* HELLO_BOTH: the server posts requests, too */

/* The private data of a connect request. */
struct hello {
    uint32_t version;
    uint32_t index;   /* 0: the control connection; otherwise the number of the lane */
    uint32_t session; /* a number that all connections of a session contain */
    uint32_t qps;
    uint32_t size; /* size of the largest message */
    uint32_t window;
    uint32_t flags;
    uint32_t token; /* token for the peer's access to the queue pair's memory */
    uint64_t address;
    uint32_t inline_size; /* with HELLO_BOTH, the server uses this size, too */
};

enum answer_code {
    ANSWER_YES,
    ANSWER_VERSION,
    ANSWER_BUSY,
    ANSWER_QPS,
    ANSWER_TRANSFER = 5,
    ANSWER_SESSION = 7,
    ANSWER_TOTAL /* the queue pairs need more memory than the server allows; value: the limit in MiB */
};

/* The private data of an accept or a reject. `address` is the first address of the queue pair's memory (session.h). */
struct answer {
    uint32_t version;
    uint32_t code;   /* enum answer_code */
    uint32_t value;  /* if `code` reports an exceeded limit: the limit; for ANSWER_VERSION as `version` */
    uint32_t window; /* in the answer to the control connection: the window that the server grants */
    uint32_t token;
    uint64_t address;
};

/*
 * ORDER_SAMPLE requests the server's progress. ORDER_LAP starts the server's next lap. The client sends these two only
 * in runs in both directions. Only runs with HELLO_CHECK have laps. In a lap each lane transfers one window of
 * messages, which are verified before the next lap.
 */
enum order_kind { ORDER_RUN = 1, ORDER_FLUSH, ORDER_END, ORDER_LAP, ORDER_SAMPLE };
enum { ORDER_LATENCY = 1, ORDER_CORRUPT = 2, ORDER_WARMUP = 4 };

/* A message of the client to the server. */
struct order {
    uint32_t kind; /* an enum order_kind */
    uint32_t test, flags, size;
    /*
     * ORDER_FLUSH: `count` is the number of messages that the client has posted since the run's previous ORDER_FLUSH,
     * or since the start of the run. `first` is the number of the run's messages before those. With HELLO_CHECK both
     * are numbers of messages on each lane, otherwise on all lanes together.
     * ORDER_RUN with HELLO_BOTH: `count` is the number of messages that the server posts on each lane. 0: the server
     * posts until ORDER_FLUSH.
     */
    uint64_t first;
    uint64_t count;
    uint32_t burst; /* ORDER_RUN with HELLO_BOTH: number of requests that the server posts together */
};

/* The server's answer to an order. */
struct outcome {
    uint32_t kind;
    uint32_t different; /* 1: a message differed; the next three members identify the difference */
    uint32_t lane, offset;
    uint64_t message;
    uint64_t cpu_us;             /* CPU time of the server since the start of the run */
    uint64_t messages, ns, peak; /* the server's own requests: number, time, and peak rate in bytes per second */
};

void hello_put(const struct hello *h, uint8_t bytes[WIRE_PRIVATE]);
/*
 * Decodes a hello. Returns false if the bytes are no hello of any version. If the hello has another version, only the
 * member `version` has a meaning.
 */
bool hello_get(struct hello *h, const uint8_t *bytes, size_t len);
void answer_put(const struct answer *a, uint8_t bytes[WIRE_PRIVATE]);
bool answer_get(struct answer *a, const uint8_t *bytes, size_t len);
void order_put(const struct order *o, uint8_t bytes[WIRE_ORDER]);
void order_get(struct order *o, const uint8_t bytes[WIRE_ORDER]);
void outcome_put(const struct outcome *o, uint8_t bytes[WIRE_ORDER]);
void outcome_get(struct outcome *o, const uint8_t bytes[WIRE_ORDER]);

#endif
