/* SPDX-License-Identifier: MIT */
/* Completion queues. */
#ifndef FABRIC_IWARP_CQ_H
#define FABRIC_IWARP_CQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/adapter.h"

/* The use of a completion queue by whoever completes into it. The user owns the memory and sets all but link. */
struct cq_user {
    LIST_ENTRY(cq_user) link;
    void *owner;
    /*
     * The queue overflows. Called under the queue's lock, a leaf. Returns false if the user has learned of an overflow
     * already, or takes a reference for `overflowed`.
     */
    bool (*claim_overflow)(void *owner);
    /* The queue has overflowed and is unusable. Called once it is unlocked, after claim_overflow returned true. */
    void (*overflowed)(void *owner);
};

int iwarp_cq_create(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out);
int iwarp_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max);
void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type);
int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth);
void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
struct shard *iwarp_cq_shard(struct fabric_cq *cq);
/*
 * The first queue pair that uses a queue without an affinity decides where that is at home: at `home`, or where it is
 * its turn for NULL. Returns where it is at home.
 */
struct iwarp_shard *iwarp_cq_settle(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home);
void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner));
void iwarp_cq_add(struct fabric_cq *cq, struct cq_user *user);
void iwarp_cq_remove(struct fabric_cq *cq, struct cq_user *user);
/* Queues completions. Any owner. Those for which there is no room are dropped, and the queue has overflowed. */
void iwarp_cq_push(struct fabric_cq *cq, const struct rdma_completion *c, unsigned n);

/* Any thread, as of a moment ago. */
bool iwarp_cq_has_overflowed(const struct fabric_cq *cq);
uint32_t iwarp_cq_unread(const struct fabric_cq *cq);       /* completions that the consumer has not polled */
unsigned iwarp_cq_empty_polls(const struct fabric_cq *cq); /* polls that drove the shard in vain */
/*
 * Requests wait for the poller: a poll drives the shard when it finds nothing, and at the latest the `patience`-th from
 * now. Does nothing if requests wait already.
 */
void iwarp_cq_defer_to_poll(struct fabric_cq *cq, unsigned patience);

#endif
