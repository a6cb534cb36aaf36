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
/* Runs fn while this thread holds the shard's token. Returns after fn has run. */
void support_on(struct shard *s, void (*fn)(void *), void *arg);
void support_wait(struct gate *g);
/* Waits until the condition holds. Fails after a minute. */
void support_until(bool (*holds)(void *), void *arg);
struct addr support_addr(const char *host, uint16_t port);

/*
 * A stream socket that sends `size` bytes of a pattern, and receives and checks the same number of bytes. The gate
 * `done` opens when both are complete or the connection fails.
 */
struct stream {
    struct net_socket socket;
    struct shard *home; /* the shard of the socket, or to which it moves */
    uint64_t size, sent, received;
    int error; /* error of the connect or of the connection; 0: none; -1: the peer's stream ended too early */
    bool connected;
    bool ended;      /* the peer's end of stream came after all bytes */
    bool half_close; /* true: this side shuts down writing when it has sent all bytes */
    _Atomic uint32_t finished;
    struct gate done;
};
/* Connects the stream. The caller must hold the shard's token. Returns 0 or an errno value. */
int stream_connect(struct stream *st, struct shard *s, struct net_reservation *from, const struct addr *peer,
                   uint64_t size);
void stream_close(struct stream *st, bool reset);

/* A listener that makes each connection a stream. */
struct server {
    struct net_socket socket;
    struct net_reservation *reservation;
    struct addr local;
    uint64_t size; /* of each stream */
    int max;       /* maximum number of streams; set by the test */
    struct stream *streams;
    _Atomic int accepted;
    _Atomic int refused;     /* number of errors of accept; EAGAIN does not count */
    _Atomic int ready_calls; /* calls of ready */
};
void server_start(struct server *server, struct shard *s, const struct addr *at);
void server_stop(struct server *server, struct shard *s);

#endif
