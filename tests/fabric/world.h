/* SPDX-License-Identifier: MIT */
/*
 * Two iWARP fabrics in one process, over loopback, and recorders of all their events. A wait that takes too long ends
 * the test with a message; no other check depends on time.
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

enum { WAIT_MS = 200000, BUFFER = 65536, DEPTH = 64, PRIVATE = 512 };

#define CHECK(what) check_that((what), #what, __FILE__, __LINE__)
void check_that(bool ok, const char *what, const char *file, int line);
/* Waits until an evaluation of the condition is true. The condition may be false again afterwards. */
#define AWAIT(what)                                                                                                    \
    do {                                                                                                               \
        uint64_t await_end = now_ms() + WAIT_MS;                                                                       \
        bool await_holds;                                                                                              \
        while (!(await_holds = (what)) && now_ms() < await_end)                                                        \
            world_pause();                                                                                             \
        check_that(await_holds, "awaited: " #what, __FILE__, __LINE__);                                                \
    } while (0)
uint64_t now_ms(void);
void world_pause(void); /* sleeps a moment, or with manual shards runs a turn of each */

/* A queue pair with its completion queue, memory and token. */
struct side {
    struct fabric *f;
    struct fabric_cq *cq;
    struct fabric_qp *qp;
    struct fabric_mr *mr;
    uint32_t token;
    uint8_t *memory;
    atomic_int notified, overflowed;
    atomic_bool cq_closed, qp_closed;
};
void side_open(struct side *s, struct fabric *f, int affinity, uint32_t cq_depth);
void side_close(struct side *s);
/* Posts a request with one SGE, or none if len is 0, which must succeed. */
void post(struct side *s, enum rdma_op op, unsigned flags, void *context, size_t offset, uint32_t len,
          const struct side *remote, size_t remote_offset);
void wait_completion(struct side *s, struct rdma_completion *c);
/* Waits for a completion, which must be the success of this request. */
void expect_completion(struct side *s, enum rdma_op op, void *context, uint32_t len);
void expect_no_completion(struct side *s);

/* A connection and its events. */
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
void link_close(struct link *l); /* waits until it is closed */

enum { LINKS = 64 };
/* A listener and the connections of its requests. */
struct acceptor {
    struct fabric *f;
    struct fabric_listener *l;
    struct addr local;
    enum fabric_reason why;
    bool refuse; /* requests are refused */
    atomic_int listening, closed, requests;
    struct link link[LINKS]; /* of requests, in order of arrival */
};
void acceptor_open(struct acceptor *e, struct fabric *f, const struct addr *at); /* waits until it listens */
enum fabric_reason acceptor_try_open(struct acceptor *e, struct fabric *f, const struct addr *at);
void acceptor_close(struct acceptor *e);

/* Two fabrics with one side each, and a connection from a to b. */
struct world {
    struct fabric_config config_a, config_b;
    struct fabric *a, *b;
    struct side sa, sb;
    struct acceptor acceptor;
    struct link active, *passive;
};
struct addr loopback(int family, uint16_t port);
struct addr world_address(const char *text); /* a numeric address, with port 9 */
void world_defaults(struct world *w);
void world_open(struct world *w, int family); /* fabrics, sides, acceptor */
void world_request(struct world *w);          /* connects, and waits for the request */
void world_accept(struct world *w);           /* accepts the request, and waits for the event `connected` */
void world_complete(struct world *w);         /* completes, and waits until both sides are established */
void world_connect(struct world *w);          /* calls these three functions */
void world_disconnect(struct world *w);       /* disconnects both sides, and waits for both */
void world_close(struct world *w);

void world_config_defaults(struct fabric_config *config);
void world_open_fabric(struct fabric **f, const struct fabric_config *config);
/*
 * Gives manual shards to the fabrics that are opened later. Such shards have no threads, run in world_pause, and use
 * this clock.
 */
void world_set_manual(const uint64_t *clock_ns);
/* Makes the fabrics that are opened later use this interface, and this IPv4 address instead of 127.0.0.1. */
void world_set_interface(const char *name, const char *address);
void world_set_reads(uint16_t limit); /* read limits of links that connect or accept later; 8 by default */

struct test {
    const char *name;
    void (*run)(void);
};
/* Runs all tests, or those named as arguments. */
int run_tests(const struct test *tests, size_t count, int argc, char **argv);

#endif
