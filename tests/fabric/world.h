/* SPDX-License-Identifier: MIT */
/*
 * Two iWARP fabrics in one process, over loopback, and recorders for everything they tell. Waits are bounded and end
 * the test with a message when the bound passes: a time never decides what is right, only that something never came.
 */
#ifndef TESTS_FABRIC_WORLD_H
#define TESTS_FABRIC_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/iwarp_fabric.h"

enum { WAIT_MS = 20000, BUFFER = 65536, DEPTH = 64, PRIVATE = 512 };

#define CHECK(what) check_that((what), #what, __FILE__, __LINE__)
void check_that(bool ok, const char *what, const char *file, int line);
/* Waits until the condition holds. */
#define AWAIT(what)                                                           \
    do {                                                                      \
        uint64_t await_end = now_ms() + WAIT_MS;                              \
        while (!(what) && now_ms() < await_end)                               \
            nap();                                                            \
        check_that((what), "awaited: " #what, __FILE__, __LINE__);            \
    } while (0)
uint64_t now_ms(void);
void nap(void);

/* A queue pair with its queue, memory and token. */
struct station {
    struct fabric *f;
    struct fabric_cq *cq;
    struct fabric_qp *qp;
    struct fabric_mr *mr;
    uint32_t token;
    uint8_t *memory;
    atomic_int notified, overflowed;
    atomic_bool cq_gone, qp_gone;
};
void station_open(struct station *s, struct fabric *f, int affinity, uint32_t cq_depth);
void station_close(struct station *s);
/* len 0: no SGE. Asserts that the post succeeds. */
void post(struct station *s, enum rdma_op op, unsigned flags, void *context, size_t offset, uint32_t len,
          const struct station *remote, size_t remote_offset);
void take(struct station *s, struct rdma_completion *c); /* waits for one */
void take_ok(struct station *s, enum rdma_op op, void *context, uint32_t len);
void take_none(struct station *s);

/* What a connection told. */
struct link {
    struct fabric *f;
    struct fabric_conn *c;
    struct fabric_limits limits, effective;
    struct addr local, remote;
    uint8_t private_data[PRIVATE];
    size_t private_len;
    enum fabric_reason connected_why, established_why, ended_why, disconnected_why;
    atomic_int connected, established, ended, disconnected, closed;
    atomic_int after_close;
};
void link_open(struct link *l, struct fabric *f);
void link_connect(struct link *l, struct fabric_qp *qp, const struct addr *local, const struct addr *remote,
                  const void *private_data, size_t len);
void link_accept(struct link *l, struct fabric_qp *qp, const void *private_data, size_t len);
void link_close(struct link *l); /* and waits */

enum { LINKS = 64 };
struct ear {
    struct fabric *f;
    struct fabric_listener *l;
    struct addr local;
    enum fabric_reason why;
    bool refuse; /* request answers NULL */
    atomic_int listening, closed, requests;
    struct link link[LINKS]; /* of requests, in their order */
};
void ear_open(struct ear *e, struct fabric *f, const struct addr *at); /* and waits until it listens */
enum fabric_reason ear_try(struct ear *e, struct fabric *f, const struct addr *at);
void ear_close(struct ear *e);

/* The common case: two fabrics, a station each, a listener at b, a connected pair. */
struct world {
    struct fabric_config config_a, config_b;
    struct fabric *a, *b;
    struct station sa, sb;
    struct ear ear;
    struct link active, *passive;
};
struct addr loopback(int family, uint16_t port);
void world_defaults(struct world *w);
void world_open(struct world *w, int family);      /* fabrics, stations, listener */
void world_request(struct world *w);               /* connect, until the request is there */
void world_accept(struct world *w);                /* from there until connected is told */
void world_complete(struct world *w);              /* from there until both are established */
void world_connect(struct world *w);               /* all three */
void world_hangup(struct world *w);                /* both disconnect */
void world_close(struct world *w);

void config_defaults(struct fabric_config *config);
void open_fabric(struct fabric **f, const struct fabric_config *config);
/* Fabrics that are opened after this have no threads: the test's own does everything, in waits, by this clock. */
void world_by_hand(const uint64_t *clock_ns);
/* Fabrics that are opened after this are on this interface, with this IPv4 address instead of 127.0.0.1. */
void world_interface(const char *name, const char *address);
void world_reads(uint16_t most); /* in flight, either way, for links that connect or accept after this; 8 at first */

struct test {
    const char *name;
    void (*run)(void);
};
/* Runs all, or those named as arguments. */
int run_tests(const struct test *tests, size_t count, int argc, char **argv);

#endif
