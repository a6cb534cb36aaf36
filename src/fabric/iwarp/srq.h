/* SPDX-License-Identifier: MIT */
/* Declares shared receive queues. */
#ifndef FABRIC_IWARP_SRQ_H
#define FABRIC_IWARP_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/spin.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/delivery.h"
#include "iwarp/qp.h"

/*
 * A message that is incomplete (partial) at the end of a receive turn of its queue pair, and that occupies a receive of
 * the shared queue. A message that begins and ends within a turn is never partial and costs nothing.
 */
struct srq_partial {
    TAILQ_ENTRY(srq_partial) link;
    uint64_t since; /* time of insertion; the SRQ's lock guards `since`, link, is_listed and is_checked */
    bool is_listed;
    bool is_checked; /* `check` is queued or running */
    /* Only the owner uses the next three members. */
    bool is_partial;        /* the message was partial at the last update */
    bool has_moved;         /* the message has ended since it was inserted into the list, so `mark` is obsolete */
    struct iw_rx_mark mark; /* the input's position when the message was inserted */
    struct task check;
};

struct fabric_srq {
    struct iw_srq *iw;
    struct fabric_srq_config config;
    struct delivery delivery;
    void (*closed)(void *owner);
    uint32_t share_percent;
    uint64_t stall_ns;
    struct task watch;
    struct shard_timer timer;           /* only the home shard's owner uses it */
    atomic_uint refs;                   /* the handle has a reference; so has `watch` while it is queued */
    struct spin lock;                   /* guards everything below */
    TAILQ_HEAD(, srq_partial) partials; /* in the order of insertion */
    uint32_t partial_count;
    uint32_t receives;       /* the largest sum of posted receives and partial messages in the last stall_ns */
    uint64_t receives_since; /* when `receives` was counted */
    bool is_watched;         /* `watch` is queued, or `timer` is armed */
    bool is_queued;          /* `watch` is queued */
};

int iwarp_srq_create(struct fabric *f, const struct fabric_srq_config *c, struct fabric_srq **out);
int iwarp_srq_post(struct fabric_srq *srq, const struct rdma_request *r);
int iwarp_srq_modify(struct fabric_srq *srq, uint32_t depth, uint32_t threshold);
void iwarp_srq_info(struct fabric_srq *srq, struct fabric_srq_info *info);
struct shard *iwarp_srq_shard(struct fabric_srq *srq);
void iwarp_srq_close(struct fabric_srq *srq, void (*done)(void *owner));
void iwarp_srq_partial_init(struct srq_partial *partial);
/*
 * Updates the list of partial messages. The owner of a queue pair calls this function after it has received a part of a
 * send, or the rest of a send.
 */
void iwarp_srq_update(struct fabric_qp *qp);

#endif
