/* SPDX-License-Identifier: MIT */
/*
 * exchange: one consumer with two implementations of its requests, one at each end: over verbs (in the guest, on siw)
 * and over NDK (on the host). exchange.c has the protocol and the cases; a `side` makes the requests. A request that a
 * side does not support ends the program.
 */
#ifndef INTEROP_EXCHANGE_H
#define INTEROP_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

enum op { OP_SEND, OP_SEND_INVALIDATE, OP_WRITE, OP_READ, OP_RECEIVE, OP_COUNT };
enum { RIGHT_READ = 1, RIGHT_WRITE = 2 };
enum { SIDE_REQUESTS = 40, SIDE_RECEIVES = 8, SIDE_SECONDS = 6 };

struct side_options {
    bool server;
    const char *host; /* client: the server's address */
    uint16_t port;
    uint8_t reads; /* both read limits */
    bool crc;      /* NDK: requests CRC */
};

/* Registered memory. */
struct area {
    uint8_t *memory;
    uint32_t len, local, remote;
    void *own; /* for the side */
};

struct request {
    enum op op;
    uint32_t id;
    const struct area *area;
    uint32_t offset, len;    /* of one or two pieces, as the operation allows */
    uint64_t remote_address; /* read, write */
    uint32_t remote_token;   /* read, write; send: the token to invalidate */
};

struct outcome {
    enum op op;
    uint32_t id, bytes;
    bool good;
    char status[96];
    bool invalidated; /* receive: the send has invalidated a token */
    uint32_t token;
};

void side_open(const struct side_options *opt);
void side_area(struct area *area, uint32_t len, unsigned rights);
void side_post(const struct request *request);
/* Connects, or accepts one connection. Receives must be posted before. */
void side_establish(void);
/* Registers an area that the peer may read, write and invalidate. Requires an established connection. */
void side_revocable(struct area *area, uint32_t len);
/* Waits for the next outcome. Returns false after SIDE_SECONDS, or if the connection has ended without further ones. */
bool side_wait(struct outcome *outcome);
/* Disconnects; siw disconnects first, because it fails its last send if the peer disconnects before its completion. */
void side_disconnect(void);
/* Waits for the end of the connection and prints its reason. */
void side_print_end(void);
void side_close(void);

/* Prints `result=failed reason=REASON` and ends the program with status 1. */
__attribute__((noreturn)) void exchange_fail(const char *reason);

#endif
