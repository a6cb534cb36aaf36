/* SPDX-License-Identifier: MIT */
/* What the engine's tests share: a check that works on every thread, and calls that wait for a shard. */
#ifndef TESTS_ENGINE_SUPPORT_H
#define TESTS_ENGINE_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "engine/net.h"
#include "engine/shard.h"

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            _Exit(1);                                                               \
        }                                                                           \
    } while (0)

struct shard *support_shard(uint64_t spin_ns);
/* Runs fn with the shard's token held, and returns when it has run. */
void support_on(struct shard *s, void (*fn)(void *), void *arg);
void support_wait(struct gate *g);
/* Waits, in small naps, until the condition holds; a minute without is a failure. */
void support_until(bool (*holds)(void *), void *arg);
struct addr support_addr(const char *host, uint16_t port);

/*
 * A stream socket that sends `size` patterned bytes and checks as many that come. done opens when both are through,
 * or when the connection fails.
 */
struct stream {
    struct net_socket socket;
    struct shard *home; /* where the socket is, or is on its way to */
    uint64_t size, sent, received;
    int error;          /* of connecting, or of the connection; -1: end of stream before its time */
    bool connected;
    bool ended;         /* the peer's end of stream came after everything */
    bool half_close;    /* tell the peer when all is sent */
    _Atomic uint32_t finished;
    struct gate done;
};
/* Token held. 0 or errno. */
int stream_connect(struct stream *st, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   uint64_t size);
void stream_close(struct stream *st, bool reset);

/* A listener that makes each connection a stream. */
struct server {
    struct net_socket socket;
    struct net_reservation *reservation;
    struct addr local;
    uint64_t size;       /* of each stream */
    int max;             /* streams to be had; the test provides them */
    struct stream *streams;
    _Atomic int accepted;
    _Atomic int refused; /* accept's errors but EAGAIN */
    _Atomic int looks;   /* calls of ready */
};
void server_start(struct server *server, struct shard *s, const struct addr *at);
void server_stop(struct server *server, struct shard *s);

#endif
