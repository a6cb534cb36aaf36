/* SPDX-License-Identifier: MIT */
/*
 * A fabric without a network, on the real engine: two shards, and queues, queue pairs and regions with scripted
 * results. If defers_ends is set, it delays what a real fabric delays only by chance.
 */
#ifndef TESTS_PROVIDER_FAKE_FABRIC_H
#define TESTS_PROVIDER_FAKE_FABRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/shard.h"
#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "openndk/config.h"

enum { FAKE_SHARDS = 2, FAKE_MAX_SGES = 16, FAKE_MAX_DEFERRED = 8, FAKE_MAX_PAGES = 16 };

/* The logical address of the first page of every mapping. The next page is two pages behind it. */
#define FAKE_LOGICAL UINT64_C(0x70000000)

struct fake_deferred {
    void (*done)(void *context);
    void *context;
};

/* A process has at most one at a time. */
struct fake {
    struct fabric pub;
    struct shard *shards[FAKE_SHARDS];
    atomic_int cqs, qps, mrs, lams, srqs; /* that exist */
    atomic_int flushes;
    int error;                 /* the result of the next creation, registration or post */
    int prepare_error;         /* the result of the next preparation of a token */
    atomic_bool defers_ends;   /* ends of queues, queue pairs and regions wait for fake_run_deferred */
    void (*inside_post)(void); /* runs in the next post before it returns */
    struct fabric_info info;
    /* The arguments of the last calls. */
    struct fabric_cq_config cq_config;
    struct fabric_qp_config qp_config;
    struct rdma_request request;
    struct rdma_sge sges[FAKE_MAX_SGES];
    unsigned char inline_data[2048];
    size_t inline_length;
    enum fabric_arm armed;
    uint32_t interval_us, count; /* moderation */
    struct fabric_srq_config srq_config;
    uint32_t srq_depth, srq_threshold; /* of a modification */
    const void *domain;
    void *memory;
    uint64_t length, base;
    unsigned access;
    struct rdma_pages pages; /* page_list has the list itself */
    uint64_t page_list[FAKE_MAX_PAGES];
    uint32_t prepared, of, discarded; /* tokens */
};

extern struct fake fake;

/* Creates the shards and an adapter above them. config is NULL for the defaults. */
NDK_ADAPTER *fake_open(NDK_VERSION version, const ondk_config_t *config);
/* Runs the ends that were deferred, in their order. Returns how many there were. */
int fake_run_deferred(void);
int fake_deferred_count(void);
/* The next queue is created on this shard. */
void fake_next_shard(int index);
/* Add a completion to a queue, and notify of one. */
void fake_complete(struct fabric_cq *cq, const struct rdma_completion *c);
void fake_notify(struct fabric_cq *cq, bool overflow);
void fake_notify_low(struct fabric_srq *srq); /* notifies that a shared queue is low */
/* Waits until all callbacks that were queued on both shards, or on one, before this call have run. */
void fake_drain(void);
void fake_drain_shard(int shard);
void fake_wait(struct gate *gate);

#endif
