/* SPDX-License-Identifier: MIT */
/* The kit of the engine's tests: a check for every thread, calls that wait for a shard, streams and servers. */
#ifndef TESTS_ENGINE_SUPPORT_H
#define TESTS_ENGINE_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "engine/net.h"
#include "engine/shard.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            _Exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

struct shard *support_shard(uint64_t spin_ns);
/* Runs fn with the shard's token held. Returns after it has run. */
void support_on(struct shard *s, void (*fn)(void *), void *arg);
void support_wait(struct gate *g);
/* Waits until the condition holds. Fails after a minute. */
void support_until(bool (*holds)(void *), void *arg);
struct addr support_addr(const char *host, uint16_t port);

/*
 * A stream socket that sends `size` patterned bytes and checks as many received ones. done opens when both are complete
 * or the connection fails.
 */
struct stream {
    struct net_socket socket;
    struct shard *home; /* the shard of the socket, or to which it moves */
    uint64_t size, sent, received;
    int error; /* of connecting, or of the connection; -1: an early end of stream */
    bool connected;
    bool ended;      /* the peer's end of stream came after all bytes */
    bool half_close; /* shuts down writing when all is sent */
    _Atomic uint32_t finished;
    struct gate done;
};
/* With the token held. Returns 0 or errno. */
int stream_connect(struct stream *st, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   uint64_t size);
void stream_close(struct stream *st, bool reset);

/* A listener that makes each connection a stream. */
struct server {
    struct net_socket socket;
    struct net_reservation *reservation;
    struct addr local;
    uint64_t size; /* of each stream */
    int max;       /* number of streams, which the test provides */
    struct stream *streams;
    _Atomic int accepted;
    _Atomic int refused;     /* errors of accept, without EAGAIN */
    _Atomic int ready_calls; /* calls of ready */
};
void server_start(struct server *server, struct shard *s, const struct addr *at);
void server_stop(struct server *server, struct shard *s);

#endif
