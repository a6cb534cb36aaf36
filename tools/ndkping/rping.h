/* SPDX-License-Identifier: MIT */
/*
 * The protocol of rdma-core's rping. A ping has five steps: 1. The client advertises a buffer by a 16-byte message
 * (address, token, size, big-endian). 2. The server reads the buffer by RDMA read and answers with a message. 3. The
 * client advertises a second buffer. 4. The server writes the data into the second buffer by RDMA write and answers. 5.
 * The client compares the two buffers.
 */
#ifndef NDKPING_RPING_H
#define NDKPING_RPING_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/consumer.h"

enum { RPING_MESSAGE = 16, RPING_MIN_DATA = 24, RPING_MAX_DATA = 16777216 };

enum rping_end {
    RPING_DONE,      /* client: the ping has succeeded; server: the client has disconnected */
    RPING_FAILED,    /* a call or request failed; see status and step */
    RPING_DIFFERENT, /* data differed */
    RPING_CANCELLED, /* consumer_cancel was called */
};

struct rping {
    struct consumer *consumer;
    struct consumer_region messages;     /* the message to send, and the message to receive */
    struct consumer_region source, sink; /* the server has no sink */
    uint64_t step_ms;                    /* time limit of each step; 0: none */
    bool verbose;
    uint32_t max_size; /* the largest size of a ping */
    uint32_t pings;    /* completed so far */
    uint64_t bytes;    /* bytes that were transferred and, at the client, verified */
    double time_us;    /* client: the round trip of the last ping */
    NTSTATUS status;
    const char *step;
    uint32_t reason; /* ProviderErrorCode of the failed request, or the reason of the disconnect; 0 if there is none */
    bool gave_up;    /* step_ms has passed: status is STATUS_IO_TIMEOUT, and the connection still exists */
};

/*
 * These functions register the buffers for pings of at most `size` bytes, and post the first receive. They must be
 * called before connect or accept. The server's buffer has at most 64 KiB at first, and grows when a larger ping
 * arrives.
 */
NTSTATUS rping_prepare_client(struct rping *r, uint32_t size);
NTSTATUS rping_prepare_server(struct rping *r, uint32_t size);
/* Makes one ping of `size` bytes. */
enum rping_end rping_client_ping(struct rping *r, uint32_t size);
/* Serves a client until it disconnects. A disconnect before the end of the first ping is a failure. */
enum rping_end rping_server(struct rping *r);
void rping_close(struct rping *r);

#endif
