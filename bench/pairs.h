/* SPDX-License-Identifier: MIT */
/*
 * Both ends of any number of connections in one process, over loopback, for measuring what does not need two: each end
 * has an adapter, a protection domain and one completion queue, and the passive one a shared receive queue on request.
 */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "ndk/ndkpi.h"

struct pair_end {
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_SRQ *srq;
    NDK_QP **qps;
    NDK_CONNECTOR **connectors;
    NDK_MR *mr;          /* `memory`, for everything */
    unsigned char *memory;
    UINT32 token, remote_token;
    void (*_Atomic notified)(struct pair_end *e); /* or NULL: notifications of the queue */
};

struct pairs {
    struct pair_end active, passive;
    NDK_LISTENER *listener;
    unsigned count;
};

enum { PAIRS_MEMORY = 4 << 20 };

/* Dies where it cannot. Each queue of each queue pair has depth requests; srq_depth 0: no shared receive queue. */
void pairs_open(struct pairs *p, unsigned count, unsigned depth, unsigned srq_depth);
void pairs_close(struct pairs *p);
/* Dies, saying what failed, where the status is not STATUS_SUCCESS. */
void pairs_require(NTSTATUS status, const char *what);
/* Waits for what answered STATUS_PENDING. `what` is said where the status is not STATUS_SUCCESS. */
struct pairs_wait;
struct pairs_wait *pairs_wait_new(void);
void pairs_request_done(void *wait, NTSTATUS status);
void pairs_expect(struct pairs_wait *w, NTSTATUS status, const char *what);
void pairs_wait_free(struct pairs_wait *w);
void pairs_close_object(void *object);

#endif
