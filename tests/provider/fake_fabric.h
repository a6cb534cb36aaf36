/* SPDX-License-Identifier: MIT */
/*
 * A fabric without a network, on the real engine: two shards, and queues, queue pairs and regions that do what the test
 * says. What a real fabric answers late only by chance, this one answers late whenever it is told to hold.
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

enum { FAKE_SHARDS = 2, FAKE_SGES = 16, FAKE_HELD = 8, FAKE_PAGES = 16 };

/* The first page of every mapping; the next is two pages on. */
#define FAKE_LOGICAL UINT64_C(0x70000000)

struct fake_held {
    void (*done)(void *context);
    void *context;
};

/* One for a process at a time. */
struct fake {
    struct fabric pub;
    struct shard *shards[FAKE_SHARDS];
    atomic_int cqs, qps, mrs, lams, srqs; /* living */
    atomic_int flushes;
    int error;                          /* the answer of the next creation, registration or post; 0: it works */
    int prepare_error;                  /* and of the next preparation */
    atomic_bool hold;                   /* endings of queues, queue pairs and regions wait for fake_release */
    void (*inside_post)(void);          /* is run in the next post, before it is answered */
    struct fabric_info info;
    /* What came last. */
    struct fabric_cq_config cq_config;
    struct fabric_qp_config qp_config;
    struct rdma_request request;
    struct rdma_sge sges[FAKE_SGES];
    unsigned char inline_data[2048];
    enum fabric_arm armed;
    uint32_t interval_us, count;        /* moderation */
    struct fabric_srq_config srq_config;
    uint32_t srq_depth, srq_threshold;  /* of a modification */
    const void *domain;
    void *memory;
    uint64_t length, base;
    unsigned access;
    struct rdma_pages pages;          /* the list itself is in page_list */
    uint64_t page_list[FAKE_PAGES];
    uint32_t prepared, of, discarded;   /* tokens */
};

extern struct fake fake;

/* Creates the shards and an adapter over them. NULL as config: defaults. */
NDK_ADAPTER *fake_open(NDK_VERSION version, const ondk_config_t *config);
/* Lets end what has been held, in the order in which it came; returns how many there were. */
int fake_release(void);
int fake_held_count(void);
/* The next queue is made on this shard. */
void fake_next_shard(int index);
/* A completion for the queue that was created last, and a notification of it. */
void fake_complete(struct fabric_cq *cq, const struct rdma_completion *c);
void fake_notify(struct fabric_cq *cq, bool overflow);
void fake_low(struct fabric_srq *srq); /* the notification of a shared queue */
/* Everything that was queued for consumers on both shards before this call has been delivered. */
void fake_settle(void);
void fake_settle_on(int shard);
void fake_wait(struct gate *gate);

#endif
