/* SPDX-License-Identifier: MIT */
/*
 * exchange: the same little consumer over verbs (in the guest, on siw) and over NDK (on the host), one at each end.
 * exchange.c is what they do and say; a side is how requests are made there. What a side cannot do ends the program.
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
    const char *host; /* client: where the server is */
    uint16_t port;
    uint8_t reads;    /* read limit, both ways */
    bool crc;         /* NDK: ask for it */
};

/* Registered memory. */
struct area {
    uint8_t *memory;
    uint32_t len, local, remote;
    void *own; /* the side's */
};

struct request {
    enum op op;
    uint32_t id;
    const struct area *area;
    uint32_t offset, len;    /* taken as two pieces where the operation allows that */
    uint64_t remote_address; /* read, write */
    uint32_t remote_token;   /* these, and what a send invalidates */
};

struct outcome {
    enum op op;
    uint32_t id, bytes;
    bool good;
    char status[96];
    bool invalidated; /* a receive that says which token its send invalidated */
    uint32_t token;
};

void side_open(const struct side_options *opt);
void side_area(struct area *area, uint32_t len, unsigned rights);
void side_post(const struct request *request);
/* Connects, or accepts the one connection. Receives are posted before. */
void side_establish(void);
/* An area that the peer may read, write and invalidate; on an established connection. */
void side_revocable(struct area *area, uint32_t len);
/* The next outcome; false when there is none within SIDE_SECONDS, or the connection has ended and has none left. */
bool side_wait(struct outcome *outcome);
/* Disconnects: siw first, which takes its last send for failed when the peer does so before that has completed. */
void side_disconnect(void);
/* Waits for the peer's end and prints how the connection ended. */
void side_print_end(void);
void side_close(void);

/* Prints `result=failed reason=REASON` and ends the program with status 1. */
__attribute__((noreturn)) void exchange_fail(const char *reason);

#endif
