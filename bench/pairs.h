/* SPDX-License-Identifier: MIT */
/*
 * Opens any number of connections over loopback, with both ends in this process. The active end connects, and the
 * passive end accepts. Each end has an adapter, a protection domain and one completion queue. The passive end can also
 * have a shared receive queue.
 */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "consumer/region.h"
#include "ndk/ndkpi.h"

struct pair_end {
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_SRQ *srq;
    NDK_QP **qps;
    NDK_CONNECTOR **connectors;
    struct consumer_region region;                /* PAIRS_MEMORY bytes */
    void (*_Atomic notified)(struct pair_end *e); /* called in each notification callback of `cq`; can be NULL */
};

struct pairs {
    struct pair_end active, passive;
    NDK_LISTENER *listener;
    unsigned count;
};

enum { PAIRS_MEMORY = 4 << 20 };

/*
 * Opens both ends and establishes `count` connections. Both queues of each QP have `depth` entries. If srq_depth is 0,
 * there is no shared receive queue. Ends the program on failure.
 */
void pairs_open(struct pairs *p, unsigned count, unsigned depth, unsigned srq_depth);
void pairs_close(struct pairs *p);
/* If the status is not STATUS_SUCCESS, prints a message and ends the program. */
void pairs_require(NTSTATUS status, const char *what);

#endif
